// SPDX-License-Identifier: Apache-2.0
// Lowering of atomics and reductions, and their way through the memory port.
//
// Facts from compiled code (ptxas 13.0) that the names do not tell:
//  - ATOM (generic) reports in its predicate which lanes it was performed for; the code that
//    follows asks QSPC and does the rest by hand. Which spaces that are: performed_at().
//  - ATOMS.CAST and ATOM.CAST give 1 where the swap took place, else 0.
//  - ATOMS.POPC.INC and ATOM.POPC.INC count up by one per lane; their result is never used.
#include "emu/isa/atomic.hpp"

#include "emu/isa/atomic_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

constexpr uint32_t no_predicate = 7;

bool operator_of(Lower& x, const Event& e, AtomicOp& out) {
    out = e.atomic_op();
    if (out != AtomicOp::none && out != AtomicOp::safe_add) return true;
    x.gap("an atomic operator without known behaviour");
    return false;
}

struct Shape {
    AtomicType type = AtomicType::u32;
    uint32_t words = 1;     // registers of one element
    uint32_t elements = 1;  // vectors: each element is an atomic of its own
};
bool shape_of(Lower& x, const Event& e, Shape& out) {
    switch (e.type) {
        case SASSDEC_TYPE_U32:
            out.type = AtomicType::u32;
            break;
        case SASSDEC_TYPE_S32:
            out.type = AtomicType::s32;
            break;
        case SASSDEC_TYPE_U64:
            out.type = AtomicType::u64;
            break;
        case SASSDEC_TYPE_S64:
            out.type = AtomicType::s64;
            break;
        case SASSDEC_TYPE_B128:
            out.type = AtomicType::b128;
            break;
        case SASSDEC_TYPE_F32_FTZ:
            out.type = AtomicType::f32;
            break;
        case SASSDEC_TYPE_F32:
            out.type = AtomicType::f32_rn;
            break;
        case SASSDEC_TYPE_F64:
            out.type = AtomicType::f64;
            break;
        case SASSDEC_TYPE_F16X2:
            out.type = AtomicType::f16x2_rn;
            break;
        case SASSDEC_TYPE_BF16X2:
            out.type = AtomicType::bf16x2;
            break;
        default:
            x.gap("an atomic type without known behaviour");
            return false;
    }
    out.elements = e.elements;
    out.words = e.bytes / 4u / e.elements;
    return true;
}

bool is_float(AtomicType t) {
    return t == AtomicType::f32 || t == AtomicType::f32_rn || t == AtomicType::f64 ||
           t == AtomicType::f16x2_rn || t == AtomicType::bf16x2;
}

// Whether ATOM is performed at a generic address. Elsewhere in shared and local memory it does
// nothing, and says so in its predicate. Measured on an H200, tests/hardware/generic.
bool performed_at(uint64_t address, const Op* op, uint32_t bytes) {
    const auto high = static_cast<uint32_t>(address >> 32);
    const bool shared = high == shared_window_high, local = high == local_window_high;
    if (atomic_flags(op) & atomic_reports_swap) return shared;
    if (!shared && !local) return true;
    if (is_float(atomic_type(op))) return false;
    const AtomicOp what = atomic_op(op);
    const bool moves = what == AtomicOp::exch || what == AtomicOp::cas;
    return bytes == 4 || (shared && (moves || (what == AtomicOp::add && bytes == 8)));
}

// PTX ISA, "atom": which operators exist for which types.
bool exists(AtomicOp op, AtomicType type) {
    switch (type) {
        case AtomicType::f32:
        case AtomicType::f32_rn:
        case AtomicType::f64:
            return op == AtomicOp::add;
        case AtomicType::f16x2_rn:
        case AtomicType::bf16x2:
            return op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max;
        case AtomicType::u64:
            return op != AtomicOp::inc && op != AtomicOp::dec;
        case AtomicType::s64:
            return op == AtomicOp::min || op == AtomicOp::max;
        case AtomicType::b128:
            return op == AtomicOp::exch || op == AtomicOp::cas;
        default:
            return true;
    }
}

