// SPDX-License-Identifier: Apache-2.0
// Lowering of atomics and reductions, and their way through the memory port.
//
// Facts from compiled code (ptxas 13.0) that the names do not tell:
//  - ATOM (generic) with a predicate destination performs the operation only on global addresses
//    and reports which lanes had one; the code that follows asks QSPC and does the rest by hand.
//  - ATOMS.CAST gives 1 where the swap took place, else 0.
//  - ATOMS.POPC.INC counts up by one per lane; its result is never used.
#include "emu/isa/atomic.hpp"

#include "emu/isa/atomic_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

constexpr uint32_t no_predicate = 7;

bool in_window(uint64_t address) {
    const auto high = static_cast<uint32_t>(address >> 32);
    return high >= constant_window_high && high <= shared_window_high;
}

bool operator_of(Lower& x, typed::AtomOp op, AtomicOp& out) {
    using O = typed::AtomOp;
    switch (op) {
        case O::ADD:
            out = AtomicOp::add;
            return true;
        case O::MIN:
            out = AtomicOp::min;
            return true;
        case O::MAX:
            out = AtomicOp::max;
            return true;
        case O::INC:
            out = AtomicOp::inc;
            return true;
        case O::DEC:
            out = AtomicOp::dec;
            return true;
        case O::AND:
            out = AtomicOp::and_;
            return true;
        case O::OR:
            out = AtomicOp::or_;
            return true;
        case O::XOR:
            out = AtomicOp::xor_;
            return true;
        case O::EXCH:
            out = AtomicOp::exch;
            return true;
        default:
            x.gap("an atomic operator without known behaviour");
            return false;
    }
}

struct Shape {
    AtomicType type = AtomicType::u32;
    uint32_t words = 1;     // registers of one element
    uint32_t elements = 1;  // vectors: each element is an atomic of its own
};
bool shape_of(Lower& x, typed::AtomType type, Shape& out) {
    using T = typed::AtomType;
    switch (type) {
        case T::U32:
            out = {AtomicType::u32, 1, 1};
            return true;
        case T::S32:
            out = {AtomicType::s32, 1, 1};
            return true;
        case T::U64:
            out = {AtomicType::u64, 2, 1};
            return true;
        case T::S64:
            out = {AtomicType::s64, 2, 1};
            return true;
        case T::B128:
            out = {AtomicType::b128, 4, 1};
            return true;
        case T::F32_FTZ_RN:
            out = {AtomicType::f32, 1, 1};
            return true;
        case T::F32x2_FTZ_RN:
            out = {AtomicType::f32, 1, 2};
            return true;
        case T::F32x4_FTZ_RN:
            out = {AtomicType::f32, 1, 4};
            return true;
        case T::F64_RN:
            out = {AtomicType::f64, 2, 1};
            return true;
        case T::F16x2_RN:
            out = {AtomicType::f16x2_rn, 1, 1};
            return true;
        case T::F16x4_RN:
            out = {AtomicType::f16x2_rn, 1, 2};
            return true;
        case T::F16x8_RN:
            out = {AtomicType::f16x2_rn, 1, 4};
            return true;
        case T::BF16x2_RN:
            out = {AtomicType::bf16x2, 1, 1};
            return true;
        case T::BF16x4_RN:
            out = {AtomicType::bf16x2, 1, 2};
            return true;
        case T::BF16x8_RN:
            out = {AtomicType::bf16x2, 1, 4};
            return true;
        default:
            x.gap("an atomic type without known behaviour");
            return false;
    }
}

bool is_float(AtomicType t) {
    return t == AtomicType::f32 || t == AtomicType::f64 || t == AtomicType::f16x2_rn ||
           t == AtomicType::bf16x2;
}

// PTX ISA, "atom": which operators exist for which types.
bool exists(AtomicOp op, AtomicType type) {
    switch (type) {
        case AtomicType::f32:
        case AtomicType::f64:
            return op == AtomicOp::add;
        case AtomicType::f16x2_rn:
        case AtomicType::bf16x2:
            return op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max;
        case AtomicType::u64:
        case AtomicType::s64:
            return op != AtomicOp::inc && op != AtomicOp::dec;
        case AtomicType::b128:
            return op == AtomicOp::exch || op == AtomicOp::cas;
        default:
            return true;
    }
}

void finish(Lower& x, AtomicOp op, const Shape& shape, AccessSpace space, typed::MemOrder order,
            bool reduce, uint32_t flags, uint32_t predicate) {
    if (!exists(op, shape.type)) return x.gap("an atomic operator on a type that has none");
    describe(x, reduce ? AccessOp::reduce : AccessOp::atomic, space, order);
    x.op.k[0] = static_cast<uint8_t>(shape.words == 1   ? Width::b32
                                     : shape.words == 2 ? Width::b64
                                                        : Width::b128);
    x.op.m[2] = static_cast<uint32_t>(op) | static_cast<uint32_t>(shape.type) << 8 |
                shape.elements << 16 | flags << 24;
    x.op.m[3] = predicate;
    if (x.through_port() || shape.elements > 1 || shape.words > 2)
        x.handler(atomic_port);
    else
        choose_atomic(x, op, shape.type, space);
}

