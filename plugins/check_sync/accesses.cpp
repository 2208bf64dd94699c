// SPDX-License-Identifier: Apache-2.0
// Accesses to data by warps, and words that threads synchronise through. How they are looked at
// byte by byte is in cells.cpp and judge.cpp.
#include <bit>

#include "checker.hpp"

namespace check_sync {

void Checker::access_issue(const sassemu_access& a) {
    if (trial_) trial_->access_issue(a);
    if (a.op == SASSEMU_PREFETCH || a.flags & SASSEMU_ACCESS_ASYNC_AGENT ||
        (a.space == SASSEMU_SURFACE && !surfaces_))
        return;
    Warp& w = warp_of(a.warp);
    const sassemu_location* at = located(a);
    if (!at) return;
    // What the system keeps is no data. Cooperative groups have their barriers there.
    const sassemu_location& one = at[std::countr_zero(a.lanes)];
    const bool of_system =
        one.space == SASSEMU_SHARED && (one.address < system_shared_ || one.address >= own_shared_);
    running(w, a.warp);
    if (w.guarded) guarded(w, a.lanes, false);
    const bool after_fence = std::exchange(w.membar, 0);
    const uint32_t insn = meanings_.number(a.insn);
    const Meaning& m = meanings_[insn];
    allocates_pair(w, a.lanes, m);
    // What tcgen05.alloc has the compiler read is its own; it writes the word that it gives.
    if (a.op == SASSEMU_LOAD && m.says("tcgen05.alloc")) return;
    const bool changes = a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE;
    const bool writes = changes || a.op == SASSEMU_STORE, reads = a.op != SASSEMU_STORE;
    const bool copy = a.flags & SASSEMU_ACCESS_LDGSTS;
    uint32_t ordering = a.ordering, scope = a.scope;
    if (m.is(SASSEMU_INTENT_ACCESS)) {
        ordering = m.intent.ordering;
        scope = m.intent.scope;
    }
    const bool maybe_counters = !copy && (!counters_.empty() || m.is(SASSEMU_INTENT_MBARRIER));
    const uint32_t lanes = maybe_counters ? a.lanes & ~use_counters(w, a, insn, at) : a.lanes;
    if (!lanes) return;
    bool is_strong = !copy && (changes || ordering != SASSEMU_WEAK);
    // Words for shared memory do not say that they are strong. Without the text: a store right
    // behind a fence is meant to release, and a word that was stored so is read as a flag.
    const bool guess = !m.known && !copy && !is_strong;
    if (m.in_loop_of_atomic && guess) is_strong = true;
    // Words for global memory do; there it is a plain one.
    uint32_t plain = 0;
    if (guess && after_fence && a.op == SASSEMU_STORE) {
        is_strong = true;
        if (at[__builtin_ctz(a.lanes)].space != SASSEMU_SHARED) plain = stamp_plain;
    }
    const Reach reach =
        scope == SASSEMU_LEVEL_NONE || ordering == SASSEMU_VOLATILE ? sys : reach_of(scope);
    shadow_.collect();
    if (!copy) w.used = true;
    Touch t{};
    t.warp = &w;
    t.write = writes;
    t.by_letter = m.known;
    t.access = &a;
    t.copy = copy ? w.copy : nullptr;
    t.stamp.insn = insn;
    t.stamp.who = copy ? w.copying() : w.threads();
    t.stamp.epoch = w.epoch;
    if (a.op == SASSEMU_LOAD &&
        (a.proxy == SASSEMU_VIA_TEXTURE || a.proxy == SASSEMU_VIA_SURFACE)) {
        t.group = &w.groups.front();
        if (a.space == SASSEMU_TEXTURE) t.stamp.insn = w.texture;  // a texel of it
        read_only(t, a.lanes, at, a.bytes);
        if (a.space != SASSEMU_GLOBAL && a.space != SASSEMU_GENERIC) return;
    }
    const uint32_t how = (changes ? stamp_atomic : 0u) | plain | uint32_t{reach} * stamp_reach;
    const bool may_be_flag = guess && !is_strong && a.op == SASSEMU_LOAD && !flags_[1].empty();
    for (Group& g : w.groups) {
        t.group = &g;
        for (uint32_t left = of_system ? 0 : lanes & g.lanes; left;) {
            uint32_t alike = left;
            t.stamp.flags = how | (is_strong ? stamp_strong : 0u);
            if (copy) {  // each lane counts its own
                const auto& groups = w.copies[SASSEMU_GROUP_LDGSTS];
                const uint32_t first = groups[std::countr_zero(left)];
                for (uint32_t rest = left; rest; rest &= rest - 1)
                    if (groups[std::countr_zero(rest)] != first) alike &= ~(rest & -rest);
                t.stamp.epoch = first + 1;
            } else if (may_be_flag) {
                const auto is_flag = [&](uint32_t rest) {
                    const sassemu_location& l = at[std::countr_zero(rest)];
                    return l.space == SASSEMU_SHARED &&
                           flags_[1].contains(uint64_t{l.owner} << 32 | l.address);
                };
                const bool first = is_flag(left);
                for (uint32_t rest = left; rest; rest &= rest - 1)
                    if (is_flag(rest) != first) alike &= ~(rest & -rest);
                if (first) t.stamp.flags |= stamp_strong;
            }
            left &= ~alike;
            if (is_strong || !m.dropped || a.bytes < 8) {
                touch(t, alike, at, a.bytes);
                continue;
            }
            sassemu_location words[32];
            for (uint32_t word = 0; word < a.bytes / 4; ++word) {
                if (m.dropped >> word & 1) continue;
                for (uint32_t rest = alike; rest; rest &= rest - 1) {
                    const int lane = std::countr_zero(rest);
                    words[lane] = at[lane];
                    words[lane].address += 4 * word;
                }
                touch(t, alike, words, 4);
            }
        }
    }
    synchronise(w, a, insn, at, lanes, reads, writes && is_strong);
}

// Words that threads synchronise through.
void Checker::synchronise(Warp& w, const sassemu_access& a, uint32_t insn,
                          const sassemu_location* at, uint32_t all, bool reads, bool writes) {
    const Meaning& m = meanings_[insn];
    const bool strong_access =
        writes || a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE ||
        (m.is(SASSEMU_INTENT_ACCESS) ? m.intent.ordering : a.ordering) != SASSEMU_WEAK;
    if (!strong_access && flags_[0].empty() && flags_[1].empty()) return;
    if (a.flags & SASSEMU_ACCESS_LDGSTS) return;
    const auto key_of = [](const sassemu_location& l) {
        return l.space == SASSEMU_SHARED ? uint64_t{l.owner} << 32 | l.address : l.address;
    };
    if (!strong_access) {
        bool maybe = false;
        for (uint32_t lanes = all; lanes && !maybe; lanes &= lanes - 1) {
            const sassemu_location& l = at[std::countr_zero(lanes)];
            uint64_t bit = 0;
            for (uint32_t word = 0; word < a.bytes && !maybe; word += 4)
                maybe = flag_bit(l.space == SASSEMU_SHARED, key_of(l) + word, bit) & bit;
        }
        if (!maybe) return;
    }
    bool released = false;
    for (uint32_t left = all; left;) {
        const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(left));
        const sassemu_location& l = at[lane];
        uint32_t same = 0;
        for (uint32_t lanes = left; lanes; lanes &= lanes - 1) {
            const uint32_t k = static_cast<uint32_t>(__builtin_ctz(lanes));
            if (at[k].address == l.address && at[k].space == l.space && at[k].owner == l.owner)
                same |= 1u << k;
        }
        left &= ~same;
        if (m.is(SASSEMU_INTENT_ACCESS))
            for (uint32_t makes = same; makes; makes &= makes - 1)
                if (const Warp::Counted& c = w.counted[std::countr_zero(makes)];
                    c.line == m.intent.ptx_line)
                    same |= c.lanes;
        const bool shared = l.space == SASSEMU_SHARED;
        if (strong_access && reads && a.op != SASSEMU_REDUCE) order_.strong_load(w, key_of(l));
        if (strong_access && writes) order_.strong_store(w, key_of(l));
        for (uint32_t word = 0; word < a.bytes; word += 4) {  // others may access a part of it
            const uint64_t key = key_of(l) + word;
            auto flag = flags_[shared].find(key);
            if (flag == flags_[shared].end()) {
                if (!writes) continue;
                flag = flags_[shared].try_emplace(key).first;
                uint64_t bit = 0;
                uint64_t& bits = flag_bit(shared, key, bit);
                bits |= bit;
            }
            if (strong_access || (shared && !m.known)) {
                if (nvshmem_ && reads && !shared) arrived(flag->second.channel, key);
                released |= use_flag(flag->second, w, a, insn, same, shared, reads, writes);
            } else if (a.op == SASSEMU_STORE)
                flags_[shared].erase(flag);
        }
    }
    if (released) order_.next(w);
}

