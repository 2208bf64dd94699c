# SPDX-License-Identifier: Apache-2.0
"""Relations as lists of bit masks: bit j of rel[i] says that i is related to j."""


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def closure(rel):
    rel = list(rel)
    for k in range(len(rel)):
        bit, row = 1 << k, rel[k]
        if row:
            for i in range(len(rel)):
                if rel[i] & bit:
                    rel[i] |= rel[k]
    return rel


def cyclic(rel):
    return any(row >> i & 1 for i, row in enumerate(closure(rel)))
