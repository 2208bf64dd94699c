// SPDX-License-Identifier: Apache-2.0
// IADD, the 64-bit moves, selects and extremes, UIADD3.64, LDCU and the other integer instructions
// that came with sm_100 and sm_120.
#include "emu/isa/integer_wide.hpp"

#include <algorithm>

#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- IADD --------------------------------------------------------------------------------------
//
// m[0], m[1] complement the operands, m[2] is added, e is the predicate code of the carry in, k[0]
// takes the carry out; k[1]: a 64-bit sum has a carry in; k[2] bit 1: b is a scalar.

struct Plain {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::add(a, b); }
};
const Op* sum32(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = L::xor_(read<Source::row>(w, op->a), L::splat(op->m[0]));
    const V32 b = L::xor_(read_any(w, op->b, op->k[2] & 2), L::splat(op->m[1]));
    Mask first, second = 0;
    V32 sum = L::add_carry(a, b, predicate_value(w, op->e), &first);
    if (op->m[2] > 1) sum = L::add_carry(sum, L::splat(op->m[2] - 1), 0, &second);
    write<false>(w, op->d, sum, mask);
    if (op->k[0] != 7) write_predicate(w, op->k[0], first | second, mask);
    return next(op, w);
}
template <Source B, bool All>
const Op* sum64(const Op* op, Warp& w, uint32_t mask) {
    const V64 sum = L::add64(read64<Source::row>(w, op->a), read64<B>(w, op->b));
    write64<All>(w, op->d, sum, mask);
    return next(op, w);
}
V64 flip(V64 v, uint32_t mask) { return L::xor64(v, L::splat64(mask ? ~uint64_t{0} : 0)); }
const Op* sum64_any(const Op* op, Warp& w, uint32_t mask) {
    const V64 a = flip(read64<Source::row>(w, op->a), op->m[0]);
    const V64 b = flip(get64<V64>(w, op->b, op->k[2] & 2), op->m[1]);
    const V64 more = op->k[1] ? L::select64(predicate_value(w, op->e), L::splat64(1), L::splat64(0))
                              : L::splat64(op->m[2]);
    const V64 part = L::add64(a, b), sum = L::add64(part, more);
    write64<false>(w, op->d, sum, mask);
    if (op->k[0] != 7)
        write_predicate(w, op->k[0], L::cmp_lt_u64(part, a) | L::cmp_lt_u64(sum, part), mask);
    return next(op, w);
}

// ---- selects and extremes ----------------------------------------------------------------------

template <class V>
const Op* select_pair(const Op* op, Warp& w, uint32_t mask) {
    const V a = get64<V>(w, op->a, false), b = get64<V>(w, op->b, op->k[2] & 2);
    put64(w, op->d, L::select64(predicate_value(w, op->e), a, b), mask);
    return next(op, w);
}
template <class V>
const Op* copy_pair(const Op* op, Warp& w, uint32_t mask) {
    put64(w, op->d, get64<V>(w, op->b, op->k[2] & 2), mask);
    return next(op, w);
}
using Wide = typed::WideMinMaxType;
// e chooses the minimum; k[0]: signed.
template <class V>
const Op* extreme_pair(const Op* op, Warp& w, uint32_t mask) {
    const V a = get64<V>(w, op->a, false), b = get64<V>(w, op->b, op->k[2] & 2);
    const Mask less = op->k[0] ? L::cmp_lt_s64(a, b) : L::cmp_lt_u64(a, b);
    put64(w, op->d, L::select64(~(less ^ predicate_value(w, op->e)), a, b), mask);
    return next(op, w);
}
struct Extreme {
    template <class V>
    static V apply(V a, V b, V, const Op& op, Warp& w, Mask) {
        const Mask less = op.k[0] ? L::cmp_lt_s(a, b) : L::cmp_lt_u(a, b);
        return L::select(~(less ^ predicate_value(w, op.e)), a, b);
    }
};
// The forms with predicate results, or with a second source other than false, have no known
// meaning.
template <class T>
bool check_extreme(Lower& x, const T& i) {
    if (i.pd.index == 7 && i.pd2.index == 7 && i.pb.index == 7 && i.pb.neg) return true;
    x.gap("a minimum or maximum with predicates");
    return false;
}
bool is_pair(Wide t) { return t == Wide::U64 || t == Wide::S64; }

// ---- the uniform datapath ----------------------------------------------------------------------

