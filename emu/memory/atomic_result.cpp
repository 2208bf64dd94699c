// SPDX-License-Identifier: Apache-2.0
// The arithmetic of atomic operations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>

#include "emu/memory/host_access.hpp"
#include "emu/memory/multicast.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu {

namespace {

// Small float formats: `mantissa` stored bits, `bias`. The value is exact in a double.
double widen(uint32_t bits, int exponent_bits, int mantissa) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t m = bits & ((1u << mantissa) - 1);
    const uint32_t e = bits >> mantissa & ((1u << exponent_bits) - 1);
    const double sign = bits >> (mantissa + exponent_bits) & 1 ? -1.0 : 1.0;
    if (e == (1u << exponent_bits) - 1) return m ? std::nan("") : sign * INFINITY;
    if (e == 0) return sign * std::ldexp(m, 1 - bias - mantissa);
    return sign * std::ldexp(m + (1u << mantissa), static_cast<int>(e) - bias - mantissa);
}

// Round to nearest even. Sums of two such numbers are exact in a double, so this rounds once.
uint32_t narrow(double v, int exponent_bits, int mantissa) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa;
    if (std::isnan(v)) return (1u << (exponent_bits + mantissa)) - 1;  // 0x7fff
    const uint32_t sign = std::signbit(v) ? 1u << (exponent_bits + mantissa) : 0;
    v = std::fabs(v);
    if (v == 0) return sign;
    if (std::isinf(v)) return sign | infinity;
    int e;
    std::frexp(v, &e);
    const int quantum = std::max(e - 1, 1 - bias) - mantissa;
    const double scaled = std::nearbyint(std::ldexp(v, -quantum));
    uint32_t bits;
    if (scaled >= std::ldexp(1.0, mantissa))
        bits = static_cast<uint32_t>(scaled - std::ldexp(1.0, mantissa)) +
               (static_cast<uint32_t>(quantum + mantissa + bias) << mantissa);
    else
        bits = static_cast<uint32_t>(scaled);
    // A mantissa that rounded up to 2 carries into the exponent by itself.
    return sign | std::min(bits, infinity);
}

uint32_t packed(AtomicOp op, uint32_t a, uint32_t b, int exponent_bits, int mantissa) {
    uint32_t out = 0;
    for (int half = 0; half < 2; ++half) {
        const uint32_t x = a >> (16 * half) & 0xffff, y = b >> (16 * half) & 0xffff;
        const double p = widen(x, exponent_bits, mantissa), q = widen(y, exponent_bits, mantissa);
        uint32_t r;
        if (op == AtomicOp::min || op == AtomicOp::max) {
            const bool second = std::isnan(p) || (op == AtomicOp::min ? q < p : q > p) ||
                                (p == q && (op == AtomicOp::min) == std::signbit(q));
            r = std::isnan(p) && std::isnan(q) ? 0x7fffu : second && !std::isnan(q) ? y : x;
        } else {
            r = narrow(p + q, exponent_bits, mantissa);
        }
        out |= r << (16 * half);
    }
    return out;
}

float flush(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }

template <class T>
uint64_t integer(AtomicOp op, T old, T v, T swap) {
    using U = std::make_unsigned_t<T>;
    const U o = static_cast<U>(old), x = static_cast<U>(v);
    switch (op) {
        case AtomicOp::add:
            return static_cast<U>(o + x);
        case AtomicOp::min:
            return static_cast<U>(std::min(old, v));
        case AtomicOp::max:
            return static_cast<U>(std::max(old, v));
        // PTX ISA, "atom": inc wraps to 0 at v, dec wraps to v at 0 or above v.
        case AtomicOp::inc:
            return o >= x ? U{0} : static_cast<U>(o + 1);
        case AtomicOp::dec:
            return o == 0 || o > x ? x : static_cast<U>(o - 1);
        case AtomicOp::and_:
            return o & x;
        case AtomicOp::or_:
            return o | x;
        case AtomicOp::xor_:
            return o ^ x;
        case AtomicOp::exch:
            return x;
        case AtomicOp::cas:
            return old == v ? static_cast<U>(swap) : o;
        default:
            return o;
    }
}

