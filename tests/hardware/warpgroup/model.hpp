// SPDX-License-Identifier: Apache-2.0
// What wgmma computes, one result at a time in plain integers, from the PTX ISA and the record of
// an H100: it shares no code with the emulator. Speed does not matter here.
#pragma once

#include <algorithm>

#include "cases.hpp"

namespace warpgroup {

// What the sums of floats are cut and rounded to; the tests of the tests change it.
struct Sums {
    int fraction = 25, short_fraction = 13, short_kept = 13;
    int floor = -133, half_floor = -21;
};

// The offset in shared memory of the byte that holds element k of row (or column) `row`.
inline uint32_t place(uint64_t d, bool mn_major, uint32_t bits, uint32_t row, uint32_t k) {
    const uint32_t start = (d & 0x3fff) << 4, leading = (d >> 16 & 0x3fff) << 4,
                   stride = (d >> 32 & 0x3fff) << 4, pattern = (d >> 49 & 7) << 7,
                   mode = static_cast<uint32_t>(d >> 62);
    const uint32_t span = mode ? 16u >> mode : 1, each = 128 / bits;
    uint32_t at = start;
    if (!mn_major) {
        const uint32_t chunk = k / each;
        at += row % 8 * 16 * span + row / 8 * stride + chunk % span * 16 + chunk / span * leading;
        at += k % each * bits / 8;
    } else {
        const uint32_t chunk = row / each;
        if (mode)
            at += chunk % span * 16 + chunk / span * leading + k % 8 * 16 * span + k / 8 * stride;
        else
            at += chunk * stride + k % 8 * 16 + k / 8 * leading;
        at += row % each * bits / 8;
    }
    return at ^ ((at - pattern) >> 3 & (span - 1) << 4);
}

class Model {
  public:
    Model(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
          const std::vector<uint32_t>& tables, const std::vector<uint32_t>& metadata)
        : a_(a), b_(b), tables_(tables), metadata_(metadata) {}
    Sums rule;

    // Registers of D as a case leaves them: 128 words for each.
    std::vector<uint32_t> run(const Case& c) {
        f_ = &c.form, l_ = &c.launch;
        shared_.assign((shared_base + bytes_a + bytes_b) / 4, 0);
        std::copy_n(a_.begin() + l_->image_a * (bytes_a / 4), bytes_a / 4,
                    shared_.begin() + shared_base / 4);
        std::copy_n(b_.begin() + l_->image_b * (bytes_b / 4), bytes_b / 4,
                    shared_.begin() + (shared_base + bytes_a) / 4);
        const Form& f = *f_;
        std::vector<uint32_t> out(size_t{f.d_registers()} * 128);
        const uint32_t bits = bits_of(f.a);
        stored_ = 256 / bits;
        for (uint32_t m = 0; m < 64; ++m) {
            for (uint32_t i = 0; i < stored_; ++i) left_[i] = element_a(m, i);
            for (uint32_t n = 0; n < f.n; ++n) {
                const uint32_t column = n % 8, tid = m / 16 * 32 + m % 8 * 4 + column / 2;
                const uint32_t half = m / 8 % 2;
                const uint32_t reg = f.half ? n / 8 * 2 + half : n / 8 * 4 + half * 2 + column % 2;
                const uint32_t shift = f.half ? column % 2 * 16 : 0;
                uint32_t before = l_->accumulate ? tables_[table_index(*l_, reg, tid)] >> shift : 0;
                if (f.half) before &= 0xffff;
                const uint32_t sum = f.integers() ? whole(m, n, before) : floats(m, n, before);
                out[reg * 128 + tid] |= sum << shift;
            }
        }
        return out;
    }

