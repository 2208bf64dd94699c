// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations in machine code on a machine: what each instruction asks an agent to do,
// and who waits for it. What copies move is said in sass/copies.hpp. See sass_fetch.hpp.
#include <algorithm>
#include <cstring>

#include "emu/explore/machines/ptx_words.hpp"
#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/test_memory.hpp"
#include "emu/explore/sass/copies.hpp"

namespace sassemu::explore {

// Collects what is moved; `why`: nothing is, "faults: ..." or "is not explored: ...".
struct SassFetch::Asked {
    const SassFetch& fetch;
    uint32_t thread;
    CopyWork work;
    std::string why;

    // At an address of machines; 0: it is not there.
    uint64_t global(uint64_t address, uint64_t bytes) {
        Place place;
        if (fetch.test_.sass->global(address, bytes, place)) return address;
        if (why.empty()) why = "faults: it reaches memory where no buffer is";
        return 0;
    }
    uint64_t shared(uint32_t address, bool own, uint64_t bytes) {
        const Test& test = fetch.test_;
        Place place;
        if (test.sass->shared(test, thread, address, own, bytes, place))
            return TestMemory::of_shared(test.locations[test.names[place.name].location].cta) |
                   place.offset;
        if (why.empty()) why = "faults: it reaches no shared memory";
        return 0;
    }
    void receive(const Completion& c, uint32_t to, const std::vector<CopyRun>& runs,
                 bool from_global, uint64_t bytes) {
        for (const CopyReceiver& receiver : receivers_of(c, to)) {
            CopyWork::Receiver& r = work.receivers.emplace_back();
            for (const CopyRun& run : runs)
                r.moves.push_back({!run.inside ? 0
                                   : from_global
                                       ? global(run.far, run.bytes)
                                       : shared(static_cast<uint32_t>(run.far), false, run.bytes),
                                   shared(receiver.window | run.near, false, run.bytes),
                                   static_cast<uint32_t>(run.bytes)});
            tell(r, receiver.object, bytes);
        }
    }
    void tell(CopyWork::Receiver& r, uint32_t object, uint64_t bytes) {
        r.object = shared(object, false, 8);
        r.change.expect = -static_cast<int64_t>(bytes);
    }
    void to_global(uint32_t from, uint64_t to, uint64_t bytes) {
        if (work.receivers.empty()) work.receivers.emplace_back();
        work.receivers[0].moves.push_back(
            {shared(from, false, bytes), global(to, bytes), static_cast<uint32_t>(bytes)});
    }
};

SassFetch::Asked SassFetch::lane_copy(uint32_t thread, const LaneCopy& c) const {
    Asked a{*this, thread, {}, {}};
    const uint32_t lane = test_.sass->thread(thread).thread % 32;
    const uint32_t kept = c.from_lanes >> lane & 1 ? c.keep[lane] : 0;
    a.work.generic = true;
    auto& moves = a.work.receivers.emplace_back().moves;
    const uint64_t to = a.shared(c.to[lane], true, c.bytes);
    if (kept) moves.push_back({a.global(c.from[lane], kept), to, kept});
    if (kept < c.bytes) moves.push_back({0, to + kept, c.bytes - kept});
    if (a.why.empty() && (c.to[lane] | (kept ? c.from[lane] : 0)) % c.bytes)
        a.why = "faults: its addresses are no multiples of its size";
    return a;
}

SassFetch::Asked SassFetch::lane_store(uint32_t thread, const LaneStore& c) const {
    Asked a{*this, thread, {}, {}};
    const uint32_t lane = test_.sass->thread(thread).thread % 32;
    a.work.value.resize(c.bytes);
    std::memcpy(a.work.value.data(), c.data[lane], c.bytes);
    a.work.reduce = c.atomic;
    a.work.type = c.type;
    CopyWork::Receiver& r = a.work.receivers.emplace_back();
    r.moves.push_back({0, a.shared(c.to[lane], false, c.bytes), c.bytes});
    a.tell(r, c.mbarrier[lane], c.bytes);
    if (a.why.empty() && c.to[lane] % c.bytes)
        a.why = "faults: its address is no multiple of its size";
    return a;
}

SassFetch::Asked SassFetch::bulk_copy(uint32_t thread, const BulkCopy& c) const {
    Asked a{*this, thread, {}, fault_of(c)};
    a.work.reduce = c.reduce;
    a.work.type = c.type;
    a.work.byte_mask = c.byte_mask;
    const auto to = static_cast<uint32_t>(c.to);
    if (c.to_global)
        a.to_global(static_cast<uint32_t>(c.from), c.to, c.bytes);
    else
        a.receive(c, to, {{to & 0xffffff, c.from, c.bytes, true}}, c.from_global, c.bytes);
    return a;
}

SassFetch::Asked SassFetch::tensor_copy(uint32_t thread, const TensorCopy& c,
                                        const std::byte* bytes) const {
    Asked a{*this, thread, {}, {}};
    const auto map = TensorMap::decode(bytes);
    if (!map) {
        a.why = "faults: no tensor map is there: " + map.error().what;
        return a;
    }
    const async::Box box(*map, c);
    if (const std::string why = async::refusal(*map, box, c); !why.empty()) {
        a.why = "faults: " + why;
        return a;
    }
    const std::vector<CopyRun> runs = runs_of(*map, c);
    a.why = sassemu::explore::unexplored(*map, c, runs);
    a.work.reduce = c.reduce;
    a.work.type = async::atomic_type(map->type);
    if (!c.store) {
        a.receive(c, c.shared, runs, true, box.bytes());
        return a;
    }
    a.work.receivers.emplace_back();
    for (const CopyRun& run : runs)
        a.to_global((c.shared & 0xff000000) | run.near, run.far, run.bytes);
    return a;
}

SassFetch::Asked SassFetch::tensor_copy(uint32_t thread, const TensorCopy& c) const {
    const Launch& launch = test_.sass->launch(test_.sass->thread(thread).launch).launch;
    bool beyond = false;
    if (const std::byte* map = parameter_map(launch, c.map, beyond))
        return tensor_copy(thread, c, map);
    Asked a{*this, thread, {}, beyond ? "faults: no parameter is there" : ""};
    if (c.map % 64 && a.why.empty()) a.why = "faults: a tensor map lies at a multiple of 64";
    if (a.why.empty()) a.global(c.map, async::tensor_map_bytes);
    a.work.tensor = c;
    return a;
}

SassFetch::What SassFetch::async(Turn& at, const SassEffects& e) {
    using Call = SassEffects::Call;
    SassState::OfThread& self = at.s.threads[at.thread];
    const auto asked = [&](Asked a, std::vector<uint32_t>* group) {
        if (!a.why.empty())
            return a.why.starts_with("faults") ? refuse_at(at, a.why) : beyond(at, a.why);
        const uint32_t number = self.issued;
        const What what = issue(at, std::move(a.work));
        if (what != What::blocked && group) group->push_back(number);
        return what;
    };
    switch (e.call) {
        case Call::lane_copy: {
            const uint32_t number = self.issued;
            const What what = asked(lane_copy(at.thread, e.lane), &self.open_copies);
            if (what != What::blocked) self.lane_copies.push_back(number);
            return what;
        }
        case Call::lane_store:
            return asked(lane_store(at.thread, e.store), nullptr);
        case Call::copies_arrive: {
            if (scoped_ && e.change.counters && !at.i.ptx_known) return beyond(at, without_ptx);
            Asked a{*this, at.thread, {}, {}};
            a.work.generic = true;
            a.work.after = self.lane_copies;
            CopyWork::Receiver& r = a.work.receivers.emplace_back();
            r.object = a.shared(e.address, false, 8);
            r.change = e.change;
            return asked(std::move(a), nullptr);
        }
        case Call::bulk_copy:
            return asked(bulk_copy(at.thread, e.bulk),
                         e.bulk.to_global ? &self.open_stores : nullptr);
        case Call::tensor_copy:
            if (e.tensor.prefetch) return ++at.pc, What::ran;
            return asked(tensor_copy(at.thread, e.tensor),
                         e.tensor.store ? &self.open_stores : nullptr);
        case Call::end_group: {
            const uint32_t bit = 1u << e.groups.front().scoreboard % 8;
            self.bulk_scoreboards =
                e.bulk_group ? self.bulk_scoreboards | bit : self.bulk_scoreboards & ~bit;
            auto& open = e.bulk_group ? self.open_stores : self.open_copies;
            self.groups.push_back({e.bulk_group, std::exchange(open, {})});
            return ++at.pc, What::ran;
        }
        case Call::wait_groups:
            return wait_groups(at, e);
        default:
            return beyond(at, "is not explored by this model");
    }
}

SassFetch::What SassFetch::issue(Turn& at, CopyWork work) {
    // A load of the thread's that comes before is not performed behind the copy of its bytes.
    for (const CopyWork::Receiver& r : work.receivers)
        for (const CopyWork::Move& m : r.moves)
            for (const MemoryOperation& load : at.pending)
                for (const uint64_t address : {m.from, m.to})
                    if (address < load.what.address + load.what.bytes &&
                        load.what.address < address + m.bytes)
                        return What::blocked;
    touched_.starts_unknown |= work.tensor.has_value();
    for (const CopyWork::Receiver& r : work.receivers) {
        touched_.starts.push_back({r.object, 8, true});
        for (const CopyWork::Move& m : r.moves) {
            touched_.starts.push_back({m.from, m.bytes, false});
            touched_.starts.push_back({m.to, m.bytes, true});
        }
    }
    if (work.cells) touched_.starts_work(*work.cells);
    SassState::OfThread& self = at.s.threads[at.thread];
    CopyAgent a;
    a.thread = at.thread;
    a.number = self.issued++;
    a.pc = at.pc;
    if (scoped_) at.out.emplace_back(SASSEMU_OPERATION_ISSUE).what.other = a.id();
    begin(at.s, std::move(a), std::move(work));
    ++at.pc;
    return What::ran;
}

void SassFetch::begin(SassState& s, CopyAgent a, CopyWork work) {
    a.has_read = !work.tensor && !work.reads();
    a.found = work.value;
    a.work = std::make_shared<const CopyWork>(std::move(work));
    const auto behind = std::ranges::upper_bound(s.agents, std::pair{a.thread, a.number}, {},
                                                 [](const CopyAgent& other) {
                                                     return std::pair{other.thread, other.number};
                                                 });
    s.agents.insert(behind, std::move(a));
}

SassFetch::What SassFetch::wait_groups(Turn& at, const SassEffects& e) {
    SassState::OfThread& self = at.s.threads[at.thread];
    std::vector<uint32_t> observed;
    std::vector<SassState::Group> left = self.groups;
    for (const SassEffects::Group& g : e.groups) {
        const GroupWaited w =
            group_waited(at.code, at.pc, self.bulk_scoreboards >> g.scoreboard % 8 & 1);
        if (!w.any) continue;
        auto over = std::ranges::count(left, w.bulk, &SassState::Group::bulk) - int64_t{g.left};
        for (size_t k = 0; k < left.size() && over > 0;) {
            if (left[k].bulk != w.bulk) {
                ++k;
                continue;
            }
            --over;
            for (const uint32_t number : left[k].copies)
                for (const CopyAgent& a : at.s.agents)
                    if (a.thread == at.thread && a.number == number &&
                        !(w.reads_only && a.has_read))
                        touched_.copies.emplace_back(a.thread, a.number);
            if (!touched_.copies.empty()) return What::blocked;
            if (w.reads_only) {  // its writes may be waited for yet
                ++k;
                continue;
            }
            observed.insert(observed.end(), left[k].copies.begin(), left[k].copies.end());
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
        }
    }
    self.groups = std::move(left);
    for (const uint32_t number : observed) {
        if (!scoped_) break;
        MemoryOperation& o = at.out.emplace_back(SASSEMU_OPERATION_OBSERVE);
        o.what.other = CopyAgent{at.thread, number}.id();
    }
    ++at.pc;
    return What::ran;
}

// UTMACCTL.IV, fence.proxy.tensormap::generic.acquire. Where the PTX is not known it is of the
// widest scope, and what its release left says nothing of maps: all that its thread knows counts as
// released.
SassFetch::What SassFetch::acquire_map(Turn& at, uint64_t address) {
    if (!at.drained()) return What::blocked;
    if (scoped_) {
        op::ProxyFence fence;
        fence.to = SASSEMU_PROXY_TENSORMAP;
        const bool known = at.i.ptx_known && at.i.intent.kind == IntentKind::proxy_fence;
        fence.order = known ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_ACQ_REL;
        fence.scope = known ? scope_of(at.i.intent.scope) : uint32_t{SASSEMU_SCOPE_SYS};
        at.out.push_back(fence_on_machine(fence));
        at.out.back().what.address = address;
    }
    ++at.pc;
    return What::ran;
}

bool SassFetch::may_act(const SassState& s, const CopyAgent& a) const {
    const CopyWork& work = *a.work;
    if (a.has_read &&
        std::ranges::any_of(work.behind, [&](AgentName before) { return pending(s, before); }))
        return false;
    return std::ranges::none_of(s.agents, [&](const CopyAgent& other) {
        return other.thread == a.thread && !(work.after_reads && other.has_read) &&
               std::ranges::find(work.after, other.number) != work.after.end();
    });
}

bool SassFetch::issued_by(const SassState& s, uint32_t thread) const {
    return std::ranges::find(s.agents, thread, &CopyAgent::thread) != s.agents.end();
}

void SassFetch::read_map(CopyAgent& a, const std::vector<uint8_t>& map) {
    Asked copy =
        tensor_copy(a.thread, *a.work->tensor, reinterpret_cast<const std::byte*>(map.data()));
    if (copy.why.empty()) {
        a.work = std::make_shared<const CopyWork>(std::move(copy.work));
        return;
    }
    if (copy.why.starts_with("faults")) {  // bytes that were not there yet, perhaps
        note_undefined("tensor map");
        return;
    }
    const SassCode& code = test_.sass->code(test_.sass->thread(a.thread).launch);
    note(notes_.unexplored, a.thread, code, a.pc, copy.why);
}

void SassFetch::report(SassState& s, const CopyAgent& a, std::vector<MemoryOperation>& out) {
    const CopyWork::Receiver& r = a.work->receivers[a.written];
    for (const uint32_t number : a.work->after) {
        if (!scoped_) break;
        MemoryOperation& o = out.emplace_back(SASSEMU_OPERATION_OBSERVE);
        o.what.other = CopyAgent{a.thread, number}.id();
    }
    if (!r.object) return;
    // tcgen05.commit: what it tracks is done there.
    if (a.work->after_reads)
        for (const uint32_t number : a.work->after)
            if (pending(s, {a.thread, number})) s.told[r.object].now.add({a.thread, number}, true);
    const uint32_t scope = a.work->generic ? SASSEMU_SCOPE_CTA : SASSEMU_SCOPE_CLUSTER;
    if (const char* wrong =
            change(s, r.object, r.change, true, SASSEMU_ORDER_RELEASE, scope, out)) {
        const SassCode& code = test_.sass->code(test_.sass->thread(a.thread).launch);
        note(notes_.problem, a.thread, code, a.pc, wrong);
    }
}

}  // namespace sassemu::explore
