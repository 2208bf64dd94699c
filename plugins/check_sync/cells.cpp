// SPDX-License-Identifier: Apache-2.0
// An access meets the cells of shadow memory: which cells, who was there before, and its own mark.
// What belongs here: that walk, a row of neighbours at a time where they are alike. Whether two
// accesses are in order is in judge.cpp.
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

bool all_are(const uint32_t* words, uint32_t count, uint32_t value) {
    uint32_t other = 0;
    for (uint32_t i = 0; i < count; ++i) other |= words[i] ^ value;
    return !other;
}

// Of asynchronous writes over one another the first that nobody has read is kept: who waited for it
// reads what was filled again, however often.
StampId first_unread(const Block& b, uint32_t cell, StampId writer) {
    return !b.older.empty() && b.older[cell] && !b.readers[cell] ? b.older[cell] : writer;
}

}  // namespace

// Lanes whose accesses are alike but for the place.
void Checker::touch(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes) {
    t.stamp.lanes = lanes;
    t.id = shadow_.stamps.number(t.stamp);
    while (lanes) {
        const sassemu_location& l = at[std::countr_zero(lanes)];
        uint32_t same = lanes;
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const sassemu_location& o = at[std::countr_zero(rest)];
            if (o.space != l.space || o.owner != l.owner) same &= ~(rest & -rest);
        }
        lanes &= ~same;
        if (l.space == SASSEMU_GLOBAL && heap_.second)
            for (uint32_t rest = same; rest; rest &= rest - 1) {
                const uint64_t address = at[std::countr_zero(rest)].address;
                if (address >= heap_.first && address < heap_.second) same &= ~(rest & -rest);
            }
        if (!same || (l.space != SASSEMU_GLOBAL && l.space != SASSEMU_SHARED)) continue;
        t.shared = l.space == SASSEMU_SHARED;
        t.owner = l.owner;
        t.fine_write = nobody;
        t.fine_readers = 0;
        touch_space(t, same, at, bytes);
    }
}

// All in one block of shared memory, or all global.
void Checker::touch_space(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes) {
    if (t.shared) remote(*t.warp, lanes, t.stamp.insn, t.owner);
    Block* block = nullptr;
    const auto find = [&](uint64_t address, uint32_t size) {  // the cell, or block->cells()
        if (t.shared) {
            block = shadow_.shared(t.owner);
            t.base = 0;
            return block ? shadow_.cell(*block, static_cast<uint32_t>(address), size) : 0;
        }
        block = &shadow_.global(address);
        t.base = address / Shadow::page * Shadow::page;
        return shadow_.cell(*block, static_cast<uint32_t>(address - t.base), size);
    };
    // Most warps access one dense stretch: unit k of it is what lanes masks[k] access.
    uint64_t low = ~uint64_t{0}, offset = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        low = std::min(low, at[std::countr_zero(rest)].address);
    LaneMasks masks{};
    bool dense = true;
    const auto size = static_cast<uint32_t>(std::countr_zero(bytes));
    for (uint32_t rest = lanes; rest && dense; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        offset = at[lane].address - low;
        dense = offset >> size < 32 && !(offset & (bytes - 1));
        if (!dense) break;
        uint32_t& mask = masks[offset >> size];
        dense = !mask || !t.write || t.stamp.flags & stamp_atomic;
        mask |= 1u << lane;
    }
    if (!dense) {
        for (uint32_t rest = lanes; rest;) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            uint32_t same = 1u << lane;
            if (!t.write || t.stamp.flags & stamp_atomic)  // neighbours that access the same
                for (uint32_t next = lane + 1;
                     next < 32 && rest >> next & 1 && at[next].address == at[lane].address; ++next)
                    same |= 1u << next;
            rest &= ~same;
            const uint32_t cell = find(at[lane].address, bytes);
            if (block && cell < block->cells())
                touch_cells(t, *block, cell, bytes >> block->shift(), same);
        }
        return;
    }
    for (uint32_t unit = 0; unit < 32; ++unit) {
        if (!masks[unit]) continue;
        uint32_t units = 1;
        const uint64_t address = low + uint64_t{unit} * bytes;
        while (unit + units < 32 && masks[unit + units] &&
               (t.shared || (address + uint64_t{units} * bytes) % Shadow::page))
            ++units;
        const uint32_t cell = find(address, bytes);  // makes the granule fit
        const uint32_t per = block ? bytes >> block->shift() : 0;
        if (block && cell + units * per <= block->cells())
            touch_row(t, *block, cell, units, per, masks.data() + unit);
        unit += units - 1;
    }
}

