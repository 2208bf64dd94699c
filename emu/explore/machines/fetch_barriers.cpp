// SPDX-License-Identifier: Apache-2.0
// Barriers of all kinds in machine code on a machine: who waits for whom, and what a machine that
// knows scopes is shown of it. See sass_fetch.hpp.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/explore/machines/ptx_words.hpp"
#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/test_memory.hpp"

namespace sassemu::explore {
namespace {

// Barriers as scoped machines know them, by kind, CTA or cluster, and key or place.
uint64_t barrier_object(int32_t cta, uint64_t key) {
    return uint64_t{5} << 40 | static_cast<uint64_t>(cta) << 8 | (key & 0xff);
}
uint64_t warp_object(int32_t cta, uint64_t key) {
    return uint64_t{8} << 48 | static_cast<uint64_t>(cta) << 37 | (key & 0x1fffffffff);
}
uint64_t cluster_object(int32_t cluster) {
    return uint64_t{6} << 40 | static_cast<uint32_t>(cluster);
}
uint64_t mbarrier_object(uint64_t address) {
    return uint64_t{7} << 40 | (address & ~SASSEMU_MACHINE_SHARED);
}

bool reduces(BarrierOp op) { return op >= BarrierOp::reduce_popc; }

}  // namespace

SassFetch::What SassFetch::barrier(Turn& at, const BarrierRequest& r) {
    if (r.op == BarrierOp::scan) return beyond(at, "is not explored by this model");
    const uint32_t lane = test_.sass->thread(at.thread).thread % 32;
    return meet(at, barrier_key(r.id, r.threads), r.op, r.predicate >> lane & 1);
}

// bar.warp.sync: a barrier of these lanes. Others of the warp may be at another.
SassFetch::What SassFetch::warpsync(Turn& at, uint32_t lanes) {
    if (std::popcount(lanes) > 1)
        return meet(at, warp_key(test_.sass->thread(at.thread).thread / 32, lanes), BarrierOp::sync,
                    false);
    ++at.pc;
    return What::ran;
}

SassFetch::What SassFetch::meet(Turn& at, uint64_t key, BarrierOp op, bool predicate) {
    if (!at.drained()) return What::blocked;
    const int32_t cta = test_.threads[at.thread].cta;
    SassState::Barrier& b = at.s.barriers[{cta, key}];
    b.arrivals.resize(test_.threads.size());
    if (b.arrivals[at.thread].here)
        return beyond(at, "is not explored: the thread arrives again before the barrier is over");
    const bool first = std::ranges::none_of(b.arrivals, &SassState::Barrier::Arrival::here);
    if (first) b.op = op;
    if (reduces(b.op) != reduces(op) || (reduces(op) && b.op != op))
        return beyond(at, "is not explored: it meets a barrier of another kind");
    b.arrivals[at.thread] = {at.pc, true, predicate};
    b.told.join(at.s.threads[at.thread].told);
    const bool of_warp = key >> 63;
    const uint64_t object = of_warp ? warp_object(cta, key) : barrier_object(cta, key - 1);
    if (scoped_)
        at.out.push_back(meeting(SASSEMU_OPERATION_ARRIVE, object, at.s.phases[object],
                                 SASSEMU_ORDER_RELEASE, SASSEMU_SCOPE_CTA));
    else
        at.out.emplace_back(SASSEMU_OPERATION_MEET);
    touched_.barrier = key;
    touched_.arrives = op == BarrierOp::arrive;
    if (op != BarrierOp::arrive) at.s.threads[at.thread].barrier = key;
    ++at.pc;
    release(at.s);
    return What::operations;
}

// B2R: what the last reduction counted, and whether that is something.
SassFetch::What SassFetch::result_of_barrier(Turn& at) {
    for (const uint32_t r : at.i.writes) {
        const bool count = at.code.registers()[r] < sass_register::predicate;
        at.registers[r] = at.registers[static_cast<size_t>(
            at.code.number_of(count ? sass_register::reduced : sass_register::reduced_of))];
    }
    ++at.pc;
    return What::ran;
}

SassFetch::What SassFetch::cluster(Turn& at, bool arrives) {
    SassState::OfThread& self = at.s.threads[at.thread];
    const int32_t cluster = test_.threads[at.thread].cluster;
    if (arrives ? !at.drained() : (scoped_ && !at.drained()) || !cluster_passed(at.s, at.thread))
        return What::blocked;
    const bool releases = at.i.ptx_known && at.i.intent.kind == IntentKind::barrier &&
                          at.i.intent.ordering == Ordering::release;
    TensorOrder& told = at.s.cluster_told[cluster];
    arrives ? told.join(self.told) : self.told.join(told);
    uint32_t& phase = arrives ? self.cluster_arrivals : self.cluster_waits;
    if (scoped_)
        at.out.push_back(meeting(arrives ? SASSEMU_OPERATION_ARRIVE : SASSEMU_OPERATION_WAIT,
                                 cluster_object(cluster), phase,
                                 !arrives   ? SASSEMU_ORDER_ACQUIRE
                                 : releases ? SASSEMU_ORDER_RELEASE
                                            : SASSEMU_ORDER_RELAXED,
                                 SASSEMU_SCOPE_CLUSTER));
    ++phase;
    ++at.pc;
    return What::ran;
}

// The first run said which object; now the instruction sees it.
SassFetch::What SassFetch::mbarrier(Turn& at, uint32_t address) {
    if (!at.drained()) return What::blocked;
    Place place;
    if (!test_.sass->shared(test_, at.thread, address, false, 8, place))
        return refuse_at(at, "reaches no shared memory");
    const uint64_t object =
        TestMemory::of_shared(test_.locations[test_.names[place.name].location].cta) | place.offset;
    touched_.ranges.push_back(
        {object, 8, !at.i.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST)});
    uint64_t now = 0;
    std::memcpy(&now, shared_bytes(at.s, object, 8), 8);
    const SassEffects& e = run(at, now);
    if (e.waited) {
        touched_.object = object;
        return What::blocked;
    }
    const SassInstruction& i = at.i;
    const bool meant = i.ptx_known && i.intent.kind == IntentKind::mbarrier;
    const uint32_t scope = meant && i.intent.scope != MemScope::none ? scope_of(i.intent.scope)
                                                                     : uint32_t{SASSEMU_SCOPE_CTA};
    const bool relaxed = meant && i.intent.ordering == Ordering::relaxed;
    if (e.call == SassEffects::Call::mbarrier) {
        const MbarrierChange by = e.change;
        if (scoped_ && by.counters && !meant) return beyond(at, without_ptx);
        write(at);
        const TensorOrder& told = at.s.threads[at.thread].told;
        if (by.counters) tell_all(at.s, at.thread);
        if (!told.empty() && (by.arrivals || by.drops)) at.s.told[object].now.join(told);
        if (const char* wrong =
                change(at.s, object, by, by.arrivals || by.drops,
                       relaxed ? SASSEMU_ORDER_RELAXED : SASSEMU_ORDER_RELEASE, scope, at.out))
            return refuse_at(at, wrong);
        if (!scoped_) at.out.emplace_back(SASSEMU_OPERATION_MEET);
    } else {
        now = e.object;
        std::memcpy(shared_bytes(at.s, object, 8), &now, 8);
        write(at);
    }
    const uint64_t number = mbarrier_object(object);
    if (scoped_ && i.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST) &&
        std::ranges::any_of(i.writes, [&](uint32_t r) { return at.registers[r] != 0; }) &&
        at.s.phases[number]) {
        at.out.push_back(meeting(SASSEMU_OPERATION_WAIT, number, at.s.phases[number] - 1,
                                 relaxed ? SASSEMU_ORDER_RELAXED : SASSEMU_ORDER_ACQUIRE, scope));
        if (const auto told = at.s.told.find(object); told != at.s.told.end())
            at.s.threads[at.thread].told.join(told->second.over);
    }
    ++at.pc;
    return What::ran;
}