using Sum = unsigned __int128;
uint64_t flip64(uint64_t v, uint32_t mask) { return mask ? ~v : v; }
// UIADD3.64: complements m[0..2], carries in e, f (predicate codes) and m[3] (a number), out k[0],
// k[1]. Where both carries go to one predicate it holds the first (measured on an H200).
const Op* uniform_sum64(const Op* op, Warp& w, uint32_t) {
    Sum sum = Sum{flip64(w.scalar64(op->a), op->m[0])} + flip64(w.scalar64(op->b), op->m[1]) +
              flip64(w.scalar64(op->c), op->m[2]) + op->m[3];
    sum += uniform_truth(w, op->e);
    sum += uniform_truth(w, op->f);
    write_uniform64(w, op->d, static_cast<uint64_t>(sum));
    const uint64_t carry = static_cast<uint64_t>(sum >> 64);
    if (op->k[1] != 7) write_uniform_predicate(w, op->k[1], carry >= 2);
    if (op->k[0] != 7) write_uniform_predicate(w, op->k[0], carry >= 1);
    return next(op, w);
}

template <class T>
void lower_sum64(Lower& x, const T& i) {
    check_even(x, i.a);
    check_even(x, i.b);
    check_even(x, i.c);
    check_even_result(x, i.d);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.op.a = x.source(i.a, 2).at;
    x.op.b = x.source(i.b, 2).at;  // an immediate is stored sign-extended
    x.op.c = x.source(i.c, 2).at;
    x.op.m[0] = flip_mask(i.a);
    x.op.m[1] = flip_mask(i.b);
    x.op.m[2] = flip_mask(i.c);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    x.handler(uniform_sum64);
}

// LDCU: c[bank a][uniform register b + m[0]], m[1] bytes, k[0] the size; past the end of the bank
// it reads zero.
const Op* load_uniform(const Op* op, Warp& w, uint32_t) {
    const uint32_t at = w.scalar32(op->b) + op->m[0];
    uint32_t v[4] = {};
    if (inside_bank(w, op->a, at, op->m[1])) std::memcpy(v, w.scalar(op->a) + at, op->m[1]);
    const auto size = static_cast<typed::MemSize>(op->k[0]);
    if (size == typed::MemSize::S8) v[0] = static_cast<uint32_t>(static_cast<int8_t>(v[0]));
    if (size == typed::MemSize::S16) v[0] = static_cast<uint32_t>(static_cast<int16_t>(v[0]));
    for (uint32_t i = 0; i < (op->m[1] + 3) / 4; ++i) w.uniform[op->d / 4 + i] = v[i];
    return next(op, w);
}

// b of a 64-bit form: pairs, and immediates that are stored sign-extended.
Term pair(Lower& x, const typed::Src& s) {
    check_even(x, s);
    return term(x, s, 2);
}
template <class T>
void set_pairs(Lower& x, const T& i, const typed::Src& a, const typed::Src& b, Handler h) {
    check_even_result(x, i.d);
    x.op.d = destination(x, i.d, 2);
    set_any(x, pair(x, a), pair(x, b), {});
    x.handler(h);
}

// The low or the high half of a product of 64 bits over GF(2), plus c (PTX ISA, clmad). m[0], m[1]:
// b, c are scalars.
template <bool High>
const Op* carryless_product(const Op* op, Warp& w, uint32_t mask) {
    const auto any = [&](uint32_t at, uint32_t scalar) {
        return scalar ? read64<Source::scalar>(w, at) : read64<Source::row>(w, at);
    };
    const V64 a = read64<Source::row>(w, op->a), b = any(op->b, op->m[0]);
    V64 sum = any(op->c, op->m[1]);
    for (uint32_t k = High ? 1 : 0; k < 64; ++k) {
        const V64 bit = L::and64(L::shr64(b, L::splat(k)), L::splat64(1));
        const V64 part = High ? L::shr64(a, L::splat(64 - k)) : L::shl64(a, L::splat(k));
        sum = L::xor64(sum, L::and64(part, L::neg64(bit)));
    }
    write64<false>(w, op->d, sum, mask);
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Iadd& i) {
    const Term a = i.b64 ? pair(x, i.a) : term(x, i.a), b = i.b64 ? pair(x, i.b) : term(x, i.b);
    if (i.b64) check_even_result(x, i.d);
    set_any(x, a, b, {});
    x.op.d = x.destination_row(i.d.index, i.b64 ? 2 : 1);
    x.op.m[0] = a.flip ? ~0u : 0;
    x.op.m[1] = b.flip ? ~0u : 0;
    x.op.m[2] = i.x ? 0 : static_cast<uint32_t>(a.flip + b.flip);
    x.op.e = i.x ? predicate_code(i.pa) : x.op.m[2] ? code_true : code_false;
    x.op.k[0] = i.pd.index;
    const bool plain = !i.x && x.op.m[2] == 0 && i.pd.index == 7;
    if (!i.b64) return plain ? emit_int2<Plain>(x, a, b) : x.handler(sum32);
    x.op.k[1] = i.x;
    if (!plain) return x.handler(sum64_any);
    if (b.scalar)
        x.handlers(sum64<Source::scalar, false>, sum64<Source::scalar, true>);
    else
        x.handlers(sum64<Source::row, false>, sum64<Source::row, true>);
}

