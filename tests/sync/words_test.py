#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code without its PTX under `weak`: the words of releases and acquires order what they order with PTX, between the CTAs of a cluster (fences of shared memory alone among
them), in a CTA (the NOP of an acquire there) and towards the proxy that reads tensor maps. Correct kernels come out right, and of twins that lack such a word some seed shows it.

    words_test.py SASSEMU ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
RIGHT = ["st_async", "cluster_mbarrier", "cluster_mbarrier_fence", "cluster_barrier", "release_acquire", "tensormap", "pull", "st_async_fence"]
# MEMBAR, CCTL.IVALL, the wait, UTMACCTL.IV or the NOP of a fence of shared memory alone is not there, or global memory needs more than that; how it ends: with wrong results, or a fault for a tensor map that is none yet.
SHOWN = [("st_async", "acquire", 1), ("st_async", "scope", 1), ("cluster_mbarrier", "acquire", 1), ("cluster_mbarrier", "release", 1), ("cluster_mbarrier", "wait", 1),
         ("tensormap", "acquire", 3), ("pull", "acquire", 1), ("pull", "release", 1), ("pull", "space", 1), ("st_async_fence", "acquire", 1)]
SEEDS = 4


def run(plan, seed):
    done = subprocess.run([PROGRAM, "run", plan, "--model", "weak", "--agents", "random", "--seed", str(seed), "--arch", "sm_90"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def ring(work, size=4, rounds=5):
    """A plan: few rounds of cubins/cluster_ring."""
    tile = [[c * 1000 + t for t in range(128)] for c in range(size)]
    for i in range(rounds):
        tile = [[(tile[r - 1][(t + 1) % 128] * 5 + r + i) & 0xffffffff for t in range(128)] for r in range(size)]
    path = os.path.join(work, "ring.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"arch": "sm_90", "module": os.path.relpath(os.path.join(ROOT, "cubins", "cluster_ring", "sm_90.cubin"), work), "timeLimit": 60,
                   "buffers": {"out": {"bytes": 512 * size, "expect": {"type": "u32", "values": sum(tile, [])}}},
                   "launches": [{"kernel": "stores", "grid": [size], "block": [128], "cluster": [size], "args": [{"buffer": "out"}, {"i32": rounds}]}]}, f)
    return path


def main():
    problems = []
    with tempfile.TemporaryDirectory() as work:
        right = [ring(work), *(os.path.join(ROOT, "cubins", "sync", p, "correct.json") for p in RIGHT)]
        for path in right:
            for seed in range(1, SEEDS + 1):
                end, text = run(path, seed)
                if end:
                    problems.append("%s, seed %d: exit code %d: %s" % (path, seed, end, text[-400:]))
        for pattern, link, wrong in SHOWN:
            folder = os.path.join(ROOT, "cubins", "sync", pattern)
            with open(os.path.join(folder, "correct.json"), encoding="utf-8") as f:
                plan = dict(json.load(f), arch="sm_90", module=os.path.relpath(os.path.join(folder, link + ".sm_90.cubin"), work))
            path = os.path.join(work, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            ends = {run(path, seed)[0] for seed in range(1, SEEDS + 1)}
            if wrong not in ends or not ends <= {0, wrong}:
                problems.append("%s/%s: exit codes %s" % (pattern, link, sorted(ends)))
    for problem in problems:
        print(problem)
    print("%d kernels, %d twins, %d problems" % (len(right), len(SHOWN), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