// Reads that caches need not keep coherent: ld.global.nc and textures. What is written in the same
// launch they may miss.
void Checker::read_only(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes) {
    t.shared = false;
    t.owner = 0;
    for (; lanes; lanes &= lanes - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        if (at[lane].space != SASSEMU_GLOBAL) continue;
        const uint64_t address = at[lane].address;
        Block& block = shadow_.global(address);
        t.base = address / Shadow::page * Shadow::page;
        const uint32_t cell = shadow_.cell(block, static_cast<uint32_t>(address - t.base), bytes);
        for (uint32_t i = cell; i < std::min(cell + (bytes >> block.shift()), block.cells()); ++i) {
            if (block.write[i] <= settled) continue;
            Stamp writer = shadow_.stamps[block.write[i]];
            // By another launch: an access as any other.
            const bool earlier =
                run_ && writer.who < first_mbarrier && writer.who / 4 < run_->first_name;
            if (earlier || from_other_grid(writer)) continue;
            writer.lanes = 1u << block.writer[i];
            t.lane = lane;
            t.bytes = block.granule();
            t.address = t.base + (uint64_t{i} << block.shift());
            found(FindingKind::read_only_data, true, writer, true, t);
            break;
        }
    }
}

// Neighbouring cells, `per` of them for each mask of lanes. Where all of them have the same history
// it is looked at once.
void Checker::touch_row(Touch& t, Block& b, uint32_t first, uint32_t units, uint32_t per,
                        const uint32_t* masks) {
    const uint32_t count = units * per;
    const StampId writer = b.write[first];
    const uint32_t readers = b.readers[first];
    const auto cell_by_cell = [&] {
        for (uint32_t k = 0; k < units; ++k) touch_cells(t, b, first + k * per, per, masks[k]);
    };
    if (t.stamp.flags & (stamp_atomic | stamp_async) || readers & own_list ||
        !all_are(&b.write[first], count, writer) || !all_are(&b.readers[first], count, readers))
        return cell_by_cell();
    // Those that were not let in by their number may be the lanes' own.
    const auto own = [&](StampId id, auto&& lanes_of) {
        if (shadow_.stamps[id].who != t.stamp.who) return false;
        uint32_t other = 0;
        for (uint32_t k = 0, i = first; k < units; ++k)
            for (uint32_t n = 0; n < per; ++n, ++i) other |= lanes_of(i) ^ masks[k];
        return !other;
    };
    if (!own(writer, [&](uint32_t i) { return 1u << b.writer[i]; }) && !passes(writer, true, t))
        return cell_by_cell();
    const Readers& set = shadow_.set(readers);
    if (t.write) {
        for (uint32_t p = 0; p < set.count; ++p) {
            const uint32_t* lanes = b.lanes(p);
            if (!own(set.of[p], [&](uint32_t i) { return lanes[i]; }) &&
                !passes(set.of[p], false, t))
                return cell_by_cell();
        }
        std::fill_n(&b.write[first], count, t.id);
        std::fill_n(&b.readers[first], count, 0);
        if (!b.older.empty()) std::fill_n(&b.older[first], count, nobody);
        for (uint32_t k = 0, i = first; k < units; ++k)
            for (uint32_t n = 0; n < per; ++n, ++i)
                b.writer[i] = static_cast<uint8_t>(std::countr_zero(masks[k]));
        return;
    }
    // As add_reader, for all of them.
    uint32_t place = set.count;
    bool more = false;
    for (uint32_t p = 0; p < set.count && place == set.count; ++p) {
        const Stamp& s = shadow_.stamps[set.of[p]];
        if (s.who != t.stamp.who || s.flags != t.stamp.flags) continue;
        place = p;
        more = s.epoch == t.stamp.epoch && !(t.stamp.lanes & ~s.lanes);
    }
    if (place == Readers::most) return cell_by_cell();
    uint32_t* lanes = b.lanes(place);
    if (!more && place < set.count) {
        uint32_t others = 0;
        for (uint32_t k = 0, i = first; k < units; ++k)
            for (uint32_t n = 0; n < per; ++n, ++i) others |= lanes[i] & ~masks[k];
        if (others) return cell_by_cell();
    }
    for (uint32_t k = 0, i = first; k < units; ++k)
        for (uint32_t n = 0; n < per; ++n, ++i) lanes[i] = more ? lanes[i] | masks[k] : masks[k];
    if (!more) std::fill_n(&b.readers[first], count, shadow_.changed(readers, t.id, place));
}

