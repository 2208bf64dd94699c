// Accesses to data: every byte against those who touched it before.
#include "checker.hpp"

namespace check_sync {

namespace {

Reach reach_in(const Stamp& s) { return static_cast<Reach>(s.flags / stamp_reach); }

}  // namespace

void Checker::access_issue(const sassemu_access& a) {
    if (a.op == SASSEMU_PREFETCH || a.flags & SASSEMU_ACCESS_ASYNC_AGENT) return;
    const sassemu_location* at = host.locations(&a);
    if (!at) return;
    Warp& w = warp_of(a.warp);
    running(w, a.warp);
    const bool after_fence = membar_.erase(w.id);
    const uint32_t insn = meanings_.number(a.insn);
    const Meaning& m = meanings_[insn];
    const bool changes = a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE;
    const bool writes = changes || a.op == SASSEMU_STORE, reads = a.op != SASSEMU_STORE;
    const bool copy = a.flags & SASSEMU_ACCESS_LDGSTS;
    uint32_t ordering = a.ordering, scope = a.scope;
    if (m.is(SASSEMU_INTENT_ACCESS)) {
        ordering = m.intent.ordering;
        scope = m.intent.scope;
    }
    bool is_strong = !copy && (changes || ordering != SASSEMU_WEAK);
    // Words for shared memory do not say that they are strong. Without the text: a store right behind a fence is meant to
    // release, and a word that was stored so is read as a flag.
    const bool guess = !m.known && !copy && !is_strong;
    if (m.in_loop_of_atomic && guess) is_strong = true;
    if (guess && after_fence && a.op == SASSEMU_STORE && at[__builtin_ctz(a.lanes)].space == SASSEMU_SHARED) is_strong = true;
    const Reach reach = scope == SASSEMU_LEVEL_NONE || ordering == SASSEMU_VOLATILE ? gpu : reach_of(scope);
    Touch t{};
    t.warp = &w;
    t.write = writes;
    t.access = &a;
    t.stamp.insn = insn;
    t.stamp.flags = (is_strong ? stamp_strong : 0u) | (changes ? stamp_atomic : 0u) | uint32_t{reach} * stamp_reach;
    t.bytes = a.bytes;
    Entry known[known_entries];
    t.known = known;
    for (Group& g : w.groups) {
        t.group = &g;
        for (Entry& k : known) k = {};
        for (uint32_t lanes = a.lanes & g.lanes; lanes; lanes &= lanes - 1) {
            const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(lanes));
            const sassemu_location& l = at[lane];
            if (l.space != SASSEMU_GLOBAL && l.space != SASSEMU_SHARED) continue;
            if (l.space == SASSEMU_GLOBAL && l.address >= heap_.first && l.address < heap_.second) continue;
            t.lane = lane;
            t.shared = l.space == SASSEMU_SHARED;
            t.owner = l.owner;
            t.address = l.address;
            t.stamp.who = copy ? w.copying() : w.threads();
            t.stamp.lanes = 1u << lane;
            t.stamp.epoch = copy ? w.copies[SASSEMU_GROUP_LDGSTS][lane] + 1 : w.epoch;
            if (guess && !is_strong && t.shared && a.op == SASSEMU_LOAD && !flags_[1].empty()) {
                const bool flag = flags_[1].contains(t.owner << 32 | t.address);
                t.stamp.flags = (flag ? stamp_strong : 0u) | uint32_t{reach} * stamp_reach;
            }
            Block* block = t.shared ? shadow_.shared(l.owner) : &shadow_.global(l.address);
            if (!block) continue;
            const uint32_t offset = t.shared ? static_cast<uint32_t>(l.address) : l.address % Shadow::page;
            Cell* cells = block->at(offset, a.bytes, shadow_.lists);
            if (cells) touch(cells, a.bytes / block->granule(), block->granule(), t);
        }
    }
    synchronise(w, a, insn, at, reads, writes && is_strong);
}

void Checker::touch(Cell* cells, uint32_t count, uint32_t granule, Touch& t) {
    t.bytes = granule;
    for (uint32_t i = 0; i < count; ++i, t.address += granule) {
        Cell& c = cells[i];
        // What is most frequent: the bytes are known to be in order, and their reader has them already.
        const bool plain = c.initialised && !c.more && !(t.stamp.flags & (stamp_atomic | stamp_async | stamp_strong)) &&
                           (!c.write.who || is_known(c.write, t));
        if (plain && !t.write && (!c.read.who || (c.read.who == t.stamp.who && c.read.epoch == t.stamp.epoch))) {
            if (c.read.who) c.read.lanes |= t.stamp.lanes;
            else c.read = t.stamp;
            continue;
        }
        if (plain && t.write && (!c.read.who || is_known(c.read, t))) {
            c.older = {};
            c.write = t.stamp;
            c.read = {};
            continue;
        }
        visit(c, t);
    }
}