  private:
    struct Number {
        int64_t m;  // in units of 2^(e - fraction bits)
        int e;
        bool infinite, nan;
    };
    static Number number(uint32_t v, int exponent_bits, int mantissa, bool one_nan) {
        const uint32_t top = (1u << exponent_bits) - 1, e = v >> mantissa & top,
                       m = v & ((1u << mantissa) - 1);
        const int64_t sign = v >> (exponent_bits + mantissa) & 1 ? -1 : 1;
        Number r{0, 0, false, false};
        if (e == top && !one_nan) {
            r.nan = m, r.infinite = !m, r.m = sign;
            return r;
        }
        if (e == top && m == (1u << mantissa) - 1) {
            r.nan = true;
            return r;
        }
        r.m = sign * static_cast<int64_t>(e ? m | 1u << mantissa : m);
        r.e = static_cast<int>(std::max(e, 1u)) - static_cast<int>(top / 2);
        return r;
    }
    static int mantissa_of(Type t) {
        return t == f16 || t == tf32 ? 10 : t == bf16 ? 7 : t == e4m3 ? 3 : 2;
    }
    static Number number(Type t, uint32_t v) {
        if (t == tf32) v >>= 13;
        return number(v, t == f16 || t == e5m2 ? 5 : t == e4m3 ? 4 : 8, mantissa_of(t), t == e4m3);
    }

    uint32_t at(uint64_t d, bool mn_major, Type t, uint32_t row, uint32_t k) const {
        const uint32_t bits = bits_of(t), offset = place(d, mn_major, bits, row, k);
        const uint32_t word = shared_[offset / 4] >> (offset % 4 * 8);
        if (bits == 1) return word >> k % 8 & 1;
        return bits == 32 ? word : word & ((1u << bits) - 1);
    }
    uint32_t element_a(uint32_t m, uint32_t i) const {
        const uint32_t bits = bits_of(f_->a);
        if (!f_->registers) return at(l_->a, f_->transpose_a, f_->a, m, i);
        const uint32_t byte = i * bits / 8, tid = m / 16 * 32 + m % 8 * 4 + byte % 16 / 4;
        const uint32_t reg = byte / 16 * 2 + m / 8 % 2;
        const uint32_t word =
            a_[l_->image_a * (bytes_a / 4) + l_->registers_a + reg * 128 + tid] >> (byte % 4 * 8);
        if (bits == 1) return word >> i % 8 & 1;
        return bits == 32 ? word : word & ((1u << bits) - 1);
    }
    // The four bits that place elements of group q of row m: of 16 and 32 bits, lane 2 s + q / 4 of
    // the row's four has those of row g in its low half and of row g + 8 in its high half; of 8
    // bits, lanes 0 and 2 those of row g, 1 and 3 of row g + 8. With .REGOFFSET groups go round the
    // lanes.
    uint32_t nibble(uint32_t m, uint32_t q) const {
        const uint32_t half = m / 8 % 2;
        const bool bytes = bits_of(f_->a) == 8;
        if (f_->spread) {
            const uint32_t word =
                metadata_[l_->metadata * 128 + m / 16 * 32 + m % 8 * 4 + (bytes ? q / 2 : q) % 4];
            return word >> (bytes ? q / 8 * 16 + half * 8 + q % 2 * 4
                                  : f_->selector * 16 + q / 4 * 8 + half * 4) &
                   15;
        }
        const uint32_t lane = bytes ? q / 8 * 2 + half : f_->selector * 2 + q / 4;
        const uint32_t tid = m / 16 * 32 + m % 8 * 4 + lane % 4;
        const uint32_t at = bytes ? q % 8 : 4 * half + q % 4;
        return metadata_[l_->metadata * 128 + tid] >> (4 * at) & 15;
    }
    // The element of B that stored element i of row m meets.
    uint32_t element_b(uint32_t m, uint32_t i, uint32_t n) const {
        const auto b = [&](uint32_t k) { return at(l_->b, f_->transpose_b, f_->b, n, k); };
        if (!f_->sparse) return b(i);
        if (f_->a == tf32) {  // halves of two elements
            const uint32_t bits = nibble(m, i);
            const auto half = [&](uint32_t which) {
                return b(2 * i + which / 2) >> (which % 2 * 16) & 0xffff;
            };
            return half(bits & 3) | half(bits >> 2) << 16;
        }
        return b(i / 2 * 4 + (nibble(m, i / 2) >> (i % 2 * 2) & 3));
    }

