// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic in integers, for any binary format up to 64 bits: unpack, compute exactly, round
// once. It is the reference for every directed rounding and every fused operation, and does not
// look at the host's floating-point unit. NaN results are the format's canonical NaN. Slow (tens
// of nanoseconds per lane); vector code does not belong here.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace soft {

using U128 = unsigned __int128;

template <int ExponentBits, int FractionBits>
struct Format {
    static constexpr int kFraction = FractionBits;
    static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
    static constexpr int kMaxField = (1 << ExponentBits) - 1;
    static constexpr uint64_t kSign = 1ull << (ExponentBits + FractionBits);
    static constexpr uint64_t kInf = (uint64_t)kMaxField << FractionBits;
    static constexpr uint64_t kFractionMask = (1ull << FractionBits) - 1;
    static constexpr uint64_t kNan =
        FractionBits == 52 ? lanes::kF64DefaultNan : kSign - 1;  // f32 0x7fffffff, f16/bf16 0x7fff
};
using F16 = Format<5, 10>;
using Bf16 = Format<8, 7>;
using F32 = Format<8, 23>;
using F64 = Format<11, 52>;

enum class FloatClass : uint8_t { zero, finite, inf, nan };
// Finite: (-1)^sign * sig * 2^exp, exactly.
struct Number {
    FloatClass kind;
    bool sign;
    int exp;
    U128 sig;
};

template <class F>
static inline Number unpack(uint64_t bits) {
    Number n{FloatClass::finite, (bits & F::kSign) != 0, 0, bits & F::kFractionMask};
    const int field = (int)((bits >> F::kFraction) & F::kMaxField);
    if (field == F::kMaxField) {
        n.kind = n.sig ? FloatClass::nan : FloatClass::inf;
    } else if (field == 0) {
        n.exp = 1 - F::kBias - F::kFraction;
        if (!n.sig) n.kind = FloatClass::zero;
    } else {
        n.sig |= 1ull << F::kFraction;
        n.exp = field - F::kBias - F::kFraction;
    }
    return n;
}

static inline int bit_length(U128 x) {
    const uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
    if (high) return 128 - __builtin_clzll(high);
    return low ? 64 - __builtin_clzll(low) : 0;
}

// sig / 2^shift rounded to an integer. shift may be anything; sig * 2^-shift must fit when
// negative.
static inline U128 shift_round(U128 sig, int shift, bool sign, Rounding r, bool* inexact) {
    if (shift <= 0) return sig << -shift;
    const U128 kept = shift >= 128 ? 0 : sig >> shift;
    const U128 rest = shift >= 128 ? sig : sig - (kept << shift);
    if (!rest) return kept;
    *inexact = true;
    bool up = false;
    switch (r) {
        case Rounding::rn:
            if (shift <= 128) {
                const U128 half = (U128)1 << (shift - 1);
                up = rest > half || (rest == half && (kept & 1));
            }
            break;
        case Rounding::rm:
            up = sign;
            break;
        case Rounding::rp:
            up = !sign;
            break;
        case Rounding::rz:
            break;
    }
    return kept + (up ? 1 : 0);
}

// The one place that rounds: a finite, non-zero number to format F.
template <class F>
static inline uint64_t round_pack(bool sign, int exp, U128 sig, Rounding r, bool ftz = false) {
    const uint64_t s = sign ? F::kSign : 0;
    const int top = exp + bit_length(sig) - 1;  // 2^top <= value < 2^(top + 1)
    constexpr int kMinExp = 1 - F::kBias;
    bool inexact = false;
    if (ftz && lanes::kFtzPolicy == FtzPolicy::before_rounding && top < kMinExp) return s;
    if (ftz && lanes::kFtzPolicy == FtzPolicy::after_rounding && top < kMinExp) {
        const U128 unbounded = shift_round(sig, top - F::kFraction - exp, sign, r, &inexact);
        if (top < kMinExp - 1 || bit_length(unbounded) == F::kFraction + 1) return s;
    }
    int quantum = (top > kMinExp ? top : kMinExp) - F::kFraction;
    U128 m = shift_round(sig, quantum - exp, sign, r, &inexact);
    if (bit_length(m) > F::kFraction + 1) {
        m >>= 1;
        ++quantum;
    }
    if (bit_length(m) <= F::kFraction) {  // subnormal or zero
        return ftz ? s : s | (uint64_t)m;
    }
    const int field = quantum + F::kFraction + F::kBias;
    if (field >= F::kMaxField) {
        const bool to_inf =
            r == Rounding::rn || (r == Rounding::rp && !sign) || (r == Rounding::rm && sign);
        return s | (to_inf ? F::kInf : F::kInf - 1);
    }
    return s | ((uint64_t)field << F::kFraction) | ((uint64_t)m & F::kFractionMask);
}

