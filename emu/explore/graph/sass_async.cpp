// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations in machine code: what each word's agent reads, writes and completes. The
// laws of agents are in agents.cpp. A copy is one read and one write for each run of bytes that is
// contiguous on both sides, whatever its length: only where other accesses begin or end is a read
// cut into pieces (SassProgram::cut), so bytes that nobody else touches cost nothing.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emu/async/reduction.hpp"
#include "emu/explore/graph/sass_turn.hpp"
#include "emu/explore/sass/copies.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

Step SassTurn::async(const SassEffects& e) {
    using Call = SassEffects::Call;
    const size_t before = s_.events.size();
    const Step step = [&] {
        switch (e.call) {
            case Call::lane_copy:
                return lane_copy(e.lane);
            case Call::lane_store:
                return lane_store(e.store);
            case Call::copies_arrive:
                return copies_barrier(e);
            case Call::bulk_copy:
                return bulk_copy(e.bulk);
            case Call::tensor_copy:
                return tensor_copy(e.tensor);
            case Call::end_group:
                self_.bulk_scoreboards[e.groups.front().scoreboard % 8] = e.bulk_group;
                return perform(op::Commit{e.bulk_group ? GroupKind::bulks : GroupKind::copies});
            case Call::wait_groups:
                return wait_groups(e);
            default:
                return map_fence(e.accesses.front().address[lane_]);
        }
    }();
    // Addresses and sizes.
    for (size_t k = before; k < s_.events.size(); ++k) s_.events[k].data |= input_reads_;
    return step;
}

Step SassTurn::wait_groups(const SassEffects& e) {
    for (const SassEffects::Group& g : e.groups) {
        const GroupWaited w = group_waited(code_, pc_, self_.bulk_scoreboards[g.scoreboard % 8]);
        if (!w.any) continue;
        op::GroupWait o{w.bulk ? GroupKind::bulks : GroupKind::copies, g.left};
        o.reads_only = w.reads_only;
        perform(o);
    }
    return Step::past;
}

Step SassTurn::lane_copy(const LaneCopy& c) {
    const uint64_t kept = c.from_lanes >> lane_ & 1 ? c.keep[lane_] : 0;
    Place to, from;
    if (!find(true, true, c.to[lane_], c.bytes, c.bytes, to)) return Step::stop;
    if (kept && !find(false, false, c.from[lane_], kept, c.bytes, from)) return Step::stop;
    Agent a = issue();
    uint32_t value = kept ? agent_read(a, from, SASSEMU_PROXY_GENERIC) : 0;
    if (kept && kept < c.bytes) value = s_.join(value, kept, 0);
    agent_write(a, to, SASSEMU_PROXY_GENERIC, value);
    into_group(GroupKind::copies, a.events);
    return Step::past;
}

// ARRIVES.LDGSTSBAR: once the copies of the thread are done, an arrival (.ARVCNT) or one
// transaction (.TRANSCNT) that an instruction before it has expected.
Step SassTurn::copies_barrier(const SassEffects& e) {
    if (e.change.counters)
        return beyond("is not explored: the objects of sm_80 are ordinary words");
    Place mbarrier;
    if (!object(e.address, mbarrier)) return Step::stop;
    Agent a = issue();
    copies_arrive(a, mbarrier, e.change.arrivals == 0);
    return Step::past;
}

Step SassTurn::lane_store(const LaneStore& c) {
    Place to, mbarrier;
    if (!find(true, false, c.to[lane_], c.bytes, c.bytes, to)) return Step::stop;
    if (!object(c.mbarrier[lane_], mbarrier)) return Step::stop;
    // The data may still be open: the registers of the operand, whatever they hold.
    uint32_t first = SASSDEC_RZ;
    for (unsigned o = 0; o < i_.insn.operand_count; ++o)
        if (const sassdec_operand& x = i_.insn.operand[o];
            x.kind == SASSDEC_OP_REG && x.access & SASSDEC_READ)
            first = x.index;
    const auto word = [&](uint32_t k) -> uint32_t {
        return first == SASSDEC_RZ ? 0 : reg(static_cast<uint32_t>(code_.number_of(first + k)));
    };
    uint32_t value = word(0);
    if (c.bytes >= 8) value = s_.join(value, 4, word(1));
    if (c.bytes == 16) value = s_.join(value, 8, s_.join(word(2), 4, word(3)));
    store_async(to, value, {c.atomic}, c.type, mbarrier);
    return Step::past;
}

