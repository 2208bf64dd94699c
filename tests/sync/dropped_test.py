#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values that are loaded and dropped, both ways for check-sync. Compilers join loads of neighbours, and load along what lies between them: it is silent
where no path of the code reads the register that a word comes into, and reports where one does. A merge looks one element beyond its run: it is silent
where a word that nobody ever writes is moved, compared with, selected from and branched on, and nothing that it decides can be seen, and reports it by the
letter where something can.

    dropped_test.py SASSEMU ROOT
"""
import os
import sys
import tempfile

from assembled import START, check_sync, plan_of

PROGRAM = os.path.abspath(sys.argv[1])

# Each thread stores the second word of its pair, loads the pair of its neighbour, and stores the first word of the latter.
KERNEL = """
 SHF.L.U32 R4, R0, 0x3, RZ
 SHF.L.U32 R5, R5, 0x3, RZ
 ISETP.GT.U32.AND P0, PT, R0, 0x30, PT
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
    ("@P0 BRA back\n BRA over\nback:\n IADD3 R7, R7, R6, RZ\n EXIT\nover:", {"data-race"}),  # what it adds to is not stored
    ("loop:\n IADD3 R8, R8, 0x1, RZ\n ISETP.LT.U32.AND P1, PT, R8, 0x4, PT\n@P1 BRA loop", set()),
    ("loop:\n IADD3 R8, R8, 0x1, RZ\n IADD3 R7, R7, R6, RZ\n MOV R6, RZ\n ISETP.LT.U32.AND P1, PT, R8, 0x4, PT\n@P1 BRA loop", {"data-race", "uninitialised-read"}),
)

