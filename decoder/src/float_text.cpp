// SPDX-License-Identifier: Apache-2.0
// Floating immediates as nvdisasm prints them: 20 significant digits, infinities and NaNs by name.
#include <bit>
#include <cmath>
#include <cstdio>

#include "text.hpp"

namespace sassdec {
namespace {

// Shared by all formats: v is exact, top is the sign, special says infinity (1) or NaN (2, quiet
// 3).
void put_value(Text& t, double v, bool negative, int special) {
    if (special) {
        t.put(negative ? '-' : '+');
        t.put(special == 1 ? "INF " : special == 3 ? "QNAN " : "SNAN ");
        return;
    }
    if (v == 0) {
        t.put(negative ? "-0.0 " : "0");
        return;
    }
    char buf[64];
    const double a = std::fabs(v);
    std::snprintf(buf, sizeof buf, a >= 1e9 ? "%.20e" : "%.20g", v);
    t.put(buf);
}

}  // namespace

void Text::float32(std::uint32_t bits, bool snan) {
    const std::uint32_t exp = bits >> 23 & 0xff, man = bits & 0x7fffff;
    const int special = exp != 0xff          ? 0
                        : man == 0           ? 1
                        : !snan || man >> 22 ? 3  // printed through a double, which quiets a NaN
                                             : 2;
    put_value(*this, special ? 0 : static_cast<double>(std::bit_cast<float>(bits)), bits >> 31,
              special);
}

void Text::float64(std::uint64_t bits) {
    const std::uint64_t exp = bits >> 52 & 0x7ff, man = bits & 0xfffffffffffffULL;
    const int special = exp != 0x7ff ? 0 : man == 0 ? 1 : (man >> 51) ? 3 : 2;
    put_value(*this, special ? 0 : std::bit_cast<double>(bits), bits >> 63, special);
}

void Text::float16(std::uint16_t bits) {
    const unsigned exp = bits >> 10 & 31, man = bits & 0x3ff;
    const int special = exp != 31 ? 0 : man == 0 ? 1 : 3;  // every NaN prints as quiet
    double v = exp ? std::ldexp(1024.0 + man, static_cast<int>(exp) - 25) : std::ldexp(man, -24);
    if (bits >> 15) v = -v;
    put_value(*this, special ? 0 : v, bits >> 15, special);
}

void Text::bfloat16(std::uint16_t bits) {
    const bool nan = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f);
    float32(static_cast<std::uint32_t>(nan ? bits | 0x40 : bits) << 16);
}

}  // namespace sassdec
