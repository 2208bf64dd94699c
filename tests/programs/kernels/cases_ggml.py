# SPDX-License-Identifier: Apache-2.0
"""Launches of ggml's CUDA kernels: as its own functions launch them, with smaller shapes."""

import numpy as np

from case import NULL, Case, data, f32, fast_divisor, fields, i32, i64, out, random, u32

CASES = []
NEAR = 2.0**-20  # of a result: sums of a few thousand products in trees, an approximate function, a few products


def add(name, source, *arguments, **named):
    CASES.append(Case(name, f"ggml:{source}", *arguments, **named))


# --- rows ---------------------------------------------------------------------------------------------------------
ROWS, D = 6, 2048


def rows(v):
    return v.x.reshape(ROWS, D)


def norm(v):
    off = rows(v) - rows(v).mean(axis=1, keepdims=True)
    y = off / np.sqrt((off * off).mean(axis=1, keepdims=True) + 1e-5)
    return {"y": (y.ravel(), NEAR * (np.abs(y) + 4).ravel())}


def rms_norm(v):
    y = rows(v) / np.sqrt((rows(v) ** 2).mean(axis=1, keepdims=True) + 1e-5)
    return {"y": (y.ravel(), NEAR * np.abs(y).ravel())}


def softmax(v):
    x = v.x.reshape(4, 3, 600) * 0.5 + v.mask.reshape(3, 600)
    e = np.exp(x - x.max(axis=2, keepdims=True))
    p = (e / e.sum(axis=2, keepdims=True)).ravel()
    return {"y": (p, 2.0**-17 * p)}  # ex2.approx of numbers down to -30


def cross_entropy(v):
    x, labels = v.x.reshape(ROWS, D), v.labels.reshape(ROWS, D)
    log_p = x - x.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    return {"loss": (-(log_p * labels).sum(axis=1) / ROWS, NEAR * (np.abs(log_p) * labels).sum(axis=1) / ROWS)}


row_buffers = {"x": random("f32", ROWS * D, -2, 2), "y": out("f32", ROWS * D)}
strides = [i64(D), i64(ROWS * D), i64(ROWS * D)]
zeros3 = {"bytes": "00" * 12}
no_operand = [NULL, i64(0), i64(0), i64(0), *[zeros3] * 4]
add("norm f32", "norm.cu", "_Z8norm_f32ILi1024E", (ROWS,), (1024,), row_buffers, ["x", "y", i32(D), *strides, f32(1e-5)], norm, 256)
add(
    "rms_norm f32",
    "norm.cu",
    "_Z12rms_norm_f32ILi1024ELb0ELb0ELb0E",
    (ROWS,),
    (1024,),
    row_buffers,
    ["x", "y", i32(D), *strides, f32(1e-5), *no_operand, *no_operand, f32(1)],
    rms_norm,
    128,
)
add(
    "softmax f32, mask f16",
    "softmax.cu",
    "soft_max_f32ILb1ELi0ELi0E6__half",
    (3, 4),
    (1024,),
    {"x": random("f32", 12 * 600, -8, 8), "mask": random("f16", 3 * 600, -4, 0), "y": out("f32", 12 * 600)},
    [
        "x",
        "mask",
        NULL,
        "y",
        fields(
            i64(4),
            u32(4),
            i64(600),
            i64(12),
            i64(3),
            i64(600),
            i64(3),
            i64(4),
            i64(1),
            i64(1200),
            i64(3600),
            i64(3600),
            i64(1),
            i64(1),
            f32(0.5),
            f32(0),
            f32(1),
            f32(1),
        ),
    ],
    softmax,
    (608 + 32) * 4,
)
add(
    "cross entropy f32",
    "cross-entropy-loss.cu",
    "_Z22cross_entropy_loss_f32ILb1E",
    (ROWS,),
    (32,),
    {"x": random("f32", ROWS * D, -6, 6), "labels": random("f32", ROWS * D, 0, 0.001), "loss": out("f32", ROWS)},
    ["x", "labels", "loss", i32(D), i32(ROWS)],
    cross_entropy,
    4 * D,
)

