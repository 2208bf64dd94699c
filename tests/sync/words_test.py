#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code without its PTX under `weak`: the words of releases and acquires between the CTAs of a cluster order what they order with PTX. Correct kernels
come out right, and of twins that lack such a word some seed shows it.

    words_test.py SASSEMU ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
RIGHT = ["cluster_ring/plan.json", *("sync/%s/correct.json" % p for p in ("st_async", "cluster_mbarrier", "cluster_mbarrier_fence", "cluster_barrier"))]
# MEMBAR, CCTL.IVALL or the wait is not there.
SHOWN = [("st_async", "acquire"), ("st_async", "scope"), ("cluster_mbarrier", "acquire"), ("cluster_mbarrier", "release"), ("cluster_mbarrier", "wait")]
SEEDS = 4


def run(plan, seed):
    done = subprocess.run([PROGRAM, "run", plan, "--model", "weak", "--agents", "random", "--seed", str(seed), "--arch", "sm_90"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    problems = []
    for name in RIGHT:
        for seed in range(1, SEEDS + 1):
            end, text = run(os.path.join(ROOT, "cubins", name), seed)
            if end:
                problems.append("%s, seed %d: exit code %d: %s" % (name, seed, end, text[-400:]))
    with tempfile.TemporaryDirectory() as work:
        for pattern, link in SHOWN:
            folder = os.path.join(ROOT, "cubins", "sync", pattern)
            with open(os.path.join(folder, "correct.json"), encoding="utf-8") as f:
                plan = dict(json.load(f), arch="sm_90", module=os.path.relpath(os.path.join(folder, link + ".sm_90.cubin"), work))
            path = os.path.join(work, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            ends = {run(path, seed)[0] for seed in range(1, SEEDS + 1)}
            if 1 not in ends or not ends <= {0, 1}:
                problems.append("%s/%s: exit codes %s" % (pattern, link, sorted(ends)))
    for problem in problems:
        print(problem)
    print("%d kernels, %d twins, %d problems" % (len(RIGHT), len(SHOWN), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