# Each thread loads a word that nobody writes into R6, with its own word in R7 and another one in R8. P0 is true in threads beyond 16, P1 in all, P2 where R7
# is not 5; the latter's value comes from memory.
BEYOND = """
 SHF.L.U32 R4, R0, 0x2, RZ
 SHF.L.U32 R5, R5, 0x2, RZ
 STS [R4+0x400], R0
 BAR.SYNC.DEFER_BLOCKING 0x0
 LDS R7, [R4+0x400]
 ISETP.GT.U32.AND P0, PT, R0, 0x10, PT
 ISETP.GE.U32.AND P1, PT, R0, RZ, PT
 LDS R6, [0x500]
 LDS R8, [R5+0x400]
 ISETP.NE.U32.AND P2, PT, R8, 0x5, PT
 MOV R9, RZ
%s
 STG.E desc[UR4][R2.64], R7
 EXIT
"""
READ = {"uninitialised-read"}
LOOP = "loop:\n IADD3 R9, R9, 0x1, RZ\n ISETP.GT.U32.OR P3, PT, R9, 0x4, !P1\n%s\n@!P3 BRA loop"
UNWRITTEN = (
    ("", set()),
    (" IADD3 R7, R6, R7, RZ", READ),
    (" IADD3 R9, R6, R7, RZ", set()),
    (" ISETP.LT.U32.OR P3, PT, R6, R7, P1\n SEL R7, R7, R8, P3", set()),
    (" ISETP.LT.U32.OR P3, PT, R6, R7, P0\n SEL R7, R7, R8, P3", READ),  # in threads up to 16
    (" ISETP.LT.U32.OR P3, PT, R6, R7, P2\n SEL R7, R7, R8, P3", READ),  # in thread 58
    (" ISETP.LT.U32.AND P3, PT, R6, R7, !P1\n SEL R7, R7, R8, P3", set()),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, P1\n SEL R7, R7, R8, P3", READ),
    (" ISETP.LT.U32.XOR P3, PT, R6, R7, P1\n SEL R7, R7, R8, P3", READ),
    (" ISETP.LT.U32.AND PT, P3, R6, R7, !P1\n SEL R7, R7, R8, P3", set()),
    (" ISETP.LT.U32.AND PT, P3, R6, R7, P1\n SEL R7, R7, R8, P3", READ),
    (" ISETP.LT.U32.OR P3, PT, R6, R7, PT\n ISETP.LT.U32.AND P4, PT, R6, R7, PT\n PLOP3.LUT P3, PT, P3, P4, PT, 0xf0, 0x0\n SEL R7, R7, R8, P3", set()),
    (" ISETP.LT.U32.AND P4, PT, R6, R7, PT\n PLOP3.LUT P3, PT, P1, P4, PT, 0xc0, 0x0\n SEL R7, R7, R8, P3", READ),
    (" SEL R7, R7, R6, P1", set()),
    (" SEL R7, R7, R6, !P1", READ),
    (" SEL R7, R7, R6, P0", READ),
    (" SEL R7, R6, R6, P2", READ),
    ("@!P1 MOV R7, R6", set()),
    ("@!P0 MOV R7, R6", READ),
    ("@!P2 MOV R7, R6", READ),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n@P3 MOV R7, R8", READ),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n@P3 EXIT", READ),
    (" STS [R4+0x600], R6", set()),
    (" STS [R4+0x600], R6\n LDS R9, [R4+0x600]\n IADD3 R7, R7, R9, RZ", READ),
    (" STS [R4+0x600], R6\n STS [R4+0x600], R0\n LDS R9, [R4+0x600]\n IADD3 R7, R7, R9, RZ", set()),
    (" STS.U8 [R4+0x600], R6\n LDS.U8 R9, [R4+0x601]\n STS [R4+0x600], R6\n STS.U8 [R4+0x601], R0\n LDS.U8 R9, [R4+0x601]\n IADD3 R7, R7, R9, RZ", set()),
    (" STS [R4+0x600], R6\n STS.U8 [R4+0x601], R0\n LDS.U8 R9, [R4+0x602]\n IADD3 R7, R7, R9, RZ", READ),
    (" BAR.SYNC.DEFER_BLOCKING 0x0\n ATOMS.ADD RZ, [R4+0x400], R6", READ),
    (" FMUL R6, R6, RZ\n FADD R7, R7, R6", READ),  # it may be NaN
    (" MUFU.EX2 R6, R6\n FMNMX R6, R6, R7, PT\n FSEL R7, R7, R6, P1", set()),
    (" MUFU.EX2 R6, R6\n FMNMX R6, R6, R7, PT\n FSEL R7, R7, R6, !P1", READ),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n@P3 LDS R9, [R4+0x400]\n SEL R7, R7, R9, P1", set()),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n@P3 LDS R9, [R4+0x400]\n SEL R7, R7, R9, !P1", READ),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n ISETP.LT.U32.AND P3, PT, R0, 0x0, P3\n SEL R7, R7, R8, P3", set()),  # what it is joined with settles it
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n ISETP.GE.U32.AND P3, PT, R0, 0x0, P3\n SEL R7, R7, R8, P3", READ),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n ISETP.GE.U32.OR P3, PT, R0, 0x0, P3\n SEL R7, R7, R8, P3", set()),
    (" PRMT R6, R6, 0x5410, R7\n LOP3.LUT R6, R6, 0xffff0000, RZ, 0xc0, !PT\n IADD3 R7, R7, R6, RZ", set()),
    (" PRMT R6, R6, 0x5410, R7\n LOP3.LUT R6, R6, 0xffff, RZ, 0xc0, !PT\n IADD3 R7, R7, R6, RZ", READ),
    (" R2UR UR6, R6\n UIADD3 UR6, UR6, 0x1, URZ\n IADD3 R9, R7, UR6, RZ", set()),
    (" R2UR UR6, R6\n UIADD3 UR6, UR6, 0x1, URZ\n IADD3 R7, R7, UR6, RZ", READ),
    (" LOP3.LUT R6, R6, 0xfc, RZ, 0xc0, !PT\n LDS R9, [R6+0x400]", READ),
    (" SHFL.BFLY PT, R9, R6, 0x1, 0x1f", set()),
    (" SHFL.BFLY PT, R9, R6, 0x1, 0x1f\n IADD3 R7, R7, R9, RZ", READ),
    (" SEL R6, R6, RZ, P0\n SHFL.IDX PT, R9, R6, 0x5, 0x1f\n ISETP.LT.U32.AND P3, PT, R0, 0x20, PT\n SEL R7, R9, R7, P3", set()),  # of lane 5
    (" SEL R6, R6, RZ, P0\n SHFL.IDX PT, R9, R6, 0x12, 0x1f\n ISETP.LT.U32.AND P3, PT, R0, 0x20, PT\n SEL R7, R9, R7, P3", READ),  # of lane 18
    (" SEL R6, R6, RZ, P0\n SHFL.UP PT, R9, R6, 0xe, RZ\n ISETP.LT.U32.AND P3, PT, R0, 0x20, PT\n SEL R7, R9, R7, P3", READ),
    (" SEL R6, R6, RZ, P0\n MOV R10, 0x10\n SHFL.UP PT, R9, R6, R10, RZ\n ISETP.LT.U32.AND P3, PT, R0, 0x11, PT\n SEL R7, R9, R7, P3", set()),  # of lane 0
    (" SEL R6, R6, RZ, P0\n MOV R10, 0x1\n SHFL.DOWN PT, R9, R6, R10, 0x1f\n ISETP.LT.U32.AND P3, PT, R0, 0x10, PT\n SEL R7, R9, R7, P3", set()),
    (" SEL R6, R6, RZ, P0\n MOV R10, 0x1\n SHFL.DOWN PT, R9, R6, R10, 0x1f\n ISETP.LT.U32.AND P3, PT, R0, 0x11, PT\n SEL R7, R9, R7, P3", READ),
    (" VOTE.ANY R9, PT, P0", set()),
    ("@P1 BRA over\n IADD3 R7, R6, R7, RZ\nover:", set()),
    ("@P0 BRA over\n IADD3 R7, R6, R7, RZ\nover:", READ),
    ("@P2 BRA over\n MOV R9, R8\nover:\n MOV R6, RZ\n IADD3 R7, R6, R7, RZ", set()),
    ("@P2 BRA over\n MOV R6, R8\nover:\n IADD3 R7, R6, R7, RZ", READ),
    (" LOP3.LUT P3, RZ, R0, 0x40, RZ, 0xc0, !PT\n SEL R7, R6, R7, P3", set()),
    (" LOP3.LUT P3, RZ, R0, 0x20, RZ, 0xc0, !PT\n SEL R7, R6, R7, P3", READ),
    (" LDS.U8 R6, [0x500]\n LOP3.LUT P3, RZ, R6, 0x100, RZ, 0xc0, !PT\n SEL R7, R7, R8, P3", set()),
    (" LDS.U8 R6, [0x500]\n LOP3.LUT P3, RZ, R6, 0x80, RZ, 0xc0, !PT\n SEL R7, R7, R8, P3", READ),
    (" R2P PR, R0, 0x40\n SEL R7, R6, R7, P6", set()),
    (" R2P PR, R0, 0x20\n SEL R7, R6, R7, P5", READ),
    (" SHF.L.U32 R9, R0, 0x8, RZ\n R2P PR, R9.B1, 0x40\n SEL R7, R6, R7, P6", set()),
    (" R2P PR, R8, 0x2\n SEL R7, R7, R6, P1", READ),  # P1 is bit 1 of R8
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n P2R R9, PR, RZ, 0x8\n IADD3 R7, R7, R9, RZ", READ),
    (" P2R R9, PR, RZ, 0x2\n ISETP.NE.AND P3, PT, R9, RZ, PT\n SEL R7, R7, R6, P3", set()),
    (" P2R R9, PR, RZ, 0x2\n ISETP.NE.AND P3, PT, R9, RZ, PT\n SEL R7, R6, R7, P3", READ),
    (" P2R R9, PR, RZ, 0x4\n ISETP.NE.AND P3, PT, R9, RZ, PT\n SEL R7, R7, R6, P3", READ),  # P2 is false in thread 58
    (" P2R.B1 R9, PR, RZ, 0x2\n ISETP.EQ.AND P3, PT, R9, 0x200, PT\n SEL R7, R7, R6, P3", set()),
    (" ISETP.LT.U32.AND P3, PT, R6, R7, PT\n P2R R9, PR, RZ, 0x7\n IADD3 R7, R7, R9, RZ", set()),  # another one
    ("loop:\n LDS R9, [R5+0x400]\n ISETP.EQ.AND P3, PT, R9, 0x100, PT\n@P3 BRA loop", set()),  # nobody reads it any more
    ("loop:\n LDS R9, [R5+0x400]\n ISETP.EQ.AND P3, PT, R9, 0x100, PT\n@P3 BRA loop\n SEL R7, R7, R6, P2", READ),
    (LOOP % " MOV R6, RZ" + "\n IADD3 R7, R6, R7, RZ", set()),
    (LOOP % " SEL R7, R7, R6, P1", set()),
    (LOOP % " IADD3 R7, R6, R7, RZ\n MOV R6, RZ", READ),
    (" SEL R7, R7, R6, P1\n LDS R6, [0x500]\n SEL R7, R7, R6, !P1", READ),  # the second load of it
    (" LEA R9, R0, R9, 0x2\n VIADD R9, R9, 0x1\n ISETP.NE.AND P3, PT, R9, RZ, PT\n SEL R7, R7, R6, P3", set()),
    (" IMAD R9, R0, 0x3, R9\n SHF.R.U32.HI R9, RZ, 0x1, R9\n VIMNMX R9, R9, 0x1, PT\n ISETP.LE.AND P3, PT, R9, 0x1, PT\n SEL R7, R7, R6, P3", set()),
)

