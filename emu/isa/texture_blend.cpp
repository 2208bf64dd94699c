// SPDX-License-Identifier: Apache-2.0
// Formats and weighted sums behind texture_blend.hpp.
#include "emu/isa/texture_blend.hpp"

#include <algorithm>
#include <bit>

#include "emu/isa/texture_tables.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

uint32_t bits_of(float v) { return std::bit_cast<uint32_t>(v); }

uint32_t half_to_float(uint32_t h) {
    const uint32_t sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return sign | 0x7f800000u | m << 13;  // of NaN the payload, too
    if (e == 0) return bits_of(static_cast<float>(m) * 0x1p-24f) | sign;
    return sign | (e + 112) << 23 | m << 13;
}

// A number below 2^exponent; the mantissa counts units of its format's last place.
struct Number {
    int64_t mantissa = 0;
    int exponent = 0;
};
Number unpack(uint32_t bits, bool half) {
    const bool negative = bits & (half ? 0x8000u : 0x80000000u);
    const uint32_t e = half ? bits >> 10 & 31 : bits >> 23 & 255;
    const uint32_t m = half ? bits & 0x3ff : bits & 0x7fffff;
    Number n;
    if (e != 0) {
        n.mantissa = half ? 0x400 | m : 0x800000 | m;
        n.exponent = static_cast<int>(e) - (half ? 14 : 126);
    } else if (half && m != 0) {  // subnormal floats count as zero
        const int width = static_cast<int>(std::bit_width(m));
        n.mantissa = int64_t{m} << (11 - width);
        n.exponent = width - 24;
    }
    if (negative) n.mantissa = -n.mantissa;
    return n;
}

int64_t shifted(int64_t v, int right) { return right > 62 ? v >> 62 : v >> right; }
int64_t cut(int64_t v, int right) { return v < 0 ? -shifted(-v, right) : shifted(v, right); }

// sum * 2^unit as a float of so many bits, ties away from zero.
uint32_t rounded(int64_t sum, int unit, int precision, int least) {
    const uint32_t sign = sum < 0 ? 0x80000000u : 0;
    uint64_t v = sum < 0 ? -static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
    if (v == 0) return 0;
    const int drop = std::max(static_cast<int>(std::bit_width(v)) - precision, least - unit);
    if (drop > 63) return sign;
    if (drop > 0) {
        v = (v + (uint64_t{1} << (drop - 1))) >> drop;
        unit += drop;
    }
    // At most `precision` bits and a carry: exact.
    const float f = __builtin_ldexpf(static_cast<float>(v), unit);
    return sign | (f < 0x1p-126f ? 0 : bits_of(f));
}

}  // namespace

Texel Format::load(const std::byte* at) const {
    Texel t;
    for (uint32_t k = 0; k < desc_.channels; ++k) {
        uint32_t& c = t.component[k];
        switch (desc_.format) {
            case TextureFormat::u8:
                c = host::load<uint8_t>(at + k);
                break;
            case TextureFormat::s8:
                c = static_cast<uint32_t>(static_cast<int8_t>(host::load<uint8_t>(at + k)));
                break;
            case TextureFormat::u16:
            case TextureFormat::f16:
                c = host::load<uint16_t>(at + 2 * k);
                break;
            case TextureFormat::s16:
                c = static_cast<uint32_t>(static_cast<int16_t>(host::load<uint16_t>(at + 2 * k)));
                break;
            default:
                c = host::load<uint32_t>(at + 4 * k);
        }
    }
    return t;
}

namespace {

// The code of a colour, 0 to 1.
float encoded(float v) {
    return v <= 0.0031308f ? 12.92f * v : 1.055f * __builtin_powf(v, 1.0f / 2.4f) - 0.055f;
}
// Cut to a half.
uint32_t half_of(uint32_t bits) {
    const uint32_t magnitude = bits & 0x7fffffff, m = bits & 0x7fffff;
    const int e = static_cast<int>(magnitude >> 23) - 112;
    const uint32_t h = magnitude >= 0x7f800000 ? 0x7c00 | m >> 13
                       : e >= 31               ? 0x7bff
                       : e > 0                 ? static_cast<uint32_t>(e) << 10 | m >> 13
                       : e < -10               ? 0
                                               : (m | 0x800000) >> (14 - e);
    return (bits >> 16 & 0x8000) | h;
}

}  // namespace

// What a driver makes of the border's colour: a fraction is rounded up from about 0.55 on, a float
// cut, and integers keep its low bits.
Texel Format::border() const {
    Texel t;
    for (uint32_t k = 0; k < desc_.channels; ++k) {
        const float v = desc_.border[k];
        const uint32_t bits = bits_of(v);
        const auto fixed = [v](float least, float top) {
            const float x = std::clamp(v != v ? 0.0f : v, least, 1.0f) * top;
            return static_cast<uint32_t>(static_cast<int32_t>(x < 0 ? x - 0.45f : x + 0.45f));
        };
        const bool unit = desc_.read_normalized;
        uint32_t& c = t.component[k];
        switch (desc_.format) {
            case TextureFormat::u8:
                c = !unit ? bits & 0xff
                    : colour(k)
                        ? static_cast<uint32_t>(
                              encoded(std::clamp(v != v ? 0.0f : v, 0.0f, 1.0f)) * 255.0f + 0.49f)
                        : fixed(0.0f, 255.0f);
                break;
            case TextureFormat::s8:
                c = unit ? fixed(-1.0f, 127.0f)
                         : static_cast<uint32_t>(static_cast<int8_t>(bits & 0xff));
                break;
            case TextureFormat::u16:
                c = unit ? fixed(0.0f, 65535.0f) : bits & 0xffff;
                break;
            case TextureFormat::s16:
                c = unit ? fixed(-1.0f, 32767.0f)
                         : static_cast<uint32_t>(static_cast<int16_t>(bits & 0xffff));
                break;
            case TextureFormat::f16:
                c = half_of(bits);
                break;
            default:
                c = bits;
        }
    }
    return t;
}

