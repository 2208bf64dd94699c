# SPDX-License-Identifier: Apache-2.0
"""When YIELD and NANOSLEEP let those go who wait at BSYNC: lanes wait, and so many instructions later the others yield. See README.md."""

import os
import sys

HEAD = """.target sm_90
.kernel k
.param log 8
.shared 2048
.barriers 2
 ULDC.64 UR4, c[0x0][0x208]
 S2R R0, SR_TID.X
 LDC.64 R2, c[0x0][log]
 MOV R20, 0x{count:x}
 MOV R8, 0x0
 MOV R9, 0x0
 MOV R13, 0x0
 LOP3.LUT R5, R0, 0x1f, RZ, 0xc0, !PT
 IMAD.WIDE.U32 R2, R0, 0x10, R2
 ISETP.NE.AND P0, PT, R5, 0x{lane:x}, PT
 ISETP.GT.U32.AND P5, PT, R0, 0x1f, PT
"""
SECOND = {"one": "", "gone": " @P5 EXIT\n", "spins": " @P5 BRA `(SPIN)\n"}
TAIL = """ CS2R.32 R15, SR_CLOCKLO
 VOTE.ANY R12, PT, PT
 BMOV.32 R14, B0
 STG.E.128 desc[UR4][R2.64], R12
 EXIT
SPIN:
 CS2R.32 R10, SR_CLOCKLO
SP:
 LDS R11, [0x400]
 CS2R.32 R12, SR_CLOCKLO
 IADD3 R12, R12, -R10, RZ
 ISETP.LT.U32.AND P4, PT, R12, 0x4000, PT
 @P4 BRA `(SP)
 EXIT
"""
STEP = " IADD3 R8, R8, 0x1, RZ\n"


def programs():
    out = {}
    delays = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512]
    for second in SECOND:
        for delay in delays:
            # lane 0 waits, the others yield after `delay` instructions; R13 counts what ran before the vote
            for name, guard, word in (("larger", "@!P0", "YIELD"), ("sleep", "@!P0", "NANOSLEEP 0x20"), ("smaller", "@P0", "YIELD")):
                if name == "smaller" and delay > 32:
                    continue
                out[f"{name}_{second}_{delay}"] = (
                    HEAD.format(count=1, lane=0) + SECOND[second] + f" BSSY B0, `(E)\n {guard} BRA `(E)\n" + STEP * delay +
                    f" {word}\n" + "E:\n BSYNC B0\n" + TAIL)
            # the same with a load before YIELD
        for count in (1, 2, 4, 8, 16, 32, 64, 256, 1024):
            for inside in (0, 8):
                out[f"loop_{second}_{count}_{inside}"] = (
                    HEAD.format(count=count, lane=0) + SECOND[second] + " BSSY B0, `(E)\n @!P0 BRA `(E)\nL:\n" + STEP * inside +
                    " YIELD\n IADD3 R13, R13, 0x1, RZ\n IADD3 R20, R20, -0x1, RZ\n ISETP.NE.AND P1, PT, R20, RZ, PT\n @P1 BRA `(L)\nE:\n BSYNC B0\n" + TAIL)
        for delay in (0, 1, 4, 16, 64, 256):
            out[f"load_{second}_{delay}"] = (
                HEAD.format(count=1, lane=0) + SECOND[second] + " BSSY B0, `(E)\n @!P0 BRA `(E)\n LDS R9, [0x400]\n" + " IADD3 R9, R9, 0x1, RZ\n" + STEP * delay +
                " YIELD\nE:\n BSYNC B0\n" + TAIL)
            # before the branch nothing differs, but the waiting lane is the highest
            out[f"high_{second}_{delay}"] = (
                HEAD.format(count=1, lane=31) + SECOND[second] + " BSSY B0, `(E)\n @!P0 BRA `(E)\n" + STEP * delay + " YIELD\nE:\n BSYNC B0\n" + TAIL)
            # two yields
            out[f"twice_{second}_{delay}"] = (
                HEAD.format(count=1, lane=0) + SECOND[second] + " BSSY B0, `(E)\n @!P0 BRA `(E)\n YIELD\n" + STEP * delay + " YIELD\nE:\n BSYNC B0\n" + TAIL)
            # the waiting lane went through a step of its own first
            out[f"own_{second}_{delay}"] = (
                HEAD.format(count=1, lane=0) + SECOND[second] + " BSSY B0, `(E)\n @!P0 BRA `(F)\n" + STEP * delay + " YIELD\n BRA `(E)\nF:\n" + STEP * 4 + "E:\n BSYNC B0\n" + TAIL)
            # two groups wait at two barriers
            out[f"two_{second}_{delay}"] = (
                HEAD.format(count=1, lane=0) + SECOND[second] + " ISETP.EQ.AND P2, PT, R5, 0x1, PT\n BSSY B0, `(E)\n BSSY B1, `(F)\n @!P0 BRA `(F)\n @P2 BRA `(E)\n" + STEP * delay +
                " YIELD\nF:\n BSYNC B1\nE:\n BSYNC B0\n" + TAIL)
    return out


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    lines = []
    for name, text in programs().items():
        with open(os.path.join(sys.argv[1], name + ".sass"), "w") as f:
            f.write(text)
        threads = 32 if "_one" in name else 64
        lines.append(f"{name} {name}.cubin k 1 {threads} {0x400} 1 h")
    with open(os.path.join(sys.argv[1], "list.yields"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print(len(lines))
