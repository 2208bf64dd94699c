// SPDX-License-Identifier: Apache-2.0
// Driving a scoped machine: barriers of all kinds and asynchronous operations. What is meant by
// instructions, and accesses, are in driven_scoped.cpp. See driven_machine.hpp.
#include <algorithm>
#include <bit>
#include <utility>

#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/driving.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

using namespace driving;

namespace {

enum Object : uint64_t { cta_barrier, cluster_barrier, warpgroup_barrier, warp_barrier, mbarrier };
constexpr uint64_t agent_bit = uint64_t{1} << 63;

}  // namespace

DrivenMachine::Phased& DrivenMachine::phased(uint64_t kind, uint64_t a, uint64_t b) {
    const auto [at, fresh] = scoped_.phased.try_emplace(std::array<uint64_t, 3>{kind, a, b});
    if (fresh) at->second.number = ++scoped_.objects;
    return at->second;
}

void DrivenMachine::arrive(const Who& who, uint32_t lanes, const Phased& at, uint8_t ordering,
                           uint8_t scope) {
    sassemu_operation o = operation(SASSEMU_OPERATION_ARRIVE);
    o.ordering = ordering;
    o.scope = scope;
    o.address = at.number;
    o.other = at.phase;
    for_lanes(who.threads(lanes), [&](unsigned lane) {
        o.from = of(who, lane);
        perform(o, nullptr);
    });
}

void DrivenMachine::wait(const Who& who, uint32_t lanes, const Phased& at, uint64_t phase,
                         uint8_t ordering, uint8_t scope) {
    sassemu_operation o = operation(SASSEMU_OPERATION_WAIT);
    o.ordering = ordering;
    o.scope = scope;
    o.address = at.number;
    o.other = phase;
    for_lanes(who.threads(lanes), [&](unsigned lane) {
        o.from = of(who, lane);
        perform(o, nullptr);
    });
}

void DrivenMachine::meet_warp(const Who& who, uint32_t lanes) {
    if (std::popcount(who.threads(lanes)) < 2) return;
    Phased& at = phased(warp_barrier, who.cta, who.warp);
    arrive(who, lanes, at, SASSEMU_RELEASE, SASSEMU_LEVEL_CTA);
    wait(who, lanes, at, at.phase, SASSEMU_ACQUIRE, SASSEMU_LEVEL_CTA);
    ++at.phase;
}

void DrivenMachine::leave_cluster(const Who& who, uint32_t lanes, uint64_t cluster) {
    wait(who, lanes, phased(cluster_barrier, cluster, 0), scoped_.in_cluster[{who.cta, who.warp}],
         SASSEMU_ACQUIRE, SASSEMU_LEVEL_CLUSTER);
}

void DrivenMachine::arrive_agent(const Who& who, uint64_t agent, const Phased& at, uint8_t scope,
                                 const Who* owner) {
    sassemu_operation o = operation(SASSEMU_OPERATION_ARRIVE);
    o.ordering = SASSEMU_RELEASE;
    o.scope = scope;
    o.address = at.number;
    o.other = at.phase;
    o.from = agent_place(who, agent);
    // What a copy brings is known to whoever acquires in the CTA that it is brought to.
    if (owner) {
        o.from.cta = owner->cta;
        o.from.cluster = owner->cluster;
    }
    perform(o, nullptr);
}

// The engine changes the object right after it. A load of it that acquires is what waits.
void DrivenMachine::count_arrival(const Who& who, const sassemu_place& from,
                                  const sassemu_sync& e) {
    sassemu_operation o = operation(SASSEMU_OPERATION_ATOMIC);
    o.ordering = SASSEMU_RELEASE;
    o.scope = SASSEMU_LEVEL_CTA;
    o.bytes = 8;
    o.address = map(who, {e.address, SASSEMU_SHARED, static_cast<uint32_t>(e.owner)});
    o.from = from;
    if (o.address) perform(o, nullptr);
}

