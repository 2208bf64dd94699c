// SPDX-License-Identifier: Apache-2.0
// The integer family against models of one lane, on shuffled words, at every host level.
#include <numeric>
#include <string_view>

#include "tests/isa/integer_model.hpp"

namespace sassemu::test {
namespace {

int64_t as_signed(uint64_t v, int bits) {
    return static_cast<int64_t>(v << (64 - bits)) >> (64 - bits);
}

// Applies f to the elements of a, b as numbers and puts the results together.
template <class F>
uint32_t elementwise(typed::VMinMaxType t, uint32_t a, uint32_t b, const F& f) {
    const bool packed = t == typed::VMinMaxType::U16x2 || t == typed::VMinMaxType::S16x2;
    const bool is_signed = t == typed::VMinMaxType::S32 || t == typed::VMinMaxType::S16x2;
    const int bits = packed ? 16 : 32;
    uint64_t r = 0;
    for (int at = 0; at < 32; at += bits) {
        const uint64_t m = (uint64_t{1} << bits) - 1, x = a >> at & m, y = b >> at & m;
        const int64_t v = is_signed ? f(as_signed(x, bits), as_signed(y, bits))
                                    : f(static_cast<int64_t>(x), static_cast<int64_t>(y));
        r |= (static_cast<uint64_t>(v) & m) << at;
    }
    return static_cast<uint32_t>(r);
}
uint32_t extreme(const Lane& l, typed::VMinMaxType t, const typed::Pred& minimum, uint32_t a,
                 uint32_t b) {
    const bool min = l.pred(minimum);
    return elementwise(t, a, b,
                       [&](int64_t x, int64_t y) { return min ? std::min(x, y) : std::max(x, y); });
}
template <class T>
uint32_t relu(const T& i, uint32_t v) {
    if (!i.relu) return v;
    return elementwise(i.type, v, 0, [](int64_t x, int64_t) { return std::max<int64_t>(x, 0); });
}
int64_t saturated(int64_t v, int bits, bool is_signed) {
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    return std::clamp(v, low, high);
}

struct Model {
    std::string_view arch;