// A format of LDGMC's elements. `most` is not 0 where what is too large becomes the largest number;
// e4m3 has numbers where others have infinities, and one NaN.
struct Format {
    int exponent_bits, mantissa;
    double most = 0;
    uint32_t bits() const { return static_cast<uint32_t>(1 + exponent_bits + mantissa); }
    double value(uint32_t v) const {
        if (mantissa != 3 || (v & 0x78) != 0x78) return widen(v, exponent_bits, mantissa);
        return (v & 0x7f) == 0x7f ? std::nan("") : (v & 0x80 ? -32.0 : 32.0) * (8 + (v & 7));
    }
    uint32_t round(double v) const {
        if (most == 0 || std::isnan(v)) return narrow(v, exponent_bits, mantissa);
        const uint32_t sign = std::signbit(v) ? 0x80 : 0;
        const int least = 2 - (1 << (exponent_bits - 1));  // exponent of the smallest normal number
        const auto exponent = [&](double x) {
            return x == 0 ? least : std::max(std::ilogb(x), least);
        };
        v = std::min(std::fabs(v), most);
        const int quantum = exponent(v) - mantissa;
        v = std::min(std::ldexp(std::nearbyint(std::ldexp(v, -quantum)), quantum), most);
        // Steps from 0 to the exponent's first number, and from there.
        const int e = exponent(v);
        return sign | (static_cast<uint32_t>((e - least) << mantissa) +
                       static_cast<uint32_t>(std::ldexp(v, mantissa - e)));
    }
};
constexpr Format half{5, 10}, brain{8, 7}, e5m2{5, 2, 57344}, e4m3{4, 3, 448};

double wider(const LoadReduce& how, double sum) {
    if (how.type == LoadReduceType::f16 || how.type == LoadReduceType::bf16)
        return static_cast<double>(static_cast<float>(sum));
    return half.value(half.round(sum));
}

// Element `index` of `bits` bits.
uint64_t element(const uint32_t* words, uint32_t index, uint32_t bits) {
    uint64_t v = 0;
    std::memcpy(&v, reinterpret_cast<const std::byte*>(words) + index * bits / 8, bits / 8);
    return v;
}

uint64_t combine_floats(const LoadReduce& how, const Format& format,
                        std::span<const uint32_t* const> members, uint32_t index) {
    const auto bits = [&](size_t m) {
        return static_cast<uint32_t>(element(members[m], index, format.bits()));
    };
    if (how.op == AtomicOp::add) {
        double sum = format.value(bits(0));
        for (size_t m = 1; m < members.size(); ++m) {
            sum += format.value(bits(m));
            sum = how.wide ? wider(how, sum) : format.value(format.round(sum));
        }
        return format.round(sum);
    }
    // As min and max of instructions: a number goes before a NaN, -0 is below +0.
    uint32_t best = bits(0);
    for (size_t m = 1; m < members.size(); ++m) {
        const double p = format.value(best), q = format.value(bits(m));
        const bool least = how.op == AtomicOp::min;
        if (std::isnan(p) || (!std::isnan(q) && (least ? q < p : q > p)) ||
            (p == q && least == std::signbit(q)))
            best = bits(m);
    }
    return std::isnan(format.value(best)) ? format.round(NAN) : best;
}

}  // namespace

void combine(const LoadReduce& how, std::span<const uint32_t* const> members, uint32_t bytes,
             uint32_t* result) {
    const auto all = [&](uint32_t bits, auto&& one) {
        for (uint32_t i = 0; i < bytes * 8 / bits; ++i) {
            const uint64_t v = one(i);
            std::memcpy(reinterpret_cast<std::byte*>(result) + i * bits / 8, &v, bits / 8);
        }
    };
    const auto step_by_step = [&](uint32_t bits, auto&& two) {
        all(bits, [&](uint32_t i) {
            uint64_t v = element(members[0], i, bits);
            for (size_t m = 1; m < members.size(); ++m) v = two(v, element(members[m], i, bits));
            return v;
        });
    };
    const auto floats = [&](const Format& format) {
        all(format.bits(), [&](uint32_t i) { return combine_floats(how, format, members, i); });
    };
    const auto as = [&](AtomicType type, uint32_t bits) {
        step_by_step(bits,
                     [&](uint64_t a, uint64_t b) { return atomic_result(how.op, type, a, b, 0); });
    };
    switch (how.type) {
        case LoadReduceType::u32:
            return as(AtomicType::u32, 32);
        case LoadReduceType::s32:
            return as(AtomicType::s32, 32);
        case LoadReduceType::u64:
            return as(AtomicType::u64, 64);
        case LoadReduceType::s64:
            return as(AtomicType::s64, 64);
        case LoadReduceType::f64:
            return as(AtomicType::f64, 64);
        case LoadReduceType::f32:  // subnormals count, unlike in RED
            return step_by_step(32, [](uint64_t a, uint64_t b) {
                const float sum = std::bit_cast<float>(static_cast<uint32_t>(a)) +
                                  std::bit_cast<float>(static_cast<uint32_t>(b));
                return uint64_t{std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum)};
            });
        case LoadReduceType::f16:
            return floats(half);
        case LoadReduceType::bf16:
            return floats(brain);
        case LoadReduceType::e5m2:
            return floats(e5m2);
        case LoadReduceType::e4m3:
            return floats(e4m3);
    }
}

