// deepseek-ai/DeepGEMM #343: a tensor map in global memory is made anew for the next group while tensor copies that were
// told to use it may still read it.
#include "sync.h"
enum { none, done };
extern "C" __global__ void map_of_loads(const __grid_constant__ TensorMap given, TensorMap* made, const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) TensorMap map;
    __shared__ alignas(128) uint32_t tile[2][16 * 8];
    __shared__ alignas(8) uint64_t full[2];
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(full[0], 1);
        MBAR_INIT(full[1], 1);
    }
    ASM("fence.proxy.async.shared::cta;" ::);
    reinterpret_cast<uint32_t*>(map.bytes)[t] = reinterpret_cast<const uint32_t*>(given.bytes)[t];
    __syncwarp();
    for (uint32_t group = 0; group < 2; ++group) {
        if (group) {
            LINK(done) MBAR_WAIT("", full[group - 1], 0);
        }
        if (t == 0)
            ASM("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(address(&map)), "l"(in + group * 128));
        __syncwarp();
        ASM("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(made),
            "r"(address(&map)));
        ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made));
        if (t == 0) {
            MBAR_EXPECT(full[group], 512);
            TMA_LOAD(tile[group], *made, 0, 0, full[group]);
        }
        __syncwarp();
    }
    for (uint32_t group = 0; group < 2; ++group) {
        MBAR_WAIT("", full[group], 0);
        for (uint32_t i = t; i < 128; i += 32) out[group * 128 + i] = tile[group][127 - i];
    }
}
