// SPDX-License-Identifier: Apache-2.0
// Conversions of the scalar level.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

#define SASSEMU_CONVERT(name, From, To, VALUE, ...) \
    template <Rounding R>                           \
    SASSEMU_INLINE To name(From a) {                \
        VALUE((__VA_ARGS__));                       \
    }
SASSEMU_CONVERT(f32_to_s32, V32, V32, SASSEMU_V32, scalar::to_int<soft::F32, R, 32, true>(a.l[i]))
SASSEMU_CONVERT(f32_to_u32, V32, V32, SASSEMU_V32, scalar::to_int<soft::F32, R, 32, false>(a.l[i]))
SASSEMU_CONVERT(f32_to_s64, V32, V64, SASSEMU_V64, scalar::to_int<soft::F32, R, 64, true>(a.l[i]))
SASSEMU_CONVERT(f32_to_u64, V32, V64, SASSEMU_V64, scalar::to_int<soft::F32, R, 64, false>(a.l[i]))
SASSEMU_CONVERT(f64_to_s32, V64, V32, SASSEMU_V32, scalar::to_int<soft::F64, R, 32, true>(a.l[i]))
SASSEMU_CONVERT(f64_to_u32, V64, V32, SASSEMU_V32, scalar::to_int<soft::F64, R, 32, false>(a.l[i]))
SASSEMU_CONVERT(f64_to_s64, V64, V64, SASSEMU_V64, scalar::to_int<soft::F64, R, 64, true>(a.l[i]))
SASSEMU_CONVERT(f64_to_u64, V64, V64, SASSEMU_V64, scalar::to_int<soft::F64, R, 64, false>(a.l[i]))
SASSEMU_CONVERT(s32_to_f32, V32, V32, SASSEMU_V32, scalar::from_s<soft::F32, R>((int32_t)a.l[i]))
SASSEMU_CONVERT(u32_to_f32, V32, V32, SASSEMU_V32, scalar::from_u<soft::F32, R>(a.l[i]))
SASSEMU_CONVERT(s64_to_f32, V64, V32, SASSEMU_V32, scalar::from_s<soft::F32, R>((int64_t)a.l[i]))
SASSEMU_CONVERT(u64_to_f32, V64, V32, SASSEMU_V32, scalar::from_u<soft::F32, R>(a.l[i]))
SASSEMU_CONVERT(s64_to_f64, V64, V64, SASSEMU_V64, scalar::from_s<soft::F64, R>((int64_t)a.l[i]))
SASSEMU_CONVERT(u64_to_f64, V64, V64, SASSEMU_V64, scalar::from_u<soft::F64, R>(a.l[i]))
SASSEMU_CONVERT(f64_to_f32, V64, V32, SASSEMU_V32, soft::convert<soft::F64, soft::F32>(a.l[i], R))
SASSEMU_CONVERT(f32_to_f16, V32, V32, SASSEMU_V32, soft::convert<soft::F32, soft::F16>(a.l[i], R))
SASSEMU_CONVERT(f32_to_bf16, V32, V32, SASSEMU_V32, soft::convert<soft::F32, soft::Bf16>(a.l[i], R))
SASSEMU_CONVERT(f64_to_f16, V64, V32, SASSEMU_V32, soft::convert<soft::F64, soft::F16>(a.l[i], R))
#undef SASSEMU_CONVERT
template <Rounding R, int Bits, bool Signed>
SASSEMU_INLINE V32 f32_to_small(V32 a) {
    SASSEMU_V32((soft::to_integer<soft::F32>(a.l[i], Bits, Signed, R, 0)));
}
SASSEMU_INLINE V64 s32_to_f64(V32 a) { return s64_to_f64<Rounding::rn>(sext64(a)); }
SASSEMU_INLINE V64 u32_to_f64(V32 a) { return u64_to_f64<Rounding::rn>(zext64(a)); }
SASSEMU_INLINE V64 f32_to_f64(V32 a) {
    SASSEMU_V64((soft::convert<soft::F32, soft::F64>(a.l[i], Rounding::rn)));
}
SASSEMU_INLINE V32 f16_to_f32(V32 a) {
    SASSEMU_V32((soft::convert<soft::F16, soft::F32>(a.l[i] & 0xffff, Rounding::rn)));
}
SASSEMU_INLINE V32 bf16_to_f32(V32 a) {
    SASSEMU_V32((soft::convert<soft::Bf16, soft::F32>(a.l[i] & 0xffff, Rounding::rn)));
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
