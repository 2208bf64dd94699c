// SPDX-License-Identifier: Apache-2.0
// What loads find and stores leave. What orders threads is in ordering.cpp.
#include "machine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace weak {

namespace {

constexpr size_t most_granules = 1 << 16;  // that have old values, where nobody knows who all are
constexpr unsigned most_values = 4;        // of a granule

}  // namespace

Machine::Machine(std::vector<Who> everybody) : everybody_(std::move(everybody)) {
    for (const Who& w : everybody_) actor(w);
}

Machine::Actor& Machine::actor(const Who& who) {
    if (Actor* const known = recent_actors_.find(who.thread)) return *known;
    const auto [at, fresh] = actors_.try_emplace(who.thread);
    if (fresh) at->second.place = who.place;
    recent_actors_.put(who.thread, &at->second);
    return at->second;
}
const Machine::Actor* Machine::find(Thread t) const {
    if (const Actor* const known = recent_actors_.find(t)) return known;
    const auto at = actors_.find(t);
    return at == actors_.end() ? nullptr : &at->second;
}

// Whoever has it in view comes after the write, or after a read of it.
bool Machine::known(const View& view, const Write& w) {
    if (view.knows(w.writer, w.stamp)) return true;
    return std::ranges::any_of(w.readers.get(),
                               [&](const auto& r) { return view.knows(r.first, r.second); });
}

bool Machine::sure(const Actor* a, Thread t, Via via, const Write& w) const {
    for (const auto& r : w.readers.get())
        if (r.first == t) return true;
    if (via == Via::uncoherent) return false;
    if (w.writer == t) return true;
    if (!a) return false;
    const bool shared = w.address & shared_space;
    if (via == Via::object) return known(a->now[inits], w);
    // What an agent has written needs no fence once its completion is known.
    if (via == Via::async && !w.async)
        return known(a->now[shared ? async_shared : async_global], w);
    // tensormap.cp_fenceproxy is atomics by the lanes of a warp, which release what they write.
    if (via == Via::tensormap)
        return known(a->maps, w) ||
               (w.atomic && (w.writer / 32 == a->maps_by / 32 || known(a->before_maps, w)));
    return known(a->now[shared ? in_shared : in_global], w);
}

// Nothing morally strong comes between what an atomic operation reads and what it writes.
bool Machine::morally_strong(const Access& a, const Write& w) const {
    if (!w.strong || !a.order.strong) return false;
    const Actor* const writer = find(w.writer);
    return !writer || writer->place.apart(a.who.place) <= std::min(w.reach, a.order.reach);
}

// Stores whose values the access may miss: the newest ones, up to the first that it may not.
unsigned Machine::unsure(const Access& a, const Granule& g, bool modifies) const {
    const Actor* const self = find(a.who.thread);
    unsigned count = 0;
    for (auto w = g.writes.rbegin(); w != g.writes.rend(); ++w) {
        if (!w->overlaps(a.address, a.bytes)) continue;
        if (!w->undoable || sure(self, a.who.thread, a.via, *w) ||
            (modifies && morally_strong(a, *w)))
            break;
        count += !w->together;
    }
    return count;
}

// How many stores to these bytes that is.
// Whose ways have become fewer since they were counted (begins()) finds the oldest left.
unsigned Machine::count_of(const Access& a, const Granule& g, unsigned way, bool modifies) const {
    if (way) way = std::min(way, unsure(a, g, modifies));
    unsigned count = 0;
    for (auto w = g.writes.rbegin(); w != g.writes.rend() && way; ++w) {
        if (!w->overlaps(a.address, a.bytes)) continue;
        ++count;
        way -= !w->together;
    }
    return count;
}

unsigned Machine::ways(const Access& a) const {
    const auto at = granules_.find(granule_of(a.address));
    return at == granules_.end() ? 1 : 1 + unsure(a, at->second, false);
}
unsigned Machine::ways_to_store(const Access& a) const {
    return ways_in_front(a) + !late_readers(a).empty();
}
unsigned Machine::ways_in_front(const Access& a) const {
    const auto at = granules_.find(granule_of(a.address));
    if (a.via != Via::async || at == granules_.end()) return 1;
    // Copies stay in their order.
    if (std::ranges::any_of(at->second.writes, &Write::async)) return 1;
    return ways(a);
}
unsigned Machine::ways_to_modify(const Access& a) const {
    const auto at = granules_.find(granule_of(a.address));
    return at == granules_.end() ? 1 : 1 + unsure(a, at->second, true);
}

