// SPDX-License-Identifier: Apache-2.0
// The step machine's asynchronous operations in machine code: what each word's agent reads, writes
// and completes. The laws of agents are in agents.cpp. A copy is one read and one write for each
// run of bytes that is contiguous on both sides, whatever its length: only where other accesses
// begin or end is a read cut into pieces (SassProgram::cut), so bytes that nobody else touches cost
// nothing.
#include <bit>
#include <cstring>
#include <utility>

#include "emu/async/tensor_box.hpp"
#include "emu/explore/graph/sass_steps.hpp"
#include "emu/memory/address_space.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

// Bytes that lie together in shared memory (`near`, an offset in its CTA's) and on the other side.
struct Machine::Run {
    uint32_t near = 0;
    uint64_t far = 0, bytes = 0;
    bool inside = true;  // else zeros

    static void add(std::vector<Run>& runs, const Run& next) {
        if (!next.bytes) return;
        if (!runs.empty()) {
            Run& last = runs.back();
            if (last.inside == next.inside && last.near + last.bytes == next.near &&
                (!next.inside || last.far + last.bytes == next.far)) {
                last.bytes += next.bytes;
                return;
            }
        }
        runs.push_back(next);
    }
};

std::vector<Machine::Run> Machine::runs_of(const TensorMap& m, const TensorCopy& c) {
    const async::Box box(m);
    std::vector<Run> out;
    for (uint64_t number = 0; number < box.rows; ++number) {
        const async::BoxRow row = box.row_at(m, c.shared & 0xffffff, c.at, number);
        for (uint32_t offset = 0; offset < box.row; offset += 16) {
            const async::BoxChunk chunk = box.chunk_at(m, row, c.at[0], offset);
            const uint64_t there =
                chunk.left <= 0 ? 0 : static_cast<uint64_t>(chunk.left) * element_bytes(m.type);
            const uint64_t inside = c.store && there ? 16 : std::min<uint64_t>(16, there);
            Run::add(out, {chunk.near, chunk.far, inside, true});
            if (!c.store)
                Run::add(out, {chunk.near + static_cast<uint32_t>(inside), 0, 16 - inside, false});
        }
    }
    return out;
}

Machine::Step Machine::sass_async(State& s, Sass& at, const SassEffects& e) const {
    using Call = SassEffects::Call;
    const size_t before = s.events.size();
    Step step = Step::done;
    switch (e.call) {
        case Call::lane_copy:
            step = sass_lane_copy(s, at, e.lane);
            break;
        case Call::lane_store:
            step = sass_lane_store(s, at, e.store);
            break;
        case Call::copies_arrive:
            step = sass_copies_arrive(s, at, e);
            break;
        case Call::bulk_copy:
            step = sass_bulk_copy(s, at, e.bulk);
            break;
        case Call::tensor_copy:
            step = sass_tensor_copy(s, at, e.tensor);
            break;
        case Call::end_group: {
            Instruction op;
            op.op = e.bulk_group ? explore::Op::bulk_commit : explore::Op::copy_commit;
            asynchronous(s, at.thread, op);
            ThreadState& t = s.threads[at.thread];
            t.bulk_scoreboards[e.groups.front().scoreboard % 8] = e.bulk_group;
            break;
        }
        case Call::wait_groups:
            sass_wait_groups(s, at, e);
            break;
        default:
            step = sass_map_fence(s, at,
                                  e.accesses.front().address[at.p.thread(at.thread).thread % 32]);
            break;
    }
    // Addresses and sizes.
    for (size_t k = before; k < s.events.size(); ++k) s.events[k].data |= at.input_reads;
    if (step == Step::done) ++s.threads[at.thread].pc;
    return step;
}