// Known to be in order, by a look at what this instruction has asked before.
bool Checker::is_known(const Stamp& s, const Touch& t) const {
    if (s.who == t.stamp.who && s.lanes == t.stamp.lanes) return true;
    const Entry& k = t.known[slot(s.who)];
    return k.who == s.who && s.epoch <= k.epoch && !(s.lanes & ~k.lanes);
}

void Checker::visit(Cell& cell, const Touch& t) {
    if (!cell.initialised) {
        if (t.write && !(t.stamp.flags & stamp_atomic)) {
            cell.initialised = true;
        } else if (!(t.stamp.flags & stamp_async) && (t.shared || !shadow_.initialised(t.address, t.bytes))) {
            found(Kind::uninitialised_read, true, {}, false, t);
            cell.initialised = true;
        } else {
            cell.initialised = true;
        }
    }
    const auto own = [&](const Stamp& s) {
        if (t.stamp.flags & stamp_async) return false;
        if (is_known(s, t)) return true;
        // Atomics that reach everybody do not race, and nothing more is asked of them.
        constexpr uint32_t everybody = stamp_strong | uint32_t{gpu} * stamp_reach;
        const uint32_t both = s.flags & t.stamp.flags;
        return (both & everybody) == everybody && (s.flags | t.stamp.flags) & stamp_atomic;
    };
    if (cell.write.who && !own(cell.write)) judge(cell.write, true, t, cell);
    const bool changes = t.stamp.flags & stamp_atomic;
    if (t.write && cell.read.who && !own(cell.read)) judge(cell.read, false, t, cell);
    if (cell.more) {
        std::vector<Stamp>& list = shadow_.lists[cell.more - 1];
        for (const Stamp& s : list)
            if ((t.write || s.flags & stamp_atomic) && !own(s)) judge(s, s.flags & stamp_atomic, t, cell);
        if (t.write && !changes) list.clear();
    }
    if (t.write && !changes) {
        cell.older = cell.write.flags & t.stamp.flags & stamp_async ? cell.write : Stamp{};
        cell.write = t.stamp;
        cell.read = {};
        return;
    }
    const auto again = [&](Stamp& s) {  // takes the place of an earlier one of its own
        if (s.who != t.stamp.who || (s.flags & stamp_atomic) != (t.stamp.flags & stamp_atomic)) return false;
        if (s.epoch == t.stamp.epoch && s.insn == t.stamp.insn) {
            s.lanes |= t.stamp.lanes;
            return true;
        }
        if (s.lanes & ~t.stamp.lanes) return false;
        s = t.stamp;
        return true;
    };
    if (!changes) {
        if (!cell.read.who) {
            cell.read = t.stamp;
            return;
        }
        if (again(cell.read)) return;
    }
    if (!cell.more) {
        shadow_.lists.emplace_back();
        cell.more = static_cast<uint32_t>(shadow_.lists.size());
    }
    std::vector<Stamp>& list = shadow_.lists[cell.more - 1];
    for (Stamp& s : list)
        if (again(s)) return;
    if (list.size() >= Shadow::most_reads) list.erase(list.begin());
    list.push_back(t.stamp);
}