// Cells that `lanes` touch together.
void Checker::touch_cells(Touch& t, Block& b, uint32_t first, uint32_t count, uint32_t lanes) {
    if (t.stamp.flags & stamp_atomic) {
        for (uint32_t i = first; i < first + count; ++i) visit(t, b, i, lanes);
        return;
    }
    const bool async = t.stamp.flags & stamp_async;
    for (uint32_t i = first; i < first + count; ++i) {
        const StampId writer = b.write[i];
        const uint32_t readers = b.readers[i];
        const bool fine =
            (writer == t.fine_write && writer) ||
            (!async && shadow_.stamps[writer].who == t.stamp.who && lanes == 1u << b.writer[i]) ||
            passes(writer, true, t);
        if (!fine || readers & own_list) {
            visit(t, b, i, lanes);
        } else if (!t.write) {
            add_reader(t, b, i, lanes);
        } else if (readers == t.fine_readers || readers_pass(b, i, lanes, t)) {
            b.keep_older(i, async && shadow_.stamps[writer].flags & stamp_async
                                ? first_unread(b, i, writer)
                                : nobody);
            b.write[i] = t.id;
            b.writer[i] = static_cast<uint8_t>(std::countr_zero(lanes));
            b.readers[i] = 0;
        } else {
            visit(t, b, i, lanes);
        }
    }
}

bool Checker::readers_pass(const Block& b, uint32_t cell, uint32_t lanes, Touch& t) {
    const uint32_t readers = b.readers[cell];
    const Readers& set = shadow_.set(readers);
    bool whole = true;
    for (uint32_t p = 0; p < set.count; ++p) {
        const bool own = !(t.stamp.flags & stamp_async) &&
                         shadow_.stamps[set.of[p]].who == t.stamp.who &&
                         b.lanes_of(p, cell) == lanes;
        whole &= !own;
        if (!own && !passes(set.of[p], false, t)) return false;
    }
    if (whole) t.fine_readers = readers;
    return true;
}

void Checker::add_reader(Touch& t, Block& b, uint32_t cell, uint32_t lanes) {
    uint32_t& readers = b.readers[cell];
    if (readers & own_list) return list_reader(t, b, cell, lanes);
    const Readers& set = shadow_.set(readers);
    uint32_t place = 0;
    for (; place < set.count; ++place) {
        const Stamp& s = shadow_.stamps[set.of[place]];
        if (s.who != t.stamp.who || s.flags != t.stamp.flags) continue;
        uint32_t& were = b.lanes(place)[cell];
        if (s.epoch == t.stamp.epoch && !(lanes & ~s.lanes)) {
            were |= lanes;
            return;
        }
        if (!(were & ~lanes)) break;  // takes the place of an earlier one of its own
    }
    if (place == Readers::most) return list_reader(t, b, cell, lanes);
    readers = shadow_.changed(readers, t.id, place);
    b.lanes(place)[cell] = lanes;
}

