// SPDX-License-Identifier: Apache-2.0
// What an instruction does to marks of registers, and where they decide. Exact for moves, bitwise
// logic and bytes; elsewhere one marked bit marks the result. Where the values would decide (which
// of two is selected, from which lane), it is as the plugin's Doubt says.
#include <algorithm>

#include "follow/follower.hpp"

namespace follow {

void Follower::check_control(const Step& s) {
    if (!s.i.guards_much) return;
    each_row(s.i.control, [&](uint32_t row) {
        const bool condition = row >= predicate_rows || s.i.effect.kind >= SASSEMU_EFFECT_BARRIER;
        const uint32_t marked =
            s.warp.registers.lanes(row) & (row == s.i.guard ? s.active : s.lanes);
        if (!marked) return;
        if (doubt_ != Doubt::marks) {
            if (decides(s, row, marked, condition)) s.warp.registers.clear(row, marked);
        } else if (condition) {
            Origin all = unnamed;
            each_lane(marked, [&](uint32_t lane) { all = join(all, origin(s, row, lane)); });
            ++*decided_.emplace_back(decisions(s.i.insn, all));
        }
    });
}

// What marks all that the instruction makes, whatever its operands: itself, and what decides where
// it reads and writes.
void Follower::brought(const Step& s) {
    Registers& registers = s.warp.registers;
    Origin everywhere = s.i.makes;
    if (s.i.reads_tensor) everywhere = join(everywhere, s.cta.tensor);
    const bool decided = doubt_ == Doubt::marks && registers.touches(s.i.control, s.active);
    through_any_ = everywhere || decided;
    if (!through_any_) return;
    through_.fill(everywhere);
    if (!decided) return;
    each_row(s.i.control, [&](uint32_t row) {
        each_lane(registers.lanes(row) & s.active, [&](uint32_t lane) {
            through_[lane] = join(through_[lane], origin(s, row, lane));
        });
    });
}

namespace {

// What it stores goes where no marks are kept, or to what others do at once: not the accesses of
// its own lanes to shared and local memory.
bool takes_away(const Instruction& i) {
    const sassemu_effect& e = i.effect;
    switch (e.kind) {
        case SASSEMU_EFFECT_STORE:
            return e.in_cluster || (e.space != SASSEMU_SHARED && e.space != SASSEMU_LOCAL &&
                                    e.space != SASSEMU_GENERIC);
        case SASSEMU_EFFECT_ATOMIC:
        case SASSEMU_EFFECT_REDUCE:
            return true;
        case SASSEMU_EFFECT_ASYNC:
            return i.results.empty() && e.action != SASSEMU_ACTION_MULTIPLY;
        default:
            return false;
    }
}

}  // namespace

void Follower::step(const Step& s, const sassemu_recorded_access* a,
                    const sassemu_recorded_access* end, const sassemu_records& r) {
    check_control(s);
    Registers& registers = s.warp.registers;
    uint32_t unsure = 0;  // lanes of which nobody knows whether they execute it
    std::array<Origin, 32> why;
    if (s.i.guard != no_row) {
        unsure = registers.lanes(s.i.guard) & s.active;
        each_lane(unsure, [&](uint32_t lane) { why[lane] = origin(s, s.i.guard, lane); });
    }
    if (s.lanes) {
        brought(s);
        if (takes_away(s.i))
            for (const uint16_t row : s.i.data)
                each_lane(registers.lanes(row) & s.lanes,
                          [&](uint32_t lane) { leaves(s, row, lane, {}); });
        if (s.i.writes_tensor && doubt_ == Doubt::marks) {
            repeatable_ = false;
            each_lane(s.lanes, [&](uint32_t lane) {
                if (through_any_) s.cta.tensor = join(s.cta.tensor, through_[lane]);
                for (const uint16_t row : s.i.data)
                    if (registers.bits(row, lane))
                        s.cta.tensor = join(s.cta.tensor, origin(s, row, lane));
            });
            // A pair of CTAs may do it together.
            const auto peer = ctas_.find(host.cta_of_rank(s.cta.handle, s.cta.rank ^ 1));
            if (s.cta.tensor && peer != ctas_.end())
                peer->second.tensor = join(peer->second.tensor, s.cta.tensor);
        }
        if (s.i.transfer == Transfer::memory) {
            // What was stored and what was loaded may be the same registers: results lose their
            // marks once nothing looks at the operands any more.
            const bool plain = !through_any_ && !has_marked_data(s);
            if (s.i.effect.kind == SASSEMU_EFFECT_LOAD)
                for (const uint16_t row : s.i.results) registers.clear(row, s.lanes);
            for (; a != end; ++a) {
                const bool load = a->op == SASSEMU_ATOMIC;
                if (load)
                    for (const uint16_t row : s.i.results)
                        if (std::find(s.i.data.begin(), s.i.data.end(), row) == s.i.data.end())
                            registers.clear(row, s.lanes);
                if (plain && quick(s.cta, s.warp, s.i, *a, r.address + a->address)) continue;
                repeatable_ = false;
                access(s, *a, r.address + a->address);
            }
        } else {
            if (!quick_transfer(s)) transfer(s);
            for (; a != end; ++a) {
                repeatable_ = false;
                access(s, *a, r.address + a->address);
            }
        }
        if (through_any_) mark_results(s, s.lanes, through_);
    }
    if (unsure) mark_results(s, unsure, why);
}

// With what marks all of it, beside the marks that its operands have brought.
void Follower::mark_results(const Step& s, uint32_t lanes, const std::array<Origin, 32>& by) {
    Registers& registers = s.warp.registers;
    for (const uint16_t row : s.i.results) {
        // Mostly one origin for all.
        std::array<Origin, 32> of;
        each_lane(lanes, [&](uint32_t lane) {
            const Origin old = registers.bits(row, lane) ? registers.origin(row, lane) : unnamed;
            of[lane] = by[lane] ? join(old, by[lane]) : unnamed;
        });
        const Origin one = of[static_cast<uint32_t>(std::countr_zero(lanes))];
        bool alike = one != unnamed;
        each_lane(lanes, [&](uint32_t lane) { alike = alike && of[lane] == one; });
        if (alike) {
            registers.mark_all(row, lanes, one);
            continue;
        }
        each_lane(lanes, [&](uint32_t lane) {
            if (of[lane]) registers.mark(row, lane, ~0u, of[lane]);
        });
    }
}

// Where everything that is read is marked alike, so is everything that is written.
bool Follower::quick_transfer(const Step& s) {
    const Instruction& i = s.i;
    // Of products, those where all lanes bring the same.
    const bool product = (i.transfer == Transfer::matrix || i.transfer == Transfer::gather) &&
                         doubt_ == Doubt::marks;
    if (i.transfer != Transfer::mix && !product) return false;
    Registers& registers = s.warp.registers;
    uint32_t marked = 0;
    Origin of = unnamed;
    for (size_t k = 0; k < i.data.size(); ++k) {
        const uint32_t lanes = registers.lanes(i.data[k]) & s.lanes;
        if (!lanes) continue;
        if (!registers.is_plain(i.data[k]) || i.masks[k] != ~0u) return false;
        const Origin o = registers.origin(i.data[k], 0);
        if (!o || (of && of != o && ((lanes != marked && !product) || doubt_ != Doubt::marks)))
            return false;
        of = join(of, o);
        marked |= lanes;
    }
    if (product && marked && marked != s.lanes) return false;
    const auto uniform = std::count_if(i.results.begin(), i.results.end(), is_uniform);
    if (uniform && uniform != static_cast<int64_t>(i.results.size())) return false;
    if (uniform && marked) marked = ~0u;
    for (const uint16_t row : i.results) {
        registers.clear(row, s.lanes);
        registers.mark_all(row, marked, of);
    }
    return true;
}

namespace {

// Bits of the result of a table of three inputs that depend on a marked bit.
uint32_t marked_of(uint32_t table, const Instruction::Source (&source)[3],
                   const uint32_t (&marked)[3]) {
    // Input a is the highest bit of the table's index.
    const auto entry = [&](uint32_t v) { return table >> ((v & 1) << 2 | (v & 2) | v >> 2) & 1; };
    // Where several inputs are marked a change of all of them is a change of one after the other.
    uint32_t result = 0;
    for (uint32_t in = 0; in < 8; ++in) {
        uint32_t possible = ~0u;
        for (uint32_t k = 0; k < 3; ++k)
            if (source[k].known) possible &= in >> k & 1 ? source[k].value : ~source[k].value;
        for (uint32_t k = 0; k < 3; ++k)
            if (entry(in) != entry(in ^ 1u << k)) result |= possible & marked[k];
    }
    return result;
}

uint32_t permuted(uint32_t selector, uint32_t low, uint32_t high) {
    const uint64_t both = uint64_t{high} << 32 | low;
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t nibble = selector >> k * 4 & 15;
        auto byte = static_cast<uint32_t>(both >> (nibble & 7) * 8 & 0xff);
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;  // its sign
        result |= byte << k * 8;
    }
    return result;
}

}  // namespace

