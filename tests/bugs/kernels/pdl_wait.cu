// NVIDIA/cutlass #2760: a kernel that may begin before the one before it has ended waits for that in some of its warps;
// the one that loads by bulk copies does not.
#include "sync.h"
enum { none, wait };
extern "C" __global__ void produce(const uint32_t* in, uint32_t* data) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.launch_dependents;" ::);
    data[i] = in[i] + 1;
    ASM("fence.proxy.async.global;" ::);
}
extern "C" __global__ void consume(const uint32_t* data, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[64];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) MBAR_INIT(full, 1);
    ASM("fence.proxy.async.shared::cta;" ::);
    __syncthreads();
    if (t == 64) {
        LINK(wait) ASM("griddepcontrol.wait;" ::);
        MBAR_EXPECT(full, 256);
        BULK_LOAD(tile, data + (blockIdx.x ^ 1) * 64, 256, full);
    } else if (t < 64) {
        ASM("griddepcontrol.wait;" ::);  // before it writes what others may still read
        MBAR_WAIT("", full, 0);
        out[blockIdx.x * 64 + t] = tile[63 - t];
    }
}
