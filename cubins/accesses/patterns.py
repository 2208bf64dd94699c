#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes patterns.bin: for each of 128 patterns, the unit of memory (0..1023; 0xffff: none) that each of 32 lanes accesses."""
import os
import random
import struct

NONE, UNITS = 0xffff, 1024
LANES = range(32)


def patterns():
    out = [[lane * stride for lane in LANES] for stride in range(34)]
    out += [[lane + first for lane in LANES] for first in (1, 3, 5, 6, 31)]
    # Halves, quarters and eighths that share, swap or meet in a bank.
    out += [[of(lane) for lane in LANES] for of in (
        lambda n: n % 16, lambda n: n % 8, lambda n: n % 4, lambda n: n % 2, lambda n: n // 2, lambda n: n // 4, lambda n: n // 8,
        lambda n: n // 16, lambda n: 31 - n, lambda n: n ^ 16, lambda n: n ^ 1, lambda n: n % 16 + n // 16 * 32,
        lambda n: n % 16 + n // 16 * 64, lambda n: n % 8 + n // 8 * 8, lambda n: n % 8 + n // 8 * 32, lambda n: n % 8 + n // 8 * 16,
        lambda n: n % 16 * 2, lambda n: n % 16 * 32, lambda n: n // 16 * 32, lambda n: n // 8 * 8, lambda n: n % 4 * 32 + n // 4,
        lambda n: n // 8 * 8 + (n % 8 ^ n // 8), lambda n: n * 8 % 256 + n * 8 // 256, lambda n: n // 2 * 16 + n % 2,
        lambda n: (n % 16) * 2 + n // 16, lambda n: 15 - n if n < 16 else n - 16)]
    masks = (0x55555555, 0xaaaaaaaa, 0xffff, 0xffff0000, 1, 0x80000000, 0x10001, 0x01010101, 0x1ffff, 0xffff00, 0x33333333, 0xf0f0f0f0)
    out += [[lane * stride if mask >> lane & 1 else NONE for lane in LANES] for mask in masks for stride in (1, 2)]
    chance = random.Random(19)
    for window in (8, 32, 64, 128, 1024):
        for share in (1, 1, 1, 1, .7, .7, .3):
            out.append([chance.randrange(window) if chance.random() < share else NONE for _ in LANES])
    return out + [[chance.randrange(48) for _ in LANES] for _ in range(128 - len(out))]


if __name__ == "__main__":
    every = patterns()
    assert len(every) == 128 and all(u == NONE or u < UNITS for p in every for u in p)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "patterns.bin"), "wb") as f:
        f.write(b"".join(struct.pack("<32H", *p) for p in every))