uint32_t Format::value(uint32_t c, unsigned component) const {
    if (component >= desc_.channels) return 0;
    if (desc_.format == TextureFormat::f16) return half_to_float(c);
    if (!desc_.read_normalized) return c;
    const auto ratio = [c](float top) {
        const float r = static_cast<float>(static_cast<int32_t>(c)) / top;
        return bits_of(r < -1.0f ? -1.0f : r);
    };
    switch (desc_.format) {
        case TextureFormat::u8:
            if (!colour(component)) return ratio(255.0f);
            return bits_of(
                __builtin_ldexpf(colour_mantissas[c & 255], colour_exponent(c & 255) - 8));
        case TextureFormat::s8:
            return ratio(127.0f);
        case TextureFormat::u16:
            return ratio(65535.0f);
        case TextureFormat::s16:
            return ratio(32767.0f);
        default:
            return c;
    }
}

uint32_t Blend::floats(unsigned k, Kind kind) const {
    // Bits below the power of two above the largest texel.
    const int bits = kind == Kind::f32 ? 28 : kind == Kind::f16 ? 15 : 8;
    const bool half = kind != Kind::f32;
    const uint32_t infinity = half ? 0x7c00 : 0x7f800000, magnitude = half ? 0x7fff : 0x7fffffff;
    constexpr int none = -1000;
    bool nan = false, up = false, down = false, above = false, below = false;
    int64_t sum = 0;
    int unit = none;
    for (unsigned p = 0; p < count_;) {
        int64_t parts[2] = {};
        int units[2] = {none, none};
        const unsigned level = planes_[p].level;
        for (unsigned i = 0; p < count_ && planes_[p].level == level; ++i, ++p) {
            const Plane& plane = planes_[p];
            Number n[4];
            int top = none;
            for (unsigned t = 0; t < plane.texels; ++t) {
                const uint32_t c = plane.texel[t].component[k];
                if (kind == Kind::colour) {
                    n[t] = {colour_mantissas[c & 255], colour_exponent(c & 255)};
                } else if ((c & infinity) == infinity) {
                    nan |= (c & magnitude) != infinity;
                    (c == infinity ? up : down) |= (c & magnitude) == infinity;
                } else {
                    n[t] = unpack(c, half);
                    n[t].mantissa *= 16;
                    (c & (magnitude + 1) ? below : above) = true;
                }
                if (n[t].mantissa != 0 && plane.weight[t] != 0) top = std::max(top, n[t].exponent);
            }
            if (top == none) continue;
            for (unsigned t = 0; t < plane.texels; ++t)
                parts[i] += plane.weight[t] * cut(n[t].mantissa, top - n[t].exponent);
            // The lowest bit of a group of four exponents is its smallest one's.
            parts[i] <<= (top - 2) & 3;
            units[i] = ((top - 2) & ~3) - bits - 6;
        }
        const int common = std::max({unit, units[0], units[1]});
        sum = shifted(sum, common - unit) + shifted(parts[0], common - units[0]) +
              shifted(parts[1], common - units[1]);
        unit = common;
    }
    if (nan || (up && down)) return half ? 0x7fffe000 : 0x7fffffff;
    if (up || down) return up ? 0x7f800000 : 0xff800000;
    // Of nothing but negative zeros.
    if (unit == none && below && !above) return 0x80000000;
    return rounded(sum, unit, half ? 11 : 24, half ? -24 : -149);
}

uint32_t Blend::integers(unsigned k) const {
    const TextureFormat format = format_.desc_.format;
    int64_t sum = 0;
    for (unsigned p = 0; p < count_; ++p)
        for (unsigned i = 0; i < planes_[p].texels; ++i) {
            const uint32_t c = planes_[p].texel[i].component[k];
            sum += planes_[p].weight[i] *
                   (format == TextureFormat::u32 ? int64_t{c} : int64_t{static_cast<int32_t>(c)});
        }
    if (format == TextureFormat::u32 || format == TextureFormat::s32)
        return static_cast<uint32_t>(sum >> 8);
    if (!format_.is_float()) return static_cast<uint32_t>((sum + 128) >> 8);
    if (format == TextureFormat::u8) sum *= 257;
    if (format == TextureFormat::s8) {  // to 16 bits by repeating its own upper ones
        sum <<= 3;
        sum = (sum + (sum >> 7) + (sum >> 15) + 4) >> 3;
    } else {
        sum = (sum + 128) >> 8;
    }
    const bool with_sign = format == TextureFormat::s8 || format == TextureFormat::s16;
    const float top = with_sign ? 32767.0f : 65535.0f;
    return bits_of(static_cast<float>(std::max<int64_t>(sum, -32767)) / top);
}

Texel Blend::sum() const {
    Texel t;
    const TextureFormat format = format_.desc_.format;
    for (unsigned k = 0; k < format_.desc_.channels; ++k)
        t.component[k] = format == TextureFormat::f32   ? floats(k, Kind::f32)
                         : format == TextureFormat::f16 ? floats(k, Kind::f16)
                         : format_.colour(k)            ? floats(k, Kind::colour)
                                                        : integers(k);
    return t;
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