void lower(Lower& x, const typed::ImnmxWide& i) {
    if (!check_extreme(x, i)) return;
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = i.type == Wide::S32 || i.type == Wide::S64;
    if (is_pair(i.type)) return set_pairs(x, i, i.a, i.b, extreme_pair<V64>);
    x.op.d = x.destination_row(i.d.index);
    emit_any<Extreme>(x, term(x, i.a), term(x, i.b));
}
void lower(Lower& x, const typed::Sel64& i) {
    x.op.e = predicate_code(i.pa);
    set_pairs(x, i, i.a, i.b, select_pair<V64>);
}
void lower(Lower& x, const typed::Mov64& i) { set_pairs(x, i, {}, i.a, copy_pair<V64>); }

void lower(Lower& x, const typed::Umov64& i) { set_pairs(x, i, {}, i.a, copy_pair<uint64_t>); }
void lower(Lower& x, const typed::Usel64& i) {
    x.op.e = predicate_code(i.pa);
    set_pairs(x, i, i.a, i.b, select_pair<uint64_t>);
}
void lower(Lower& x, const typed::UimnmxWide& i) {
    if (!check_extreme(x, i)) return;
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = i.type == Wide::S32 || i.type == Wide::S64;
    if (is_pair(i.type)) return set_pairs(x, i, i.a, i.b, extreme_pair<uint64_t>);
    emit_uniform<Extreme>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Uvimnmx& i) {
    if (i.relu || (i.type != typed::VMinMaxType::U32 && i.type != typed::VMinMaxType::S32))
        return x.gap("UVIMNMX of packed elements or with RELU");
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = i.type == typed::VMinMaxType::S32;
    emit_uniform<Extreme>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Uiadd364& i) {
    x.op.m[3] = static_cast<uint32_t>(flipped(i.a) + flipped(i.b) + flipped(i.c));
    x.op.e = x.op.f = code_false;
    lower_sum64(x, i);
}
void lower(Lower& x, const typed::Uiadd364X& i) {
    x.op.e = predicate_code(i.pa);
    x.op.f = predicate_code(i.pb);
    lower_sum64(x, i);
}

void lower(Lower& x, const typed::Clmad& i) {
    check_even_result(x, i.d);
    for (const typed::Src& s : {i.a, i.b, i.c}) check_even(x, s);
    const Operand b = x.source(i.b, 2), c = x.source(i.c, 2);
    x.op.d = x.destination_row(i.d.index, 2);
    x.op.a = x.source(i.a, 2).at;
    x.op.b = b.at;
    x.op.c = c.at;
    x.op.m[0] = b.scalar;
    x.op.m[1] = c.scalar;
    x.handler(i.half ? carryless_product<true> : carryless_product<false>);
}

void lower(Lower& x, const typed::Ldcu& i) {
    static constexpr uint8_t sizes[7] = {1, 1, 2, 2, 4, 8, 16};
    const auto size = static_cast<uint8_t>(i.size);
    if (size > 6) return x.reject("LDCU with an invalid size");
    if (i.unpack != typed::LdcuUnpack::NONE) return x.gap("LDCU that unpacks texture headers");
    if (i.addr.kind != typed::SrcKind::Const) return x.gap("LDCU from a bindless bank");
    const uint32_t words = sizes[size] < 4 ? 1 : sizes[size] / 4u;
    // ptxas 13.0 loads 16 bytes into registers that begin at UR10.
    if (i.d.index != SASSDEC_URZ && i.d.index % std::min(words, 2u))
        x.reject("a wide result in a misaligned uniform register");
    x.op.d = x.uniform_destination(i.d.index, words);
    x.op.a = x.constant(i.addr.bank, 0, 0);
    if (x.op.a >> 28 == static_cast<uint32_t>(Base::immediate))
        return x.gap("LDCU from a bank that kernels do not have");
    x.op.b = x.uniform_scalar(i.addr.has_base ? i.addr.index : SASSDEC_URZ);
    x.op.m[0] = static_cast<uint32_t>(i.addr.offset);
    x.op.m[1] = sizes[size];
    x.op.k[0] = size;
    x.handler(load_uniform);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
