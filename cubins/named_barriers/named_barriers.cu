// Named barriers: two producer warps and two consumer warps hand over a double buffer with bar.sync and bar.arrive,
// and reductions across barriers of part of the CTA.
__device__ void sync(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ void arrive(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }

// Barriers 1, 2: buffer 0, 1 full. Barriers 3, 4: buffer 0, 1 empty.
extern "C" __global__ void __launch_bounds__(128) named_barriers(const unsigned* in, unsigned* out, int rounds) {
    __shared__ unsigned buffer[2][64];
    const int t = threadIdx.x & 63;
    if (threadIdx.x < 64) {
        for (int r = 0; r < rounds; ++r) {
            if (r >= 2) sync(3 + (r & 1), 128);
            buffer[r & 1][t] = in[(blockIdx.x * rounds + r) * 64 + t] * 3u + 1u;
            asm volatile("membar.cta;" ::: "memory");
            arrive(1 + (r & 1), 128);
        }
    } else {
        unsigned sum = 0;
        for (int r = 0; r < rounds; ++r) {
            sync(1 + (r & 1), 128);
            sum = sum * 31u + buffer[r & 1][63 - t];
            if (r + 2 < rounds) arrive(3 + (r & 1), 128);
        }
        out[blockIdx.x * 64 + t] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128) barrier_reduce(const unsigned* in, unsigned* out) {
    const unsigned t = threadIdx.x, v = in[blockIdx.x * 128 + t], group = t >> 6;
    unsigned count, both, either;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, %2, 64, p; }" : "=r"(count) : "r"(v & 1u), "r"(5 + group) : "memory");
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.and.pred q, %2, 64, p; selp.u32 %0, 1, 0, q; }" : "=r"(both) : "r"(v & 15u), "r"(5 + group) : "memory");
    asm volatile("{ .reg .pred p, q; setp.eq.u32 p, %1, 0; bar.red.or.pred q, 15, p; selp.u32 %0, 1, 0, q; }" : "=r"(either) : "r"(v & 127u) : "memory");
    out[blockIdx.x * 128 + t] = count | both << 8 | either << 9;
}
