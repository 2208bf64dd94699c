// SPDX-License-Identifier: Apache-2.0
// One copy of a column of pixels per CTA (image_cases.hpp), and a hash of what it left.
#include <cstdint>

#include "image_cases.hpp"
#include "kernels.hpp"

namespace {

using tensor_cases::Launch;

constexpr uint32_t words = image_cases::most_bytes / 4, region_words = image_cases::region / 4;

__device__ void load_column(const Launch& c, uint32_t to, uint32_t bar) {
    const auto x = static_cast<uint16_t>(c.offset[0]), y = static_cast<uint16_t>(c.offset[1]),
               z = static_cast<uint16_t>(c.offset[2]);
    switch (c.rank) {
        case 3:
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4}],[%5],{%6};" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(bar), "h"(x) : "memory");
            break;
        case 4:
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5}],[%6],{%7,%8};" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(bar), "h"(x), "h"(y) : "memory");
            break;
        default:
            asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5,%6}],[%7],{%8,%9,%10};" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]), "r"(bar), "h"(x), "h"(y), "h"(z) : "memory");
    }
}
__device__ void store_column(const Launch& c, uint32_t from) {
    switch (c.rank) {
        case 3:
            asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%0,{%1,%2,%3}],[%4];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(from) : "memory");
            break;
        case 4:
            asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0,{%1,%2,%3,%4}],[%5];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(from) : "memory");
            break;
        default:
            asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs.bulk_group [%0,{%1,%2,%3,%4,%5}],[%6];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]), "r"(from) : "memory");
    }
}

}  // namespace

// As load() of tensor.cu.
extern "C" __global__ void image_load(const Launch* cases, uint32_t* hashes, uint32_t* dump) {
    __shared__ alignas(1024) uint32_t box[words];
    __shared__ alignas(8) uint64_t bar;
    __shared__ uint32_t hash, done;
    const Launch& c = cases[blockIdx.x];
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) box[i] = 0xa5000000u + i;
    if (threadIdx.x == 0) {
        hash = done = 0;
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(shared_address(&bar)) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t b = shared_address(&bar);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(b), "r"(c.bytes) : "memory");
        load_column(c, shared_address(box), b);
        for (uint32_t tries = 0; tries < 100000 && !done; ++tries)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b) : "memory");
    }
    __syncthreads();
    uint32_t h = 0;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
        h ^= mix(i, box[i]);
        if (dump) dump[uint64_t{blockIdx.x} * words + i] = box[i];
    }
    atomicXor(&hash, h);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = done ? hash : 0xdead0000u;
}

// As store() of tensor.cu.
extern "C" __global__ void image_store(const Launch* cases, uint32_t* hashes, uint32_t* regions) {
    __shared__ alignas(1024) uint32_t box[words];
    __shared__ uint32_t hash;
    const Launch& c = cases[blockIdx.x];
    uint32_t* region = regions + uint64_t{blockIdx.x} * region_words;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) box[i] = mix(i, 1);
    for (uint32_t i = threadIdx.x; i < region_words; i += blockDim.x) region[i] = 0x5a000000u + i;
    if (threadIdx.x == 0) hash = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        store_column(c, shared_address(box));
        finish_group();
    }
    __syncthreads();
    hash_region(region, region_words, &hash);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = hash;
}
