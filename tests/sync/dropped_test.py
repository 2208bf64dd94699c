#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compilers join loads of neighbours, and load along what lies between them: words that come into a register which nobody reads are not read. Both
ways for check-sync: silent where no path of the code reads the register, and a report where one does.

    dropped_test.py SASSEMU ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path.insert(0, os.path.join(ROOT, "tests", "check_mem"))
from common import assemble  # noqa: E402

# Each thread stores the second word of its pair, loads the pair of its neighbour, and stores the first word of the latter.
KERNEL = """
.target sm_90
.kernel k
.param out 8
.shared 2048
 S2R R0, SR_TID.X
 LDC.64 R2, c[0x0][out]
 ULDC.64 UR4, c[0x0][0x208]
 IMAD.WIDE.U32 R2, R0, 0x4, R2
 LOP3.LUT R5, R0, 0x3f, RZ, 0x3c, !PT
 SHF.L.U32 R4, R0, 0x3, RZ
 SHF.L.U32 R5, R5, 0x3, RZ
 ISETP.GT.U32.AND P0, PT, R0, 0x10, PT
 MOV R8, RZ
 STS [R4+0x404], R0
 BAR.SYNC.DEFER_BLOCKING 0x0
 LDS.64 R6, [R5+0x400]
 STS [R4+0x400], R0
%s
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
CASES = (  # what is behind the load, what is found
    ("", set()),
    (" MOV R6, RZ\n IADD3 R7, R7, R6, RZ", set()),
    (" IADD3 R7, R7, R6, RZ", {"data-race", "uninitialised-read"}),
    ("@P0 MOV R6, RZ\n IADD3 R7, R7, R6, RZ", {"data-race", "uninitialised-read"}),
    ("@P0 BRA out\n BRA over\nback:\n IADD3 R7, R7, R6, RZ\n EXIT\nover:\n MOV R6, RZ\n BRA back\nout:", set()),
    ("@P0 BRA back\n BRA over\nback:\n IADD3 R7, R7, R6, RZ\n EXIT\nover:", {"data-race", "uninitialised-read"}),
    ("loop:\n IADD3 R8, R8, 0x1, RZ\n ISETP.LT.U32.AND P1, PT, R8, 0x4, PT\n@P1 BRA loop", set()),
    ("loop:\n IADD3 R8, R8, 0x1, RZ\n IADD3 R7, R7, R6, RZ\n MOV R6, RZ\n ISETP.LT.U32.AND P1, PT, R8, 0x4, PT\n@P1 BRA loop", {"data-race", "uninitialised-read"}),
)


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        for behind, expected in CASES:
            cubin = assemble(PROGRAM, work, KERNEL % behind)
            plan = os.path.join(work, "plan.json")
            with open(plan, "w", encoding="utf-8") as f:
                json.dump({"arch": "sm_90", "module": os.path.relpath(cubin, work), "timeLimit": 20, "buffers": {"out": {"bytes": 256}},
                           "launches": [{"kernel": "k", "grid": [1], "block": [64], "args": [{"buffer": "out"}]}]}, f)
            report = os.path.join(work, "report.json")
            done = subprocess.run([PROGRAM, "check-sync", plan, "--json", report, "--seeds", "5"], capture_output=True, text=True, check=False)
            with open(report, encoding="utf-8") as f:
                found = {x["kind"] for x in json.load(f)["findings"]}
            if found != expected or done.returncode != (6 if expected else 0):
                problems += 1
                print("%r: exit code %d, found %s %s" % (behind, done.returncode, found, done.stdout + done.stderr))
    print("%d cases, %d problems" % (len(CASES), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
