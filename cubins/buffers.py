# SPDX-License-Identifier: Apache-2.0
"""What a plan's buffers hold before the first launch (README.md, "Random buffers"), computed apart from the emulator."""
import io
import os


def philox(counter, key, np):
    """Philox4x32-10 on arrays of counters: four uint64 arrays holding 32-bit words."""
    mask = np.uint64(0xffffffff)
    half = np.uint64(32)
    c = [np.asarray(v, dtype=np.uint64) for v in counter]
    k0, k1 = key
    for _ in range(10):
        p0 = c[0] * np.uint64(0xD2511F53)
        p1 = c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> half) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> half) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0 = (k0 + 0x9E3779B9) & 0xffffffff
        k1 = (k1 + 0xBB67AE85) & 0xffffffff
    return c


def multiply_high(a, b, np):
    """The high 64 bits of uint64 array a times integer b < 2^64."""
    half, mask = np.uint64(32), np.uint64(0xffffffff)
    al, ah = a & mask, a >> half
    bl, bh = np.uint64(b & 0xffffffff), np.uint64(b >> 32)
    low = al * bl
    m1 = ah * bl + (low >> half)
    m2 = al * bh + (m1 & mask)
    return ah * bh + (m1 >> half) + (m2 >> half)


INTEGER = {"u8": (1, 0), "i8": (1, 1), "u16": (2, 0), "i16": (2, 1), "u32": (4, 0), "i32": (4, 1), "u64": (8, 0), "i64": (8, 1)}
FLOATING = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def random_bytes(spec, nbytes):
    out = io.BytesIO()
    size = FLOATING.get(spec["type"]) or INTEGER[spec["type"]][0]
    count = nbytes // size
    step = 1 << 20
    for first in range(0, count, step):
        out.write(random_elements(spec, first, min(step, count - first)))
    return out.getvalue().ljust(nbytes, b"\0")


def random_elements(spec, first, count):
    import numpy as np
    kind, seed = spec["type"], number(spec["seed"])
    i = np.arange(first, first + count, dtype=np.uint64)
    zero = np.zeros(count, dtype=np.uint64)
    w = philox([i & np.uint64(0xffffffff), i >> np.uint64(32), zero, zero], (seed & 0xffffffff, seed >> 32), np)
    if kind in FLOATING:
        low, high = float(spec.get("low", 0)), float(spec.get("high", 1))
        if kind == "f64":
            u = ((w[0] | w[1] << np.uint64(32)) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
            return (low + (high - low) * u).tobytes()
        u = (w[0] >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
        f = (low + (high - low) * u).astype(np.float32)
        if kind == "f32":
            return f.tobytes()
        if kind == "f16":
            return f.astype(np.float16).tobytes()
        bits = f.view(np.uint32).astype(np.uint64)
        return ((bits + np.uint64(0x7fff) + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16).tobytes()
    size, signed = INTEGER[kind]
    bits = 8 * size
    low = number(spec["low"]) if "low" in spec else (-(1 << bits - 1) if signed else 0)
    high = number(spec["high"]) if "high" in spec else (1 << bits - 1 if signed else 1 << bits)
    span = high - low
    if size == 8:
        wide = w[0] | w[1] << np.uint64(32)
        offset = wide if span == 1 << 64 else multiply_high(wide, span, np)
    else:
        offset = w[0] if span == 1 << 32 else w[0] * np.uint64(span) >> np.uint64(32)
    value = offset + np.uint64(low & (1 << 64) - 1)
    return value.astype("<u%d" % size).tobytes()


def number(v):
    return int(v, 0) if isinstance(v, str) else int(v)


def contents(spec, nbytes, directory):
    if "random" in spec:
        return random_bytes(spec["random"], nbytes)
    if "file" in spec:
        with open(os.path.join(directory, spec["file"]), "rb") as f:
            held = f.read()
        if len(held) != nbytes:
            raise ValueError("%s has %d bytes, the buffer %d" % (spec["file"], len(held), nbytes))
        return held
    return bytes([number(spec.get("fill", 0))]) * nbytes


def selftest():
    import numpy as np
    for counter, key, answer in (([0] * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                                 ([0xffffffff] * 4, (0xffffffff, 0xffffffff), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                                 ([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], (0xa4093822, 0x299f31d0),
                                  "d16cfe09 94fdcceb 5001e420 24126ea1")):
        got = " ".join("%08x" % int(v[0]) for v in philox([np.array([c], dtype=np.uint64) for c in counter], key, np))
        assert got == answer, (got, answer)
    for a, b in ((0xfedcba9876543210, 0xffffffffffffffff), (1 << 63, 3), (0x123456789abcdef, 0xfffffffe00000001)):
        assert int(multiply_high(np.array([a], dtype=np.uint64), b, np)[0]) == a * b >> 64
    for spec, kind, low, high in (({"type": "i8", "seed": 5}, "<i1", -128, 127), ({"type": "i32", "seed": 5, "low": -7, "high": 9}, "<i4", -7, 8),
                                  ({"type": "i64", "seed": "0x100000002", "low": -3, "high": 3}, "<i8", -3, 2),
                                  ({"type": "f32", "seed": 5, "low": -1, "high": 1}, "<f4", -1, 1), ({"type": "f64", "seed": 9}, "<f8", 0, 1),
                                  ({"type": "f16", "seed": 5, "low": 2, "high": 4}, "<f2", 2, 4)):
        v = np.frombuffer(random_bytes(spec, 80000), dtype=kind)
        assert v.min() >= low and v.max() <= high and (v.min() < low + 0.01 * (high - low) or v.min() == low), (spec, v.min(), v.max())
