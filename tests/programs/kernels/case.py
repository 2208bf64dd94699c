# SPDX-License-Identifier: Apache-2.0
"""What a launch of a package's kernel with real inputs is: its source, buffers, arguments, and a reference for what it writes.

A reference is computed in float64 from the inputs. It gives, for each buffer that it knows, the value and how far a computation in the kernel's
own precision may be from it; rounding to the buffer's format comes on top (`FORMATS`).
"""

import dataclasses
import struct
import typing

import numpy as np

# Of each format: bits of its significand, its smallest normal number, the largest number, and how its bytes become float64.
FORMATS = {
    "f32": (24, 2.0**-126, np.inf, lambda b: np.frombuffer(b, np.float32).astype(np.float64)),
    "f16": (11, 2.0**-14, 65504, lambda b: np.frombuffer(b, np.float16).astype(np.float64)),
    "bf16": (8, 2.0**-126, np.inf, lambda b: (np.frombuffer(b, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)),
    "e4m3": (4, 2.0**-6, 448, lambda b: E4M3[np.frombuffer(b, np.uint8)]),
}
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "i8": 1, "u8": 1, "i32": 4, "u32": 4, "i64": 8}
INTEGERS = {"i8": np.int8, "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64}


def e4m3(byte):
    sign, exponent, fraction = -1.0 if byte >> 7 else 1.0, byte >> 3 & 15, byte & 7
    if exponent == 15 and fraction == 7:
        return np.nan
    return sign * (fraction * 2.0**-9 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 7))


E4M3 = np.array([e4m3(byte) for byte in range(256)])


@dataclasses.dataclass
class Buffer:
    """So many elements of a type: random from `low` to `high`, `data` as they are, or zeros for the kernel to write."""

    type: str
    count: int
    low: float | None = None
    high: float | None = None
    data: np.ndarray | None = None

    def bytes(self):
        return self.count * SIZES[self.type]

    def values(self, held):
        return FORMATS[self.type][3](held) if self.type in FORMATS else np.frombuffer(held, INTEGERS[self.type]).astype(np.int64)

    def distance(self, held, value, error):
        """The largest distance of what a buffer holds from a reference, as a part of what is allowed; of integers, 0 or infinity."""
        got = self.values(held)
        value = np.broadcast_to(np.asarray(value), got.shape)
        if self.type not in FORMATS:
            return 0.0 if np.array_equal(got, value) else np.inf
        precision, normal, largest, _ = FORMATS[self.type]
        allowed = error + 2.0**-precision * np.maximum(np.abs(value) + error, normal)
        with np.errstate(invalid="ignore"):
            off = np.abs(got - np.clip(value, -largest, largest)) / allowed
        same = (got == value) | (np.isnan(got) & np.isnan(value))
        return float(np.max(np.where(same, 0, np.where(np.isnan(off), np.inf, off))))


def random(type_, count, low, high):
    return Buffer(type_, count, low, high)


def data(type_, array):
    array = np.ascontiguousarray(array, INTEGERS.get(type_, {"f32": np.float32, "f16": np.float16}.get(type_)))
    return Buffer(type_, array.size, data=array)


def out(type_, count):
    return Buffer(type_, count)


NULL = {"u64": 0}


def i32(v):
    return {"i32": int(v)}


def u32(v):
    return {"u32": int(v)}


def u64(v):
    return {"u64": int(v)}


def u8(v):
    return {"u8": int(v)}


def i64(v):
    return {"i64": int(v)}


def f32(v):
    return {"f32": float(v)}


def fields(*members):
    """A structure by value: names of buffers are addresses, the others {type: value}; each is aligned to its size."""
    held, pointers, widest = bytearray(), [], 4
    for member in members:
        form, value = ("u64", 0) if isinstance(member, str) else next(iter(member.items()))
        code = {"u8": "<B", "i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f32": "<f"}[form]
        size = struct.calcsize(code)
        widest = max(widest, size)
        held += bytes(-len(held) % size)
        if isinstance(member, str):
            pointers.append({"offset": len(held), "buffer": member})
        held += struct.pack(code, value)
    held += bytes(-len(held) % widest)
    return {"bytes": held.hex(), "pointers": pointers} if pointers else {"bytes": held.hex()}


def map_of(buffer, type_, dims, stride, box, swizzle):
    """A tensor map of two dimensions."""
    return {"tensorMap": {"buffer": buffer, "type": type_, "dims": dims, "strides": [stride], "box": box, "swizzle": swizzle}}


def fast_divisor(d):
    """ggml's uint3 for division by d: multiplier, shift, divisor."""
    shift = max(d - 1, 0).bit_length()
    return fields({"u32": ((1 << 32) * ((1 << shift) - d) // d + 1) & 0xFFFFFFFF}, {"u32": shift}, {"u32": d})


@dataclasses.dataclass
class Case:
    name: str
    source: str  # a file of instances/, or PACKAGE:FILE; of a package that has headers only, a file of instances/
    kernel: str  # a pattern for the mangled name; the first that matches. A function of Triton
    grid: tuple
    block: tuple
    buffers: dict
    args: list
    reference: typing.Callable | None = None  # of an object with the inputs' values by name, to {buffer: (value, error)}
    shared: int = 0
    architectures: tuple = ("sm_90a", "sm_100a", "sm_120a")
    cluster: tuple | None = None
    triton: dict | None = None  # how Triton compiles it (triton_module.py, SPEC)
