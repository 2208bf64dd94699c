#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs for trace_fuzz, from traces: their blocks, each behind its length, behind a byte that says how they become a file.

    trace_seeds.py OUT TRACE...
"""
import ctypes
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sassemu import trace


def blocks(path):
    zstd = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_getFrameContentSize", "ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
        getattr(zstd, name).restype = ctypes.c_size_t
    with open(path, "rb") as f:
        whole = f.read()
    at, end = len(trace.FIRST), struct.unpack("<Q", whole[-16:-8])[0]
    while at < end:
        size = zstd.ZSTD_findFrameCompressedSize(whole[at:], ctypes.c_size_t(len(whole) - at))
        room = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(whole[at:at + size], ctypes.c_size_t(size)))
        zstd.ZSTD_decompress(room, ctypes.c_size_t(len(room)), whole[at:at + size], ctypes.c_size_t(size))
        at += size
        text, head = room.raw, 1  # field 1 of Trace: its length, then the block
        while text[head] & 128:
            head += 1
        yield text[head + 1:]


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for path in sys.argv[2:]:
        for how in (1, 2, 4):
            with open(os.path.join(out, "%s-%d" % (os.path.basename(path), how)), "wb") as f:
                f.write(bytes([how]))
                for block in blocks(path):
                    if len(block) < 65536:
                        f.write(struct.pack("<H", len(block)) + block)


if __name__ == "__main__":
    sys.exit(main())