# --- rotary positions, halves of a head against each other ---------------------------------------------------------
HEAD, HEADS, TOKENS = 128, 4, 5
POSITIONS = np.array([0, 1, 9, 30, 63])


def rope(v):
    angle = v.pos[:, None, None] * 10000.0 ** (-np.arange(64) / 64)
    x = v.x.reshape(TOKENS, HEADS, HEAD)
    a, b = x[..., :64], x[..., 64:]
    y = np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=-1)
    size = np.tile(np.abs(a) + np.abs(b), 2)
    return {"y": (y.ravel(), (size * (v.pos * 2.0**-18 + 2.0**-20)[:, None, None]).ravel())}


numbers = [HEAD, HEADS, TOKENS, HEAD, HEADS * HEAD, TOKENS * HEADS * HEAD] + [HEAD, HEADS * HEAD, TOKENS * HEADS * HEAD] + [HEAD, 0]
add(
    "rope f32 (neox)",
    "rope.cu",
    "_Z9rope_neoxILb1ELb0EffE",
    (TOKENS * HEADS, 1),
    (1, 256),
    {"x": random("f32", TOKENS * HEADS * HEAD, -2, 2), "y": out("f32", TOKENS * HEADS * HEAD), "pos": data("i32", POSITIONS)},
    [
        "x",
        "y",
        *map(i32, numbers),
        "pos",
        f32(1),
        f32(0),
        f32(1),
        fields(f32(0), f32(0)),
        f32(10000.0 ** (-2 / HEAD)),
        NULL,
        NULL,
        i32(0),
        {"bytes": "00"},
    ],
    rope,
)

