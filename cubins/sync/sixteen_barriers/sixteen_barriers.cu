// All sixteen barriers of a CTA at once: warp 0 hands over sixteen rows, each by a barrier of its own, and never waits.
#include "../sync.h"
enum { none, last };
#define GIVE(n) tile[n][t] = in[n * W + t]; ASM("bar.arrive " #n ", 64;" ::)
#define TAKE(n) ASM("bar.sync " #n ", 64;" ::); out[n * W + t] = tile[n][W - 1 - t]
extern "C" __global__ void sixteen_barriers(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[16][W];
    const uint32_t t = threadIdx.x % 32; if (t >= W) return;
    if (threadIdx.x < 32) {
        GIVE(0); GIVE(1); GIVE(2); GIVE(3); GIVE(4); GIVE(5); GIVE(6); GIVE(7);
        GIVE(8); GIVE(9); GIVE(10); GIVE(11); GIVE(12); GIVE(13); GIVE(14);
        tile[15][t] = in[15 * W + t];  // @write
        LINK(last) ASM("bar.arrive 15, 64;" ::);
    } else {
        TAKE(14); TAKE(13); TAKE(12); TAKE(11); TAKE(10); TAKE(9); TAKE(8); TAKE(7);
        TAKE(6); TAKE(5); TAKE(4); TAKE(3); TAKE(2); TAKE(1); TAKE(0);
        LINK(last) ASM("bar.sync 15, 64;" ::);
        out[15 * W + t] = tile[15][W - 1 - t];  // @read
    }
}
