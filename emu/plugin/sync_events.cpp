// The events of sync_events.hpp, filled in.
#include "emu/plugin/sync_events.hpp"

#include "emu/schedule/engine.hpp"

namespace sassemu::events {

namespace {

sassemu_sync of(Warp& w, const Op* op, uint32_t kind, uint32_t lanes) {
    sassemu_sync e{};
    e.kind = kind;
    e.lanes = lanes;
    e.warp = handle(&w);
    e.cta = handle(w.cta);
    e.insn = instruction_of(w, op);
    return e;
}

// An event that says no more than who and where.
void tell(Hooks& h, Warp& w, const Op* op, sassemu_sync_kind kind, uint32_t lanes) {
    if (!h.wants(kind)) return;
    sassemu_sync e = of(w, op, kind, lanes);
    h.sync(e);
}

}  // namespace

void barrier_arrive(Hooks& h, Warp& w, const Op* op, uint32_t lanes, const BarrierRequest& request) {
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

void mbarrier_change(Hooks& h, Warp& w, const Op* op, uint32_t lane, uint32_t address, const MbarrierChange& change,
                     const Mbarrier& before, const Mbarrier& after, bool misuse) {
    const auto kind = misuse ? SASSEMU_SYNC_MBARRIER_MISUSE : SASSEMU_SYNC_MBARRIER_ARRIVE;
    if (!h.wants(kind)) return;
    sassemu_sync e = of(w, op, kind, 1u << lane);
    const Cluster& cluster = *w.cta->cluster;
    e.owner_rank = address >> 24;
    e.address = address & 0xffffff;
    e.owner = e.owner_rank < cluster.size ? cluster.cta[e.owner_rank]->linear : w.cta->linear;
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

void warp_joins(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_WARP, lanes);
}

void exits(Hooks& h, Warp& w, const Op* op, uint32_t lanes) {
    tell(h, w, op, SASSEMU_SYNC_EXIT, lanes);
}

// ---- asynchronous operations ----------------------------------------------------------------------------------------------

thread_local uint64_t AsyncOperation::current_ = 0;

AsyncOperation::AsyncOperation(Warp& w, const Op* op, uint32_t lanes, sassemu_agent_kind kind, uint32_t proxy)
    : hooks_(engine(w).hooks()), w_(w), op_(op), lanes_(lanes), kind_(kind), proxy_(proxy) {
    if (!hooks_) return;
    current_ = id_ = hooks_->next_async();
    tell(SASSEMU_ASYNC_ISSUE, 0, {}, nullptr, 0, proxy_);
}

AsyncOperation::~AsyncOperation() {
    if (!hooks_) return;
    tell(SASSEMU_ASYNC_COMPLETE, 0, {}, nullptr, 0, proxy_);
    current_ = 0;
}

void AsyncOperation::tell(uint32_t step, uint32_t op, const sassemu_location& at, const std::byte* bytes, uint64_t count,
                          uint32_t proxy) {
    if (!hooks_ || !hooks_->wants_async()) return;
    sassemu_async e{};
    e.size = sizeof e;
    e.step = step;
    e.agent_kind = kind_;
    e.proxy = proxy;
    e.id = id_;
    e.lanes = lanes_;
    e.op = op;
    e.warp = handle(&w_);
    e.insn = instruction_of(w_, op_);
    e.at = at;
    e.bytes = count;
    if (step == SASSEMU_ASYNC_READ) e.data = bytes;
    if (step == SASSEMU_ASYNC_WRITE) e.before = bytes;
    hooks_->async(e);
}

sassemu_location AsyncOperation::shared(uint32_t address) const {
    const Cluster& cluster = *w_.cta->cluster;
    const uint32_t rank = address >> 24;
    return {address & 0xffffff, SASSEMU_SHARED,
            static_cast<uint32_t>(rank < cluster.size ? cluster.cta[rank]->linear : w_.cta->linear)};
}

void AsyncOperation::read_global(uint64_t address, const std::byte* bytes, uint64_t count, uint32_t proxy) {
    tell(SASSEMU_ASYNC_READ, SASSEMU_LOAD, {address, SASSEMU_GLOBAL, 0}, bytes, count, proxy);
}
void AsyncOperation::write_global(uint64_t address, const std::byte* bytes, uint64_t count, bool reduce) {
    tell(SASSEMU_ASYNC_WRITE, reduce ? SASSEMU_REDUCE : SASSEMU_STORE, {address, SASSEMU_GLOBAL, 0}, bytes, count, proxy_);
}
void AsyncOperation::read_shared(uint32_t address, const std::byte* bytes, uint64_t count) {
    tell(SASSEMU_ASYNC_READ, SASSEMU_LOAD, shared(address), bytes, count, proxy_);
}
void AsyncOperation::write_shared(uint32_t address, const std::byte* bytes, uint64_t count, bool reduce) {
    tell(SASSEMU_ASYNC_WRITE, reduce ? SASSEMU_REDUCE : SASSEMU_STORE, shared(address), bytes, count, proxy_);
}

}  // namespace sassemu::events