// Which groups, and whether their reads alone: as the PTX says, which has lost it in the words.
// Without it, a group of the kind that was committed last on the scoreboard; compiled code empties
// the cache behind a wait for writes.
void Machine::sass_wait_groups(State& s, Sass& at, const SassEffects& e) const {
    const SassInstruction& i = at.i;
    if (i.ptx_known && !i.intent.opcode.starts_with("cp.async")) return;
    for (const SassEffects::Group& g : e.groups) {
        const bool bulk = i.ptx_known ? i.intent.to_proxy == Proxy::async
                                      : s.threads[at.thread].bulk_scoreboards[g.scoreboard % 8];
        Instruction op;
        op.op = bulk ? explore::Op::bulk_wait : explore::Op::copy_wait;
        op.c.value = g.left;
        if (i.ptx_known)
            op.reads_only = bulk && i.intent.opcode.find(".read") != std::string::npos;
        else
            op.reads_only = bulk && (at.pc + 1 >= at.code.count() ||
                                     at.code.at(at.pc + 1).insn.id != SASSDEC_ID_CCTLALL);
        asynchronous(s, at.thread, op);
    }
}

// The mbarrier object at a shared address of the cluster.
bool Machine::sass_object(State& s, Sass& at, uint32_t address, Operand& out) const {
    SassProgram::Place place;
    if (!at.p.mbarrier(test_, at.thread, address, place)) {
        // One that is new: the search begins again, and knows it.
        if (!at.p.grew())
            sass_refuse(
                s, at,
                "names no mbarrier: no 8 bytes of the shared memory of a CTA of the cluster");
        return false;
    }
    out.kind = Operand::Kind::memory;
    out.name = place.name;
    return true;
}

Machine::Step Machine::sass_lane_copy(State& s, Sass& at, const LaneCopy& c) const {
    const uint32_t lane = at.p.thread(at.thread).thread % 32;
    const uint64_t kept = c.from_lanes >> lane & 1 ? c.keep[lane] : 0;
    Operand to, from;
    if (!sass_range(s, at, true, true, c.to[lane], c.bytes, c.bytes, to)) return Step::stop;
    if (kept && !sass_range(s, at, false, false, c.from[lane], kept, c.bytes, from))
        return Step::stop;
    Agent a = issue(s, at.thread);
    uint32_t value =
        kept ? agent_read(s, at.thread, a, from.name, from.offset, kept, SASSEMU_PROXY_GENERIC) : 0;
    if (kept && kept < c.bytes) value = s.join(value, kept, 0);
    agent_write(s, at.thread, a, to.name, to.offset, c.bytes, SASSEMU_PROXY_GENERIC, value);
    auto& open = s.threads[at.thread].copies.open;
    open.insert(open.end(), a.events.begin(), a.events.end());
    return Step::done;
}

// ARRIVES.LDGSTSBAR: once the copies of the thread are done, an arrival (.ARVCNT) or one
// transaction (.TRANSCNT) that an instruction before it has expected.
Machine::Step Machine::sass_copies_arrive(State& s, Sass& at, const SassEffects& e) const {
    if (e.change.counters)
        return sass_refuse(s, at, "is not explored: the objects of sm_80 are ordinary words");
    Operand object;
    if (!sass_object(s, at, e.address, object)) return Step::stop;
    Agent a = issue(s, at.thread);
    copies_arrive(s, at.thread, a, object, e.change.arrivals == 0);
    return Step::done;
}

