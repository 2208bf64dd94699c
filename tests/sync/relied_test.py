#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shipping code relies on and the letter does not give, for check-sync: the reports of such places are by the letter only, and those of their
neighbours, where the reliance does not hold, are reports as relied on.

    relied_test.py SASSEMU ROOT [NAME-PART]
"""
import json
import os
import sys
import tempfile

from assembled import check_sync, plan_of

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

LETTER, RELIED = {("data-race", False)}, {("data-race", True)}


def races(found):  # what is read too early may not have been written
    return RELIED <= found <= RELIED | {("uninitialised-read", True)}


# Two warps. R0 is the thread's number, R6 that of its warp; P0 is true in the second warp.
BLOCK = """
 SHF.R.U32.HI R6, RZ, 0x5, R0
 SHF.L.U32 R4, R0, 0x2, RZ
 SHF.L.U32 R5, R5, 0x2, RZ
 ISETP.GE.U32.AND P0, PT, R0, 0x20, PT
 MOV R7, 0x7
 MOV R8, RZ
%s
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
MEET = "\n BAR.SYNC.DEFER_BLOCKING 0x0\n"
LOOP = "loop:\n%s\n IADD3 R8, R8, 0x4, RZ\n ISETP.LT.U32.AND P1, PT, R8, 0x8, PT\n@P1 BRA loop" + MEET
MATRIX = " LOP3.LUT R9, R0, 0x1f, RZ, 0xc0, !PT\n LOP3.LUT R10, R0, 0x7, RZ, 0xc0, !PT\n SHF.L.U32 R10, R10, 0x4, RZ\n STSM.16.%s [R10+0x400], %s" \
         + MEET + " LDS R7, [0x404]"
IN_BLOCK = (
    # One value, whoever writes it last.
    ("value, one", " STS [0x400], R7" + MEET + " LDS R7, [0x400]", LETTER),
    ("value, each warp its own", " STS [0x400], R6" + MEET + " LDS R7, [0x400]", RELIED),
    ("value, one of two words", LOOP % " IMAD R9, R6, R8, R7\n STS [R8+0x400], R9", RELIED),
    ("value, by two instructions", "@P0 STS [0x400], R7\n@!P0 STS [0x400], R7" + MEET + " LDS R7, [0x400]", RELIED),
    ("value, read behind one's own", " STS [0x400], R7\n LDS R9, [0x400]" + MEET, LETTER),
    ("value, read behind nobody's", "@P0 STS [0x400], R7\n@!P0 LDS R9, [0x400]" + MEET, RELIED),
    ("value, again behind a barrier", " STS [0x400], R7" + MEET + " LDS R9, [0x400]\n STS [0x400], R7", LETTER | RELIED),  # it might be another one
    ("value, added", " STS [R4+0x400], RZ" + MEET + " ATOMS.ADD RZ, [0x400], R7" + MEET + " LDS R7, [0x400]", set()),
    ("value, one, of matrices", MATRIX % ("M88", "R9"), LETTER),
    ("value, one, of matrices transposed", MATRIX % ("MT88", "R9"), LETTER),
    ("value, each warp its own, of matrices", MATRIX % ("M88", "R0"), RELIED),
    # Threads that have exited are not waited for.
    ("exit", " STS [R4+0x400], R0\n@P0 EXIT" + MEET + " LDS R7, [R5+0x400]", set()),
    ("exit, before a barrier of some", " STS [R4+0x400], R0\n@P0 EXIT\n BAR.SYNC.DEFER_BLOCKING 0x0, 0x20\n LDS R7, [R5+0x400]", races),
    ("exit, and no barrier", " STS [R4+0x400], R0\n@P0 EXIT\n LDS R7, [R5+0x400]", races),
    ("exit, of the reader", " STS [R4+0x400], R0" + MEET + " LDS R7, [R5+0x400]\n@P0 EXIT\n STS [R4+0x400], R7", RELIED),
)

