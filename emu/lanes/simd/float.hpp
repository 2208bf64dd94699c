// SPDX-License-Identifier: Apache-2.0
// f32 of the vector levels. The host's IEEE units give the values; NaN results, flushing and
// minimum/maximum rules of the GPU are repaired by integer operations, never through MXCSR.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
SASSEMU_INLINE C32 canonical_nan(CF r) {
    return blend(fcmp<_CMP_UNORD_Q>(r, r), splat(kF32Nan), (C32)r);
}
// Exponent field 0: only the sign stays. Zeros are unchanged by that.
SASSEMU_INLINE C32 ftz(C32 x) {
    const M normal = test(x, splat(0x7f800000u));
    return blend(normal, x, x & 0x80000000u);
}
}  // namespace k

SASSEMU_LANE_OP1(ftz, k::ftz(x))

// With a policy that looks at more than the rounded result, only a result of exactly the smallest
// normal can still be wrong after flushing by the result; those rare warps go lane by lane.
enum class FloatOp : uint8_t { add, mul, fma };
template <FloatOp Op, Rounding R>
SASSEMU_INLINE V32 ftz_result(V32 r, V32 a, V32 b, V32 c) {
    V32 out = ftz(r);
    if constexpr (lanes::kFtzPolicy != FtzPolicy::rounded_result) {
        const Mask edge = cmp_eq(and_(r, splat(0x7fffffffu)), splat(0x00800000u));
        if (__builtin_expect(edge != 0, 0)) {
            alignas(64) uint32_t x[kLanes], y[kLanes], z[kLanes], o[kLanes];
            store(x, a);
            store(y, b);
            store(z, c);
            store(o, out);
            for (int l = 0; l < kLanes; ++l) {
                if (!(edge >> l & 1)) continue;
                if constexpr (Op == FloatOp::add)
                    o[l] = (uint32_t)soft::add<soft::F32>(x[l], y[l], R, true);
                if constexpr (Op == FloatOp::mul)
                    o[l] = (uint32_t)soft::mul<soft::F32>(x[l], y[l], R, true);
                if constexpr (Op == FloatOp::fma)
                    o[l] = (uint32_t)soft::fma<soft::F32>(x[l], y[l], z[l], R, true);
            }
            out = load(o);
        }
    }
    return out;
}