// Lanes that access the same word. Whether it was released.
bool Checker::use_flag(Flag& f, Warp& w, const sassemu_access& a, uint32_t insn, uint32_t lanes,
                       bool shared, bool reads, bool writes) {
    const Meaning& m = meanings_[insn];
    uint32_t scope = a.scope;
    if (scope == SASSEMU_LEVEL_NONE || a.ordering == SASSEMU_VOLATILE) scope = SASSEMU_LEVEL_SYS;
    const bool changes = a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE;
    const Acquire how = m.acquire(scope);
    if (reads && a.op != SASSEMU_REDUCE) {
        uint32_t& readers = f.lanes_of(w.id, how);
        if (changes || (readers & lanes) != lanes) {
            order_.acquire(w, lanes, how, f.channel, insn);
            if (!shared && !f.gathered.empty()) {
                View& seen = gathered_[w.place.cta].seen;
                seen = View::joined(seen, f.gathered);
            }
        }
        readers |= lanes;
    }
    if (!writes && a.op == SASSEMU_LOAD) return false;
    if (!changes) f.channel.clear(), f.gathered = {};
    f.readers.clear();
    if (changes && a.op != SASSEMU_REDUCE) f.lanes_of(w.id, how) = lanes;
    if (!shared) {
        f.gathered = View::joined(f.gathered, done_in(w));
        f.gathered = View::joined(f.gathered, gathered_[w.place.cta].seen);
    }
    order_.release(w, lanes, m.release(scope), insn, f.channel);
    return true;
}

