#!/usr/bin/env python3
"""What check-sync costs: seconds of a launch with it, against `flat` with one thread, on the SGEMM and reduction kernels.

    slowdown.py SASSEMU ROOT [LIMIT]     prints the ratios; fails above LIMIT (default 30)
"""
import json
import os
import subprocess
import sys


def seconds(program, command, plan):
    best = None
    for _ in range(3):
        out = subprocess.run([program, command, plan, "--threads", "1", "--stats"], capture_output=True, text=True).stdout
        took = json.loads(out.splitlines()[-1])["seconds"]
        best = took if best is None else min(best, took)
    return best


def main():
    program, root = sys.argv[1:3]
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 30
    worst = 0
    for kernel in ("sgemm", "reduce_shared", "reduce_shuffle", "reduce_atomic", "reduce_redux"):
        plan = os.path.join(root, "cubins", kernel, "sm_90.json")
        flat, checked = seconds(program, "run", plan), seconds(program, "check-sync", plan)
        worst = max(worst, checked / flat)
        print("%-16s flat %.4f s, check-sync %.4f s: %.1fx" % (kernel, flat, checked, checked / flat))
    print("worst %.1fx, limit %gx" % (worst, limit))
    return 1 if worst > limit else 0


if __name__ == "__main__":
    sys.exit(main())
