// SPDX-License-Identifier: Apache-2.0
// The arithmetic of atomic operations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "emu/memory/host_access.hpp"
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

}  // namespace

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
