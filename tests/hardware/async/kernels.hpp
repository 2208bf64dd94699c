// SPDX-License-Identifier: Apache-2.0
// What the kernels of image.cu and reduce.cu share.
#pragma once

#include <cstdint>

namespace {

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ uint32_t mix(uint32_t at, uint32_t v) {
    uint32_t h = (at * 0x9E3779B1u) ^ v;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}
// Waits until what the thread has given to the async proxy has happened.
__device__ void finish_group() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ void hash_region(const uint32_t* region, uint32_t words, uint32_t* hash) {
    uint32_t h = 0;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) h ^= mix(i, region[i]);
    atomicXor(hash, h);
}

}  // namespace
