#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of questions.cu: what is asked, on which operands.

  cases.py            writes cases.bin
  cases.py --table    prints Markdown: every case with the result that an H200 gave (the recorded out.expected.bin)

A case is an operation of questions.cu and its operands, hexadecimal. The table is part of emu/isa/QUESTIONS.md.
"""
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

CASES = """
T2 results that are tiny before, but not after rounding, and the reverse
mul_ftz mul_rz_ftz mul_rp_ftz: 3f7fffff 00800000, 21800001 1e7ffffe, bf7fffff 00800000
fma_ftz fma_rz_ftz fma_rp_ftz: 3f7fffff 00800000 00000000, 21800001 1e7ffffe 80000000, 3f7fffff 00800000 00000001
add_ftz: 00800001 80800000, 00ffffff 80800001, 00400000 00400000
fma_f16x2_ftz: 3bff3bff 04000400 00000000, 3bff3bff 04000400 00010001, 3c003c00 03ff0400 00018000
T3 NaN: payloads, signs, invalid operations
add mul: 7fa12345 3f800000, 3f800000 ffd54321, ff800001 ff800002, 7f800000 ff800000, 00000000 7f800000, 80000000 ff800000
fma: 7fa12345 3f800000 3f800000, 3f800000 3f800000 ffd54321, 00000000 7f800000 3f800000, 7f800000 3f800000 ff800000
min: 7fa12345 3f800000, 3f800000 ffd54321, ff800001 7fc00000, 80000000 00000000, 00000000 80000000
min_nan: 7fa12345 3f800000, 3f800000 ffd54321, 80000000 00000000
fma_f16x2: 7d55fe01 3c003c00 00000000, 7c000000 00007c00 3c003c00, 3c003c00 7c00fc00 fc007c00
fma_bf16x2: 7fa1ffd5 3f803f80 00000000, 7f800000 00007f80 3f803f80, 3f803f80 7f80ff80 ff807f80
add_f64: 7ff4000012345678 3ff0000000000000, 3ff0000000000000 fff8000087654321, 7ff8000000000001 fff8000000000002, fff4000000000003 7ff8000000000004, 7ff0000000000000 fff0000000000000
mul_f64: 7ff4000012345678 3ff0000000000000, 3ff0000000000000 fff8000087654321, 7ff8000000000001 fff8000000000002, 0000000000000000 7ff0000000000000, 8000000000000000 7ff0000000000000
fma_f64: 7ff4000012345678 3ff0000000000000 3ff0000000000000, 3ff0000000000000 3ff0000000000000 fff4000087654321, 7ff8000000000001 7ff8000000000002 7ff8000000000003, 3ff0000000000000 7ff8000000000002 7ff8000000000003, 0000000000000000 7ff0000000000000 7ff8000000000003, 0000000000000000 7ff0000000000000 3ff0000000000000
f16_to_f32: 00007d55, 0000fe01
f32_to_f16: 7fa12345, ffd54321
f32_to_bf16x2: 7fa12345 ffd54321
f32_to_f64: 7fa12345, ffd54321
f64_to_f32: 7ff4000012345678, fff8000087654321
T4 -0, .SAT and .RELU
add_sat: 7fc00000 3f800000, 80000000 80000000, bf800000 00000000, 40000000 3f800000
fma_f16x2_sat: 80003c00 3c003c00 80008000, 7e00bc00 3c003c00 00000000
fma_f16x2_relu: 80003c00 3c003c00 80008000, fe00bc00 3c003c00 00000000
fma_bf16x2_relu: 80003f80 3f803f80 80008000, ffc0bf80 3f803f80 00000000
f32_to_f16x2_relu: 80000000 bf800000, ffc00000 7fc00000
T5 conversions of NaN, infinities and what does not fit
f32_to_s32 f32_to_u32 f32_to_s16 f32_to_u8 f32_to_s64 f32_to_u64: 7fc00000, 7f800000, ff800000, bf800000, 4f800000, 00400000
f64_to_s32 f64_to_s64 f64_to_u64: 7ff8000000000000, 7ff0000000000000, fff0000000000000, bff0000000000000, 43f0000000000000
f16_to_s32: 00007e00, 00007c00, 0000fc00
round_f32: 7fa12345, ff800000, 3f000000, 3fc00000, be99999a
round_ftz_f32: 00400000, 80400000, 00800000
f64_to_f32: 47efffffefffffff, 47effffff0000000, 3690000000000000, 3690000000000001
T7 integers
mad_hi_s32: 7fffffff 7fffffff 00000001, 80000000 80000000 c0000000, ffffffff 00000001 00000001
mad_hi_u32: ffffffff ffffffff 00000002, 80000000 00000002 ffffffff
prmt: 33221100 77665544 00007531, 80221100 77665544 0000fb3c, 33221100 77665544 abcd0123
prmt_f4e prmt_b4e prmt_rc8 prmt_ecl prmt_ecr prmt_rc16: 33221100 77665544 00000000, 33221100 77665544 00000001, 33221100 77665544 00000002, 33221100 77665544 00000003, 33221100 77665544 00000007
bmsk_clamp bmsk_wrap: 00000004 00000008, 0000001c 00000008, 00000020 00000001, 00000000 00000020, 00000021 00000021
sgxt_clamp sgxt_wrap sgxt_clamp_u: 000000ff 00000008, 0000007f 00000008, 000000ff 00000000, 80000000 00000020, 000000ff 00000028
T8 MUFU: subnormals
rcp rsqrt sqrt ex2 lg2 tanh: 00400000, 807fffff, 7f000000, fe800001
ex2: c2fc0000, c2fc0001, c3150000
tanh_f16x2: 00018001, 7c00fe00
ex2_f16x2: cc00cd00, 7bff4bff
T9 fp8
f32_to_e4m3x2 f32_to_e5m2x2: 7fc00000 ffc00000, 7f800000 ff800000, 43e00000 43e80000, 43e80001 47600000, 3a800000 3a800001, 37000000 37000001
f32_to_e4m3x2_relu: ffc00000 bf800000, 80000000 3f800000
f16x2_to_e4m3x2: 7e00fe00, 7c00fc00, 5f405f41
e4m3x2_to_f16x2: 00007fff, 00007e01, 00000888
e4m3x2_to_f16x2_relu: 00007fff, 00008081
e5m2x2_to_f16x2: 00007efe, 00007cfd, 000001ff
"""


def operations():
    """Names in the order of questions.cu -> (number, whether operands are 64-bit)."""
    with open(os.path.join(HERE, "questions.cu")) as f:
        found = re.findall(r"^    ([WD])\((\w+), ", f.read(), re.M)
    return {name: (number, kind == "D") for number, (kind, name) in enumerate(found)}


def cases():
    """(heading, operation, operands as text) of every case."""
    heading = ""
    for line in CASES.strip().splitlines():
        if ":" not in line or line.split()[0].startswith("T"):
            heading = line
            continue
        names, operands = line.split(": ", 1)
        for name in names.split():
            for one in operands.split(", "):
                yield heading, name, one.split()


def main(args):
    numbers = operations()
    packed = b""
    for _, name, operands in cases():
        values = [int(v, 16) for v in operands] + [0] * (3 - len(operands))
        packed += struct.pack("<4Q", *values, numbers[name][0])
    if args == []:
        with open(os.path.join(HERE, "cases.bin"), "wb") as f:
            f.write(packed)
        print("%d cases" % (len(packed) // 32))
        return 0
    if args != ["--table"]:
        print(__doc__, file=sys.stderr)
        return 2
    with open(os.path.join(HERE, "out.expected.bin"), "rb") as f:
        results = struct.unpack("<%dQ" % (len(packed) // 32), f.read())
    last = previous = None
    for (heading, name, operands), result in zip(cases(), results):
        if heading != last:
            print("%s\n**%s**\n\n| operation | operands: result |\n|---|---|" % (" |\n" if last else "", heading), end="")
        if (heading, name) != previous:
            print("%s\n| %s | " % (" |" if heading == last else "", name), end="")
        elif heading == last:
            print("; ", end="")
        last, previous = heading, (heading, name)
        print("%s: **%0*x**" % (" ".join(operands), 16 if numbers[name][1] else 8, result), end="")
    print(" |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
