// SPDX-License-Identifier: Apache-2.0
// The special-function unit as found on an H200 (SPECIAL.md): a table of segments, and in each
// c0 + c1 x + c2 x^2 in fixed point with a squarer that leaves out its low columns (the
// interpolator of the lane algebra); around it the special cases and the flushing of each function.
// A part of a row at a time, the same for every operand. Not here: coefficients
// (special_tables.hpp), operands (special.cpp).
#pragma once

#include "emu/isa/isa.hpp"
#include "emu/isa/special_tables.hpp"
#include "emu/lanes/interpolator.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace special {

using namespace L::interpolator;
using special_tables::Coefficients;
using special_tables::Curve;

SASSEMU_INLINE Part low_bits(Part v, uint32_t n) { return v & ((1u << n) - 1); }
SASSEMU_INLINE Part exponent(Part x) { return low_bits(x >> 23, 8); }
SASSEMU_INLINE Part sign(Part x) { return x & 0x80000000u; }
// All ones where v is negative.
SASSEMU_INLINE Part negative(Part v) { return shift_right_signed(v, 31); }
SASSEMU_INLINE Part magnitude(Part x) { return x & 0x7fffffffu; }
constexpr uint32_t one = 0x3f800000u, infinity = 0x7f800000u, least_normal = 0x00800000u;
SASSEMU_INLINE Part signed_infinity(Part x) { return sign(x) | infinity; }
SASSEMU_INLINE Part nan_where(Test t, Part r) { return choose(t, all(L::kF32Nan), r); }

// ---- the interpolator -----------------------------------------------------------------------
constexpr unsigned fraction_bits = 40;  // of its sum
constexpr unsigned x_bits = L::kInterpolatorBits;

template <size_t N>
struct alignas(64) Segments {
    L::InterpolatorSegment segment[N];
    // `whole` is added to all values.
    constexpr explicit Segments(const Curve<N>& curve, int64_t whole = 0) : segment() {
        for (size_t i = 0; i < N; ++i) {
            const Coefficients& c = curve.segment[i];
            const int64_t constant =
                int64_t{c.c0} * (1 << 14) + curve.bias + whole * (int64_t{1} << fraction_bits);
            segment[i] = {static_cast<uint64_t>(constant), c.c1, c.c2};
        }
    }
};
// In units of 2^-fraction_bits; `at` is the segment number over the x_bits bits of x.
template <size_t N>
SASSEMU_INLINE Sum interpolate(const Segments<N>& table, Part at) {
    return L::interpolator::interpolate(table.segment, at);
}
// The 24 bits of a sum whose leading bit has the weight 2^-below.
SASSEMU_INLINE Part significand(Sum sum, unsigned below) {
    return word(sum, fraction_bits - 23 - below);
}
// |x| in fixed point, cut to `bits` bits below the point, modulo 2^32; 0 from 2^(55 - bits) on.
SASSEMU_INLINE Part fixed_point(Part x, unsigned bits) {
    const Part s = low_bits(x, 23) | 1u << 23, e = exponent(x);
    const uint32_t point = 127 + 23 - bits;
    return shift_left(s, e - point) |
           shift_right(s, point - e);  // a negative count shifts everything out
}

// ---- the functions, of fp32 unless noted -----------------------------------------------------
template <class Tables>
struct Functions {
    static constexpr Segments<128> reciprocal_segments{Tables::reciprocal};
    static constexpr Segments<128> root_reciprocal_segments{Tables::root_reciprocal};
    static constexpr Segments<128> root_segments{Tables::root};
    static constexpr Segments<64> power_segments{Tables::power};
    static constexpr Segments<64> logarithm_segments{Tables::logarithm,
                                                     -127};  // the bias of exponents
    static constexpr Segments<64> sine_segments{Tables::sine};
    static constexpr Segments<51> tangent_segments{Tables::tangent};

    // 1 / (1 + m * 2^-23), 24 bits below the point.
    static SASSEMU_INLINE Part reciprocal_significand(Part m) {
        return significand(interpolate(reciprocal_segments, m << 1), 1);
    }
    // The same of the square root; `octave` is the fraction under the exponent's low bit. Even
    // powers of two are exact: there the sum is just below 1.
    static SASSEMU_INLINE Part root_reciprocal_significand(Part octave) {
        const Part at = even_first(octave);
        return significand(interpolate(root_reciprocal_segments, at), 1) + ((at - 1u) >> 31);
    }
    // Biased exponents are odd where the exponent is even.
    static SASSEMU_INLINE Part even_first(Part octave) { return octave ^ 1u << 23; }

    // A significand with its leading bit, plus 2^23 times an exponent's field less one, is an fp32.
    static SASSEMU_INLINE Part reciprocal(Part x) {
        const Part m = magnitude(x);
        Part r = reciprocal_significand(low_bits(x, 23)) + ((252u - exponent(x)) << 23);
        r = choose(below(m, least_normal), all(infinity), r);
        r = zero_where(above(m, 0x7e800000u), r) |
            sign(x);  // from 2^126 on the result is subnormal
        return nan_where(above(m, infinity), r);
    }
    static SASSEMU_INLINE Part root_reciprocal(Part x) {
        const Part half = (exponent(x) + 1u) >> 1;
        const Part r = root_reciprocal_significand(low_bits(x, 24)) + ((189u - half) << 23);
        return root_special(x, signed_infinity(x), zero_where(equal(x, infinity), r));
    }
    static SASSEMU_INLINE Part root(Part x) {
        const Part half = (exponent(x) + 1u) >> 1;
        const Part r = significand(interpolate(root_segments, even_first(low_bits(x, 24))), 0) +
                       ((half + 62u) << 23);
        return root_special(x, sign(x), choose(equal(x, infinity), x, r));
    }

