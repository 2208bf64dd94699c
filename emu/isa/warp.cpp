// SPDX-License-Identifier: Apache-2.0
// Exchange between the lanes of a warp. All of it is between the lanes that execute the instruction
// together; where PTX names a member mask, the compiler has put a WARPSYNC before.
#include "emu/isa/warp.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// PTX ISA, "shfl.sync": c holds the clamp in bits 4..0 and the segment mask in bits 12..8. The
// predicate tells whether the source lane was in range; out of range, a lane gets its own value.
// Where the source lane does not execute (undefined in PTX) it gets 0, as measured on an H200.
template <typed::ShflMode Mode, bool All>
const Op* shfl(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = L::load(w.row(op->a));
    const V32 b = op->k[1] & 1 ? L::splat(w.scalar32(op->b)) : L::load(w.row(op->b));
    const V32 c = op->k[1] & 2 ? L::splat(w.scalar32(op->c)) : L::load(w.row(op->c));
    const V32 lane = L::lane_ids();
    const V32 five = L::splat(31);
    const V32 by = L::and_(b, five);
    const V32 segment = L::and_(L::shr(c, L::splat(8)), five);
    const V32 clamp = L::and_(c, five);
    const V32 low = L::and_(lane, segment);
    const V32 limit = L::or_(low, L::andn(segment, clamp));
    V32 from;
    uint32_t in;
    if constexpr (Mode == typed::ShflMode::UP) {
        from = L::sub(lane, by);
        in = L::cmp_ge_s(from, limit);
    } else if constexpr (Mode == typed::ShflMode::DOWN) {
        from = L::add(lane, by);
        in = L::cmp_le_s(from, limit);
    } else if constexpr (Mode == typed::ShflMode::BFLY) {
        from = L::xor_(lane, by);
        in = L::cmp_le_s(from, limit);
    } else {
        from = L::or_(low, L::andn(segment, by));
        in = L::cmp_le_s(from, limit);
    }
    from = L::select(in, from, lane);
    V32 value = L::permute(a, from);
    if constexpr (!All) {
        const V32 runs = L::and_(L::shr(L::splat(mask), from), L::splat(1));
        value = L::select(L::nonzero(runs), value, L::splat(0));
    }
    write<All>(w, op->d, value, mask);
    write_predicate(w, op->k[0], in, mask);
    return next(op, w);
}

template <typed::ShflMode Mode>
void choose_shfl(Lower& x) {
    x.handlers(shfl<Mode, false>, shfl<Mode, true>);
}

const Op* vote(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t ballot = (w.p[op->k[1]] ^ op->m[0]) & mask;
    uint32_t truth;
    switch (op->k[2]) {
        case 0:
            truth = ballot == mask;
            break;
        case 1:
            truth = ballot != 0;
            break;
        default:
            truth = ballot == mask || ballot == 0;
            break;
    }
    L::store(w.row(op->d), L::splat(ballot), mask);
    write_predicate(w, op->k[0], truth ? ~0u : 0, mask);
    return next(op, w);
}

const Op* match_any(const Op* op, Warp& w, uint32_t mask) {
    V32 v = L::match_any(L::load(w.row(op->a)), mask);
    if (op->k[1]) v = L::and_(v, L::match_any(L::load(w.row(op->a + row_bytes)), mask));
    L::store(w.row(op->d), v, mask);
    return next(op, w);
}
const Op* match_all(const Op* op, Warp& w, uint32_t mask) {
    bool same = L::all_equal(L::load(w.row(op->a)), mask);
    if (op->k[1]) same = same && L::all_equal(L::load(w.row(op->a + row_bytes)), mask);
    L::store(w.row(op->d), L::splat(same ? mask : 0), mask);
    write_predicate(w, op->k[0], same ? ~0u : 0, mask);
    return next(op, w);
}

const Op* redux(const Op* op, Warp& w, uint32_t mask) {
    const V32 v = L::load(w.row(op->a));
    uint32_t r = 0;
    switch (op->k[0]) {
        case 0:
            r = L::reduce_and(v, mask);
            break;
        case 1:
            r = L::reduce_or(v, mask);
            break;
        case 2:
            r = L::reduce_xor(v, mask);
            break;
        case 3:
            r = L::reduce_add(v, mask);
            break;
        case 4:
            r = op->k[1] ? L::reduce_min_s(v, mask) : L::reduce_min_u(v, mask);
            break;
        default:
            r = op->k[1] ? L::reduce_max_s(v, mask) : L::reduce_max_u(v, mask);
            break;
    }
    w.uniform[op->d / 4] = r;
    return next(op, w);
}