// The NaN that an operation on these operands gives.
template <class F>
static inline uint64_t nan_of(uint64_t a, uint64_t b, uint64_t c) {
    if constexpr (F::kFraction == 52) {
        if (lanes::kF64NanPolicy == lanes::F64NanPolicy::quiet_bca) {
            const uint64_t operands[3] = {b, c, a};
            for (uint64_t x : operands) {
                if ((x & ~F::kSign) > F::kInf) return x | (1ull << 51);
            }
        }
    }
    return F::kNan;
}

template <class F>
static inline uint64_t zero(bool sign) {
    return sign ? F::kSign : 0;
}

// x + y for numbers that are not NaN; both significands below 2^108. Alignment keeps 20 guard bits
// and ORs what falls off into the lowest: cancellation of more than one bit only happens when
// nothing fell off.
template <class F>
static inline uint64_t add_numbers(Number x, Number y, Rounding r, bool ftz) {
    if (x.kind == FloatClass::inf || y.kind == FloatClass::inf) {
        if (x.kind == y.kind && x.sign != y.sign) return F::kNan;
        return F::kInf | zero<F>(x.kind == FloatClass::inf ? x.sign : y.sign);
    }
    if (x.kind == FloatClass::zero && y.kind == FloatClass::zero) {
        return zero<F>(x.sign == y.sign ? x.sign : r == Rounding::rm);
    }
    if (x.kind == FloatClass::zero) return round_pack<F>(y.sign, y.exp, y.sig, r, ftz);
    if (y.kind == FloatClass::zero) return round_pack<F>(x.sign, x.exp, x.sig, r, ftz);
    const int up_x = 126 - bit_length(x.sig), up_y = 126 - bit_length(y.sig);
    x.sig <<= up_x;
    x.exp -= up_x;
    y.sig <<= up_y;
    y.exp -= up_y;
    if (x.exp < y.exp || (x.exp == y.exp && x.sig < y.sig)) {
        const Number t = x;
        x = y;
        y = t;
    }
    const int down = x.exp - y.exp;
    const U128 lost = down >= 128 ? y.sig : y.sig & (((U128)1 << down) - 1);
    const U128 small = (down >= 128 ? 0 : y.sig >> down) | (lost ? 1 : 0);
    const U128 sum = x.sign == y.sign ? x.sig + small : x.sig - small;
    if (!sum) return zero<F>(r == Rounding::rm);
    return round_pack<F>(x.sign, x.exp, sum, r, ftz);
}

template <class F>
static inline uint64_t flush(uint64_t x, bool ftz) {
    return ftz && (x & F::kInf) == 0 ? x & F::kSign : x;
}

template <class F>
static inline uint64_t add(uint64_t a, uint64_t b, Rounding r, bool ftz = false) {
    const Number x = unpack<F>(flush<F>(a, ftz)), y = unpack<F>(flush<F>(b, ftz));
    if (x.kind == FloatClass::nan || y.kind == FloatClass::nan) return nan_of<F>(a, b, 0);
    return add_numbers<F>(x, y, r, ftz);
}

// The exact product; *invalid for 0 * inf.
static inline Number multiply(const Number& x, const Number& y, bool* invalid) {
    Number p{FloatClass::finite, x.sign != y.sign, x.exp + y.exp, x.sig * y.sig};
    if (x.kind == FloatClass::inf || y.kind == FloatClass::inf) p.kind = FloatClass::inf;
    if (x.kind == FloatClass::zero || y.kind == FloatClass::zero) {
        *invalid = p.kind == FloatClass::inf;
        p.kind = FloatClass::zero;
    }
    return p;
}

