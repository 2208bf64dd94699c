// Every word of a table in shared memory is written before it is read.
#include "../sync.h"
enum { none, shared_word };
extern "C" __global__ void uninitialised(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t table[2 * W + 1];
    uint32_t* scratch = out + 2 * W;
    const uint32_t t = threadIdx.x;
    if (WITHOUT != shared_word || t != 5 % (2 * W)) table[t] = in[t];
    if (t == 0) table[2 * W] = 1;
    if (t != 9 % (2 * W)) scratch[t] = in[t] * 2;  // a buffer of a plan holds zeros
    __syncthreads();
    uint32_t v = table[2 * W - 1 - t];  // @shared
    v += scratch[2 * W - 1 - t];
    out[t] = v + table[2 * W];
}
