# SPDX-License-Identifier: Apache-2.0
"""Launches of FlashInfer's kernels: as its own functions launch them, with smaller shapes."""

import numpy as np

from case import NULL, Case, data, f32, i32, i64, out, random, u32, u64

CASES = []


def add(*arguments, **named):
    CASES.append(Case(*arguments, **named))


# --- norm.cuh: rows of 1024, sums of squares in float32 -------------------------------------------------------------
D, ROWS = 1024, 8
NEAR = 2.0**-20  # of the result: a sum of 1024 squares in a tree, rsqrt.approx, a few products


def rms(x, w):
    return x * w / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def rms_norm(v):
    y = rms(v.x.reshape(ROWS, D), v.w).ravel()
    return {"y": (y, NEAR * np.abs(y))}


def fused_add(v):
    added = (v.x + v.residual).reshape(ROWS, D)
    y = rms(added, v.w).ravel()
    return {"residual": (added.ravel(), 2.0**-24 * np.abs(added.ravel())), "x": (y, NEAR * np.abs(y))}


def rms_quant(v):
    y = rms(v.x.reshape(ROWS, D), v.w).ravel() / v.scale[0]
    return {"y": (y, NEAR * np.abs(y))}


def qk_norm(v):
    y = rms(v.x.reshape(-1, 128), v.w).ravel()
    return {"y": (y, NEAR * np.abs(y))}


def layer_norm(v):
    x = v.x.reshape(ROWS, D)
    off = x - x.mean(axis=1, keepdims=True)
    y = off / np.sqrt((off * off).mean(axis=1, keepdims=True) + 1e-5) * v.gamma + v.beta
    return {"y": (y.ravel(), NEAR * (np.abs(y) + np.abs(v.beta) + 4 * np.abs(v.gamma)).ravel())}


norm_numbers = [u32(D), u32(D), u32(D), f32(0), f32(1e-5)]
add(
    "rms_norm f16",
    "flashinfer_norm.cu",
    "RMSNormKernelILj8E6__half",
    (ROWS,),
    (32, 4),
    {"x": random("f16", ROWS * D, -2, 2), "w": random("f16", D, 0.5, 1.5), "y": out("f16", ROWS * D)},
    ["x", "w", "y", *norm_numbers],
    rms_norm,
    16,
)
add(
    "fused_add_rms_norm bf16",
    "flashinfer_norm.cu",
    "FusedAddRMSNormKernelILj8E",
    (ROWS,),
    (32, 4),
    {"x": random("bf16", ROWS * D, -2, 2), "residual": random("bf16", ROWS * D, -2, 2), "w": random("bf16", D, 0.5, 1.5)},
    ["x", "residual", "w", *norm_numbers],
    fused_add,
    (4 + D) * 4,
)
add(
    "rms_norm_quant f16 to e4m3",
    "flashinfer_norm.cu",
    "RMSNormQuantKernelILj8E",
    (ROWS,),
    (32, 4),
    {"x": random("f16", ROWS * D, -2, 2), "w": random("f16", D, 0.5, 1.5), "scale": data("f32", [0.01]), "y": out("e4m3", ROWS * D)},
    ["x", "w", "y", u32(D), u32(D), u32(D), f32(0), "scale", f32(1e-5)],
    rms_quant,
    16,
)
add(
    "qk_rms_norm bf16",
    "flashinfer_norm.cu",
    "QKRMSNormKernelILj8E",
    (4,),
    (32, 4),
    {"x": random("bf16", 4 * 8 * 128, -2, 2), "w": random("bf16", 128, 0.5, 1.5), "y": out("bf16", 4 * 8 * 128)},
    ["x", "w", "y", u32(128), u32(4), u32(8), u32(1024), u32(128), u32(1024), u32(128), f32(0), f32(1e-5)],
    qk_norm,
)
add(
    "layer_norm bf16",
    "flashinfer_norm.cu",
    "generalLayerNorm",
    (ROWS,),
    (1024,),
    {"x": random("bf16", ROWS * D, -2, 2), "gamma": random("f32", D, 0.5, 1.5), "beta": random("f32", D, -1, 1), "y": out("bf16", ROWS * D)},
    ["x", "gamma", "beta", "y", f32(1e-5), i32(ROWS), i32(D), NULL, NULL, NULL, NULL, NULL, {"bytes": "00"}],
    layer_norm,
    2 * D,
)

