#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What check-sync, another checker, `fidelity` or the model `weak` costs: processor time of a launch with it, against `flat` with one thread, on the SGEMM
and reduction kernels, or others. Processor time, so that a loaded machine changes little; the best of several runs.

    slowdown.py SASSEMU ROOT [LIMIT [CHECKER [KERNEL[@ARCH]...]]]     prints the ratios; fails above LIMIT (default 30)

KERNEL: one launch on sm_90, and what the checker adds to the process. KERNEL@ARCH: as many launches as take a while, without
what the process does besides.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

ROUNDS = 5
WHILE = 0.3  # seconds


def run(program, command, plan, arch="sm_90"):
    """(seconds of the launches, processor seconds of all of it)"""
    how = {"fidelity": ["--fidelity"], "weak": ["--model", "weak"]}.get(command, [])
    child = subprocess.Popen([program, "run" if how else command, plan, *how, "--arch", arch, "--threads", "1", "--stats"], stdout=subprocess.PIPE, text=True)
    out = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return json.loads(out.splitlines()[-1])["seconds"], usage.ru_utime + usage.ru_stime


def of_many(program, checker, folder, arch):
    """(launches, processor seconds of them alone, with the checker)"""
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as f:
        plan = json.load(f)
    for buffer in plan["buffers"].values():
        buffer.pop("expect", None)  # of one launch
    with tempfile.TemporaryDirectory() as work:
        for name in os.listdir(folder):
            os.symlink(os.path.join(folder, name), os.path.join(work, name))

        def best(command, count):
            path = os.path.join(work, "many.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(dict(plan, launches=[dict(launch, repeat=count) for launch in plan["launches"]]), f)
            runs = [run(program, command, path, arch) for _ in range(ROUNDS)]
            return min(r[0] for r in runs), min(r[1] for r in runs)
        count = 1 + math.ceil(WHILE / best("run", 1)[0])
        return count, *(best(command, count)[1] - best(command, 1)[1] for command in ("run", checker))


def main():
    program, root = sys.argv[1:3]
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 30
    checker = sys.argv[4] if len(sys.argv) > 4 else "check-sync"
    worst = 0
    for kernel in sys.argv[5:] or ("sgemm", "reduce_shared", "reduce_shuffle", "reduce_atomic", "reduce_redux"):
        kernel, _, arch = kernel.partition("@")
        if arch:
            count, plain, with_it = of_many(program, checker, os.path.abspath(os.path.join(root, "cubins", kernel)), arch)
            worst = max(worst, with_it / plain)
            print("%-16s %s, %d launches: %.3f s, with %s %.3f s: %.1fx" % (kernel, arch, count, plain, checker, with_it, with_it / plain))
            continue
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
