// The special-function unit as found on an H200 (SPECIAL.md): a table of segments, and in each
// c0 + c1 x + c2 x^2 in fixed point with a squarer that leaves out its low columns. Here: the values,
// for finite operands above the subnormals. Not here: special cases and flushing (special.cpp),
// coefficients (special_tables.hpp).
#pragma once

#include "emu/isa/isa.hpp"
#include "emu/isa/special_tables.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace special {

using special_tables::Coefficients;
using special_tables::Curve;


// Shifts by a constant. L::shl takes a count per lane, for which AVX2 needs a register: there are too few of them here.
template <class Row, class Shift>
SASSEMU_INLINE Row each_chunk(Row v, Shift&& shift) {
#pragma GCC unroll 8
    for (auto& c : v.c) c = shift(c);
    return v;
}
template <class Row>
SASSEMU_INLINE Row left(Row v, uint32_t n) {
    if constexpr (requires { v.c; }) return each_chunk(v, [n](auto c) { return c << n; });
    else return L::shl(v, L::splat(n));
}
template <class Row>
SASSEMU_INLINE Row right(Row v, uint32_t n) {
    if constexpr (requires { v.c; }) return each_chunk(v, [n](auto c) { return c >> n; });
    else return L::shr(v, L::splat(n));
}
SASSEMU_INLINE V32 low_bits(V32 v, uint32_t n) { return L::and_(v, L::splat((1u << n) - 1)); }
SASSEMU_INLINE V32 exponent(V32 x) { return low_bits(right(x, 23), 8); }
// The value plus 2^23 * field: moves a significand with its leading bit into the place of an fp32.
SASSEMU_INLINE V32 scale(V32 significand, V32 field) { return L::add(significand, left(field, 23)); }
SASSEMU_INLINE V32 minus(uint32_t a, V32 b) { return L::sub(L::splat(a), b); }
SASSEMU_INLINE V32 plus(V32 a, uint32_t b) { return L::add(a, L::splat(b)); }

// ---- the interpolator -----------------------------------------------------------------------
constexpr unsigned fraction_bits = 40;  // of its sum
constexpr unsigned x_bits = 17;

// A segment as a gather reads it: c0 and the bias at their place in the sum, then c1 and c2.
struct alignas(16) Segment {
    uint64_t constant;
    int32_t c1, c2;
};
template <size_t N>
struct alignas(64) Segments {
    Segment segment[N];
    constexpr explicit Segments(const Curve<N>& curve) : segment() {
        for (size_t i = 0; i < N; ++i) {
            const Coefficients& c = curve.segment[i];
            segment[i] = {static_cast<uint64_t>(int64_t{c.c0} * (1 << 14) + curve.bias), c.c1, c.c2};
        }
    }
};

// A product, as one instruction: compilers make a shift and an addition of every bit of such factors.
SASSEMU_INLINE V32 times(V32 v, uint32_t factor) {
    asm("" : "+r"(factor));
    return L::mul_lo(v, L::splat(factor));
}
// Four bits of v to the low ends of the bytes of a word, the highest bit to the lowest byte; then all bits of such bytes.
SASSEMU_INLINE V32 bytes_of_bits(V32 v) { return L::and_(times(v, 0x08040201u), L::splat(0x08080808u)); }
SASSEMU_INLINE V32 filled(V32 bytes) { return L::sub(left(bytes, 4), right(bytes, 3)); }
// The bytes v, v >> 1, v >> 2 and v >> 3 of 7 bits v: copies 7 bits apart, without what reaches into the byte below.
SASSEMU_INLINE V32 bytes_shifted(V32 v) { return L::and_(times(v, 0x00204081u), L::splat(0x0f1f3f7fu)); }

// x^2 / 2^19 from the partial products of weight 2^19 and more alone: bits i < j of x contribute at
// i + j + 1, bit i with itself at 2 i. Bits 9 and up form a whole square but for bit 9 itself. Bits
// 8 down to 2 each add x >> (18 - i), 7 bits or fewer: four of them side by side.
SASSEMU_INLINE V32 truncated_square(V32 x) {
    const V32 high = right(x, 9);
    const V32 first = L::and_(bytes_shifted(right(x, 10)), filled(bytes_of_bits(low_bits(right(x, 5), 4))));
    const V32 second = L::and_(bytes_shifted(right(x, 14)), filled(bytes_of_bits(low_bits(right(x, 1), 4))));
    const V32 sum = right(times(L::add(first, second), 0x01010101u), 24);
    return L::add(sum, right(L::mul_lo(high, high), 1));
}

