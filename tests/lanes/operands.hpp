// SPDX-License-Identifier: Apache-2.0
// Random and special operands for the lane tests.
#pragma once

#include <cstdint>
#include <cstring>

#include "tests/lanes/lane_ops.hpp"

namespace lane_tests {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small, seedable, the same everywhere.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    uint32_t below(uint32_t n) { return (uint32_t)((next() >> 32) * n >> 32); }

  private:
    uint64_t state_;
};

// Bits of a float format: specials, values near one another and near 1, subnormals, anything.
inline uint64_t random_float(Random& r, int exponent_bits, int fraction_bits) {
    const uint64_t sign = (r.next() & 1) << (exponent_bits + fraction_bits);
    const uint64_t max_field = (1ull << exponent_bits) - 1, bias = max_field >> 1;
    const uint64_t all = (1ull << fraction_bits) - 1;
    uint64_t fraction = r.next() & all;
    switch (r.below(5)) {
        case 0:
            fraction &= r.next() & r.next();
            break;  // few ones
        case 1:
            fraction |= ~(all >> r.below((uint32_t)fraction_bits)) & all;
            break;
        case 2:
            fraction = r.below(2) ? all - r.below(3) : r.below(3);
            break;
        default:
            break;
    }
    uint64_t field;
    switch (r.below(12)) {
        case 0:
            field = 0;
            break;  // subnormal
        case 1:
            return sign;  // zero
        case 2:
            field = max_field;
            fraction = r.below(2) ? 0 : fraction;
            break;
        case 3:
            field = 1 + r.below(3);
            break;  // smallest normals
        case 4:
            field = max_field - 1 - r.below(3);
            break;  // largest
        case 5:
            field = bias / 2 + r.below((uint32_t)bias);
            break;
        case 6:
            field = r.next() & max_field;
            break;
        case 7:
            field = bias / 2 + r.below(4);
            break;  // products underflow
        default:
            field = bias - 3 + r.below(6);
            break;
    }
    return sign | field << fraction_bits | fraction;
}
// Values around integer limits and halves.
inline uint64_t random_integral(Random& r, int exponent_bits, int fraction_bits) {
    if (r.below(3) == 0) return random_float(r, exponent_bits, fraction_bits);
    const uint64_t sign = (r.next() & 1) << (exponent_bits + fraction_bits);
    const uint64_t bias = ((1ull << exponent_bits) - 1) >> 1;
    const uint64_t all = (1ull << fraction_bits) - 1;
    static const int kLimits[] = {-1, 0, 1, 6, 7, 8, 9, 14, 15, 16, 30, 31, 32, 62, 63, 64};
    const int exponent = r.below(2) ? kLimits[r.below(16)] : (int)r.below(70) - 3;
    uint64_t fraction = r.next() & all;
    if (r.below(2)) fraction &= ~(all >> r.below((uint32_t)fraction_bits + 1));
    if (r.below(3) == 0) fraction = r.below(2) ? 0 : all - r.below(2);
    return sign | (bias + (uint64_t)(int64_t)exponent) << fraction_bits | fraction;
}
inline uint64_t random_integer(Random& r, int bits) {
    const uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
    switch (r.below(6)) {
        case 0:
            return r.below(3);
        case 1:
            return (all - r.below(3)) & all;
        case 2:
            return ((1ull << (bits - 1)) + r.below(3) - 1) & all;
        case 3:
            return (r.next() & all) >> r.below((uint32_t)bits);
        default:
            return r.next() & all;
    }
}

inline void put(uint32_t* rows, int lane, uint64_t value) {
    rows[lane] = (uint32_t)value;
    rows[lane + 32] = (uint32_t)(value >> 32);
}

