// Warp-wide integer reductions: REDUX where the architecture has it (sm_80 on), shuffles elsewhere.
// Full warps, partial warps and a divergent caller.
#if __CUDA_ARCH__ >= 800
#define WARP_REDUCE(name, type, builtin, expr)                                                              \
    __device__ type name(unsigned mask, type v) { return builtin(mask, v); }
#else
#define WARP_REDUCE(name, type, builtin, expr)                                                              \
    __device__ type name(unsigned mask, type v) {                                                           \
        type all = v;                                                                                       \
        bool first = true;                                                                                  \
        for (unsigned rest = mask; rest; rest &= rest - 1) {                                                \
            const type b = __shfl_sync(mask, v, __ffs(rest) - 1);                                           \
            const type a = all;                                                                             \
            all = first ? b : (expr);                                                                       \
            first = false;                                                                                  \
        }                                                                                                   \
        return all;                                                                                         \
    }
#endif
WARP_REDUCE(warp_add, unsigned, __reduce_add_sync, a + b)
WARP_REDUCE(warp_umin, unsigned, __reduce_min_sync, min(a, b))
WARP_REDUCE(warp_umax, unsigned, __reduce_max_sync, max(a, b))
WARP_REDUCE(warp_imin, int, __reduce_min_sync, min(a, b))
WARP_REDUCE(warp_imax, int, __reduce_max_sync, max(a, b))
WARP_REDUCE(warp_and, unsigned, __reduce_and_sync, a& b)
WARP_REDUCE(warp_or, unsigned, __reduce_or_sync, a | b)
WARP_REDUCE(warp_xor, unsigned, __reduce_xor_sync, a ^ b)

extern "C" __global__ void reduce_redux(const unsigned* x, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned all = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    const unsigned v = x[i];
    unsigned* o = out + i * 10;
    o[0] = warp_add(all, v);
    o[1] = warp_umin(all, v);
    o[2] = warp_umax(all, v);
    o[3] = static_cast<unsigned>(warp_imin(all, static_cast<int>(v)));
    o[4] = static_cast<unsigned>(warp_imax(all, static_cast<int>(v)));
    o[5] = warp_and(all, v | 0x00ff0000u);
    o[6] = warp_or(all, v & 0x0f0f00ffu);
    o[7] = warp_xor(all, v);
    const unsigned odd = __ballot_sync(all, v & 1u);
    if (v & 1u) {
        o[8] = warp_add(odd, v >> 3);
        o[9] = warp_umax(odd, v);
    } else {
        o[8] = warp_xor(all & ~odd, v);
        o[9] = warp_umin(all & ~odd, v);
    }
}
