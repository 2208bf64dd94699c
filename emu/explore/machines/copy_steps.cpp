// SPDX-License-Identifier: Apache-2.0
// See copy_steps.hpp.
#include "emu/explore/machines/copy_steps.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/explore/sass/copies.hpp"

namespace sassemu::explore {
namespace {

constexpr uint64_t granule = 16;  // of a machine's operation, which crosses no multiple of it

// act(address, offset, bytes)
template <class Act>
void each_granule(uint64_t address, uint64_t bytes, Act&& act) {
    for (uint64_t at = 0, count; at < bytes; at += count) {
        count = std::min(granule - (address + at) % granule, bytes - at);
        act(address + at, at, static_cast<uint32_t>(count));
    }
}

bool meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    return a && b && a < b + b_bytes && b < a + a_bytes;
}

// Of a copy that does not know them yet nothing is left out.
template <class Found>
bool any_move(const CopyAgent& a, Found&& found) {
    for (const CopyWork::Receiver& r : a.work->receivers) {
        if (r.object && found(Footprint::Range{r.object, 8, true}, true)) return true;
        for (const CopyWork::Move& m : r.moves)
            if (found(Footprint::Range{m.to, m.bytes, true}, false) ||
                (!a.has_read && found(Footprint::Range{m.from, m.bytes, false}, false)))
                return true;
    }
    if (a.work->registers && found(Footprint::Range{a.work->registers, 1, true}, false))
        return true;
    if (const CellWork* const cells = a.work->cells.get()) {
        const uint64_t row = tensor_row_of(cells->cta);
        for (const SharedRange& r : cells->read)
            if (found(Footprint::Range{row + r.address, r.bytes, false}, false)) return true;
        for (const SharedRange& r : cells->written)
            if (found(Footprint::Range{row + r.address, r.bytes, true}, false)) return true;
    }
    return a.work->tensor.has_value();
}

bool in_order(const CopyAgent& a, const Footprint& f) {
    return any_move(a, [&](const Footprint::Range& own, bool) {
        if (f.everywhere && own.address && !(own.address & SASSEMU_MACHINE_SHARED)) return true;
        return std::ranges::any_of(f.ranges, [&](const Footprint::Range& r) {
            return (own.writes || r.writes) && meet(own.address, own.bytes, r.address, r.bytes);
        });
    });
}

// Two reports to one mbarrier are not.
bool in_order(const CopyAgent& a, const CopyAgent& b) {
    return any_move(a, [&](const Footprint::Range& of_a, bool a_object) {
        return any_move(b, [&](const Footprint::Range& of_b, bool b_object) {
            return !(a_object && b_object) && (of_a.writes || of_b.writes) &&
                   meet(of_a.address, of_a.bytes, of_b.address, of_b.bytes);
        });
    });
}

bool waits_for(const Footprint& f, const CopyAgent& a) {
    const auto reports = [&](const CopyWork::Receiver& r) { return r.object == f.object; };
    return std::ranges::find(f.copies, a.name()) != f.copies.end() ||
           (f.object && (a.work->tensor || std::ranges::any_of(a.work->receivers, reports)));
}

}  // namespace

bool CopySteps::meets(const CopyAgent& a, const std::vector<Footprint::Range>& ranges) {
    Footprint f;
    f.ranges = ranges;
    return in_order(a, f);
}

std::optional<std::vector<Footprint::Range>> CopySteps::touches(const CopyAgent& a) {
    if (a.work->tensor) return {};
    std::vector<Footprint::Range> out;
    any_move(a, [&](const Footprint::Range& r, bool) {
        if (r.address) out.push_back(r);
        return false;
    });
    return out;
}

// Each step of an agent can be put off until the next that it is in order with; so it need not be
// looked at before somebody's next step is such a one. What somebody waits for can be done in any
// order that agents among themselves leave open: one of them at a time is enough.
std::vector<size_t> CopySteps::wanted(const MachineState& s, const std::vector<Footprint>& next,
                                      bool alone) const {
    const std::vector<CopyAgent>& all = s.sass.agents;
    std::vector<size_t> out;
    const auto want = [&](size_t i) {
        if (std::ranges::find(out, i) == out.end()) out.push_back(i);
    };
    for (const Footprint& f : next) {
        bool first = true;
        for (size_t i = 0; i < all.size(); ++i) {
            const bool awaited = waits_for(f, all[i]);
            if ((awaited && std::exchange(first, false)) || (!f.object && in_order(all[i], f)))
                want(i);
        }
    }
    if (out.empty() && alone && !all.empty()) want(0);
    for (size_t k = 0; k < out.size(); ++k) {
        const CopyAgent& a = all[out[k]];
        bool first = true;
        for (size_t j = 0; j < all.size(); ++j) {
            const bool before =
                all[j].thread == a.thread && !(a.work->after_reads && all[j].has_read) &&
                std::ranges::find(a.work->after, all[j].number) != a.work->after.end();
            if ((before && std::exchange(first, false)) || (out[k] != j && in_order(a, all[j])))
                want(j);
        }
    }
    return out;
}

MemoryOperation CopySteps::operation(const CopyAgent& a, sassemu_operation_kind kind) const {
    MemoryOperation o(kind);
    o.what.from = does_.place(a.thread);
    if (machine_.scoped()) o.what.from.thread = a.id();
    o.what.proxy = a.work->tensor    ? SASSEMU_VIA_TENSORMAP
                   : a.work->generic ? SASSEMU_VIA_GENERIC
                                     : SASSEMU_VIA_ASYNC;
    return o;
}

