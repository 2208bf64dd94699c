// Compare-and-swap and exchange of 16 bytes where the architecture has them (sm_90 on), a lock elsewhere: the same sums.
__device__ int lock;

extern "C" __global__ void atomics128(ulonglong2* cell, const unsigned* x) {
    const unsigned long long v = x[blockIdx.x * blockDim.x + threadIdx.x];
#if __CUDA_ARCH__ >= 900
    unsigned long long lo = 0, hi = 0;
    for (;;) {
        unsigned long long slo, shi;
        asm volatile(
            "{ .reg .b128 c, n, d; mov.b128 c, {%2, %3}; mov.b128 n, {%4, %5}; atom.global.relaxed.gpu.cas.b128 d, [%6], c, n; mov.b128 {%0, %1}, d; }"
            : "=l"(slo), "=l"(shi)
            : "l"(lo), "l"(hi), "l"(lo + v), "l"(hi + 3 * v + 1), "l"(cell)
            : "memory");
        if (slo == lo && shi == hi) break;
        lo = slo;
        hi = shi;
    }
#else
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            volatile unsigned long long* c = reinterpret_cast<volatile unsigned long long*>(cell);
            const unsigned long long lo = c[0], hi = c[1];
            c[0] = lo + v;
            c[1] = hi + 3 * v + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
#endif
}