// `earlier` and this touch meet in a byte, and one of them writes it.
void Checker::judge(const Stamp& earlier, bool earlier_writes, const Touch& t, const Cell& cell) {
    const Group& g = *t.group;
    const Warp& w = *t.warp;
    const bool by_copy = t.stamp.flags & stamp_async, was_copy = earlier.flags & stamp_async;
    const View& proper = g.now[t.shared ? for_shared : for_global];
    Entry* known = t.known ? &t.known[slot(earlier.who)] : nullptr;
    bool common = known && known->who == earlier.who && earlier.epoch <= known->epoch && !(earlier.lanes & ~known->lanes);
    bool letter = common;
    if (!common) {
        const Entry* by = proper.find(earlier.who, earlier.lanes, earlier.epoch);
        common = by || proper.covers(earlier.who, earlier.lanes, earlier.epoch);
        letter = common && (g.now[by_letter].same(proper) || g.now[by_letter].covers(earlier.who, earlier.lanes, earlier.epoch));
        const Entry* other = by && known ? g.now[by_letter].find(earlier.who, earlier.lanes, earlier.epoch) : nullptr;
        if (by && other) *known = {by->who, by->lanes & other->lanes, std::min(by->epoch, other->epoch)};
    }
    const bool same_warp = earlier.who == w.threads();
    if (same_warp && by_copy) {
        const uint32_t others = earlier.lanes & ~(1u << t.lane);  // its own are in program order
        if (!others || proper.covers(earlier.who, others, earlier.epoch)) common = letter = true;
    }
    if (same_warp && !common) {  // lanes that run together are in order
        bool together = true;
        for (uint32_t lanes = earlier.lanes & ~t.stamp.lanes; lanes; lanes &= lanes - 1)
            together &= w.classes[__builtin_ctz(lanes)] == w.classes[t.lane];
        common = together;
    }
    if (same_warp && !letter) {
        const uint32_t others = earlier.lanes & ~(1u << t.lane);
        letter = !others || g.now[by_letter].covers(earlier.who, others, earlier.epoch);
    }
    if (!meanings_[t.stamp.insn].known) letter = common;
    if ((!common || !letter) && earlier.flags & stamp_strong && earlier_writes && !flags_[t.shared].empty()) {
        // What a thread has read strongly comes before what it does to the same word.
        const auto flag = flags_[t.shared].find(t.shared ? t.owner << 32 | t.address : t.address);
        if (flag != flags_[t.shared].end() && flag->second.has_read(w.id, t.lane)) return;
    }
    if (earlier.flags & t.stamp.flags & stamp_atomic && (by_copy || was_copy)) return;  // red.async among themselves
    const bool strong_pair = earlier.flags & stamp_strong && t.stamp.flags & stamp_strong;
    if (strong_pair && !by_copy && !was_copy) {
        if (common && letter) return;
        const ThreadName& name = names_[earlier.who / 4];
        const Reach far = w.place.apart({name.cta, name.cluster});
        if (reach_in(earlier) < far || reach_in(t.stamp) < far) {
            found(Kind::scope_too_narrow, true, earlier, earlier_writes, t);
            return;
        }
        // No race. But if its write was seen to be executed before, by way of other words, order was wanted.
        if (!earlier_writes || t.write || earlier.flags & stamp_atomic || common) return;
        if (!g.now[executed].covers(earlier.who, earlier.lanes, earlier.epoch)) return;
        found(why(earlier, earlier_writes, t, cell), true, earlier, earlier_writes, t);
        return;
    }
    if (!common || !letter) {
        found(why(earlier, earlier_writes, t, cell), !common, earlier, earlier_writes, t);
        return;
    }
    if (!by_copy || was_copy || t.stamp.flags & stamp_generic) return;
    // In order among threads. The async proxy needs to be shown what the generic one did.
    const Component who = in_space(earlier.who, t.shared);
    if (!g.now[to_async].covers(who, earlier.lanes, earlier.epoch))
        found(Kind::missing_proxy_fence, earlier_writes, earlier, earlier_writes, t);
    else if (!g.now[to_async_strict].covers(who, earlier.lanes, earlier.epoch))
        found(Kind::missing_proxy_fence, false, earlier, earlier_writes, t);
}

Kind Checker::why(const Stamp& earlier, bool earlier_writes, const Touch& t, const Cell& cell) const {
    const Group& g = *t.group;
    const auto knows = [&](Rule r) { return g.now[r].covers(earlier.who, earlier.lanes, earlier.epoch); };
    if (knows(t.shared ? for_shared : for_global)) return Kind::data_race;  // by the letter only
    if (!knows(executed)) {
        // A copy that still reads, or that fills again what a copy had filled before.
        const bool still_reads = earlier.flags & stamp_async && !earlier_writes && !(t.stamp.flags & stamp_async);
        const bool fills_again = t.stamp.flags & stamp_async && t.write && !earlier_writes && cell.write.flags & stamp_async;
        const bool filled_again = !t.write && earlier.flags & stamp_async && cell.older.who &&
                                  g.now[executed].covers(cell.older.who, cell.older.lanes, cell.older.epoch);
        return still_reads || fills_again || filled_again ? Kind::async_reuse : Kind::data_race;
    }
    if (knows(any_scope)) return Kind::scope_too_narrow;
    if (knows(acquire_given)) return Kind::missing_acquire;
    if (knows(release_given)) return Kind::missing_release;
    return Kind::no_memory_order;
}

