#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-sync on the kernels of cubins/ that have nothing to do with it: they are correct, so it finds nothing in them that
is wrong by what is commonly relied on, under every order of the agents.

    clean_test.py SASSEMU ROOT [NAME-PART...]
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

# With asynchronous copies or launches that depend on each other; the agents change nothing for others.
WITH_AGENTS = {"attention", "bulk_copy", "cluster_ring", "convolution", "cp_async_gemm", "dependent_launch", "grouped_gemm", "hmma_pipeline", "split_k", "stream_k",
               "tensor_core", "tensormap_replace", "tma_gemm", "tma_hmma", "wgmma_gemm", "wgmma_persistent"}
# Lanes of one LDGSTS or one store write the same word, warps arrive at a barrier that they have not waited at, and a loop of compare-and-swap begins with a
# plain load: that is what these are about, or by the letter only.
RACES = {"accesses", "arrivals", "collisions", "generic_pointers", "matrix_collisions"}


def check(program, plan, arch, agents):
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        end = subprocess.run([program, "check-sync", plan, "--arch", arch, "--json", report, "--time-limit", "200",
                              "--agents", agents], capture_output=True, text=True)
        if not os.path.exists(report):
            return ["%s %s: no report, exit code %d\n%s" % (plan, agents, end.returncode, end.stdout[-500:] + end.stderr[-500:])]
        with open(report) as f:
            found = [f for f in json.load(f)["findings"] if f["as_commonly_relied_on"]]
    problems = ["%s %s: %s at %s" % (plan, agents, f["kind"], [a["sass"] for a in f["accesses"]]) for f in found]
    if end.returncode:
        problems.append("%s %s: exit code %d" % (plan, agents, end.returncode))
    return problems


def main():
    program, root = sys.argv[1:3]
    plans = []  # (plan, architecture): sm_90, what else an H200 or a tensor core needs, and the uniform mbarriers of sm_107
    for path in sorted(glob.glob(os.path.join(root, "cubins", "*", "plan.json"))):
        if sys.argv[3:] and not any(part in path for part in sys.argv[3:]):
            continue
        if path.split(os.sep)[-2] in RACES:
            continue
        with open(path) as f:
            plans += [(path, arch) for arch in json.load(f)["arch"] if arch in ("sm_90", "sm_90a", "sm_100a", "sm_107a")]
    runs = [(p, arch, agents) for p, arch in plans for agents in ("eager", "lazy", "random")
            if agents == "eager" or p.split(os.sep)[-2] in WITH_AGENTS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda r: check(program, *r), runs))
    problems = [p for r in results for p in r]
    for problem in problems:
        print(problem)
    print("%d plans, %d problems" % (len(plans), len(problems)))
    return 1 if problems or not plans else 0


if __name__ == "__main__":
    sys.exit(main())
