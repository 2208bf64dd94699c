// One tensor copy per CTA (tensor_cases.hpp), and a hash of what it left.
#include <cstdint>

#include "tensor_cases.hpp"

namespace {

using tensor_cases::Launch;

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ uint32_t mix(uint32_t at, uint32_t v) {
    uint32_t h = (at * 0x9E3779B1u) ^ v;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}
__device__ void load_box(const Launch& c, uint32_t to, uint32_t bar) {
    switch (c.rank) {
        case 1:
            asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2}],[%3];" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(bar) : "memory");
            break;
        case 2:
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(bar) : "memory");
            break;
        case 3:
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4}],[%5];" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(bar) : "memory");
            break;
        case 4:
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5}],[%6];" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(bar) : "memory");
            break;
        default:
            asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5,%6}],[%7];" ::"r"(to), "l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]), "r"(bar) : "memory");
    }
}
__device__ void store_box(const Launch& c, uint32_t from) {
    switch (c.rank) {
        case 1:
            asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0,{%1}],[%2];" ::"l"(c.map), "r"(c.at[0]), "r"(from) : "memory");
            break;
        case 2:
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0,{%1,%2}],[%3];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(from) : "memory");
            break;
        case 3:
            asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0,{%1,%2,%3}],[%4];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(from) : "memory");
            break;
        case 4:
            asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0,{%1,%2,%3,%4}],[%5];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(from) : "memory");
            break;
        default:
            asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0,{%1,%2,%3,%4,%5}],[%6];" ::"l"(c.map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]), "r"(from) : "memory");
    }
}

constexpr uint32_t words = tensor_cases::most_bytes / 4;

}  // namespace

// hashes[blockIdx.x]: of the box in shared memory; 0xdead0000 | bits of the object when it never completed.
// `dump`, if not null, gets the boxes.
extern "C" __global__ void load(const Launch* cases, uint32_t* hashes, uint32_t* dump) {
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
        load_box(c, shared_address(box), b);
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

// The box is numbered words; the tensor of CTA i lies in regions[i], filled before.
extern "C" __global__ void store(const Launch* cases, uint32_t* hashes, uint32_t* regions) {
    __shared__ alignas(1024) uint32_t box[words];
    __shared__ uint32_t hash;
    const Launch& c = cases[blockIdx.x];
    uint32_t* region = regions + uint64_t{blockIdx.x} * (tensor_cases::region / 4);
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) box[i] = mix(i, 1);
    for (uint32_t i = threadIdx.x; i < tensor_cases::region / 4; i += blockDim.x) region[i] = 0x5a000000u + i;
    if (threadIdx.x == 0) hash = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        store_box(c, shared_address(box));
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    uint32_t h = 0;
    for (uint32_t i = threadIdx.x; i < tensor_cases::region / 4; i += blockDim.x) h ^= mix(i, region[i]);
    atomicXor(&hash, h);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = hash;
}
