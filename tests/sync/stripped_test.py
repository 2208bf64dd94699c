#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libraries ship without its PTX, as their code does it: check-sync is silent on what the words order, and finds each link that is left out.
  - mbarriers whose initialisation a relaxed barrier of the cluster hands on (fence.mbarrier_init becomes no word);
  - one lane that waits, copies or arrives for a warp that runs together, by a guard and not by a branch;
  - bytes that an arrival at another CTA's mbarrier, of whatever scope, says are free; what was written before it is not handed on;
  - warps that arrive at a named barrier again, with nobody waiting there, when they know that all the others have arrived.

    stripped_test.py SASSEMU ROOT
"""
import json
import os
import sys
import tempfile

from assembled import START, assemble, check_sync

PROGRAM = os.path.abspath(sys.argv[1])

# UR10: the rank of the CTA; UR8: an mbarrier, of as many arrivals as `count`; thread 0 has initialised it.
MBARRIER = """ S2UR UR10, SR_CgaCtaId
 UMOV UR9, %#x
 ULEA UR8, UR10, UR9, 0x18
 UMOV UR6, %#x
 UMOV UR7, %#x
 ISETP.NE.AND P0, PT, R0, RZ, PT
 BSSY B0, `(done%x)
@P0 BRA `(over%x)
 SYNCS.EXCH.64 URZ, [UR8], UR6
over%x:
 BSYNC B0
done%x:
"""
MEET = " UCGABAR_ARV\n UCGABAR_WAIT\n"
CTAS_MEET = " MEMBAR.ALL.GPU\n" + MEET + " CCTL.IVALL\n"


def mbarrier(count, at=0x400):
    left = 0x100000 - count
    return MBARRIER % (at, left << 1 & 0xffffffff, left << 11 & 0xffffffff, at, at, at, at)


# Thread 32 arrives, and all wait.
INIT = "%s ISETP.NE.AND P1, PT, R0, 0x20, PT\n@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR8], RZ\nwait:\n SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR8], RZ\n@!P2 BRA `(wait)\n" + CTAS_MEET + " EXIT\n"

# Lane 0 of warp 0 alone looks at the mbarrier, so it knows more than the others; all of the warp write a tile, which is copied, and written again.
GUARD = mbarrier(1) + """ BAR.SYNC.DEFER_BLOCKING 0x0
 ISETP.NE.AND P1, PT, R0, 0x20, PT
@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR8], RZ
 BAR.SYNC.DEFER_BLOCKING 0x0
@!P0 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR8], RZ
 SHF.L.U32 R4, R0, 0x2, RZ
 ISETP.GE.U32.AND P1, PT, R0, 0x20, PT
@P1 EXIT
 STS [R4+0x440], R0
%s ULDC.64 UR14, c[0x0][out]
 UMOV UR12, 0x440
 UMOV UR16, 0x8
 UBLKCP.G.S [UR14], [UR12], UR16
 UTMACMDFLUSH
%s STS [R4+0x440], R0
 DEPBAR.LE SB0, 0x0
 EXIT
"""
# One lane arrives for its warp, which has read; the other warp fills the tile again.
FOR_ALL = mbarrier(1) + """ SHF.L.U32 R4, R0, 0x2, RZ
 STS [R4+0x440], R0
 BAR.SYNC.DEFER_BLOCKING 0x0
 ISETP.GE.U32.AND P1, PT, R0, 0x20, PT
@P1 BRA `(second)
 LDS R6, [R4+0x4c0]
%s STG.E desc[UR4][R2.64], R6
 EXIT
second:
%s STS [R4+0x440], R0
 EXIT
"""
ARRIVE = "@!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR8], RZ\n"
WAIT = "wait:\n SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR8], RZ\n@!P2 BRA `(wait)\n"