const char* SassFetch::change(SassState& s, uint64_t object, const MbarrierChange& by, bool shown,
                              uint32_t order, uint32_t scope,
                              std::vector<MemoryOperation>& out) const {
    std::byte* const bytes = shared_bytes(s, object, 8);
    uint64_t now = 0;
    std::memcpy(&now, bytes, 8);
    if (by.counters) {
        // Of sm_80: two words that loads poll, and that an arrival changes as an atomic does.
        if (scoped_) {
            MemoryOperation& o = out.emplace_back(SASSEMU_OPERATION_ATOMIC);
            o.what.address = object;
            o.what.bytes = 8;
            o.what.ordering = SASSEMU_RELEASE;
            o.what.scope = SASSEMU_LEVEL_CTA;
            o.arrivals = static_cast<uint32_t>(by.arrivals);
            return nullptr;
        }
        for (uint64_t k = 0; k < by.arrivals; ++k) now = CounterMbarrier::arrive(now);
        std::memcpy(bytes, &now, 8);
        return nullptr;
    }
    Mbarrier b = Mbarrier::decode(now);
    const uint32_t before = b.phase;
    if (const char* wrong = b.apply(by)) return wrong;
    const uint64_t number = mbarrier_object(object);
    if (scoped_ && shown)
        out.push_back(meeting(SASSEMU_OPERATION_ARRIVE, number, s.phases[number], order, scope));
    if (scoped_) s.phases[number] += b.phase != before;
    if (const auto told = s.told.find(object); told != s.told.end() && b.phase != before) {
        told->second.over.join(told->second.now);
        told->second.now.clear();
    }
    now = b.encode();
    std::memcpy(bytes, &now, 8);
    return nullptr;
}

