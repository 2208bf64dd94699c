// SPDX-License-Identifier: Apache-2.0
// What the operands of the record and of verify.py do to the operations that round: a table of the
// classes of exponents, roundings and special values that they reach, from exact arithmetic,
// without the emulator. Random tuples that all end in a NaN or an overflow would test nothing; this
// test says that they do not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/hardware/operands.hpp"

namespace sassemu::test {
namespace {

struct Format {
    int mantissa, smallest, largest;  // bits stored, exponents of normal numbers
};
constexpr Format f32{23, -126, 127}, f16{10, -14, 15}, bf16{7, -126, 127}, f64{52, -1022, 1023};

// A number as an unevaluated sum: `low` is what rounding took from `high`.
template <class Wide>
struct Sum {
    Wide high, low = 0;
};
template <class Wide>
Sum<Wide> add(Wide a, Wide b) {  // Knuth's TwoSum
    const Wide s = a + b, part = s - a;
    return {s, (a - (s - part)) + (b - part)};
}

enum Class { special, zero, too_large, tiny, exact, below, tie, above, classes };
constexpr const char* class_names[classes] = {
    "inf or NaN", "zero", "too large", "subnormal", "exact", "below half", "tie", "above half"};

// v 2^by and the exponent of v > 0, by products: the quadmath library is not everywhere.
template <class Wide>
Wide scaled(Wide v, int by) {
    Wide power = by < 0 ? 0.5 : 2;
    for (unsigned n = static_cast<unsigned>(std::abs(by)); n != 0; n >>= 1, power *= power)
        if (n & 1) v *= power;
    return v;
}
template <class Wide>
int exponent_of(Wide v) {
    int e = std::ilogb(static_cast<double>(v));
    if (static_cast<double>(v) == 0)
        e = -1100 + std::ilogb(static_cast<double>(scaled(v, 1100)));  // a product of f64
    if (static_cast<double>(v) == INFINITY)
        e = 1100 + std::ilogb(static_cast<double>(scaled(v, -1100)));
    return scaled(v, -e) < 1 ? e - 1 : e;  // the conversion to double may have rounded up
}
// The class of a result; of those in the range of normal numbers, where it lies between two of
// them.
template <class Wide>
Class class_of(Sum<Wide> v, Format f) {
    if (v.high == 0) return zero;
    if (v.high < 0) v = {-v.high, -v.low};
    int e = exponent_of(v.high);
    if (v.low < 0 && scaled(v.high, -e) == 1) --e;
    if (e > f.largest) return too_large;
    if (e < f.smallest) return tiny;
    const Wide units = scaled(v.high, f.mantissa - e);
    const Wide rest = units - static_cast<Wide>(static_cast<uint64_t>(units));
    if (rest == 0) return v.low == 0 ? exact : v.low > 0 ? below : above;
    if (rest == Wide{0.5}) return v.low == 0 ? tie : v.low > 0 ? above : below;
    return rest < Wide{0.5} ? below : above;
}

float half_value(uint32_t h) {
    const int e = static_cast<int>(h >> 10 & 31), m = static_cast<int>(h & 1023);
    const float v = e == 31 ? (m ? NAN : INFINITY)
                    : e     ? std::ldexp(1024.0f + m, e - 25)
                            : std::ldexp(float(m), -24);
    return h >> 15 ? -v : v;
}
float f32_value(uint32_t w) { return std::bit_cast<float>(w); }
float bf16_value(uint32_t w) { return std::bit_cast<float>(w << 16); }

// Three operands of an operation: registers, pairs of registers or halves of one, by the format.
struct Operands {
    uint32_t low[3], high[3];
    double value(int i, const Format& f) const {
        if (f.mantissa == 23) return f32_value(low[i]);
        if (f.mantissa == 10) return half_value(low[i] & 0xffff);
        if (f.mantissa == 7) return bf16_value(low[i] & 0xffff);
        return std::bit_cast<double>(uint64_t{high[i]} << 32 | low[i]);
    }
};

struct Operation {
    const char* name;
    int operands;
    Format from, to;
    enum { sum, product, fused, conversion } kind;
};
template <class Wide>
Class class_of(const Operation& op, const Operands& x) {
    Wide v[3] = {};
    for (int i = 0; i < op.operands; ++i) {
        const double d = x.value(i, op.from);
        if (!std::isfinite(d)) return special;
        v[i] = d;
    }
    switch (op.kind) {
        case Operation::sum:
            return class_of(add(v[0], v[1]), op.to);
        case Operation::product:
            return class_of(Sum<Wide>{v[0] * v[1]}, op.to);
        case Operation::fused:
            return class_of(add(Wide(v[0] * v[1]), v[2]), op.to);
        default:
            return class_of(Sum<Wide>{v[0]}, op.to);
    }
}

#ifdef __SIZEOF_FLOAT128__  // holds the product of two f64
__extension__ using Quad = __float128;
#else
using Quad = long double;
#endif

TEST(HardwareOperands, ReachEveryClass) {
    constexpr Operation operations[] = {{"FADD", 2, f32, f32, Operation::sum},
                                        {"FMUL", 2, f32, f32, Operation::product},
                                        {"FFMA", 3, f32, f32, Operation::fused},
                                        {"DADD", 2, f64, f64, Operation::sum},
                                        {"DMUL", 2, f64, f64, Operation::product},
                                        {"DFMA", 3, f64, f64, Operation::fused},
                                        {"HADD2", 2, f16, f16, Operation::sum},
                                        {"HMUL2", 2, f16, f16, Operation::product},
                                        {"HFMA2", 3, f16, f16, Operation::fused},
                                        {"HADD2.BF16", 2, bf16, bf16, Operation::sum},
                                        {"HMUL2.BF16", 2, bf16, bf16, Operation::product},
                                        {"HFMA2.BF16", 3, bf16, bf16, Operation::fused},
                                        {"F2F.F32.F64", 1, f64, f32, Operation::conversion},
                                        {"F2F.F16.F32", 1, f32, f16, Operation::conversion},
                                        {"F2F.BF16.F32", 1, f32, bf16, Operation::conversion}};
    constexpr uint32_t warps = 2048, lanes = 32, tuples = warps * lanes;
    std::printf("of %u tuples, in percent:\n%-14s", tuples, "");
    for (const char* name : class_names) std::printf("%11s", name);
    std::printf("\n");
    for (const Operation& op : operations) {
        uint32_t count[classes] = {};
        for (uint32_t warp = 0; warp < warps; ++warp) {
            uint32_t pair[3];  // of registers, other ones in each warp
            for (uint32_t i = 0; i < 3; ++i)
                pair[i] = static_cast<uint32_t>(mix(3 * warp + i) % (slot_registers / 2));
            for (uint32_t lane = 0; lane < lanes; ++lane) {
                Operands x;
                for (int i = 0; i < 3; ++i) {
                    x.low[i] = operand(warp, 2 * pair[i], lane);
                    x.high[i] = operand(warp, 2 * pair[i] + 1, lane);
                }
                ++count[op.from.mantissa == 52 ? class_of<Quad>(op, x) : class_of<double>(op, x)];
            }
        }
        std::printf("%-14s", op.name);
        for (const uint32_t n : count) std::printf("%11.2f", 100.0 * n / tuples);
        std::printf("\n");
        const bool overflows = op.kind != Operation::conversion || op.to.largest < op.from.largest;
        for (int c = 0; c < classes; ++c)
            if (c != too_large || overflows) {
                EXPECT_GT(count[c], tuples / 10000) << op.name << ", " << class_names[c];
            }
        EXPECT_GT(count[below] + count[tie] + count[above], tuples / 20)
            << op.name << " hardly ever rounds";
    }
}

}  // namespace
}  // namespace sassemu::test
