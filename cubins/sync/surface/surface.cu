// What is written through a surface is read through one in the next launch: within a launch its cache need not be coherent.
#include "../sync.h"
enum { none, apart };
#define SUST(s, x, v) ASM("sust.b.1d.b32.trap [%0, {%1}], {%2};" ::"l"(s), "r"(x), "r"(v))
#define SULD(to, s, x) asm volatile("suld.b.1d.b32.trap {%0}, [%1, {%2}];" : "=r"(to) : "l"(s), "r"(x) : "memory")
extern "C" __global__ void write(const uint32_t* in, uint64_t data, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    SUST(data, t * 4, in[t] + 1);  // @write
    uint32_t v = 0;
    __syncthreads(); if constexpr (WITHOUT == apart) SULD(v, data, (t ^ 33) * 4);  // @read
    out[t] = v;
}
extern "C" __global__ void read(uint64_t data, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    uint32_t v;
    SULD(v, data, (t ^ 33) * 4);
    out[t] = v;
}
