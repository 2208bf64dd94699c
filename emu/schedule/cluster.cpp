// SPDX-License-Identifier: Apache-2.0
// Clusters: how their CTAs take turns, and what they share: a barrier (PTX ISA, "barrier.cluster"),
// each other's shared memory, and mbarrier objects in it. One worker runs a cluster at a time, so
// all of this is plain code.
#include <algorithm>
#include <string>

#include "emu/memory/bounds.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/plugin/sync_events.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

template <class F>
void each_warp(Cluster& cluster, F&& act) {
    for (uint32_t r = 0; r < cluster.size; ++r)
        for (uint32_t i = 0; i < cluster.cta[r]->warp_count; ++i)
            act(*cluster.cta[r], cluster.cta[r]->warps[i]);
}

std::string text_of(const Mbarrier& b) {
    std::string text = "phase " + std::to_string(b.phase) + ", " + std::to_string(b.pending) +
                       " of " + std::to_string(b.expected) + " arrivals pending";
    if (b.transactions > 0) text += ", " + std::to_string(b.transactions) + " bytes missing";
    if (b.transactions < 0)
        text += ", " + std::to_string(-b.transactions) + " bytes more than expected so far";
    return text;
}

}  // namespace

// All lanes that have not exited must arrive.
void recheck_cluster(Cluster& cluster) {
    bool all = true;
    each_warp(cluster,
              [&](Cta& cta, Warp& w) { all &= (w.live & ~cta.cluster_arrived[w.index]) == 0; });
    if (!all) return;
    cluster.open = false;
    if (Hooks* hooks = engine(*cluster.cta[0]).hooks())
        events::cluster_complete(*hooks, *cluster.cta[0]);
    each_warp(cluster, [](Cta& cta, Warp& w) {
        cta.cluster_arrived[w.index] = 0;
        for (uint32_t k = 0; k < w.paths_used; ++k)
            if (w.paths[k].state == PathState::at_cluster) w.paths[k].state = PathState::runnable;
    });
}

std::string describe_mbarrier(const Cluster& cluster, const std::byte* object) {
    for (uint32_t r = 0; r < cluster.size; ++r) {
        const Cta& cta = *cluster.cta[r];
        if (object < cta.shared || object >= cta.shared + cta.shared_bytes) continue;
        return "mbarrier at shared address " + std::to_string(object - cta.shared) +
               (cluster.size > 1 ? " of rank " + std::to_string(r) : std::string()) + ": " +
               text_of(Mbarrier::decode(host::load<uint64_t>(object)));
    }
    return "mbarrier";
}

