// A tensor map that the kernel writes itself: the proxy that reads maps must be shown it.
#include "../sync.h"
enum { none, acquire, release };
extern "C" __global__ void tensormap(const __grid_constant__ TensorMap map, uint32_t* made, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[R][W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t < 128 / sizeof(PART)) {
        reinterpret_cast<PART*>(made)[t] = reinterpret_cast<const PART*>(&map)[t];  // @write
        LINK(release) ASM("fence.proxy.tensormap::generic.release.gpu;" ::);
    }
    if (t == 0) {
        MBAR_INIT(full, 1);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    __syncthreads();
    if (t == 0) {
        LINK(acquire) ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made));
        MBAR_EXPECT(full, 4 * W * R);
        TMA_LOAD(tile, *made, 0, 0, full);  // @copy
    }
    MBAR_WAIT("", full, 0);
    for (uint32_t y = t / W; y < R; y += 2) out[y * W + t % W] = tile[R - 1 - y][t % W];
}
