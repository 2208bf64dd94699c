// SPDX-License-Identifier: Apache-2.0
// Bulk copies of masked bytes: of each 16 bytes the words 1 and 2 are copied, and what another
// thread does to the others meets nothing. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_100a -lineinfo masked.cu -o masked.cubin
#include "../../../cubins/sync/sync.h"

enum { nothing, same };

// The other thread stores word 0, or (`same`) word 1.
template <int without>
__device__ void masked(uint32_t* data) {
    __shared__ alignas(16) uint32_t tile[8];
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < 8; ++i) tile[i] = i + 1;
        ASM("fence.proxy.async.shared::cta;" ::);
        ASM("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0], [%1], 32, %2;" ::"l"(data),
            "r"(address(tile)), "h"(uint16_t{0x0ff0}));
        ASM("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::);
    } else {
        data[without == same ? 1 : 0] = 70;
    }
}
extern "C" __global__ void masked_nothing(uint32_t* data) { masked<nothing>(data); }
extern "C" __global__ void masked_same(uint32_t* data) { masked<same>(data); }
