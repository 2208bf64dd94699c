// Reciprocals, roots, powers, logarithms and circular functions in fp64, to an error far below one
// fp32 unit in the last place: what MUFU returns until the tables of the hardware's interpolator are
// here. Only additions, multiplications and divisions, each rounded to nearest, so that all host
// levels agree bit for bit. Special cases of the instruction are in special.cpp.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace special {

// One register of the host level, as GNU vectors.
#if SASSEMU_LANES_LEVEL == 4
constexpr unsigned vector_bytes = 64;
#elif SASSEMU_LANES_LEVEL == 3
constexpr unsigned vector_bytes = 32;
#else
constexpr unsigned vector_bytes = 16;
#endif
constexpr unsigned block = vector_bytes / 8;  // lanes
typedef double D __attribute__((vector_size(vector_bytes)));
typedef int64_t I __attribute__((vector_size(vector_bytes)));
typedef float F __attribute__((vector_size(vector_bytes / 2)));
typedef uint32_t U __attribute__((vector_size(vector_bytes / 2)));

// -frounding-math keeps quotients of constants for run time; a constant expression is folded.
template <int64_t Denominator, int Numerator = 1>
inline constexpr double ratio = double(Numerator) / double(Denominator);

SASSEMU_INLINE D splat(double v) { return D{} + v; }
SASSEMU_INLINE D widen(const uint32_t* bits) {
    F f;
    __builtin_memcpy(&f, bits, sizeof f);
    return __builtin_convertvector(f, D);
}
SASSEMU_INLINE void narrow(uint32_t* bits, D v) {
    const F f = __builtin_convertvector(v, F);
    __builtin_memcpy(bits, &f, sizeof f);
}
// fp64 values from their upper words, and back, rounded towards zero (as measured on an H200).
SASSEMU_INLINE D from_high(const uint32_t* high) {
    U u;
    __builtin_memcpy(&u, high, sizeof u);
    return (D)(__builtin_convertvector(u, I) << 32);
}
SASSEMU_INLINE void to_high(uint32_t* high, D v) {
    const U u = __builtin_convertvector((I)v >> 32, U);
    __builtin_memcpy(high, &u, sizeof u);
}

// The nearest integer of a value below 2^51, as a double and in the low bits of `bits`.
SASSEMU_INLINE D nearest(D x, I* bits) {
    const D magic = splat(6755399441055744.0);  // 1.5 * 2^52
    const D shifted = x + magic;
    *bits = (I)shifted;
    return shifted - magic;
}

