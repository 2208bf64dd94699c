// SPDX-License-Identifier: Apache-2.0
// See ptx_words.hpp.
#include "emu/explore/machines/ptx_words.hpp"

#include <algorithm>
#include <cstring>

namespace sassemu::explore {
namespace {

constexpr uint64_t cta_barriers = uint64_t{1} << 40, cluster_barriers = uint64_t{2} << 40,
                   mbarriers = uint64_t{3} << 40;

// The numbers of the two headers.
uint8_t ordering_of(uint32_t order) {
    constexpr uint8_t orderings[] = {SASSEMU_WEAK,     SASSEMU_RELAXED, SASSEMU_ACQUIRE,
                                     SASSEMU_RELEASE,  SASSEMU_ACQ_REL, SASSEMU_SC,
                                     SASSEMU_VOLATILE, SASSEMU_MMIO};
    return orderings[order];
}

bool acquires(uint32_t order) {
    return order == SASSEMU_ORDER_ACQUIRE || order == SASSEMU_ORDER_ACQ_REL ||
           order == SASSEMU_ORDER_SC;
}

uint64_t bytes_of(const Test& test, const Place& at) {
    return at.bytes ? at.bytes : test.names[at.name].bytes - at.offset;
}

// Of 1, 2, 4 or 8 bytes, at a multiple of them, through the generic proxy.
bool plain_place(const Test& test, const op::Access& a) {
    const Place& at = a.at;
    const Name& name = test.names[at.name];
    const Location& l = test.locations[name.location];
    const uint64_t bytes = bytes_of(test, at);
    return a.proxy == SASSEMU_PROXY_GENERIC && name.proxy == SASSEMU_PROXY_GENERIC && at.pe < 0 &&
           l.kind == LocationKind::data && l.space != SASSEMU_SPACE_TENSOR &&
           (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
           (name.offset + at.offset) % bytes == 0;
}

}  // namespace

uint8_t level_of(uint32_t scope) {
    constexpr uint8_t levels[] = {SASSEMU_LEVEL_NONE, SASSEMU_LEVEL_CTA, SASSEMU_LEVEL_CLUSTER,
                                  SASSEMU_LEVEL_GPU, SASSEMU_LEVEL_SYS};
    return levels[scope];
}

MemoryOperation meeting(sassemu_operation_kind kind, uint64_t object, uint64_t phase,
                        uint32_t order, uint32_t scope) {
    MemoryOperation m(kind);
    m.what.address = object;
    m.what.other = phase;
    m.what.ordering = ordering_of(order);
    m.what.scope = level_of(scope);
    return m;
}

MemoryOperation fence_on_machine(const op::Fence& o) {
    MemoryOperation m(SASSEMU_OPERATION_FENCE);
    m.what.ordering = ordering_of(o.order);
    m.what.scope = level_of(o.scope);
    m.what.restriction = o.operation == SASSEMU_OPERATION_MBARRIER_INIT
                             ? SASSEMU_RESTRICT_MBARRIER_INIT
                         : o.restriction & SASSEMU_SPACE_SHARED_CTA ? SASSEMU_RESTRICT_SHARED_CTA
                         : o.restriction ? SASSEMU_RESTRICT_SHARED_CLUSTER
                                         : SASSEMU_RESTRICT_NONE;
    return m;
}

MemoryOperation fence_on_machine(const op::ProxyFence& o) {
    MemoryOperation m =
        fence_on_machine(op::Fence{o.order, o.scope, o.both_ways ? 0 : o.restriction, 0});
    if (o.both_ways) m.what.ordering = SASSEMU_WEAK;  // orders nothing but proxies
    m.what.to_proxy = o.to == SASSEMU_PROXY_ASYNC       ? SASSEMU_VIA_ASYNC
                      : o.to == SASSEMU_PROXY_TENSORMAP ? SASSEMU_VIA_TENSORMAP
                                                        : SASSEMU_VIA_GENERIC;
    m.what.both_ways = static_cast<uint8_t>(o.both_ways);
    if (o.restriction & SASSEMU_SPACE_GLOBAL) m.what.spaces |= SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
    if (o.restriction & (SASSEMU_SPACE_SHARED_CTA | SASSEMU_SPACE_SHARED_CLUSTER))
        m.what.spaces |= SASSEMU_SPACE_BIT(SASSEMU_SHARED);
    return m;
}

bool PtxWords::understands(const Test& test, const Operation& o) {
    return std::visit(
        Overloaded{
            [&](const op::Load& a) { return plain_place(test, a); },
            [&](const op::Store& a) {
                return plain_place(test, a) && !std::holds_alternative<AddressOf>(a.value);
            },
            [&](const op::Atomic& a) { return plain_place(test, a) && bytes_of(test, a.at) >= 4; },
            [](const op::Barrier& b) { return b.reduction == Reduction::none; },
            [](const op::Fence&) { return true; }, [](const op::ProxyFence&) { return true; },
            [](const op::ClusterArrive&) { return true; },
            [](const op::ClusterWait&) { return true; },
            [](const op::MbarrierInit&) { return true; },
            [](const op::MbarrierArrive& a) { return !a.no_complete; },
            [](const op::MbarrierTransaction&) { return true; },
            [](const op::MbarrierWait&) { return true; }, [](const auto&) { return false; }},
        o);
}

PtxWords::State PtxWords::start() const {
    State s;
    s.threads.resize(test_.threads.size());
    for (uint32_t l = 0; l < test_.locations.size(); ++l)
        if (test_.locations[l].count >= 0) {
            Mbarrier b;
            b.pending = b.expected = static_cast<uint32_t>(test_.locations[l].count);
            s.objects[l] = {b, 0};
        }
    return s;
}

void PtxWords::key(const State& s, std::string& out) const {
    const auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
    for (const auto& t : s.threads) {
        for (const auto& [barrier, count] : t.met) put(barrier << 32 | count);
        put(t.cluster_arrivals << 32 | t.cluster_waits << 2 | t.arrived << 1 | t.ended);
    }
    for (const auto& [which, lanes] : s.lanes) {
        put(which[1] << 32 | which[2] << 16 | which[0]);
        put(lanes);
    }
    for (const auto& [l, b] : s.objects) {
        put(uint64_t{l} << 32 | b.phase);
        put(b.state.encode());
    }
}

MemoryOperation PtxWords::access(sassemu_operation_kind kind, uint32_t, const op::Access& a) const {
    MemoryOperation m(kind);
    const Name& name = test_.names[a.at.name];
    m.what.address = memory_.of(name.location, 0).address + name.offset + a.at.offset;
    m.what.bytes = static_cast<uint8_t>(bytes_of(test_, a.at));
    m.what.ordering = ordering_of(a.order);
    m.what.scope = level_of(a.scope);
    m.type = m.what.bytes > 4 ? AtomicType::u64 : AtomicType::u32;
    m.whole = true;
    return m;
}

uint64_t PtxWords::object(const Place& at) const {
    return mbarriers | test_.names[at.name].location;
}

PtxWords::What PtxWords::step(State& s, uint32_t thread, Runner& r, const Operation& o,
                              std::vector<MemoryOperation>& out) const {
    State::OfThread& self = s.threads[thread];
    const Thread& me = test_.threads[thread];
    const auto put = [](uint64_t value, MemoryOperation& m) {
        std::memcpy(m.value.data(), &value, sizeof value);
    };
    const auto change = [&](const op::MbarrierOperation& a, const MbarrierChange& by) {
        const auto at = s.objects.find(test_.names[a.at.name].location);
        if (at == s.objects.end()) return false;
        const uint32_t before = at->second.state.phase;
        const bool changed = !at->second.state.apply(by);
        at->second.phase += at->second.state.phase != before;
        return changed;
    };
    const auto phase = [&](const Place& at) {
        const auto found = s.objects.find(test_.names[at.name].location);
        return found == s.objects.end() ? uint64_t{0} : found->second.phase;
    };
    const auto go = [&](bool possible) { return possible ? What::past : What::blocked; };
    return std::visit(
        Overloaded{
            [&](const op::Load& a) {
                out.push_back(access(SASSEMU_OPERATION_LOAD, thread, a));
                out.back().to[0] = static_cast<int32_t>(a.to.number);
                out.back().blocks = acquires(a.order);
                return What::past;
            },
            [&](const op::Store& a) {
                out.push_back(access(SASSEMU_OPERATION_STORE, thread, a));
                put(value_of(r, a.value), out.back());
                return What::past;
            },
            [&](const op::Atomic& a) {
                out.push_back(access(SASSEMU_OPERATION_ATOMIC, thread, a));
                MemoryOperation& m = out.back();
                if (m.what.ordering == SASSEMU_WEAK) m.what.ordering = SASSEMU_RELAXED;
                const uint64_t value = value_of(r, a.value);
                put(a.by.negated ? 0 - value : value, m);
                m.atomic = a.by.how;
                m.what.atomic = static_cast<uint8_t>(a.by.how);
                m.swap = value_of(r, a.swap);
                if (a.to) m.to[0] = static_cast<int32_t>(a.to->number);
                return What::past;
            },
            [&](const op::Fence& f) {
                out.push_back(fence_on_machine(f));
                return What::past;
            },
            [&](const op::ProxyFence& f) {
                out.push_back(fence_on_machine(f));
                return What::past;
            },
            [&](const op::Barrier& b) { return barrier(s, thread, r, b, out); },
            [&](const op::ClusterArrive& a) {
                out.push_back(meeting(SASSEMU_OPERATION_ARRIVE,
                                      cluster_barriers | static_cast<uint32_t>(me.cluster),
                                      self.cluster_arrivals++, a.order, SASSEMU_SCOPE_CLUSTER));
                return What::past;
            },
            [&](const op::ClusterWait&) {
                if (!cluster_over(s, thread)) return What::blocked;
                out.push_back(meeting(
                    SASSEMU_OPERATION_WAIT, cluster_barriers | static_cast<uint32_t>(me.cluster),
                    self.cluster_waits++, SASSEMU_ORDER_ACQUIRE, SASSEMU_SCOPE_CLUSTER));
                return What::past;
            },
            [&](const op::MbarrierInit& a) {
                Mbarrier b;
                b.pending = b.expected = static_cast<uint32_t>(value_of(r, a.amount));
                s.objects[test_.names[a.at.name].location] = {b, 0};
                return What::past;
            },
            [&](const op::MbarrierArrive& a) {
                MbarrierChange by;
                const uint64_t amount = value_of(r, a.amount);
                by.arrivals = a.expects ? 1 : static_cast<uint32_t>(amount);
                if (a.expects) by.expect = static_cast<int64_t>(amount);
                by.drops = a.drop ? by.arrivals : 0;
                const uint64_t before = phase(a.at);
                if (!change(a, by)) return What::blocked;
                out.push_back(
                    meeting(SASSEMU_OPERATION_ARRIVE, object(a.at), before, a.order, a.scope));
                return What::past;
            },
            [&](const op::MbarrierTransaction& a) {
                MbarrierChange by;
                const auto amount = static_cast<int64_t>(value_of(r, a.amount));
                by.expect = a.completes ? -amount : amount;
                const uint64_t before = phase(a.at);
                if (!change(a, by)) return What::blocked;
                if (a.completes)
                    out.push_back(
                        meeting(SASSEMU_OPERATION_ARRIVE, object(a.at), before, a.order, a.scope));
                return What::past;
            },
            [&](const op::MbarrierWait& a) {
                const auto found = s.objects.find(test_.names[a.at.name].location);
                const bool over = found != s.objects.end() &&
                                  (found->second.phase & 1) != (value_of(r, a.amount) & 1);
                if (!over && (!a.to || a.insists)) return What::blocked;
                if (a.to) r.registers[a.to->number] = over;
                if (over && found->second.phase)
                    out.push_back(meeting(SASSEMU_OPERATION_WAIT, object(a.at),
                                          found->second.phase - 1, a.order, a.scope));
                return What::past;
            },
            [&](const auto&) { return go(false); }},
        o);
}

// First the arrival, then, once all are here, the wait.
PtxWords::What PtxWords::barrier(State& s, uint32_t thread, Runner& r, const op::Barrier& o,
                                 std::vector<MemoryOperation>& out) const {
    State::OfThread& self = s.threads[thread];
    const Thread& me = test_.threads[thread];
    const uint64_t number = value_of(r, o.number), cta = static_cast<uint32_t>(me.cta);
    const uint64_t instance =
        o.instance >= 0 ? static_cast<uint64_t>(o.instance) : self.met[number];
    const uint64_t object = cta_barriers | cta << 20 | number << 12;
    uint64_t& lanes = s.lanes[{cta, number, instance}];
    if (!self.arrived) {
        lanes += test_.corpus() ? 1 : me.lanes;
        out.push_back(meeting(SASSEMU_OPERATION_ARRIVE, object | (o.instance >= 0 ? instance : 0),
                              instance, SASSEMU_ORDER_RELEASE, SASSEMU_SCOPE_CTA));
        if (!o.waits) {
            ++self.met[number];
            return What::past;
        }
        self.arrived = true;
        return What::stays;
    }
    uint64_t needed = 0;
    if (o.count) {
        needed = value_of(r, *o.count);
    } else {
        for (const Thread& t : test_.threads)
            if (t.kind == ThreadKind::thread && t.cta == me.cta)
                needed += test_.corpus() ? 1 : t.lanes;
    }
    if (lanes < needed) return What::blocked;
    self.arrived = false;
    ++self.met[number];
    out.push_back(meeting(SASSEMU_OPERATION_WAIT, object | (o.instance >= 0 ? instance : 0),
                          instance, SASSEMU_ORDER_ACQUIRE, SASSEMU_SCOPE_CTA));
    return What::past;
}

bool PtxWords::cluster_over(const State& s, uint32_t thread) const {
    const uint64_t phase = s.threads[thread].cluster_waits;
    for (uint32_t o = 0; o < s.threads.size(); ++o) {
        const Thread& other = test_.threads[o];
        if (other.kind == ThreadKind::thread && other.cluster == test_.threads[thread].cluster &&
            s.threads[o].cluster_arrivals <= phase && !s.threads[o].ended)
            return false;
    }
    return true;
}

}  // namespace sassemu::explore