template <class F>
static inline uint64_t mul(uint64_t a, uint64_t b, Rounding r, bool ftz = false) {
    const Number x = unpack<F>(flush<F>(a, ftz)), y = unpack<F>(flush<F>(b, ftz));
    if (x.kind == FloatClass::nan || y.kind == FloatClass::nan) return nan_of<F>(a, b, 0);
    bool invalid = false;
    const Number p = multiply(x, y, &invalid);
    if (invalid) return F::kNan;
    if (p.kind == FloatClass::inf) return F::kInf | zero<F>(p.sign);
    if (p.kind == FloatClass::zero) return zero<F>(p.sign);
    return round_pack<F>(p.sign, p.exp, p.sig, r, ftz);
}

template <class F>
static inline uint64_t fma(uint64_t a, uint64_t b, uint64_t c, Rounding r, bool ftz = false) {
    const Number x = unpack<F>(flush<F>(a, ftz)), y = unpack<F>(flush<F>(b, ftz));
    const Number z = unpack<F>(flush<F>(c, ftz));
    if (x.kind == FloatClass::nan || y.kind == FloatClass::nan || z.kind == FloatClass::nan) {
        return nan_of<F>(a, b, c);
    }
    bool invalid = false;
    const Number p = multiply(x, y, &invalid);
    if (invalid) return F::kNan;
    return add_numbers<F>(p, z, r, ftz);
}

// From format F to format G.
template <class F, class G>
static inline uint64_t convert(uint64_t a, Rounding r) {
    const Number x = unpack<F>(a);
    switch (x.kind) {
        case FloatClass::nan:
            if constexpr (F::kFraction == 52 || G::kFraction == 52) {
                // Measured: conversions from and to f64 keep sign and payload, quieted.
                const uint64_t payload =
                    G::kFraction >= F::kFraction
                        ? (a & F::kFractionMask) << (G::kFraction - F::kFraction)
                        : (a & F::kFractionMask) >> (F::kFraction - G::kFraction);
                return zero<G>(x.sign) | G::kInf | payload | (1ull << (G::kFraction - 1));
            }
            return G::kNan;
        case FloatClass::inf:
            return G::kInf | zero<G>(x.sign);
        case FloatClass::zero:
            return zero<G>(x.sign);
        default:
            return round_pack<G>(x.sign, x.exp, x.sig, r);
    }
}

// To an integer of the given width, saturated.
template <class F>
static inline uint64_t to_integer(uint64_t a, int bits, bool is_signed, Rounding r,
                                  uint64_t nan_result) {
    const Number x = unpack<F>(a);
    if (x.kind == FloatClass::nan) return nan_result;
    if (x.kind == FloatClass::zero) return 0;
    const U128 limit_up = is_signed ? ((U128)1 << (bits - 1)) - 1 : ((U128)1 << bits) - 1;
    const U128 limit_down = is_signed ? (U128)1 << (bits - 1) : 0;
    const U128 limit = x.sign ? limit_down : limit_up;
    U128 m = limit + 1;
    bool inexact = false;
    if (x.kind == FloatClass::finite && x.exp + bit_length(x.sig) <= 70) {
        m = shift_round(x.sig, -x.exp, x.sign, r, &inexact);
    }
    if (m > limit) m = limit;
    return (uint64_t)(x.sign ? 0 - m : m);
}

template <class F>
static inline uint64_t from_integer(bool sign, uint64_t magnitude, Rounding r) {
    return magnitude ? round_pack<F>(sign, 0, magnitude, r) : 0;
}

// To an integral value of the same format.
template <class F>
static inline uint64_t round_integral(uint64_t a, Rounding r) {
    const Number x = unpack<F>(a);
    if (x.kind == FloatClass::nan) return nan_of<F>(a, 0, 0);
    if (x.kind != FloatClass::finite || x.exp >= 0) return a;
    bool inexact = false;
    const U128 m = shift_round(x.sig, -x.exp, x.sign, r, &inexact);
    return m ? round_pack<F>(x.sign, 0, m, r) : zero<F>(x.sign);
}

}  // namespace soft
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
