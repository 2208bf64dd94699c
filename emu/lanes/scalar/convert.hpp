// SPDX-License-Identifier: Apache-2.0
// One lane of the conversions, as bits in and bits out, over soft_float.hpp.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace scalar {

template <class F>
SASSEMU_INLINE uint64_t nan_to_int(int bits) {
    const bool wide = F::kFraction == 52 || bits == 64;
    return lanes::kNanToWideIntIsHighBit && wide ? 1ull << (bits - 1) : 0;
}
template <class F, Rounding R, int Bits, bool Signed>
SASSEMU_INLINE uint64_t to_int(uint64_t a) {
    return soft::to_integer<F>(a, Bits, Signed, R, nan_to_int<F>(Bits));
}
template <class F, Rounding R>
SASSEMU_INLINE uint64_t from_s(int64_t a) {
    return soft::from_integer<F>(a < 0, a < 0 ? 0 - (uint64_t)a : (uint64_t)a, R);
}
template <class F, Rounding R>
SASSEMU_INLINE uint64_t from_u(uint64_t a) {
    return soft::from_integer<F>(false, a, R);
}

}  // namespace scalar
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
