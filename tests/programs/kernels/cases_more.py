# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-2 (flash-attn), DeepGEMM (sgl-deep-gemm), and functions that Triton's compiler makes kernels of: FlashInfer's, and one in Gluon."""

import numpy as np

from case import E4M3, NULL, Case, data, f32, fields, i32, i64, map_of, out, random, u8, u32
from cases_attention import attention

CASES = []


def add(*arguments, **named):
    CASES.append(Case(*arguments, **named))


# --- flash-attn: two query heads of one key head, 64 columns --------------------------------------------------------------
def flash_params(queries, keys, causal):
    """Flash_fwd_params of one sequence; strides as of (sequence, head, column)."""
    rows = [i64(128), i64(64), i64(64)]
    heads = [i64(64)] * 3
    zeros = [NULL] * 7 + [i64(0)] * 6 + [NULL] * 4 + [i64(0), i32(0)]  # lengths and caches of many sequences, new keys, rotation
    return fields(
        *("q", "k", "v", *[i64(0)] * 3, *rows, *heads, i32(2), i32(1), i32(2)),
        *("o", NULL, i64(0), i64(128), i64(64), NULL, "lse", NULL),
        *(i32(1), i32(queries), i32(keys), i32(0), i32(64), i32(-(-queries // 128) * 128), i32(-(-keys // 128) * 128), i32(64), i32(0), i32(queries)),
        *(f32(0.125), f32(0.125 * np.log2(np.e))),
        *zeros,
        *(f32(1), u8(255), f32(1), f32(0.125), i32(-1), i32(0 if causal else -1), f32(0)),
        *(NULL, NULL, u32(0), u8(0), NULL),  # the random generator's state
        *(u8(0), u8(causal), u8(1), u8(0), i32(1), NULL, i64(0), u8(0), u8(0)),
    )


def flash(queries, keys, causal, rounding):
    def reference(v):
        mask = np.where(np.arange(keys)[None, :] > np.arange(queries)[:, None] + keys - queries, -np.inf, 0) if causal else 0
        y, size, lse, logit = attention(v.q.reshape(queries, 2, 64), v.k.reshape(keys, 1, 64), v.v.reshape(keys, 1, 64), 0.125, mask)
        near = 2.0**-20 * logit + 2.0**-18
        return {"o": (y.ravel(), (near + rounding) * size.ravel()), "lse": ((lse.T / np.log2(np.e)).ravel(), 2 * near)}  # weights are rounded

    return reference


for name, kernel, type_, queries, keys, causal, rounding in (
    ("FlashAttention-2 f16, causal, GQA 2", r"16flash_fwd_kernel.*half_t", "f16", 150, 200, True, 2.0**-11),
    ("FlashAttention-2 bf16, even lengths", r"16flash_fwd_kernel.*bfloat16_t", "bf16", 128, 192, False, 2.0**-8),
):
    add(
        name,
        "flash_attn:flash_attention.cu",
        kernel,
        (-(-queries // 128), 1, 2),
        (128,),
        {
            "q": random(type_, queries * 128, -2, 2),
            "k": random(type_, keys * 64, -2, 2),
            "v": random(type_, keys * 64, -2, 2),
            "o": out(type_, queries * 128),
            "lse": out("f32", queries * 2),
        },
        [flash_params(queries, keys, causal)],
        flash(queries, keys, causal, rounding),
        32 << 10,
    )

# --- DeepGEMM: e4m3 with a scale for 128 elements of A's rows and for 128 x 128 of B, two persistent CTAs --------------------
M, N, K = 96, 256, 384
rng = np.random.default_rng(21)
E4M3_A, E4M3_B = (rng.integers(0x20, 0x48, (rows, K)) | rng.integers(0, 2, (rows, K)) << 7 for rows in (M, N))


def scaled(v):
    a, b = E4M3[E4M3_A], E4M3[E4M3_B]
    d, error = np.zeros((M, N)), np.zeros((M, N))
    for k in range(K // 128):
        part = slice(128 * k, 128 * k + 128)
        scale = v.sfa.reshape(K // 128, M)[k][:, None] * np.repeat(v.sfb.reshape(2, K // 128)[:, k], 128)[None, :]
        d += scale * (a[:, part] @ b[:, part].T)
        error += 2.0**-9 * scale * (np.abs(a[:, part]) @ np.abs(b[:, part]).T)  # wgmma of e4m3 keeps 13 bits behind the point
    return {"d": (d.ravel(), error.ravel())}


add(
    "DeepGEMM e4m3 with scales of blocks",
    "deep_gemm:deep_gemm.cu",
    "sm90_fp8_gemm_1d2d_impl",
    (2,),
    (256,),
    {"a": data("u8", E4M3_A), "b": data("u8", E4M3_B), "sfa": random("f32", K // 128 * M, 0.5, 2), "sfb": random("f32", 2 * K // 128, 0.5, 2), "d": out("bf16", M * N)},
    [
        "sfb",
        NULL,
        u32(M),
        u32(N),
        u32(K),
        map_of("a", "u8", [K, M], K, [128, 64], "128B"),
        map_of("b", "u8", [K, N], K, [128, 128], "128B"),
        map_of("d", "bf16", [N, M], 2 * N, [64, 64], "128B"),
        map_of("sfa", "f32", [M, K // 128], 4 * M, [64, 1], "none"),
    ],
    scaled,
    91 << 10,
    ("sm_90a",),
)

# --- Triton ------------------------------------------------------------------------------------------------------------------
TRITON = "triton:flashinfer/triton/kernels/"
COLUMNS = 1000


def rms(v):
    x = v.x.reshape(4, COLUMNS)
    y = (x * v.w / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5)).ravel()
    return {"y": (y, 2.0**-20 * np.abs(y))}


add(
    "rms_norm f16 (Triton)",
    TRITON + "norm.py",
    "rms_norm_kernel",
    (4,),
    (128,),
    {"x": random("f16", 4 * COLUMNS, -2, 2), "w": random("f16", COLUMNS, 0.5, 1.5), "y": out("f16", 4 * COLUMNS)},
    [i32(COLUMNS), i32(4), "x", i32(COLUMNS), "w", "y", i32(COLUMNS)],
    rms,
    triton={
        "types": {"n": "i32", "b": "i32", "x_ptr": "*fp16", "x_stride": "i32", "w_ptr": "*fp16", "o_ptr": "*fp16", "o_stride": "i32"},
        "constants": {
            "x_scale_ptr": None,
            "r_ptr": None,
            "o_scale_ptr": None,
            "EPS": 1e-5,
            "BLOCK_SIZE": 512,
            "HAS_IN_SCALE": False,
            "HAS_OUT_SCALE": False,
            "HAS_OUTPUT": True,
            "HAS_RESIDUAL": False,
        },
        "divisible": ["x_ptr", "w_ptr", "o_ptr"],
        "options": {"num_warps": 4},
    },
)


def silu(v):
    a, b = np.split(v.x.reshape(4, 2 * COLUMNS), 2, axis=1)
    y = (a / (1 + np.exp(-a)) * b).ravel()
    return {"y": (y, 2.0**-19 * np.abs(y))}


add(
    "silu_and_mul bf16 (Triton)",
    TRITON + "activation.py",
    "silu_and_mul_kernel",
    (4, 2),
    (128,),
    {"x": random("bf16", 8 * COLUMNS, -6, 6), "y": out("bf16", 4 * COLUMNS)},
    ["y", i32(COLUMNS), "x", i32(2 * COLUMNS), i32(COLUMNS)],
    silu,
    triton={
        "types": {"o_ptr": "*bf16", "o_stride": "i32", "x_ptr": "*bf16", "x_stride": "i32", "d": "i32"},
        "constants": {"o_scale_ptr": None, "x_scale_ptr": None, "BLOCK_SIZE": 512, "HAS_X_SCALE": False, "HAS_O_SCALE": False},
        "divisible": ["o_ptr", "x_ptr"],
        "options": {"num_warps": 4},
    },
)

ROWS, COLS, DEPTH = 200, 136, 176


def gemm(v):
    """C is rounded to f16 before beta times the old C is added."""
    a, b = v.a.reshape(ROWS, DEPTH), v.b.reshape(COLS, DEPTH)
    c = a @ b.T
    size = np.abs(a) @ np.abs(b).T
    old = v.c.reshape(ROWS, COLS)
    return {"c": ((0.5 * c + 0.25 * old).ravel(), (2.0**-11 * np.abs(c) + 2.0**-19 * size + 2.0**-10 * np.abs(old)).ravel())}


for name, function, persistent in (("product f16, persistent (Triton)", "gemm_kernel_persistent", True), ("product f16 (Triton)", "gemm_kernel", False)):
    add(
        name,
        TRITON + "sm_constraint_gemm.py",
        function,
        (2 if persistent else 4,),
        (128,),
        {"a": random("f16", ROWS * DEPTH, -1, 1), "b": random("f16", COLS * DEPTH, -1, 1), "c": random("f16", ROWS * COLS, -4, 4)},
        ["a", "b", "c", i32(ROWS), i32(COLS), i32(DEPTH), i32(DEPTH), i32(DEPTH), i32(COLS), f32(0.5), f32(0.25)],
        gemm,
        triton={
            "types": {
                **dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16"),
                **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bn", "stride_cm"), "i32"),
                **dict.fromkeys(("alpha", "beta"), "fp32"),
            },
            "constants": {
                **dict.fromkeys(("stride_ak", "stride_bk", "stride_cn"), 1),
                "BLOCK_SIZE_M": 128,
                "BLOCK_SIZE_N": 128,
                "BLOCK_SIZE_K": 64,
                "GROUP_SIZE_M": 8,
                **({"NUM_SMS": 2} if persistent else {}),
            },
            "divisible": ["a_ptr", "b_ptr", "c_ptr", "K", "stride_am", "stride_bn"],
            "options": {"num_warps": 4, "num_stages": 3},
        },
    )


def gluon(v):
    a, b = v.a.reshape(64, 64), v.b.reshape(64, 64)
    return {"d": ((a @ b).ravel(), 2.0**-20 * (np.abs(a) @ np.abs(b)).ravel())}


add(
    "product bf16 by wgmma (Gluon)",
    "triton:gluon_product.py",
    "product",
    (1,),
    (128,),
    {"a": random("bf16", 4096, -1, 1), "b": random("bf16", 4096, -1, 1), "d": out("f32", 4096)},
    ["a", "b", "d"],
    gluon,
    triton={
        "types": {"a_ptr": "*bf16", "b_ptr": "*bf16", "d_ptr": "*fp32"},
        "constants": {"M": 64, "N": 64, "K": 64},
        "divisible": ["a_ptr", "b_ptr", "d_ptr"],
        "options": {"num_warps": 4},
    },
    architectures=("sm_90a",),
)
