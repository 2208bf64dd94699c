// SPDX-License-Identifier: Apache-2.0
// The events of sync_events.hpp, filled in.
#include "emu/plugin/sync_events.hpp"

#include "emu/plugin/async_events.hpp"
#include "emu/plugin/driven_machine.hpp"

namespace sassemu::events {

sassemu_sync event(Warp& w, sassemu_insn insn, uint32_t kind, uint32_t lanes) {
    sassemu_sync e{};
    e.kind = kind;
    e.lanes = lanes;
    e.warp = handle(&w);
    e.cta = handle(w.cta);
    e.insn = insn;
    return e;
}
void set_object(sassemu_sync& e, const Cta& cta, uint32_t address) {
    e.owner_rank = address >> 24;
    e.address = address & 0xffffff;
    e.owner = shared_location(cta, address).owner;
}

namespace {

sassemu_sync of(Warp& w, const Op* op, uint32_t kind, uint32_t lanes) {
    return event(w, instruction_of(w, op), kind, lanes);
}

// An event that says no more than who and where.
void tell(Hooks& h, Warp& w, const Op* op, sassemu_sync_kind kind, uint32_t lanes) {
    if (!h.wants(kind)) return;
    sassemu_sync e = of(w, op, kind, lanes);
    h.sync(e);
}

}  // namespace

void barrier_arrive(Hooks& h, Warp& w, const Op* op, uint32_t lanes,
                    const BarrierRequest& request) {
    if (!h.wants(SASSEMU_SYNC_BARRIER_ARRIVE)) return;
    sassemu_sync e = of(w, op, SASSEMU_SYNC_BARRIER_ARRIVE, lanes);
    e.id = request.id;
    e.expected = request.threads;
    e.waits = request.op != BarrierOp::arrive;
    e.reduction = request.op == BarrierOp::reduce_popc  ? 1
                  : request.op == BarrierOp::reduce_and ? 2
                  : request.op == BarrierOp::reduce_or  ? 3
                                                        : 0;
    h.sync(e);
}

void barrier_complete(Hooks& h, Cta& cta, uint32_t id, const Barrier& b, const uint32_t* waiting) {
    if (!h.wants(SASSEMU_SYNC_BARRIER_COMPLETE)) return;
    sassemu_sync e{};
    e.kind = SASSEMU_SYNC_BARRIER_COMPLETE;
    e.cta = handle(&cta);
    e.id = id;
    e.expected = b.expected;
    e.participants = b.mask;
    e.waiting = waiting;
    h.sync(e);
}

void cluster_arrive(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_CLUSTER_ARRIVE, lanes);
}
void cluster_wait(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_CLUSTER_WAIT, lanes);
}
void cluster_complete(Hooks& h, Cta& cta) {
    if (!h.wants(SASSEMU_SYNC_CLUSTER_COMPLETE)) return;
    sassemu_sync e{};
    e.kind = SASSEMU_SYNC_CLUSTER_COMPLETE;
    e.cta = handle(&cta);
    h.sync(e);
}

void meets_object(Hooks& h, Warp& w, const Op* op, uint32_t lanes, uint32_t address) {
    DrivenMachine* const driver = h.scoped();
    if (driver && !AsyncOperation::current())
        driver->meets(instruction_of(w, op), handle(&w), lanes, shared_location(*w.cta, address));
}

void mbarrier_change(Hooks& h, Warp& w, const Op* op, uint32_t lane, uint32_t address,
                     const MbarrierChange& change, const Mbarrier& before, const Mbarrier& after,
                     bool misuse) {
    const auto kind = misuse ? SASSEMU_SYNC_MBARRIER_MISUSE : SASSEMU_SYNC_MBARRIER_ARRIVE;
    if (!h.wants(kind)) return;
    sassemu_sync e = of(w, op, kind, 1u << lane);
    set_object(e, *w.cta, address);
    e.arrivals = static_cast<int64_t>(change.arrivals);
    e.drops = static_cast<int64_t>(change.drops);
    e.expect = change.expect;
    e.phase = before.phase;
    e.phase_after = after.phase;
    e.pending = after.pending;
    e.transactions = after.transactions;
    e.agent = AsyncOperation::current();
    h.sync(e);
}

void warpgroup_arrive(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_WARPGROUP_ARRIVE, lanes);
}
void warpgroup_wait(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_WARPGROUP_WAIT, lanes);
}

void warp_joins(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_WARP, lanes);
}

void exits(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_EXIT, lanes);
}

}  // namespace sassemu::events
