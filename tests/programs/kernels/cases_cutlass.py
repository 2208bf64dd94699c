# SPDX-License-Identifier: Apache-2.0
"""Matrix products: CUTLASS' tutorials of Hopper's and Blackwell's tensor cores, and FlashInfer's freestanding kernels (csrc/cake_*)."""

import numpy as np

from case import E4M3, NULL, Case, data, f32, fields, i32, i64, map_of, out, random, u32

CASES = []
WGMMA, TCGEN05 = "cutlass:examples/cute/tutorial/hopper/wgmma_sm90.cu", "cutlass:examples/cute/tutorial/blackwell/01_mma_sm100.cu"


def add(*arguments, **named):
    CASES.append(Case(*arguments, **named))


def product(a, b, error, name="d"):
    """a times the transpose of b; `error` is of the sum of the products' sizes."""
    return {name: ((a @ b.T).ravel(), (error * (np.abs(a) @ np.abs(b).T)).ravel())}


# --- wgmma, sums in f16 (the tutorial's choice); C in columns ----------------------------------------------------------
M, N, K = 128, 128, 128
EMPTY = {"bytes": "00"}  # what is known when it is compiled


def columns(v):
    return product(v.b.reshape(N, K), v.a.reshape(M, K), 2.0**-11 * 8)  # eight steps of 16, rounded to f16 each


add(
    "wgmma tutorial f16 (TN)",
    WGMMA,
    r"gemm_device.*F16F16F16_SSILNS\w+_5MajorE0E",
    (1, 1),
    (128,),
    {"a": random("f16", M * K, -1, 1), "b": random("f16", N * K, -1, 1), "d": out("f16", M * N)},
    [
        fields(i32(M), i32(N), i32(K)),
        EMPTY,
        "a",
        i32(K),
        EMPTY,
        EMPTY,
        "b",
        i32(K),
        EMPTY,
        EMPTY,
        "d",
        i32(M),
        fields(u32(1), u32(1)),
        {"bytes": "003c"},
        {"bytes": "0000"},
    ],
    columns,
    3 * (M + N) * 64 * 2,
    ("sm_90a",),
)

# The same by TMA: two tiles of a cluster, three steps of 64.
TMA_M, TMA_K = 256, 192


def copy_atom(buffer, rows, row, box):
    """cute::Copy_Atom of a tensor map of f16."""
    return {"bytes": "00" * 256, "tensorMaps": [{"offset": 0, **map_of(buffer, "f16", [row, rows], 2 * row, [64, box], "128B")}]}


add(
    "wgmma and TMA tutorial f16 (TN)",
    "cutlass:examples/cute/tutorial/hopper/wgmma_tma_sm90.cu",
    r"gemm_device.*F16F16F16_SSILNS\w+_5MajorE0E",
    (2, 1),
    (128,),
    {"a": random("f16", TMA_M * TMA_K, -1, 1), "b": random("f16", N * TMA_K, -1, 1), "d": out("f16", TMA_M * N)},
    [
        fields(i32(TMA_M), i32(N), i32(TMA_K)),
        EMPTY,
        "a",
        copy_atom("a", TMA_M, TMA_K, 128),
        "b",
        copy_atom("b", N, TMA_K, 128),
        "d",
        i32(TMA_M),
        fields(u32(1), u32(1)),
        {"bytes": "003c"},
        {"bytes": "0000"},
    ],
    lambda v: product(v.b.reshape(N, TMA_K), v.a.reshape(TMA_M, TMA_K), 2.0**-11 * 12),
    3 * (128 + 128) * 64 * 2 + 128,
    ("sm_90a",),
    (2, 1),
)

# --- tcgen05 ------------------------------------------------------------------------------------------------------------
# Of the TiledMMA: the instruction's descriptor (f32 += f16 x f16, N / 8 = 32, M / 16 = 8), and that it adds.
INSTRUCTION = fields(u32(1 << 4 | 32 << 17 | 8 << 24), u32(1))


def tensor(buffer, rows, row):
    return fields(i32(rows), i32(row), i32(row), buffer)  # (rows, row) : (row, 1)


def tensor_core(v):
    d = product(v.a.reshape(128, -1), v.b.reshape(256, -1), 2.0**-21)["d"]
    return {"d": (d[0] + 2 * v.c, d[1] + 2.0**-23 * np.abs(2 * v.c))}


add(
    "tcgen05 tutorial f16 to f32",
    TCGEN05,
    "gemm_device",
    (1, 1),
    (128,),
    {"a": random("f16", 128 * 256, -1, 1), "b": random("f16", 256 * 256, -1, 1), "c": random("f32", 128 * 256, -1, 1), "d": out("f32", 128 * 256)},
    [tensor("a", 128, 256), tensor("b", 256, 256), tensor("c", 128, 256), tensor("d", 128, 256), EMPTY, INSTRUCTION, EMPTY, f32(1), f32(2)],
    tensor_core,
    50 << 10,
    ("sm_100a",),
)



def of_tma(rows):
    return fields(i32(rows), i32(64), i32(0))  # a tensor of coordinates