Machine::Step Machine::sass_lane_store(State& s, Sass& at, const LaneStore& c) const {
    const uint32_t lane = at.p.thread(at.thread).thread % 32;
    Operand to, object;
    if (!sass_range(s, at, true, false, c.to[lane], c.bytes, c.bytes, to)) return Step::stop;
    if (!sass_object(s, at, c.mbarrier[lane], object)) return Step::stop;
    // The data may still be open: the registers of the operand, whatever they hold.
    uint32_t first = SASSDEC_RZ;
    for (unsigned o = 0; o < at.i.insn.operand_count; ++o)
        if (const sassdec_operand& x = at.i.insn.operand[o];
            x.kind == SASSDEC_OP_REG && x.access & SASSDEC_READ)
            first = x.index;
    const auto word = [&](uint32_t k) -> uint32_t {
        return first == SASSDEC_RZ
                   ? 0
                   : s.threads[at.thread]
                         .registers[static_cast<size_t>(at.code.number_of(first + k))];
    };
    uint32_t value = word(0);
    if (c.bytes >= 8) value = s.join(value, 4, word(1));
    if (c.bytes == 16) value = s.join(value, 8, s.join(word(2), 4, word(3)));
    Value modified;
    modified.kind = Value::Kind::sass_atomic;
    modified.operation = static_cast<uint8_t>(c.atomic);
    modified.type = static_cast<uint8_t>(c.type);
    store_async(s, at.thread, to, c.bytes, value,
                c.atomic == sassemu::AtomicOp::none ? nullptr : &modified, object);
    return Step::done;
}

// What each receiver of a copy to shared memory gets: the same runs in its own memory, and the
// report on its own object.
bool Machine::sass_receivers(State& s, Sass& at, const Completion& c, uint32_t own_rank,
                             const std::vector<Run>& runs, bool from_global, uint64_t bytes,
                             std::vector<Receiver>& out) const {
    const uint32_t ranks = c.multicast ? c.ranks : 1u << own_rank;
    for (uint32_t rest = ranks; rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        Receiver& r = out.emplace_back();
        r.bytes = bytes;
        for (const Run& run : runs) {
            Piece& p = r.pieces.emplace_back();
            p.bytes = run.bytes;
            if (!sass_range(s, at, true, false, window | run.near, run.bytes, 1, p.to))
                return false;
            if (run.inside &&
                !sass_range(s, at, !from_global, false, run.far, run.bytes, 1, p.from))
                return false;
        }
        if (!sass_object(s, at, c.multicast ? window | (c.mbarrier & 0xffffff) : c.mbarrier,
                         r.object))
            return false;
    }
    return true;
}

Machine::Step Machine::sass_bulk_copy(State& s, Sass& at, const BulkCopy& c) const {
    if ((c.to | c.from | c.bytes) % 16)
        return sass_refuse(s, at, "faults: a bulk copy is of multiples of 16");
    std::vector<Receiver> receivers;
    if (c.to_global) {
        Receiver& r = receivers.emplace_back();
        Piece& p = r.pieces.emplace_back();
        p.bytes = c.bytes;
        if (!sass_range(s, at, true, false, c.from, c.bytes, 16, p.from) ||
            !sass_range(s, at, false, false, c.to, c.bytes, 16, p.to))
            return Step::stop;
    } else {
        const auto to = static_cast<uint32_t>(c.to);
        const std::vector<Run> runs = {{to & 0xffffff, c.from, c.bytes, true}};
        if (!sass_receivers(s, at, c, to >> 24, runs, c.from_global, c.bytes, receivers))
            return Step::stop;
    }
    Agent a = issue(s, at.thread);
    copy_runs(s, at.thread, a, receivers);
    return Step::done;
}

// The 128 bytes of a tensor map: a parameter, or global memory through the tensormap proxy. False:
// the thread waits until they are known, or the copy is none.
bool Machine::sass_map(State& s, Sass& at, uint64_t address, MapBytes& map) const {
    if (address >> 32 == constant_window_high) {
        const Launch& launch = at.p.launch(at.p.thread(at.thread).launch).launch;
        constexpr auto bank = static_cast<size_t>(Base::bank0);
        const uint64_t offset = address & 0xffffffff;
        if (offset + map.size() > launch.bank_bytes[bank])
            return sass_refuse(s, at, "faults: no parameter is there"), false;
        std::memcpy(map.data(), launch.base[bank] + offset, map.size());
        return true;
    }
    if (!s.threads[at.thread].map) {
        Operand where;
        if (!sass_range(s, at, false, false, address, map.size(), 64, where)) return false;
        Agent a = issue(s, at.thread);
        StalledAgent stalled;
        stalled.value = agent_read(s, at.thread, a, where.name, where.offset, map.size(),
                                   SASSEMU_PROXY_TENSORMAP);
        stalled.map_read = a.events.back();
        stalled.issue = a.issue;
        stalled.agent = a.number;
        stalled.index = a.index;
        s.threads[at.thread].map = stalled;
    }
    const StalledAgent& read = *s.threads[at.thread].map;
    for (uint64_t k = 0; k < map.size(); k += 8) {
        const auto word = s.slice(read.value, k, 8, p_, 0);
        if (!word) {
            sass_wait(s, at, s.part(read.value, k, 8, false), 0);
            return false;
        }
        std::memcpy(map.data() + k, &*word, 8);
    }
    return true;
}

