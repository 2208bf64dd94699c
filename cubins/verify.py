#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks recorded results against independent references on the CPU: a wrong kernel would otherwise record a wrong truth.

  verify.py [NAME...]      needs numpy. Exit 1 if a recorded result is not what its kernel claims to compute.
  verify.py --record OUT.tar.gz [NAME...]   the same, of results too that are kept as a hash (record.py has their bytes)
  verify.py --compute      writes, for kernels that no chip at hand runs, what they claim to compute in place of a record.

Here: references for kernels whose result has a short independent definition. Not here: bit patterns that only the GPU's own
rounding order defines; for those (matrix products, sparse products) the reference is compared with a tolerance.
"""
import hashlib
import json
import os
import subprocess
import sys
import tarfile

import numpy as np

import buffers
import record
import verify_collisions

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = []
CHECKS = {}
COMPUTED = {}


class Results:
    """A plan's inputs as arrays, and its recorded results as arrays or hashes."""

    def __init__(self, name):
        self.name, self.path = name, record.plan_path(name)
        with open(self.path) as f:
            self.plan = json.load(f)

    def given(self, buffer, dtype):
        b = self.plan["buffers"][buffer]
        return np.frombuffer(record.contents(b, b["bytes"], os.path.dirname(self.path)), dtype=dtype)

    def expect(self, buffer):
        return self.plan["buffers"][buffer]["expect"]

    def got(self, buffer, dtype):
        if "file" not in self.expect(buffer) and RECORD:
            with tarfile.open(RECORD[0]) as tar:
                held = tar.extractfile("%s/%s.bin" % (self.name, buffer)).read()
            if hashlib.sha256(held).hexdigest() != self.expect(buffer)["sha256"]:
                raise SystemExit("%s/%s: not what is recorded" % (self.name, buffer))
            return np.frombuffer(held, dtype=dtype)
        with open(os.path.join(os.path.dirname(self.path), self.expect(buffer)["file"]), "rb") as f:
            return np.frombuffer(f.read(), dtype=dtype)

    def same(self, buffer, array):
        """The recorded buffer begins with exactly this array's bytes (or is it, where only a hash is held)."""
        held = np.ascontiguousarray(array).tobytes()
        if "sha256" in self.expect(buffer):
            return hashlib.sha256(held).hexdigest() == self.expect(buffer)["sha256"]
        return self.got(buffer, "u1").tobytes()[:len(held)] == held

    def near(self, buffer, array, rtol):
        got = self.got(buffer, array.dtype)
        return bool(np.allclose(got[:array.size], array.ravel(), rtol=rtol, atol=rtol))


def check(f):
    CHECKS[f.__name__] = f
    return f


@check
def vecadd(r):
    return r.same("c", r.given("a", "f4") + r.given("b", "f4"))


@check
def saxpy(r):
    return r.near("y", r.given("x", "f4") * np.float32(1.7) + r.given("y", "f4"), 1e-5)


@check
def sgemm(r):
    a, b, c = (r.given(k, "f4").reshape(256, 256).astype("f8") for k in "abc")
    return r.near("c", (1.25 * (a @ b) - 0.5 * c).astype("f4"), 2e-5)


@check
def hgemm(r):
    a, b = (r.given(k, "f2").reshape(128, 128).astype("f8") for k in "ab")
    return r.near("c", (a @ b).astype("f2"), 0.1)


@check
def mma_exact(r):
    a, b = (r.given(k, "i1").reshape(32, 128).astype("i8") for k in "ab")
    full, low = a @ b.T, (a >> 5) @ (b >> 5).T
    tile = np.zeros((16, 8), "i8")  # what the accumulators of imma begin with: by half of the rows and parity of the column
    tile[:8, 1::2], tile[8:, 0::2], tile[8:, 1::2] = 1, -1, 1000
    bits = np.array([[sum(bin(int(x) ^ int(y)).count("1") for x, y in zip(p, q)) for q in r.given("b", "u4").reshape(-1, 4)[:32]]
                     for p in r.given("a", "u4").reshape(-1, 4)[:32]])
    kept = a >> 5
    kept = np.where((np.arange(128)[None, :] % 2) == (np.arange(32)[:, None] % 2), kept, 0)
    half = np.tile([0.5, -0.5], 16)
    return all([r.same("f16", low.astype("f4")), r.same("half", low.astype("f2")), r.same("bf16", full.astype("f4")),
                r.same("tf32", full.astype("f4")), r.same("integer", (full + np.tile(tile, (2, 4))).astype("i4")),
                r.same("bits", bits.astype("i4")), r.same("double", full + half[None, :]),
                r.same("sparse", (kept @ (b >> 5).T).astype("f4"))])