// In units of 2^-fraction_bits; `at` is the segment number over the x_bits bits of x. `whole` is
// added, in units of 2^(32 - fraction_bits).
template <size_t N>
SASSEMU_INLINE V64 interpolate(const Segments<N>& table, V32 at, V32 whole) {
    const V32 x = low_bits(at, x_bits);
    const L::Rows4 c = L::gather_128(&table, left(right(at, x_bits), 4), L::kAllLanes);
    const V64 linear = L::mul_wide_s(c.r[2], x), square = L::mul_wide_s(c.r[3], truncated_square(x));
    return L::add64(L::make64(c.r[0], L::add(c.r[1], whole)), L::add64(linear, square));
}
template <size_t N>
SASSEMU_INLINE V64 interpolate(const Segments<N>& table, V32 at) {
    return interpolate(table, at, L::splat(0));
}
// The 24 bits of a sum whose leading bit has the weight 2^-below.
SASSEMU_INLINE V32 significand(V64 sum, unsigned below) {
    return L::lo32(L::shr64(sum, L::splat(fraction_bits - 23 - below)));
}
// All ones in lanes that are above 0 as signed numbers.
SASSEMU_INLINE V32 positive(V32 v) { return L::sar(L::neg(v), L::splat(31)); }
// A sum above 0 and below 2^52 units of 2^-bits, cut to fp32.
SASSEMU_INLINE V32 normalize(V64 sum, unsigned bits) {
    constexpr uint64_t two52 = 0x4330000000000000ull;
    const V64 d = L::dadd(L::or64(sum, L::splat64(two52)), L::splat64(two52 | 1ull << 63));
    return L::sub(L::lo32(L::shr64(d, L::splat(29))), L::splat((1023 - 127 + bits) << 23));
}
// |x| in fixed point, cut to `bits` bits below the point, modulo 2^32; 0 from 2^(55 - bits) on.
SASSEMU_INLINE V32 fixed_point(V32 x, unsigned bits) {
    const V32 s = L::or_(low_bits(x, 23), L::splat(1u << 23));
    const V32 up = L::sub(exponent(x), L::splat(127 + 23 - bits));
    return L::or_(L::shl(s, up), L::shr(s, L::neg(up)));  // a negative count shifts everything out
}

// ---- the functions, of fp32 unless noted -----------------------------------------------------
template <class Tables>
struct Functions {
    static constexpr Segments<128> reciprocal_segments{Tables::reciprocal};
    static constexpr Segments<128> root_reciprocal_segments{Tables::root_reciprocal};
    static constexpr Segments<128> root_segments{Tables::root};
    static constexpr Segments<64> power_segments{Tables::power};
    static constexpr Segments<64> logarithm_segments{Tables::logarithm};
    static constexpr Segments<64> sine_segments{Tables::sine};
    static constexpr Segments<51> tangent_segments{Tables::tangent};

    // 1 / (1 + m * 2^-23), 24 bits below the point.
    static SASSEMU_INLINE V32 reciprocal_significand(V32 m) {
        return significand(interpolate(reciprocal_segments, left(m, 1)), 1);
    }
    // The same of the square root; `octave` is the fraction under the exponent's low bit. Even
    // powers of two are exact: there the sum is just below 1.
    static SASSEMU_INLINE V32 root_reciprocal_significand(V32 octave) {
        const V32 at = even_first(octave);
        const V32 zero = right(L::sub(at, L::splat(1)), 31);
        return L::add(significand(interpolate(root_reciprocal_segments, at), 1), zero);
    }
    // Biased exponents are odd where the exponent is even.
    static SASSEMU_INLINE V32 even_first(V32 octave) { return L::xor_(octave, L::splat(1u << 23)); }

    // Of |x|; where it is subnormal, the number is below 2^23 and not the result.
    static SASSEMU_INLINE V32 reciprocal(V32 x) {
        return scale(reciprocal_significand(low_bits(x, 23)), minus(252, exponent(x)));
    }
    static SASSEMU_INLINE V32 root_reciprocal(V32 x) {
        const V32 half = right(plus(exponent(x), 1), 1);
        return scale(root_reciprocal_significand(low_bits(x, 24)), minus(189, half));
    }
    static SASSEMU_INLINE V32 root(V32 x) {
        const V32 half = right(plus(exponent(x), 1), 1);
        const V64 sum = interpolate(root_segments, even_first(low_bits(x, 24)));
        return scale(significand(sum, 0), plus(half, 62));
    }
    // Of the upper words of fp64: the fp32 significands, cut.
    static SASSEMU_INLINE V32 reciprocal_high(V32 x) {  // of |x|, as reciprocal, the limit being 2^20
        const V32 r = right(reciprocal_significand(left(low_bits(x, 20), 3)), 3);
        return L::add(r, left(minus(2044, low_bits(right(x, 20), 11)), 20));
    }
    static SASSEMU_INLINE V32 root_reciprocal_high(V32 x) {
        const V32 half = right(plus(low_bits(right(x, 20), 11), 1), 1);
        const V32 r = right(root_reciprocal_significand(left(low_bits(x, 21), 3)), 3);
        return L::add(r, left(minus(1533, half), 20));
    }

