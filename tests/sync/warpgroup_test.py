#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WARPGROUP.ARRIVE and .WAIT as the barrier of a warpgroup that they are (no PTX becomes WAIT): check-sync is silent on threads that hand words
to other warps of theirs by it, finds each half that is left out, and models order by it.

    warpgroup_test.py SASSEMU ROOT
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path.insert(0, os.path.join(ROOT, "tests", "check_mem"))
from common import assemble  # noqa: E402

# Each thread stores its number, reads that of the thread `across` from it, and stores where that one was, one word further.
KERNEL = """
.target sm_90a
.kernel k
.param out 8
.shared 2048
 S2R R0, SR_TID.X
 LDC.64 R2, c[0x0][out]
 ULDC.64 UR4, c[0x0][0x208]
 IMAD.WIDE.U32 R2, R0, 0x4, R2
 LOP3.LUT R5, R0, %#x, RZ, 0x3c, !PT
 SHF.L.U32 R4, R0, 0x2, RZ
 SHF.L.U32 R5, R5, 0x2, RZ
 STS [R4+0x400], R0
%s
 LDS R6, [R5+0x400]
%s
 IADD3 R6, R6, 0x1, RZ
 STS [R4+0x400], R6
%s
 LDS R7, [R5+0x400]
 BAR.SYNC.DEFER_BLOCKING 0x0
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
ARRIVE, WAIT = " WARPGROUP.ARRIVE\n", " WARPGROUP.WAIT\n"
BOTH = ARRIVE + WAIT
CASES = (  # across, what stands between, whether that is a race
    (127, (BOTH, BOTH, BOTH), False),
    (127, (ARRIVE, BOTH, BOTH), True),
    (127, (WAIT, BOTH, BOTH), True),
    (127, (BOTH, ARRIVE, BOTH), True),
    (127, (BOTH, WAIT, BOTH), True),  # of the phase before
    (127, (BOTH, BOTH, ARRIVE), True),
    (127, (BOTH, BOTH, WAIT), True),
    (255, (BOTH, BOTH, BOTH), True),  # another warpgroup
)


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        for across, between, races in CASES:
            cubin = assemble(PROGRAM, work, KERNEL % (across, *between))
            threads = across + 1
            expected = os.path.join(work, "out.bin")
            with open(expected, "wb") as f:
                f.write(struct.pack("<%dI" % threads, *(t + 1 for t in range(threads))))
            plan = os.path.join(work, "plan.json")
            with open(plan, "w", encoding="utf-8") as f:
                json.dump({"arch": "sm_90a", "module": os.path.relpath(cubin, work), "timeLimit": 20,
                           "buffers": {"out": {"bytes": 4 * threads, **({} if races else {"expect": {"file": "out.bin"}})}},
                           "launches": [{"kernel": "k", "grid": [1], "block": [threads], "args": [{"buffer": "out"}]}]}, f)
            report = os.path.join(work, "report.json")
            done = subprocess.run([PROGRAM, "check-sync", plan, "--json", report, "--seeds", "5"], capture_output=True, text=True, check=False)
            with open(report, encoding="utf-8") as f:
                found = {(x["kind"], *sorted(a["sass"].split()[0] for a in x["accesses"])) for x in json.load(f)["findings"]}
            if (("data-race", "LDS", "STS") not in found if races else found) or done.returncode != (6 if races else 0):
                problems += 1
                print("%s: exit code %d, found %s %s" % (between, done.returncode, found, done.stdout + done.stderr))
            for model in ((), ("--model", "weak"), ("--model", "caches")) if not races else ():
                for seed in range(5):
                    done = subprocess.run([PROGRAM, "run", plan, *model, "--seed", str(seed)], capture_output=True, text=True, check=False)
                    if done.returncode:
                        problems += 1
                        print("%s, seed %d: exit code %d: %s" % (" ".join(model), seed, done.returncode, (done.stdout + done.stderr)[-400:]))
    print("%d cases, %d problems" % (len(CASES), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