@check
def generic_pointers(r):
    x, words = r.given("in", "i4").astype("i8"), r.got("words", "u8")
    first = np.array([11, 22, 33, 44, 55, 66, 77, 88, 99, 111, 122, 133, 144, 155, 166, 177])
    b = r.plan["globals"]["given"]
    given = np.frombuffer(record.contents(b, 256, os.path.dirname(r.path)), "i4").astype("i8")
    weight, key = [0.5, -2.25, 1e10, 3.0], [(1, 2, 3), (40, 50, 60), (-7, -8, -9), (100, 1000, 10000)]
    out, weights = [], []
    for which in (0x1b6d, 0x2c94):
        for i in range(32):
            mine = [0] * 8
            for k in range(8):
                mine[(k + i) & 7] = i * 100 + k
            of = [first, given, x, [1000 * k for k in range(32)], [k * k for k in range(32)], mine]
            total = 0
            for k in range(8):
                total = total * 31 + int(of[(which >> k) % 6][(i + k) & 7])
            out.append(total & 0xffffffff)
            weights.append(weight[i & 3] * key[i & 3][i % 3] if which & 1 else
                           x[:2].astype("u4").view("f8")[0] * float(x[2 + i % 3]))
    kept = [given[i] if i & 1 else first[i & 15] if i & 2 else x[i] for i in (k ^ 5 for k in range(32))]
    want = []
    for which in range(4):
        for _ in range(3):
            for near in (True, False):
                lanes = [i for i in range(64) if bool(which >> (i & 1) & 1) == near]
                v = [int(x[i]) * 0x9e3779b97f4a7c15 & 2**64 - 1 for i in lanes]
                swapped, low = 0, 0
                for i in lanes:
                    swapped ^= 0x100000001 * (i + 1)
                    low = min(low, int(x[i]))
                want += [sum(v) & 2**64 - 1, 0x1234567 if lanes else 0, 1 if lanes else 0, swapped, 0, sum(v) & 2**64 - 1,
                         max(v, default=0), (3 * len(lanes)) | (low & 0xffffffff) << 32]
    met = [((63 - (63 - i + 7) % 64) * 3 + 1) * 2 + 1 for i in range(64)]
    return (r.same("out", np.array(out, "u4")) and r.same("weights", np.array(weights)) and r.same("kept", np.array(kept, "i4"))
            and (words == np.array(want, "u8")).all() and r.same("met", np.array(met, "i4")))


@check
def hmma_gemm(r):
    def widened(k):
        return (r.given(k, "u2").astype("u4") << 16).view("f4").astype("f8").reshape(128, 128)
    a, b = (r.given(k, "f2").astype("f8").reshape(128, 128) for k in "ab")
    at, bt = (r.given(k, "f4").astype("f8").reshape(64, 64) for k in ("at", "bt"))
    return (r.near("c", (a @ b).astype("f4"), 1e-5) and r.near("cb", (widened("ab") @ widened("bb")).astype("f4"), 1e-5)
            and r.near("ct", (at @ bt).astype("f4"), 5e-2))


@check
def wgmma_gemm(r):
    def widened(k, *shape):
        return (r.given(k, "u2").astype("u4") << 16).view("f4").astype("f8").reshape(shape)

    def small(k):  # e4m3, no sign
        v = r.given(k, "u1").astype("i8").reshape(128, 1024)
        return np.where(v >> 3, np.ldexp(8.0 + (v & 7), (v >> 3) - 10), np.ldexp(v + 0.0, -9))
    return (r.near("c", (widened("a", 128, 512) @ widened("b", 512, 128)).astype("f4"), 1e-3) and
            r.near("c8", (small("a8") @ small("b8").T).astype("f4"), 3e-2))


def widened(v):
    return (v.astype("u4") << 16).view("f4").astype("f8")


def small_float(v, mantissa):
    """e4m3 or e5m2, finite."""
    exponent, fraction = v.astype("i8") >> mantissa & (1 << 7 - mantissa) - 1, (v & (1 << mantissa) - 1) + 0.0
    bias = (1 << 6 - mantissa) - 1 + mantissa
    return np.where(v & 0x80, -1, 1) * np.where(exponent, np.ldexp((1 << mantissa) + fraction, exponent - bias), np.ldexp(fraction, 1 - bias))