// CREDUX: k[0] the operation, k[1] the type, k[2] .NAN. Floats as redux.sync.f32 (PTX ISA): NaN
// counts with .NAN only.
const Op* credux(const Op* op, Warp& w, uint32_t mask) {
    using O = typed::CreduxOp;
    const auto what = static_cast<O>(op->k[0]);
    const bool max = what == O::MAX || what == O::MAXABS;
    V32 v = L::load(w.row(op->a));
    uint32_t r = 0;
    if (static_cast<typed::CreduxType>(op->k[1]) == typed::CreduxType::F32) {
        if (what == O::MAXABS || what == O::MINABS) v = L::fabs(v);
        const auto lane = [&](uint32_t rest) {
            return L::splat(L::lane(v, static_cast<unsigned>(std::countr_zero(rest))));
        };
        V32 sum = lane(mask);
        for (uint32_t rest = mask; rest;
             rest &= rest - 1)  // the first again: a lone NaN becomes canonical
            sum = op->k[2] ? (max ? L::fmax_nan(sum, lane(rest)) : L::fmin_nan(sum, lane(rest)))
                           : (max ? L::fmax(sum, lane(rest)) : L::fmin(sum, lane(rest)));
        r = L::lane(sum, 0);
    } else if (static_cast<typed::CreduxType>(op->k[1]) == typed::CreduxType::S32) {
        r = max ? L::reduce_max_s(v, mask) : L::reduce_min_s(v, mask);
    } else {
        r = max ? L::reduce_max_u(v, mask) : L::reduce_min_u(v, mask);
    }
    w.uniform[op->d / 4] = r;
    return next(op, w);
}

// elect.sync: the lowest lane that executes with the predicate, its number in the uniform register,
// ~0 if there is none (measured on an H200).
const Op* elect(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t members = mask & (w.p[op->k[1]] ^ op->m[0]);
    const uint32_t leader = members & (0u - members);
    w.uniform[op->d / 4] = members ? static_cast<uint32_t>(std::countr_zero(members)) : ~0u;
    write_predicate(w, op->k[0], leader, mask);
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Shfl& i) {
    const Operand a = x.source(i.a), b = x.source(i.b), c = x.source(i.c);
    x.op.d = x.destination_row(i.d.index);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = static_cast<uint8_t>(b.scalar | c.scalar << 1);
    switch (i.mode) {
        case typed::ShflMode::IDX:
            return choose_shfl<typed::ShflMode::IDX>(x);
        case typed::ShflMode::UP:
            return choose_shfl<typed::ShflMode::UP>(x);
        case typed::ShflMode::DOWN:
            return choose_shfl<typed::ShflMode::DOWN>(x);
        case typed::ShflMode::BFLY:
            return choose_shfl<typed::ShflMode::BFLY>(x);
    }
}

void lower(Lower& x, const typed::Vote& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = Lower::predicate(i.pa.index);
    x.op.m[0] = i.pa.neg ? ~0u : 0;
    x.op.k[2] = static_cast<uint8_t>(i.mode);
    if (x.op.k[2] > 2) x.reject("VOTE with an invalid mode");
    x.handler(vote);
}

void lower(Lower& x, const typed::MatchAny& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.a = x.source_row(i.a.index, i.size ? 2 : 1);
    x.op.k[1] = i.size;
    x.handler(match_any);
}
void lower(Lower& x, const typed::MatchAll& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.a = x.source_row(i.a.index, i.size ? 2 : 1);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.size;
    x.handler(match_all);
}

void lower(Lower& x, const typed::Redux& i) {
    x.op.d = x.uniform_destination(i.d.index);
    x.op.a = x.source_row(i.a.index);
    x.op.k[0] = i.op;
    x.op.k[1] = i.s32;
    if (i.op > 5) x.reject("REDUX with an invalid operation");
    x.handler(redux);
}

void lower(Lower& x, const typed::Credux& i) {
    const bool absolute = i.op == typed::CreduxOp::MAXABS || i.op == typed::CreduxOp::MINABS;
    if (static_cast<unsigned>(i.type) > 2 || (absolute && i.type != typed::CreduxType::F32))
        return x.reject("CREDUX of an invalid type");
    x.op.d = x.uniform_destination(i.d.index);
    x.op.a = x.source_row(i.a.index);
    x.op.k[0] = static_cast<uint8_t>(i.op);
    x.op.k[1] = static_cast<uint8_t>(i.type);
    x.op.k[2] = i.nan;
    x.handler(credux);
}

void lower(Lower& x, const typed::Elect& i) {
    x.op.d = x.uniform_destination(i.d.index);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = Lower::predicate(i.pa.index);
    x.op.m[0] = i.pa.neg ? ~0u : 0;
    x.handler(elect);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
