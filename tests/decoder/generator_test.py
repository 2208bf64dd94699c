#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: generator_test.py GENERATOR

A mistake in what `sem` or `means` say stops the build and names the line."""
import os
import subprocess
import sys
import tempfile

GOOD = """enum Order: WEAK="" STRONG_GPU STRONG_SYS
means Order order: STRONG*=relaxed
means Order scope: *GPU=gpu *SYS=sys
insn LD
    op 0x100
    sem group=memory,load does=load space=global bytes=4 latency=lsu
    .order Order@77:76
    d Rd
    addr mem base=24 off=63:40
"""
MISTAKES = [  # (what, instead, expected error)
    ("space=global", "space=globl", "small.isa:4: space: unknown word 'globl'"),
    ("latency=lsu", "latency=lsv", "small.isa:4: latency: unknown word 'lsv'"),
    ("does=load", "does=laod", "small.isa:4: kind: unknown word 'laod'"),
    ("does=load", "does=load.twice", "small.isa:4: action: unknown word 'twice'"),
    ("bytes=4", "byte=4", "small.isa:4: unknown column 'byte'"),
    ("bytes=4", "bytes=four", "small.isa:4: bytes: expected a number"),
    ("bytes=4", "bytes=4 data=value", "small.isa:4: data: LD has no operand 'value'"),
    ("does=load ", "", "small.isa:4: LD: 'sem' does not say what it does"),
    ("does=load", "does=none", "small.isa:4: LD: columns of an effect"),
    ("group=memory,load", "group=memory,laod", "small.isa:4: unknown group 'laod'"),
    ("bytes=4", "bytes=4 bytes=8", "small.isa:6: sem: 'bytes' is stated twice"),
    ("*GPU=gpu", "*GPU=gpv", "small.isa:3: scope: unknown word 'gpv'"),
    ("*GPU=gpu", "*GPX=gpu", "small.isa:3: enum 'Order' has no value '*GPX'"),
    ("means Order scope", "means Ordr scope", "small.isa:3: unknown enum 'Ordr'"),
    ("means Order scope", "means Order order", "small.isa:3: what Order means for order is said twice"),
    ("    d Rd\n", "    .other Order@75:74\n    d Rd\n", "small.isa:4: fields 'order' and 'other' both tell order"),
]


def generate(generator, text):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "small.isa"), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([sys.executable, "-B", generator, folder, os.path.join(folder, "out")],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


def main():
    wrong = 0
    code, errors = generate(sys.argv[1], GOOD)
    if code != 0:
        print(f"the good description fails: {errors}")
        wrong += 1
    for what, instead, expected in MISTAKES:
        assert what in GOOD, what
        code, errors = generate(sys.argv[1], GOOD.replace(what, instead, 1))
        if code != 1 or expected not in errors:
            print(f"'{instead}' for '{what}': want {expected}\n  got {errors}")
            wrong += 1
    return wrong != 0


sys.exit(main())
