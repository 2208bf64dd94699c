#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WARPGROUP.ARRIVE and .WAIT as the barrier of a warpgroup that they are (no PTX becomes WAIT): check-sync is silent on threads that hand words
to other warps of theirs by it, finds each half that is left out, and models order by it. And a wait for wgmma is one for what all four
warps did before they issued it.

    warpgroup_test.py SASSEMU ROOT
"""
import os
import struct
import subprocess
import sys
import tempfile

from assembled import check_sync, plan_of

PROGRAM = os.path.abspath(sys.argv[1])

# Each thread stores its number, reads that of the thread across from it, and stores where that one was, one word further.
KERNEL = """
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
# Each thread reads the word of the thread across from it, and stores to its own, which that one has read. A wgmma without work lies between.
GROUP = """
 SHF.L.U32 R4, R0, 0x2, RZ
 SHF.L.U32 R5, R5, 0x2, RZ
 STS [R4+0x400], R0
 BAR.SYNC.DEFER_BLOCKING 0x0
%s
 STS [R4+0x400], R6
 BAR.SYNC.DEFER_BLOCKING 0x0
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
READ, ISSUE, DONE = " LDS R7, [R5+0x400]\n", " HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0\n", " WARPGROUP.DEPBAR.LE gsb0, %#x\n"
GROUPS = (  # across, what stands there, whether that is a race
    (127, READ + ISSUE + DONE % 0, False),  # a wait is one for what all four warps have issued
    (127, READ + ISSUE + ISSUE + DONE % 1, False),
    (127, READ + ISSUE + DONE % 1, True),
    (127, READ + ISSUE, True),
    (127, ISSUE + READ + DONE % 0, True),
    (127, ISSUE + READ + ISSUE + DONE % 1, True),
    (255, READ + ISSUE + DONE % 0, True),  # another warpgroup
)
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
            threads = across + 1
            with open(os.path.join(work, "out.bin"), "wb") as f:
                f.write(struct.pack("<%dI" % threads, *(t + 1 for t in range(threads))))
            right = {} if races else {"expect": {"file": "out.bin"}}
            plan = plan_of(PROGRAM, work, KERNEL % between, "sm_90a", threads, across, **right)
            end, findings, text = check_sync(PROGRAM, plan)
            found = {(x["kind"], *sorted(a["sass"].split()[0] for a in x["accesses"])) for x in findings}
            if (("data-race", "LDS", "STS") not in found if races else found) or end != (6 if races else 0):
                problems += 1
                print("%s: exit code %d, found %s %s" % (between, end, found, text))
            for model in ((), ("--model", "weak"), ("--model", "caches")) if not races else ():
                for seed in range(5):
                    done = subprocess.run([PROGRAM, "run", plan, *model, "--seed", str(seed)], capture_output=True, text=True, check=False)
                    if done.returncode:
                        problems += 1
                        print("%s, seed %d: exit code %d: %s" % (" ".join(model), seed, done.returncode, (done.stdout + done.stderr)[-400:]))
        for across, between, races in GROUPS:
            plan = plan_of(PROGRAM, work, GROUP % between, "sm_90a", across + 1, across)
            end, findings, text = check_sync(PROGRAM, plan)
            found = {(x["kind"], x["as_commonly_relied_on"], *sorted(a["sass"].split()[0] for a in x["accesses"])) for x in findings}
            if found != ({("data-race", True, "LDS", "STS")} if races else set()) or end != (6 if races else 0):
                problems += 1
                print("%s: exit code %d, found %s %s" % (between, end, found, text))
    print("%d cases, %d problems" % (len(CASES) + len(GROUPS), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
