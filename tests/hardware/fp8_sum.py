#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the fp8 sums that fp8_sum.cu wrote with models of them (emu/isa/QUESTIONS.md, T1d).

  fp8_sum.py FILE     a line per model: results that differ, of all

A model: f bits below the largest exponent remain of every term (32 products and c, or 16 and 16 in two steps), f32 results
keep `kept` mantissa bits, towards zero; f16 results round to nearest even.
"""
import struct
import sys

ROWS, COLUMNS, K = 64, 8, 32
SIZE = ROWS * K + COLUMNS * K + ROWS * COLUMNS * 12


def number(bits, exponent, mantissa):
    """Significand in units of 2^-mantissa with its sign, exponent."""
    e, m = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    m += (1 << mantissa) if e else 0
    return -m if bits >> (exponent + mantissa) else m, (e or 1) - (1 << exponent - 1) + 1, mantissa


def step(terms, f):
    """The sum of (significand, exponent, fraction bits): units and their exponent."""
    terms = [t for t in terms if t[0]]
    if not terms:
        return 0, 0
    top = max(e for _, e, _ in terms)
    total = 0
    for m, e, fraction in terms:
        shift = f - fraction + e - top
        cut = abs(m) << shift if shift >= 0 else abs(m) >> -shift
        total += cut if m > 0 else -cut
    return total, top - f


def rounded(total, unit, exponent, mantissa, kept, nearest):
    if total == 0:
        return 0
    m, least = abs(total), 2 - (1 << exponent - 1)
    e = max(m.bit_length() - 1 + unit, least)
    drop = e - kept - unit
    if drop > 0:
        rest, tie = m & (1 << drop) - 1, 1 << drop - 1
        m >>= drop
        m += nearest and (rest > tie or (rest == tie and m & 1))
    else:
        m <<= -drop
    bits = (m << mantissa - kept) + (e - least << mantissa)
    return min(bits, (1 << exponent) - 1 << mantissa) | (total < 0) << exponent + mantissa


def main(path):
    with open(path, "rb") as f:
        data = f.read()
    wrong = {}
    total = 0
    for at in range(0, len(data), SIZE):
        a, b = data[at:at + ROWS * K], data[at + ROWS * K:at + ROWS * K + COLUMNS * K]
        rest = at + ROWS * K + COLUMNS * K
        words = struct.unpack_from("<%dI" % (2 * ROWS * COLUMNS), data, rest)
        halves = struct.unpack_from("<%dH" % (2 * ROWS * COLUMNS), data, rest + 8 * ROWS * COLUMNS)
        a, b = [number(v, 4, 3) for v in a], [number(v, 4, 3) for v in b]
        for i in range(0, ROWS * COLUMNS, 5):
            row, column = divmod(i, COLUMNS)
            products = [(x[0] * y[0], x[1] + y[1], 6) for x, y in zip(a[row * K:row * K + K], b[column * K:column * K + K])]
            c, d = number(words[i], 8, 23), words[ROWS * COLUMNS + i]
            ch, dh = number(halves[i], 5, 10), halves[ROWS * COLUMNS + i]
            total += 1
            for f in (12, 13, 14):
                whole = step(products + [c], f)
                for kept in (13, 23):
                    name = "f32: %d bits, result %d" % (f, kept)
                    wrong[name] = wrong.get(name, 0) + (rounded(*whole, 8, 23, kept, False) != d)
                name = "f16: %d bits" % f
                wrong[name] = wrong.get(name, 0) + (rounded(*step(products + [ch], f), 5, 10, 10, True) != dh)
            first = rounded(*step(products[:16] + [c], 13), 8, 23, 13, False)
            name = "f32: 13 bits, result 13, 16 and 16"
            second = step(products[16:] + [number(first, 8, 23)], 13)
            wrong[name] = wrong.get(name, 0) + (rounded(*second, 8, 23, 13, False) != d)
    for name, count in sorted(wrong.items()):
        print("%s: %d of %d differ" % (name, count, total))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
