// SPDX-License-Identifier: Apache-2.0
// MOV, SEL, PRMT, PLOP3 and the transfers between predicates and registers; and the same on the
// uniform datapath.
#include "emu/isa/move.hpp"

#include "emu/isa/uniform.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// e is the code of the predicate that chooses a.
struct Select {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V, const Op& op, Warp& w, Mask) {
        return L::select(predicate_value(w, op.e), a, b);
    }
};
template <Source B, bool All>
const Op* choose(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b);
    write<All>(w, op->d, Select::apply(a, b, b, *op, w, mask), mask);
    return next(op, w);
}

// MOV into the lanes of each quad that a mask names (measured on an H200): m[0] has a bit per lane.
template <Source B>
const Op* copy_lanes(const Op* op, Warp& w, uint32_t mask) {
    write<false>(w, op->d, read<B>(w, op->b), mask & op->m[0]);
    return next(op, w);
}

// ---- PRMT --------------------------------------------------------------------------------------
//
// b is the selector, {c:a} the bytes.

struct Permute {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op&) {
        return L::prmt(a, c, b);
    }
};
// A constant selector that takes, from each source, bytes that keep their distances: a rotation of
// a and one of c (counts m[2], m[3]) under masks (m[0], m[1]).
template <int Sources>
struct PermuteShift {
    static SASSEMU_INLINE V32 part(V32 v, uint32_t count, uint32_t mask) {
        return L::and_(L::rotl(v, L::splat(count)), L::splat(mask));
    }
    static SASSEMU_INLINE V32 apply(V32 a, V32 c, const Op& op) {
        const V32 low = part(a, op.m[2], op.m[0]);
        return Sources == 1 ? low : L::or_(low, part(c, op.m[3], op.m[1]));
    }
};

// The part of a constant selector that looks at one source (first byte index `first`): a rotation
// and a mask, if the bytes keep their distances.
struct Part {
    uint32_t rotate = 0, mask = 0;
    bool possible = true;
};
Part part_of(uint32_t selector, uint32_t first) {
    Part p;
    bool any = false;
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t from = selector >> (4 * i) & 15;
        if (from & 8) p.possible = false;  // replicates the sign of the byte
        if ((from & 4) != first) continue;
        const uint32_t rotate = (i - from) % 4 * 8;
        if (any && rotate != p.rotate) p.possible = false;
        any = true;
        p.rotate = rotate;
        p.mask |= 0xffu << (8 * i);
    }
    return p;
}

// PTX ISA, prmt: the other modes as selectors of the generic one, by the lowest two bits of b.
constexpr uint32_t mode_selectors[7][4] = {
    {},
    {0x3210, 0x4321, 0x5432, 0x6543},  // F4E
    {0x5670, 0x6701, 0x7012, 0x0123},  // B4E
    {0x0000, 0x1111, 0x2222, 0x3333},  // RC8
    {0x3210, 0x3211, 0x3222, 0x3333},  // ECL
    {0x0000, 0x1110, 0x2210, 0x3210},  // ECR
    {0x1010, 0x3232, 0x1010, 0x3232},  // RC16
};
struct PermuteMode {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp&, Mask) {
        V32 selector = L::splat(0);
        for (uint32_t i = 0; i < 4; ++i) {
            const Mask is = L::cmp_eq(L::and_(b, L::splat(3)), L::splat(i));
            selector = L::select(is, L::splat(mode_selectors[op.k[0]][i]), selector);
        }
        return L::prmt(a, c, selector);
    }
};

// ---- predicates --------------------------------------------------------------------------------

// A table of three predicates, bit (a << 2 | b << 1 | c), as a tree of choices: for each (a, b) a
// constant, c or its complement, then b and a choose.
SASSEMU_INLINE Mask entry(uint32_t lut, uint32_t at) { return 0u - (lut >> at & 1); }
SASSEMU_INLINE Mask pick(Mask which, Mask one, Mask zero) { return zero ^ (which & (zero ^ one)); }
SASSEMU_INLINE Mask logic(Mask a, Mask b, Mask c, uint32_t lut) {
    const Mask f0 =
        pick(b, pick(c, entry(lut, 3), entry(lut, 2)), pick(c, entry(lut, 1), entry(lut, 0)));
    const Mask f1 =
        pick(b, pick(c, entry(lut, 7), entry(lut, 6)), pick(c, entry(lut, 5), entry(lut, 4)));
    return pick(a, f1, f0);
}
// Sources e, f, m[0]; results k[0] by table m[1] and k[1] by table m[2].
template <class V>
const Op* predicate_logic(const Op* op, Warp& w, uint32_t mask) {
    const Mask a = predicate_value(w, op->e), b = predicate_value(w, op->f),
               c = predicate_value(w, op->m[0]);
    put_predicate<V>(w, op->k[0], logic(a, b, c, op->m[1]), mask);
    if (op->k[1] != 7) put_predicate<V>(w, op->k[1], logic(a, b, c, op->m[2]), mask);
    return next(op, w);
}
template <class T>
void lower_logic(Lower& x, const T& i, Handler h) {
    x.op.e = predicate_code(i.pa);
    x.op.f = predicate_code(i.pb);
    x.op.m[0] = predicate_code(i.pc);
    x.op.m[1] = static_cast<uint32_t>(i.lut.imm);
    x.op.m[2] = static_cast<uint32_t>(i.lut2.imm);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    x.handler(h);
}