template <class T>
bool far_atomic(Lower& x, const T& i, bool wide_base) {
    // m[2] and m[3] are free in a far address.
    return far_operand(x, i.addr, i.e || i.addr.has_ureg || wide_base, wide_base);
}

template <class T>
void atomic(Lower& x, const T& i, AccessSpace space) {
    AtomicOp op;
    Shape shape;
    if (!operator_of(x, i.op, op) || !shape_of(x, i.type, shape)) return;
    if (!far_atomic(x, i, i.ext == typed::AddressExt::B64 || (i.e && !i.addr.has_ureg))) return;
    const uint32_t words = shape.words * shape.elements;
    x.op.d = x.destination_row(i.d.index, words);
    x.op.e = x.op.f = x.source_row(i.data.index, words);
    if (space == AccessSpace::global && i.pd.index != no_predicate)
        return x.gap("a predicate result of a global atomic");
    finish(x, op, shape, space, i.order, false, 0, i.pd.index);
}

template <class T>
void compare_and_swap(Lower& x, const T& i, AccessSpace space) {
    Shape shape;
    if (!shape_of(x, i.type, shape)) return;
    if (!far_atomic(x, i, i.e)) return;
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.source_row(i.cmp.index, shape.words);
    x.op.f = x.source_row(i.data.index, shape.words);
    if (space == AccessSpace::global && i.pd.index != no_predicate)
        return x.gap("a predicate result of a global atomic");
    finish(x, AtomicOp::cas, shape, space, i.order, false, 0, i.pd.index);
}

template <class T>
void reduction(Lower& x, const T& i) {
    AtomicOp op;
    Shape shape;
    if (!operator_of(x, i.op, op) || !shape_of(x, i.type, shape)) return;
    if (!far_atomic(x, i, i.ext == typed::AddressExt::B64 || (i.e && !i.addr.has_ureg))) return;
    x.op.d = sink_row;
    x.op.e = x.op.f = x.source_row(i.data.index, shape.words * shape.elements);
    finish(x, op, shape, AccessSpace::global, i.order, true, 0, no_predicate);
}

}  // namespace

uint32_t shift_of(typed::SharedScale scale) {
    switch (scale) {
        case typed::SharedScale::X4:
            return 2;
        case typed::SharedScale::X8:
            return 3;
        case typed::SharedScale::X16:
            return 4;
        default:
            return 0;
    }
}

const Op* atomic_port(const Op* op, Warp& w, uint32_t mask) {
    return atomic_port_rows(op, w, mask, op->e, op->f);
}

const Op* atomic_port_rows(const Op* op, Warp& w, uint32_t mask, uint32_t operand, uint32_t swap) {
    Access a;
    a.op = static_cast<AccessOp>(op->k[1] & 15);
    a.space = static_cast<AccessSpace>(op->k[1] >> 4);
    a.ordering = static_cast<Ordering>(op->k[2] & 7);
    if (a.ordering == Ordering::weak) a.ordering = Ordering::relaxed;
    a.scope = static_cast<MemScope>(op->k[2] >> 3 & 7);
    a.atomic = atomic_op(op);
    a.type = atomic_type(op);
    a.bytes = static_cast<uint8_t>(width_bytes(static_cast<Width>(op->k[0])));
    a.lanes = mask;
    a.warp = &w;
    const uint32_t* low = w.row(op->a);
    const uint32_t* high = w.row(op->b);
    if (a.space == AccessSpace::shared) {
        const uint32_t add = w.scalar32(op->c) + op->m[0];
        for (uint32_t lane = 0; lane < 32; ++lane) a.address[lane] = (low[lane] << op->m[1]) + add;
    } else {
        const uint64_t add = w.scalar64(op->c) + static_cast<uint64_t>(signed_offset(op));
        for (uint32_t lane = 0; lane < 32; ++lane)
            a.address[lane] = (uint64_t{high[lane]} << 32 | low[lane]) + add;
    }
    if (a.space == AccessSpace::generic) {
        uint32_t windows = 0, local = 0;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (!(mask >> lane & 1) || !in_window(a.address[lane])) continue;
            windows |= 1u << lane;
            if (a.address[lane] >> 32 == local_window_high) local |= 1u << lane;
        }
        if (op->m[3] != no_predicate) {
            a.lanes = mask & ~windows;
            write_predicate(w, op->m[3], a.lanes, mask);
            if (a.lanes == 0) return op + 1;
        } else if (local) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(local));
            return services(w).fault(w, op, local, FaultKind::out_of_bounds,
                                     "an atomic on local memory", true, a.address[lane]);
        }
    }
    const bool swap_result = (atomic_flags(op) & atomic_reports_swap) != 0;
    // A compare-and-swap that reports keeps its old value here, out of the way of registers.
    const uint32_t words = width_words(static_cast<Width>(op->k[0]));
    uint32_t expected[2][32];
    if (swap_result)
        for (uint32_t k = 0; k < words && k < 2; ++k)
            std::memcpy(expected[k], w.row(operand + k * row_bytes), row_bytes);
    const Op* next = op + 1;
    for (uint32_t element = 0; element < atomic_elements(op); ++element) {
        a.destination = swap_result ? sink_row : op->d + element * row_bytes;
        a.source[0] = operand + element * row_bytes;
        a.source[1] = swap + element * row_bytes;
        next = services(w).access(w, op, a);
        if (!next) return nullptr;
        for (uint64_t& address : a.address) address += a.bytes;
    }
    if (swap_result) {
        uint32_t swapped = 0;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            bool same = true;
            for (uint32_t k = 0; k < words && k < 2; ++k)
                same &= w.row(sink_row + k * row_bytes)[lane] == expected[k][lane];
            swapped |= static_cast<uint32_t>(same) << lane;
        }
        write<false>(w, op->d, L::select(swapped, L::splat(1), L::splat(0)), mask);
        if (words == 2) write<false>(w, op->d + row_bytes, L::splat(0), mask);
        if (op->m[3] != no_predicate) write_predicate(w, op->m[3], swapped, mask);
    }
    return next;
}

