# SPDX-License-Identifier: Apache-2.0
"""What the tests of check-sync on .sass text have in common: one launch, of one CTA if nothing else is said, which is given `out`."""
import json
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "check_mem"))
from common import assemble  # noqa: E402

# Each thread has its number in R0, the place of its word of `out` in R2, and in R5 the number of another one.
START = """
.target %s
.kernel k
.param out 8
.shared 2048
start:
 S2R R0, SR_TID.X
 LDC.64 R2, c[0x0][out]
 ULDC.64 UR4, c[0x0][0x208]
 IMAD.WIDE.U32 R2, R0, 0x4, R2
 LOP3.LUT R5, R0, %#x, RZ, 0x3c, !PT
"""


def plan_of(program, work, body, arch, block, across, start=START, grid=1, **out):
    """The path of a plan: `body` behind START."""
    cubin = assemble(program, work, start % (arch, across) + body)
    path = os.path.join(work, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"arch": arch, "module": os.path.relpath(cubin, work), "timeLimit": 20, "buffers": {"out": {"bytes": 4 * block, **out}},
                   "launches": [{"kernel": "k", "grid": [grid], "block": [block], "args": [{"buffer": "out"}]}]}, f)
    return path


def check_sync(program, plan, seeds=5):
    """(exit code, findings, output)"""
    report = plan + ".report"
    done = subprocess.run([program, "check-sync", plan, "--json", report, "--seeds", str(seeds)], capture_output=True, text=True, check=False)
    if not os.path.exists(report):
        raise ValueError(done.stdout + done.stderr)
    with open(report, encoding="utf-8") as f:
        return done.returncode, json.load(f)["findings"], done.stdout + done.stderr
