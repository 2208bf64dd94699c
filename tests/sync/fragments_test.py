#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of a tile that nobody has written go through LDSM and HMMA into columns of the accumulator, and a mask throws these columns away: check-sync is
silent. The twin whose mask is off by one column has a report. Likewise for elements of a transposed matrix, rows of A, fragments in a loop, and elements
on their way through MOVM and STSM.

    fragments_test.py SASSEMU ROOT
"""
import os
import sys
import tempfile

from assembled import check_sync, plan_of

PROGRAM = os.path.abspath(sys.argv[1])

# One warp. At 0x400 sixteen rows of sixteen halves, of which it writes the first A_ROWS; at 0x600 eight rows, of which it writes the first B_ROWS; all
# are 1.0. R8..R11 get the fragments of A, R12 and R13 those of B, R16..R19 the product. R6 is the lane's first column, R7 its first row.
TILES = """
 MOV R20, 0x3c003c00
 MOV R21, R20
 MOV R22, R20
 MOV R23, R20
 SHF.L.U32 R4, R0, 0x4, RZ
 ISETP.LT.U32.AND P1, PT, R0, %(a)d, PT
 ISETP.LT.U32.AND P2, PT, R0, %(b)d, PT
@P1 STS.128 [R4+0x400], R20
@P2 STS.128 [R4+0x600], R20
 BAR.SYNC.DEFER_BLOCKING 0x0
 LOP3.LUT R6, R0, 0xf, RZ, 0xc0, !PT
 SHF.R.U32.HI R7, RZ, 0x4, R0
 SHF.L.U32 R6, R6, 0x5, RZ
 LEA R6, R7, R6, 0x4
 LDSM.16.M88.4 R8, [R6+0x400]
 LOP3.LUT R6, R0, 0x7, RZ, 0xc0, !PT
 SHF.R.U32.HI R7, RZ, 0x3, R0
 LOP3.LUT R7, R7, 0x1, RZ, 0xc0, !PT
 SHF.L.U32 R6, R6, 0x5, RZ
 LEA R6, R7, R6, 0x4
 LDSM.16.M88.2 R12, [R6+0x600]
 LOP3.LUT R6, R0, 0x3, RZ, 0xc0, !PT
 SHF.L.U32 R6, R6, 0x1, RZ
 SHF.R.U32.HI R7, RZ, 0x2, R0
"""
PRODUCT = " HMMA.16816.F32 R16, R8, R12, RZ\n"
HALVES = " HMMA.16816.F16 R16, R8, R12, RZ\n"
OLDER = " HMMA.1688.F32 R16, R8, R12, RZ\n HMMA.1688.F32 R16, R10, R13, R16\n"
# Columns from the given one on are dropped.
COLUMNS = """
 ISETP.GE.U32.AND P0, PT, R6, %(at)d, PT
 FSEL R16, R16, RZ, !P0
 FSEL R18, R18, RZ, !P0
 IADD3 R24, R6, 0x1, RZ
 ISETP.GE.U32.AND P0, PT, R24, %(at)d, PT
 FSEL R17, R17, RZ, !P0
 FSEL R19, R19, RZ, !P0
"""
# Rows: those from the given one on are not stored.
ROWS = """
 IADD3 R24, R7, 0x8, RZ
 ISETP.LT.U32.AND P1, PT, R7, %(at)d, PT
 ISETP.LT.U32.AND P2, PT, R24, %(at)d, PT
 MOV R25, RZ
@P1 FADD R25, R16, R17
@P2 FADD R25, R18, R19
"""
# The sum of a row, over the lanes that have it, is stored.
SUM = """
 FADD R16, R16, R17
 FADD R18, R18, R19
 FADD R16, R16, R18
 SHFL.BFLY PT, R17, R16, 0x1, 0x1f
 FADD R16, R16, R17
 SHFL.BFLY PT, R17, R16, 0x2, 0x1f
 FADD R16, R16, R17
 STG.E desc[UR4][R2.64], R16
 EXIT
"""
STORE = """
 STG.E desc[UR4][R2.64], %s
 EXIT
"""
# Twice the same, and the accumulator that goes round is masked each time.
LOOP = """
 MOV R26, RZ
 MOV R16, RZ
 MOV R17, RZ
 MOV R18, RZ
 MOV R19, RZ
again:
 HMMA.16816.F32 R16, R8, R12, R16
%s
 IADD3 R26, R26, 0x1, RZ
 ISETP.NE.AND P3, PT, R26, 0x2, PT
