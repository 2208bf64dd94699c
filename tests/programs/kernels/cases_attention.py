# SPDX-License-Identifier: Apache-2.0
"""Attention of FlashInfer: merging the states of parts of a cache, one query against a cache, many with a causal mask, the same for Hopper."""

import numpy as np

from case import NULL, Case, f32, fields, i32, i64, out, random, u32

CASES = []


def add(*arguments, **named):
    CASES.append(Case(*arguments, **named))


# --- attention/cascade.cuh: states (v, s) are merged by weights 2^s -----------------------------------------------------
N, H, DIM = 6, 4, 128


def merged(values, scores):
    """Of values (positions, sets, heads, dim) and scores (positions, sets, heads)."""
    top = scores.max(axis=1, keepdims=True)
    weight = np.exp2(scores - top)
    total = weight.sum(axis=1, keepdims=True)
    y = (values * (weight / total)[..., None]).sum(axis=1)
    size = (np.abs(values) * (weight / total)[..., None]).sum(axis=1)
    return {"v": (y.ravel(), 2.0**-19 * size.ravel()), "s": ((np.log2(total) + top).ravel(), 2.0**-18)}


def merge_two(v):
    pair = [np.stack([a.reshape(shape), b.reshape(shape)], axis=1) for a, b, shape in ((v.va, v.vb, (N, H, DIM)), (v.sa, v.sb, (N, H)))]
    return merged(*pair)


def merge_sets(sets, positions):
    return lambda v: merged(v.vs.reshape(positions, sets, H, DIM), v.ss.reshape(positions, sets, H))


add(
    "merge of two attention states f16",
    "flashinfer_cascade.cu",
    "16MergeStateKernel",
    (N,),
    (16, H),
    {
        "va": random("f16", N * H * DIM, -2, 2),
        "sa": random("f32", N * H, -3, 3),
        "vb": random("f16", N * H * DIM, -2, 2),
        "sb": random("f32", N * H, -3, 3),
        "v": out("f16", N * H * DIM),
        "s": out("f32", N * H),
    },
    ["va", "sa", "vb", "sb", "v", "s", u32(H), u32(DIM)],
    merge_two,
)
add(
    "merge of five attention states bf16",
    "flashinfer_cascade.cu",
    "17MergeStatesKernel",
    (N,),
    (16, H),
    {"vs": random("bf16", N * 5 * H * DIM, -2, 2), "ss": random("f32", N * 5 * H, -3, 3), "v": out("bf16", N * H * DIM), "s": out("f32", N * H)},
    ["vs", "ss", "v", "s", u32(5), u32(H), u32(DIM)],
    merge_sets(5, N),
)


def merge_many(v):
    """The states of eight threads' sets are rounded to f16 before they are merged with each other."""
    result = merge_sets(70, 2)(v)
    return {"v": (result["v"][0], result["v"][1] + 2.0**-10), "s": result["s"]}


add(
    "merge of seventy attention states f16",
    "flashinfer_cascade.cu",
    "34MergeStatesLargeNumIndexSetsKernel",
    (2, H),
    (16, 8),
    {"vs": random("f16", 2 * 70 * H * DIM, -2, 2), "ss": random("f32", 2 * 70 * H, -3, 3), "v": out("f16", 2 * H * DIM), "s": out("f32", 2 * H)},
    ["vs", "ss", "v", "s", u32(70), u32(H)],
    merge_many,
    4 * 8 * DIM * 2 + 512,
)


