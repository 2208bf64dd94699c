// Device printf: every conversion, strings, doubles, 64-bit values, and an order that the kernel itself fixes.
#include <cstdio>

extern "C" __global__ void hello(int value, double real) {
    const int t = threadIdx.x;
    if (t == 0) printf("hello from a kernel: %d %u 0x%x %o\n", value, 4000000000u, 0xbeefu, 8);
    __syncwarp();
    for (int i = 0; i < 4; ++i) {
        if (t == i) printf("thread %d of %d, char %c, string '%s'\n", t, blockDim.x, 'a' + i, i & 1 ? "odd" : "even");
        __syncwarp();
    }
    if (t == 31) {
        printf("%f %10.3e %g %+.2f\n", real, real * 1e10, real / 3.0, -real);
        printf("%lld %llu %llx %5d|%-5d|%05d %%\n", -1234567890123ll, 18446744073709551615ull, 0x123456789abcdefull, 42, 42, 42);
        printf("no arguments\n");
        const int count = printf("%d %d\n", 1, 2);
        printf("returned %d\n", count);
    }
}