namespace paths {

const Op* cluster_arrive(Warp& w, const Op* op, uint32_t lanes) {
    Cta& cta = *w.cta;
    if (cta.cluster_owed[w.index] & lanes)
        return engine(w).fault(
            w, op, cta.cluster_owed[w.index] & lanes, FaultKind::barrier_misuse,
            "a thread arrives again at the cluster's barrier without having waited", false, 0);
    if (Hooks* hooks = engine(w).hooks()) events::cluster_arrive(*hooks, w, op, lanes);
    if (w.in_flight) engine(w).drain(w);
    ++w.effects;
    cta.cluster_arrived[w.index] |= lanes;
    cta.cluster_owed[w.index] |= lanes;
    cta.cluster->open = true;
    recheck_cluster(*cta.cluster);
    return op + 1;
}

const Op* cluster_wait(Warp& w, const Op* op, uint32_t lanes) {
    Cta& cta = *w.cta;
    if (lanes & ~cta.cluster_owed[w.index])
        return engine(w).fault(w, op, lanes & ~cta.cluster_owed[w.index], FaultKind::barrier_misuse,
                               "a thread waits at the cluster's barrier without having arrived",
                               false, 0);
    ++w.effects;
    cta.cluster_owed[w.index] &= ~lanes;
    if (Hooks* hooks = engine(w).hooks()) events::cluster_wait(*hooks, w, op, lanes);
    if (!(cta.cluster_arrived[w.index] & lanes)) return op + 1;
    if (!leave_behind(w, lanes, op + 1)) return nullptr;
    Path& p = w.path();
    p.pc = op + 1;
    p.state = PathState::at_cluster;
    return run_other_path(w);
}

std::byte* shared(Warp& w, const Op* op, uint32_t lane, uint32_t address, uint32_t bytes) {
    const Cluster& cluster = *w.cta->cluster;
    const uint32_t rank = address >> 24, at = address & 0xffffff;
    const auto fault = [&](FaultKind kind, std::string what) {
        engine(w).fault(w, op, 1u << lane, kind, std::move(what), true, address);
        return nullptr;
    };
    if (rank >= cluster.size)
        return fault(FaultKind::cluster, "rank " + std::to_string(rank) + " of a cluster of " +
                                             std::to_string(cluster.size) +
                                             (cluster.size == 1 ? " CTA" : " CTAs"));
    Cta& cta = *cluster.cta[rank];
    if (&cta != w.cta && !cta.live_threads)
        return fault(FaultKind::cluster,
                     "the CTA of rank " + std::to_string(rank) +
                         " has exited; its shared memory must not be used any more");
    if (at % bytes)
        return fault(FaultKind::misaligned_address,
                     "the address is not a multiple of " + std::to_string(bytes));
    if (at + uint64_t{bytes} > cta.shared_bytes)
        return fault(FaultKind::out_of_bounds,
                     "outside the shared memory of the CTA: " + shared_bounds(cta, address));
    return cta.shared + at;
}

bool mbarrier(Warp& w, const Op* op, uint32_t lane, uint32_t address,
              const MbarrierChange& change) {
    std::byte* object = shared(w, op, lane, address, 8);
    if (!object) return false;
    if (change.counters) {
        if (w.in_flight) engine(w).drain(w);
        const auto before = host::load<uint64_t>(object);
        uint64_t now = before;
        for (uint64_t i = 0; i < change.arrivals; ++i) now = CounterMbarrier::arrive(now);
        if (Hooks* hooks = engine(w).hooks()) {
            const auto told = [](uint64_t o) {
                return Mbarrier{.phase = static_cast<uint32_t>(o >> 63),
                                .pending = CounterMbarrier::pending(o)};
            };
            events::mbarrier_change(*hooks, w, op, lane, address, change, told(before), told(now),
                                    false);
        }
        host::store<uint64_t>(object, now);
        ++w.effects;
        return true;
    }
    if (Hooks* hooks = engine(w).hooks()) events::meets_object(*hooks, w, op, 1u << lane, address);
    Mbarrier b = Mbarrier::decode(host::load<uint64_t>(object));
    const Mbarrier before = b;
    const char* broken = b.apply(change);
    if (Hooks* hooks = engine(w).hooks())
        events::mbarrier_change(*hooks, w, op, lane, address, change, before, b, broken);
    // The shared-memory pipeline of an SM is in order: earlier loads are done before an arrival.
    if (w.in_flight) engine(w).drain(w);
    if (broken) {
        engine(w).fault(w, op, 1u << lane, FaultKind::barrier_misuse,
                        std::string(broken) + ": mbarrier in " + text_of(before) +
                            ", this instruction adds " + std::to_string(change.arrivals) +
                            " arrivals and expects " + std::to_string(change.expect) + " bytes",
                        true, address);
        return false;
    }
    host::store<uint64_t>(object, b.encode());
    ++w.effects;
    if (b.phase == before.phase) return true;
    each_warp(*w.cta->cluster, [&](Cta&, Warp& other) {
        for (uint32_t k = 0; k < other.paths_used; ++k) {
            Path& p = other.paths[k];
            if (p.state != PathState::at_mbarrier || p.object != object) continue;
            p.state = PathState::runnable;
            p.answer = WaitAnswer::completed;
        }
    });
    return true;
}

const Op* mbarrier_wait(Warp& w, const Op* op, const std::byte* object) {
    Path& p = w.path();
    p.pc = op;
    p.state = PathState::at_mbarrier;
    p.object = object;
    return run_other_path(w);
}

}  // namespace paths

// A slice of each CTA of the cluster that lives and has something to run.
Engine::Outcome Engine::run_cluster(CtaSlot& slot, Turn& worker) {
    bool progress = false, live = false;
    uint32_t quiet = ~0u;
    for (uint32_t r = 0; r < slot.cluster.size; ++r) {
        Cta& cta = *slot.cluster.cta[r];
        if (!cta.live_threads) continue;
        const Outcome outcome = run_slice(slot_of(cta), worker);
        if (outcome == Outcome::stopped) return outcome;
        progress |= outcome != Outcome::blocked;
        live |= outcome != Outcome::done;
        quiet = std::min(quiet, slot_of(cta).quiet_slices);
    }
    if (!live) return Outcome::done;
    slot.quiet_slices = quiet;
    return progress || wake_cluster(slot) ? Outcome::expired : Outcome::blocked;
}

bool Engine::wake_cluster(CtaSlot& slot) {
    bool any = false;
    for (uint32_t r = 0; r < slot.cluster.size; ++r)
        if (slot.cluster.cta[r]->live_threads) any |= wake_parked(slot_of(*slot.cluster.cta[r]));
    return any;
}

// Nothing else can run: the time of every suspended try_wait is up. Its path looks at its loop
// again, from the next back edge on, so that a loop which only waits is found to spin.
bool Engine::time_out_waits(CtaSlot& slot) {
    bool any = false;
    each_warp(slot.cluster, [&](Cta&, Warp& w) {
        for (uint32_t k = 0; k < w.paths_used; ++k) {
            Path& p = w.paths[k];
            if (p.state != PathState::at_mbarrier) continue;
            p.state = PathState::runnable;
            p.answer = WaitAnswer::timed_out;
            any = true;
        }
    });
    return any;
}

}  // namespace sassemu