# Two CTAs of two warps. The first writes its words of 0x800 on and sets the flag at 0xc00, the second waits for that.
FENCE = " MEMBAR.SC.GPU\n ERRBAR\n CGAERRBAR\n CCTL.IVALL\n"
FLAG = """
 S2R R10, SR_CTAID.X
 ISETP.NE.AND P0, PT, R10, RZ, PT
 ISETP.NE.AND P2, PT, R0, RZ, PT
 LDC.64 R12, c[0x0][out]
 MOV R7, 0x1
@P0 BRA waits
 STG.E desc[UR4][R2.64+0x800], R0
%s
 EXIT
waits:
%s
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
VOLATILE, PLAIN = "LDG.E.STRONG.SYS", "LDG.E"
POLL = "@P2 BRA seen\npoll:\n %s R6, desc[UR4][R12.64+0xc00]\n ISETP.EQ.AND P1, PT, R6, RZ, PT\n@P1 BRA poll\n%sseen:\n WARPSYNC.ALL" + MEET
EACH = FENCE + MEET + "@P2 EXIT\n STG.E.STRONG.SYS desc[UR4][R12.64+0xc00], R7"  # every thread has a fence, the first one signals
ONE = MEET + "@P2 EXIT\n" + FENCE + " STG.E%s desc[UR4][R12.64+0xc00], R7"  # the first one has a fence for all of them
READ = " %s R7, desc[UR4][R2.64+0x800]"
KINDS = ("missing-acquire", "no-memory-order", "missing-release")


def every(common, kinds=KINDS):
    return lambda found: bool(found) and all(kind in kinds and relied == common for kind, relied in found)


IN_GRID = (
    # A plain store right behind a fence is a flag's.
    ("flag, plain", ONE % "", POLL % (VOLATILE, FENCE) + READ % PLAIN, LETTER),
    ("flag, strong", ONE % ".STRONG.SYS", POLL % (VOLATILE, FENCE) + READ % PLAIN, set()),
    ("flag, no fence before it", MEET + "@P2 EXIT\n STG.E desc[UR4][R12.64+0xc00], R7", POLL % (VOLATILE, FENCE) + READ % PLAIN, RELIED),
    ("flag, plain polling", ONE % "", POLL % (PLAIN, FENCE) + READ % PLAIN, RELIED),
    # Behind a signal that was waited for.
    ("signal, volatile read", ONE % ".STRONG.SYS", POLL % (VOLATILE, "") + READ % VOLATILE, every(False)),
    ("signal, volatile read, each a fence", EACH, POLL % (VOLATILE, "") + READ % VOLATILE, every(False)),
    ("signal, write", EACH, POLL % (VOLATILE, "") + " STG.E desc[UR4][R2.64+0x800], R7", every(False)),
    ("signal, plain read", ONE % ".STRONG.SYS", POLL % (VOLATILE, "") + READ % PLAIN, every(True)),
    ("signal, plain read, each a fence", EACH, POLL % (VOLATILE, "") + READ % PLAIN, every(True)),
    ("signal, no fence, volatile read", MEET + "@P2 EXIT\n STG.E.STRONG.SYS desc[UR4][R12.64+0xc00], R7", POLL % (VOLATILE, "") + READ % VOLATILE,
     every(True)),
    ("signal, both fences", EACH, POLL % (VOLATILE, FENCE) + READ % PLAIN, set()),
)


def stated(program, part):
    """The same with PTX to go by: data/relied_on.cu."""
    for name, kernel, want in (("text, value, one", "one_value", LETTER), ("text, value, several", "several_values", LETTER | RELIED),
                               ("text, exit", "exits", LETTER), ("text, exit, and no barrier", "exits_alone", races),
                               ("text, lanes of one instruction", "lanes", LETTER)):
        if part in name:
            with tempfile.TemporaryDirectory() as work:
                plan = os.path.join(work, "plan.json")
                with open(plan, "w", encoding="utf-8") as f:
                    json.dump({"arch": "sm_90", "module": os.path.relpath(os.path.join(DATA, "relied_on.cubin"), work), "timeLimit": 20,
                               "buffers": {"out": {"bytes": 256}},
                               "launches": [{"kernel": kernel, "grid": [1], "block": [64], "args": [{"buffer": "out"}]}]}, f)
                yield name, check_sync(program, plan), want


def assembled(program, part):
    for name, body, want in IN_BLOCK:
        if part in name:
            with tempfile.TemporaryDirectory() as work:
                yield name, check_sync(program, plan_of(program, work, BLOCK % body, "sm_90", 64, 0x20)), want
    for name, first, second, want in IN_GRID:
        if part in name:
            with tempfile.TemporaryDirectory() as work:
                plan = plan_of(program, work, FLAG % (first, second), "sm_90", 64, 0x20, grid=2, bytes=0xd00)
                yield name, check_sync(program, plan), want


def main():
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    count = problems = 0
    for cases in (assembled(PROGRAM, part), stated(PROGRAM, part)):
        for name, (code, findings, output), want in cases:
            count += 1
            found = {(f["kind"], f["as_commonly_relied_on"]) for f in findings}
            fits = want(found) if callable(want) else found == want
            fits &= code == (6 if any(relied for _, relied in found) else 0)
            fits &= all(f.get("relied_on") for f in findings if not f["as_commonly_relied_on"])
            if not fits:
                problems += 1
                print("%s: exit code %d, found %s\n%s" % (name, code, sorted(found), output[-1500:]))
    print("%d kernels, %d problems" % (count, problems))
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
