// NVIDIA/cutlass #2162: the warp that stores tiles by tensor copies makes the tensor map anew for the next group without
// waiting for the stores that use it.
#include "sync.h"
enum { none, done };
extern "C" __global__ void map_of_stores(const __grid_constant__ TensorMap given, TensorMap* made, const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) TensorMap map;
    __shared__ alignas(128) uint32_t tile[2][16 * 8];
    const uint32_t t = threadIdx.x;
    reinterpret_cast<uint32_t*>(map.bytes)[t] = reinterpret_cast<const uint32_t*>(given.bytes)[t];
    __syncwarp();
    for (uint32_t group = 0; group < 2; ++group) {
        if (group) {
            LINK(done) if (t == 0) ASM("cp.async.bulk.wait_group.read 0;" ::);
            __syncwarp();
        }
        if (t == 0)
            ASM("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(address(&map)), "l"(out + group * 128));
        __syncwarp();
        ASM("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(made),
            "r"(address(&map)));
        ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made));
        for (uint32_t i = t; i < 128; i += 32) tile[group][127 - i] = in[group * 128 + i];
        ASM("fence.proxy.async.shared::cta;" ::);
        __syncwarp();
        if (t == 0) {
            TMA_STORE(*made, 0, 0, tile[group]);
            BULK_COMMIT;
        }
        __syncwarp();
    }
    if (t == 0) ASM("cp.async.bulk.wait_group 0;" ::);
}