void DrivenMachine::sync_scoped(const sassemu_sync& e) {
    if (e.kind == SASSEMU_SYNC_BARRIER_COMPLETE || e.kind == SASSEMU_SYNC_CLUSTER_COMPLETE) {
        const sassemu_cta_info c = info(e.cta);
        const Launch& launch = *std::ranges::find(launches_, c.launch, &Launch::handle);
        if (e.kind == SASSEMU_SYNC_CLUSTER_COMPLETE) {
            const uint64_t cluster = launch.id << cta_bits | c.cluster;
            ++phased(cluster_barrier, cluster, 0).phase;
            for (const auto& [who, lanes] : std::exchange(scoped_.leaving[cluster], {}))
                leave_cluster(who, lanes, cluster);
            return;
        }
        Phased& at = phased(cta_barrier, launch.id << cta_bits | c.linear, e.id);
        for (uint32_t n = 0; n < c.warps; ++n)
            if (e.waiting[n])
                wait(place(host.cta_warp(e.cta, n)), e.waiting[n], at, at.phase, SASSEMU_ACQUIRE,
                     SASSEMU_LEVEL_CTA);
        ++at.phase;
        return;
    }
    if (!e.warp) return;
    const Who who = place(e.warp);
    const uint64_t cluster = who.cta >> cta_bits << cta_bits | info(info(e.warp).cta).cluster;
    const auto object = [&]() -> Phased& {
        return phased(mbarrier, who.cta >> cta_bits << cta_bits | e.owner, e.address);
    };
    // The word alone releases and acquires in its CTA, and is relaxed in the cluster: there the
    // MEMBAR in front of it and the CCTL.IVALL behind it do the rest.
    const auto in_cluster = [&] { return host.cta_of_rank(info(e.warp).cta, 1) != nullptr; };
    switch (e.kind) {
        case SASSEMU_SYNC_BARRIER_ARRIVE:
            finish_lanes(who, e.lanes);
            arrive(who, e.lanes, phased(cta_barrier, who.cta, e.id), SASSEMU_RELEASE,
                   SASSEMU_LEVEL_CTA);
            break;
        case SASSEMU_SYNC_CLUSTER_ARRIVE: {
            finish_lanes(who, e.lanes);
            const Meant& m = meant(e.insn);
            scoped_.in_cluster[{who.cta, who.warp}] = phased(cluster_barrier, cluster, 0).phase;
            arrive(who, e.lanes, phased(cluster_barrier, cluster, 0),
                   m.known && m.ordering == SASSEMU_RELEASE ? SASSEMU_RELEASE : SASSEMU_RELAXED,
                   SASSEMU_LEVEL_CLUSTER);
            break;
        }
        case SASSEMU_SYNC_CLUSTER_WAIT: {
            finish_lanes(who, e.lanes);
            // It may be told before the phase is over.
            if (phased(cluster_barrier, cluster, 0).phase ==
                scoped_.in_cluster[{who.cta, who.warp}])
                scoped_.leaving[cluster].emplace_back(who, e.lanes);
            else
                leave_cluster(who, e.lanes, cluster);
            break;
        }
        case SASSEMU_SYNC_WARPGROUP_ARRIVE: {
            finish_lanes(who, e.lanes);
            const uint64_t number = phased(warpgroup_barrier, who.cta, who.warp / 4).number;
            arrive(who, e.lanes, {number, scoped_.in_warpgroup[{who.cta, who.warp}]++},
                   SASSEMU_RELEASE, SASSEMU_LEVEL_CTA);
            break;
        }
        case SASSEMU_SYNC_WARPGROUP_WAIT:
            if (const uint64_t phases = scoped_.in_warpgroup[{who.cta, who.warp}])
                wait(who, e.lanes, phased(warpgroup_barrier, who.cta, who.warp / 4), phases - 1,
                     SASSEMU_ACQUIRE, SASSEMU_LEVEL_CTA);
            break;
        case SASSEMU_SYNC_WARP:
            if (!meant(e.insn).meets) break;
            finish_lanes(who, e.lanes);
            meet_warp(who, e.lanes);
            break;
        case SASSEMU_SYNC_MBARRIER_INIT: {
            Phased& at = object();
            at = {++scoped_.objects, 0};
            break;
        }
        case SASSEMU_SYNC_MBARRIER_ARRIVE: {
            Phased& at = object();
            if (e.agent) {
                agent_landed();
                finish_lanes(who, ~0u);
                if (const auto copies = scoped_.reports.find(e.agent);
                    copies != scoped_.reports.end()) {
                    observe(agent_place(who, e.agent), copies->second);
                    arrive_agent(who, e.agent, at, SASSEMU_LEVEL_CTA);
                    if (meant(e.insn).counts) count_arrival(who, agent_place(who, e.agent), e);
                } else {
                    sassemu_effect effect{};
                    effect.size = sizeof effect;
                    effect.action = SASSEMU_ACTION_COPY;  // what the driver has functions for
                    if (e.insn) host.insn_effect(e.insn, &effect);
                    Who owner = who;
                    owner.cta = who.cta >> cta_bits << cta_bits | e.owner;
                    arrive_agent(who, e.agent, at, SASSEMU_LEVEL_CLUSTER,
                                 effect.action == SASSEMU_ACTION_COPY ? &owner : nullptr);
                }
            } else if (meant(e.insn).arrives_later) {  // nothing was left to wait for
                const uint64_t agent = agent_bit >> 1 | ++scoped_.pretended;
                agent_issued(e.warp, e.lanes, agent, SASSEMU_AGENT_LDGSTS, -1);
                observe(agent_place(who, agent), scoped_.reports[agent]);
                arrive_agent(who, agent, at, SASSEMU_LEVEL_CTA);
                if (meant(e.insn).counts) count_arrival(who, agent_place(who, agent), e);
            } else if (e.arrivals || e.drops) {
                // One change for all lanes of the instruction, or one for each.
                const auto all = static_cast<int64_t>(std::popcount(scoped_.arriving));
                const bool one = all && e.arrivals >= all && e.arrivals % all == 0;
                const uint32_t lanes = one ? scoped_.arriving : e.lanes;
                finish_lanes(who, lanes);
                const Meant& m = meant(e.insn);
                if (!m.known && in_cluster())
                    arrive(who, lanes, at, SASSEMU_RELAXED, SASSEMU_LEVEL_CLUSTER);
                arrive(who, lanes, at, m.known ? m.ordering : uint8_t{SASSEMU_RELEASE},
                       m.known ? m.scope : uint8_t{SASSEMU_LEVEL_CTA});
                if (m.counts)
                    for_lanes(e.lanes,
                              [&](unsigned lane) { count_arrival(who, of(who, lane), e); });
            }
            at.phase += e.phase_after != e.phase;  // they are parities
            break;
        }
        case SASSEMU_SYNC_MBARRIER_TEST: {
            const Phased& at = object();
            if (!e.passed || !at.phase) break;
            finish_lanes(who, e.passed);
            const Meant& m = meant(e.insn);
            if (!m.known && in_cluster())
                wait(who, e.passed, at, at.phase - 1, SASSEMU_RELAXED, SASSEMU_LEVEL_CLUSTER);
            wait(who, e.passed, at, at.phase - 1, m.known ? m.ordering : uint8_t{SASSEMU_ACQUIRE},
                 m.known ? m.scope : uint8_t{SASSEMU_LEVEL_CTA});
            break;
        }
        case SASSEMU_SYNC_GROUP_COMMIT:
            commit(who, e.lanes, e.id);
            break;
        case SASSEMU_SYNC_GROUP_WAIT:
            finish_lanes(who, e.lanes);
            if (!e.read_only) wait_groups(who, e.lanes, e.id, e.pending);
            break;
        case SASSEMU_SYNC_EXIT:
            finish_lanes(who, e.lanes);
            break;
        default:
            break;
    }
}