void Checker::list_reader(Touch& t, Block& b, uint32_t cell, uint32_t lanes) {
    Stamp now = t.stamp;
    now.lanes = lanes;
    std::vector<Stamp>& list = shadow_.list(b, cell);
    for (Stamp& s : list) {
        if (s.who != now.who || (s.flags ^ now.flags) & stamp_atomic) continue;
        if (s.epoch == now.epoch && s.insn == now.insn) {
            s.lanes |= lanes;
            return;
        }
        if (s.lanes & ~lanes) continue;
        s = now;
        return;
    }
    if (list.size() >= Shadow::most_listed) list.erase(list.begin());
    list.push_back(now);
}

// Bytes that are read, and that nobody has written. The value of a load is followed, and has been
// read where it decides something; that is all of it otherwise, and true: it counts as written from
// here on. If somebody writes bytes of shared memory later, the two are in the wrong order; if
// nobody ever does, check-mem can tell whether what they decide matters.
bool Checker::read_unwritten(Touch& t, uint32_t lanes) {
    if (is_trial_) return true;
    const uint32_t insn = t.stamp.insn;
    if (!is_followed(t)) {
        t.lane = static_cast<uint32_t>(std::countr_zero(lanes));
        found(FindingKind::uninitialised_read, !t.shared, {}, false, t);
        if (t.shared) unwritten_[t.owner].emplace(static_cast<uint32_t>(t.address), insn);
        return true;
    }
    const uint64_t place = t.shared ? ~t.owner << 32 | t.address : t.address;
    const auto [at, fresh] = origins_.try_emplace({t.warp->place.cta, place, insn},
                                                  static_cast<Origin>(unwritten_loads_.size()));
    if (fresh) {
        UnwrittenLoad load{t.access->warp, t.stamp,  t.owner, t.address,
                           t.bytes,        t.shared, false,   {}};
        load.stamp.lanes = lanes;
        value_at(
            {t.shared, false, t.owner, t.address, t.address + std::min(t.bytes, 4u), {}, 0, {}},
            load.value);
        unwritten_loads_.push_back(std::move(load));
    }
    for (; lanes; lanes &= lanes - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        const uint64_t first = host.locations(t.access)[lane].address;
        undefined_->loads(*t.access, lane, static_cast<uint32_t>(t.address - first), t.bytes,
                          at->second);
    }
    return false;
}

// A byte of a CTA's shared memory.
bool Checker::is_written(sassemu_cta c, uint32_t address) {
    const Block* const b = shadow_.shared(numbered(c).linear);
    const uint32_t cell = b ? address >> b->shift() : 0;
    return b && cell < b->cells() && b->write[cell] != nobody;
}

// An ordinary load into registers.
bool Checker::is_followed(const Touch& t) const {
    const sassemu_access* const a = t.access;
    constexpr int32_t widest = 16;  // of one that is one access
    return a && a->op == SASSEMU_LOAD && !t.copy && a->proxy != SASSEMU_VIA_TEXTURE &&
           a->proxy != SASSEMU_VIA_SURFACE && effect(a->insn).bytes <= widest;
}

void Checker::used_unwritten(Origin from, sassemu_insn insn, const char* what) {
    UnwrittenLoad& load = unwritten_loads_[from];
    if (std::exchange(load.used, true)) return;
    Touch t{};
    t.warp = &warp_of(load.warp);
    t.stamp = load.stamp;
    t.shared = load.shared;
    t.owner = load.owner;
    t.address = load.address;
    t.bytes = load.bytes;
    t.lane = static_cast<uint32_t>(std::countr_zero(load.stamp.lanes));
    found(FindingKind::uninitialised_read, !load.shared, {}, false, t);
    const uint32_t number = load.stamp.insn;
    Finding& f = findings_[{FindingKind::uninitialised_read, !load.shared, 0, number}];
    if (f.count == 1) {
        f.second.before = f.second.after = load.value;
        f.used = meanings_.number(insn);
        f.used_for = what;
    }
    if (load.shared) unwritten_[load.owner].emplace(static_cast<uint32_t>(load.address), number);
}

