// SPDX-License-Identifier: Apache-2.0
// The tensor core as one of the agents: its multiplications, copies and shifts (tensor_core.hpp)
// between shared and tensor memory of a CTA, and the arrivals that say that they are done.
#include <bit>
#include <string>

#include "emu/async/agents.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

// visit(const Touched&) for what it reads and writes.
template <class Visit>
void each_touched(const TensorWork& work, Visit&& visit) {
    work.visit([&](const auto& what) {
        touched(
            what,
            [](void* self, const Touched& t) {
                (*static_cast<std::remove_reference_t<Visit>*>(self))(t);
            },
            &visit);
    });
}

Cta& cta_of(Cta& asked, const Touched& t) { return t.peer ? *peer_of(asked) : asked; }

sassemu_location location(Cta& asked, const Touched& t) {
    const Cta& cta = cta_of(asked, t);
    return t.tensor
               ? events::tensor_location(cta, t.address)
               : events::shared_location(cta, cta.rank << 24 | static_cast<uint32_t>(t.address));
}

// What is wrong with the CTA that a pair needs beside this one; empty: nothing, or it needs none.
std::string wrong_peer(const Cta& cta, bool pair) {
    if (!pair) return {};
    const Cta* const peer = peer_of(cta);
    if (!peer)
        return "cta_group::2: rank " + std::to_string(cta.rank) + " of a cluster of " +
               std::to_string(cta.cluster->size) + (cta.cluster->size == 1 ? " CTA" : " CTAs") +
               " has no other CTA to its pair";
    if (!peer->live_threads)
        return "cta_group::2: the CTA of rank " + std::to_string(peer->rank) +
               " has exited; its memory must not be used any more";
    return {};
}

// The object in the CTA of `rank`, where there is more than one.
uint32_t object_in(const TensorCommit& c, uint32_t rank) {
    return rank << 24 | (c.mbarrier & 0xffffff);
}

}  // namespace

bool possible(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work) {
    const char* wrong = work.visit([&](const auto& what) {
        if constexpr (std::is_same_v<decltype(what), const Multiply&>)
            return check(what, w.cta->launch->arch, w.cta->shared_bytes);
        else
            return check(what, w.cta->shared_bytes);
    });
    if (wrong) {
        launch_host(w).fault(w, op, lanes, FaultKind::other, wrong, false, 0);
        return false;
    }
    const std::string peer = wrong_peer(*w.cta, work.pair());
    if (!peer.empty()) launch_host(w).fault(w, op, lanes, FaultKind::cluster, peer, false, 0);
    return peer.empty();
}

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1);
    each_touched(work, [&](const Touched& t) {
        t.write ? issue.will_write(location(*w.cta, t), t.bytes)
                : issue.will_read(location(*w.cta, t), t.bytes);
    });
    return issue.id();
}

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const TensorCommit& c) {
    const uint32_t object =
        c.multicast ? object_in(c, static_cast<uint32_t>(std::countr_zero(c.ranks))) : c.mbarrier;
    return events::AsyncIssue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1, object).id();
}

const Op* tensor_work(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work, uint64_t id,
                      lanes::MatrixSums sums) {
    // It may have exited since.
    if (const std::string peer = wrong_peer(*w.cta, work.pair()); !peer.empty())
        return launch_host(w).fault(w, op, lanes, FaultKind::cluster, peer, false, 0);
    Cta* const ctas[2] = {w.cta, work.pair() ? peer_of(*w.cta) : nullptr};
    const uint32_t used = work.visit([](const auto& what) { return granules(what); });
    for (Cta* const cta : ctas) {
        if (!cta) continue;
        if (const uint32_t lost = used & ~tensor_of(*cta).used()) {
            const auto column =
                static_cast<uint32_t>(std::countr_zero(lost)) * TensorMemory::granule;
            const bool freed = !(lost & ~tensor_of(*cta).freed());
            return launch_host(w).fault(
                w, op, lanes, freed ? FaultKind::use_after_free : FaultKind::out_of_bounds,
                "the tensor core uses columns " + std::to_string(column) + " to " +
                    std::to_string(column + TensorMemory::granule - 1) + " of tensor memory" +
                    (cta == w.cta ? "" : " of rank " + std::to_string(cta->rank)) +
                    (freed ? ", which have been freed" : ", which are not allocated"),
                true, column);
        }
    }
    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    if (agent)
        each_touched(work, [&](const Touched& t) {
            Cta& cta = cta_of(*w.cta, t);
            const std::byte* bytes =
                t.tensor
                    ? reinterpret_cast<const std::byte*>(tensor_of(cta).cells().cell) + t.address
                    : cta.shared + t.address;
            t.write ? agent.write(location(*w.cta, t), bytes, t.bytes)
                    : static_cast<void>(agent.read(location(*w.cta, t), bytes, t.bytes));
        });
    work.visit([&](const auto& what) {
        if constexpr (std::is_same_v<decltype(what), const Multiply&>) {
            TensorSide sides[2];
            for (uint32_t i = 0; i < 2; ++i)
                if (ctas[i]) sides[i] = {ctas[i]->shared, &tensor_of(*ctas[i]).cells()};
            multiply(what, sides, w.cta->launch->arch, sums);
        } else {
            for (Cta* const cta : ctas)
                if (cta) move(what, cta->shared, tensor_of(*cta).cells());
        }
    });
    return op + 1;
}

const Op* commit_tensor(Warp& w, const Op* op, uint32_t lanes, const TensorCommit& c, uint64_t id) {
    const events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    MbarrierChange arrival;
    arrival.arrivals = 1;
    if (!c.multicast)
        return services(w).mbarrier(w, op, lane, c.mbarrier, arrival) ? op + 1 : nullptr;
    for (uint32_t rest = c.ranks; rest; rest &= rest - 1)
        if (!services(w).mbarrier(
                w, op, lane, object_in(c, static_cast<uint32_t>(std::countr_zero(rest))), arrival))
            return nullptr;
    return op + 1;
}

}  // namespace sassemu::async