    // The operand has 23 bits below the point. A negative one that is no integer is complemented
    // bit by bit, and so is one unit of 2^-23 off. Up to |x| = 128, where the result is 0 or
    // infinity.
    static SASSEMU_INLINE Part power(Part x) {
        const Part fixed = fixed_point(x, 23), minus = negative(x), m = magnitude(x);
        const Part whole = (low_bits(fixed, 23) - 1u) >> 31;
        const Part n = (fixed ^ minus) + (whole & x >> 31);
        Part r = significand(interpolate(power_segments, low_bits(n, 23)), 0);
        r += (shift_right_signed(n, 23) + 126u) << 23;
        r = zero_where(below(r, least_normal), r);
        r = choose(above(m, 0x42ffffffu), ~minus & infinity, r);
        return nan_where(above(m, infinity), r);
    }
    // Exponent and interpolated part add up in fixed point, 36 bits below the point remain, and a
    // negative sum is complemented bit by bit. The logarithm of 1 is 0.
    static SASSEMU_INLINE Part logarithm(Part x) {
        constexpr unsigned kept = 36;
        const Sum part = interpolate(logarithm_segments, low_bits(x, 23));
        const Sum sum = add_high(part, exponent(x) << (fraction_bits - 32));
        Part r = normalize(cut(complement_negative(sum), fraction_bits - kept), kept);
        r = zero_where(equal(x, one), r | sign(x - one));
        return root_special(x, all(0xff800000u), choose(equal(x, infinity), x, r));
    }
    // The angle in turns has 25 bits below the point: two for the quadrant. Odd quadrants run
    // backwards, their fraction complemented bit by bit. The cosine is the sine a quarter on.
    static SASSEMU_INLINE Part sine(Part x) {
        const Part angle = fixed_point(x, 25);
        return nan_where(above(magnitude(x), infinity - 1),
                         of_angle(angle, x ^ angle << (31 - 24)));
    }
    static SASSEMU_INLINE Part cosine(Part x) {
        const Part angle = fixed_point(x, 25) + (1u << 23);
        return nan_where(above(magnitude(x), infinity - 1), of_angle(angle, angle << (31 - 24)));
    }
    // From 2^-8 to 8; below it is x itself, subnormal or not, above 1. Every octave has its own
    // number of segments, each with x_bits bits of x.
    static SASSEMU_INLINE Part tangent(Part x) {
        static constexpr uint8_t log2_segments[16] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
        static constexpr uint8_t first_segment[16] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
        const Part m = magnitude(x), octave = low_bits((x >> 23) - 127u + 8u, 4);
        const Part fraction =
            shift_right(low_bits(x, 23), 23 - x_bits - entry(log2_segments, octave));
        const Part at = fraction + (entry(first_segment, octave) << x_bits);
        Part r = normalize(interpolate(tangent_segments, at), fraction_bits);
        r = choose(above(m, 0x40ffffffu), all(one), r) | sign(x);
        r = choose(below(m, 0x3b800000u), x, r);
        return nan_where(above(m, infinity), r);
    }

    // Of the upper words of fp64: the fp32 significands, cut. PTX ISA, rcp.approx.ftz.f64 and
    // rsqrt.approx.ftz.f64: the low word does not count, not even to tell NaN from infinity;
    // subnormals flush; NaN results are 0x7fffffff.
    static SASSEMU_INLINE Part reciprocal_high(Part x) {
        const Part m = magnitude(x);
        Part r = reciprocal_significand(low_bits(x, 20) << 3) >> 3;
        r += (2044u - (m >> 20)) << 20;
        r = choose(below(m, least_normal_high), all(infinity_high), r);
        r = zero_where(above(m, 0x7fd00000u), r) |
            sign(x);  // from 2^1022 on the result is subnormal
        return nan_where(above(m, infinity_high), r);
    }
    static SASSEMU_INLINE Part root_reciprocal_high(Part x) {
        const Part half = (low_bits(x >> 20, 11) + 1u) >> 1;
        Part r = root_reciprocal_significand(low_bits(x, 21) << 3) >> 3;
        r = zero_where(equal(x, infinity_high), r + ((1533u - half) << 20));
        r = nan_where(above(x ^ 0x80000000u, infinity_high ^ 0x80000000u), r);
        return choose(below(magnitude(x), least_normal_high), sign(x) | infinity_high, r);
    }

  private:
    static constexpr uint32_t infinity_high = 0x7ff00000u, least_normal_high = 0x00100000u;

    static SASSEMU_INLINE Part of_angle(Part angle, Part sign_of) {
        const Part odd = negative(angle << (31 - 23));
        const Part at = low_bits(angle ^ odd, 23);
        const Part r = normalize(interpolate(sine_segments, at), fraction_bits);
        return zero_where(equal(at, 0), r) | sign(sign_of);  // the sine of 0 is 0
    }
    // What has no root is a NaN, as are the NaN; zeros and what counts as one give `of_zero`.
    static SASSEMU_INLINE Part root_special(Part x, Part of_zero, Part r) {
        r = nan_where(above(x ^ 0x80000000u, infinity ^ 0x80000000u), r);  // unsigned
        return choose(below(magnitude(x), least_normal), of_zero, r);
    }
};

}  // namespace special
}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