// Every thread of the cluster has arrived once more than this one has waited, or has ended.
bool SassFetch::cluster_passed(const SassState& s, uint32_t thread) const {
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        if (test_.threads[t].sass && test_.threads[t].cluster == test_.threads[thread].cluster &&
            !s.threads[t].ended && s.threads[t].cluster_arrivals <= s.threads[thread].cluster_waits)
            return false;
    return true;
}

// Whether all that it waits for have arrived; lanes that have ended arrive with their warp.
bool SassFetch::over(const SassState& s, int32_t cta, uint64_t key,
                     const SassState::Barrier& b) const {
    const bool of_warp = key >> 63;
    uint32_t here = 0, missing = 0, warps = 0;
    for (const bool ended : {false, true})
        for (uint32_t t = 0; t < test_.threads.size(); ++t) {
            if (test_.threads[t].cta != cta || !test_.threads[t].sass) continue;
            const uint32_t number = test_.sass->thread(t).thread, warp = 1u << number / 32;
            const bool named =
                !of_warp || (number / 32 == (key >> 32 & 0x1f) && key >> number % 32 & 1);
            if (!named) continue;
            if (!ended && b.arrivals[t].here) here += test_.threads[t].lanes, warps |= warp;
            if (!ended && !b.arrivals[t].here && !s.threads[t].ended) ++missing;
            if (ended && !b.arrivals[t].here && s.threads[t].ended && warps & warp)
                here += test_.threads[t].lanes;
        }
    const auto wanted = static_cast<uint32_t>(of_warp ? 0 : (key - 1) >> 8);
    return wanted ? here >= wanted : !missing;
}

// Lanes of one warp that stand at different instructions: on a chip a warp has arrived with the
// first of them (emu/isa/QUESTIONS.md, T11).
bool SassFetch::divided(const SassState::Barrier& b, uint32_t& thread) const {
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        for (uint32_t o = 0; o < t; ++o)
            if (b.arrivals[t].here && b.arrivals[o].here && b.arrivals[t].pc != b.arrivals[o].pc &&
                test_.sass->thread(t).thread / 32 == test_.sass->thread(o).thread / 32) {
                thread = t;
                return true;
            }
    return false;
}

// Releases the threads at barriers that are complete now.
void SassFetch::release(SassState& s) {
    for (auto it = s.barriers.begin(); it != s.barriers.end();) {
        const auto& [cta, key] = it->first;
        const SassState::Barrier& b = it->second;
        if (!over(s, cta, key, b)) {
            ++it;
            continue;
        }
        const bool of_warp = key >> 63;
        if (uint32_t t = 0; !of_warp && divided(b, t)) {
            const SassCode& code = test_.sass->code(test_.sass->thread(t).launch);
            note(notes_.unexplored, t, code, b.arrivals[t].pc,
                 "is not explored: lanes of one warp come to the barrier apart");
            touched_.unexplored = true;
            return;
        }
        uint32_t count = 0, all = 0;
        for (uint32_t t = 0; t < test_.threads.size(); ++t)
            if (b.arrivals[t].here) ++all, count += b.arrivals[t].predicate;
        const uint32_t result = b.op == BarrierOp::reduce_and  ? count == all
                                : b.op == BarrierOp::reduce_or ? count != 0
                                                               : count;
        const uint64_t object = of_warp ? warp_object(cta, key) : barrier_object(cta, key - 1);
        for (uint32_t k = 0; k < s.threads.size(); ++k) {
            SassState::OfThread& t = s.threads[k];
            if (t.barrier != key || test_.threads[k].cta != cta) continue;
            t.barrier = 0;
            t.told.join(b.told);
            if (scoped_) t.passed = object, t.phase = s.phases[object];
            if (reduces(b.op)) t.reduced = result, t.has_reduced = true;
        }
        if (scoped_) ++s.phases[object];
        it = s.barriers.erase(it);
    }
}

// Nobody can go on. Where a thread stands at a barrier that some of its warp have not come to,
// a chip would have let it go: there a warp arrives as a whole.
void SassFetch::stuck(const SassState& s) {
    for (const auto& [which, b] : s.barriers)
        for (uint32_t t = 0; t < test_.threads.size() && !(which.second >> 63); ++t) {
            if (!b.arrivals[t].here || s.threads[t].barrier != which.second) continue;
            for (uint32_t o = 0; o < test_.threads.size(); ++o) {
                if (test_.threads[o].cta != which.first || !test_.threads[o].sass ||
                    b.arrivals[o].here || s.threads[o].ended ||
                    test_.sass->thread(o).thread / 32 != test_.sass->thread(t).thread / 32)
                    continue;
                const SassCode& code = test_.sass->code(test_.sass->thread(t).launch);
                note(notes_.unexplored, t, code, b.arrivals[t].pc,
                     "is not explored: some lanes of the warp never come to the barrier");
                return;
            }
        }
}

}  // namespace sassemu::explore