# --- attention: decode and prefill ------------------------------------------------------------------------------------
def attention(q, k, v, scale, mask):
    """Of q (rows, heads, dim) and k, v (length, kv heads, dim); the result and, for its bound, the weighted sum of |v|."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    x = np.einsum("qhd,khd->hqk", q, k) * scale + mask
    size = np.einsum("qhd,khd->hqk", np.abs(q), np.abs(k)).max() * scale
    e = np.exp(x - x.max(axis=2, keepdims=True))
    lse = np.log2(e.sum(axis=2)) + x.max(axis=2) * np.log2(np.e)
    p = e / e.sum(axis=2, keepdims=True)
    return np.einsum("hqk,khd->qhd", p, v), np.einsum("hqk,khd->qhd", p, np.abs(v)), lse.T, size


LENGTH, GROUP = 200, 4


def decode(v):
    y, size, lse, logit = attention(v.q.reshape(1, 8, DIM), v.k.reshape(LENGTH, 2, DIM), v.v.reshape(LENGTH, 2, DIM), DIM**-0.5, 0)
    near = 2.0**-20 * logit + 2.0**-18
    return {"o": (y.ravel(), near * size.ravel()), "lse": (lse.ravel(), 2 * near)}


add(
    "decode attention f16, GQA 4",
    "flashinfer_attention.cu",
    "29SingleDecodeWithKVCacheKernel",
    (1, 2),
    (16, 4, 2),
    {
        "q": random("f16", 8 * DIM, -2, 2),
        "k": random("f16", LENGTH * 2 * DIM, -2, 2),
        "v": random("f16", LENGTH * 2 * DIM, -2, 2),
        "o": out("f16", 8 * DIM),
        "lse": out("f32", 8),
    },
    [
        fields(
            "q",
            "k",
            "v",
            "o",
            "lse",
            NULL,
            u32(LENGTH),
            u32(8),
            u32(2),
            u32(8 * DIM),
            u32(DIM),
            u32(2 * DIM),
            u32(DIM),
            i32(-1),
            f32(0),
            f32(DIM**-0.5),
            f32(1),
            f32(1e-4),
            u32(LENGTH),
        )
    ],
    decode,
    2 * 2 * 4 * 2 * DIM * 2 + 64,
)
QUERIES, KEYS = 64, 96


def prefill(v):
    mask = np.where(np.arange(KEYS)[None, :] > np.arange(QUERIES)[:, None] + KEYS - QUERIES, -np.inf, 0)
    y, size, lse, logit = attention(v.q.reshape(QUERIES, 2, 64), v.k.reshape(KEYS, 1, 64), v.v.reshape(KEYS, 1, 64), 0.125, mask)
    near = 2.0**-20 * logit + 2.0**-18
    # Weights are rounded to bf16, for their sum too.
    return {"o": (y.ravel(), (near + 2.0**-8) * size.ravel()), "lse": (lse.ravel(), 2 * near + 2.0**-8)}


HALF = [u32(2), u32(0), u32(0), u32(1), u32(2)]  # cuda::fast_mod_div<uint32_t> of 2 (divisor, multiplier, increment, shift), and FlashInfer's own 2
add(
    "prefill attention bf16, causal, GQA 2",
    "flashinfer_attention.cu",
    "30SinglePrefillWithKVCacheKernel",
    (2, 1, 1),
    (32, 4, 1),
    {
        "q": random("bf16", QUERIES * 2 * 64, -2, 2),
        "k": random("bf16", KEYS * 64, -2, 2),
        "v": random("bf16", KEYS * 64, -2, 2),
        "o": out("bf16", QUERIES * 2 * 64),
        "lse": out("f32", QUERIES * 2),
    },
    [
        fields(
            "q",
            "k",
            "v",
            NULL,
            "o",
            "lse",
            NULL,
            *HALF,
            u32(QUERIES),
            u32(KEYS),
            u32(2),
            u32(1),
            u32(128),
            u32(64),
            u32(64),
            u32(64),
            u32(64),
            u32(64),
            u32(64),
            i32(-1),
            f32(0),
            f32(0.125),
            f32(1),
            f32(1e-4),
            u32(0)
        )
    ],
    prefill,
    24 << 10,
)


# --- attention/hopper: two query heads of one key head, 128 columns ----------------------------------------------------
LONG_QUERIES, LONG_KEYS = 150, 200


def hopper(v):
    q, k, w = v.q.reshape(LONG_QUERIES, 2, DIM), v.k.reshape(LONG_KEYS, 1, DIM), v.v.reshape(LONG_KEYS, 1, DIM)
    mask = np.where(np.arange(LONG_KEYS)[None, :] > np.arange(LONG_QUERIES)[:, None] + LONG_KEYS - LONG_QUERIES, -np.inf, 0)
    y, size, lse, logit = attention(q, k, w, DIM**-0.5, mask)
    near = 2.0**-20 * logit + 2.0**-18
    return {"o": (y.ravel(), (near + 2.0**-11) * size.ravel()), "lse": (lse.ravel(), 2 * near)}  # weights are rounded to f16


def rows(count, heads):
    """cute::Layout of (count, columns, heads), padded to a multiple of 8."""
    return [i32(count), i32(DIM), i32(heads), i64(heads * DIM), i64(DIM)]


def by_tma(offset, buffer, count, heads):
    """Half a row of 128 rows of a head at a time."""
    of = {"dims": [DIM, count, heads], "strides": [2 * DIM * heads, 2 * DIM], "box": [64, 128, 1], "swizzle": "128B"}
    return {"offset": offset, "tensorMap": {"buffer": buffer, "type": "f16", **of}}


def mainloop():
    """CollectiveMainloop::Params: three layouts, three tensor maps in 256 bytes each, what the window and the variant take."""
    layouts = fields(*rows(LONG_QUERIES, 2), *rows(LONG_KEYS, 1), *rows(LONG_KEYS, 1))["bytes"]
    more = fields(i32(-1), i32(0), f32(0), f32(DIM**-0.5), NULL, NULL, NULL)["bytes"]  # no window; no cap of the logits, their scale, no scales of q, k, v
    held = bytes.fromhex(layouts).ljust(128 + 3 * 256, b"\0") + bytes.fromhex(more)
    maps = [by_tma(128, "q", LONG_QUERIES, 2), by_tma(384, "k", LONG_KEYS, 1), by_tma(640, "v", LONG_KEYS, 1)]
    return {"bytes": held.ljust(1024, b"\0").hex(), "tensorMaps": maps}


add(
    "Hopper prefill attention f16, causal, GQA 2",
    "flashinfer_hopper.cu",
    "24PrefillWithKVCacheKernel",
    (2, 2),
    (384,),
    {
        "q": random("f16", LONG_QUERIES * 2 * DIM, -2, 2),
        "k": random("f16", LONG_KEYS * DIM, -2, 2),
        "v": random("f16", LONG_KEYS * DIM, -2, 2),
        "o": out("f16", LONG_QUERIES * 2 * DIM),
        "lse": out("f32", LONG_QUERIES * 2),
    },
    [
        mainloop(),
        fields("o", *rows(LONG_QUERIES, 2), "lse", i32(2), i32(LONG_QUERIES), i64(2)),
        fields(i32(LONG_QUERIES), i32(LONG_KEYS), u32(2), u32(1 << 31), u32(0)),  # the last three: cutlass::FastDivmod of 2
    ],
    hopper,
    163920,
    ("sm_90a",),
)
