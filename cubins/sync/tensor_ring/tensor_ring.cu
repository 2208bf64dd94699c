// A bulk copy fills the operands, the tensor core uses them, the next copy fills them again (WAR through tcgen05.commit).
#include "../tensor.h"
enum { none, full, empty };
extern "C" __global__ void tensor_ring(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[256], b[32];
    __shared__ uint64_t filled, used, done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) {
        MBAR_INIT(filled, 1);
        MBAR_INIT(used, 1);
        MBAR_INIT(done, 1);
    }
    ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    if (t == 0)
        for (uint32_t i = 0; i < 2; ++i) {
            LINK(empty) if (i) MBAR_WAIT("", used, 0);
            MBAR_EXPECT(filled, 4096 + 512);
            BULK_LOAD(a, in + 256 * i, 4096, filled); BULK_LOAD(b, in, 512, filled);  // @copy
            LINK(full) MBAR_WAIT("", filled, i);
            TENSOR_MMA(d, descriptor(a), descriptor(b));  // @mma
            if (i == 0) TENSOR_COMMIT(used);
            else TENSOR_COMMIT(done);
            if constexpr (WITHOUT == full) MBAR_WAIT("", filled, i);
        }
    __syncwarp();
    MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, d + lanes_of_warp());
    TENSOR_WAIT_LOAD;
    out[t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (t < 32) TENSOR_FREE(d);
}