// Words that threads synchronise through.
void Checker::synchronise(Warp& w, const sassemu_access& a, uint32_t insn, const sassemu_location* at, bool reads,
                          bool writes) {
    const Meaning& m = meanings_[insn];
    const bool strong_access = writes || a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE ||
                               (m.is(SASSEMU_INTENT_ACCESS) ? m.intent.ordering : a.ordering) != SASSEMU_WEAK;
    if (!strong_access && flags_[0].empty() && flags_[1].empty()) return;
    if (a.flags & SASSEMU_ACCESS_LDGSTS) return;
    uint32_t scope = a.scope;
    if (scope == SASSEMU_LEVEL_NONE || a.ordering == SASSEMU_VOLATILE) scope = SASSEMU_LEVEL_SYS;
    const bool changes = a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE;
    bool released = false;
    for (uint32_t left = a.lanes; left;) {
        const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(left));
        const sassemu_location& l = at[lane];
        uint32_t same = 0;
        for (uint32_t lanes = left; lanes; lanes &= lanes - 1) {
            const uint32_t k = static_cast<uint32_t>(__builtin_ctz(lanes));
            if (at[k].address == l.address && at[k].space == l.space && at[k].owner == l.owner) same |= 1u << k;
        }
        left &= ~same;
        const bool shared = l.space == SASSEMU_SHARED;
        const uint64_t key = shared ? static_cast<uint64_t>(l.owner) << 32 | l.address : l.address;
        auto flag = flags_[shared].find(key);
        if (flag == flags_[shared].end()) {
            if (!writes) continue;
            flag = flags_[shared].try_emplace(key).first;
        }
        Flag& f = flag->second;
        if (!strong_access && !(shared && !m.known)) {
            if (a.op == SASSEMU_STORE) flags_[shared].erase(flag);
            continue;
        }
        if (reads && a.op != SASSEMU_REDUCE) {
            uint32_t& readers = f.readers[w.id];
            if (changes || (readers & same) != same) order_.acquire(w, same, m.acquire(scope), f.channel, insn);
            readers |= same;
        }
        if (!writes && a.op == SASSEMU_LOAD) continue;
        if (!changes) f.channel.clear();
        f.readers.clear();
        if (changes && a.op != SASSEMU_REDUCE) f.readers[w.id] = same;
        order_.release(w, same, m.release(scope), insn, f.channel);
        released = true;
    }
    if (released) order_.next(w);
}

// The rest of a copy, when all of it is known.
void Checker::finish_copy(uint64_t, Copy& copy) {
    Warp& w = warp_of(copy.warp);
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(copy.lanes));
    order_.each(w, copy.lanes, [](Group&) {});
    Group* group = nullptr;
    for (Group& g : w.groups)
        if (g.lanes & copy.lanes) group = &g;
    if (!group) return;
    for (const Copy::Range& r : copy.ranges) {
        Touch t{};
        t.warp = &w;
        t.group = group;
        t.write = r.write;
        t.shared = r.at.space == SASSEMU_SHARED;
        t.owner = r.at.owner;
        t.lane = lane;
        t.stamp.insn = copy.insn;
        const Meaning& m = meanings_[copy.insn];
        const bool store = m.opcode.starts_with("STAS") || m.opcode.starts_with("REDAS");
        t.stamp.flags = stamp_async | (store ? stamp_generic : 0u) | (r.reduce ? stamp_atomic | stamp_strong | uint32_t{gpu} * stamp_reach : 0u);
        t.stamp.lanes = 1u << lane;
        if (copy.completes.empty()) {
            t.stamp.who = r.write ? w.bulk_writes() : w.bulk_reads();
            t.stamp.epoch = w.copies[SASSEMU_GROUP_BULK][lane] + 1;
        } else {
            auto to = copy.completes.find(r.at.owner);
            if (!t.shared || !r.write || to == copy.completes.end()) to = copy.completes.begin();
            t.stamp.who = to->second.who;
            t.stamp.lanes = 1;
            t.stamp.epoch = to->second.epoch;
        }
        uint64_t address = r.at.address;
        for (uint64_t left = r.bytes; left;) {
            Block* block = t.shared ? shadow_.shared(r.at.owner) : &shadow_.global(address);
            if (!block) break;
            const uint32_t offset = t.shared ? static_cast<uint32_t>(address) : address % Shadow::page;
            const uint32_t room = t.shared ? static_cast<uint32_t>(left) : Shadow::page - offset;
            const uint32_t now = static_cast<uint32_t>(std::min<uint64_t>(left, room));
            Cell* cells = block->at(offset, now, shadow_.lists);
            if (!cells) break;
            t.address = address;
            touch(cells, now / block->granule(), block->granule(), t);
            address += now;
            left -= now;
        }
    }
}

}  // namespace check_sync
