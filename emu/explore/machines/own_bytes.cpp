// SPDX-License-Identifier: Apache-2.0
// See own_bytes.hpp.
#include "emu/explore/machines/own_bytes.hpp"

#include <algorithm>

#include "emu/async/tensor_box.hpp"

namespace sassemu::explore {
namespace {

bool is_global(uint64_t address) { return address && !(address & SASSEMU_MACHINE_SHARED); }
bool is_access(const MemoryOperation& o) { return o.what.kind <= SASSEMU_OPERATION_ATOMIC; }

}  // namespace

bool OwnBytes::fits(const Test& test) {
    const Thread* first = nullptr;
    for (const Thread& t : test.threads) {
        const auto rests = [](const Statement& i) { return is_any<op::Launch, op::Join>(i.what); };
        if (!t.sass && !std::ranges::all_of(t.code, rests)) return false;
        if (t.sass && !first) first = &t;
        if (t.sass && t.gpu != first->gpu) return false;
    }
    return first;
}

// An atomic operation, or an access that orders, is nobody's own: others may wait for it.
OwnBytes::Use OwnBytes::use_of(const MemoryOperation& o) {
    const bool plain = o.what.ordering == SASSEMU_WEAK && o.what.proxy == SASSEMU_VIA_GENERIC &&
                       !o.what.flags && !o.joins;
    if (plain && o.is(SASSEMU_OPERATION_LOAD)) return Use::load;
    return plain && o.is(SASSEMU_OPERATION_STORE) ? Use::store : Use::other;
}

bool OwnBytes::Sector::own(Use use, uint32_t bytes) const {
    if (use == Use::give) return !loaded && !((other | writers) & bytes);
    if (use == Use::other || met() & bytes) return false;
    return !met() || (use != Use::load && !(use == Use::store && loaded & bytes));
}

template <class Act>
void OwnBytes::each_sector(uint64_t address, uint64_t bytes, Act&& act) {
    for (uint64_t at = address, end = address + bytes; at < end;) {
        const uint64_t first = at % sector_bytes, count = std::min(end - at, sector_bytes - first);
        act(at / sector_bytes, static_cast<uint32_t>(((uint64_t{1} << count) - 1) << first));
        at += count;
    }
}

void OwnBytes::meet(uint64_t who, uint64_t address, uint64_t bytes, Use use) {
    each_sector(address, bytes, [&](uint64_t number, uint32_t mask) {
        const auto at = sectors_.find(number);
        if (at == sectors_.end() || !at->second.knows(who, mask, use))
            news_.met.push_back({number, who, mask, use});
    });
}

bool OwnBytes::Sector::knows(uint64_t by, uint32_t bytes, Use use) const {
    if (writes(use) && bytes & ~written) return false;
    if (use == Use::load && bytes & ~loaded) return false;
    if (use == Use::other && bytes & ~other) return false;
    for (uint64_t k = 0; k < sector_bytes; ++k) {
        if (!(bytes >> k & 1)) continue;
        if (who[k] != by && !(shared >> k & 1)) return false;
        if (writes(use) && writer[k] != by && !(writers >> k & 1)) return false;
    }
    return true;
}

void OwnBytes::add(Sector& s, const Piece& met) {
    for (uint64_t k = 0; k < sector_bytes; ++k) {
        if (!(met.bytes >> k & 1)) continue;
        if (!s.who[k]) s.who[k] = met.who;
        if (s.who[k] != met.who) s.shared |= 1u << k;
        if (!writes(met.use)) continue;
        if (!s.writer[k]) s.writer[k] = met.who;
        if (s.writer[k] != met.who) s.writers |= 1u << k;
    }
    if (writes(met.use)) s.written |= met.bytes;
    if (met.use == Use::load) s.loaded |= met.bytes;
    if (met.use == Use::other) s.other |= met.bytes;
}

bool OwnBytes::own(uint64_t address, uint64_t bytes, Use use) const {
    static const Sector nobodys;
    bool all = true;
    each_sector(address, bytes, [&](uint64_t number, uint32_t mask) {
        const auto at = sectors_.find(number);
        all = all && (at == sectors_.end() ? nobodys : at->second).own(use, mask);
    });
    return all;
}

void OwnBytes::mark(uint64_t address, uint64_t bytes, Use use) {
    each_sector(address, bytes, [&](uint64_t number, uint32_t mask) {
        const auto at = sectors_.find(number);
        if (at == sectors_.end() || mask & ~at->second.taken[static_cast<size_t>(use)])
            news_.taken.push_back({number, 0, mask, use});
    });
}

// ---- rounds

void OwnBytes::adopt_news(const OwnBytes& of) {
    for (const Piece& p : of.news_.met) {
        add(sectors_[p.sector], p);
        changed_.insert(p.sector);
    }
    for (const Piece& p : of.news_.taken) {
        sectors_[p.sector].taken[static_cast<size_t>(p.use)] |= p.bytes;
        changed_.insert(p.sector);
    }
}

void OwnBytes::end_round() {
    news_ = {};
    for (const uint64_t number : changed_) {
        const Sector& s = sectors_[number];
        for (size_t k = 0; k < uses; ++k)
            surprised_ |= s.taken[k] && !s.own(static_cast<Use>(k), s.taken[k]);
    }
    changed_.clear();
}

// ---- threads

void OwnBytes::meet(uint32_t thread, const Ahead& next) {
    for (const MemoryOperation& o : next.does)
        if (is_access(o)) meet(thread + 1, o.what.address, o.what.bytes, use_of(o));
}

bool OwnBytes::take(const Ahead& next, bool give) {
    const auto use = [&](const MemoryOperation& o) {
        const Use as = use_of(o);
        return give ? (as == Use::store ? Use::give : Use::other) : as;
    };
    const bool all = next.foot.ranges.empty() && !next.foot.everywhere && !next.foot.unexplored &&
                     std::ranges::all_of(next.does, [&](const MemoryOperation& o) {
                         return is_access(o) && own(o.what.address, o.what.bytes, use(o));
                     });
    if (!all) return false;
    for (const MemoryOperation& o : next.does) mark(o.what.address, o.what.bytes, use(o));
    return true;
}

// Each byte goes to memory at once always, or never.
void OwnBytes::refuse(uint32_t thread, const Ahead& next) {
    for (const MemoryOperation& o : next.does)
        if (is_access(o)) meet(thread + 1, o.what.address, o.what.bytes, Use::other);
}

bool OwnBytes::take(uint32_t, const MemoryOperation& load) {
    if (!own(load.what.address, load.what.bytes, use_of(load))) return false;
    mark(load.what.address, load.what.bytes, use_of(load));
    return true;
}

// ---- copies

// act(address, bytes, use); of cp.async as of a thread's loads.
template <class Act>
void OwnBytes::each_access(const CopyAgent& a, Act&& act) {
    const auto one = [&](uint64_t address, uint64_t bytes, Use use) {
        if (is_global(address) && bytes) act(address, bytes, use);
    };
    if (a.work->tensor) one(a.work->tensor->map, async::tensor_map_bytes, Use::copied_from);
    for (const CopyWork::Receiver& r : a.work->receivers)
        for (const CopyWork::Move& m : r.moves) {
            one(m.to, m.bytes, Use::copied_to);
            one(m.from, m.bytes, a.work->generic ? Use::load : Use::copied_from);
        }
}

void OwnBytes::meet_under_way(const MachineState& s) {
    for (uint32_t t = 0; t < s.threads.size(); ++t)
        for (const MemoryOperation& o : s.threads[t].window)
            meet(t + 1, o.what.address, o.what.bytes, use_of(o));
    for (const CopyAgent& a : s.sass.agents)
        each_access(a, [&](uint64_t address, uint64_t bytes, Use use) {
            meet(a.id(), address, bytes, use);
        });
}

bool OwnBytes::take(const CopyAgent& a) {
    bool all = !a.work->tensor;
    each_access(a, [&](uint64_t address, uint64_t bytes, Use use) {
        all = all && own(address, bytes, use);
    });
    if (all)
        each_access(a,
                    [&](uint64_t address, uint64_t bytes, Use use) { mark(address, bytes, use); });
    return all;
}

}  // namespace sassemu::explore
