# SPDX-License-Identifier: Apache-2.0
"""Kernels in which half warps come to BAR. See README.md."""

import os, itertools


def build(w0, w1=None, warps=2, extra=True):
    out = []
    site = [0]

    def I(x):
        out.append(" " + x)

    for t in [
        "ULDC.64 UR4, c[0x0][0x208]",
        "S2R R0, SR_TID.X",
        "LDC.64 R2, c[0x0][log]",
        "SHF.R.U32.HI R8, RZ, 0x5, R0",
        "MOV R6, 0x4000",
        "IMAD.WIDE.U32 R2, R8, R6, R2",
        "LOP3.LUT R9, R0, 0x1f, RZ, 0xc0, !PT",
        "MOV R6, 0x1",
        "SHF.L.U32 R7, R6, R9, RZ",
        "UMOV UR8, 0x0",
        "LOP3.LUT P3, RZ, R7, 0x5555, RZ, 0xc0, !PT",
        "STS [0x400], RZ",
        "ISETP.NE.U32.AND P5, PT, R8, RZ, PT",
        "MOV R48, 0x0",
        "MOV R49, RZ",
        "MOV R50, RZ",
    ]:
        I(t)
    if w1 is not None:
        I("@P5 BRA `(WARP1)")

    def seq(ops):
        for o in ops:
            if o == "L":
                site[0] += 1
                I(f"MOV R32, 0x{site[0]:x}")
                I("VOTE.ANY R33, PT, PT")
                I("B2R.RESULT R34, P2")
                I("SEL R35, RZ, 0x1, !P2")
                I("BMOV.32 R36, B0")
                for i, r in enumerate(
                    [
                        "THREAD_STATE_ENUM.0",
                        "THREAD_STATE_ENUM.1",
                        "THREAD_STATE_ENUM.2",
                        "THREAD_STATE_ENUM.3",
                        "THREAD_STATE_ENUM.4",
                        "OPT_STACK",
                        "MACTIVE",
                        "MEXITED",
                    ]
                    if extra
                    else []
                ):
                    I(f"BMOV.32 R{37+i}, {r}")
                if extra == "b2r":
                    I("B2R R45, 0x0")
                    I("B2R.WARP R46")
                I("CS2R.32 R47, SR_CLOCKLO")
                I("IADD3 R4, R2, UR8, RZ")
                I("MOV R5, R3")
                I("UIADD3 UR8, UR8, 0x40, URZ")
                I("ULOP3.LUT UR8, UR8, 0x1fff, URZ, 0xc0, !UPT")
                for i in range(4):
                    I(f"STG.E.128 desc[UR4][R4.64+0x{16*i:x}], R{32+4*i}")
            elif isinstance(o, tuple):
                if o[0] == "bra":
                    I(f"LOP3.LUT P0, RZ, R7, 0x{o[1]:x}, RZ, 0xc0, !PT")
                    I(f"@P0 BRA `({o[2]})")
                elif o[0] == "label":
                    out.append(o[1] + ":")
            else:
                I(o)

    seq(w0)
    if w1 is not None:
        out.append("WARP1:")
        seq(w1)
    return "\n".join([".target sm_90", ".kernel k", ".param log 8", ".shared 2048", ".barriers 8"] + out) + "\n"


C = {}
S = "BAR.SYNC.DEFER_BLOCKING 0x0"
S64 = "BAR.SYNC.DEFER_BLOCKING 0x1, 0x40"
S32 = "BAR.SYNC.DEFER_BLOCKING 0x1, 0x20"
SN = "BAR.SYNC 0x0"
RP = "BAR.RED.POPC.DEFER_BLOCKING 0x0, P3"
RO = "BAR.RED.OR.DEFER_BLOCKING 0x0, P3"
RA = "BAR.RED.AND.DEFER_BLOCKING 0x0, P3"
AR = "BAR.ARV 0x1, 0x40"


def lab(x):
    return ("label", x)


def region(inside, t, mask=0xFFFF, els=[]):  # lanes of mask skip to the end
    return (
        ["L", f"BSSY B0, `(E{t})", ("bra", mask, f"X{t}"), "L"]
        + inside
        + ["L", f"BRA `(E{t})", lab(f"X{t}")]
        + els
        + ["L", lab(f"E{t}"), "BSYNC B0", "L"]
    )


