// SPDX-License-Identifier: Apache-2.0
// Packed bytes, halves and smaller elements: IDP, I2I, I2IP.
#include "emu/isa/integer.hpp"

#include "emu/isa/integer_shapes.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// m[0] complements c, m[1] is one then.
SASSEMU_INLINE V32 signed_addend(V32 c, const Op& op) {
    return L::add(L::xor_(c, L::splat(op.m[0])), L::splat(op.m[1]));
}
template <bool SignedA, bool SignedB>
struct Dot4 {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op& op) {
        return L::dp4a<SignedA, SignedB>(a, b, signed_addend(c, op));
    }
};
// k[0]: bit 0 a signed, 1 b signed, 2 upper bytes of b.
struct Dot2 {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp&, Mask) {
        c = signed_addend(c, op);
        switch (op.k[0] & 7) {
            case 0:
                return L::dp2a<false, false, false>(a, b, c);
            case 1:
                return L::dp2a<true, false, false>(a, b, c);
            case 2:
                return L::dp2a<false, true, false>(a, b, c);
            case 3:
                return L::dp2a<true, true, false>(a, b, c);
            case 4:
                return L::dp2a<false, false, true>(a, b, c);
            case 5:
                return L::dp2a<true, false, true>(a, b, c);
            case 6:
                return L::dp2a<false, true, true>(a, b, c);
            default:
                return L::dp2a<true, true, true>(a, b, c);
        }
    }
};

// PTX ISA, cvt.pack: b below, a above it, then as much of c as fits. k[0]: the mode; k[1] = 1: its
// upper half. Without saturation the low bits count; SATRELU makes negative values 0 first
// (measured on an H200).
enum PackMode : uint8_t { pack_low, pack_sat, pack_sat_relu };
template <int Bits, bool Signed>
struct Pack {
    static SASSEMU_INLINE V32 element(V32 v, const Op& op) {
        if (op.k[0] == pack_sat_relu) v = L::max_s(v, L::splat(0));
        if (op.k[0] != pack_low) v = L::sat_narrow<Bits, true, Signed>(v);
        return L::and_(v, L::splat((1u << Bits) - 1));
    }
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp&, Mask) {
        const V32 pair = L::or_(element(b, op), L::shl(element(a, op), L::splat(Bits)));
        if (Bits == 16) return pair;
        return L::or_(pair,
                      op.k[1] ? L::and_(c, L::splat(0xffff0000u)) : L::shl(c, L::splat(2 * Bits)));
    }
};
template <int Bits, bool Signed>
struct Narrow {
    static SASSEMU_INLINE V32 apply(V32 a, const Op&) {
        return L::sat_narrow<Bits, true, Signed>(a);
    }
};

}  // namespace

void lower(Lower& x, const typed::Idp& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    x.op.m[0] = c.flip ? ~0u : 0;
    x.op.m[1] = c.flip;
    if (i.mode) {  // .2A
        x.op.k[0] = static_cast<uint8_t>(i.ta | i.tb << 1 | i.half << 2);
        return emit_any<Dot2>(x, a, b, c);
    }
    if (i.ta)
        i.tb ? emit_int3<Dot4<true, true>>(x, a, b, c) : emit_int3<Dot4<true, false>>(x, a, b, c);
    else
        i.tb ? emit_int3<Dot4<false, true>>(x, a, b, c) : emit_int3<Dot4<false, false>>(x, a, b, c);
}

void lower(Lower& x, const typed::I2i& i) {
    const Term b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    switch (i.type) {
        case typed::I2iType::U8:
            return emit_int1<Narrow<8, false>>(x, b);
        case typed::I2iType::S8:
            return emit_int1<Narrow<8, true>>(x, b);
        case typed::I2iType::U16:
            return emit_int1<Narrow<16, false>>(x, b);
        case typed::I2iType::S16:
            return emit_int1<Narrow<16, true>>(x, b);
    }
}

namespace {

void set_pack_mode(Lower& x, unsigned sat, bool is_signed) {
    const bool modes = sassdec::architecture(x.sm()).family->pack_modes;
    x.op.k[0] = modes ? static_cast<uint8_t>(sat) : uint8_t{pack_sat};
    if (x.op.k[0] == pack_sat_relu && !is_signed) x.reject("I2IP.SATRELU to an unsigned type");
}

// Elements of less than a byte; `placed`: the text says that c follows them at once.
template <int Bits, class T>
void lower_small_pack(Lower& x, const T& i, bool is_signed, bool placed) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (!placed) return x.reject("I2IP with an invalid place in c");
    set_pack_mode(x, i.sat, is_signed);
    is_signed ? emit_any<Pack<Bits, true>>(x, a, b, c) : emit_any<Pack<Bits, false>>(x, a, b, c);
}

}  // namespace

void lower(Lower& x, const typed::I2ipBits& i) {
    lower_small_pack<2>(x, i, i.type == typed::I2ipSmall::S2, i.place == typed::I2ipPlace2::BIT28);
}
void lower(Lower& x, const typed::I2ipNibbles& i) {
    lower_small_pack<4>(x, i, i.type == typed::I2ipSmall::S4, i.place == typed::I2ipPlace4::BIT24);
}
void lower(Lower& x, const typed::I2ip& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    set_pack_mode(x, i.sat, i.type == typed::I2ipType::S8 || i.type == typed::I2ipType::S16);
    x.op.k[1] = i.half;
    switch (i.type) {
        case typed::I2ipType::U8:
            return emit_any<Pack<8, false>>(x, a, b, c);
        case typed::I2ipType::S8:
            return emit_any<Pack<8, true>>(x, a, b, c);
        case typed::I2ipType::U16:
            return emit_any<Pack<16, false>>(x, a, b, c);
        case typed::I2ipType::S16:
            return emit_any<Pack<16, true>>(x, a, b, c);
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
