// archs: sm_90 sm_100 sm_120
// Rows of stmatrix that go to the same place: which one stays? Rows side by side or far apart, of the same matrix or of several.
#include <cstdint>

#define KERNEL(name, form, registers, ...)                                                                              \
    extern "C" __global__ void name(const uint32_t* x, uint32_t* out) {                                                 \
        __shared__ alignas(128) uint32_t s[512];                                                                        \
        const uint32_t lane = threadIdx.x, *mine = x + blockIdx.x * 64, many = 1u + mine[63] % 16;                      \
        const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(s)) + mine[mine[lane] % many] % 128 * 16;    \
        for (uint32_t i = lane; i < 512; i += 32) s[i] = 0;                                                             \
        __syncthreads();                                                                                                \
        const uint32_t a = lane << 16 | lane + 100, b = a + 0x01000200, c = b + 0x01000200, d = c + 0x01000200;         \
        asm volatile("stmatrix.sync.aligned.m8n8." form ".shared.b16 [%0], " registers ";" ::"r"(at), __VA_ARGS__ : "memory"); \
        __syncthreads();                                                                                                \
        for (uint32_t i = lane; i < 512; i += 32) out[blockIdx.x * 512 + i] = s[i];                                     \
    }
KERNEL(one, "x1", "{%1}", "r"(a))
KERNEL(two, "x2", "{%1, %2}", "r"(a), "r"(b))
KERNEL(four, "x4", "{%1, %2, %3, %4}", "r"(a), "r"(b), "r"(c), "r"(d))
KERNEL(transposed, "x4.trans", "{%1, %2, %3, %4}", "r"(a), "r"(b), "r"(c), "r"(d))
