#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""special.py OUT: MUFU over all operands on a GPU of compute capability 9.0; writes OUT, to be kept as special.bin.

Needs nvcc and libcuda.so.1. Here: the kernel of special.cu with every function put into the place of MUFU.RCP. Not here: the format (README.md).
"""
import ctypes
import os
import struct
import subprocess
import sys
import tempfile

import record
import slots

FUNCTIONS = 10                 # COS SIN EX2 LG2 RCP RSQ RCP64H RSQ64H SQRT TANH, as encoded in bits 77..74
RCP, WIDE = 4, (6, 7)          # RCP64H and RSQ64H have no half-precision forms
F32, F16, BF16 = range(3)      # bits 73..72


def compiled():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "special.cu")
    with tempfile.TemporaryDirectory() as work:
        target = os.path.join(work, "special.cubin")
        subprocess.run(["nvcc", "-cubin", "-arch=sm_90", "-o", target, source], check=True)
        with open(target, "rb") as f:
            return f.read()


def patched(image, function, kind):
    image, found = bytearray(image), 0
    _, at, size = slots.sections(image)[".text.hashes"]
    for i in range(at, at + size, 16):
        low, high = struct.unpack_from("<QQ", image, i)
        if low & 0xfff != 0x308:
            continue
        if high >> 8 & 0x3f != RCP << 2:
            raise SystemExit("a MUFU that is no RCP: %016x%016x" % (high, low))
        struct.pack_into("<Q", image, i + 8, high & ~0x3f00 | function << 10 | kind << 8)
        found += 1
    if not found:
        raise SystemExit("the kernel has no MUFU")
    return bytes(image)


def main(target):
    cu, check = record.driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cu.cuInit(0), "cuInit")
    check(cu.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    memory, image, out = ctypes.c_uint64(), compiled(), b""
    check(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(8 * 4096)), "cuMemAlloc")
    for kind, blocks, size in ((F32, 4096, 1 << 20), (F16, 16, 1 << 12), (BF16, 16, 1 << 12)):
        for function in range(FUNCTIONS):
            if kind != F32 and function in WIDE:
                continue
            module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
            check(cu.cuModuleLoadData(ctypes.byref(module), patched(image, function, kind)), "cuModuleLoadData")
            check(cu.cuModuleGetFunction(ctypes.byref(kernel), module, b"hashes"), "cuModuleGetFunction")
            arguments = [memory, ctypes.c_uint32(size)]
            pointers = (ctypes.c_void_p * 2)(*[ctypes.addressof(a) for a in arguments])
            check(cu.cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, None, pointers, None), "cuLaunchKernel")
            check(cu.cuCtxSynchronize(), "the kernel")
            got = ctypes.create_string_buffer(8 * blocks)
            check(cu.cuMemcpyDtoH_v2(got, memory, ctypes.c_size_t(8 * blocks)), "cuMemcpyDtoH")
            out += got.raw
    with open(target, "wb") as f:
        f.write(out)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1])