void CopySteps::next(const MachineState& s, size_t agent, std::vector<MachineState>& out) const {
    const CopyAgent& a = s.sass.agents[agent];
    if (!fetch_.may_act(s.sass, a)) return;
    if (!a.has_read) return read(s, agent, reads(a), 0, {}, out);
    MachineState n = s;
    if (write(n, agent)) out.push_back(std::move(n));
}

std::vector<CopySteps::Read> CopySteps::reads(const CopyAgent& a) const {
    std::vector<Read> out;
    const auto add = [&](uint64_t address, uint64_t bytes) {
        each_granule(address, bytes, [&](uint64_t at, uint64_t, uint32_t count) {
            out.push_back({address ? at : 0, count});
        });
    };
    if (a.work->tensor)
        add(a.work->tensor->map, async::tensor_map_bytes);
    else
        for (const CopyWork::Move& m : a.work->receivers.front().moves) add(m.from, m.bytes);
    return out;
}

void CopySteps::read(MachineState s, size_t agent, const std::vector<Read>& all, size_t first,
                     std::vector<uint8_t> found, std::vector<MachineState>& out) const {
    for (; first < all.size(); ++first) {
        const Read& r = all[first];
        const size_t at = found.size();
        found.resize(at + r.bytes);
        if (!r.address) continue;
        const CopyAgent& a = s.sass.agents[agent];
        const bool near = r.address & SASSEMU_MACHINE_SHARED;
        if (!machine_.scoped() && (near || !a.work->generic)) {
            const sassemu_bytes& bytes = memory_.of(s);
            bytes.read(bytes.memory, r.address, found.data() + at, r.bytes);
            continue;
        }
        MemoryOperation o = operation(a, SASSEMU_OPERATION_LOAD);
        o.what.address = r.address;
        o.what.bytes = static_cast<uint8_t>(r.bytes);
        const uint32_t ways = s.machine.ways(memory_.of(s), o.what);
        if (!ways) return;
        const auto put = [&](MachineState& to, uint32_t way) {
            const auto value = memory_.perform(to, o, way);
            std::copy_n(value.begin(), r.bytes, found.begin() + static_cast<std::ptrdiff_t>(at));
        };
        for (uint32_t way = 1; way < ways; ++way) {
            MachineState other = s;
            put(other, way);
            read(std::move(other), agent, all, first + 1, found, out);
        }
        put(s, 0);
    }
    CopyAgent& a = s.sass.agents[agent];
    if (a.work->tensor) {
        fetch_.read_map(a, found);
    } else {
        a.has_read = true;
        a.found = std::move(found);
    }
    out.push_back(std::move(s));
}

// False: the machine has to take a step first.
bool CopySteps::write(MachineState& s, size_t agent) const {
    const CopyAgent a = s.sass.agents[agent];
    const CopyWork& work = *a.work;
    uint64_t from = 0;
    const auto registers = [&](uint32_t t) -> std::vector<uint64_t>& {
        return s.threads[t].registers;
    };
    if (work.registers) fetch_.multiply(s.sass, a, registers);
    if (work.cells) fetch_.act(s.sass, a, registers);
    for (const CopyWork::Move& m : work.receivers[a.written].moves) {
        if (work.registers || work.cells) break;
        const uint8_t* const found = a.found.data() + from;
        from += m.bytes;
        bool blocked = false;
        each_granule(m.to, m.bytes, [&](uint64_t address, uint64_t at, uint32_t count) {
            if (machine_.scoped()) {
                // The bytes are changed right after it.
                const MemoryOperation o = [&] {
                    MemoryOperation change = operation(a, SASSEMU_OPERATION_ATOMIC);
                    change.what.address = address;
                    change.what.bytes = static_cast<uint8_t>(count);
                    return change;
                }();
                blocked |= !s.machine.ways(memory_.of(s), o.what);
                if (!blocked) s.machine.perform(memory_.of(s), o.what, 0, nullptr);
            }
            const sassemu_bytes& bytes = memory_.of(s);
            alignas(8) std::byte now[granule];
            bytes.read(bytes.memory, address, now, count);
            const auto* const value = reinterpret_cast<const std::byte*>(found + at);
            if (work.reduce != AtomicOp::none)
                async::reduce_words(now, value, count, work.reduce, work.type);
            else
                for (uint32_t k = 0; k < count; ++k)
                    if (work.byte_mask >> (address + k) % 16 & 1) now[k] = value[k];
            bytes.write(bytes.memory, address, now, count);
        });
        if (blocked) return false;
    }
    std::vector<MemoryOperation> told;
    fetch_.report(s.sass, a, told);
    for (MemoryOperation& o : told) {
        o.what.from = operation(a, SASSEMU_OPERATION_ARRIVE).what.from;
        if (!s.machine.ways(memory_.of(s), o.what)) return false;
        memory_.perform(s, o, 0);
    }
    if (++s.sass.agents[agent].written == work.receivers.size())
        s.sass.agents.erase(s.sass.agents.begin() + static_cast<std::ptrdiff_t>(agent));
    return true;
}

}  // namespace sassemu::explore
