#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What check-sync, or another checker, costs: processor time of a launch with it, against `flat` with one thread, on the SGEMM
and reduction kernels, or others. Processor time, so that a loaded machine changes little; the best of several runs.

    slowdown.py SASSEMU ROOT [LIMIT [CHECKER [KERNEL...]]]     prints the ratios; fails above LIMIT (default 30)
"""
import json
import os
import subprocess
import sys

ROUNDS = 5


def run(program, command, plan):
    """(seconds of the launch, processor seconds of all of it)"""
    how = ["run", "--fidelity"] if command == "fidelity" else [command]
    child = subprocess.Popen([program, *how, plan, "--arch", "sm_90", "--threads", "1", "--stats"], stdout=subprocess.PIPE, text=True)
    out = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return json.loads(out.splitlines()[-1])["seconds"], usage.ru_utime + usage.ru_stime


def main():
    program, root = sys.argv[1:3]
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 30
    checker = sys.argv[4] if len(sys.argv) > 4 else "check-sync"
    worst = 0
    for kernel in sys.argv[5:] or ("sgemm", "reduce_shared", "reduce_shuffle", "reduce_atomic", "reduce_redux"):
        plan = os.path.join(root, "cubins", kernel, "plan.json")
        flat, checked = [], []
        for _ in range(ROUNDS):
            flat.append(run(program, "run", plan))
            checked.append(run(program, checker, plan))
        # A launch alone is too short for the clock of a process; what the checker adds is not.
        launch = min(f[0] for f in flat)
        added = min(c[1] for c in checked) - min(f[1] for f in flat)
        ratio = 1 + max(0, added) / launch
        worst = max(worst, ratio)
        print("%-16s flat %.4f s, %s adds %.4f s: %.1fx" % (kernel, launch, checker, added, ratio))
    print("worst %.1fx, limit %gx" % (worst, limit))
    return 1 if worst > limit else 0


if __name__ == "__main__":
    sys.exit(main())