void finish(Lower& x, AtomicOp op, const Shape& shape, uint32_t flags, uint32_t predicate) {
    if (!exists(op, shape.type)) return x.reject("an atomic operator that this type does not have");
    const Event e = describe(x);
    x.op.k[0] = static_cast<uint8_t>(shape.words == 1   ? Width::b32
                                     : shape.words == 2 ? Width::b64
                                                        : Width::b128);
    x.op.m[2] = static_cast<uint32_t>(op) | static_cast<uint32_t>(shape.type) << 8 |
                shape.elements << 16 | flags << 24;
    x.op.m[3] = predicate;
    const bool far_cast = flags & atomic_reports_swap && e.access_space() != AccessSpace::shared;
    if (x.through_port() || shape.elements > 1 || shape.words > 2 || far_cast)
        x.handler(atomic_port);
    else
        choose_atomic(x, op, shape.type, e.access_space());
}

template <class T>
bool far_atomic(Lower& x, const T& i, bool wide_base) {
    // m[2] and m[3] are free in a far address.
    return far_operand(x, i.addr, i.e || i.addr.has_ureg || wide_base, wide_base);
}

template <class T>
void atomic(Lower& x, const T& i) {
    AtomicOp op;
    Shape shape;
    const Event e = event_of(x.instruction());
    if (!operator_of(x, e, op) || !shape_of(x, e, shape)) return;
    if (!far_atomic(x, i, i.ext == typed::AddressExt::B64 || (i.e && !i.addr.has_ureg))) return;
    const uint32_t words = shape.words * shape.elements;
    x.op.d = x.destination_row(i.d.index, words);
    x.op.e = x.op.f = x.source_row(i.data.index, words);
    if (e.access_space() == AccessSpace::global && i.pd.index != no_predicate)
        return x.gap("a predicate result of a global atomic");
    finish(x, op, shape, 0, i.pd.index);
}

bool is_cast(typed::CasMode mode) {
    return mode == typed::CasMode::CAST || mode == typed::CasMode::CAST_SPIN;
}

template <class T>
void compare_and_swap(Lower& x, const T& i, bool reports) {
    const Event e = event_of(x.instruction());
    Shape shape;
    if (!shape_of(x, e, shape)) return;
    if (reports && shape.words > 2) return x.reject("a CAST of 128 bits");
    if (!far_atomic(x, i, i.e)) return;
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.source_row(i.cmp.index, shape.words);
    x.op.f = x.source_row(i.data.index, shape.words);
    if (e.access_space() == AccessSpace::global && i.pd.index != no_predicate)
        return x.gap("a predicate result of a global atomic");
    finish(x, AtomicOp::cas, shape, reports ? atomic_reports_swap : 0, i.pd.index);
}

template <class T>
void reduction(Lower& x, const T& i) {
    AtomicOp op;
    Shape shape;
    const Event e = event_of(x.instruction());
    if (!operator_of(x, e, op) || !shape_of(x, e, shape)) return;
    if (!far_atomic(x, i, i.ext == typed::AddressExt::B64 || (i.e && !i.addr.has_ureg))) return;
    x.op.d = sink_row;
    x.op.e = x.op.f = x.source_row(i.data.index, shape.words * shape.elements);
    finish(x, op, shape, 0, no_predicate);
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
    Access a = as<MemoryPayload>(*op).access(w, mask);
    if (a.ordering == Ordering::weak) a.ordering = Ordering::relaxed;
    a.atomic = atomic_op(op);
    a.type = atomic_type(op);
    a.bytes = static_cast<uint8_t>(width_bytes(static_cast<Width>(op->k[0])));
    const bool generic = a.space == AccessSpace::generic;
    const uint32_t whole = a.bytes * atomic_elements(op);
    for (uint32_t rest = generic || whole > a.bytes ? mask : 0; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const uint64_t at = a.address[lane];
        Landing landing;
        if (at % whole)
            landing = {nullptr, FaultKind::misaligned_address, false,
                       "the address is not a multiple of the access size"};
        else if (!generic || performed_at(at, op, a.bytes))
            continue;
        else if (!(atomic_flags(op) & atomic_reports_swap))
            landing = land(w, a.space, at, lane, whole, true);
        else if (!is_extended(at))
            landing = {nullptr, FaultKind::out_of_bounds, false, "no address of 57 bits"};
        if (landing.fault != FaultKind::none)
            return services(w).fault(w, op, 1u << lane, landing.fault, landing.what, true, at);
        a.lanes &= ~(1u << lane);
    }
    if (generic && op->m[3] != no_predicate) write_predicate(w, op->m[3], a.lanes, mask);
    if (!a.lanes) return op + 1;
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
        write<false>(w, op->d, L::select(swapped, L::splat(1), L::splat(0)), a.lanes);
        if (words == 2) write<false>(w, op->d + row_bytes, L::splat(0), a.lanes);
        if (!generic && op->m[3] != no_predicate) write_predicate(w, op->m[3], swapped, mask);
    }
    return next;
}