def close_product(r, buffer, a, b, tolerance):
    """c = a b^T, but for an error that grows with the terms."""
    got = r.got(buffer, "f4").reshape(len(a), len(b))
    return bool((np.abs(got - a @ b.T) <= tolerance * (np.abs(a) @ np.abs(b).T)).all())


@check
def wgmma_persistent(r):
    def two(type, dtype, k=-1):
        return r.given("a_" + type, dtype).reshape(256, k), r.given("b_" + type, dtype).reshape(192, k)

    good = []
    for type, dtype, value, tolerance in (
            ("bf16", "u2", widened, 1e-6), ("f16", "f2", lambda v: v.astype("f8"), 1e-6),
            ("tf32", "u4", lambda v: (v & ~np.uint32(0x1fff)).view("f4").astype("f8"), 1e-6),
            ("e4m3", "u1", lambda v: small_float(v, 3), 1e-2), ("e5m2", "u1", lambda v: small_float(v, 2), 1e-2)):
        a, b = two(type, dtype)
        good.append(close_product(r, "c_" + type, value(a), value(b), tolerance))
    a, b = two("s8", "i1")
    good.append(r.same("c_s8", a.astype("i4") @ b.astype("i4").T))
    a, b = (np.unpackbits(x, axis=1).astype("i4") for x in two("b1", "u1"))
    good.append(r.same("c_b1", a @ b.T))
    # Four elements along k: their two places in a nibble of metadata, which lanes 0 and 1 of a row's four have.
    kept, dense = r.given("a_sparse", "f2").astype("f8").reshape(256, 320), np.zeros((256, 640))
    metadata = r.given("metadata", "u4").reshape(4, 20, 128)
    pairs = (4, 8, 9, 12, 13, 14)
    for m in range(256):
        for group in range(160):
            row, q = m % 64, group % 8
            word = int(metadata[m // 64, group // 8, row // 16 * 32 + row % 8 * 4 + q // 4 % 2])
            nibble = pairs[(word >> 4 * (q % 4 + row % 16 // 8 * 4) & 15) % 6]
            for i in range(2):
                dense[m, 4 * group + (nibble >> 2 * i & 3)] += kept[m, 2 * group + i]
    good.append(close_product(r, "c_sparse", dense, r.given("b_sparse", "f2").astype("f8").reshape(192, 640), 1e-6))
    return all(good)


@check
def stream_k(r):
    return close_product(r, "c", widened(r.given("a", "u2")).reshape(128, 512), widened(r.given("b", "u2")).reshape(192, 512), 1e-6)


@check
def split_k(r):
    a, b = (r.given(x, "i1").reshape(128, 2048).astype("i4") for x in ("a8", "b8"))
    return (close_product(r, "c", widened(r.given("a", "u2")).reshape(128, 512), widened(r.given("b", "u2")).reshape(128, 512), 1e-6) and
            r.same("c8", r.given("c8", "i4").reshape(128, 128) + a @ b.T))


@check
def attention(r):
    q, k, v = (widened(r.given(x, "u2")).reshape(-1, 64) for x in "qkv")
    weight = np.exp2(q @ k.T * 0.1803369)
    return r.near("o", (weight / weight.sum(axis=1, keepdims=True) @ v).astype("f4"), 1e-2)


@check
def convolution(r):
    images, filters = widened(r.given("in", "u2")).reshape(2, 10, 14, 64), widened(r.given("filters", "u2")).reshape(64, 9 * 64)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    gathered = np.concatenate([padded[:, y:y + 10, x:x + 14] for y in range(3) for x in range(3)], axis=3).reshape(280, 9 * 64)
    return close_product(r, "out", gathered, filters, 1e-6)


@check
def grouped_gemm(r):
    return all(close_product(r, "c%d" % i, widened(r.given("a%d" % i, "u2")).reshape(m, k), widened(r.given("b%d" % i, "u2")).reshape(64, k), 1e-6)
               for i, (m, k) in enumerate(((50, 256), (128, 64), (100, 192))))


@check
def reduce_shared(r):
    y = r.given("y", "i4")
    return r.got("imin", "i4").min() == y.min() and r.got("imax", "i4").max() == y.max() and abs(r.got("fsum", "f4").sum() - r.given("x", "f4").sum()) < 0.05


@check
def reduce_atomic(r):
    x = r.given("x", "i4").astype("i8")
    wide = sum(int(v) * 0x100000001 for v in x) % 2 ** 64
    return (r.same("isum", x.sum().astype("i4")) and r.same("lo", np.int32(x.min())) and r.same("hi", np.int32(x.max())) and
            r.same("wide", np.uint64(wide)) and r.same("fsum", np.float32((x & 15).sum())) and r.same("dsum", np.float64((x >> 4).sum())))


@check
def scan(r):
    return r.same("out", np.cumsum(r.given("in", "u4"), dtype="u4"))


@check
def divided_sync(r):
    x, full = [int(v) for v in r.given("x", "u4")], 0xffffffff
    shuffled, voted, met = [], [], []
    for first in range(0, 512, 32):
        v = x[first:first + 32]
        odd = [a & 1 for a in v]
        put = [[a * 3 & full if o else a ^ 0x1234 for a, o in zip(v, odd)], [(a + 7 if o else a - 9) & full for a, o in zip(v, odd)],
               [a if a % 3 == 0 else ~a & full if a % 3 == 1 else a >> 3 for a in v], [(a if a & 2 else a * 5) & full for a in v]]
        h = list(v)
        for bit in range(4):
            h = [h[t] * 31 + h[t ^ 1 << bit] & full for t in range(32)]
        total = sum(a & 0xffff if a & 4 else a & 0xff for a in v)
        for t in range(32):
            got = [put[0][t ^ 16], put[1][t * 5 % 32], put[2][t + 3 if t < 29 else t], put[3][t - 2 if t > 1 else t]]
            shuffled += [got[0] + 5 if odd[t] else got[0] * 7, got[1] * 11 if odd[t] else got[1] + 13,
                         (got[2] + 1, got[2] ^ 2, got[2] - 3)[v[t] % 3], v[t] if t % 2 else got[3] + 17 if v[t] & 2 else got[3] ^ 19, h[t],
                         total + (1 if v[t] & 4 else 2)]
        ballot = sum((a >> (1 if a & 1 else 2) & 1) << t for t, a in enumerate(v))
        some = int(any(a % (29 if a & 1 else 31) == 0 for a in v))
        key = [a & 12 if a & 1 else a & 24 for a in v]
        every = int(all(a & (0xff if a & 8 else 0xff00) for a in v))
        for t, a in enumerate(v):
            voted += [ballot if a & 1 else ~ballot, some * 2 + 4 if a & 1 else some + 8, sum(1 << k for k in range(32) if key[k] == key[t]),
                      every if a & 8 else every + 2]
    for i, a in enumerate(x):
        near, far = x[i ^ 9], x[i // 128 * 128 + 127 - i % 128]
        near = near * 3 if near & 1 else near ^ 0x77
        far = far + 100 if far & 2 else far - 100
        count = sum((b & (16 if b & 4 else 32)) != 0 for b in x[i // 128 * 128:][:128])
        met += [near + 1 if a & 1 else near * 3, far if a & 2 else far * 5, count]
    return all(r.same(name, np.array([w & full for w in held], "u4")) for name, held in (("shuffled", shuffled), ("voted", voted), ("met", met)))


@check
def histogram(r):
    return r.same("bins", np.bincount(r.given("data", "u1"), minlength=256).astype("u4"))


@check
def transpose(r):
    return r.same("out", r.given("in", "f4").reshape(120, 100).T)


@check
def bitonic(r):
    rows = np.sort(r.given("keys", "u4").reshape(8, 1024), axis=1)
    rows[1::2] = rows[1::2, ::-1]
    return r.same("keys", rows) and r.same("pairs", np.sort(r.given("pairs", "i8").reshape(-1, 32), axis=1))


@check
def radix_sort(r):
    order = np.argsort(r.given("keys", "u4"), kind="stable")
    return r.same("keys", r.given("keys", "u4")[order]) and r.same("values", r.given("values", "u4")[order])


@check
def black_scholes(r):
    s, x, t = (r.given(k, "f4").astype("f8") for k in ("price", "strike", "years"))
    call, put = r.got("call", "f4").astype("f8"), r.got("put", "f4").astype("f8")
    return bool(np.allclose(call[:4000] - put[:4000], s - x * np.exp(-0.02 * t), atol=1e-3))  # put-call parity


@check
def bfs(r):
    degree, edge = r.given("degree", "u1"), r.given("edge", "i4")
    row = np.concatenate([[0], np.cumsum(degree, dtype="i8")])
    distance = np.full(2048, -1, dtype="i4")
    distance[5] = 0
    now = [5]
    for level in range(20):
        after = []
        for v in now:
            for w in edge[row[v]:row[v + 1]]:
                if distance[w] < 0:
                    distance[w] = level + 1
                    after.append(w)
        now = after
    return r.same("distance", distance)


@check
def spmv(r):
    row = np.concatenate([[0], np.cumsum(r.given("degree", "u1"), dtype="i8")])
    column = r.given("column", "i4")
    value, x = r.given("value64", "f8"), r.given("x64", "f8")
    y = np.array([np.dot(value[a:b], x[column[a:b]]) for a, b in zip(row, row[1:])])
    return r.near("y64", y, 1e-12)


@check
def string_match(r):
    text = r.given("text", "u1").tobytes()
    at = [i for i in range(len(text) - 4) if text[i:i + 5] == b"abaca"]
    words = np.zeros(1024, dtype="u4")
    for i in at:
        words[i >> 5] |= np.uint32(1 << (i & 31))
    return r.same("hits", words) and r.same("count", np.uint32(len(at)))


@check
def sha256(r):
    m = r.given("message", "u1").tobytes()
    return r.got("digest", "u1").tobytes() == b"".join(hashlib.sha256(m[i:i + 192]).digest() for i in range(0, len(m), 192))


@check
def keccak(r):
    m = r.given("message", "u1").tobytes()
    return r.got("digest", "u1").tobytes() == b"".join(hashlib.sha3_256(m[i:i + 128]).digest() for i in range(0, len(m), 128))


@check
def philox(r):
    t = np.arange(1024, dtype="u8")
    zero = np.zeros(1024, dtype="u8")
    words = np.stack(buffers.philox([t, zero, zero, zero], (0xa4093822, 0x299f31d0), np), axis=1).astype("u4")
    inside = int(r.got("inside", "u4")[0])
    return r.same("out", words) and abs(4 * inside / (1024 * 32) - 3.14159) < 0.05


@check
def recursion(r):
    fib = [0, 1]
    while len(fib) < 12:
        fib.append(fib[-1] + fib[-2])
    lists = np.sort(r.given("lists", "i4").reshape(64, 32), axis=1)
    return r.same("lists", lists) and list(r.got("out", "u4")[2::4]) == [fib[t % 12] for t in range(64)]


@check
def warp_spin_lock(r):
    total = sum(t * 2654435761 + k for t in range(32) for k in range(20)) % 2 ** 32
    return r.same("counter", np.int32(640)) and r.same("sum", np.uint32(total))


@check
def ticket_lock(r):
    return (r.same("ticket", np.uint32(512)) and r.same("serving", np.uint32(512)) and r.same("broken", np.uint32(0)) and
            r.same("entered", np.full(64, 8, dtype="u4")) and r.same("total", np.uint32(8 * 64 * 65 // 2)))


@check
def cta_handshake(r):
    v = int(r.given("message", "u4")[0])
    trace = []
    for _ in range(10):
        for me in range(16):
            v = (v * 33 + me) % 2 ** 32
            trace.append(v)
    return r.same("trace", np.array(trace, dtype="u4")) and r.same("flag", np.int32(160))


@check
def cooperative(r):
    a = r.given("a", "i4").astype("i8")
    add = np.arange(4096) & 3
    for _ in range(50):
        a = (np.roll(a, 1) + 2 * a + np.roll(a, -1)) // 4 + add
    return r.same("a", a.astype("i4"))


@check
def grid_sync(r):
    x = r.given("in", "i4")
    return r.same("out", (x ^ x.astype("i8").sum().astype("i4"))[::-1])


@check
def atomics128(r):
    s = int(r.given("x", "u4").astype("u8").sum())
    n = r.given("x", "u4").size  # each thread adds v and 3v + 1
    return r.same("cell", np.array([s, 3 * s + n], dtype="u8"))


@check
def int64(r):
    a, b, out = r.given("a", "i8"), r.given("b", "i8"), r.got("out", "u8")
    wrap = 2 ** 64
    for i in range(400):
        x, whole = int(a[i]), int(b[i])
        y, ux, uy = whole >> (i & 63), x % wrap, (whole % wrap) >> (i & 63)
        o = [int(v) for v in out[20 * i:20 * i + 20]]
        if o[:6] != [(ux + uy) % wrap, ux * uy % wrap, ux * uy >> 64, (x * y >> 64) % wrap, ux // (uy | 1), ux % (uy | 1)]:
            return False
        d = y | 1
        q = abs(x) // abs(d) * (1 if (x < 0) == (d < 0) else -1)
        if o[6:8] != [q % wrap, (x - q * d) % wrap] or o[9] != (x >> (uy & 63)) % wrap or o[13] != (min(x, y) % wrap) ^ max(ux, uy):
            return False
    return True


@check
def int128(r):
    a, b, out = r.given("a", "u8"), r.given("b", "u8"), r.got("out", "u8")
    full = 2 ** 128
    for i in range(256):
        x, whole = int(a[2 * i]) | int(a[2 * i + 1]) << 64, int(b[2 * i]) | int(b[2 * i + 1]) << 64
        y = whole >> (i & 127)
        o = [int(v) for v in out[24 * i:24 * i + 24]]
        pairs = [o[k] | o[k + 1] << 64 for k in range(0, 18, 2)]
        product = sum(v << 64 * k for k, v in enumerate(o[18:22]))
        if pairs[:5] != [(x + y) % full, (x - y) % full, x * y % full, x // (y | 1), x % (y | 1)] or product != x * whole:
            return False
    return True


@check
def dynamic_shared(r):
    return r.got("out", "f8")[4000:].view("f8").tolist() == [14000.0] * 4


@check
def printf(r):
    return r.plan["expect"].get("stdout", "").startswith("hello from a kernel: -7 4000000000 0xbeef 10\nthread 0 of 32, char a, string 'even'\n")


def computed(f):
    """A reference for every bit: {buffer: array}."""
    COMPUTED[f.__name__] = f
    CHECKS[f.__name__] = lambda r: all(r.same(buffer, array) for buffer, array in f(r).items())
    return f


@computed
def tensor_core(r):
    a, b = r.given("a", "i1").astype("i8").reshape(4, 128, 320), r.given("b", "i1").astype("i8").reshape(4, 64, 320)
    a8, b8 = r.given("a8", "i1").astype("i8"), r.given("b8", "i1").astype("i8")
    small, left, right = (r.given(k, "i1").astype("i8").reshape(-1, 64) for k in ("small", "left", "right"))
    given = r.given("in", "u4")
    wide, narrow = given[:1024].reshape(128, 8), given[1024:].reshape(32, 4)
    # .16x256b at lane 16, column 4 of each quarter: four columns of the first copy, then four of the second. Thread t has
    # in registers 0 and 1 two columns of row t / 4, in 2 and 3 the same of the row 8 below.
    cells = np.hstack([wide[:, 4:], np.tile(narrow, (4, 1))])
    loaded = np.array([[cells[w * 32 + 16 + t // 4 + k // 2 * 8, t % 4 * 2 + k % 2] for k in range(4)] for w in range(4) for t in range(32)])
    pairs = [a8[rank * 4096:][:4096].reshape(128, 32) @ b8[:512].reshape(16, 32).T for rank in range(2)]
    return {"ring": np.array([x @ y.T for x, y in zip(a, b)]).astype("f4"),
            "bytes": (2 * (a8.reshape(128, 64) @ b8.reshape(32, 64).T)).astype("i4"),
            "chain": (small @ left.T @ right.T).astype("f4"),
            "copies": np.concatenate([wide.ravel(), loaded.ravel()]).astype("u4"),
            "pair": np.array(pairs).astype("i4")}


@computed
def byte_matrices(r):
    # By the figures of ldmatrix and stmatrix. Lane t, byte b of a register: loaded transposed it has row t / 4 (+ 8 for b >= 2) of the transposed matrix,
    # columns 4 * (t % 4) on, two in each of two registers; not transposed, elements 4 * (t % 4) + b of row t / 4.
    given, lanes = r.given("in", "u4"), np.arange(32)
    named = given.view("u1").reshape(32, 16)[lanes * 5 % 32]
    bits = np.unpackbits(named, axis=1, bitorder="little")

    def elements(width):
        return np.packbits(bits[:, :16 * width].reshape(32, 16, width), axis=2, bitorder="little")[:, :, 0]

    def words(of):  # of(register, lane, byte)
        return np.array([[sum(int(of(i, t, b)) << 8 * b for b in range(4)) for t in range(32)] for i in range(4)], "u4")
    forms = []
    for width in (8, 4, 6):
        for matrices in (1, 2):
            turned = [elements(width)[16 * m:][:16].T for m in range(2)]
            forms.append(words(lambda i, t, b: turned[i // 2][t // 4 + b // 2 * 8][t % 4 * 4 + i % 2 * 2 + b % 2] if i < 2 * matrices else 0))
    for width in (4, 6):
        for matrices in (1, 2, 4):
            plain = elements(width)
            forms.append(words(lambda i, t, b: plain[8 * i + t // 4][t % 4 * 4 + b] if i < matrices else 0))
    registers, stored = given.view("u1").reshape(4, 32, 4), []
    for matrices in (1, 2, 4):
        rows = np.zeros((32, 16), "u1")
        for i in range(matrices):  # 16 x 8: lane t has rows t / 4 (+ 8 for b >= 2), columns 2 * (t % 4) + b % 2; a column lies in a row of memory
            for t in range(32):
                for b in range(4):
                    rows[(8 * i + t % 4 * 2 + b % 2) * 5 % 32][t // 4 + b // 2 * 8] = registers[i][t][b]
        stored.append(rows.ravel())
    return {"loaded": np.array(forms), "stored": np.concatenate(stored).view("u4")}


@computed
def pair_gemm(r):
    return {"c": (widened(r.given("a", "u2")).reshape(512, 192) @ widened(r.given("b", "u2")).reshape(256, 192).T).astype("f4")}


def scaled(r, scales_of):
    """`scales_of(v, rows, groups)`: the scale of each row and group along k."""
    def bytes_of(name, rows):
        value, scale = small_float(r.given(name, "u1"), 3), np.ldexp(1.0, r.given("s" + name, "u1").astype("i8") - 127)
        return value.reshape(rows, 512) * np.repeat(scales_of(scale, rows, 16), 32, axis=1)

    def nibbles_of(name, rows):
        v = r.given(name + "4", "u1")
        value = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])[np.stack([v & 15, v >> 4], axis=-1)]
        return value.reshape(rows, 1024) * np.repeat(scales_of(small_float(r.given("s" + name + "4", "u1"), 3), rows, 64), 16, axis=1)
    return {"c": (bytes_of("a", 128) @ bytes_of("b", 256).T).astype("f4"), "c4": (nibbles_of("a", 128) @ nibbles_of("b", 256).T).astype("f4")}


@computed
def block_gemm(r):
    return scaled(r, lambda v, rows, groups: v.reshape(rows, groups))


@computed
def scaled_gemm(r):
    # Tiles of 128 rows, along k groups of four; in one a word each of rows r, r + 32, r + 64, r + 96.
    return scaled(r, lambda v, rows, groups: v.reshape(rows // 128, groups // 4, 32, 4, 4).transpose(0, 3, 2, 1, 4).reshape(rows, groups))


check(verify_collisions.collisions)
check(verify_collisions.matrix_collisions)


def compute():
    path = os.path.join(HERE, "recorded.json")
    with open(path) as f:
        recorded = json.load(f)
    for name, reference in COMPUTED.items():
        held = {}
        for buffer, array in reference(Results(name)).items():
            data = np.ascontiguousarray(array).tobytes()
            target = os.path.join(HERE, name, buffer + ".expected.bin")
            held[buffer] = {"file": buffer + ".expected.bin"} if len(data) <= record.SMALL else {"sha256": hashlib.sha256(data).hexdigest()}
            if "file" in held[buffer]:
                with open(target, "wb") as f:
                    f.write(data)
        recorded["results"][name] = {"buffers": held, "computed": "verify.py", "status": "ok"}
    with open(path, "w") as f:
        json.dump(recorded, f, indent=1, sort_keys=True)
        f.write("\n")
    subprocess.run([sys.executable, os.path.join(HERE, "plans.py")], check=True)
    return 0


def main(names):
    failures = 0
    if names[:1] == ["--record"]:
        RECORD.append(names[1])
        names = names[2:]
    for name in names or CHECKS:
        try:
            good = CHECKS[name](Results(name))
        except KeyError as e:
            print("unrecorded  %s (%s)" % (name, e))
            continue
        print("%-11s %s" % ("ok" if good else "WRONG", name))
        failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(compute() if sys.argv[1:] == ["--compute"] else main(sys.argv[1:]))
