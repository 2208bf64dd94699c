// A tensor map that the kernel writes itself: the proxy that reads maps must be shown it.
#include "../sync.h"
enum { none, acquire };
extern "C" __global__ void tensormap(const __grid_constant__ TensorMap map, uint32_t* made, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[8][32];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t < 32) {
        made[t] = reinterpret_cast<const uint32_t*>(&map)[t];  // @write
        ASM("fence.proxy.tensormap::generic.release.gpu;" ::);
    }
    if (t == 0) {
        MBAR_INIT(full, 1);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    __syncthreads();
    if (t == 0) {
        LINK(acquire) ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made));
        MBAR_EXPECT(full, 1024);
        TMA_LOAD(tile, *made, 0, 0, full);  // @copy
    }
    MBAR_WAIT("", full, 0);
    for (uint32_t y = t / 32; y < 8; y += 2) out[y * 32 + t % 32] = tile[7 - y][t % 32];
}
