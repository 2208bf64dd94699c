// tile-ai/tilelang #2567: rows whose size is no multiple of 16 bytes cannot be bulk copies, so threads load them; what waits
// for them still counts on their bytes.
#include "sync.h"
enum { none, bytes };
extern "C" __global__ void unaligned_rows(const uint32_t* in, uint32_t words, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[256], row[64];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    const bool bulk = words % 4 == 0;
    if (t == 0) MBAR_INIT(full, 33);
    ASM("fence.proxy.async.shared::cta;" ::);
    __syncthreads();
    if (t < 32) {
        if (t == 0) {
            MBAR_EXPECT(full, 1024 + (bulk || WITHOUT == bytes ? words * 4 : 0));
            BULK_LOAD(tile, in, 1024, full);
            if (bulk) BULK_LOAD(row, in + 256, words * 4, full);
        }
        __syncwarp();
        if (!bulk)
            for (uint32_t i = t; i < words; i += 32) row[i] = in[256 + i];
        MBAR_ARRIVE("release.cta", full);
    } else {
        MBAR_WAIT("", full, 0);
        for (uint32_t i = t - 32; i < 256; i += 32) out[i] = tile[i] + row[i % words];
    }
}