    void operator()(const Lane& l, const typed::Iadd3& i) const { model_add3(l, i); }
    void operator()(const Lane& l, const typed::Imad& i) const { model_mad(l, i); }
    void operator()(const Lane& l, const typed::ImadWide& i) const { l.set64(i.d, mad64(l, i)); }
    void operator()(const Lane& l, const typed::ImadHi& i) const {
        l.set(i.d, static_cast<uint32_t>(mad64(l, i) >> 32));
    }
    void operator()(const Lane& l, const typed::Lea& i) const { model_lea(l, i); }
    void operator()(const Lane& l, const typed::Shf& i) const { model_shift(l, i); }
    void operator()(const Lane& l, const typed::Lop3& i) const { model_logic(l, i); }
    void operator()(const Lane& l, const typed::Bmsk& i) const { model_mask(l, i); }
    void operator()(const Lane& l, const typed::Sgxt& i) const { model_extend(l, i); }
    void operator()(const Lane& l, const typed::Flo& i) const { model_find(l, i); }
    void operator()(const Lane& l, const typed::Popc& i) const {
        uint32_t n = 0;
        for (uint32_t v = l.flipped(i.a); v; v >>= 1) n += v & 1;
        l.set(i.d, n);
    }
    void operator()(const Lane& l, const typed::Brev& i) const {
        uint32_t r = 0;
        for (int bit = 0; bit < 32; ++bit) r = r << 1 | (l.src(i.a) >> bit & 1);
        l.set(i.d, r);
    }
    void operator()(const Lane& l, const typed::Isetp& i) const { model_compare(l, i); }
    void operator()(const Lane& l, const typed::Iabs& i) const {
        const uint32_t a = l.src(i.a);
        l.set(i.d, a >> 31 ? 0 - a : a);
    }
    void operator()(const Lane& l, const typed::Imnmx& i) const {
        const auto t =
            i.type == typed::SignType::S32 ? typed::VMinMaxType::S32 : typed::VMinMaxType::U32;
        l.set(i.d, extreme(l, t, i.pa, l.src(i.a), l.src(i.b)));
    }
    void operator()(const Lane& l, const typed::Vimnmx& i) const {
        const uint32_t a = l.src(i.a), r = relu(i, extreme(l, i.type, i.pa, a, l.src(i.b)));
        l.set(i.d, r);
        // Whether a is the result, of the upper and of the lower element; the lower one wins.
        const bool packed =
            i.type == typed::VMinMaxType::U16x2 || i.type == typed::VMinMaxType::S16x2;
        l.setp(i.pd2, packed ? r >> 16 == a >> 16 : r == a);
        l.setp(i.pd, packed ? (r & 0xffff) == (a & 0xffff) : r == a);
    }
    void operator()(const Lane& l, const typed::Vimnmx3& i) const {
        const uint32_t first = extreme(l, i.type, i.pa, l.src(i.a), l.src(i.b));
        l.set(i.d, relu(i, extreme(l, i.type, i.pa, first, l.src(i.c))));
    }
    void operator()(const Lane& l, const typed::Viaddmnmx& i) const {
        const uint32_t sum = elementwise(i.type, l.src(i.a), l.src(i.b), [&](int64_t x, int64_t y) {
            return i.b.neg ? x - y : x + y;
        });
        l.set(i.d, relu(i, extreme(l, i.type, i.pa, sum, l.src(i.c))));
    }
    void operator()(const Lane& l, const typed::Viadd& i) const {
        const auto t = i.simd ? typed::VMinMaxType::U16x2 : typed::VMinMaxType::U32;
        l.set(i.d, elementwise(t, l.src(i.a), l.src(i.b),
                               [&](int64_t x, int64_t y) { return i.b.neg ? x - y : x + y; }));
    }
    void operator()(const Lane& l, const typed::Vabsdiff& i) const {
        const auto t = i.type ? typed::VMinMaxType::S32 : typed::VMinMaxType::U32;
        const uint32_t d = elementwise(t, l.src(i.a), l.src(i.b),
                                       [](int64_t x, int64_t y) { return std::abs(x - y); });
        l.set(i.d, d + l.src(i.c));
        l.setp(i.pd, uint64_t{d} + l.src(i.c) > 0xffffffff);
    }
    void operator()(const Lane& l, const typed::Vabsdiff4& i) const {
        uint64_t r = i.acc ? l.src(i.c) : 0;
        for (int at = 0; at < 32; at += 8) {
            const uint64_t a = l.src(i.a) >> at & 255, b = l.src(i.b) >> at & 255;
            const int64_t x = i.type ? as_signed(a, 8) : static_cast<int64_t>(a);
            const int64_t y = i.type ? as_signed(b, 8) : static_cast<int64_t>(b);
            const auto d = static_cast<uint64_t>(std::abs(x - y));
            r += i.acc ? d : d << at;
        }
        l.set(i.d, static_cast<uint32_t>(r));
        l.setp(i.pd, r > 0xffffffff);
    }
    void operator()(const Lane& l, const typed::Idp& i) const {
        const uint32_t c = l.src(i.c);
        int64_t sum = i.c.neg ? -int64_t{c} : int64_t{c};
        const int elements = i.mode ? 2 : 4, bits = i.mode ? 16 : 8;
        for (int k = 0; k < elements; ++k) {
            const uint64_t a = l.src(i.a) >> (k * bits) & ((1u << bits) - 1);
            const uint64_t b = l.src(i.b) >> (k * 8 + (i.mode && i.half ? 16 : 0)) & 255;
            sum += (i.ta ? as_signed(a, bits) : static_cast<int64_t>(a)) *
                   (i.tb ? as_signed(b, 8) : static_cast<int64_t>(b));
        }
        l.set(i.d, static_cast<uint32_t>(sum));
    }
    void operator()(const Lane& l, const typed::I2ip& i) const {
        const bool is_signed = i.type == typed::I2ipType::S8 || i.type == typed::I2ipType::S16;
        const int bits = i.type == typed::I2ipType::U8 || i.type == typed::I2ipType::S8 ? 8 : 16;
        const uint64_t m = (uint64_t{1} << bits) - 1;
        const bool sm_80 = arch == "sm_80";  // saturates always
        const auto pack = [&](const typed::Src& s) {
            int64_t v = as_signed(l.src(s), 32);
            if (!sm_80 && i.sat == 2) v = std::max<int64_t>(v, 0);
            if (sm_80 || i.sat) v = saturated(v, bits, is_signed);
            return static_cast<uint64_t>(v) & m;
        };
        uint64_t r = pack(i.b) | pack(i.a) << bits;
        if (bits == 8) r |= uint64_t{l.src(i.c)} >> (i.half ? 16 : 0) << 16;
        l.set(i.d, static_cast<uint32_t>(r));
    }
    // What came with sm_100 and sm_120.
    void operator()(const Lane& l, const typed::Iadd& i) const {
        const uint64_t more = i.x ? l.pred(i.pa) : static_cast<uint64_t>(i.a.neg) + i.b.neg;
        if (i.b64) {
            const Wide sum = Wide{l.flipped64(i.a)} + l.flipped64(i.b) + more;
            l.set64(i.d, static_cast<uint64_t>(sum));
            l.setp(i.pd, sum >> 64 != 0);
        } else {
            const uint64_t sum = uint64_t{l.flipped(i.a)} + l.flipped(i.b) + more;
            l.set(i.d, static_cast<uint32_t>(sum));
            l.setp(i.pd, sum >> 32 != 0);
        }
    }
    void operator()(const Lane& l, const typed::ImnmxWide& i) const {
        const bool min = l.pred(i.pa);
        const auto pick = [&](auto a, auto b) {
            return static_cast<uint64_t>(min ? std::min(a, b) : std::max(a, b));
        };
        const uint64_t a = l.src64(i.a), b = l.src64(i.b);
        const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
        switch (i.type) {
            case typed::WideMinMaxType::U32:
                return l.set(i.d, static_cast<uint32_t>(pick(x, y)));
            case typed::WideMinMaxType::S32:
                return l.set(i.d, static_cast<uint32_t>(
                                      pick(static_cast<int32_t>(x), static_cast<int32_t>(y))));
            case typed::WideMinMaxType::U64:
                return l.set64(i.d, pick(a, b));
            case typed::WideMinMaxType::S64:
                return l.set64(i.d, pick(static_cast<int64_t>(a), static_cast<int64_t>(b)));
        }
    }
    void operator()(const Lane& l, const typed::Sel64& i) const {
        l.set64(i.d, l.pred(i.pa) ? l.src64(i.a) : l.src64(i.b));
    }
    void operator()(const Lane& l, const typed::Mov64& i) const { l.set64(i.d, l.src64(i.a)); }
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
};

// Modifiers and predicates in 90:72; sources of a second predicate in 71:68.
const Entry entries[] = {
    {"IADD3", "sm_80", "000fca0007ffe0ff0000000600047210", {rrr, rir, rcr, rur}, {90, 72, 63, 63}},
    {"IMAD",
     "sm_80",
     "000fe200078e02ff0000000a0f107224",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {90, 72}},
    {"IMAD.WIDE",
     "sm_80",
     "000fe200078e02280000000a18287225",
     {rrr, rrc, rir, rcr, rur, rru},
     {90, 72}},
    {"IMAD.HI",
     "sm_80",
     "000fe200078e02280000000a18287227",
     {rrr, rrc, rir, rcr, rur, rru},
     {90, 72}},
    {"LEA", "sm_80", "000fe200078e20ff0000000609087211", {rrr, rir, rcr, rur}, {90, 72, 63, 63}},
    {"LEA immediate above", "sm_80", "000fe400008f1c2fffffffff262f7411", {rri}, {90, 81, 79, 74}},
    {"SHF",
     "sm_80",
     "000fe2000001161b0000001aff1a7219",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {80, 72}},
    {"LOP3", "sm_80", "000fca00078e1e050000000a06047212", {rrr, rir, rcr, rur}, {90, 72}},
    {"BMSK", "sm_80", "000fe200000000ff000000050650721b", {rrr, rir, rcr, rur}, {80, 72}, false},
    {"SGXT", "sm_80", "000fe200000000090000000a0a09721a", {rrr, rir, rcr, rur}, {80, 72}, false},
    {"FLO",
     "sm_80",
     "000e2200000e00000000003800ff7300",
     {rrr, rir, rcr, rur},
     {83, 81, 75, 72, 63, 63},
     false},
    {"POPC", "sm_80", "000e22000000000000000009ff097309", {rrr, rir, rcr, rur}, {63, 63}, false},
    {"BREV", "sm_80", "000e22000000000000000002ff027301", {rrr, rir, rcr, rur}, {}, false},
    {"ISETP",
     "sm_80",
     "000fe20005f24270000000ff4e00720c",
     {rrr, rir, rcr, rur},
     {90, 72, 71, 68},
     false},
    {"IABS", "sm_80", "000fe2000000000000000043002a7213", {rrr, rir, rcr, rur}, {}, false},
    {"IMNMX", "sm_80", "000fe400038002000000000706077217", {rrr, rir, rcr, rur}, {90, 72}, false},
    {"VIMNMX",
     "sm_90",
     "000fe20003fe03000000000200007248",
     {rrr, rir, rcr, rur},
     {90, 87, 80, 72},
     false},
    {"VIMNMX3", "sm_90", "000fe400038000020000000a0908720f", {rrr, rir, rcr, rur}, {90, 72}},
    {"VIADDMNMX",
     "sm_90",
     "000fe200078003160000001504167246",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {90, 72, 63, 63}},
    {"VIADD",
     "sm_90",
     "000fe2000000000000002040090f7236",
     {rrr, rir, rcr, rur},
     {75, 72, 63, 63},
     false},
    {"VABSDIFF",
     "sm_80",
     "000fe200000e00080000000604027214",
     {rrr, rri, rir, rcr, rur},
     {83, 81, 80, 72}},
    {"VABSDIFF4",
     "sm_80",
     "000fe200000e00080000000604027215",
     {rrr, rri, rir, rcr, rur},
     {83, 81, 80, 72}},
    {"IDP", "sm_80", "000fe2000000060900000012120c7226", {rrr, rcr, rur}, {80, 72}},
    {"I2IP sm_80",
     "sm_80",
     "000fe400000010ff0000002725057239",
     {rrr, rir, rcr, rur},
     {77, 76, 72, 72}},
    {"I2IP sm_90",
     "sm_90",
     "000fc600000014960000009394937239",
     {rrr, rir, rcr, rur},
     {77, 74, 72, 72}},
    {"IADD",
     "sm_120",
     "000fe400078e0100000000102c2a7235",
     {rrr, rir, rur},
     {90, 81, 74, 74, 72, 72, 63, 63},
     false},
    {"IADD.64",
     "sm_120",
     "000fe400078e0200000000102c2a7235",
     {rrr, rir, rur},
     {90, 81, 72, 72, 63, 63},
     false},
    {"IMNMX.S64",
     "sm_120",
     "040fe4000bffe6000000001024127217",
     {rrr, rir, rur},
     {87, 87, 74, 73},
     false},
    {"ISETP.S64",
     "sm_120",
     "040fe40003fb6270000000040e00720c",
     {rrr, rir, rur},
     {90, 81, 78, 73},
     false},
    {"SEL.64", "sm_120", "000fe40004000000000000ff121a1607", {0x600}, {90, 87}, false},
};

class Integer : public ::testing::TestWithParam<Entry> {};

TEST_P(Integer, AsTheModelSays) { check_forms(GetParam(), 400, Model{GetParam().arch}); }
INSTANTIATE_TEST_SUITE_P(Entries, Integer, ::testing::ValuesIn(entries),
                         [](const auto& info) { return test_name(info.param.name); });

}  // namespace
}  // namespace sassemu::test