for nm, b in [("S", S), ("SN", SN), ("S64", S64), ("S32", S32), ("RP", RP), ("RO", RO), ("RA", RA), ("AR", AR)]:
    for mk in (0xFFFF, 0xFFFFFFF0, 0x1):
        C[f"region_{nm}_{mk:x}"] = build(region([b], 0, mk) + ["EXIT"])
    C[f"region1_{nm}"] = build(region([b], 0) + ["EXIT"], warps=1)
    C[f"mixed_{nm}"] = build(region([b], 0) + ["EXIT"], ["L", b, "L", "EXIT"])
    C[f"both_sides_{nm}"] = build(region([b], 0, 0xFFFF, ["L", b]) + ["EXIT"])
    C[f"twice_{nm}"] = build(region([b, "L", b], 0, 0xFFFF) + ["EXIT"])
    C[f"twice_mixed_{nm}"] = build(region([b, "L", b], 0, 0xFFFF, ["L", b]) + ["EXIT"])
    C[f"noregion_{nm}"] = build(["L", ("bra", 0xFFFF, "X"), "L", b, "L", "EXIT", lab("X"), "L", "L", "EXIT"])
    C[f"samepc_{nm}"] = build(["L", ("bra", 0xFFFF, "X"), "L", lab("X"), "L", b, "L", "L", "EXIT"])
    C[f"samepc3_{nm}"] = build(["L", ("bra", 0xFF, "X"), "L", ("bra", 0xFF00, "X"), "L", lab("X"), b, "L", "EXIT"])
    C[f"samepc_small_{nm}"] = build(["L", ("bra", 0xFFFFFF00, "X"), "L", lab("X"), "L", b, "L", "L", "EXIT"])
    C[f"samepc1_{nm}"] = build(["L", ("bra", 0xFFFF, "X"), "L", lab("X"), "L", b, "L", "L", "EXIT"], warps=1)
    C[f"wsync_{nm}"] = build(["L", ("bra", 0xFFFF, "X"), "L", b, "L", "EXIT", lab("X"), "L", "WARPSYNC.ALL", "L", "EXIT"])
    C[f"sleep_{nm}"] = build(
        ["L", ("bra", 0xFFFF, "X"), "L", b, "L", "EXIT", lab("X"), "L"] + ["NANOSLEEP 0x400", "L"] * 3 + [b, "L", "EXIT"]
    )
    C[f"yieldfirst_{nm}"] = build(
        ["L", ("bra", 0xFFFF, "X"), "L", b, "L", "EXIT", lab("X"), "L", "YIELD", "L", "YIELD", "L", b, "L", "EXIT"]
    )
    spin = ["L", lab("SP"), "YIELD", "LDS R48, [0x400]", "ISETP.EQ.U32.AND P4, PT, R48, RZ, PT", "@P4 BRA `(SP)", "L", "EXIT"]
    C[f"spin_{nm}"] = build(["L", ("bra", 0xFFFF, "X"), "L", b, "MOV R49, 0x1", "STS [0x400], R49", "L", "EXIT", lab("X")] + spin)
    # one warp's half at the barrier, the other warp comes late
    C[f"late_{nm}"] = build(region([b], 0) + ["EXIT"], ["NANOSLEEP 0x2000", "L", b, "L", "EXIT"])
    C[f"late_half_{nm}"] = build(region([b], 0) + ["EXIT"], ["NANOSLEEP 0x2000"] + region([b], 1, 0xFF) + ["EXIT"])
    # different barriers on the two sides
    if nm in ("S", "RP"):
        b2 = b.replace("0x0", "0x2")
        C[f"two_bars_{nm}"] = build(region([b], 0, 0xFFFF, ["L", b2]) + ["EXIT"])
        C[f"inner_{nm}"] = build(
            ["L", "BSSY B1, `(F)", ("bra", 0xFF, "G")]
            + region([b], 0)
            + ["BRA `(F)", lab("G"), "L", lab("F"), "BSYNC B1", "L", b, "L", "EXIT"]
        )
os.makedirs("sass", exist_ok=True)
if __name__ == "__main__":
    L = []
    for k, v in C.items():
        open(f"sass/b_{k}.sass", "w").write(v)
        one = "1" in k.split("_")[0]
        L.append(f"b_{k} b_{k}.cubin k 1 {32 if one else 64} {0xa000} 1 h")
    open("list.bars", "w").write("\n".join(L) + "\n")
    print(len(L))