// The same where bit i of m[3] says that source i is the sign of a value in a, b or c.
Mask sign_source(const Op* op, const Warp& w, uint32_t i, uint32_t at, uint32_t code) {
    if ((op->m[3] >> i & 1) == 0) return predicate_value(w, code);
    return L::sign_mask(read_any(w, at, op->k[2] >> i & 1));
}
template <class V>
const Op* sign_logic(const Op* op, Warp& w, uint32_t mask) {
    const Mask a = sign_source(op, w, 0, op->a, op->e), b = sign_source(op, w, 1, op->b, op->f),
               c = sign_source(op, w, 2, op->c, op->m[0]);
    put_predicate<V>(w, op->k[0], logic(a, b, c, op->m[1]), mask);
    if (op->k[1] != 7) put_predicate<V>(w, op->k[1], logic(a, b, c, op->m[2]), mask);
    return next(op, w);
}

// P2R: in byte k[0] of a, the bits that the mask b names become P0..P6 (bit 7 reads 0).
// UP0..UP6 on the uniform datapath.
template <class V>
constexpr uint32_t first_predicate = in_lanes<V> ? 0 : 8;
struct GatherPredicates {
    template <class V>
    static V apply(V a, V b, V, const Op& op, Warp& w, Mask) {
        const V shift = fill<V>(op.k[0] * 8u);
        V bits = fill<V>(0);
        for (uint32_t i = 0; i < 7; ++i)
            bits =
                L::or_(bits, L::select(w.p[first_predicate<V> + i], fill<V>(1u << i), fill<V>(0)));
        const V field = L::and_(b, fill<V>(0xff));
        return L::or_(L::andn(L::shl(field, shift), a), L::shl(L::and_(bits, field), shift));
    }
};
// R2P: P0..P6, where the mask b names them, become the bits of byte k[0] of a.
template <class V>
const Op* scatter_predicates(const Op* op, Warp& w, uint32_t mask) {
    const V a = L::shr(get<V>(w, op->a, false), fill<V>(op->k[0] * 8u));
    const V b = get<V>(w, op->b, op->k[2] & 2);
    for (uint32_t i = 0; i < 7; ++i) {
        const V bit = fill<V>(1u << i);
        const Mask named = L::nonzero(L::and_(b, bit)) & mask;
        if (named) put_predicate<V>(w, i, L::nonzero(L::and_(a, bit)), named);
    }
    return next(op, w);
}

template <Source A>
const Op* copy_row(const Op* op, Warp& w, uint32_t mask) {
    write<false>(w, op->d, read<A>(w, op->a), mask);
    return next(op, w);
}
const Op* copy_rows(const Op* op, Warp& w, uint32_t mask) {
    write64<false>(w, op->d, read64<Source::scalar>(w, op->a), mask);
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Mov& i) {
    x.op.d = x.destination_row(i.d.index);
    const Term a = term(x, i.a);
    if (i.lanes.imm == 15) return emit_int1<Copy>(x, a);
    x.op.b = a.at;
    x.op.m[0] = static_cast<uint32_t>(i.lanes.imm) * 0x11111111u;
    x.handler(a.scalar ? copy_lanes<Source::scalar> : copy_lanes<Source::row>);
}
void lower(Lower& x, const typed::Umov& i) { emit_uniform<Copy>(x, i.d, {}, i.a); }

void lower(Lower& x, const typed::Sel& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.e = predicate_code(i.pa);
    if (b.scalar)
        x.handlers(choose<Source::scalar, false>, choose<Source::scalar, true>);
    else
        x.handlers(choose<Source::row, false>, choose<Source::row, true>);
}

