// archs: sm_90a
// A tensor map that the kernel makes itself.
#include <cstdint>

namespace {

struct alignas(128) TensorMap {
    uint8_t bytes[128];
};

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* bar, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void expect(uint64_t* bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}
__device__ void wait(uint64_t* bar, uint32_t parity) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(address(bar)), "r"(parity)
                 : "memory");
}
__device__ void load(void* to, const void* map, int x, int y, uint64_t* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(address(bar))
                 : "memory");
}

}  // namespace

// Makes a map in global memory from `first`, for the tensor at `in` with rows of `columns` words, and copies a tile of
// it to `out`: the map's fields are replaced in shared memory, then it is published for the tensor unit.
extern "C" __global__ void replaced(const __grid_constant__ TensorMap first, TensorMap* made, const uint32_t* in, uint32_t columns,
                                    uint32_t rows, uint32_t* out) {
    __shared__ TensorMap map;
    __shared__ alignas(1024) uint32_t box[16 * 8];
    __shared__ alignas(8) uint64_t full;
    const uint32_t t = threadIdx.x;
    reinterpret_cast<uint32_t*>(map.bytes)[t] = reinterpret_cast<const uint32_t*>(first.bytes)[t];
    __syncwarp();
    if (t == 0) {
        const uint32_t m = address(&map);
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0],%1;" ::"r"(m), "l"(in) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0],0,%1;" ::"r"(m), "r"(columns) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0],1,%1;" ::"r"(m), "r"(rows) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0],0,%1;" ::"r"(m), "l"(uint64_t{columns} * 4) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0],0,16;" ::"r"(m) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0],1,8;" ::"r"(m) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0],0,1;" ::"r"(m) : "memory");
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0],2;" ::"r"(m) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0],0;" ::"r"(m) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0],[%1],128;" ::"l"(made + blockIdx.x),
                 "r"(address(&map))
                 : "memory");
    if (t == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0],128;" ::"l"(made + blockIdx.x) : "memory");
        init(&full, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect(&full, sizeof box);
        load(box, made + blockIdx.x, blockIdx.x * 16, 3, &full);
    }
    __syncwarp();
    wait(&full, 0);
    for (uint32_t i = t; i < 16 * 8; i += 32) out[blockIdx.x * 128 + i] = box[i];
}