// Fills the operands of one run.
inline void fill(Arguments& x, Operands kind, Random& r) {
    const uint32_t shape = r.below(4);
    x.in[0] = shape == 0   ? ~0u
              : shape == 1 ? (uint32_t)r.next() & (uint32_t)r.next()
                           : (uint32_t)r.next();
    if (r.below(16) == 0) x.in[0] = r.below(2) ? 0 : 1u << r.below(32);
    x.in[1] = r.below(2) ? (uint32_t)r.next() : ~0u;
    for (auto& row : x.row) {
        for (uint32_t& w : row) w = (uint32_t)r.next();
    }
    for (uint32_t& w : x.out) w = 0;
    x.wide = 0;
    uint64_t* words = (uint64_t*)(void*)x.memory;
    if (kind >= Operands::memory1) {
        for (size_t i = 0; i < kMemoryBytes / 8; ++i) words[i] = r.next();
    }
    uint32_t* rows[3] = {x.a, x.b, x.c};
    const uint32_t few = r.below(3);
    const uint64_t base = r.next();
    for (int operand = 0; operand < 3; ++operand) {
        for (int lane = 0; lane < 32; ++lane) {
            uint64_t v = 0;
            switch (kind) {
                case Operands::integers:
                    v = random_integer(r, 32) | random_integer(r, 32) << 32;
                    break;
                case Operands::integers64:
                    v = random_integer(r, 64);
                    break;
                case Operands::shifts:
                case Operands::shifts64:
                    v = operand == 0 ? r.next() : r.below(4) ? r.below(70) : random_integer(r, 32);
                    break;
                case Operands::floats:
                    v = random_float(r, 8, 23) | random_float(r, 8, 23) << 32;
                    break;
                case Operands::doubles:
                    v = random_float(r, 11, 52);
                    break;
                case Operands::halves:
                    v = random_float(r, 5, 10) | random_float(r, 5, 10) << 16;
                    break;
                case Operands::bfloats:
                    v = random_float(r, 8, 7) | random_float(r, 8, 7) << 16;
                    break;
                case Operands::any_float:
                    v = random_integral(r, 8, 23);
                    // f16's neighbourhood: ties and subnormals of the narrower format.
                    if (r.below(4) == 0) v = (v & 0x807ff000u) | (0x66u + r.below(48)) << 23;
                    break;
                case Operands::any_double:
                    v = random_integral(r, 11, 52);
                    break;
                case Operands::indices:
                    v = few == 0 ? base : few == 1 ? r.below(4) : base + (r.below(20) == 0);
                    break;
                default: {  // byte offsets in a; wild ones where no lane is active
                    if (operand != 0) {
                        v = r.next();
                        break;
                    }
                    const uint32_t size = 1u << ((int)kind - (int)Operands::memory1);
                    v = r.below((uint32_t)kMemoryBytes / size) * size;
                    if (few == 1) v = r.below(8) * size;  // collisions
                    if (!(x.in[0] >> lane & 1)) v = (uint32_t)r.next();
                }
            }
            put(rows[operand], lane, v);
        }
    }
    // Equal operands, negated ones and cancelling sums.
    if (kind < Operands::memory1 && r.below(2)) {
        for (int lane = 0; lane < 32; ++lane) {
            if (r.below(4)) continue;
            x.b[lane] = x.a[lane];
            x.b[lane + 32] = x.a[lane + 32];
        }
    }
    // Halves: a product that lands around the rounding boundary of c, where a second rounding
    // shows.
    if (kind == Operands::halves || kind == Operands::bfloats) {
        const int fraction = kind == Operands::halves ? 10 : 7;
        const uint32_t mask = kind == Operands::halves ? 31 : 255;
        for (int word = 0; word < 64; ++word) {
            const int lane = word / 2, shift = word % 2 * 16;
            if (r.below(4)) continue;
            const uint32_t ea = x.a[lane] >> (shift + fraction) & mask;
            const uint32_t eb = x.b[lane] >> (shift + fraction) & mask;
            const uint32_t ec = ea + eb - mask / 2 + (uint32_t)fraction - 1 + r.below(5);
            const uint32_t keep = (r.below(2) ? 1u << r.below((uint32_t)fraction) : 0u) |
                                  (r.below(2) ? 1u << r.below((uint32_t)fraction) : 0u);
            const uint32_t ones = (1u << fraction) - 1;
            x.a[lane] &= ~(ones << shift) | keep << shift;
            x.b[lane] &= ~(ones << shift) | (1u << r.below((uint32_t)fraction)) << shift;
            x.c[lane] &= ~(mask << (fraction + shift));
            x.c[lane] |= (ec & mask) << (fraction + shift);
        }
    }
    if (kind == Operands::floats || kind == Operands::doubles) {
        const int top = kind == Operands::floats ? 0 : 32;
        for (int lane = 0; lane < 32; ++lane) {
            if (r.below(8) == 0) x.b[lane + top] = x.a[lane + top] ^ 0x80000000u;
            if (r.below(8) == 0) {  // c near -(a * b): cancellation in a fused multiply-add
                if (kind == Operands::floats) {
                    float a, b;
                    std::memcpy(&a, &x.a[lane], 4);
                    std::memcpy(&b, &x.b[lane], 4);
                    const float c = -(a * b);
                    std::memcpy(&x.c[lane], &c, 4);
                } else {
                    double a, b;
                    const uint64_t ua = x.a[lane] | (uint64_t)x.a[lane + 32] << 32;
                    const uint64_t ub = x.b[lane] | (uint64_t)x.b[lane + 32] << 32;
                    std::memcpy(&a, &ua, 8);
                    std::memcpy(&b, &ub, 8);
                    const double c = -(a * b);
                    uint64_t uc;
                    std::memcpy(&uc, &c, 8);
                    put(x.c, lane, uc);
                }
            }
        }
    }
}

}  // namespace lane_tests
