// SPDX-License-Identifier: Apache-2.0
// Fences, cache control, waits for copies, and address-space queries. Under the flat model memory
// is coherent and every access is done when its instruction is, so only wide fences leave a trace
// here; through the port each of them is told to the model.
#include "emu/isa/memory_order.hpp"
#include "emu/isa/memory_access.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

const Op* host_fence(const Op* op, Warp& w, uint32_t) {
    host::fence();
    return next(op, w);
}

const Op* fence_port(const Op* op, Warp& w, uint32_t) {
    const auto& fence = as<FencePayload>(*op);
    Fence f;
    f.ordering = fence.ordering();
    f.scope = fence.scope();
    f.invalidate_data = fence.empties(FencePayload::data);
    f.invalidate_texture = fence.empties(FencePayload::texture);
    f.warp = &w;
    return services(w).fence(w, op, f);
}

void fence(Lower& x, bool host) {
    as<FencePayload>(x.op).describe(event_of(x.instruction()));
    if (x.through_port())
        x.handler(fence_port);
    else
        x.handler(host ? host_fence : nothing);
}

const Op* end_copy_group(const Op* op, Warp& w, uint32_t) {
    return services(w).end_copy_group(w, op, {.bulk = false, .scoreboard = op->k[0]});
}

// k[1]: scoreboards whose groups are all waited for; k[2]: those that may leave k[0] groups.
const Op* wait_copy_groups(const Op* op, Warp& w, uint32_t) {
    for (uint32_t scoreboards = op->k[1] | op->k[2]; scoreboards; scoreboards &= scoreboards - 1) {
        const auto s = static_cast<uint32_t>(std::countr_zero(scoreboards));
        if (!services(w).wait_copy_groups(w, op, s, op->k[1] >> s & 1 ? 0 : op->k[0]))
            return nullptr;
    }
    return next(op, w);
}

// m[1]: which window (0: none of them), m[3]: the predicate, k[1]: only what belongs to the own
// CTA. (Measured on an H200: bits 31..24 of a shared address are a rank; .S asks for the own one,
// .D for any.)
const Op* query_space(const Op* op, Warp& w, uint32_t mask) {
    const V64 address = far_lanes(as<MemoryPayload>(*op).far(w));
    const V32 high = L::hi32(address);
    uint32_t inside = L::cmp_eq(high, L::splat(op->m[1]));
    if (op->k[1])
        inside &= L::cmp_eq(L::and_(L::lo32(address), L::splat(0xff000000)),
                            L::splat(shared_rank_bits(w)));
    if (op->m[1] == 0)
        inside = ~(L::cmp_eq(high, L::splat(shared_window_high)) |
                   L::cmp_eq(high, L::splat(local_window_high)));
    write_predicate(w, op->m[3], inside, mask);
    return next(op, w);
}

// applypriority and discard, of all that is done to a line: on the chip they need memory there, and
// fault like a load of one byte; shared memory and parameters pass, and what has more than 57 bits.
const Op* touch_line(const Op* op, Warp& w, uint32_t mask) {
    const FarBase address = as<MemoryPayload>(*op).far(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const uint64_t at = address.at(lane);
        const auto high = static_cast<uint32_t>(at >> 32);
        if (!is_extended(at) || high == constant_window_high || high == shared_window_high ||
            reaches(w, AccessSpace::generic, at, lane, 1, false))
            continue;
        const Landing landing = land(w, AccessSpace::generic, at, lane, 1, false);
        return services(w).fault(w, op, 1u << lane, landing.fault, landing.what, true, at);
    }
    return next(op, w);
}

const Op* grid_wait(const Op* op, Warp& w, uint32_t mask) {
    return services(w).grid_wait(w, op, mask);
}

}  // namespace

void lower(Lower& x, const typed::Membar&) {
    // One worker runs a CTA at a time: inside it, program order is all there is.
    fence(x, event_of(x.instruction()).mem_scope() != MemScope::cta);
}
// Waits for asynchronous copies of the bulk kind; ordinary accesses are never late here.
void lower(Lower& x, const typed::MembarAsync&) { fence(x, true); }
// Between the generic and the asynchronous proxy. The flat model has one view of memory.
void lower(Lower& x, const typed::Fence&) { fence(x, true); }
// griddepcontrol.wait.
void lower(Lower& x, const typed::Acqbulk&) { x.handler(x.late_copies() ? grid_wait : nothing); }
void lower(Lower& x, const typed::Errbar&) { x.handler(nothing); }
void lower(Lower& x, const typed::Cgaerrbar&) { x.handler(nothing); }
void lower(Lower& x, const typed::Cctl& i) {
    if (i.cache == typed::CctlCache::C || i.cache == typed::CctlCache::I)
        return x.reject("CCTL of a cache of constants or instructions, by an address of memory");
    const bool touches = i.op == typed::CctlOp::DML2 || i.op == typed::CctlOp::RML2;
    if (!touches || !i.e) return x.handler(nothing);
    if (far_operand(x, i.addr, true, true)) x.handler(touch_line);
}
// Half of fence.proxy.tensormap's acquire on sm_100+: the other is UTMACCTL.IV, which orders.
void lower(Lower& x, const typed::CctlUniform&) { x.handler(nothing); }
void lower(Lower& x, const typed::Cctll&) { x.handler(nothing); }
void lower(Lower& x, const typed::CctllAll&) { x.handler(nothing); }
void lower(Lower& x, const typed::Cctlt&) { x.handler(nothing); }
// CCTL.IVALL is the acquire side of a wide fence: it empties the first-level cache.
void lower(Lower& x, const typed::CctlAll&) { fence(x, false); }
void lower(Lower& x, const typed::CctltIvall&) { fence(x, false); }
// Waits for copies that are on their way, if any can be; checked runs wait for registers, not for
// scoreboards.
void lower(Lower& x, const typed::Ldgdepbar&) {
    x.op.k[0] = x.instruction().control.write_barrier;
    x.handler(x.late_copies() ? end_copy_group : nothing);
}
// All that is under way on the scoreboards of the list.
void lower(Lower& x, const typed::Depbar& i) {
    x.op.k[1] = static_cast<uint8_t>(i.list);
    x.handler(x.late_copies() ? wait_copy_groups : nothing);
}
// ... and but for the last `count` on one more.
void lower(Lower& x, const typed::DepbarLe& i) {
    x.op.k[0] = static_cast<uint8_t>(i.count.imm);
    x.op.k[1] = static_cast<uint8_t>(i.list & ~(1u << static_cast<uint32_t>(i.sb)));
    x.op.k[2] = static_cast<uint8_t>(1u << static_cast<uint32_t>(i.sb));
    x.handler(x.late_copies() ? wait_copy_groups : nothing);
}

void lower(Lower& x, const typed::Qspc& i) {
    using S = typed::SpaceKind;
    if (i.d.index != SASSDEC_RZ) return x.gap("the register result of QSPC");
    if (!far_operand(x, i.addr, i.e || i.addr.has_ureg,
                     i.ext == typed::AddressExt::B64 || !i.addr.has_ureg))
        return;
    switch (i.space) {
        case S::S:
        case S::D:
            x.op.m[1] = shared_window_high;
            x.op.k[1] = i.space == S::S;
            break;
        case S::L:
            x.op.m[1] = local_window_high;
            break;
        case S::G:
            x.op.m[1] = 0;
            break;
        default:
            return x.gap("this space of QSPC");
    }
    x.op.m[3] = i.pd.index;
    x.handler(query_space);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
