# SPDX-License-Identifier: Apache-2.0
"""What lanes that store to the same place leave (cubins/collisions, cubins/matrix_collisions), for verify.py: a warp stores 128 bytes at a
time, the parts from the lowest lanes on, and the lowest lane of a part last; atomics go lane by lane from the lowest on."""
import numpy as np

CASES = 128


def places(x, case, width):
    """The kernels' place_of() of all lanes."""
    mine, kind, room = x[case * 64:case * 64 + 64], case & 3, 2048 // width
    many = 2 + (mine[63] >> 8) % 15
    pick = [mine[mine[lane] % many] for lane in range(32)]
    at = [(0, p % (128 // width), p % 16 * (128 // width), p % room)[kind] for p in pick]
    return [-1 if case >> 2 & 1 and mine[32 + lane] & 1 else a for lane, a in enumerate(at)]


def storing(bytes_of_lane):
    part = min(32, 128 // bytes_of_lane)
    return [lane for first in range(0, 32, part) for lane in reversed(range(first, first + part))]


def collisions(r):
    x = [int(v) for v in r.given("x", "u4")]
    good = True
    for name, width in [(space + "_%d" % w, w) for w in (1, 2, 4, 8, 16) for space in ("global", "shared")] + [("generic_8", 8), ("strong_8", 8)]:
        out = np.zeros((CASES, 2048 // width, width), "u1")
        for case in range(CASES):
            at = places(x, case, width)
            for lane in storing(width):
                if at[lane] >= 0:
                    out[case, at[lane]] = lane + 1
        good &= r.same(name, out)
    out, found, sums = np.zeros((CASES, 512), "u4"), np.zeros((CASES, 32), "u4"), np.zeros((CASES, 512), "f4")
    for case in range(CASES):
        for lane, at in enumerate(places(x, case, 4)):
            if at >= 0:
                bits = x[case * 64 + lane]
                found[case, lane], out[case, at] = out[case, at], lane + 1
                sums[case, at] += np.array([0x3f000000 + (bits & 0x07ffffff) | bits & 0x80000000], "u4").view("f4")[0]
    return good and all(r.same(name, held) for name, held in (("exchanged", out), ("exchanged_shared", out), ("found", found), ("found_shared", found), ("sums", sums)))


def matrix_collisions(r):
    """stmatrix: row i of matrix m goes to the address of lane 8 m + i."""
    x = [int(v) for v in r.given("x", "u4")]
    lanes = np.arange(32, dtype="u4")
    halves = np.stack([(lanes << 16 | lanes + 100) + np.uint32(m * 0x01000200) for m in range(4)]).view("u2").reshape(4, 8, 8)
    good = True
    for name, count, matrices in (("one", 1, halves), ("two", 2, halves), ("four", 4, halves), ("transposed", 4, halves.transpose(0, 2, 1))):
        out = np.zeros((CASES, 128, 8), "u2")
        for case in range(CASES):
            mine = x[case * 64:case * 64 + 64]
            for lane in storing(16):
                if lane < 8 * count:
                    out[case, mine[mine[lane] % (1 + mine[63] % 16)] % 128] = matrices[lane // 8, lane % 8]
        good &= r.same(name, out)
    return good
