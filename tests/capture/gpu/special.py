# SPDX-License-Identifier: Apache-2.0
"""Sorting and attention where many inputs are NaNs with payloads, subnormals, zeros of both signs and infinities: programs of programs.py.

Inputs are made on the CPU, so that the launches are those of what is asked for.
"""
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")


def words(count, bits, mantissa, seed):
    """Floats as whole numbers: numbers around 1, and one half NaNs of all payloads, subnormals, zeros and infinities, of both signs."""
    random = np.random.default_rng(seed)
    whole = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    exponent, drawn = whole((1 << (bits - 1)) - (1 << mantissa)), random.integers(0, 1 << 64, count, dtype=np.uint64).astype(whole)
    payload, sign = drawn & whole((1 << mantissa) - 1), drawn & whole(1 << (bits - 1))
    bias = (1 << (bits - 2 - mantissa)) - 1
    number = payload | (random.integers(bias - 3, bias + 2, count).astype(whole) << whole(mantissa))
    kind = random.integers(0, 8, count)
    return sign | np.select([kind == 0, kind == 1, kind == 2, kind == 3], [payload | exponent, payload, payload & whole(0), payload & whole(0) | exponent], number)


def special(torch, count, dtype, seed=0):
    """So many of them on the GPU; integers: of the whole range, a fifth of them 3."""
    if not dtype.is_floating_point:
        info, random = torch.iinfo(dtype), np.random.default_rng(seed)
        values = random.integers(info.min, info.max, count, dtype=np.int64, endpoint=True)
        return torch.from_numpy(np.where(values % 5 == 0, 3, values)).to(dtype).cuda()
    bits, mantissa, whole = {torch.float16: (16, 10, np.int16), torch.bfloat16: (16, 7, np.int16), torch.float32: (32, 23, np.int32), torch.float64: (64, 52, np.int64)}[dtype]
    return torch.from_numpy(words(count, bits, mantissa, seed).view(whole)).view(dtype).cuda()


def tried(what, *calls):
    for call in calls:
        try:
            call()
        except Exception as e:  # not for this type
            print(what, str(e)[:100])


def torch_sort_special():
    import torch

    for d in FLOATS + ("int8", "uint8", "int16", "int32", "int64"):
        for n in (96, 3072):
            x = special(torch, n, getattr(torch, d), n)
            rows = x.view(-1, 48)
            tried(
                d,
                lambda: torch.sort(x),
                lambda: torch.sort(x, descending=True, stable=True),
                lambda: torch.argsort(rows, 1),
                lambda: torch.sort(rows, 0),
                lambda: torch.topk(rows, 5),
                lambda: torch.topk(x, 7, largest=False),
                lambda: torch.kthvalue(rows, 9),
                lambda: torch.median(rows, 1),
                lambda: torch.mode(rows, 1),
                lambda: torch.unique(x),
                lambda: torch.searchsorted(torch.sort(x)[0], x),
                lambda: torch.cummax(rows, 1),
                lambda: torch.amax(rows, 1),
                lambda: torch.argmin(rows, 0),
                lambda: torch.isin(x, x[:9]),
            )
    for t in (torch.float32, torch.float16, torch.float64):
        x = special(torch, 40000, t)
        tried(t, lambda: torch.sort(x), lambda: torch.sort(x.view(20, 2000), 1))
    torch.sort(special(torch, 500, torch.int8) > 0)
    torch.cuda.synchronize()


def cupy_sort_special():
    import cupy as cp

    drawn = np.random.default_rng(1).integers(0, 256, 24000, dtype=np.uint8)
    for d in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split():
        t = np.dtype(d)
        parts = 2 if t.kind == "c" else 1
        if t.kind in "fc":
            bits = 8 * t.itemsize // parts
            host = words(1500 * parts, bits, {16: 10, 32: 23, 64: 52}[bits], 2).view(t)
        else:
            host = drawn[: 1500 * t.itemsize].view(t) if d != "bool" else drawn[:1500] > 99
        x = cp.asarray(host)
        rows = x.reshape(30, 50)
        tried(
            d,
            lambda: cp.sort(x),
            lambda: cp.argsort(x),
            lambda: cp.sort(rows, axis=1),
            lambda: cp.sort(rows, axis=0),
            lambda: cp.partition(x, 9),
            lambda: cp.unique(x),
            lambda: cp.searchsorted(cp.sort(x), x),
            lambda: cp.lexsort(cp.stack([x, x[::-1]])),
            lambda: cp.max(x),
            lambda: cp.nanmax(x),
            lambda: cp.argmin(rows, axis=1),
        )
    cp.cuda.Device().synchronize()


def attention_inputs(torch, dtype, variant):
    """q, k and v: 0: subnormals and zeros among the numbers of each; 1: NaNs in some rows, so that others stay numbers; 2: infinities and the largest number."""
    torch.manual_seed(variant)
    q, k, v = (torch.randn(1, 2, 80, 64).to(dtype) for _ in range(3))
    odd = special(torch, 3 * 2 * 80 * 64, dtype, variant).cpu().view(3, 1, 2, 80, 64)
    if variant == 0:
        q, k, v = (torch.where(o.abs() < torch.finfo(dtype).tiny, o, x) for o, x in zip(odd, (q, k, v)))
    elif variant == 1:
        q[:, :, 5:7], k[:, 0, 70:72], v[:, 1, 33] = odd[0, :, :, 5:7], odd[1, :, 0, 70:72], odd[2, :, 1, 33]
    else:
        q[:, :, 3, :4], k[:, :, 40, 1], v[:, :, 60, 2] = torch.finfo(dtype).max, float("inf"), float("-inf")
    return [x.contiguous().cuda().requires_grad_() for x in (q, k, v)]


def torch_attention_special():
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def one(dtype, backend, causal, variant):
        q, k, v = attention_inputs(torch, dtype, variant)
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):
            for causal in (False, True):
                tried((dtype, backend), *(lambda v=variant: one(dtype, backend, causal, v) for variant in range(3)))
    torch.cuda.synchronize()