Machine::Step Machine::sass_tensor_copy(State& s, Sass& at, const TensorCopy& c) const {
    MapBytes bytes;
    if (!sass_map(s, at, c.map, bytes)) return Step::stop;
    const auto read = std::exchange(s.threads[at.thread].map, std::nullopt);
    const auto map = TensorMap::decode(bytes.data());
    if (!map || map->rank != c.dimensions) {
        // Of a map that is no parameter: bytes that were not there yet, perhaps.
        if (!read) return sass_refuse(s, at, "faults: the parameter is no tensor map for it");
        if (s.undefined.empty())
            s.undefined = "tensor map", s.undefined_at = static_cast<int32_t>(read->issue);
        return Step::stop;
    }
    const async::Box box(*map);
    if (const std::string why = async::refusal(*map, box, c); !why.empty())
        return sass_refuse(s, at, "faults: " + why);
    const std::vector<Run> runs = runs_of(*map, c);
    const bool fills = std::ranges::any_of(runs, [](const Run& r) { return !r.inside; });
    if (!c.store && (map->type >= TensorType::tf32 || (fills && map->nan_fill)))
        return sass_refuse(s, at, "is not explored: the copy rounds to tf32, or fills with NaN");
    std::vector<Receiver> receivers;
    if (c.store) {
        Receiver& r = receivers.emplace_back();
        for (const Run& run : runs) {
            Piece& p = r.pieces.emplace_back();
            p.bytes = run.bytes;
            if (!sass_range(s, at, true, false, (c.shared & 0xff000000) | run.near, run.bytes, 1,
                            p.from) ||
                !sass_range(s, at, false, false, run.far, run.bytes, 1, p.to))
                return Step::stop;
        }
    } else if (!sass_receivers(s, at, c, c.shared >> 24, runs, true, box.bytes(), receivers)) {
        return Step::stop;
    }
    Agent a;
    if (read) {
        a.number = read->agent;
        a.index = read->index;
        a.issue = read->issue;
        a.events = {read->map_read};
    } else {
        a = issue(s, at.thread);
    }
    copy_runs(s, at.thread, a, receivers);
    return Step::done;
}

// UTMACCTL.IV, fence.proxy.tensormap::generic.acquire; of the widest scope where the PTX is not
// known.
Machine::Step Machine::sass_map_fence(State& s, Sass& at, uint64_t address) const {
    Instruction op;
    op.op = explore::Op::proxy_fence;
    op.order = SASSEMU_ORDER_ACQUIRE;
    op.scope = SASSEMU_SCOPE_SYS;
    if (at.i.ptx_known && at.i.intent.kind == IntentKind::proxy_fence)
        op.scope = scope_of(at.i.intent.scope);
    op.from = SASSEMU_PROXY_GENERIC;
    op.to = SASSEMU_PROXY_TENSORMAP;
    op.bytes = async::tensor_map_bytes;
    if (!sass_range(s, at, false, false, address, op.bytes, 1, op.b)) return Step::stop;
    fence(s, at.thread, op);
    return Step::done;
}

}  // namespace sassemu::explore