# P3 says whether the word that nobody writes is less than the thread's number: it is false in thread 0. In R9 is 0.
BRANCH = " ISETP.LT.U32.AND P3, PT, R6, R7, PT\n"
NOBODY = " ISETP.GE.U32.AND P3, PT, R7, R6, PT\n"  # it is true in all threads, so that nobody goes the other way
ADDS = "\n IADD3 R7, R7, R9, RZ"
FLAGS = """ BSSY B0, `(out)
%s BRA no
 LDS R10, [R4+0x400]
 ISETP.GE.U32.AND P4, PT, R10, RZ, PT
 MOV R9, 0x1
@P4 BRA yes
no:
 LDS R10, [R4+0x400]
 ISETP.LT.U32.AND P4, PT, R10, %s, PT
 SEL R9, RZ, 0x1, P4
yes:
 BSYNC B0
out:"""
DIVISION = """@%sP3 BRA fast
 MOV R10, %%#x
 MOV R11, 0x0
 CALL.REL.NOINC `(helper)
back:
 BRA out
fast:
 MUFU.RCP R9, R6
 MOV R12, 0x1
out:%s
 STG.E desc[UR4][R2.64], R7
 EXIT
helper:
 ISETP.GT.U32.AND P4, PT, R6, 0x10, PT
 MOV R12, %s
@P4 BRA large
 FMUL R9, R6, 0.5
 RET.REL.NODEC R10 `(start)
large:
 MOV R9, R6
 RET.REL.NODEC R10 `(start)"""
