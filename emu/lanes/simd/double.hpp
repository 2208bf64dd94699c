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

template <Rounding R>
SASSEMU_INLINE V64 dadd(V64 a, V64 b) {
    V64 r;
    k::RoundScope<R> scope;
    SASSEMU_EACH64(
        r.c[j] = k::nan_rule(k::dadd<R>((CD)a.c[j], (CD)b.c[j]), a.c[j], b.c[j], k::splat64(0)););
    return r;
}
template <Rounding R>
SASSEMU_INLINE V64 dmul(V64 a, V64 b) {
    V64 r;
    k::RoundScope<R> scope;
    SASSEMU_EACH64(
        r.c[j] = k::nan_rule(k::dmul<R>((CD)a.c[j], (CD)b.c[j]), a.c[j], b.c[j], k::splat64(0)););
    return r;
}
template <Rounding R>
SASSEMU_INLINE V64 dfma(V64 a, V64 b, V64 c) {
    V64 r;
    k::RoundScope<R> scope;
    SASSEMU_EACH64(r.c[j] = k::nan_rule(k::dfma<R>((CD)a.c[j], (CD)b.c[j], (CD)c.c[j]), a.c[j],
                                        b.c[j], c.c[j]););
    return r;
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