# --- quantised numbers -----------------------------------------------------------------------------------------------
add(
    "quantize_q8_1",
    "quantize.cu",
    "_Z13quantize_q8_1",
    (D // 256, ROWS, 1),
    (256,),
    {"x": random("f32", ROWS * D, -3, 3), "q": out("u8", ROWS * D // 32 * 36)},
    ["x", "q", i64(D), i64(D), i64(ROWS * D), i64(ROWS * D), i64(D), u32(ROWS), fast_divisor(1)],
)
rng = np.random.default_rng(7)


def q8_1(columns):
    """Blocks of 32 numbers: scale and sum as f16, and bytes. (bytes, the numbers that the products use, and the blocks' sums.)"""
    blocks = np.zeros((columns // 32, 36), np.uint8)
    scale = rng.uniform(0.01, 0.02, columns // 32).astype(np.float16)
    q = rng.integers(-127, 128, (columns // 32, 32)).astype(np.int8)
    numbers = q * scale[:, None].astype(np.float64)
    sums = numbers.sum(axis=1).astype(np.float16)
    blocks[:, 0:4] = np.stack([scale, sums], axis=1).view(np.uint8)
    blocks[:, 4:] = q.view(np.uint8)
    return blocks.ravel(), numbers, sums.astype(np.float64)


def q4_0(rows, columns):
    """Blocks of 32 numbers: a scale as f16, and nibbles less 8; the first half of a block in the low ones."""
    scale = rng.uniform(0.005, 0.01, (rows, columns // 32)).astype(np.float16)
    q = rng.integers(0, 16, (rows, columns // 32, 32)).astype(np.uint8)
    blocks = np.zeros((rows, columns // 32, 18), np.uint8)
    blocks[..., 0:2] = scale[..., None].view(np.uint8)
    blocks[..., 2:] = q[..., :16] | q[..., 16:] << 4
    return blocks.ravel(), scale.astype(np.float64), q.astype(np.float64)


def q8_0(rows, columns):
    scale = rng.uniform(0.005, 0.01, (rows, columns // 32)).astype(np.float16)
    q = rng.integers(-127, 128, (rows, columns // 32, 32)).astype(np.int8)
    blocks = np.zeros((rows, columns // 32, 34), np.uint8)
    blocks[..., 0:2] = scale[..., None].view(np.uint8)
    blocks[..., 2:] = q.view(np.uint8)
    return blocks.ravel(), scale.astype(np.float64), q.astype(np.float64)


ROWS_X, COLUMNS = 24, 4096
Y_BYTES, Y, Y_SUMS = q8_1(COLUMNS)
fusion = {"bytes": "00" * 48}
for name, type_, make, zero in (("q4_0", 2, q4_0, 8), ("q8_0", 8, q8_0, 0)):
    held, scale, q = make(ROWS_X, COLUMNS)

    def product(v, scale=scale, q=q, zero=zero):
        # The zero point counts with the block's sum, which is rounded to f16.
        y = (scale * ((q * Y).sum(axis=2) - zero * Y_SUMS)).sum(axis=1)
        return {"y": (y, 2.0**-19 * (scale * ((q * np.abs(Y)).sum(axis=2) + zero * np.abs(Y_SUMS))).sum(axis=1))}

    add(
        f"mat-vec {name} by q8_1",
        "mmvq.cu",
        rf"_Z13mul_mat_vec_qIL9ggml_type{type_}ELi1ELb0ELb0ELb0E",
        (ROWS_X, 1, 1),
        (32, 4),
        {"x": data("u8", held), "q": data("u8", Y_BYTES), "y": out("f32", ROWS_X)},
        [
            "x",
            "q",
            NULL,
            fusion,
            "y",
            u32(COLUMNS),
            zeros3,
            u32(COLUMNS // 32),
            u32(COLUMNS // 32),
            u32(ROWS_X),
            fast_divisor(1),
            u32(ROWS_X * COLUMNS // 32),
            u32(COLUMNS // 32),
            u32(ROWS_X),
            fast_divisor(1),
            u32(ROWS_X * COLUMNS // 32),
            u32(COLUMNS // 32),
            u32(ROWS_X),
            u32(0),
        ],
        product,
    )

# --- recurrences -----------------------------------------------------------------------------------------------------
STEPS, C, HEAD64 = 5, 128, 64


def recurrence(v, gated):
    """RWKV's (the state before the step, a bonus for the step itself) or gated linear attention's (the state after it), two heads of 64."""
    shape = (STEPS, C // HEAD64, HEAD64)
    k, val, r, decay = (x.reshape(shape) for x in (v.k, v.v, v.r, v.td))
    state = v.s.reshape(C // HEAD64, HEAD64, HEAD64).copy()
    size, ys, sizes = np.abs(state), [], []
    for t in range(STEPS):
        kv = np.einsum("hi,hj->hij", k[t], val[t])
        if gated:
            state, size = state * decay[t][..., None] + kv, size * np.abs(decay[t])[..., None] + np.abs(kv)
            ys.append(np.einsum("hi,hij->hj", r[t], state) * 0.125)
            sizes.append(np.einsum("hi,hij->hj", np.abs(r[t]), size) * 0.125)
        else:
            bonus = v.tf.reshape(C // HEAD64, HEAD64)[..., None] * kv
            ys.append(np.einsum("hi,hij->hj", r[t], bonus + state))
            sizes.append(np.einsum("hi,hij->hj", np.abs(r[t]), np.abs(bonus) + size))
            state, size = state * decay[t][..., None] + kv, size * np.abs(decay[t])[..., None] + np.abs(kv)
    y = np.concatenate([np.ravel(ys), state.ravel()])
    return {"y": (y, 2.0**-18 * np.concatenate([np.ravel(sizes), size.ravel()]))}


steps = {name: random("f32", STEPS * C, -1, 1) for name in ("k", "v", "r")}
state_buffers = {"td": random("f32", STEPS * C, 0.5, 1), "s": random("f32", C * HEAD64, -1, 1), "y": out("f32", STEPS * C + C * HEAD64)}
head = [i32(1), i32(STEPS), i32(C), i32(C // HEAD64)]
add(
    "rwkv_wkv f32",
    "wkv.cu",
    "_Z12rwkv_wkv_f32ILi64E",
    (2,),
    (64,),
    {**steps, "tf": random("f32", C, -1, 1), **state_buffers},
    [*head, "k", "v", "r", "tf", "td", "s", "y"],
    lambda v: recurrence(v, False),
)
add(
    "gated linear attention f32",
    "gla.cu",
    "_Z21gated_linear_attn_f32ILi64E",
    (2,),
    (64,),
    {**steps, **state_buffers},
    [*head, f32(0.125), "k", "v", "r", "td", "s", "y"],
    lambda v: recurrence(v, True),
)

# --- elements --------------------------------------------------------------------------------------------------------
PARS = np.array([1e-3, 0.9, 0.999, 1e-8, 0.01, 1 / (1 - 0.9**3), 1 / (1 - 0.999**3)], np.float32)


def adamw(v):
    alpha, beta1, beta2, eps, decay, beta1h, beta2h = v.pars
    m, s = v.m * beta1 + v.g * (1 - beta1), v.s * beta2 + v.g**2 * (1 - beta2)
    step = alpha * m * beta1h / (np.sqrt(s * beta2h) + eps)
    return {
        "m": (m, 2.0**-22 * (np.abs(v.m) + np.abs(v.g))),
        "s": (s, 2.0**-14 * v.g**2 * (1 - beta2) + 2.0**-22 * s),
        "x": (
            v.x * (1 - alpha * decay) - step,
            2.0**-22 * np.abs(v.x) + 2.0**-12 * np.abs(step) + alpha * beta1h * 2.0**-20 * (np.abs(v.m) + np.abs(v.g)) / np.sqrt(s),
        ),
    }


add(
    "AdamW step f32",
    "opt-step-adamw.cu",
    "_Z18opt_step_adamw_f32",
    (5,),
    (256,),
    {
        "x": random("f32", 1200, -1, 1),
        "g": random("f32", 1200, -1, 1),
        "m": random("f32", 1200, -1, 1),
        "s": random("f32", 1200, 0.01, 1),
        "pars": data("f32", PARS),
    },
    ["x", "g", "m", "s", "pars", i64(1200)],
    adamw,
)


def bicubic(v):
    def weights(x):
        a = -0.75
        near = lambda t: ((a + 2) * t - (a + 3)) * t * t + 1
        far = lambda t: ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return np.stack([far(x + 1), near(x), near(1 - x), far(2 - x)])

    def taps(to, size, factor):
        at = (np.arange(to) + 0.5) / factor - 0.5
        first = np.floor(at).astype(int)
        return weights(at - first), np.clip(first + np.arange(-1, 3)[:, None], 0, size - 1)

    image = v.x.reshape(2, 12, 10)
    (wy, iy), (wx, ix) = taps(30, 12, 2.5), taps(20, 10, 2.0)
    picked = image[:, iy[:, :, None, None], ix[None, None]]
    y = np.einsum("cajbi,aj,bi->cji", picked, wy, wx)
    size = np.einsum("cajbi,aj,bi->cji", np.abs(picked), np.abs(wy), np.abs(wx))
    return {"y": (y.ravel(), 2.0**-17 * size.ravel())}


add(
    "bicubic upscaling f32",
    "upscale.cu",
    "_Z19upscale_f32_bicubic",
    (5,),
    (256,),
    {"x": random("f32", 240, -1, 1), "y": out("f32", 1200)},
    ["x", "y", i32(4), i32(40), i32(480), i32(960), i32(10), i32(12), i32(20), i32(30), i32(2), i32(1), f32(2), f32(2.5), f32(1), f32(1), f32(0.5)],
    bicubic,
)


def convolution(v):
    x, w = v.x.reshape(128, 23), v.w.reshape(128, 4)
    y = np.stack([(x[:, t : t + 4] * w).sum(axis=1) for t in range(20)])
    size = np.stack([np.abs(x[:, t : t + 4] * w).sum(axis=1) for t in range(20)])
    return {"y": (y.ravel(), 2.0**-21 * size.ravel())}


add(
    "convolution of a state space model f32",
    "ssm-conv.cu",
    "_Z12ssm_conv_f32ILb0ELm128ELm4E",
    (1, 1),
    (128,),
    {"x": random("f32", 128 * 23, -1, 1), "w": random("f32", 128 * 4, -1, 1), "y": out("f32", 128 * 20)},
    ["x", "w", NULL, i32(4), i32(92), i32(128 * 92), i32(16), "y", i32(4), i32(512), i32(20 * 512), i64(20)],
    convolution,
)