    // The operand has 23 bits below the point. A negative one that is no integer is complemented
    // bit by bit, and so is one unit of 2^-23 off. For |x| < 128; where the result is subnormal,
    // the number is below 2^23 and not the result.
    static SASSEMU_INLINE V32 power(V32 x) {
        const V32 magnitude = fixed_point(x, 23);
        const V32 whole = right(L::sub(low_bits(magnitude, 23), L::splat(1)), 31);
        V32 n = L::xor_(magnitude, L::sar(x, L::splat(31)));
        n = L::add(n, L::and_(whole, right(x, 31)));
        const V32 r = significand(interpolate(power_segments, low_bits(n, 23)), 0);
        return scale(r, plus(L::sar(n, L::splat(23)), 126));
    }
    // Exponent and interpolated part add up in fixed point, 36 bits below the point remain, and a
    // negative sum is complemented bit by bit. For x above 0; that of 1 is 0.
    static SASSEMU_INLINE V32 logarithm(V32 x) {
        constexpr unsigned kept = 36;
        const V32 whole = L::sub(exponent(x), L::splat(127));
        const V32 negative = L::sar(L::sub(x, L::splat(0x3f800000u)), L::splat(31));
        V64 sum = interpolate(logarithm_segments, low_bits(x, 23), left(whole, fraction_bits - 32));
        sum = L::xor64(sum, L::make64(negative, negative));
        const V32 r = normalize(L::shr64(sum, L::splat(fraction_bits - kept)), kept);
        return L::and_(L::or_(r, sign(negative)), positive(L::xor_(x, L::splat(0x3f800000u))));
    }
    // The angle in turns has 25 bits below the point: two for the quadrant. Odd quadrants run
    // backwards, their fraction complemented bit by bit. The cosine is the sine a quarter on.
    static SASSEMU_INLINE V32 sine(V32 x) {
        const V32 angle = fixed_point(x, 25);
        return of_angle(angle, L::xor_(x, left(angle, 31 - 24)));
    }
    static SASSEMU_INLINE V32 cosine(V32 x) {
        const V32 angle = plus(fixed_point(x, 25), 1u << 23);
        return of_angle(angle, left(angle, 31 - 24));
    }
    // From 2^-8 to 8. Every octave has its own number of segments, each with x_bits bits of x.
    static SASSEMU_INLINE V32 tangent(V32 x) {
        constexpr unsigned first_exponent = 127 - 8;
        alignas(64) static constexpr uint32_t octaves[32] = {  // segments as a power of two, first
            0 << 8 | 0, 0 << 8 | 1,  0 << 8 | 2,  1 << 8 | 3,  1 << 8 | 5, 2 << 8 | 7,
            2 << 8 | 11, 2 << 8 | 15, 3 << 8 | 19, 4 << 8 | 27, 3 << 8 | 43};
        const V32 which = L::sub(exponent(x), L::splat(first_exponent));
        const V32 octave = L::permute(L::load(octaves), which);
        const V32 fraction = L::shr(low_bits(x, 23), minus(23 - x_bits, right(octave, 8)));
        const V32 at = L::add(fraction, left(low_bits(octave, 8), x_bits));
        return L::or_(normalize(interpolate(tangent_segments, at), fraction_bits), sign(x));
    }

  private:
    static SASSEMU_INLINE V32 sign(V32 x) { return L::and_(x, L::splat(0x80000000u)); }
    static SASSEMU_INLINE V32 of_angle(V32 angle, V32 sign_of) {
        const V32 odd = L::sar(left(angle, 31 - 23), L::splat(31));
        const V32 at = low_bits(L::xor_(angle, odd), 23);
        const V32 r = normalize(interpolate(sine_segments, at), fraction_bits);
        return L::or_(L::and_(r, positive(at)), sign(sign_of));  // the sine of 0 is 0
    }
};

}  // namespace special
}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
