// A prefix sum over CTAs that look back: what a CTA has found and what that is worth are one word,
// written and read whole, strongly; nothing else needs order. A warp reads the words of 32 CTAs.
#include "../sync.h"
enum { none, scope, apart };
extern "C" __global__ void look_back(const uint32_t* in, unsigned long long* words, uint32_t* values, uint32_t* out) {
    const uint32_t t = threadIdx.x, cta = blockIdx.x;
    uint32_t sum = 0, before = 0;
    for (uint32_t i = 0; i < W; ++i) sum += in[cta * W + i];
    const auto publish = [&](uint32_t value, uint32_t kind) {
        const unsigned long long word = static_cast<unsigned long long>(kind) << 32;
        if constexpr (WITHOUT == apart) {
            ST("relaxed.gpu.global.u32", values + 2 * cta + kind - 1, value);
            ASM("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + cta), "l"(word));
        } else {
            ASM("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + cta), "l"(word | value));
        }
    };
    if (t == 0) publish(sum, cta ? 1 : 2);  // @publish
    for (int at = static_cast<int>(cta) - 1 - static_cast<int>(t);; at -= W) {
        if (!cta) break;
        unsigned long long seen = 2ull << 32;
        if (at >= 0) do {
                if constexpr (WITHOUT == scope) asm volatile("ld.relaxed.cta.global.u64 %0, [%1];" : "=l"(seen) : "l"(words + at) : "memory");  // @look
                else asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(words + at) : "memory");
            } while (!(seen >> 32));
        uint32_t value = static_cast<uint32_t>(seen);
        if constexpr (WITHOUT == apart)
            if (at >= 0) LD("relaxed.gpu.global.u32", value, values + 2 * at + (seen >> 32) - 1);  // @fetch
        const uint32_t whole = __ballot_sync(~0u >> (32 - W), seen >> 33);
        const uint32_t first = __ffs(whole) - 1;
        if (!whole || t <= first) before += value;
        if (whole) break;
    }
    for (uint32_t k = W / 2; k; k /= 2) before += __shfl_xor_sync(~0u >> (32 - W), before, k);
    if (t == 0) {
        if (cta) publish(before + sum, 2);
        out[cta] = before + sum;
    }
}