const Op* popc_inc_port(const Op* op, Warp& w, uint32_t mask) {
    // The sink rows are read by nobody: the operand may lie in the last of them.
    constexpr uint32_t ones = sink_row + 3 * row_bytes;
    L::store(w.row(ones), L::splat(1));
    return atomic_port_rows(op, w, mask, ones, ones);
}

void lower(Lower& x, const typed::Atom& i) { atomic(x, i); }
void lower(Lower& x, const typed::Atomg& i) { atomic(x, i); }
void lower(Lower& x, const typed::AtomCas& i) { compare_and_swap(x, i, is_cast(i.mode)); }
void lower(Lower& x, const typed::AtomgCas& i) { compare_and_swap(x, i, false); }
void lower(Lower& x, const typed::Red& i) { reduction(x, i); }
void lower(Lower& x, const typed::Redg& i) { reduction(x, i); }

void lower(Lower& x, const typed::Atoms& i) {
    AtomicOp op;
    Shape shape;
    const Event e = event_of(x.instruction());
    if (!operator_of(x, e, op) || !shape_of(x, e, shape)) return;
    if (is_float(shape.type)) return x.gap("a floating-point atomic on shared memory");
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.op.f = x.source_row(i.data.index, shape.words);
    finish(x, op, shape, 0, no_predicate);
}

namespace {

// POPC.INC, but for its address. No row of ones exists: the handlers add 1 themselves.
template <class T>
bool popc_inc(Lower& x, const T& i) {
    if (i.d.index != SASSDEC_RZ) {
        x.gap("the result of POPC.INC");
        return false;
    }
    x.op.d = sink_row;
    x.op.e = x.op.f = zero_row;
    describe(x);
    x.op.k[0] = static_cast<uint8_t>(Width::b32);
    x.op.m[2] = static_cast<uint32_t>(AtomicOp::add) | static_cast<uint32_t>(AtomicType::u32) << 8 |
                1 << 16;
    x.op.m[3] = no_predicate;
    return true;
}

}  // namespace

void lower(Lower& x, const typed::AtomsPopcInc& i) {
    near_operand(x, i.addr, shift_of(i.scale));
    if (!popc_inc(x, i)) return;
    if (x.through_port())
        x.handler(popc_inc_port);
    else
        choose_atomic(x, AtomicOp::none, AtomicType::u32, AccessSpace::shared);
}
void lower(Lower& x, const typed::AtomPopcInc& i) {
    if (i.pd.index != no_predicate) return x.gap("a predicate result of ATOM.POPC.INC");
    if (!far_operand(x, i.addr, true, i.ext == typed::AddressExt::B64) || !popc_inc(x, i)) return;
    x.handler(popc_inc_port);
}

void lower(Lower& x, const typed::AtomsCas& i) {
    Shape shape;
    if (!shape_of(x, event_of(x.instruction()), shape)) return;
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = x.destination_row(i.d.index, shape.words);
    x.op.e = x.source_row(i.cmp.index, shape.words);
    x.op.f = x.source_row(i.data.index, shape.words);
    const bool reports = is_cast(i.mode);
    if (!reports && i.pd.index != no_predicate) return x.gap("a predicate result of ATOMS.CAS");
    finish(x, AtomicOp::cas, shape, reports ? atomic_reports_swap : 0, i.pd.index);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
