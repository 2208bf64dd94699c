#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code without its PTX under `weak`: the words of releases and acquires order what they order with PTX, between the CTAs of a cluster (fences of shared memory alone among
them), in a CTA (the NOP of an acquire there) and towards the proxy that reads tensor maps. Before sm_90 mbarriers and the barriers of libcu++ are words of shared memory that loads
poll, and those look like any others. Correct kernels come out right, and of twins that lack such a word some seed shows it.

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
# Of these as sm_75 and sm_80 code, where they have such.
POLLED = ["cg_wide_tile", "cp_async_arrive", "cuda_barrier", "cuda_barrier_copy", "cuda_barrier_parity", "cuda_latch", "cuda_pipeline", "cuda_pipeline_roles", "mbarrier_poll"]
POLLED_SHOWN = [("mbarrier_poll", "full", 1), ("mbarrier_poll", "empty", 1), ("cp_async_arrive", "wait", 1)]
SEEDS = 4


def run(plan, seed, arch="sm_90"):
    agents = "random" if arch == "sm_90" else "lazy"  # those who poll would spin long until a random one acts
    done = subprocess.run([PROGRAM, "run", plan, "--model", "weak", "--agents", agents, "--seed", str(seed), "--arch", arch],
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
        correct = {p: os.path.join(ROOT, "cubins", "sync", p, "correct.json") for p in RIGHT + POLLED}
        right = [(path, "sm_90") for path in (ring(work), *(correct[p] for p in RIGHT))]
        for pattern in POLLED:
            with open(correct[pattern], encoding="utf-8") as f:
                right += [(correct[pattern], arch) for arch in json.load(f)["arch"] if arch in ("sm_75", "sm_80")]
        for path, arch in right:
            for seed in range(1, SEEDS + 1 if arch == "sm_90" else 3):
                end, text = run(path, seed, arch)
                if end:
                    problems.append("%s, %s, seed %d: exit code %d: %s" % (path, arch, seed, end, text[-400:]))
        shown = [(*twin, "sm_90") for twin in SHOWN] + [(*twin, "sm_80") for twin in POLLED_SHOWN]
        for pattern, link, wrong, arch in shown:
            folder = os.path.join(ROOT, "cubins", "sync", pattern)
            with open(os.path.join(folder, "correct.json"), encoding="utf-8") as f:
                plan = dict(json.load(f), arch=arch, module=os.path.relpath(os.path.join(folder, "%s.%s.cubin" % (link, arch)), work))
            path = os.path.join(work, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            ends = {run(path, seed, arch)[0] for seed in range(1, SEEDS + 1)}
            if wrong not in ends or not ends <= {0, wrong}:
                problems.append("%s/%s, %s: exit codes %s" % (pattern, link, arch, sorted(ends)))
    for problem in problems:
        print(problem)
    print("%d kernels, %d twins, %d problems" % (len(right), len(shown), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