UNIFORM = """ R2UR UR6, R6
 UISETP.LT.U32.AND UP0, UPT, UR6, 0x5, UPT
 UMOV UR6, 0x2
 BRA.U %sUP0, `(over)
%s
over:%s"""
SWAPPED = " STS [R4+0x600], R7\n%s STS [R4+0x600], %s\n LDS R9, [R4+0x600]" + ADDS
OVER = "@P3 BRA over\n%s\nover:"
BRANCHES = (  # what the branch decides, what is found
    (OVER % " MOV R9, R8", set()),
    (OVER % " MOV R9, R8" + ADDS, READ),
    (OVER % " MOV R9, R8" + "\n MOV R9, R0" + ADDS, set()),
    ("@!P3 BRA over\n MOV R9, R8\nover:" + ADDS, READ),
    (OVER % " MOV R7, R8", READ),
    (OVER % " MOV R9, RZ" + ADDS, set()),  # it is 0 anyway
    (OVER % " LOP3.LUT R9, R0, 0xf00, RZ, 0xc0, !PT" + ADDS, set()),
    (OVER % " LOP3.LUT R9, R0, 0x1, RZ, 0xc0, !PT" + ADDS, READ),  # in odd threads
    ("@P3 BRA other\n MOV R9, 0x1\n BRA over\nother:\n MOV R9, 0x1\nover:" + ADDS, set()),
    ("@P3 BRA other\n MOV R9, 0x1\n BRA over\nother:\n MOV R9, 0x2\nover:" + ADDS, READ),
    ("@P3 BRA other\n MOV R9, 0x1\n BRA over\nother:\n MOV R9, 0x101\nover:\n LOP3.LUT R9, R9, 0xff, RZ, 0xc0, !PT" + ADDS, set()),  # in that bit only
    (OVER % " ISETP.EQ.U32.AND P1, PT, R0, R0, PT" + "\n SEL R7, R7, R8, P1", set()),
    (OVER % " ISETP.NE.U32.AND P1, PT, R0, R0, PT" + "\n SEL R7, R7, R8, P1", READ),
    (OVER % " S2R R9, SR_CLOCKLO" + ADDS, READ),
    (OVER % " FADD R9, R6, 1" + ADDS, READ),
    # Which elements are valid decides on both sides, as in a sort with padding.
    (FLAGS % ("@P3", "RZ") + ADDS, set()),
    (FLAGS % ("@!P3", "RZ") + ADDS, set()),
    (FLAGS % ("@P3", "0x100") + ADDS, READ),
    (FLAGS % ("@P3", "R6") + ADDS, READ),
    (FLAGS % ("@!P3", "R6") + ADDS, READ),
    (FLAGS % ("@P3", "RZ") + "\n ISETP.EQ.U32.AND P4, PT, R9, 0x1, PT\n@!P4 EXIT", set()),
    (OVER % " LDS R9, [0x504]" + ADDS, READ),  # which nobody has written
    (OVER % " LDS R10, [R4+0x400]\n IADD3 R9, R10, -R0, RZ" + ADDS, set()),
    (OVER % " MOV R9, 0x1\n ISETP.LT.U32.AND P4, PT, R6, R8, PT\n@P4 MOV R9, RZ" + ADDS, READ),
    (NOBODY + OVER % " MOV R9, RZ" + ADDS, set()),
    (NOBODY + OVER % " MOV R9, 0x1\n ISETP.LT.U32.AND P4, PT, R6, R8, PT\n@P4 MOV R9, RZ" + ADDS, READ),
    (NOBODY + OVER % " LDS R9, [0x504]" + ADDS, READ),  # which nobody has written, and which holds 0
    (NOBODY + " STS [R4+0x600], R6\n" + OVER % " LDS R9, [R4+0x600]" + ADDS, READ),
    (OVER % " NOP" + "\n SEL R7, R7, R8, P3", READ),  # the branch itself
    (OVER % " NOP" + "\n@P3 BRA end\n IADD3 R7, R7, 0x1, RZ\nend:", READ),
    # One for the whole warp.
    (UNIFORM % ("", " MOV R9, R8", ""), set()),
    (UNIFORM % ("", " MOV R9, R8", ADDS), READ),
    (UNIFORM % ("!", " MOV R9, R8", ADDS), READ),
    (UNIFORM % ("", " MOV R9, RZ", ADDS), set()),
    (UNIFORM % ("", " UMOV UR7, 0x1\n IADD3 R9, R9, UR7, RZ\n IADD3 R9, R9, -UR7, RZ", ADDS), set()),
    (UNIFORM % ("", " UMOV UR6, 0x1", "\n IADD3 R9, R9, UR6, RZ" + ADDS), READ),
    # Who stores is seen where the word is used.
    (OVER % " STS [R4+0x600], R0", set()),
    (SWAPPED % (BRANCH + "@P3", "R0"), set()),  # the same
    (SWAPPED % (BRANCH + "@P3", "R8"), READ),
    (SWAPPED % (BRANCH + "@!P3", "R8"), READ),
    (SWAPPED % (BRANCH + "@!P3", "R8") + "\n MOV R7, R8", set()),
    (" STS [R4+0x600], R7\n" + BRANCH + OVER % " STS [R4+0x600], R8" + "\n LDS R9, [R4+0x600]" + ADDS, READ),
    (" STS [R4+0x600], R7\n" + BRANCH + OVER % " STS [R4+0x600], R8" + "\n STS [R4+0x600], R0\n LDS R9, [R4+0x600]" + ADDS, set()),
    (" STS [R4+0x600], R7\n" + BRANCH + OVER % " STS.U8 [R4+0x601], R8" + "\n LDS.U8 R9, [R4+0x600]" + ADDS, set()),
    (" STS [R4+0x600], R7\n" + BRANCH + OVER % " STS.U8 [R4+0x600], R8" + "\n LDS.U8 R9, [R4+0x600]" + ADDS, READ),
    (" STS [R4+0x600], R7\n" + BRANCH + "@!P3 BRA over\n STS [R4+0x600], R8\n LDS R10, [R4+0x600]\n IADD3 R9, R10, -R8, RZ\nover:" + ADDS, set()),
    (" STS [R4+0x600], R7\n UMOV UR6, 0x600\n" + BRANCH + OVER % " STS [R4+UR6], R8" + "\n LDS R9, [R4+0x600]" + ADDS, READ),
    ("@!P3 BRA over\n LOP3.LUT R10, R6, 0x3c, RZ, 0xc0, !PT\n IADD3 R10, R10, R4, RZ\n STS [R10+0x600], R0\nover:", READ),  # nobody knows where it would
    ("@P3 BRA over\n LOP3.LUT R10, R6, 0x3c, RZ, 0xc0, !PT\n IADD3 R10, R10, R4, RZ\n STS [R10+0x600], R0\nover:", READ),
    # What others see, or take part in.
    (OVER % " STG.E desc[UR4][R2.64], R0", READ),
    ("@!P3 BRA over\n STG.E desc[UR4][R2.64], R0\nover:", READ),
    ("@P3 BRA out\n STG.E desc[UR4][R2.64], R7\nout:\n EXIT", READ),
    ("@P3 BRA out\n STG.E desc[UR4][R2.64], R7\n EXIT\nout:\n MOV R7, RZ", READ),
    (OVER % " ATOMS.ADD RZ, [R4+0x600], R0", READ),
    (OVER % " MEMBAR.SC.GPU", READ),
    (OVER % " VOTE.ANY R9, PT, P0", READ),
    (OVER % " SHFL.BFLY PT, R9, R0, 0x1, 0x1f", READ),
    (OVER % " WARPSYNC.ALL", READ),
    ("@P3 BRA over\n NOP\nover:\n BAR.SYNC.DEFER_BLOCKING 0x0", set()),
    ("@P3 BAR.SYNC.DEFER_BLOCKING 0x0", READ),
    # How often: where it ends is what it decides.
    ("loop:\n IADD3 R9, R9, 0x1, RZ\n ISETP.LT.U32.AND P3, PT, R9, R6, PT\n@P3 BRA loop", READ),
    ("loop:\n IADD3 R9, R9, 0x1, RZ\n@P3 BRA out\n ISETP.LT.U32.AND P4, PT, R9, 0x4, PT\n@P4 BRA loop\nout:", set()),
    ("loop:\n IADD3 R9, R9, 0x1, RZ\n@P3 BRA out\n ISETP.LT.U32.AND P4, PT, R9, 0x4, PT\n@P4 BRA loop\nout:" + ADDS, READ),
    ("@P3 BRA over\nloop:\n IADD3 R9, R9, 0x1, RZ\n ISETP.LT.U32.AND P4, PT, R9, 0x4, PT\n@P4 BRA loop\n IADD3 R9, R9, -0x4, RZ\nover:" + ADDS, set()),
    ("@P3 BRA over\nloop:\n IADD3 R9, R9, 0x1, RZ\n ISETP.LT.U32.AND P4, PT, R9, 0x4, PT\n@P4 BRA loop\nover:" + ADDS, READ),
    # One inside of another.
    (OVER % " ISETP.GT.U32.AND P4, PT, R6, R8, PT\n@P4 BRA over\n MOV R9, RZ" + ADDS, set()),
    (OVER % " ISETP.GT.U32.AND P4, PT, R6, R8, PT\n@P4 BRA over\n MOV R9, R8" + ADDS, READ),
    ("@P3 BRA over\n@!P3 BRA over\n MOV R9, R8\nover:" + ADDS, set()),  # nobody comes there
    # The slow path of a division, with the result dropped and not.
    (DIVISION % ("", "", "0x1"), set()),
    (DIVISION % ("!", "", "0x1"), set()),
    (DIVISION.replace("large:\n", "large:\n IADD3 R10, R10, 0x10, RZ\n") % ("!", "", "0x1"), READ),  # it returns to two places
    (DIVISION % ("", "", "0x1\n@P4 IADD3 R10, R10, 0x10, RZ"), READ),
    (DIVISION % ("", ADDS, "0x1"), READ),
    (DIVISION % ("!", ADDS, "0x1"), READ),
    (DIVISION % ("", "\n IADD3 R7, R7, R12, RZ", "0x1"), set()),
    (DIVISION % ("!", "\n IADD3 R7, R7, R12, RZ", "0x2"), READ),
)