// The access finds what is there without the newest `undone` stores.
void Machine::seen(Actor& self, const Access& a, Granule& g, unsigned undone, Edges* inherits) {
    uint32_t open = (1u << a.bytes) - 1;
    bool newest = true;
    for (auto w = g.writes.rbegin(); w != g.writes.rend() && open; ++w) {
        if (!w->overlaps(a.address, a.bytes)) continue;
        if (undone) {
            --undone;
            continue;
        }
        if (newest && !sure(&self, a.who.thread, a.via, *w))
            w->readers.make().emplace_back(a.who.thread, next_++);
        newest = false;
        uint32_t bytes = 0;
        for (unsigned k = 0; k < a.bytes; ++k)
            if (a.address + k - w->address < w->bytes) bytes |= 1u << k;
        if (!(open & bytes)) continue;
        open &= ~bytes;
        for (const Edge& e : w->gives.get()) {
            if (a.order.strong) take(self, e, a.order, a.order.acquires);
            if (inherits) add_edge(*inherits, e);
        }
    }
}

// From the newest value back.
void Machine::undo(const Access& a, const Granule& g, unsigned undone, uint8_t* value) const {
    for (auto w = g.writes.rbegin(); w != g.writes.rend() && undone; ++w) {
        if (!w->overlaps(a.address, a.bytes)) continue;
        --undone;
        for (unsigned k = 0; k < a.bytes; ++k)
            if (const uint64_t in = a.address + k - w->address; in < w->bytes)
                value[k] = w->old[in];
    }
}

void Machine::load(Memory& m, const Access& a, unsigned way, uint8_t* value) {
    if (!late_.empty() && !a.shared()) late_.settle(a.address, a.bytes);
    m.read(a.address, value, a.bytes);
    Actor& self = actor(a.who);
    const auto at = granules_.find(granule_of(a.address));
    if (at == granules_.end()) return acquire(self, a.order);
    Granule& g = at->second;
    const unsigned undone = count_of(a, g, way, false);
    undo(a, g, undone, value);
    if (way && !g.missed) {
        g.missed = true;
        missed_.push_back(at->first);
    }
    seen(self, a, g, undone, nullptr);
    acquire(self, a.order);
    prune(at->first);
}

// What it has read of the same bytes before counts as well, with the same scope.
void Machine::acquire(Actor& self, const Order& o) {
    if (!o.acquires) return;
    for (uint32_t d = 0; d <= o.reach; ++d) join(self.now, self.acquirable[d]);
}

void Machine::store(Memory& m, const Access& a, const uint8_t* value, unsigned way) {
    if (way && !late_.empty()) {
        if (way == ways_in_front(a)) return store_before_readers(m, a, value);
        late_.settle(a.address, a.bytes);
    }
    const auto at = granules_.find(granule_of(a.address));
    if (!way || at == granules_.end()) {
        before_change(m, a, false);
        m.write(a.address, value, a.bytes);
        return;
    }
    // In front of stores that it does not know: each byte below the first of them that has it.
    auto& writes = at->second.writes;
    auto behind = writes.end();
    for (unsigned left = count_of(a, at->second, way, false); left;)
        if ((--behind)->overlaps(a.address, a.bytes)) --left;
    actor(a.who);
    Write w;
    w.address = a.address;
    w.bytes = a.bytes;
    w.async = true;
    w.writer = a.who.thread;
    w.stamp = next_++;
    for (unsigned k = 0; k < a.bytes; ++k) {
        const auto over = std::find_if(behind, writes.end(), [&](const Write& later) {
            return later.overlaps(a.address + k, 1);
        });
        if (over != writes.end()) {
            w.old[k] = std::exchange(over->old[a.address + k - over->address], value[k]);
        } else {
            m.read(a.address + k, &w.old[k], 1);
            m.write(a.address + k, value + k, 1);
        }
    }
    wrote(w);
    writes.insert(behind, std::move(w));
}

// Who has written to a piece of memory.
void Machine::wrote(const Write& w) {
    const uint64_t number = region_of(w.address);
    Region* known = recent_regions_.find(number);
    if (!known) recent_regions_.put(number, known = &regions_[number]);
    Region& r = *known;
    const auto before = std::ranges::lower_bound(r.writers, w.writer, {}, &View::Entry::first);
    if (before != r.writers.end() && before->first == w.writer)
        before->second = w.stamp;
    else
        r.writers.insert(before, {w.writer, w.stamp});
    r.last = w.stamp;
}