// ---- asynchronous operations

sassemu_place DrivenMachine::agent_place(const Who& who, uint64_t id) const {
    sassemu_place p = of(who, 0);
    p.thread = agent_bit | (who.cta >> cta_bits) << 48 | id;
    return p;
}

void DrivenMachine::observe(const sassemu_place& from, const std::vector<uint64_t>& agents) {
    sassemu_operation o = operation(SASSEMU_OPERATION_OBSERVE);
    o.from = from;
    for (const uint64_t a : agents) {
        o.other = a;
        perform(o, nullptr);
    }
}

void DrivenMachine::agent_issued(sassemu_warp w, uint32_t lanes, uint64_t id, uint32_t kind,
                                 int32_t group) {
    const AtMachine at_machine(this);
    const Who who = place(w);
    finish_lanes(who, lanes);
    if (kind == SASSEMU_AGENT_WARP) return;  // it does that itself
    sassemu_operation o = operation(SASSEMU_OPERATION_ISSUE);
    o.other = agent_place(who, id).thread;
    for_lanes(who.threads(lanes), [&](unsigned lane) {
        o.from = of(who, lane);
        perform(o, nullptr);
    });
    const auto copies = [&](uint32_t of_kind) -> Copies& {
        return scoped_.copies[{who.cta, who.warp, of_kind}];
    };
    if (group >= 0) copies(static_cast<uint32_t>(group)).all.push_back({o.other, lanes, false, 0});
    if (kind != SASSEMU_AGENT_LDGSTS || group >= 0) return;
    // An arrival, which reports on all copies of its lanes.
    std::vector<uint64_t>& reported = scoped_.reports[id];
    for (const Copies::One& one : copies(SASSEMU_GROUP_LDGSTS).all)
        if (one.lanes & lanes) reported.push_back(one.agent);
}