void lower(Lower& x, const typed::Usel& i) {
    x.op.e = predicate_code(i.pa);
    emit_uniform<Select>(x, i.d, i.a, i.b);
}

void lower(Lower& x, const typed::Prmt& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (i.mode != typed::PrmtMode::None) {
        x.op.k[0] = static_cast<uint8_t>(i.mode);
        if (x.op.k[0] > 6) return x.reject("an invalid permute mode");
        return emit_any<PermuteMode>(x, a, b, c);
    }
    if (b.immediate) {
        const Part low = part_of(b.value, 0), high = part_of(b.value, 4);
        if (low.possible && high.possible) {
            x.op.m[0] = low.mask;
            x.op.m[1] = high.mask;
            x.op.m[2] = low.rotate;
            x.op.m[3] = high.rotate;
            if (c.zero || high.mask == 0) return emit_int2<PermuteShift<1>>(x, a, a);
            return emit_int2<PermuteShift<2>>(x, a, c);
        }
    }
    emit_int3<Permute>(x, a, b, c);
}

void lower(Lower& x, const typed::Uprmt& i) { emit_uniform<Permute>(x, i.d, i.a, i.b, i.c); }

void lower(Lower& x, const typed::Plop3& i) { lower_logic(x, i, predicate_logic<V32>); }
void lower(Lower& x, const typed::Uplop3& i) { lower_logic(x, i, predicate_logic<uint32_t>); }

// Three sources, of which the last `signs` are signs of values.
template <class T>
void sign_logic_of(Lower& x, const T& i, uint32_t signs, Handler h) {
    Term a, b = term(x, i.b), c;
    if constexpr (requires { i.a; })
        a = term(x, i.a);
    else
        x.op.e = predicate_code(i.pa);
    if constexpr (requires { i.c; })
        c = term(x, i.c);
    else
        x.op.m[0] = predicate_code(i.pc);
    set_any(x, a, b, c);
    x.op.m[1] = static_cast<uint32_t>(i.lut.imm);
    x.op.m[2] = static_cast<uint32_t>(i.lut2.imm);
    x.op.m[3] = signs;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    x.handler(h);
}
void lower(Lower& x, const typed::Plop3Sign1& i) { sign_logic_of(x, i, 2, sign_logic<V32>); }
void lower(Lower& x, const typed::Plop3Sign2& i) { sign_logic_of(x, i, 6, sign_logic<V32>); }
void lower(Lower& x, const typed::Plop3Sign3& i) { sign_logic_of(x, i, 7, sign_logic<V32>); }
void lower(Lower& x, const typed::Uplop3Sign1& i) { sign_logic_of(x, i, 2, sign_logic<uint32_t>); }
void lower(Lower& x, const typed::Uplop3Sign2& i) { sign_logic_of(x, i, 6, sign_logic<uint32_t>); }
void lower(Lower& x, const typed::Uplop3Sign3& i) { sign_logic_of(x, i, 7, sign_logic<uint32_t>); }

void lower(Lower& x, const typed::P2r& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(i.byte);
    emit_any<GatherPredicates>(x, term(x, i.a), term(x, i.b));
}
void lower(Lower& x, const typed::R2p& i) {
    x.op.k[0] = static_cast<uint8_t>(i.byte);
    set_any(x, term(x, i.a), term(x, i.b), {});
    x.handler(scatter_predicates<V32>);
}
void lower(Lower& x, const typed::Up2ur& i) {
    x.op.k[0] = i.byte;
    emit_uniform<GatherPredicates>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Ur2up& i) {
    x.op.k[0] = i.byte;
    set_scalars(x, i.a, i.b);
    x.handler(scatter_predicates<uint32_t>);
}

// Rpc, the return address register, serves compilers as two registers more.
void lower(Lower& x, const typed::Rpcmov& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.a = rpc_row + static_cast<uint32_t>(i.a) * row_bytes;
    x.handler(copy_row<Source::row>);
}
void lower(Lower& x, const typed::RpcmovTo& i) {
    const Operand a = x.source(i.a);
    x.op.d = rpc_row + static_cast<uint32_t>(i.d) * row_bytes;
    x.op.a = a.at;
    x.handler(a.scalar ? copy_row<Source::scalar> : copy_row<Source::row>);
}
void lower(Lower& x, const typed::RpcmovTo64& i) {
    x.op.d = rpc_row;
    x.op.a = x.source(i.a, 2).at;
    x.handler(copy_rows);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