struct Reciprocal {
    static SASSEMU_INLINE D of(D x) { return splat(1.0) / x; }
};
// Newton's iteration from the usual shift of the exponent; four steps reach the last place.
struct ReciprocalRoot {
    static SASSEMU_INLINE D of(D x) {
        D y = (D)(0x5fe6eb50c7b537a9ll - ((I)x >> 1));
        const D half = x * 0.5;
        for (int step = 0; step < 4; ++step) y = y * (1.5 - (half * y) * y);
        return y + y * (0.5 - (half * y) * y);
    }
};
struct Root {
    static SASSEMU_INLINE D of(D x) {
        const D y = ReciprocalRoot::of(x), s = x * y;
        return s + (0.5 * y) * (x - s * s);
    }
};
// e^x for |x| <= 0.35: Taylor's polynomial, error below 1e-14.
SASSEMU_INLINE D exponential(D x) {
    D r = splat(ratio<39916800>);
    r = r * x + ratio<3628800>;
    r = r * x + ratio<362880>;
    r = r * x + ratio<40320>;
    r = r * x + ratio<5040>;
    r = r * x + ratio<720>;
    r = r * x + ratio<120>;
    r = r * x + ratio<24>;
    r = r * x + ratio<6>;
    r = r * x + 0.5;
    r = r * x + 1.0;
    return r * x + 1.0;
}
struct PowerOfTwo {
    static SASSEMU_INLINE D of(D x) {
        x = x < -200.0 ? splat(-200.0) : x > 200.0 ? splat(200.0) : x;
        I n;
        const D whole = nearest(x, &n);
        const D r = exponential((x - whole) * 0.693147180559945309417);
        return (D)((I)r + (n << 52));
    }
};
// log2(m 2^e) = e + 2 / ln 2 * atanh((m - 1) / (m + 1)), m from 0.707 to 1.414.
struct Logarithm {
    static SASSEMU_INLINE D of(D x) {
        const I bits = (I)x - 0x3fe6a09e667f3bcdll;  // sqrt(1/2)
        const I e = bits >> 52;
        const D m = (D)((I)x - (e << 52));
        const D s = (m - 1.0) / (m + 1.0), q = s * s;
        D r = splat(ratio<19>);
        r = r * q + ratio<17>;
        r = r * q + ratio<15>;
        r = r * q + ratio<13>;
        r = r * q + ratio<11>;
        r = r * q + ratio<9>;
        r = r * q + ratio<7>;
        r = r * q + ratio<5>;
        r = r * q + ratio<3>;
        r = r * q + 1.0;
        const D whole = (D)(e + 0x4338000000000000ll) - 6755399441055744.0;
        return whole + r * s * 2.88539008177792681472;
    }
};
// sin and cos of 2 pi x: the quadrant is exact, what remains is at most pi / 4.
template <int Quadrant>
struct Circular {
    static SASSEMU_INLINE D of(D x) {
        x = (D)((I)x & 0x7fffffffffffffffll) < 16777216.0 ? x : splat(0.0);
        I ignored, quadrant;
        x = x - nearest(x, &ignored);
        const D q = nearest(x * 4.0, &quadrant);
        const D t = (x - q * 0.25) * 6.28318530717958647693, z = t * t;
        D s = splat(-ratio<1307674368000>);
        s = s * z + ratio<6227020800>;
        s = s * z - ratio<39916800>;
        s = s * z + ratio<362880>;
        s = s * z - ratio<5040>;
        s = s * z + ratio<120>;
        s = s * z - ratio<6>;
        s = s * z * t + t;
        D c = splat(ratio<20922789888000>);
        c = c * z - ratio<87178291200>;
        c = c * z + ratio<479001600>;
        c = c * z - ratio<3628800>;
        c = c * z + ratio<40320>;
        c = c * z - ratio<720>;
        c = c * z + ratio<24>;
        c = c * z - 0.5;
        c = c * z + 1.0;
        quadrant += Quadrant;
        const D r = (quadrant & 1) != 0 ? c : s;
        return (quadrant & 2) != 0 ? -r : r;
    }
};
struct HyperbolicTangent {
    static SASSEMU_INLINE D of(D x) {
        const D large = x < -20.0 ? splat(-20.0) : x > 20.0 ? splat(20.0) : x;
        const D e = PowerOfTwo::of(large * 2.88539008177792681472);
        const D quotient = (e - 1.0) / (e + 1.0);
        const D q = x * x;
        const D series = x + x * q * ((q * ratio<315, -17> + ratio<15, 2>) * q - ratio<3>);
        return (D)((I)x & 0x7fffffffffffffffll) < 0.00390625 ? series : quotient;
    }
};

// f32 in, f32 out, all lanes; the result may be subnormal.
template <class Function>
SASSEMU_INLINE V32 apply(V32 v) {
    alignas(64) uint32_t x[32];
    L::store(x, v);
    for (unsigned i = 0; i < 32; i += block) narrow(x + i, Function::of(widen(x + i)));
    return L::load(x);
}
// Upper words of fp64 in and out.
template <class Function>
SASSEMU_INLINE V32 apply_high(V32 v) {
    alignas(64) uint32_t x[32];
    L::store(x, v);
    for (unsigned i = 0; i < 32; i += block) to_high(x + i, Function::of(from_high(x + i)));
    return L::load(x);
}

}  // namespace special
}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