// Of all that it reads in a lane.
Marked Follower::mixed(const Step& s, uint32_t lane) {
    Marked all;
    for (size_t k = 0; k < s.i.data.size(); ++k)
        if (s.warp.registers.bits(s.i.data[k], lane) & s.i.masks[k]) {
            all = {~0u, join(all.origin, origin(s, s.i.data[k], lane))};
            if (doubt_ != Doubt::marks) break;  // one says it
        }
    return all;
}

Marked Follower::of_lanes(const Step& s, uint32_t lanes) {
    Marked all;
    each_lane(lanes, [&](uint32_t lane) {
        if (all.bits && doubt_ != Doubt::marks) return;
        const Marked v = mixed(s, lane);
        if (v.bits) all = {~0u, join(all.origin, v.origin)};
    });
    return all;
}

void Follower::give(const Step& s, uint32_t row, const Marks& marks) {
    if (row == no_row) return;
    Registers& registers = s.warp.registers;
    registers.clear(row, s.lanes);
    // Mostly all bits of one origin, or none.
    uint32_t lanes = 0;
    Origin one = unnamed;
    bool alike = true;
    each_lane(s.lanes, [&](uint32_t lane) {
        const Marked& m = marks[lane];
        if (!m.bits) return;
        alike = alike && m.bits == ~0u && (!lanes || m.origin == one);
        one = m.origin;
        lanes |= 1u << lane;
    });
    if (alike) return registers.mark_all(row, lanes, one);
    each_lane(lanes, [&](uint32_t lane) {
        registers.mark(row, lane, marks[lane].bits, marks[lane].origin);
    });
}