void Checker::look_at_unwritten(uint64_t owner) {
    const auto here = unwritten_.find(owner);
    if (here == unwritten_.end()) return;
    Block* const block = shadow_.shared(owner);
    for (const auto& [address, insn] : here->second) {
        const uint32_t cell = block ? shadow_.cell(*block, address, 1) : 0;
        if (!block || cell == block->cells() || block->write[cell] <= settled) continue;
        const auto at = findings_.find({FindingKind::uninitialised_read, false, 0, insn});
        if (at == findings_.end()) continue;
        Finding f = std::move(at->second);
        findings_.erase(at);
        f.common = true;
        Finding& known = findings_[{FindingKind::uninitialised_read, true, 0, insn}];
        if (known.count) f.count += known.count;
        known = std::move(f);
    }
    unwritten_.erase(here);
}

// What is not plain: each of those who were there before is looked at.
void Checker::visit(Touch& t, Block& b, uint32_t cell, uint32_t lanes) {
    const bool changes = t.stamp.flags & stamp_atomic, async = t.stamp.flags & stamp_async;
    t.bytes = b.granule();
    t.address = t.base + (uint64_t{cell} << b.shift());
    if (!async) t.lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if (b.write[cell] == nobody && (!t.write || changes)) {
        bool told = true;
        if (t.tensor)
            found(FindingKind::uninitialised_read, true, {}, false, t);
        else if (!async && (t.shared || !shadow_.initialised(t.address, t.bytes)))
            told = read_unwritten(t, lanes);
        if (told) b.write[cell] = settled;
    }
    const auto exactly = [&](StampId id, uint32_t of) {
        Stamp s = shadow_.stamps[id];
        s.lanes = of;
        return s;
    };
    const auto own = [&](const Stamp& s) {
        if (async) return false;
        if (s.who == t.stamp.who && s.lanes == lanes && std::has_single_bit(lanes)) return true;
        // Atomics that reach everybody do not race, and nothing more is asked of them.
        const bool far = s.who < first_mbarrier && names_[s.who / 4].gpu != t.warp->place.gpu;
        const uint32_t everybody = stamp_strong | uint32_t{far ? sys : gpu} * stamp_reach;
        const uint32_t both = s.flags & t.stamp.flags;
        const uint32_t either = s.flags | t.stamp.flags;
        return ((both & everybody) == everybody && either & stamp_atomic &&
                !(either & stamp_plain)) ||
               (knows(s, t) && !sent_only(s, t));
    };
    const StampId writer = b.write[cell];
    t.before = writer > settled ? exactly(writer, 1u << b.writer[cell]) : Stamp{};
    t.older = !b.older.empty() && b.older[cell] ? shadow_.stamps[b.older[cell]] : Stamp{};
    if (t.before.who && !own(t.before)) judge(t.before, true, lanes, t);
    const uint32_t readers = b.readers[cell];
    if (readers & own_list) {
        for (const Stamp& s : shadow_.list(b, cell))
            if ((t.write || s.flags & stamp_atomic) && !own(s))
                judge(s, s.flags & stamp_atomic, lanes, t);
    } else if (t.write) {
        const Readers& set = shadow_.set(readers);
        for (uint32_t p = 0; p < set.count; ++p)
            if (const Stamp s = exactly(set.of[p], b.lanes_of(p, cell)); !own(s))
                judge(s, false, lanes, t);
    }
    if (t.write && !changes) {
        b.keep_older(cell, t.before.flags & t.stamp.flags & stamp_async
                               ? first_unread(b, cell, writer)
                               : nobody);
        b.write[cell] = t.id;
        b.writer[cell] = static_cast<uint8_t>(std::countr_zero(lanes));
        shadow_.clear_readers(b, cell);
    } else if (changes) {
        list_reader(t, b, cell, lanes);
    } else {
        add_reader(t, b, cell, lanes);
    }
}

}  // namespace check_sync