@P3 BRA again
"""
# Of packed halves only those in the lower half of a register: column 2 t.
LOWER = """
 LOP3.LUT R16, R16, %s, RZ, 0xc0, !PT
 ISETP.GE.U32.AND P0, PT, R6, 0x6, PT
 SEL R16, R16, RZ, !P0
"""
# Eight rows of eight halves, of which the first %(n)d words of each are written, one by one; the fragment of the transposed matrix has columns that nobody
# has written in rows of lanes: lane l has row l / 4 of what was column l / 4.
TURNED = """
 SHF.R.U32.HI R7, RZ, 0x2, R0
 LOP3.LUT R6, R0, 0x3, RZ, 0xc0, !PT
 SHF.L.U32 R4, R0, 0x2, RZ
 ISETP.LT.U32.AND P1, PT, R6, 0x3, PT
@P1 STS [R4+0x400], R0
 BAR.SYNC.DEFER_BLOCKING 0x0
 LOP3.LUT R5, R0, 0x7, RZ, 0xc0, !PT
 SHF.L.U32 R5, R5, 0x4, RZ
%s
 ISETP.LT.U32.AND P2, PT, R7, %d, PT
 SEL R16, R16, RZ, P2
"""
LOADED = " LDSM.16.MT88 R16, [R5+0x400]"
MOVED = " LDSM.16.M88 R16, [R5+0x400]\n MOVM.16.MT88 R16, R16"
STORED = " LDSM.16.M88 R16, [R5+0x400]\n STSM.16.MT88 [R5+0x500], R16\n BAR.SYNC.DEFER_BLOCKING 0x0\n LDSM.16.M88 R16, [R5+0x500]"
WHOLE, FIVE_ROWS = 32, 10  # threads that write, sixteen bytes each
READ = {"uninitialised-read"}


def tiles(a, b, *behind):
    return TILES % {"a": a, "b": b} + "".join(behind)


def columns(at):
    return COLUMNS % {"at": at}


CASES = (  # architecture, code, what is found
    ("sm_90", tiles(WHOLE, FIVE_ROWS, PRODUCT, columns(5), SUM), set()),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, PRODUCT, columns(6), SUM), READ),
    ("sm_80", tiles(WHOLE, FIVE_ROWS, PRODUCT, columns(5), SUM), set()),
    ("sm_80", tiles(WHOLE, FIVE_ROWS, PRODUCT, columns(6), SUM), READ),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, OLDER, columns(5), SUM), set()),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, OLDER, columns(6), SUM), READ),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, LOOP % columns(5), SUM), set()),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, LOOP % columns(6), SUM), READ),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, LOOP % "", columns(5), SUM), set()),
    ("sm_90", tiles(2 * 13, 16, PRODUCT, ROWS % {"at": 13}, STORE % "R25"), set()),
    ("sm_90", tiles(2 * 13, 16, PRODUCT, ROWS % {"at": 14}, STORE % "R25"), READ),
    ("sm_90", tiles(2 * 5, 16, PRODUCT, ROWS % {"at": 5}, STORE % "R25"), set()),
    ("sm_90", tiles(2 * 5, 16, PRODUCT, ROWS % {"at": 6}, STORE % "R25"), READ),
    ("sm_90", tiles(2 * 5, 16, PRODUCT, columns(0), SUM), set()),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, HALVES, LOWER % "0xffff", STORE % "R16"), set()),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, HALVES, LOWER % "0xffff0000", STORE % "R16"), READ),
    ("sm_90", tiles(WHOLE, FIVE_ROWS, " FMUL R12, R12, RZ\n FMUL R13, R13, RZ\n", PRODUCT, STORE % "R16"), READ),  # it may be NaN
    *((arch, TURNED % (how, at) + STORE % "R16", found)
      for arch, how in (("sm_90", LOADED), ("sm_90", MOVED), ("sm_90", STORED)) for at, found in ((6, set()), (7, READ))),
)


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        for arch, body, expected in CASES:
            end, findings, text = check_sync(PROGRAM, plan_of(PROGRAM, work, body, arch, 32, 1))
            found = {x["kind"] for x in findings}
            used = all("used" in x for x in findings)
            if found != expected or end or not used:
                problems += 1
                print("%s %s: exit code %d, found %s, not %s %s" % (arch, body, end, found, expected, text))
    print("%d cases, %d problems" % (len(CASES), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
