// SPDX-License-Identifier: Apache-2.0
// f64 of the vector levels; NaN results follow kF64NanPolicy.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
SASSEMU_INLINE C64 quiet_if_nan(C64 x, C64 otherwise) {
    return blend64(dcmp<_CMP_UNORD_Q>((CD)x, (CD)x), x | (1ull << 51), otherwise);
}
SASSEMU_INLINE C64 nan_rule(CD r, C64 a, C64 b, C64 c) {
    C64 nan = splat64(kF64DefaultNan);
    if constexpr (lanes::kF64NanPolicy == lanes::F64NanPolicy::quiet_bca) {
        nan = quiet_if_nan(b, quiet_if_nan(c, quiet_if_nan(a, nan)));
    }
    return blend64(dcmp<_CMP_UNORD_Q>(r, r), nan, (C64)r);
}
}  // namespace k

// Results in which no lane is a NaN are the common case: the rule is worked out behind a branch.
#define SASSEMU_NAN_RULE(result, first, second, third)                           \
    V64 r;                                                                       \
    M64 nan{};                                                                   \
    {                                                                            \
        k::RoundScope<R> scope;                                                  \
        SASSEMU_EACH64(const CD x = result; r.c[j] = (C64)x;                     \
                       nan = nan | k::dcmp<_CMP_UNORD_Q>(x, x););                \
    }                                                                            \
    if (__builtin_expect(k::bits64(nan, 0) != 0, 0)) {                           \
        SASSEMU_EACH64(r.c[j] = k::nan_rule((CD)r.c[j], first, second, third);); \
    }                                                                            \
    return r;
template <Rounding R>
SASSEMU_INLINE V64 dadd(V64 a, V64 b) {
    SASSEMU_NAN_RULE(k::dadd<R>((CD)a.c[j], (CD)b.c[j]), a.c[j], b.c[j], k::splat64(0))
}
template <Rounding R>
SASSEMU_INLINE V64 dmul(V64 a, V64 b) {
    SASSEMU_NAN_RULE(k::dmul<R>((CD)a.c[j], (CD)b.c[j]), a.c[j], b.c[j], k::splat64(0))
}
template <Rounding R>
SASSEMU_INLINE V64 dfma(V64 a, V64 b, V64 c) {
    SASSEMU_NAN_RULE(k::dfma<R>((CD)a.c[j], (CD)b.c[j], (CD)c.c[j]), a.c[j], b.c[j], c.c[j])
}
#undef SASSEMU_NAN_RULE

namespace k {
SASSEMU_INLINE CD evens_of(const uint32_t* pair, int i) {
    return (CD)even64(load(pair + i * kChunkLanes), load(pair + kLanes + i * kChunkLanes));
}
SASSEMU_INLINE CD odds_of(const uint32_t* pair, int i) {
    return (CD)odd64(load(pair + i * kChunkLanes), load(pair + kLanes + i * kChunkLanes));
}
SASSEMU_INLINE CD evens_of(uint64_t value, int) { return (CD)splat64(value); }
SASSEMU_INLINE CD odds_of(uint64_t value, int) { return (CD)splat64(value); }
template <class F, class... Operands>
SASSEMU_INLINE bool numbers(V64* r, F f, Operands... x) {
    M64 nan{};
    SASSEMU_EACH(const CD even = f(evens_of(x, i)...); const CD odd = f(odds_of(x, i)...);
                 nan = nan | dcmp<_CMP_UNORD_Q>(even, odd); r->c[2 * i] = (C64)even;
                 r->c[2 * i + 1] = (C64)odd;);
    return bits64(nan, 0) == 0;
}
}  // namespace k
template <class B>
SASSEMU_INLINE bool dadd_numbers(V64* r, const uint32_t* a, B b) {
    return k::numbers(
        r, [](CD x, CD y) { return k::dadd<Rounding::rn>(x, y); }, a, b);
}
template <class B>
SASSEMU_INLINE bool dmul_numbers(V64* r, const uint32_t* a, B b) {
    return k::numbers(
        r, [](CD x, CD y) { return k::dmul<Rounding::rn>(x, y); }, a, b);
}
template <class B, class C>
SASSEMU_INLINE bool dfma_numbers(V64* r, const uint32_t* a, B b, C c) {
    return k::numbers(
        r, [](CD x, CD y, CD z) { return k::dfma<Rounding::rn>(x, y, z); }, a, b, c);
}
SASSEMU_LANE64_OP1(dneg, x ^ 0x8000000000000000ull)
SASSEMU_LANE64_OP1(dabs, x & 0x7fffffffffffffffull)

namespace k {
template <bool Max>
SASSEMU_INLINE C64 minmax64(C64 x, C64 y) {
    const CD a = (CD)x, b = (CD)y;
    C64 r = (C64)(Max ? dmax_x86(a, b) : dmin_x86(a, b));
    r = blend64(dcmp<_CMP_EQ_OQ>(a, b), Max ? x & y : x | y, r);
    const M64 nan_a = dcmp<_CMP_UNORD_Q>(a, a), nan_b = dcmp<_CMP_UNORD_Q>(b, b);
    r = blend64(nan_b, x, blend64(nan_a, y, r));
    return blend64(both64(nan_a, nan_b), splat64(kF64DefaultNan), r);
}
}  // namespace k
SASSEMU_LANE64_OP2(dmin, k::minmax64<false>(x, y))
SASSEMU_LANE64_OP2(dmax, k::minmax64<true>(x, y))

template <Compare C>
SASSEMU_INLINE Mask dcmp(V64 a, V64 b) {
    SASSEMU_MASK64_OF(k::dcmp<k::predicate<C>()>((CD)a.c[j], (CD)b.c[j]));
}
SASSEMU_INLINE Mask dcmp(V64 a, V64 b, Compare c) {
    const unsigned want = (unsigned)c;
    const Mask lt = dcmp<Compare::lt>(a, b), eq = dcmp<Compare::eq>(a, b);
    const Mask nan = dcmp<Compare::nan>(a, b), gt = ~(lt | eq | nan);
    return (want & 1 ? lt : 0) | (want & 2 ? eq : 0) | (want & 4 ? gt : 0) | (want & 8 ? nan : 0);
}
template <Rounding R>
SASSEMU_INLINE V64 drnd(V64 a) {
    V64 r;
    SASSEMU_EACH64(r.c[j] = k::nan_rule(k::drnd<R>((CD)a.c[j]), a.c[j], a.c[j], a.c[j]););
    return r;
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