void Follower::give_all(const Step& s, const Marks& marks) {
    for (const uint16_t row : s.i.results) give(s, row, marks);
}

void Follower::transfer(const Step& s) {
    const Instruction& i = s.i;
    Registers& registers = s.warp.registers;
    const auto read = [&](uint32_t row, uint32_t lane) {
        return row == no_row ? 0 : registers.bits(row, lane);
    };
    const auto mixed = [&](uint32_t lane) { return Follower::mixed(s, lane); };
    const auto give_all = [&](auto&& of) {
        Marks marks;
        each_lane(s.lanes, [&](uint32_t lane) { marks[lane] = of(lane); });
        Follower::give_all(s, marks);
    };
    switch (i.transfer) {
        case Transfer::copy: {
            std::vector<Marks> moved(i.data.size());
            for (size_t k = 0; k < i.data.size(); ++k)
                each_lane(s.lanes,
                          [&](uint32_t lane) { moved[k][lane] = marked(s, i.data[k], lane); });
            for (size_t k = 0; k < i.data.size(); ++k) give(s, i.results[k], moved[k]);
            return;
        }
        case Transfer::select:
            if (doubt_ == Doubt::values) return select(s);
            if (doubt_ == Doubt::marks) return give_all(mixed);
            return give_all([&](uint32_t lane) {
                Marked all{~0u, unnamed};
                size_t registers_read = 0;
                for (const uint16_t row : i.data) {
                    const uint32_t bits = read(row, lane);
                    if (row >= predicate_rows) {
                        if (bits) return Marked{~0u, origin(s, row, lane)};
                        continue;
                    }
                    ++registers_read;
                    all.bits &= bits;
                    if (bits) all.origin = origin(s, row, lane);
                }
                // An immediate or a constant may be what is selected.
                return registers_read == 2 && all.bits ? all : Marked{};
            });
        case Transfer::logic:
        case Transfer::permute:
            return give_all([&](uint32_t lane) {
                uint32_t marked[3];
                Origin from = unnamed;
                for (uint32_t k = 0; k < 3; ++k) {
                    marked[k] = read(i.source[k].row, lane);
                    if (marked[k]) from = join(from, origin(s, i.source[k].row, lane));
                }
                const uint32_t bits = i.transfer == Transfer::logic
                                          ? marked_of(i.table, i.source, marked)
                                          : permuted(i.table, marked[0], marked[1]);
                const bool any = bits && i.results[0] >= predicate_rows;
                return Marked{any ? ~0u : bits, bits ? from : unnamed};
            });
        case Transfer::gather: {
            const Marked all = of_lanes(s, s.lanes);
            return give_all([&](uint32_t) { return all; });
        }
        case Transfer::first: {
            const Marked v = mixed(static_cast<uint32_t>(std::countr_zero(s.lanes)));
            return give_all([&](uint32_t) { return v; });
        }
        case Transfer::shuffle: {
            if (doubt_ == Doubt::values) return shuffle(s);
            if (i.shuffle == ~0u) {
                if (doubt_ == Doubt::marks) {
                    const Marked any = of_lanes(s, s.lanes);
                    return give_all([&](uint32_t) { return any; });
                }
                Marked all{~0u, unnamed};
                each_lane(s.lanes, [&](uint32_t lane) {
                    const Marked v = mixed(lane);
                    all.bits &= v.bits;
                    all.origin = v.origin;
                });
                return give_all([&](uint32_t) { return all.bits ? all : Marked{}; });
            }
            return give_all([&](uint32_t lane) {
                const uint32_t mode = i.shuffle & 255, by = i.shuffle >> 8;
                uint32_t from = mode == 0   ? by
                                : mode == 1 ? lane - by
                                : mode == 2 ? lane + by
                                            : lane ^ by;
                if (from > 31) from = lane;
                return s.lanes >> from & 1 ? mixed(from) : Marked{};
            });
        }
        case Transfer::matrix:
            return multiply(s);
        case Transfer::turn:
            return turn(s);
        case Transfer::spread:
            return spread(s);
        case Transfer::pack:
            return pack(s);
        case Transfer::compare:
            return compare(s);
        case Transfer::combine:
            return combine(s);
        case Transfer::mix:
        case Transfer::memory:
            break;
    }
    const bool uniform =
        !i.results.empty() && std::all_of(i.results.begin(), i.results.end(),
                                          [](uint16_t row) { return is_uniform(row); });
    if (uniform) {
        const Marked all = of_lanes(s, s.lanes);
        return give_all([&](uint32_t) { return all; });
    }
    give_all(mixed);
}

}  // namespace follow