// False: one of the sides is not there.
bool SassTurn::add_piece(Receiver& r, bool from_near, uint64_t from, bool to_near, uint64_t to,
                         uint64_t bytes, uint64_t alignment) {
    Piece& p = r.pieces.emplace_back();
    return find(from_near, false, from, bytes, alignment, p.from.emplace()) &&
           find(to_near, false, to, bytes, alignment, p.to);
}

// What each receiver of a copy to shared memory gets: the same runs in its own memory, and the
// report on its own object.
bool SassTurn::add_receivers(const Completion& c, uint32_t to, const std::vector<CopyRun>& runs,
                             bool from_global, uint64_t bytes, std::vector<Receiver>& out) {
    for (const CopyReceiver& receiver : receivers_of(c, to)) {
        Receiver& r = out.emplace_back();
        r.bytes = bytes;
        for (const CopyRun& run : runs) {
            Piece& p = r.pieces.emplace_back();
            if (!find(true, false, receiver.window | run.near, run.bytes, 1, p.to)) return false;
            if (run.inside && !find(!from_global, false, run.far, run.bytes, 1, p.from.emplace()))
                return false;
        }
        if (!object(receiver.object, r.object.emplace())) return false;
    }
    return true;
}

// To global memory: of each 16 bytes those that the mask names, in runs.
bool SassTurn::add_masked(Receiver& r, const BulkCopy& c) {
    const auto copied = [&](uint64_t at) { return at < c.bytes && c.byte_mask >> at % 16 & 1; };
    for (uint64_t first = 0, end = 0; first < c.bytes; first = end + 1) {
        for (end = first; copied(end); ++end) {
        }
        if (end > first && !add_piece(r, true, c.from + first, false, c.to + first, end - first, 1))
            return false;
    }
    return true;
}

Step SassTurn::bulk_copy(const BulkCopy& c) {
    if (const std::string why = fault_of(c); !why.empty()) return refuse(why);
    std::vector<Receiver> receivers;
    const auto to = static_cast<uint32_t>(c.to);
    if (!(c.to_global ? add_masked(receivers.emplace_back(), c)
                      : add_receivers(c, to, {{to & 0xffffff, c.from, c.bytes, true}},
                                      c.from_global, c.bytes, receivers)))
        return Step::stop;
    Agent a = issue();
    if (c.reduce == AtomicOp::none)
        copy_runs(a, receivers);
    else
        reduce_runs(a, receivers.front(), c.reduce, c.type);
    return Step::past;
}

// The atomic operations that a reduction of these bytes is: one for each element (of 16 bits for
// two, unless somebody tells them apart). Elements side by side that nobody else touches are one.
std::vector<Place> SassTurn::elements(const Place& to, AtomicType type) {
    const Name& name = test_.names[to.name];
    const uint32_t each = sassemu::async::step_bytes(type);
    const bool halves = type == AtomicType::f16x2 || type == AtomicType::bf16x2;
    std::vector<std::pair<uint64_t, uint64_t>> met;
    for (const GraphEvent& event : s_.events)
        if (const SassemuEvent& e = event.e; e.kind & (SASSEMU_EVENT_READ | SASSEMU_EVENT_WRITE) &&
                                             e.thread >= 0 && e.location == name.location)
            met.emplace_back(e.first, e.bytes);
    const uint64_t first = name.offset + to.offset;
    const std::set<uint64_t> shared =
        test_.sass->reduce(name.location, first, to.bytes, {thread_, pc_}, met);
    const std::vector<uint64_t>& cuts = p_.cuts[name.location];
    std::vector<Place> out;
    bool lone = false;
    for (uint64_t k = 0; k < to.bytes; k += each) {
        const bool touched =
            shared.contains((first + k) / 4) || (each == 8 && shared.contains((first + k) / 4 + 1));
        if (touched && halves && std::ranges::binary_search(cuts, first + k + 2)) {
            out.push_back({to.name, to.offset + k, 2});
            out.push_back({to.name, to.offset + k + 2, 2});
        } else if (lone && !touched) {
            out.back().bytes += each;
        } else {
            out.push_back({to.name, to.offset + k, each});
        }
        lone = !touched;
    }
    return out;
}

