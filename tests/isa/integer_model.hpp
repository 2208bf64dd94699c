// SPDX-License-Identifier: Apache-2.0
// What integer instructions do to one lane, in the plainest words there are. Vector and uniform
// forms have the same fields and share these models.
#pragma once

#include <algorithm>

#include "tests/isa/random_words.hpp"

namespace sassemu::test {

using Wide = unsigned __int128;

inline bool negated(const typed::Src& s) { return s.neg; }

// Sums: a negated operand is its complement plus one; a carry is what does not fit the result.
template <class T>
void model_add3(const Lane& l, const T& i) {
    uint64_t sum = uint64_t{l.flipped(i.a)} + l.flipped(i.b) + l.flipped(i.c);
    sum += i.x ? static_cast<uint64_t>(l.pred(i.pa)) + l.pred(i.pb)
               : static_cast<uint64_t>(negated(i.a)) + negated(i.b) + negated(i.c);
    l.set(i.d, static_cast<uint32_t>(sum));
    l.setp(i.pd2, sum >> 32 >= 2);
    l.setp(i.pd, sum >> 32 >= 1);  // last: one predicate for both holds the first (H200)
}
template <class T>
uint64_t carry_in(const Lane& l, const T& i) {
    return i.x ? l.pred(i.pa) : negated(i.c);
}
template <class T>
void model_mad(const Lane& l, const T& i) {
    l.set(i.d, static_cast<uint32_t>(l.src(i.a) * l.src(i.b) + l.flipped(i.c) + carry_in(l, i)));
}
// The 64-bit sum and what it carries out.
template <class T>
uint64_t mad64(const Lane& l, const T& i) {
    const uint64_t product = i.type == typed::SignType::S32
                                 ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(l.src(i.a))} *
                                                         static_cast<int32_t>(l.src(i.b)))
                                 : uint64_t{l.src(i.a)} * l.src(i.b);
    const Wide sum = Wide{product} + l.flipped64(i.c) + carry_in(l, i);
    l.setp(i.pd, sum >> 64 != 0);
    return static_cast<uint64_t>(sum);
}
template <class T>
void model_lea(const Lane& l, const T& i) {
    const unsigned n = static_cast<unsigned>(i.shift.imm);
    const uint32_t a = l.src(i.a);
    uint64_t v = a;
    if (i.sx32)
        v = static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)});
    else if (i.hi)
        v |= uint64_t{l.src(i.c)} << 32;
    uint32_t t = static_cast<uint32_t>(i.hi ? v << n >> 32 : v << n);
    if (i.a.neg || i.a.inv) t = ~t;
    uint64_t sum = uint64_t{t} + l.flipped(i.b);
    sum += i.x ? l.pred(i.pa) : static_cast<uint64_t>(negated(i.a)) + negated(i.b);
    l.set(i.d, static_cast<uint32_t>(sum));
    l.setp(i.pd, sum >> 32 != 0);
}
template <class T>
void model_shift(const Lane& l, const T& i) {
    const bool wide = i.type == typed::ShfType::S64 || i.type == typed::ShfType::U64;
    const bool is_signed = i.type == typed::ShfType::S64 || i.type == typed::ShfType::S32;
    const uint32_t width = wide ? 64 : 32, b = l.src(i.b);
    const uint32_t n = i.wrap ? b % width : std::min(b, width);
    // 128 bits, so that no count is too large for C++.
    const uint64_t v = uint64_t{l.src(i.c)} << 32 | l.src(i.a);
    const Wide extended =
        is_signed ? static_cast<Wide>(static_cast<__int128>(static_cast<int64_t>(v))) : Wide{v};
    const uint64_t r =
        static_cast<uint64_t>(i.dir == typed::ShiftDir::L ? Wide{v} << n : extended >> n);
    l.set(i.d, static_cast<uint32_t>(i.hi ? r >> 32 : r));
}
template <class T>
void model_logic(const Lane& l, const T& i) {
    const uint32_t a = l.src(i.a), b = l.src(i.b), c = l.src(i.c);
    uint32_t r = 0;
    for (int bit = 0; bit < 32; ++bit) {
        const unsigned at = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
        r |= static_cast<uint32_t>(i.lut.imm >> at & 1) << bit;
    }
    l.set(i.d, r);
    l.setp(i.pd, i.pand ? r != 0 && l.pred(i.pa) : r != 0 || l.pred(i.pa));
}
template <class T>
void model_mask(const Lane& l, const T& i) {
    uint64_t p = l.src(i.a), n = l.src(i.b);
    if (i.wrap) p %= 32, n %= 32;
    uint32_t r = 0;
    for (uint64_t bit = p; bit < 32 && bit < p + n; ++bit) r |= 1u << bit;
    l.set(i.d, r);
}
template <class T>
void model_extend(const Lane& l, const T& i) {
    const uint32_t a = l.src(i.a), n = i.wrap ? l.src(i.b) % 32 : l.src(i.b);
    uint32_t r = n >= 32 ? a : 0;
    if (n > 0 && n < 32) {
        const bool fill = i.type == typed::SignType::S32 && (a >> (n - 1) & 1);
        for (uint32_t bit = 0; bit < 32; ++bit)
            r |= (bit < n ? a >> bit & 1 : uint32_t{fill}) << bit;
    }
    l.set(i.d, r);
}
template <class T>
void model_find(const Lane& l, const T& i) {
    const uint32_t a = l.flipped(i.a);
    const uint32_t sign = i.type == typed::SignType::S32 ? a >> 31 : 0;
    uint32_t at = 32;
    while (at > 0 && (a >> (at - 1) & 1) == sign) --at;
    l.set(i.d, at == 0 ? ~0u : i.sh ? 32 - at : at - 1);
    l.setp(i.pd, at != 0);
}
inline bool compares(typed::ICmp c, bool is_signed, uint32_t a, uint32_t b) {
    const int64_t x = is_signed ? int64_t{static_cast<int32_t>(a)} : int64_t{a};
    const int64_t y = is_signed ? int64_t{static_cast<int32_t>(b)} : int64_t{b};
    const auto bits = static_cast<unsigned>(c);  // less, equal, greater
    return x < y ? bits & 1 : x == y ? bits >> 1 & 1 : bits >> 2 & 1;
}
inline bool joined(typed::BoolOp op, bool a, bool b) {
    return op == typed::BoolOp::AND ? a && b : op == typed::BoolOp::OR ? a || b : a != b;
}
template <class T>
void model_compare(const Lane& l, const T& i) {
    if (i.type == typed::SignType::U64 || i.type == typed::SignType::S64) {
        const uint64_t a = l.src64(i.a), b = l.src64(i.b);
        const bool less = i.type == typed::SignType::S64
                              ? static_cast<int64_t>(a) < static_cast<int64_t>(b)
                              : a < b;
        const bool r = static_cast<unsigned>(i.cmp) >> (less ? 0 : a == b ? 1 : 2) & 1;
        l.setp(i.pd, joined(i.bool_, r, l.pred(i.pa)));
        l.setp(i.pd2, joined(i.bool_, !r, l.pred(i.pa)));
        return;
    }
    const uint32_t a = l.src(i.a), b = l.src(i.b);
    const bool constant = i.cmp == typed::ICmp::F || i.cmp == typed::ICmp::T;
    bool r = compares(i.cmp, i.type == typed::SignType::S32, a, b);
    if (i.ex && a == b && !constant) r = l.pred(i.pb);
    const bool p = l.pred(i.pa);
    l.setp(i.pd, joined(i.bool_, r, p));
    l.setp(i.pd2, joined(i.bool_, !r, p));
}
inline uint32_t permuted(uint32_t a, uint32_t selector, uint32_t c) {
    const uint64_t bytes = uint64_t{c} << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned n = selector >> (4 * i) & 7;
        const uint8_t byte = static_cast<uint8_t>(bytes >> (8 * n));
        const bool sign = selector >> (4 * i + 3) & 1;
        r |= uint32_t{sign ? static_cast<uint8_t>(byte >> 7 ? 255 : 0) : byte} << (8 * i);
    }
    return r;
}

}  // namespace sassemu::test
