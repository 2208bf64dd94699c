// SPDX-License-Identifier: Apache-2.0
// See tensor_statistic.hpp.
#include "emu/async/tensor_statistic.hpp"

#include <optional>

namespace sassemu::async {

// Floats in the order of their values are integers in order once those of negative ones are turned
// round.
uint32_t statistic(const TensorStatistic& s, std::span<const uint32_t> loaded) {
    constexpr uint32_t infinity = 0x7f800000, sign = 0x80000000, canonical_nan = 0x7fffffff;
    const auto ordered = [&](uint32_t v) {
        if (s.type == TensorStatistic::u32) return int64_t{v};
        const auto i = static_cast<int32_t>(v);
        return int64_t{s.type == TensorStatistic::f32 && i < 0 ? i ^ 0x7fffffff : i};
    };
    std::optional<uint32_t> best;
    for (const uint32_t word : loaded) {
        uint32_t v = word;
        if (s.type == TensorStatistic::f32) {
            if (s.magnitude) v &= ~sign;
            if ((v & ~sign) > infinity) {
                if (s.nan) return canonical_nan;
                continue;
            }
        }
        if (!best || (s.max ? ordered(v) > ordered(*best) : ordered(v) < ordered(*best))) best = v;
    }
    return best.value_or(canonical_nan);
}

}  // namespace sassemu::async
