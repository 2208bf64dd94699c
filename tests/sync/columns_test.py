#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Columns of tensor memory under check-sync: those that a CTA leaves allocated, frees twice, or uses once they are freed, in words; and compiled
kernels (tests/explore/machines/tensor.cu) that free them while a load or the tensor core may still use them. Silent on those that do neither.

    columns_test.py SASSEMU ROOT
"""
import os
import sys
import tempfile

import assembled
from assembled import ROOT, check_sync, plan_of

PROGRAM = os.path.abspath(sys.argv[1])

START = assembled.START.replace(" ULDC.64 UR4, c[0x0][0x208]\n", "")  # which sm_100 has not
# Two granules, columns 0 to 63. `%s`: what is done besides.
KERNEL = """
 UMOV UR8, 0x2
 UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8
 STTM tmem[URZ+0x3f], R0
 FENCE.VIEW.ASYNC.T
 UMOV UR9, 0xfffc
%s
 EXIT
"""
FREE = " UTCATOMSWS.AND URZ, UR9\n"
LEAK, MISUSE = "tensor-memory-leak", "tensor-memory-misuse"
CASES = (  # what is done, the kind of the finding, its words, its instruction
    (FREE, None, None, None),
    ("", LEAK, "no tcgen05.dealloc: columns 0 to 63 of tensor memory are allocated when the CTA ends", "UTCATOMSWS.FIND_AND_SET"),
    (" UMOV UR9, 0xfffe\n" + FREE, LEAK, "no tcgen05.dealloc: columns 32 to 63 of tensor memory are allocated when the CTA ends", "UTCATOMSWS.FIND_AND_SET"),
    (FREE + FREE, MISUSE, "columns 0 to 63 of tensor memory, which it frees, are not allocated", "UTCATOMSWS.AND"),
    (FREE + " LDTM R6, tmem[URZ]\n", MISUSE, "columns 0 to 0 of tensor memory have been freed", "LDTM"),
    (FREE + " LDTM R6, tmem[URZ+0x80]\n", MISUSE, "columns 128 to 128 of tensor memory are not allocated", "LDTM"),
    # What was in the columns before is nobody's: allocated anew, they have to be written first.
    (FREE + " UMOV UR8, 0x2\n UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8\n LDTM R6, tmem[URZ+0x3f]\n IMAD.U32 R7, R6, 0x1, RZ\n" + FREE, "uninitialised-read", "a write", "LDTM"),
)
# Of compiled kernels: kind, and the words of one instruction or both.
KERNELS = {
    "allocation_nothing": set(),
    "allocation_other": set(),
    "allocation_leak": {(LEAK, "UTCATOMSWS.FIND_AND_SET.ALIGN")},
    "allocation_early": {("data-race", "UTCIMMA", "UTCATOMSWS.AND"), (MISUSE, "UTCIMMA")},
    "allocation_loaded": {("async-reuse", "LDTM", "UTCATOMSWS.AND")},
}


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        for lines, kind, missing, word in CASES:
            end, findings, text = check_sync(PROGRAM, plan_of(PROGRAM, work, KERNEL % lines, "sm_100a", 32, 0, START), 1)
            found = [(f["kind"], f["missing"], f["accesses"][0]["sass"].split(".ALIGN")[0].split()[0]) for f in findings]
            if found != ([(kind, missing, word)] if kind else []) or (not kind and end):
                problems += 1
                print("%r: exit code %d, found %s\n%s" % (lines, end, found, text))
    for kernel, expected in KERNELS.items():
        plan = os.path.join(ROOT, "tests", "explore", "machines", "tensor_%s.json" % kernel)
        with tempfile.TemporaryDirectory() as work:
            here = os.path.join(work, "plan.json")
            os.symlink(os.path.abspath(plan), here)
            os.symlink(os.path.join(os.path.dirname(os.path.abspath(plan)), "tensor.cubin"), os.path.join(work, "tensor.cubin"))
            end, findings, text = check_sync(PROGRAM, here, 10)
        # The product changes one lane of those that a warp loads.
        found = {(f["kind"], *(a["sass"].split()[0] for a in f["accesses"])) for f in findings} - {("uninitialised-read", "LDTM")}
        if found != expected:
            problems += 1
            print("%s: exit code %d, found %s\n%s" % (kernel, end, found, text[-3000:]))
    print("%d cases, %d kernels, %d problems" % (len(CASES), len(KERNELS), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
