// SPDX-License-Identifier: Apache-2.0
// One copy per cluster to those of its CTAs that a mask names (cast_cases.hpp), and a hash of what each CTA then has.
#include <cstdint>

#include "cast_cases.hpp"
#include "kernels.hpp"

namespace {

using tensor_cases::Launch;

constexpr uint32_t words = image_cases::most_bytes / 4;

#define CAST(how, rank, coordinates, offsets, ...)                                                                         \
    asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global." how ".mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1," coordinates "],[%2]" offsets ",%3;" ::"r"(to), "l"(c.map), "r"(bar), "h"(mask), __VA_ARGS__ : "memory")
#define C1 "r"(c.at[0])
#define C2 C1, "r"(c.at[1])
#define C3 C2, "r"(c.at[2])
#define C4 C3, "r"(c.at[3])
#define C5 C4, "r"(c.at[4])

__device__ void cast(const Launch& c, const void* from, uint32_t to, uint32_t bar) {
    const auto mask = static_cast<uint16_t>(c.offset[1]);
    const uint16_t none = 0;
    if (c.op == cast_cases::run) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1],%2,[%3],%4;" ::"r"(to), "l"(from), "r"(c.bytes), "r"(bar), "h"(mask) : "memory");
    } else if (c.op == cast_cases::box) {
        switch (c.rank) {
            case 1: CAST("tile", "1d", "{%4}", "", C1); break;
            case 2: CAST("tile", "2d", "{%4,%5}", "", C2); break;
            case 3: CAST("tile", "3d", "{%4,%5,%6}", "", C3); break;
            case 4: CAST("tile", "4d", "{%4,%5,%6,%7}", "", C4); break;
            default: CAST("tile", "5d", "{%4,%5,%6,%7,%8}", "", C5); break;
        }
    } else {
        switch (c.rank) {
            case 3: CAST("im2col", "3d", "{%4,%5,%6}", ",{%7}", C3, "h"(none)); break;
            case 4: CAST("im2col", "4d", "{%4,%5,%6,%7}", ",{%8,%8}", C4, "h"(none)); break;
            default: CAST("im2col", "5d", "{%4,%5,%6,%7,%8}", ",{%9,%9,%9}", C5, "h"(none)); break;
        }
    }
}

}  // namespace

extern "C" __global__ void __cluster_dims__(cast_cases::ctas, 1, 1) cast_to(const Launch* cases, uint32_t* hashes, const void* from) {
    __shared__ alignas(1024) uint32_t box[words];
    __shared__ alignas(8) uint64_t bar;
    __shared__ uint32_t hash, done;
    const uint32_t rank = blockIdx.x % cast_cases::ctas;
    const Launch& c = cases[blockIdx.x / cast_cases::ctas];
    const uint32_t b = shared_address(&bar);
    const bool receives = c.offset[1] >> rank & 1;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) box[i] = 0xa5000000u + i;
    if (threadIdx.x == 0) {
        hash = 0;
        done = !receives;
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        if (receives) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(b), "r"(c.bytes) : "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        if (rank == c.offset[0]) cast(c, from, shared_address(box) + c.flavour * 128, b);
        for (uint32_t tries = 0; tries < 100000 && !done; ++tries)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    hash_region(box, words, &hash);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = done ? hash : 0xdead0000u;
}