const Op* popc_inc_port(const Op* op, Warp& w, uint32_t mask) {
    // The sink rows are read by nobody: the operand may lie in the last of them.
    constexpr uint32_t ones = sink_row + 3 * row_bytes;
    L::store(w.row(ones), L::splat(1));
    return atomic_port_rows(op, w, mask, ones, ones);
}

void lower(Lower& x, const typed::Atom& i) { atomic(x, i, AccessSpace::generic); }
void lower(Lower& x, const typed::Atomg& i) { atomic(x, i, AccessSpace::global); }
void lower(Lower& x, const typed::AtomCas& i) { compare_and_swap(x, i, AccessSpace::generic); }
void lower(Lower& x, const typed::AtomgCas& i) { compare_and_swap(x, i, AccessSpace::global); }
void lower(Lower& x, const typed::Red& i) { reduction(x, i); }
void lower(Lower& x, const typed::Redg& i) { reduction(x, i); }

void lower(Lower& x, const typed::Atoms& i) {
    AtomicOp op;
    Shape shape;
    if (!operator_of(x, i.op, op) || !shape_of(x, i.type, shape)) return;
    if (is_float(shape.type)) return x.gap("a floating-point atomic on shared memory");
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.op.f = x.source_row(i.data.index, shape.words);
    finish(x, op, shape, AccessSpace::shared, typed::MemOrder::WEAK, false, 0, no_predicate);
}

void lower(Lower& x, const typed::AtomsPopcInc& i) {
    if (i.d.index != SASSDEC_RZ) return x.gap("the result of ATOMS.POPC.INC");
    // No row of ones exists: the handlers of the flat model add 1 themselves (AtomicOp::none).
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = sink_row;
    x.op.e = x.op.f = zero_row;
    describe(x, AccessOp::atomic, AccessSpace::shared, typed::MemOrder::WEAK);
    x.op.k[0] = static_cast<uint8_t>(Width::b32);
    x.op.m[2] = static_cast<uint32_t>(AtomicOp::add) | static_cast<uint32_t>(AtomicType::u32) << 8 |
                1 << 16;
    x.op.m[3] = no_predicate;
    if (x.through_port()) {
        x.handler(popc_inc_port);
        return;
    }
    choose_atomic(x, AtomicOp::none, AtomicType::u32, AccessSpace::shared);
}

void lower(Lower& x, const typed::AtomsCas& i) {
    Shape shape;
    if (!shape_of(x, i.type, shape)) return;
    if (shape.words > 2) return x.gap("a 128-bit compare-and-swap on shared memory");
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.source_row(i.cmp.index, shape.words);
    x.op.f = x.source_row(i.data.index, shape.words);
    const bool reports = i.mode == typed::CasMode::CAST || i.mode == typed::CasMode::CAST_SPIN;
    if (!reports && i.pd.index != no_predicate) return x.gap("a predicate result of ATOMS.CAS");
    finish(x, AtomicOp::cas, shape, AccessSpace::shared, typed::MemOrder::WEAK, false,
           reports ? atomic_reports_swap : 0, i.pd.index);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
