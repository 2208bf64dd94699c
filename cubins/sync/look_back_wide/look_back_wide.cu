// As look_back, with 16 bytes: a chain of CTAs, each waits for the one before it.
#include "../sync.h"
enum { none, apart };
extern "C" __global__ void look_back_wide(const uint32_t* in, ulonglong2* words, uint32_t* out) {
    const uint32_t t = threadIdx.x, cta = blockIdx.x;
    unsigned long long kind = 1, sum = 0;
    if (t) return;
    if (cta) do {
            asm volatile("{.reg .b128 v;\nld.relaxed.gpu.global.b128 v, [%2];\nmov.b128 {%0, %1}, v;}" : "=l"(kind), "=l"(sum) : "l"(words + 2 * (cta - 1)) : "memory");
        } while (!kind);
    if constexpr (WITHOUT == apart)
        if (cta) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(sum) : "l"(words + 2 * (cta - 1) + 1) : "memory");  // @fetch
    sum += in[cta];
    if constexpr (WITHOUT == apart) ASM("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + 2 * cta + 1), "l"(sum));  // @value
    ASM("{.reg .b128 v;\nmov.b128 v, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], v;}" ::"l"(words + 2 * cta), "l"(1ull), "l"(sum));
    out[cta] = static_cast<uint32_t>(sum);
}
