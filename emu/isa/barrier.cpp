// SPDX-License-Identifier: Apache-2.0
// CTA barriers and their results. Counting and waiting are the engine's (schedule/barrier.cpp).
#include "emu/isa/barrier.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// Operand a: id, b: thread count; k[0]: operation, k[1] bits 0, 1: a, b are scalars, bit 2: one
// register holds both; m[0], m[1]: predicate of a reduction and its complement.
const Op* bar(const Op* op, Warp& w, uint32_t mask) {
    const int lane = std::countr_zero(mask);
    const uint32_t a = op->k[1] & 1 ? w.scalar32(op->a) : w.row(op->a)[lane];
    const uint32_t b = op->k[1] & 2 ? w.scalar32(op->b) : w.row(op->b)[lane];
    BarrierRequest request;
    request.op = static_cast<BarrierOp>(op->k[0]);
    request.id = a;
    request.threads = b;
    if (op->k[1] & 4) {
        request.id = a & 0xffff;  // 4 bits and 12 count: what does not fit is no barrier
        request.threads = a >> 16;
    }
    request.predicate = w.p[op->m[0]] ^ op->m[1];
    // The barrier's result belongs to the reduction that this warp asked for.
    if (request.op >= BarrierOp::reduce_popc) w.barrier_op = op->k[0];
    return services(w).barrier(w, op, mask, request);
}

// B2R.RESULT: the count of a POPC reduction in the register, the truth of AND and OR in the
// predicate.
const Op* b2r_result(const Op* op, Warp& w, uint32_t mask) {
    const Cta& cta = *w.cta;
    const uint32_t count = cta.barrier_result[w.index];
    const bool all = count == cta.barrier_expected[w.index];
    const bool truth =
        w.barrier_op == static_cast<uint8_t>(BarrierOp::reduce_and) ? all : count != 0;
    L::store(w.row(op->d), L::splat(count), mask);
    write_predicate(w, op->k[0], truth ? ~0u : 0, mask);
    return next(op, w);
}

BarrierOp operation(Lower& x, typed::BarMode mode, typed::BarRed red) {
    switch (mode) {
        case typed::BarMode::SYNC:
            return BarrierOp::sync;
        case typed::BarMode::ARV:
            return BarrierOp::arrive;
        case typed::BarMode::RED:
            switch (red) {
                case typed::BarRed::POPC:
                    return BarrierOp::reduce_popc;
                case typed::BarRed::AND:
                    return BarrierOp::reduce_and;
                case typed::BarRed::OR:
                    return BarrierOp::reduce_or;
            }
            break;
        default:
            break;
    }
    x.gap("a mode of BAR that no PTX becomes");
    return BarrierOp::sync;
}

template <class T>
void lower_bar(Lower& x, const T& i, uint8_t packed) {
    const Operand a = x.source(i.a), b = x.source(i.b);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.k[0] = static_cast<uint8_t>(operation(x, i.mode, i.red));
    x.op.k[1] = static_cast<uint8_t>(a.scalar | b.scalar << 1 | packed);
    x.op.m[0] = i.pa.index;
    x.op.m[1] = i.pa.neg ? ~0u : 0;
    x.handler(bar);
}

}  // namespace

void lower(Lower& x, const typed::Bar& i) { lower_bar(x, i, 0); }
void lower(Lower& x, const typed::BarPacked& i) { lower_bar(x, i, 4); }

void lower(Lower& x, const typed::B2r& i) {
    if (i.mode != 1) x.gap("B2R of anything but a reduction's result");
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = i.pd.index;
    x.handler(b2r_result);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