void DrivenMachine::commit(const Who& who, uint32_t lanes, uint32_t kind) {
    Copies& c = scoped_.copies[{who.cta, who.warp, kind}];
    for (Copies::One& one : c.all)
        if (!one.committed && one.lanes & lanes) one.committed = true, one.group = c.groups;
    ++c.groups;
}

void DrivenMachine::wait_groups(const Who& who, uint32_t lanes, uint32_t kind, uint32_t left) {
    Copies& c = scoped_.copies[{who.cta, who.warp, kind}];
    std::vector<uint64_t> over;
    for (const Copies::One& one : c.all)
        if (one.lanes & lanes &&
            (one.committed ? one.group + left < c.groups : kind == SASSEMU_GROUP_LDGSTS && !left))
            over.push_back(one.agent);
    for_lanes(who.threads(lanes), [&](unsigned lane) { observe(of(who, lane), over); });
    // Those that all of the warp's lanes have waited for.
    constexpr size_t most = 256;
    if (c.all.size() > most) c.all.erase(c.all.begin(), c.all.begin() + most / 2);
}

const std::byte* DrivenMachine::agent_reads(sassemu_warp w, uint64_t id, const sassemu_location& at,
                                            const std::byte* bytes, uint64_t count,
                                            uint32_t proxy) {
    const AtMachine at_machine(this);
    const Who who = place(w);
    const uint64_t address = map(who, at);
    if (!address) return bytes;
    std::vector<std::byte>& shown = scoped_.shown;
    shown.assign(bytes, bytes + count);
    sassemu_operation o = operation(SASSEMU_OPERATION_LOAD);
    o.proxy = static_cast<uint8_t>(proxy);
    o.from = agent_place(who, id);
    in_pieces(address, count, [&](uint64_t first, uint64_t some) {
        o.address = address + first;
        o.bytes = static_cast<uint8_t>(some);
        perform(o, reinterpret_cast<uint8_t*>(shown.data() + first));
    });
    return shown.data();
}