# CTA 0 fills the words of CTA 1 twice by st.async; UR11: CTA 1 arrives there when it has read.
RING = mbarrier(32, 0x408) + " UMOV UR11, UR8\n" + mbarrier(1) + MEET + """ ISETP.NE.AND P1, PT, RZ, UR10, PT
 IMAD.U32 R9, RZ, RZ, UR8
 SHF.L.U32 R4, R0, 0x2, RZ
 IADD3 R4, R4, 0x440, RZ
 MOV R5, 0x1
@P1 BRA `(reader)
 PRMT R6, R5, 0x654, R4
 PRMT R7, R5, 0x654, R9
 STAS [R6.64], R0
%s STAS [R6.64], R0
 BRA `(out)
reader:
 MOV R10, 0x80
 ULEA UR9, UR10, URZ, 0x18
 IADD3 R4, R4, UR9, RZ
@!P0 SYNCS.ARRIVE.TRANS64 RZ, [UR8], R10
first:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR8], RZ
@!P2 BRA `(first)
%s UPRMT UR14, URZ, 0x654, UR11
%s@!P0 SYNCS.ARRIVE.TRANS64 RZ, [UR8], R10
 SHF.L.U32 R13, R5, 0x1f, RZ
next:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR8], R13
@!P2 BRA `(next)
 LDS R12, [R4]
 STG.E desc[UR4][R2.64], R12
out:
""" + CTAS_MEET + " EXIT\n"
FREE = "free:\n SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR11], RZ\n@!P2 BRA `(free)\n"
READ = " LDS R12, [R4]\n STG.E desc[UR4][R2.64], R12\n"
TELL = " SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [UR14], RZ\n"

AGAIN = """ ISETP.GE.U32.AND P1, PT, R0, 0x20, PT
@P1 BRA `(second)
 BAR.ARV 0x1, 0x40
%s BAR.ARV 0x1, 0x40
 EXIT
second:
%s BAR.ARV 0x1, 0x40
 EXIT
"""
TURN, COME = " BAR.SYNC.DEFER_BLOCKING 0x2, 0x40\n", " BAR.ARV 0x1, 0x40\n"

CASES = (  # CTAs, threads, text, what must be found: nothing, or one of these
    (2, 64, INIT % (mbarrier(1) + MEET), ()),
    (2, 64, INIT % (" UCGABAR_ARV\n" + mbarrier(1) + " UCGABAR_WAIT\n"), ("mbarrier-protocol",)),
    (2, 64, INIT % mbarrier(1), ("mbarrier-protocol",)),
    (1, 64, GUARD % (" FENCE.VIEW.ASYNC.S\n", " DEPBAR.LE SB0, 0x0\n"), ()),
    (1, 64, GUARD % ("", " DEPBAR.LE SB0, 0x0\n"), ("missing-proxy-fence",)),
    (1, 64, GUARD % (" FENCE.VIEW.ASYNC.S\n", ""), ("async-reuse",)),
    (1, 64, FOR_ALL % (ARRIVE, WAIT), ()),
    (1, 64, FOR_ALL % (ARRIVE, ""), ("data-race",)),
    (1, 64, (FOR_ALL % ("", WAIT)).replace(" LDS R6", ARRIVE + " LDS R6"), ("data-race",)),
    (2, 32, RING % (FREE, READ, TELL), ()),
    (2, 32, RING % ("", READ, TELL), ("async-reuse", "data-race")),
    (2, 32, RING % (FREE, TELL.replace(" SYNCS", " UPRMT UR14, URZ, 0x654, UR11\n SYNCS"), READ), ("async-reuse", "data-race")),
    (2, 32, RING % (FREE, " STS [R4], R0\n", TELL), ("missing-release",)),
    (1, 64, AGAIN % (TURN, COME + TURN), ()),
    (1, 64, AGAIN % ("", COME), ("barrier-misuse",)),
    (1, 64, AGAIN % (TURN, TURN + COME), ("barrier-misuse",)),
)


def main():
    problems = 0
    with tempfile.TemporaryDirectory() as work:
        for ctas, threads, body, wanted in CASES:
            cubin = assemble(PROGRAM, work, START % ("sm_90a", 31) + body)
            path = os.path.join(work, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"arch": "sm_90a", "module": os.path.relpath(cubin, work), "timeLimit": 5, "buffers": {"out": {"bytes": 4 * threads}},
                           "launches": [{"kernel": "k", "grid": [ctas], "block": [threads], "cluster": [ctas], "args": [{"buffer": "out"}]}]}, f)
            end, findings, text = check_sync(PROGRAM, path)
            found = {x["kind"] for x in findings if x["as_commonly_relied_on"]}
            if not found & set(wanted) if wanted else findings or end:
                problems += 1
                print("%s: exit code %d, found %s, not %s\n%s" % (body, end, sorted(x["kind"] for x in findings), wanted, text[-3000:]))
    print("%d cases, %d problems" % (len(CASES), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
