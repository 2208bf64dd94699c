// What a warpgroup's tensor core makes of 32 e4m3 products and an accumulator (QGMMA.64x8x32, f32 and f16 results), for
// fp8_sum.py: nvcc -gencode arch=compute_90a,code=sm_90a fp8_sum.cu -o fp8_sum; fp8_sum FILE writes the trials as they lie in memory.
// Here: operands and results. Not here: what they should be.
#include <cstdint>
#include <cstdio>
#include <vector>

struct Trial {
    uint8_t a[64][32], b[8][32];
    uint32_t c[64][8], d[64][8];    // f32 bits
    uint16_t ch[64][8], dh[64][8];  // f16 bits
};
constexpr int trials = 256;

__device__ uint64_t mix(uint64_t x) {  // the finaliser of splitmix64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
// 0: near 1, 1: any bits, 2: many zeros, 3: any exponent. No NaN.
__device__ uint8_t e4m3(uint64_t h, int kind) {
    uint8_t v = h & 0xff;
    if (kind == 0) v = (v & 0x87) | (6 + (h >> 8 & 3)) << 3;
    if (kind == 2 && !(h >> 8 & 1)) v &= 0x80;
    if (kind == 3) v = (v & 0x87) | ((h >> 8) % 15) << 3;
    return (v & 0x7f) == 0x7f ? v ^ 1 : v;
}

__global__ void run(Trial* all) {
    Trial& x = all[blockIdx.x];
    __shared__ alignas(128) uint8_t shared[256];  // b: two core matrices of 8 columns times 16 bytes
    const int kind = blockIdx.x & 3;
    const uint64_t seed = mix(blockIdx.x + 1);
    for (int i = threadIdx.x; i < 64 * 32; i += 128) x.a[i / 32][i % 32] = e4m3(mix(seed + i), kind);
    for (int i = threadIdx.x; i < 8 * 32; i += 128) {
        const int n = i / 32, k = i % 32;
        shared[k / 16 * 128 + n * 16 + k % 16] = x.b[n][k] = e4m3(mix(seed + 10000 + i), kind);
    }
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
        const uint64_t h = mix(seed + 20000 + i);
        const uint32_t e = 111 + (h >> 40 & 31) + (kind == 1 ? 6 : 0);
        x.c[i / 8][i % 8] = h >> 50 & 7 ? (uint32_t(h) & 0x807fffff) | e << 23 : 0;
        x.ch[i / 8][i % 8] = (h >> 8 & 0x83ff) | (10 + (h >> 32 & 7)) << 10;
    }
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, k = lane % 4 * 4, n = lane % 4 * 2;
    const auto word = [&](int r, int at) { return *reinterpret_cast<uint32_t*>(&x.a[r][at]); };
    const uint32_t a[4] = {word(row, k), word(row + 8, k), word(row, k + 16), word(row + 8, k + 16)};
    uint32_t d[4] = {x.c[row][n], x.c[row][n + 1], x.c[row + 8][n], x.c[row + 8][n + 1]};
    uint32_t h[2] = {x.ch[row][n] | uint32_t(x.ch[row][n + 1]) << 16, x.ch[row + 8][n] | uint32_t(x.ch[row + 8][n + 1]) << 16};
    const uint64_t at = __cvta_generic_to_shared(shared);
    const uint64_t b = (at & 0x3ffff) >> 4 | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, {%6, %7, %8, %9}, %10, p, 1, 1;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3 {%4, %5}, {%6, %7, %8, %9}, %10, p, 1, 1;\n"
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(h[0]), "+r"(h[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
        : "memory");
    for (int i = 0; i < 4; ++i) {
        x.d[row + i / 2 * 8][n + i % 2] = d[i];
        x.dh[row + i / 2 * 8][n + i % 2] = h[i / 2] >> (16 * (i % 2));
    }
}

int main(int, char** argv) {
    Trial* all;
    cudaMalloc(&all, trials * sizeof(Trial));
    run<<<trials, 128>>>(all);
    std::vector<Trial> out(trials);
    const cudaError_t error = cudaMemcpy(out.data(), all, trials * sizeof(Trial), cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        std::fprintf(stderr, "fp8_sum: %s\n", cudaGetErrorString(error));
        return 1;
    }
    std::FILE* f = argv[1] ? std::fopen(argv[1], "wb") : nullptr;
    return !f || std::fwrite(out.data(), sizeof(Trial), trials, f) != trials || std::fclose(f);
}
