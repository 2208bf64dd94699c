#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every plan in cubins/sync runs: the correct ones to their results, under every order of the agents and with
incoherent caches too; the twins to the end that they state.

    pairs_test.py SASSEMU ROOT [--all]     --all: also the patterns over CUDA's headers on chips that are like others
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from sync_plans import sync_plans

MODES = [
    ["--agents", "lazy"],
    ["--agents", "random", "--seed", "5"],
    ["--agents", "random", "--seed", "7"],
    ["--model", "caches:policy=adversarial", "--seed", "3"],
    ["--model", "caches:policy=lazy", "--agents", "lazy"],
    ["--model", "caches:policy=random", "--agents", "random", "--seed", "5"],
]


def run_all(program, expected, plans):
    """What is wrong, and how many twins have something to find."""
    failures, twins, runs = [], 0, []
    failures += ["%s: not both a plan and an expectation" % n for n in sorted(set(plans) ^ set(expected))]
    for name, sync in sorted(plans.items()):
        if sync.alike and "--all" not in sys.argv:
            continue
        correct = os.path.basename(name).startswith("correct.")
        with open(sync.plan) as f:
            plan = json.load(f)
        checked = any("expect" in b for b in plan["buffers"].values())
        if correct != checked or (correct and expected.get(name)):
            failures.append(name + ": a correct plan has results and no findings, a twin has no results")
        twins += not correct and bool(expected.get(name))
        runs += [(name, sync, mode) for mode in [[]] + (MODES if correct else [])]

    def run(one):
        name, sync, mode = one
        end = subprocess.run([program, "run", sync.plan, "--arch", sync.arch] + mode, capture_output=True, text=True)
        return "%s %s: exit code %d\n%s" % (name, " ".join(mode), end.returncode, end.stdout[:500]) if end.returncode else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures += filter(None, pool.map(run, runs))
    return failures, twins


def main():
    program, root = sys.argv[1:3]
    with open(os.path.join(root, "cubins", "sync", "expected.json")) as f:
        expected = json.load(f)
    with tempfile.TemporaryDirectory() as work:
        plans = sync_plans(root, work)
        failures, twins = run_all(program, expected, plans)
    for failure in failures:
        print(failure)
    print("%d plans, %d of them with something to find, %d failures" % (len(plans), twins, len(failures)))
    return 1 if failures or twins < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