# One step of 64. In more, nothing keeps the first warp from being two phases of an mbarrier ahead of the others, which then wait for ever (and do here).
add(
    "tcgen05 and TMA tutorial f16 to f32",
    "cutlass:examples/cute/tutorial/blackwell/02_mma_tma_sm100.cu",
    "gemm_device",
    (1, 1),
    (128,),
    {"a": random("f16", 128 * 64, -1, 1), "b": random("f16", 256 * 64, -1, 1), "c": random("f32", 128 * 256, -1, 1), "d": out("f32", 128 * 256)},
    [
        of_tma(128),
        of_tma(256),
        tensor("c", 128, 256),
        tensor("d", 128, 256),
        EMPTY,
        INSTRUCTION,
        EMPTY,
        copy_atom("a", 128, 64, 128),
        copy_atom("b", 256, 64, 256),
        f32(1),
        f32(2),
    ],
    tensor_core,
    50 << 10,
    ("sm_100a",),
)

# --- freestanding kernels of FlashInfer ---------------------------------------------------------------------------------
FREE = "flashinfer:"
add(
    "router product bf16 (cake)",
    FREE + "cake_router_gemm/cake_router_gemm_m10_k6144_device.cu",
    "kernel_cake",
    (8,),
    (128,),
    {"a": random("bf16", 10 * 6144, -1, 1), "b": random("bf16", 8 * 6144, -1, 1), "d": out("f32", 80)},
    ["a", "b", "d", NULL, i32(8), i32(0)],
    lambda v: product(v.a.reshape(10, 6144), v.b.reshape(8, 6144), 2.0**-19),
    256,
)


def batched(v):
    a, b = v.a.reshape(2, 48, 64), v.b.reshape(2, 64, 64)
    parts = [product(x, y, 2.0**-21)["d"] for x, y in zip(a, b)]
    return {"d": tuple(np.concatenate(side) for side in zip(*parts))}


add(
    "batched product bf16 to f16 (cake)",
    FREE + "cake_bf16_bmm/cake_bf16_bmm_1428cc8db4c88a1a4faf_kernel.cu",
    "kernel_cake",
    (3, 2, 2),
    (128,),
    {"a": random("bf16", 2 * 48 * 64, -1, 1), "b": random("bf16", 2 * 64 * 64, -1, 1), "d": out("f16", 2 * 48 * 64)},
    ["a", "b", "d", i32(48), i32(64), i32(3072), i32(64), i32(1), i32(4096), i32(64), i32(1), i32(1)],
    batched,
    6144,
)


def softmax(v):
    x = v.x.reshape(6, 250) / 0.8
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = (e / e.sum(axis=1, keepdims=True)).ravel()
    return {"y": (p, 2.0**-18 * p)}


add(
    "softmax of short rows f32 (cake)",
    FREE + "cake_blackwell_softmax_warp.cu",
    "followup_warp",
    (2,),
    (128,),
    {"x": random("f32", 1500, -6, 6), "y": out("f32", 1500)},
    ["x", NULL, "y", i32(6), i32(250), i32(1), f32(0.8)],
    softmax,
)


def gather(v):
    return {"packed": (v.source.reshape(5, 1, 128, 128)[v.rows].ravel(), 0)}


add(
    "gather of states f16 to f32 (cake)",
    FREE + "gdn/gdn_cp/cake_gdn_cp_902cedff35fc12c2a357_kernel.cu",
    "kernel_cake",
    (192,),
    (256,),
    {"source": random("f16", 5 * 16384, -2, 2), "rows": data("i64", [4, 0, 2]), "packed": out("f32", 3 * 16384)},
    ["source", "rows", "packed", i64(16384), i64(16384), i64(128), i64(1), i32(1), i64(3 * 16384), i32(1)],
    gather,
)

# --- block-scaled numbers of 4 bits (e2m1, a scale of e4m3 for 16): one tile of 16 x 32 x 64 --------------------------------
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
rng = np.random.default_rng(5)
A4, B4 = rng.integers(0, 256, (16, 32)), rng.integers(0, 256, (32, 32))
SCALE_A, SCALE_B = rng.integers(0x28, 0x49, (16, 4)), rng.integers(0x28, 0x49, (32, 4))


def numbers4(packed, scales):
    elements = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), 64)
    return E2M1[elements] * np.repeat(E4M3[scales], 16, axis=1)


add(
    "block-scaled product nvfp4",
    FREE + "sparse_mla_sm120/nvfp4_mma_layout_probe.cu",
    "20NVFP4M16N32K64Kernel",
    (1,),
    (32,),
    {"a": data("u8", A4), "b": data("u8", B4), "sfa": data("u8", SCALE_A), "sfb": data("u8", SCALE_B), "d": out("f32", 512)},
    ["a", "b", "sfa", "sfb", "d", i32(1)],
    lambda v: product(numbers4(A4, SCALE_A), numbers4(B4, SCALE_B), 2.0**-21),
    0,
    ("sm_120a",),
)
