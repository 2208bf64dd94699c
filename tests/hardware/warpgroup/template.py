#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the CUDA source of the kernels whose one wgmma record.cpp exchanges for others: template.py > template.cu.

Four kernels, A from shared memory or registers, dense or sparse, each with the widest wgmma (128 registers of D). A block
is one warpgroup and one case of cases.hpp."""

HEAD = r'''#include <cstdint>
#include "launch.hpp"
using namespace warpgroup;
extern __shared__ __align__(1024) uint32_t shared[];
__device__ uint32_t folded(uint32_t x) { return x * 0x9e3779b1u >> (32 - table_bits); }
'''

KERNEL = r'''
extern "C" __global__ void __launch_bounds__(128) %(name)s(const Launch* cases, const uint32_t* images_a, const uint32_t* images_b,
                                   const uint32_t* tables, const uint32_t* metadata, uint32_t* out) {
    const Launch& l = cases[blockIdx.x];
    const uint32_t tid = threadIdx.x;
    const uint32_t* a = images_a + uint64_t(l.image_a) * (bytes_a / 4);
    const uint32_t* b = images_b + uint64_t(l.image_b) * (bytes_b / 4);
    for (uint32_t i = tid; i < bytes_a / 4; i += 128) shared[i] = a[i];
    for (uint32_t i = tid; i < bytes_b / 4; i += 128) shared[bytes_a / 4 + i] = b[i];
    float d[128];
    for (uint32_t i = 0; i < 128; ++i) d[i] = __uint_as_float(tables[(l.table << table_bits) + folded(l.seed + i * 128 + tid)]);
    uint32_t r[4];
    for (uint32_t i = 0; i < 4; ++i) r[i] = a[l.registers_a + i * 128 + tid];
    const uint32_t e = metadata[l.metadata * 128 + tid];
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %%128, 0; wgmma.fence.sync.aligned;\n"
        "%(ptx)s\n"
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
        : %(outs)s
        : "r"(l.accumulate), "l"(l.a), "l"(l.b), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(e) : "memory");
    if (l.count <= 64) {
        for (uint32_t i = 0; i < 64; ++i) if (i < l.count) out[l.out + i * 128 + tid] = __float_as_uint(d[i]);
    } else {
        for (uint32_t i = 0; i < 128; ++i) if (i < l.count) out[l.out + i * 128 + tid] = __float_as_uint(d[i]);
    }
    if (blockIdx.x == 0 && tid == 0) cases_base = uint32_t(__cvta_generic_to_shared(shared));
}
'''


def main():
    print(HEAD + "__device__ uint32_t cases_base;")
    d = "{" + ", ".join("%%%d" % i for i in range(128)) + "}"
    outs = ", ".join('"+f"(d[%d])' % i for i in range(128))
    for sparse in (0, 1):
        for registers in (0, 1):
            a = "{%131, %132, %133, %134}" if registers else "%129"
            kind = (".sp", 32, ", %135, 0") if sparse else ("", 16, "")
            tail = "1, 1, 0" if registers else "1, 1, 0, 0"
            ptx = "wgmma.mma_async%s.sync.aligned.m64n256k%d.f32.f16.f16 %s, %s, %%130%s, p, %s;" % (kind[0], kind[1], d, a, kind[2], tail)
            print(KERNEL % dict(name=("rs" if registers else "ss") + ("_sparse" if sparse else ""), ptx=ptx, outs=outs))


main()