# Compilers often call a function for a barrier of a warp.
CALLED = """again:
 MOV R10, %%#x
 MOV R11, 0x0
%s CALL.REL.NOINC `(helper)
back:
%s
 STG.E desc[UR4][R2.64], R7
 EXIT
helper:
%s
 RET.REL.NODEC R10 `(start)"""
AGAIN = " LDS R9, [R5+0x400]\n ISETP.EQ.AND P3, PT, R9, 0x100, PT\n@P3 BRA again"
CALLS = (  # guard, what is behind the call, what is in the function, what is found
    ("", " SEL R7, R7, R6, P1", " NOP", set()),
    ("", " SEL R7, R7, R6, !P1", " NOP", READ),
    ("", " SEL R7, R7, R6, P1", " IADD3 R7, R7, R6, RZ", READ),
    ("", " IADD3 R7, R7, R6, RZ", " MOV R6, RZ", set()),
    ("@P0", " SEL R7, R7, R6, P1", " NOP", set()),
    ("@P2", " SEL R7, R7, R6, P1", " NOP", set()),
    ("@P2", " SEL R7, R7, R6, P1", " IADD3 R7, R7, R6, RZ", READ),
    ("", "@P2 BRA over\n MOV R9, R8\nover:\n SEL R7, R7, R6, P1", "@P2 BRA out\n MOV R9, R8\nout:", set()),
    ("", "@P2 BRA over\n MOV R9, R8\nover:\n IADD3 R7, R7, R6, RZ", "@P2 BRA out\n MOV R9, R8\nout:", READ),
    ("", AGAIN, " NOP", set()),  # nobody reads it any more
    ("", AGAIN + "\n IADD3 R7, R7, R6, RZ", " NOP", READ),
    ("", AGAIN, "@P2 BRA out\n MOV R10, 0x10\nout:\n MOV R10, %#x", set()),  # the function itself says where it returns to
)


def with_return(behind):
    """The body, with the place that a call returns to as a number."""
    body = BEYOND % behind
    if "back:" not in body:
        return body
    before = (START + body)[:(START + body).index("back:")]
    place = 16 * sum(line[:1] in (" ", "@") for line in before.split("\n"))
    return body.replace("%#x", "%#x" % place)


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        cases = [(KERNEL % behind, expected, 6 if expected else 0) for behind, expected in CASES]
        cases += [(BEYOND % behind, expected, 0) for behind, expected in UNWRITTEN]  # by the letter
        cases += [(with_return(BRANCH + behind), expected, 0) for behind, expected in BRANCHES]
        cases += [(with_return(CALLED % tuple(how)), expected, 0) for *how, expected in CALLS]
        for body, expected, code in cases:
            end, findings, text = check_sync(PROGRAM, plan_of(PROGRAM, work, body, "sm_90", 64, 63))
            found = {x["kind"] for x in findings}
            if found != expected or end != code:
                problems += 1
                print("%s: exit code %d, found %s, not %s %s" % (body, end, found, expected, text))
    print("%d cases, %d problems" % (len(cases), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
