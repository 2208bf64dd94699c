#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the machine `weak` shows is what `ptx` allows: every outcome that exploring a test under `weak` finds is among those under `ptx`. Over all tests of the
files whose operations the machine knows, and over random programs (generate.py). A test that `ptx` calls undefined, or does not see the end of, is not compared.

usage: weak_subset.py SASSEMU [FILE.jsonl ...] [--random N] [--seed S] [--jobs N] [--time-limit S] [--least N]
"""
import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import generate

KINDS = ("flags", "flags", "chain", "barriers", "mbarriers", "loops", "clients", "sizes", "aliases")
CHUNK = 250  # tests of one process


def explore(program, model, path, limit):
    r = subprocess.run([program, "litmus", "--json", "--threads", "1", "--model", model, "--time-limit", str(limit), path], capture_output=True, text=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


def outcomes(report):
    return {tuple(sorted(o["state"].items())) for o in report["outcomes"]}


def check(program, tests, limit):
    """(compared, outcomes of weak, outcomes of ptx, what is wrong)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.jsonl")
        with open(path, "w") as f:
            for t in tests:
                f.write(json.dumps(t) + "\n")
        weak = explore(program, "weak", path, limit)
        known = [t for t, r in zip(tests, weak) if r["verdict"] != "error"]
        shown = [r for r in weak if r["verdict"] != "error"]
        if len(weak) != len(tests):
            return 0, 0, 0, [f"{len(weak)} results of {len(tests)} tests from {tests[0]['name']} on"]
        with open(path, "w") as f:
            for t in known:
                f.write(json.dumps(t) + "\n")
        exact = explore(program, "ptx", path, limit) if known else []
    compared, wide, narrow, wrong = 0, 0, 0, []
    for t, w, p in zip(known, shown, exact):
        if p["verdict"] == "error" or not p["complete"] or "undefined" in p:
            continue
        compared += 1
        wide += len(outcomes(p))
        narrow += len(outcomes(w))
        for state in sorted(outcomes(w) - outcomes(p)):
            wrong.append(f"{t['name']}: weak shows {dict(state)}, which ptx does not allow: {json.dumps(t)}")
    return compared, narrow, wide, wrong


def all_tests(files):
    for path in files:
        opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
        with opened as f:
            for line in f:
                test = json.loads(line)
                # The others have no executions, or other words.
                if test.get("verdict") in ("allowed", "forbidden") and not test.get("model", "ptx").endswith(("liveness", "caches", "nvshmem")):
                    yield test


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("files", nargs="*")
    p.add_argument("--random", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time-limit", type=float, default=5)
    p.add_argument("--least", type=int, default=1, help="tests that have to be compared")
    a = p.parse_args()
    tests = list(all_tests(a.files)) + [generate.program(a.seed, n, KINDS[n % len(KINDS)]) for n in range(a.random)]
    chunks = [tests[n:n + CHUNK] for n in range(0, len(tests), CHUNK)]
    with ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda c: check(a.program, c, a.time_limit), chunks))
    wrong = [w for r in results for w in r[3]]
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    compared = sum(r[0] for r in results)
    print(f"{len(tests)} tests, {compared} compared: weak shows {sum(r[1] for r in results)} of the {sum(r[2] for r in results)} outcomes that ptx allows; {len(wrong)} wrong")
    return 1 if wrong or compared < a.least else 0


if __name__ == "__main__":
    sys.exit(main())
