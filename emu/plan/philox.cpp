// SPDX-License-Identifier: Apache-2.0
// See philox.hpp. One call of the generator per element, whatever the element's size.
#include "emu/plan/philox.hpp"

#include <bit>

namespace sassemu::plan {

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{0xD2511F53u} * counter[0];
        const uint64_t b = uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
                   static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

uint64_t random_element(const RandomSpec& spec, uint64_t index) {
    const auto words =
        philox4x32_10({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0},
                      {static_cast<uint32_t>(spec.seed), static_cast<uint32_t>(spec.seed >> 32)});
    const uint64_t wide = words[0] | uint64_t{words[1]} << 32;
    if (spec.type == ElementType::f64) {
        const double u = static_cast<double>(wide >> 11) * 0x1p-53;
        const double scaled = (spec.high - spec.low) * u;
        return std::bit_cast<uint64_t>(spec.low + scaled);
    }
    if (element_is_float(spec.type)) {
        const double u = static_cast<double>(words[0] >> 8) * 0x1p-24;
        const double scaled = (spec.high - spec.low) * u;
        const auto value = static_cast<float>(spec.low + scaled);
        if (spec.type == ElementType::f16) return float_to_half(value);
        if (spec.type == ElementType::bf16) return float_to_bfloat(value);
        return std::bit_cast<uint32_t>(value);
    }
    const unsigned width = 8 * static_cast<unsigned>(element_size(spec.type));
    // The whole range: low is the type's minimum and the span 2^width, so the sum wraps to the
    // product's low `width` bits with the sign bit turned over.
    const uint64_t low = !spec.whole_range              ? spec.integer_low
                         : element_is_signed(spec.type) ? uint64_t{1} << (width - 1)
                                                        : 0;
    uint64_t offset;
    if (width == 64) {
        const bool all = spec.whole_range || spec.integer_span == 0;
        offset = all ? wide
                     : static_cast<uint64_t>(
                           (static_cast<unsigned __int128>(wide) * spec.integer_span) >> 64);
    } else {
        const uint64_t span = spec.whole_range ? uint64_t{1} << width : spec.integer_span;
        offset = (words[0] * span) >> 32;
    }
    const uint64_t mask = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    return (low + offset) & mask;
}

void fill_random(const RandomSpec& spec, std::span<std::byte> bytes) {
    const size_t size = element_size(spec.type);
    for (size_t i = 0; (i + 1) * size <= bytes.size(); ++i) {
        store_bits(spec.type, random_element(spec, i), bytes.data() + i * size);
    }
}

}  // namespace sassemu::plan
