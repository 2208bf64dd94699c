// Byte and half-word dot products with accumulation (IDP), signed and unsigned.
extern "C" __global__ void dp4a(const int* a, const int* b, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i], y = b[i];
    const unsigned ux = x, uy = y;
    out[6 * i + 0] = __dp4a(x, y, 17);
    out[6 * i + 1] = static_cast<int>(__dp4a(ux, uy, 0xfffffff0u));
    out[6 * i + 2] = __dp2a_lo(x, y, -5);
    out[6 * i + 3] = static_cast<int>(__dp2a_hi(ux, uy, 1u));
    int mixed;
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(mixed) : "r"(x), "r"(y), "r"(100));
    out[6 * i + 4] = mixed;
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum = __dp4a(a[(i + k) % n], b[(i * 3 + k) % n], sum);
    out[6 * i + 5] = sum;
}
