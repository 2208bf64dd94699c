// SPDX-License-Identifier: Apache-2.0
// Clusters: their barrier, and what the CTAs of one must know of each other before they use each
// other's shared memory, or allocate and free columns of tensor memory as a pair.
#include <algorithm>
#include <utility>

#include "checker.hpp"

namespace check_sync {

void Checker::leave(const ClusterBarrier& b, sassemu_warp handle, uint32_t lanes, uint32_t insn) {
    Warp& w = warp_of(handle);
    Acquire how = meanings_[insn].acquire(SASSEMU_LEVEL_CLUSTER);
    if (meanings_[insn].known) how = {true, cluster, false};
    order_.each(w, lanes, [&](Group& g) { g.before_meeting = g.now[for_global]; });
    order_.acquire(w, lanes, how, b.over, insn);
    order_.each(w, lanes, [&](Group& g) {
        order_.has_met(g, b.meeting, std::exchange(g.before_meeting, {}));
    });
    order_.merge(w);
}

// The warp, or a copy of its, uses shared memory of another CTA, which must have begun.
void Checker::remote(Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner) {
    if (owner == w.place.cta) return;
    ClusterBarrier& b = cluster_barriers_[w.place.cluster];
    if (!std::exchange(b.remote, true)) order_.need(b.meeting, Order::level_cluster);
    if (has_begun(w, lanes, owner)) return;
    const bool pair = meanings_[insn].says("tcgen05.alloc");
    breaks_rule(FindingKind::peer_not_ready, w, lanes, insn,
                pair ? "allocates columns for a pair of CTAs" : "uses shared memory of another CTA",
                "nothing says that CTA " + std::to_string(owner) + " has begun",
                "barrier.cluster.arrive and .wait (cluster.sync()) at the beginning of the kernel");
}

// Whether these lanes know of anything that a thread of that CTA has done, if only arrived
// somewhere.
bool Checker::has_begun(Warp& w, uint32_t lanes, uint64_t owner) {
    auto at = std::find_if(w.begun.begin(), w.begun.end(),
                           [&](const auto& one) { return one.first == owner; });
    if (at == w.begun.end()) at = w.begun.insert(at, {owner, 0});
    if (!(lanes & ~at->second)) return true;
    for (const Group& g : w.groups) {  // which stay as they are: an access may be looking at one
        const std::vector<Entry>& all = g.now[executed].entries();
        if (g.lanes & lanes && std::any_of(all.begin(), all.end(), [&](const Entry& e) {
                return e.who < first_mbarrier && names_[e.who / 4].cta == owner;
            }))
            at->second |= g.lanes;
    }
    return !(lanes & ~at->second);
}

void Checker::allocates_pair(Warp& w, uint32_t lanes, const Meaning& m) {
    if (!m.says("tcgen05.alloc") || !m.says("cta_group::2")) return;
    PairAlloc& mine = pair_allocs_[w.place.cta];
    w.used = true;
    if (!mine.over) mine = {w.id, lanes & -lanes, w.epoch, false};
}

// On a B300 a launch fails where a CTA frees columns of a pair before the other one's alloc is over
// (NVIDIA/cutlass #3435).
void Checker::frees_pair(Warp& w, uint32_t lanes, uint32_t insn) {
    if (std::exchange(pair_allocs_[w.place.cta].over, true)) return;
    const sassemu_cta cta = ctas_.at(w.place.cta), peer = host.cta_of_rank(cta, info(cta).rank ^ 1);
    if (!peer) return;
    const PairAlloc& other = pair_allocs_[numbered(peer).linear];
    if (!other.warp || !knows(w, lanes, {other.warp * 4, other.lane, other.epoch}))
        breaks_rule(FindingKind::peer_not_ready, w, lanes, insn, "frees columns of a pair of CTAs",
                    "nothing says that tcgen05.alloc of the other CTA is over",
                    "barrier.cluster.arrive and .wait between tcgen05.alloc and tcgen05.dealloc");
}

}  // namespace check_sync