// What it reads is read once, as a copy's is; then each element is changed, in no order.
void SassTurn::reduce_runs(Agent& a, const Receiver& r, AtomicOp how, AtomicType type) {
    const std::vector<uint32_t> values = read_runs(a, r), reads = a.events;
    std::vector<uint32_t> done = reads;
    for (size_t k = 0; k < r.pieces.size(); ++k)
        for (const Place& at : elements(r.pieces[k].to, type)) {
            a.events = reads;
            agent_modify(a, at, SASSEMU_SCOPE_GPU, [&](uint32_t old, uint64_t bytes) {
                Value v;
                v.kind = Value::Kind::elements;
                v.atomic = how;
                v.type = type;
                v.bytes = bytes;
                v.constant = at.offset - r.pieces[k].to.offset;
                return s_.made_of(std::move(v), old, values[k]);
            });
            done.insert(done.end(), a.events.begin() + static_cast<std::ptrdiff_t>(reads.size()),
                        a.events.end());
        }
    a.events = std::move(done);
    finish_runs(a, r);
}

// The 128 bytes of a tensor map: a parameter, or global memory through the tensormap proxy. False:
// the thread waits until they are known, or the copy is none.
bool SassTurn::read_map(uint64_t address, MapBytes& map) {
    bool beyond = false;
    if (const std::byte* known = parameter_map(sass_.launch(at_.launch).launch, address, beyond)) {
        std::memcpy(map.data(), known, map.size());
        return true;
    }
    if (beyond) return refuse("faults: no parameter is there"), false;
    if (!self_.map) {
        Place where;
        if (!find(false, false, address, map.size(), 64, where)) return false;
        Agent a = issue();
        const uint32_t value = agent_read(a, where, SASSEMU_PROXY_TENSORMAP);
        self_.map = StalledAgent{std::move(a), value};
    }
    for (uint64_t k = 0; k < map.size(); k += 8) {
        const auto word = s_.slice(self_.map->value, k, 8, p_, 0);
        if (!word) {
            wait_or_guess(s_.part(self_.map->value, k, 8, false), 0);
            return false;
        }
        std::memcpy(map.data() + k, &*word, 8);
    }
    return true;
}

Step SassTurn::tensor_copy(const TensorCopy& c) {
    if (c.prefetch) return Step::past;
    MapBytes bytes;
    if (!read_map(c.map, bytes)) return Step::stop;
    auto read = std::exchange(self_.map, std::nullopt);
    const auto map = TensorMap::decode(bytes.data());
    if (!map || map->rank != c.dimensions) {
        // Of a map that is no parameter: bytes that were not there yet, perhaps.
        if (!read) return refuse("faults: the parameter is no tensor map for it");
        if (s_.undefined.empty())
            s_.undefined = "tensor map", s_.undefined_at = static_cast<int32_t>(read->agent.issue);
        return Step::stop;
    }
    const sassemu::async::Box box(*map, c);
    if (const std::string why = sassemu::async::refusal(*map, box, c); !why.empty())
        return refuse("faults: " + why);
    const std::vector<CopyRun> runs = runs_of(*map, c);
    if (const std::string why = unexplored(*map, c, runs); !why.empty()) return beyond(why);
    std::vector<Receiver> receivers;
    if (c.store) {
        Receiver& r = receivers.emplace_back();
        for (const CopyRun& run : runs)
            if (!add_piece(r, true, (c.shared & 0xff000000) | run.near, false, run.far, run.bytes,
                           1))
                return Step::stop;
    } else if (!add_receivers(c, c.shared, runs, true, box.bytes(), receivers)) {
        return Step::stop;
    }
    Agent a = read ? std::move(read->agent) : issue();
    if (c.reduce == AtomicOp::none)
        copy_runs(a, receivers);
    else
        reduce_runs(a, receivers.front(), c.reduce, sassemu::async::atomic_type(map->type));
    return Step::past;
}

// UTMACCTL.IV, fence.proxy.tensormap::generic.acquire; of the widest scope where the PTX is not
// known.
Step SassTurn::map_fence(uint64_t address) {
    op::ProxyFence o;
    o.to = SASSEMU_PROXY_TENSORMAP;
    o.order = SASSEMU_ORDER_ACQUIRE;
    o.scope = i_.ptx_known && i_.intent.kind == IntentKind::proxy_fence
                  ? scope_of(i_.intent.scope)
                  : uint32_t{SASSEMU_SCOPE_SYS};
    if (!find(false, false, address, sassemu::async::tensor_map_bytes, 1, o.at.emplace()))
        return Step::stop;
    return perform(o);
}

}  // namespace sassemu::explore