void DrivenMachine::agent_writes(sassemu_warp w, uint64_t id, const sassemu_location& at,
                                 uint64_t count, uint32_t proxy, bool reduce) {
    const AtMachine at_machine(this);
    const Who who = place(w);
    sassemu_operation o = operation(SASSEMU_OPERATION_ATOMIC);
    o.proxy = static_cast<uint8_t>(proxy);
    o.from = agent_place(who, id);
    changes(who, o, at, count, reduce);
}

void DrivenMachine::thread_writes(sassemu_warp w, uint32_t lane, const sassemu_location& at,
                                  uint64_t count) {
    const AtMachine at_machine(this);
    const Who who = place(w);
    sassemu_operation o = operation(SASSEMU_OPERATION_ATOMIC);
    o.from = of(who, lane);
    changes(who, o, at, count, false);
}

void DrivenMachine::changes(const Who& who, sassemu_operation o, const sassemu_location& at,
                            uint64_t count, bool reduce) {
    const uint64_t address = map(who, at);
    if (!address) return;
    in_pieces(address, count, [&](uint64_t first, uint64_t some) {
        o.address = address + first;
        o.bytes = static_cast<uint8_t>(some);
        o.kind = SASSEMU_OPERATION_STORE;
        const uint32_t all = reduce ? 1 : ways(o), way = choose_way(o, all);
        if (way) {
            Scoped::Landing& l = scoped_.landing.emplace_back(Scoped::Landing{o, way, {}});
            bytes_.read(bytes_.memory, o.address, l.before.data(), o.bytes);
            return;
        }
        o.kind = SASSEMU_OPERATION_ATOMIC;
        perform(o, nullptr);
    });
}

void DrivenMachine::agent_landed() {
    const AtMachine at_machine(this);
    for (const Scoped::Landing& l : std::exchange(scoped_.landing, {})) {
        uint8_t value[most_bytes];
        bytes_.read(bytes_.memory, l.what.address, value, l.what.bytes);
        bytes_.write(bytes_.memory, l.what.address, l.before.data(), l.what.bytes);
        ++performed_;
        machine_.perform(self_, state_, &bytes_, &l.what, l.way, value);
    }
}

// ---- mbarrier objects

void DrivenMachine::initialises(sassemu_warp w, uint32_t lanes, const sassemu_location& object) {
    const AtMachine at_machine(this);
    const Who who = place(w);
    sassemu_operation o = operation(SASSEMU_OPERATION_ATOMIC);
    o.flags = SASSEMU_MACHINE_OBJECT;
    o.address = map(who, object);
    o.bytes = 8;
    for_lanes(o.address ? who.threads(lanes) : 0, [&](unsigned lane) {
        o.from = of(who, lane);
        perform(o, nullptr);
        o.early = 1;
    });
}

// Whoever may not know of its initialisation may find what was there before, for good.
void DrivenMachine::meets(sassemu_insn i, sassemu_warp w, uint32_t lanes,
                          const sassemu_location& object) {
    if (!meant(i).known) return;  // the words of fence.mbarrier_init say nothing
    const AtMachine at_machine(this);
    const Who who = place(w);
    sassemu_operation o = operation(SASSEMU_OPERATION_LOAD);
    o.flags = SASSEMU_MACHINE_OBJECT;
    o.address = map(who, object);
    o.bytes = 8;
    for_lanes(o.address ? lanes : 0, [&](unsigned lane) {
        o.from = of(who, lane);
        const uint32_t way = choose_way(o, ways(o));
        if (!way) return;
        uint8_t found[8];
        ++performed_;
        machine_.perform(self_, state_, &bytes_, &o, way, found);
        bytes_.write(bytes_.memory, o.address, found, sizeof found);
    });
}

}  // namespace sassemu