template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 fadd(V32 a, V32 b) {
    if constexpr (Ftz) {
        a = ftz(a);
        b = ftz(b);
        return ftz_result<FloatOp::add, R>(fadd<R, false>(a, b), a, b, b);
    } else {
        V32 r;
        k::RoundScope<R> scope;
        SASSEMU_EACH(r.c[i] = k::canonical_nan(k::fadd<R>((CF)a.c[i], (CF)b.c[i])););
        return r;
    }
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 fmul(V32 a, V32 b) {
    if constexpr (Ftz) {
        a = ftz(a);
        b = ftz(b);
        return ftz_result<FloatOp::mul, R>(fmul<R, false>(a, b), a, b, b);
    } else {
        V32 r;
        k::RoundScope<R> scope;
        SASSEMU_EACH(r.c[i] = k::canonical_nan(k::fmul<R>((CF)a.c[i], (CF)b.c[i])););
        return r;
    }
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 ffma(V32 a, V32 b, V32 c) {
    if constexpr (Ftz) {
        a = ftz(a);
        b = ftz(b);
        c = ftz(c);
        return ftz_result<FloatOp::fma, R>(ffma<R, false>(a, b, c), a, b, c);
    } else {
        V32 r;
        k::RoundScope<R> scope;
        SASSEMU_EACH(r.c[i] = k::canonical_nan(k::ffma<R>((CF)a.c[i], (CF)b.c[i], (CF)c.c[i])););
        return r;
    }
}

// x86 max and min return the second operand for NaN and for two zeros.
SASSEMU_LANE_OP1(fsat, k::fmin_x86(k::fmax_x86((CF)x, (CF)k::splat(0)), (CF)k::splat(0x3f800000u)))
SASSEMU_LANE_OP1(fneg, x ^ 0x80000000u)
SASSEMU_LANE_OP1(fabs, x & 0x7fffffffu)

namespace k {
// Equal operands are the same bits or zeros of either sign: or-ing takes -0, and-ing +0.
template <bool Max, bool NanWins>
SASSEMU_INLINE C32 minmax(C32 x, C32 y) {
    const CF a = (CF)x, b = (CF)y;
    C32 r = (C32)(Max ? fmax_x86(a, b) : fmin_x86(a, b));
    r = blend(fcmp<_CMP_EQ_OQ>(a, b), Max ? x & y : x | y, r);
    if constexpr (NanWins) {
        return blend(fcmp<_CMP_UNORD_Q>(a, b), splat(kF32Nan), r);
    } else {
        const M nan_a = fcmp<_CMP_UNORD_Q>(a, a), nan_b = fcmp<_CMP_UNORD_Q>(b, b);
        r = blend(nan_b, x, blend(nan_a, y, r));
        return blend(both(nan_a, nan_b), splat(kF32Nan), r);
    }
}
}  // namespace k
SASSEMU_LANE_OP2(fmin, (k::minmax<false, false>(x, y)))
SASSEMU_LANE_OP2(fmax, (k::minmax<true, false>(x, y)))
SASSEMU_LANE_OP2(fmin_nan, (k::minmax<false, true>(x, y)))
SASSEMU_LANE_OP2(fmax_nan, (k::minmax<true, true>(x, y)))

namespace k {
template <Compare C>
constexpr int predicate() {
    switch (C) {
        case Compare::lt:
            return _CMP_LT_OQ;
        case Compare::eq:
            return _CMP_EQ_OQ;
        case Compare::le:
            return _CMP_LE_OQ;
        case Compare::gt:
            return _CMP_GT_OQ;
        case Compare::ne:
            return _CMP_NEQ_OQ;
        case Compare::ge:
            return _CMP_GE_OQ;
        case Compare::num:
            return _CMP_ORD_Q;
        case Compare::nan:
            return _CMP_UNORD_Q;
        case Compare::ltu:
            return _CMP_NGE_UQ;
        case Compare::equ:
            return _CMP_EQ_UQ;
        case Compare::leu:
            return _CMP_NGT_UQ;
        case Compare::gtu:
            return _CMP_NLE_UQ;
        case Compare::neu:
            return _CMP_NEQ_UQ;
        case Compare::geu:
            return _CMP_NLT_UQ;
        case Compare::f:
            return _CMP_FALSE_OQ;
        case Compare::t:
            break;
    }
    return _CMP_TRUE_UQ;
}
}  // namespace k
template <Compare C>
SASSEMU_INLINE Mask fcmp(V32 a, V32 b) {
    SASSEMU_MASK_OF(k::fcmp<k::predicate<C>()>((CF)a.c[i], (CF)b.c[i]));
}
// All four relations, then the union that the code asks for.
SASSEMU_INLINE Mask fcmp(V32 a, V32 b, Compare c) {
    const unsigned want = (unsigned)c;
    const Mask lt = fcmp<Compare::lt>(a, b), eq = fcmp<Compare::eq>(a, b);
    const Mask nan = fcmp<Compare::nan>(a, b), gt = ~(lt | eq | nan);
    return (want & 1 ? lt : 0) | (want & 2 ? eq : 0) | (want & 4 ? gt : 0) | (want & 8 ? nan : 0);
}
SASSEMU_INLINE Mask fisnan(V32 a) { return fcmp<Compare::nan>(a, a); }

template <Rounding R>
SASSEMU_INLINE V32 frnd(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::canonical_nan(k::frnd<R>((CF)a.c[i])););
    return r;
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