# --- pos_enc.cuh ----------------------------------------------------------------------------------------------------
TOKENS, HEADS, KV_HEADS = 8, 4, 2
POSITIONS = np.array([0, 1, 2, 7, 20, 33, 50, 63])


def rotate(x, heads, dim, cos, sin, interleave):
    x = x.reshape(TOKENS, heads, dim)
    a, b = (x[..., 0::2], x[..., 1::2]) if interleave else (x[..., : dim // 2], x[..., dim // 2 :])
    c, s = cos[:, None, :], sin[:, None, :]
    y, size = np.empty_like(x), np.empty_like(x)
    first, second = a * c - b * s, a * s + b * c
    if interleave:
        y[..., 0::2], y[..., 1::2] = first, second
    else:
        y[..., : dim // 2], y[..., dim // 2 :] = first, second
    size[...] = np.tile(np.abs(a) + np.abs(b), 2) if not interleave else np.repeat(np.abs(a) + np.abs(b), 2, axis=-1)
    return y.ravel(), size


def rope_positions(v):
    angle = v.pos[:, None] * 1e-4 ** (np.arange(64) / 64)
    result = {}
    for name, x, heads in (("q_rope", v.q, HEADS), ("k_rope", v.k, KV_HEADS)):
        y, size = rotate(x, heads, 128, np.cos(angle), np.sin(angle), False)
        # ex2.approx of up to 13.3, sin.approx and cos.approx after a product of position and frequency
        result[name] = (y, (size * (v.pos * 2.0**-18 + 2.0**-20)[:, None, None]).ravel())
    return result


def rope_cache(v):
    table = v.table.reshape(64, 64)[v.pos]
    result = {}
    for name, x, heads in (("q_rope", v.q, HEADS), ("k_rope", v.k, KV_HEADS)):
        y, size = rotate(x, heads, 64, table[:, :32], table[:, 32:], True)
        result[name] = (y, 2.0**-22 * size.ravel())
    return result


def rope(name, kernel, dim, type_, extra, extra_args, tail, reference):
    strides = [u64(heads * dim if row else dim) for heads in (HEADS, KV_HEADS) * 2 for row in (True, False)]
    buffers = {
        "q": random(type_, TOKENS * HEADS * dim, -2, 2),
        "k": random(type_, TOKENS * KV_HEADS * dim, -2, 2),
        "q_rope": out(type_, TOKENS * HEADS * dim),
        "k_rope": out(type_, TOKENS * KV_HEADS * dim),
        **extra,
        "pos": data("i32", POSITIONS),
    }
    bdx = dim // 8
    add(
        name,
        "flashinfer_rope.cu",
        kernel,
        (1,),
        (bdx, 128 // bdx),
        buffers,
        ["q", "k", "q_rope", "k_rope", *extra_args, "pos", u32(TOKENS), u32(HEADS), u32(KV_HEADS), u32(dim), *strides, *tail],
        reference,
    )


rope("rope by positions f16", "BatchQKApplyRotaryPosIdsKernelI", 128, "f16", {}, [], [f32(0), f32(0), f32(1), f32(1e-4)], rope_positions)
rope(
    "rope from a table bf16",
    "BatchQKApplyRotaryPosIdsCosSinCacheKernelI",
    64,
    "bf16",
    {"table": random("f32", 64 * 64, -1, 1)},
    ["table"],
    [],
    rope_cache,
)


# --- activation.cuh -------------------------------------------------------------------------------------------------
ACTS = 1536


def halves(v):
    return np.split(v.x.reshape(6, 2 * ACTS), 2, axis=1)


def silu_and_mul(v):
    x, y = halves(v)
    r = (x / (1 + np.exp(-x)) * y).ravel()
    return {"out": (r, 2.0**-19 * np.abs(r))}


def gelu_and_mul(v):
    x, y = halves(v)
    r = x * 0.5 * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))) * y
    return {"out": (r.ravel(), (np.abs(x * y) * 2.0**-11).ravel())}  # tanh.approx


for name, kernel, type_, reference in (
    ("silu_and_mul f16", "act_and_mul_kernelI6__half", "f16", silu_and_mul),
    ("gelu_tanh_and_mul bf16", "act_and_mul_kernelI13__nv_bfloat16", "bf16", gelu_and_mul),
):
    add(
        name,
        "flashinfer_activation.cu",
        kernel,
        (6,),
        (192,),
        {"x": random(type_, 12 * ACTS, -4, 4), "out": out(type_, 6 * ACTS)},
        ["out", "x", i32(ACTS)],
        reference,
    )

# --- sampling.cuh ---------------------------------------------------------------------------------------------------
WORDS, BATCH = 4000, 4


def softmax(v):
    x = v.logits.reshape(BATCH, WORDS) / 0.7
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = (e / e.sum(axis=1, keepdims=True)).ravel()
    return {"p": (p, 2.0**-18 * p)}  # ex2.approx of numbers down to -17


def top_p(v):
    """The smallest set of the likeliest words that has 0.9 of the probability, made to sum 1."""
    p = v.p.reshape(BATCH, WORDS)
    order = np.argsort(-p, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(p, order, 1), axis=1) - np.take_along_axis(p, order, 1)
    kept = np.zeros_like(p)
    np.put_along_axis(kept, order, np.where(before < 0.9, np.take_along_axis(p, order, 1), 0), 1)
    y = (kept / kept.sum(axis=1, keepdims=True)).ravel()
    return {"y": (y, 2.0**-16 * y)}


def philox_uniform(seed, row):
    """curand_uniform of curandStatePhilox4_32_10 after curand_init(seed, row, 0)."""
    c, k = [0, 0, row, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c[0] * 2.0**-32 + 2.0**-33


def sample(v):
    p = v.p.reshape(BATCH, WORDS)
    drawn = [int(np.searchsorted(np.cumsum(row), philox_uniform(42, at), "right")) for at, row in enumerate(p)]
    return {"drawn": (drawn, 0), "valid": ([1] * BATCH, 0)}


rng = np.random.default_rng(21)
weights = rng.exponential(1, (BATCH, WORDS)) ** 3
PROBABILITIES = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
seed_args = [NULL, u64(42), NULL, u64(0), u32(0), u32(0)]
add(
    "softmax f32 with a temperature",
    "flashinfer_sampling.cu",
    "OnlineSoftmaxFusedKernel",
    (BATCH,),
    (1024,),
    {"logits": random("f32", BATCH * WORDS, -6, 6), "p": out("f32", BATCH * WORDS)},
    ["logits", "p", NULL, f32(0.7), u32(WORDS)],
    softmax,
    24 << 10,
)
add(
    "sampling from probabilities",
    "flashinfer_sampling.cu",
    "22SamplingFromProbKernel",
    (BATCH,),
    (1024,),
    {"p": data("f32", PROBABILITIES), "drawn": out("i32", BATCH), "valid": out("u8", BATCH)},
    ["p", "drawn", "valid", NULL, u32(WORDS), *seed_args],
    sample,
    24 << 10,
)
add(
    "top-k sampling",
    "flashinfer_sampling.cu",
    "26TopKSamplingFromProbKernel",
    (BATCH,),
    (1024,),
    {"p": data("f32", PROBABILITIES), "drawn": out("i32", BATCH), "valid": out("u8", BATCH)},
    ["p", "drawn", "valid", NULL, NULL, u32(40), u32(WORDS), *seed_args],
    None,
    24 << 10,
)
add(
    "top-p renormalisation",
    "flashinfer_sampling.cu",
    "20TopPRenormProbKernel",
    (BATCH,),
    (1024,),
    {"p": data("f32", PROBABILITIES), "y": out("f32", BATCH * WORDS)},
    ["p", "y", NULL, f32(0.9), u32(WORDS)],
    top_p,
    24 << 10,
)

# --- quantization.cuh -----------------------------------------------------------------------------------------------
BITS = rng.integers(0, 2, 5003).astype(np.uint8)
STARTS = np.array([0, 7, 1024, 1024, 4099, 5003])
PACKED = np.concatenate([[0], np.cumsum((np.diff(STARTS) + 7) // 8)])
add(
    "packbits, big-endian",
    "flashinfer_bits.cu",
    "14PackBitsKernelILNS0_8BitOrderE0",
    (3,),
    (256,),
    {"bits": data("u8", BITS), "bytes": out("u8", 626)},
    ["bits", "bytes", i64(5003)],
    lambda v: {"bytes": (np.packbits(BITS), 0)},
)
add(
    "segment_packbits, little-endian",
    "flashinfer_bits.cu",
    "21SegmentPackBitsKernel",
    (5,),
    (256,),
    {"bits": data("u8", BITS), "bytes": out("u8", int(PACKED[-1])), "from": data("i32", STARTS), "to": data("i32", PACKED)},
    ["bits", "bytes", "from", "to"],
    lambda v: {"bytes": (np.concatenate([np.packbits(BITS[a:b], bitorder="little") for a, b in zip(STARTS, STARTS[1:])]), 0)},
)