void Machine::before_change(Memory& m, const Access& a, bool modifies, bool together,
                            unsigned way) {
    if (!late_.empty()) late_.settle(a.address, a.bytes);
    Actor& self = actor(a.who);
    const uint64_t number = granule_of(a.address);
    Granule* known = recent_granules_.find(number);
    const bool fresh = !known && granules_.try_emplace(number).second;
    if (!known) recent_granules_.put(number, known = &granules_.at(number));
    Granule& g = *known;
    if (fresh) oldest_.push_back(number);
    Write w;
    w.address = a.address;
    w.bytes = a.bytes;
    w.async = a.via == Via::async;
    w.strong = a.order.strong;
    w.reach = a.order.reach;
    w.atomic = modifies;
    w.undoable = m.read(a.address, w.old.data(), a.bytes);
    if (modifies) {
        const unsigned undone = count_of(a, g, way, true);
        if (undone) {
            auto value = w.old;
            undo(a, g, undone, value.data());
            m.write(a.address, value.data(), a.bytes);
        }
        seen(self, a, g, undone, &w.gives.make());
        acquire(self, a.order);
    }
    if (a.order.strong) give(self, a, w.gives.make());
    w.writer = a.who.thread;
    w.stamp = next_++;
    w.together = together;
    wrote(w);
    if (fresh) g.writes.reserve(2 * most_values + 1);
    g.writes.push_back(std::move(w));
    if (g.writes.size() > 2 * most_values) compact(g);  // not one by one
    prune(number);
    if (everybody_.empty() && oldest_.size() > most_granules) {
        const auto old = granules_.find(oldest_.front());
        oldest_.pop_front();
        if (old == granules_.end()) return;
        for (Write& one : old->second.writes) one.undoable = false;
        compact(old->second);
        if (old->second.writes.empty()) erase(old);
    }
}

void Machine::erase(Granules::iterator at) {
    recent_granules_.forget(at->first);
    granules_.erase(at);
}

// Values beyond what is kept, and stores that nobody can find or learn from any more.
void Machine::compact(Granule& g) {
    unsigned values = 0;
    for (auto w = g.writes.rbegin(); w != g.writes.rend(); ++w)
        if (!w->undoable || ++values > most_values) w->undoable = false;
    for (size_t i = 0; i < g.writes.size();) {
        const Write& w = g.writes[i];
        const bool covered =
            !w.undoable &&
            std::any_of(g.writes.begin() + static_cast<std::ptrdiff_t>(i) + 1, g.writes.end(),
                        [&](const Write& later) { return !later.undoable && later.covers(w); });
        if (!w.undoable && (w.gives.get().empty() || covered))
            g.writes.erase(g.writes.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

// What everybody is sure of, nobody finds an older value than.
void Machine::prune(uint64_t number) {
    if (everybody_.empty()) return;
    const auto at = granules_.find(number);
    Granule& g = at->second;
    for (size_t i = g.writes.size(); i-- > 0;) {
        const Write w = g.writes[i];
        const bool all = std::ranges::all_of(actors_, [&](const auto& a) {
            return sure(&a.second, a.first, a.second.agent ? Via::async : Via::generic, w) &&
                   (w.async || agents_.empty() || sure(&a.second, a.first, Via::async, w));
        });
        if (!all) continue;
        for (size_t k = 0; k <= i; ++k)
            if (k == i || w.covers(g.writes[k])) g.writes[k].undoable = false;
        compact(g);
        break;
    }
    if (g.writes.empty()) erase(at);
}

bool Machine::plain(const Access& a, uint64_t bytes, uint32_t lanes) const {
    constexpr uint64_t most_regions = 64;
    const uint64_t first = region_of(a.address), last = region_of(a.address + bytes - 1);
    if (last - first >= most_regions) return false;
    for (uint64_t n = first; n <= last; ++n) {
        if (!late_.empty() && late_.copied_to(n)) return false;
        const auto at = regions_.find(n);
        if (at == regions_.end()) continue;
        if (a.via != Via::generic) return false;
        const Region& r = at->second;
        Looked& before = looked_[(n ^ a.who.thread >> 5) % looked_.size()];
        if (before.region == n && before.thread == a.who.thread && before.last == r.last &&
            !(lanes & ~before.lanes))
            continue;
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const Actor* const self =
                find(a.who.thread + static_cast<unsigned>(std::countr_zero(rest)));
            if (!self) return false;
            const View& view = self->now[a.shared() ? in_shared : in_global];
            if (r.known_at == r.last && r.known_by.identity() == view.identity()) continue;
            if (!view.includes(r.writers)) return false;
            r.known_by = view;
            r.known_at = r.last;
        }
        before = {n, a.who.thread, r.last, lanes};
    }
    return true;
}

uint64_t Machine::settle(bool count_only) {
    const uint64_t count = missed_.size();
    if (count_only) return count;
    for (const uint64_t number : missed_) {
        const auto at = granules_.find(number);
        if (at == granules_.end()) continue;
        at->second.missed = false;
        for (Write& w : at->second.writes) w.undoable = false;
        compact(at->second);
    }
    missed_.clear();
    return count;
}

void Machine::forget_values() {
    late_.clear();
    for (auto& [number, g] : granules_) {
        for (Write& w : g.writes) w.undoable = false;
        compact(g);
    }
}

}  // namespace weak