// What all threads of the warp's CTA have done.
const View& Checker::done_in(const Warp& w) {
    Gathered& g = gathered_[w.place.cta];
    const sassemu_cta cta = ctas_.at(w.place.cta);
    const uint32_t warps = info(cta).warps;
    uint64_t when = 0;
    for (uint32_t k = 0; k < warps; ++k) when += warp_of(host.cta_warp(cta, k)).done();
    if (when == std::exchange(g.when, when)) return g.done;
    std::vector<Entry> all;
    for (uint32_t k = 0; k < warps; ++k) {
        const Warp& one = warp_of(host.cta_warp(cta, k));
        all.push_back({one.threads(), ~0u, one.done()});
    }
    return g.done = View(std::move(all));
}

// A tensor map that threads have written is read through a proxy of its own: fence.proxy.tensormap
// must have acquired it.
void Checker::read_map(Warp& w, uint32_t lanes, uint32_t insn, const sassemu_location& at,
                       uint64_t bytes) {
    if (at.space != SASSEMU_GLOBAL || !lanes || !bytes) return;
    Touch t{};
    t.warp = &w;
    for (Group& g : w.groups)
        if (g.lanes & lanes & -lanes) t.group = &g;
    t.lane = static_cast<uint32_t>(std::countr_zero(lanes));
    t.stamp = {w.threads(), 1u << t.lane, w.epoch, insn & 0xffffff, stamp_async};
    t.bytes = 4;
    for (t.address = at.address; t.address < at.address + bytes; t.address += 4) {
        Block& block = shadow_.global(t.address);
        const uint32_t cell =
            shadow_.cell(block, static_cast<uint32_t>(t.address % Shadow::page), 4);
        if (cell == block.cells()) continue;
        // tensormap.cp_fenceproxy exchanges the words, and so releases them by itself.
        if (t.group && block.readers[cell] & own_list)
            for (const Stamp& s : shadow_.lists[block.readers[cell] & ~own_list])
                if (s.flags & stamp_atomic && !t.group->before_maps.covers(s.who, s.lanes, s.epoch))
                    return found(FindingKind::missing_map_fence, true, s, true, t);
        if (block.write[cell] <= settled) continue;
        Stamp writer = shadow_.stamps[block.write[cell]];
        writer.lanes = 1u << block.writer[cell];
        if (!t.group || t.group->maps.covers(writer.who, writer.lanes, writer.epoch)) continue;
        found(FindingKind::missing_map_fence, true, writer, true, t);
        return;
    }
}

}  // namespace check_sync