    uint32_t whole(uint32_t m, uint32_t n, uint32_t before) const {
        int64_t sum = static_cast<int32_t>(before);
        const auto value = [](Type t, uint32_t v) -> int64_t {
            return t == s8 ? static_cast<int8_t>(v) : static_cast<int64_t>(v);
        };
        for (uint32_t i = 0; i < stored_; ++i)
            sum += value(f_->a, left_[i]) * value(f_->b, element_b(m, i, n));
        if (f_->saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
        return static_cast<uint32_t>(sum);
    }
    uint32_t floats(uint32_t m, uint32_t n, uint32_t before) const {
        const Form& f = *f_;
        const uint32_t nan = f.half ? 0x7fff : 0x7fffffff;
        const bool bytes = bits_of(f.a) == 8;
        const int fraction = bytes ? rule.short_fraction : rule.fraction;
        Number terms[65];
        int low[65];  // bits behind the point
        uint32_t count = 0;
        bool plus = false, minus = false;
        const Number c = f.half ? number(before, 5, 10, false) : number(before, 8, 23, false);
        if (c.nan) return nan;
        if (c.infinite) (c.m < 0 ? minus : plus) = true;
        low[count] = f.half ? 10 : 23;
        if (c.m && !c.infinite) terms[count++] = c;
        const bool negative = f.negate_a != f.negate_b;
        for (uint32_t i = 0; i < stored_; ++i) {
            const Number x = number(f.a, left_[i]), y = number(f.b, element_b(m, i, n));
            if (x.nan || y.nan) return nan;
            const int64_t p = negative ? -x.m * y.m : x.m * y.m;
            if (x.infinite || y.infinite) {
                if (!p) return nan;
                (p < 0 ? minus : plus) = true;
            } else if (p) {
                low[count] = mantissa_of(f.a) + mantissa_of(f.b);
                terms[count++] = {p, x.e + y.e, false, false};
            }
        }
        if (plus && minus) return nan;
        if (plus || minus)
            return (f.half ? 0x7c00 : 0x7f800000) | (minus ? f.half ? 0x8000 : 1u << 31 : 0);
        int top = f.half ? rule.half_floor : rule.floor;
        for (uint32_t i = 0; i < count; ++i) top = std::max(top, terms[i].e);
        int64_t sum = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const int shift = terms[i].e - low[i] - (top - fraction);
            const int64_t size = terms[i].m < 0 ? -terms[i].m : terms[i].m;
            const int64_t cut = shift >= 0 ? size << shift : shift < -62 ? 0 : size >> -shift;
            sum += terms[i].m < 0 ? -cut : cut;
        }
        return rounded(sum, top - fraction, f.half, bytes);
    }
    uint32_t rounded(int64_t sum, int unit, bool half, bool bytes) const {
        const int mantissa = half ? 10 : 23, exponent_bits = half ? 5 : 8;
        const int kept = half ? 10 : bytes ? rule.short_kept : 23;
        const int least = half ? -14 : -126;
        if (sum == 0) return 0;
        uint64_t size = static_cast<uint64_t>(sum < 0 ? -sum : sum);
        int e = unit;
        for (uint64_t v = size; v >>= 1;) ++e;  // of the leading bit
        e = std::max(e, least);
        const int drop = e - kept - unit;
        if (drop > 0) {
            const uint64_t rest = drop > 62 ? size : size & ((uint64_t{1} << drop) - 1),
                           tie = drop > 62 ? 0 : uint64_t{1} << (drop - 1);
            size = drop > 62 ? 0 : size >> drop;
            if (half && drop <= 62) size += rest > tie || (rest == tie && size & 1);
        } else {
            size <<= -drop;
        }
        size <<= mantissa - kept;
        const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa;
        uint64_t out = size + (static_cast<uint64_t>(e - least) << mantissa);
        if (out > infinity) out = infinity;
        if (out == 0) return 0;
        return static_cast<uint32_t>(out | static_cast<uint64_t>(sum < 0)
                                               << (mantissa + exponent_bits));
    }

    const std::vector<uint32_t>&a_, &b_, &tables_, &metadata_;
    const Form* f_ = nullptr;
    const Launch* l_ = nullptr;
    std::vector<uint32_t> shared_;
    uint32_t stored_ = 0, left_[256];
};

}  // namespace warpgroup