uint64_t atomic_result(AtomicOp op, AtomicType type, uint64_t old, uint64_t v, uint64_t swap) {
    const auto lo = static_cast<uint32_t>(old), x = static_cast<uint32_t>(v);
    switch (type) {
        case AtomicType::u32:
            return integer<uint32_t>(op, lo, x, static_cast<uint32_t>(swap));
        case AtomicType::s32:
            return integer<int32_t>(op, static_cast<int32_t>(lo), static_cast<int32_t>(x),
                                    static_cast<int32_t>(swap));
        case AtomicType::u64:
            return integer<uint64_t>(op, old, v, swap);
        case AtomicType::s64:
            return integer<int64_t>(op, static_cast<int64_t>(old), static_cast<int64_t>(v),
                                    static_cast<int64_t>(swap));
        case AtomicType::f32:
        case AtomicType::f32_rn: {
            // Global float atomics flush subnormals (PTX ISA, "atom", .add.f32).
            const float a = std::bit_cast<float>(lo), b = std::bit_cast<float>(x),
                        sum = type == AtomicType::f32_rn ? a + b : flush(flush(a) + flush(b));
            return std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum);
        }
        case AtomicType::f64: {
            // The unit that adds keeps NaNs as they are, signalling ones too (measured on an H200).
            const double a = std::bit_cast<double>(old), b = std::bit_cast<double>(v);
            if (std::isnan(b)) return v;
            if (std::isnan(a)) return old;
            const double sum = a + b;
            return std::isnan(sum) ? 0xfff8000000000000u : std::bit_cast<uint64_t>(sum);
        }
        case AtomicType::f16x2:
        case AtomicType::f16x2_rn:
            return packed(op, lo, x, 5, 10);
        case AtomicType::bf16x2:
            return packed(op, lo, x, 8, 7);
        case AtomicType::b128:
            break;
    }
    return old;
}

bool atomic_exists(AtomicOp op, AtomicType type, uint32_t bytes) {
    const bool swaps = op == AtomicOp::exch || op == AtomicOp::cas;
    switch (type) {
        case AtomicType::u32:
        case AtomicType::s32:
            if (bytes == 2) return type == AtomicType::u32 && op == AtomicOp::cas;
            return bytes == 4 && op > AtomicOp::none && op <= AtomicOp::cas;
        case AtomicType::u64:
        case AtomicType::s64:
            return bytes == 8 && op > AtomicOp::none && op <= AtomicOp::cas;
        case AtomicType::f16x2:
        case AtomicType::bf16x2:
        case AtomicType::f16x2_rn:
            return bytes == 4 &&
                   (op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max);
        case AtomicType::f32:
        case AtomicType::f32_rn:
            return bytes == 4 && op == AtomicOp::add;
        case AtomicType::f64:
            return bytes == 8 && op == AtomicOp::add;
        case AtomicType::b128:
            return bytes == 16 && swaps;
    }
    return false;
}

host::Wide update_at(std::byte* at, AtomicOp op, AtomicType type, uint32_t bytes,
                     host::Wide operand, host::Wide swap, bool& changed) {
    if (bytes == 16) {
        host::Wide was{host::load<uint64_t>(at), host::load<uint64_t>(at + 8)};
        for (;;) {
            const host::Wide next = op == AtomicOp::exch ? operand : was == operand ? swap : was;
            changed = !(next == was);
            if (host::compare_exchange(at, was, next)) return was;
        }
    }
    const auto update = [&](auto zero) {
        using T = decltype(zero);
        return host::Wide{
            host::update<T>(
                at,
                [&](T was) {
                    return static_cast<T>(atomic_result(op, type, was, operand.lo, swap.lo));
                },
                changed),
            0};
    };
    return bytes == 8 ? update(uint64_t{}) : bytes == 4 ? update(uint32_t{}) : update(uint16_t{});
}

}  // namespace sassemu
