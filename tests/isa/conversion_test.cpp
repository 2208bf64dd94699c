// SPDX-License-Identifier: Apache-2.0
// Conversions against exact models, on shuffled words, at every level; fp8 over all codes.
#include <algorithm>

#include "tests/isa/float_model.hpp"
#include "tests/isa/random_words.hpp"

namespace sassemu::test {
namespace {

using typed::FloatFormat;
using typed::IntFormat;

Format format_of(FloatFormat f) {
    return f == FloatFormat::F16   ? f16
           : f == FloatFormat::F32 ? f32
           : f == FloatFormat::F64 ? f64
                                   : bf16;
}
// The source's bits in its format, with the signs and the flush of the instruction.
template <class T>
uint64_t float_source(const Lane& l, const T& i, FloatFormat from) {
    const Format f = format_of(from);
    uint64_t v = l.src64(i.b);
    if (from == FloatFormat::F32) v = static_cast<uint32_t>(v);
    if (from == FloatFormat::F16 || from == FloatFormat::BF16)
        v = (i.half == typed::HalfSelect::H1 ? v >> 16 : v) & 0xffff;
    // As measured on an H200: |x| and -x leave a NaN alone, where it shows; .FTZ flushes all
    // formats.
    if (!is_nan(f, v)) v = modified(f, v, i.b.abs, i.b.neg);
    return flushed(f, v, i.ftz);
}
void set_result(const Lane& l, const typed::Reg& d, bool wide, uint64_t v) {
    wide ? l.set64(d, v) : l.set(d, static_cast<uint32_t>(v));
}
int bits_of(IntFormat f) { return 8 << (static_cast<int>(f) / 2); }
bool is_signed(IntFormat f) { return static_cast<int>(f) & 1; }

__int128 integral(Quad v, int mode) {
    const __int128 whole = static_cast<__int128>(v);
    const Quad part = v - static_cast<Quad>(whole);
    if (part == 0) return whole;
    const bool negative = part < 0;
    if (mode == 1) return whole - negative;
    if (mode == 2) return whole + !negative;
    if (mode == 3) return whole;
    const Quad size = negative ? -part : part, half = static_cast<Quad>(0.5);
    const bool away = size > half || (size == half && (whole & 1));
    return whole + (away ? (negative ? -1 : 1) : 0);
}

struct Model {
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
    void operator()(const Lane& l, const typed::F2f& i) const {
        const Format to = format_of(i.dst);
        const Format from = format_of(i.src);
        const uint64_t v = float_source(l, i, i.src);
        uint64_t r = flushed(to, converted(from, to, v, static_cast<int>(i.rnd)), i.ftz);
        // With an fp64 side a NaN keeps its sign and the upper bits of its payload, quieted.
        if (is_nan(from, v) && (i.src == FloatFormat::F64 || i.dst == FloatFormat::F64)) {
            const int up = to.fraction_bits - from.fraction_bits;
            const uint64_t payload = v & ((uint64_t{1} << from.fraction_bits) - 1);
            r = (v & from.sign() ? to.sign() : 0) | to.infinity() |
                (up > 0 ? payload << up : payload >> -up) | uint64_t{1} << (to.fraction_bits - 1);
        }
        set_result(l, i.d, i.dst == FloatFormat::F64, r);
    }
    void operator()(const Lane& l, const typed::F2i& i) const {
        const Format f = format_of(i.src);
        const uint64_t v = float_source(l, i, i.src);
        const int bits = bits_of(i.dst);
        const bool s = is_signed(i.dst);
        const __int128 high = ((__int128{1}) << (bits - s)) - 1, low = s ? -high - 1 : 0;
        __int128 r;
        if (is_nan(f, v))
            r = i.ntz ? 0 : __int128{1} << (bits - 1);  // not extended to the register
        else if (is_infinite(f, v))
            r = v & f.sign() ? low : high;
        else {
            const Quad x = value(f, v), limit = power_of_two(80);
            r = x > limit ? high : x < -limit ? low : integral(x, static_cast<int>(i.rnd));
            r = std::clamp(r, low, high);
        }
        set_result(l, i.d, bits == 64, static_cast<uint64_t>(r));
    }
    template <class T>
    static void from_integer(const Lane& l, const T& i, int byte, int half, int mode) {
        const int bits = bits_of(i.src);
        uint64_t v = l.src64(i.b);
        if (bits == 8) v >>= byte * 8;
        if (bits == 16) v >>= half * 16;
        const Format to = format_of(i.dst);
        const __int128 n = is_signed(i.src)
                               ? static_cast<int64_t>(v << (64 - bits)) >> (64 - bits)
                               : static_cast<__int128>(v << (64 - bits) >> (64 - bits));
        const uint64_t r = n ? rounded(to, static_cast<Quad>(n), 0, mode) : 0;
        set_result(l, i.d, i.dst == FloatFormat::F64, r);
    }
    void operator()(const Lane& l, const typed::I2f& i) const {
        from_integer(l, i, static_cast<int>(i.byte), static_cast<int>(i.half),
                     static_cast<int>(i.rnd));
    }
    void operator()(const Lane& l, const typed::I2fp& i) const { from_integer(l, i, 0, 0, i.rnd); }
    void operator()(const Lane& l, const typed::Frnd& i) const {
        const Format f = format_of(i.format);
        const uint64_t v = float_source(l, i, i.format);
        uint64_t r = v;
        if (is_nan(f, v)) {
            r = i.format == FloatFormat::F64 ? v | uint64_t{1} << 51 : f.nan;
        } else if (!is_infinite(f, v)) {
            const Quad x = value(f, v), limit = power_of_two(60);
            if (x < limit && x > -limit) {
                const __int128 n = integral(x, static_cast<int>(i.rnd));
                r = n ? rounded(f, static_cast<Quad>(n), 0, 0) : v & f.sign();
            }
        }
        set_result(l, i.d, i.format == FloatFormat::F64, r);
    }
    void operator()(const Lane& l, const typed::F2fpPack& i) const {
        const Format to = format_of(i.dst);
        uint64_t r[2];
        for (int k = 0; k < 2; ++k) {
            r[k] = converted(f32, to, l.src(k ? i.a : i.b), static_cast<int>(i.rnd));
            if (i.satfinite && is_infinite(to, r[k])) --r[k];
            if (i.relu && !is_nan(to, r[k]) && (r[k] & to.sign())) r[k] = 0;
        }
        l.set(i.d, static_cast<uint32_t>(r[0] | r[1] << 16));
    }
    void operator()(const Lane& l, const typed::F2fpTf32& i) const {
        const uint32_t v = l.src(i.b);
        const Format tf32{8, 10, 0x3ffff};
        uint64_t r = converted(f32, tf32, v, static_cast<int>(i.rnd)) << 13;
        if (is_nan(f32, v))
            r = 0x7fffe000;
        else if (i.relu && v >> 31)
            r = 0;
        l.set(i.d, static_cast<uint32_t>(r));
    }
    void operator()(const Lane& l, const typed::F2ip& i) const {
        uint32_t r = (l.src(i.c) >> (i.half == typed::HalfSelect::H1 ? 16 : 0)) << 16;
        for (int k = 0; k < 2; ++k) {
            const uint32_t v = l.src(k ? i.a : i.b);
            const __int128 low = i.dst && !i.relu ? -128 : 0, high = i.dst ? 127 : 255;
            __int128 n = i.ntz || (i.relu && i.dst) ? 0 : 0x80;
            if (is_infinite(f32, v))
                n = v >> 31 ? low : high;
            else if (!is_nan(f32, v)) {
                const Quad x = value(f32, v);
                n = x > 1000 ? high : x < -1000 ? low : std::clamp(integral(x, i.rnd), low, high);
            }
            r |= (static_cast<uint32_t>(n) & 0xff) << (8 * k);
        }
        l.set(i.d, r);
    }
};

class ConversionWords : public ::testing::TestWithParam<Entry> {};
TEST_P(ConversionWords, EveryFormAgreesWithTheModelAtEveryLevel) {
    check_forms(GetParam(), 400, Model());
}
// Bits 86:84 and 77:75 choose formats, 61:60 the half or byte, 80:77 rounding and flush.
const Entry entries[] = {
    {"F2F from f32",
     "sm_90",
     "00000000002008000000000200007304",
     {rrr, rcr, rur},
     {80, 78, 63, 62},
     false},
    {"F2F to bf16",
     "sm_90",
     "00000000002020000000000200007304",
     {rrr, rur},
     {80, 78, 63, 62},
     false},
    {"F2F from f16",
     "sm_90",
     "00000000001010000000000200007304",
     {rrr, rur},
     {80, 78, 63, 62, 60, 60},
     false},
    {"F2F from bf16",
     "sm_90",
     "00000000004008000000000200007304",
     {rrr, rur},
     {80, 78, 63, 62, 60, 60},
     false},
    {"F2F to f64",
     "sm_90",
     "00000000002018000000000200007310",
     {rrr, rur},
     {80, 78, 63, 62},
     false},
    {"F2F f16 to f64",
     "sm_90",
     "00000000001018000000000200007310",
     {rrr, rur},
     {80, 78, 63, 62, 60, 60},
     false},
    {"F2F f64 to f32",
     "sm_90",
     "00000000003010000000000200007310",
     {rrr, rcr, rur},
     {80, 78, 63, 62},
     false},
    {"F2F f64 to f16",
     "sm_90",
     "00000000003008000000000200007310",
     {rrr, rur},
     {80, 78, 63, 62},
     false},
    {"F2F f64 to bf16",
     "sm_90",
     "00000000003020000000000200007310",
     {rrr, rur},
     {80, 78, 63, 62},
     false},
    {"F2I f32",
     "sm_90",
     "00000000002031000000000200007305",
     {rrr, rcr, rur},
     {80, 75, 72, 72, 63, 62},
     false},
    {"F2I f16",
     "sm_90",
     "00000000001031000000000200007305",
     {rrr, rur},
     {80, 75, 72, 72, 63, 62, 60, 60},
     false},
    {"F2I f64",
     "sm_90",
     "00000000003019000000000200007311",
     {rrr, rcr, rur},
     {80, 75, 72, 72, 63, 62},
     false},
    {"F2I f32 wide",
     "sm_90",
     "00000000002019000000000200007311",
     {rrr, rur},
     {80, 77, 72, 72, 63, 62},
     false},
    {"I2F s32",
     "sm_90",
     "00000000002014000000000200007306",
     {rrr, rcr, rur},
     {79, 78, 74, 74},
     false},
    {"I2F f16", "sm_90", "00000000002008000000000200007306", {rrr, rur}, {79, 78, 74, 74}, false},
    {"I2F bf16", "sm_90", "00000000002020000000000200007306", {rrr, rur}, {79, 78, 74, 74}, false},
    {"I2F s16",
     "sm_90",
     "00000000001014000000000200007306",
     {rrr, rur},
     {79, 78, 74, 74, 60, 60},
     false},
    {"I2F s8",
     "sm_90",
     "00000000000014000000000200007306",
     {rrr, rur},
     {79, 78, 74, 74, 61, 60},
     false},
    {"I2F s64",
     "sm_90",
     "00000000003010000000000200007312",
     {rrr, rcr, rur},
     {79, 78, 74, 74},
     false},
    {"I2F s64 f64",
     "sm_90",
     "00000000003018000000000200007312",
     {rrr, rur},
     {79, 78, 74, 74},
     false},
    {"I2F s64 bf16",
     "sm_90",
     "00000000003020000000000200007312",
     {rrr, rur},
     {79, 78, 74, 74},
     false},
    {"I2F s32 f64",
     "sm_90",
     "00000000002018000000000200007312",
     {rrr, rur},
     {79, 78, 74, 74},
     false},
    {"I2FP",
     "sm_90",
     "00000000002014000000000200007245",
     {rrr, rir, rcr, rur},
     {79, 78, 74, 74},
     false},
    {"FRND f32",
     "sm_90",
     "00000000002010000000000200007307",
     {rrr, rcr, rur},
     {80, 78, 63, 62},
     false},
    {"FRND f16",
     "sm_90",
     "00000000001008000000000200007307",
     {rrr, rur},
     {80, 78, 63, 62, 60, 60},
     false},
    {"FRND f64",
     "sm_90",
     "00000000003018000000000200007313",
     {rrr, rcr, rur},
     {80, 78, 63, 62},
     false},
    {"F2FP pack",
     "sm_90",
     "0000000000000000000000020000723e",
     {rrr, rir, rcr, rur},
     {80, 79, 77, 75},
     false},
    {"F2FP tf32",
     "sm_90",
     "0000000002405000000000020000723e",
     {rrr, rir, rur},
     {80, 79, 75, 75},
     false},
    {"F2IP", "sm_90", "00000000000014040000000200007243", {rrr, rir, rcr, rur}, {76, 74, 72, 72}},
    {"F2IP trunc",
     "sm_90",
     "000000000000d4040000000200007243",
     {rrr, rir, rcr, rur},
     {76, 74, 72, 72}},
};
INSTANTIATE_TEST_SUITE_P(Isa, ConversionWords, ::testing::ValuesIn(entries),
                         [](const auto& i) { return test_name(i.param.name); });

// Both fp8 formats through a table of all finite values: the nearest one, ties to even codes.
struct Fp8 {
    int fraction, bias;
    uint32_t largest;
    double value(uint32_t code) const {
        const int field = static_cast<int>(code & 0x7f) >> fraction;
        const double m = static_cast<double>(code & ((1u << fraction) - 1)) / (1 << fraction);
        return static_cast<double>(power_of_two((field ? field : 1) - bias)) * (field ? 1 + m : m);
    }
    uint32_t nearest(double x) const {
        uint32_t best = 0;
        for (uint32_t c = 1; c <= largest; ++c) {
            const double to_best = x - value(best), to_c = value(c) - x;
            if (to_c < to_best || (to_c == to_best && c % 2 == 0)) best = c;
        }
        return best;
    }
};
const Fp8 e4m3{3, 7, 0x7e}, e5m2{2, 15, 0x7b};

uint32_t run_pack(const LevelTable* level, const char* word, uint32_t a, uint32_t b, uint32_t c) {
    Machine m(level);
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.r(90, lane) = a;
        m.r(93, lane) = b;
        m.r(4, lane) = c;
    }
    EXPECT_EQ(m.step("sm_90", Word(word)), Outcome::ok) << m.sass;
    return m.r(6, 3);
}
TEST(Conversion, PackingToFp8RoundsToNearestAndSaturates) {
    const char* const to_e4m3 =
        "000fe4000480700400"
        "00005d5a06723e";
    const char* const to_e5m2 =
        "000fe4000480600400"
        "00005d5a06723e";
    std::mt19937 rng(8);
    for (const LevelTable* level : levels()) {
        for (int round = 0; round < 300; ++round) {
            const bool four = round % 2;
            const Fp8& f = four ? e4m3 : e5m2;
            const int e = static_cast<int>(rng() % 40) - 24;
            uint32_t bits = static_cast<uint32_t>(127 + e) << 23 | (rng() & 0x7fffff);
            if (round % 3 == 0) bits &= 0xfff80000u;  // ties
            const uint32_t low = rng();
            float x;
            std::memcpy(&x, &bits, 4);
            const uint32_t r =
                run_pack(level, four ? to_e4m3 : to_e5m2, bits | 0x80000000u, bits, low);
            const uint32_t code = f.nearest(x);
            EXPECT_EQ(r, (low << 16 | (code | 0x80) << 8 | code)) << std::hex << bits;
        }
        EXPECT_EQ(run_pack(level, to_e4m3, 0x7fc00000u, 0x7f800000u, 0) & 0xffff, 0x7f7eu);
        EXPECT_EQ(run_pack(level, to_e5m2, 0xffc00000u, 0xff800000u, 0) & 0xffff, 0x7ffbu);
    }
}
TEST(Conversion, UnpackingFp8IsExact) {
    const char* const from_e4m3 = "000fe400020006ff0000005dff06723e";
    const char* const from_e5m2 = "000fe400020004ff0000005dff06723e";
    for (const LevelTable* level : levels()) {
        for (uint32_t code = 0; code < 256; ++code) {
            const uint32_t v4 = run_pack(level, from_e4m3, 0, code << 8 | 0x38u, 0);
            const uint32_t v5 = run_pack(level, from_e5m2, 0, code << 8 | 0x3cu, 0);
            EXPECT_EQ(v4 & 0xffff, 0x3c00u);
            EXPECT_EQ(v5 & 0xffff, 0x3c00u);
            const double s = code & 0x80 ? -1 : 1;
            if ((code & 0x7f) <= 0x7e)
                EXPECT_EQ(static_cast<double>(value(f16, v4 >> 16)), s * e4m3.value(code)) << code;
            else
                EXPECT_EQ(v4 >> 16, 0x7fffu);
            if ((code & 0x7f) <= 0x7b)
                EXPECT_EQ(static_cast<double>(value(f16, v5 >> 16)), s * e5m2.value(code)) << code;
            else if ((code & 0x7f) > 0x7c)
                EXPECT_EQ(v5 >> 16, 0x7fffu);
        }
    }
}

}  // namespace
}  // namespace sassemu::test
