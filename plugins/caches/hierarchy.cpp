// SPDX-License-Identifier: Apache-2.0
// The steps of hierarchy.hpp.
#include "hierarchy.hpp"

#include <algorithm>
#include <tuple>

namespace caches {

namespace {

uint64_t sector_of(uint64_t address) {
    return address / Hierarchy::sector_bytes * Hierarchy::sector_bytes;
}

// Whether a store that has not reached L2 is one that `who` sees.
bool in_front(const Hierarchy::Store& s, const Place& who) {
    if (who.client != Client::sm || s.from.client != Client::sm)
        return s.at < Station::vc && s.from.thread == who.thread;
    switch (s.at) {
        case Station::own:
            return s.from.thread == who.thread;
        case Station::cta:
            return s.from.cta == who.cta;
        case Station::sm:
            return s.from.sm == who.sm;
        default:
            return false;
    }
}

// The station from which on `who` sees what `from` has stored.
Station seen_at(const Place& who, const Place& from) {
    const bool host = who.client == Client::host;
    if (host || from.client == Client::host)
        return host && from.client == Client::host ? Station::vc : Station::sys;
    if (who.gpu != from.gpu) return Station::sys;
    return who.client == from.client ? Station::vc : Station::gpu;
}

}  // namespace

Hierarchy::Hierarchy(std::span<const Place> everybody) : last_(Station::vc) {
    auto known = std::make_shared<Known>();
    std::map<uint64_t, uint64_t> sm_of;
    for (const Place& p : everybody) {
        several_ |= seen_at(p, everybody[0]) != Station::vc;
        if (p.client != Client::sm) continue;
        ++known->threads[p.cta];
        if (sm_of.emplace(p.cta, p.sm).second) ++known->ctas[p.sm];
    }
    if (several_) last_ = Station::sys;
    known_ = std::move(known);
}

// The station behind `at`.
Station Hierarchy::after(const Place& from, Station at) const {
    if (from.client != Client::sm && at < Station::sm) return Station::vc;
    // Its CTA is alone on its SM.
    if (at == Station::own && known_ && known_->ctas.at(from.sm) == 1) return Station::sm;
    return static_cast<Station>(static_cast<uint8_t>(at) + 1);
}

void Hierarchy::store(const Place& from, uint64_t address, unsigned bytes, const uint8_t* value,
                      Link link) {
    Store s;
    s.id = s.stamp = next_++;
    s.from = from;
    s.address = address;
    s.bytes = static_cast<uint8_t>(bytes);
    s.link = link;
    std::copy_n(value, bytes, s.value.begin());
    if (known_ && from.client == Client::sm && known_->threads.at(from.cta) == 1) {
        s.at = known_->ctas.at(from.sm) == 1 ? Station::sm : Station::cta;
        if (s.at == Station::sm) write_through(s);
    }
    stores_.push_back(s);
}

// A copy in L1 takes part in what its SM stores; the other caches do not look.
void Hierarchy::write_through(const Store& s) {
    for (unsigned i = 0; i < s.bytes; ++i) {
        const uint64_t a = s.address + i;
        if (const auto it = l1_.find({s.from.sm, sector_of(a)}); it != l1_.end()) {
            it->second.bytes[a % sector_bytes] = s.value[i];
            it->second.valid |= 1u << a % sector_bytes;
        }
    }
}

Hierarchy::Store* Hierarchy::find(uint64_t id) {
    const auto it = std::ranges::find(stores_, id, &Store::id);
    return it == stores_.end() ? nullptr : &*it;
}

// Whether `a` and `b` wait in one queue, `a` first, and have a byte in common; in the queue of a
// link whatever bytes they have.
bool Hierarchy::before(const Store& a, const Store& b) const {
    if (a.posted && b.posted && a.link == b.link && !relaxed_) return a.posted < b.posted;
    if (a.at != b.at || a.stamp >= b.stamp || !a.overlaps(b.address, b.bytes)) return false;
    switch (a.at) {
        case Station::own:
            return a.from.thread == b.from.thread;
        case Station::cta:
            return a.from.cta == b.from.cta;
        case Station::sm:
            return a.from.sm == b.from.sm;
        default:
            return true;  // in the order of L2
    }
}

// Stores of one queue are compared, and of those that write the same bytes only the first: a
// thousand threads that store to one place are no million pairs.
std::vector<uint32_t> Hierarchy::ready() const {
    const auto queue = [](const Store& s) -> uint64_t {  // of before(), for a station
        return s.at == Station::own   ? s.from.thread
               : s.at == Station::cta ? s.from.cta
               : s.at == Station::sm  ? s.from.sm
                                      : 0;
    };
    const auto by_queue = [&](uint32_t i) {
        const Store& s = stores_[i];
        return std::tuple(s.at, queue(s), s.address, s.bytes, s.stamp);
    };
    std::vector<uint32_t> order(stores_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, by_queue);
    std::vector<bool> waits(stores_.size());
    std::vector<uint32_t> firsts;
    for (const uint32_t i : order) {
        const Store& s = stores_[i];
        const Store* const last = firsts.empty() ? nullptr : &stores_[firsts.back()];
        if (last && last->at == s.at && queue(*last) == queue(s) && last->address == s.address &&
            last->bytes == s.bytes)
            waits[i] = true;
        else
            firsts.push_back(i);
    }
    for (size_t k = 0; k < firsts.size(); ++k) {
        const Store& a = stores_[firsts[k]];
        for (size_t n = k + 1; n < firsts.size(); ++n) {
            const Store& b = stores_[firsts[n]];
            if (b.at != a.at || queue(b) != queue(a) || b.address >= a.address + a.bytes) break;
            if (before(a, b)) waits[firsts[n]] = true;
            if (before(b, a)) waits[firsts[k]] = true;
        }
    }
    std::map<Link, uint64_t> fronts;  // of each link's queue
    if (!relaxed_)
        for (const Store& s : stores_)
            if (s.posted) {
                uint64_t& front = fronts.try_emplace(s.link, s.posted).first->second;
                front = std::min(front, s.posted);
            }
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < waits.size(); ++i) {
        const Store& s = stores_[i];
        if (!waits[i] && (relaxed_ || !s.posted || fronts.at(s.link) == s.posted)) all.push_back(i);
    }
    return all;
}

// One station further.
void Hierarchy::advance(Memory& memory, uint64_t id) {
    Store& s = *find(id);
    s.at = after(s.from, s.at);
    if (s.at <= Station::vc) s.stamp = next_++;
    if (s.at == Station::gpu && s.link) s.posted = next_++;
    if (s.at == Station::sm) {
        write_through(s);
    } else if (s.at == Station::vc && !s.leaves()) {
        memory.read(s.address, s.old.data(), s.bytes);
        memory.write(s.address, s.value.data(), s.bytes);
    } else if (s.at == Station::sys && s.leaves()) {
        memory.write(s.address, s.value.data(), s.bytes);
    }
    if (watcher_) watcher_->moved(s.from, s.address, s.bytes, s.at);
    if (s.at == last_) stores_.erase(stores_.begin() + (&s - stores_.data()));
}

uint64_t Hierarchy::send_store(Memory& memory, uint64_t id, Station to) {
    uint64_t moved = 0;
    for (;;) {
        const Store* s = find(id);
        if (!s || s->at >= to) return moved;
        const auto first =
            std::ranges::find_if(stores_, [&](const Store& other) { return before(other, *s); });
        if (first != stores_.end()) {
            moved += send_store(memory, first->id, after(first->from, first->at));
            continue;
        }
        advance(memory, id);
        ++moved;
    }
}

template <class Which>
uint64_t Hierarchy::send_where(Memory& memory, Station to, Which&& which) {
    std::vector<std::pair<uint64_t, uint64_t>> ids;  // in the order of their turns
    for (const Store& s : stores_)
        if (s.at < to && which(s)) ids.emplace_back(s.stamp, s.id);
    std::ranges::sort(ids);
    uint64_t moved = 0;
    for (const auto& [stamp, id] : ids) moved += send_store(memory, id, to);
    return moved;
}

uint64_t Hierarchy::send(Memory& memory, const Place& place, Station to) {
    return send_where(memory, to, [&](const Store& s) { return s.from.thread == place.thread; });
}
uint64_t Hierarchy::send_sm(Memory& memory, uint64_t sm, Station to) {
    return send_where(memory, to,
                      [&](const Store& s) { return s.from.sm == sm && s.at >= Station::sm; });
}
uint64_t Hierarchy::send_line(Memory& memory, uint64_t sm, uint64_t address) {
    const uint64_t line = address / 128 * 128;
    return send_where(memory, Station::vc,
                      [&](const Store& s) { return s.from.sm == sm && s.overlaps(line, 128); });
}

// A read that goes over the link has arrived behind what was posted there before it.
void Hierarchy::push(Memory& memory, Link link) {
    if (link)
        send_where(memory, Station::sys,
                   [&](const Store& s) { return s.posted && s.link == link; });
}

// What the thread may have seen goes with what it stored: of its CTA, then of its SM, then of all
// SMs. Otherwise a flag that one thread sets for all of its CTA after a barrier would say nothing
// of their data.
Cost Hierarchy::membar(Memory& memory, const Place& place, Station level, bool data, bool texture) {
    Cost cost;
    cost.hops = static_cast<uint32_t>(level);
    if (data) invalidate_data(place.sm);
    if (texture) invalidate_texture(place.sm);
    cost.drains += send(memory, place, level);
    cost.drains += send_where(memory, level, [&](const Store& s) {
        return s.at >= Station::vc ? s.at >= seen_at(place, s.from) : in_front(s, place);
    });
    return cost;
}

// A byte in L2 and beyond, as a client sees it from which the stores of `hidden` are still hidden.
template <class Hidden>
bool Hierarchy::read_but(Memory& memory, uint64_t address, uint8_t* to, unsigned bytes,
                         Hidden&& hidden) const {
    if (!memory.read(address, to, bytes)) return false;
    for (unsigned i = 0; i < bytes; ++i) {
        uint64_t seen = 0;  // the last that the client does see
        for (const Store& s : stores_) {
            if (s.at < Station::vc || !s.covers(address + i) || hidden(s) || s.stamp < seen)
                continue;
            seen = s.stamp;
            if (s.leaves()) to[i] = s.value[address + i - s.address];
        }
        const Store* first = nullptr;
        for (const Store& s : stores_)
            if (s.at >= Station::vc && !s.leaves() && s.covers(address + i) && s.stamp > seen &&
                hidden(s) && (!first || s.stamp < first->stamp))
                first = &s;
        if (first) to[i] = first->old[address + i - first->address];
    }
    return true;
}

bool Hierarchy::read_below(Memory& memory, const Place& who, uint64_t address, uint8_t* to,
                           unsigned bytes) const {
    if (!several_) return memory.read(address, to, bytes);
    return read_but(memory, address, to, bytes,
                    [&](const Store& s) { return s.at < seen_at(who, s.from); });
}

// What a sector would get that is filled now.
Hierarchy::Sector Hierarchy::read_sector(Memory& memory, const Cache& cache, const Place& place,
                                         uint64_t at) const {
    Sector sector;
    if (read_below(memory, place, at, sector.bytes.data(), sector_bytes)) {
        sector.valid = ~0u;
    } else {  // it hangs over the end of an allocation
        for (unsigned i = 0; i < sector_bytes; ++i)
            if (read_below(memory, place, at + i, &sector.bytes[i], 1)) sector.valid |= 1u << i;
    }
    if (&cache != &l1_) return sector;
    // What the SM has in front of L2 is part of its copy.
    std::vector<const Store*> queued;
    for (const Store& s : stores_)
        if (s.at == Station::sm && s.from.sm == place.sm && s.overlaps(at, sector_bytes))
            queued.push_back(&s);
    std::ranges::sort(queued, {}, &Store::stamp);
    for (const Store* s : queued)
        for (unsigned i = 0; i < s->bytes; ++i)
            if (s->address + i - at < sector_bytes) sector.bytes[s->address + i - at] = s->value[i];
    return sector;
}

Hierarchy::Sector& Hierarchy::fill(Memory& memory, Cache& cache, const Place& place,
                                   uint64_t address, Link link) {
    const uint64_t at = sector_of(address);
    const auto [it, fresh] = cache.try_emplace({place.sm, at});
    if (fresh) push(memory, link);
    if (fresh) it->second = read_sector(memory, cache, place, at);
    return it->second;
}

bool Hierarchy::hits_stale(Memory& memory, const Place& place, uint64_t address, unsigned bytes,
                           Path path) const {
    if (path == Path::bypass || path == Path::around || place.client != Client::sm) return false;
    const Cache& cache = this->cache(path);
    for (uint64_t at = sector_of(address); at < address + bytes; at += sector_bytes)
        if (const auto it = cache.find({place.sm, at}); it != cache.end())
            if (!(it->second == read_sector(memory, cache, place, at))) return true;
    return false;
}

void Hierarchy::evict(const Place& place, uint64_t address, unsigned bytes, Path path) {
    for (uint64_t at = sector_of(address); at < address + bytes; at += sector_bytes)
        if (cache(path).erase({place.sm, at}) && watcher_) watcher_->evicted(place, at);
}

void Hierarchy::load(Memory& memory, const Place& place, uint64_t address, unsigned bytes,
                     Path path, uint8_t* value, Link link) {
    const bool past = path == Path::bypass || path == Path::around || place.client != Client::sm;
    if (past) push(memory, link);
    for (unsigned i = 0; i < bytes; ++i) {
        const uint64_t a = address + i;
        if (past)
            read_below(memory, place, a, &value[i], 1);
        else
            value[i] = fill(memory, cache(path), place, a, link).bytes[a % sector_bytes];
    }
    if (path == Path::texture || path == Path::constant) return;
    // Nearer to the thread is newer.
    for (unsigned i = 0; i < bytes; ++i) {
        const Store* seen = nullptr;
        const auto rank = [](const Store& s) {
            return s.at == Station::own ? 3 : s.at == Station::cta ? 2 : 1;
        };
        for (const Store& s : stores_) {
            if (!s.covers(address + i) || !in_front(s, place)) continue;
            if (!seen || rank(s) > rank(*seen) || (rank(s) == rank(*seen) && s.stamp > seen->stamp))
                seen = &s;
        }
        if (seen) value[i] = seen->value[address + i - seen->address];
    }
    if (path == Path::bypass && place.client == Client::sm)
        evict(place, address, bytes, Path::cached);
}

void Hierarchy::before_atomic(Memory& memory, const Place& place, uint64_t address, unsigned bytes,
                              Link link) {
    push(memory, link);
    // What the thread can see of these bytes comes before it in L2.
    const bool leaves = link & leaves_process;  // it happens where the memory is
    send_where(memory, leaves ? Station::sys : Station::vc, [&](const Store& s) {
        return s.overlaps(address, bytes) &&
               (s.at < Station::vc ? in_front(s, place) : s.at >= seen_at(place, s.from));
    });
    if (place.client == Client::sm) evict(place, address, bytes, Path::cached);
    if (last_ == Station::vc || leaves) return;
    // Other channels see its result later, as they do a store's.
    Store s;
    s.id = s.stamp = next_++;
    s.from = place;
    s.address = address;
    s.bytes = static_cast<uint8_t>(bytes);
    s.at = Station::vc;
    s.link = link;
    memory.read(address, s.old.data(), bytes);
    stores_.push_back(s);
}

bool Hierarchy::client_read(Memory& memory, Station client, uint64_t address, uint8_t* to,
                            unsigned bytes) const {
    return read_but(memory, address, to, bytes, [&](const Store& s) { return s.at < client; });
}

void Hierarchy::drop(Cache& cache, uint64_t sm) {
    const auto first = cache.lower_bound({sm, 0}), last = cache.lower_bound({sm + 1, 0});
    cache.erase(first, last);
}

void Hierarchy::invalidate(uint64_t sm, uint64_t address) { l1_.erase({sm, sector_of(address)}); }

void Hierarchy::invalidate_constant(uint64_t sm, uint64_t address) {
    constant_.erase({sm, sector_of(address)});
}

void Hierarchy::evict(size_t index) {
    for (Cache* cache : caches()) {
        if (index < cache->size()) {
            cache->erase(std::next(cache->begin(), static_cast<std::ptrdiff_t>(index)));
            return;
        }
        index -= cache->size();
    }
}

size_t Hierarchy::stale(Memory& memory) const {
    size_t count = 0;
    for (const Cache* cache : caches())
        for (const auto& [where, sector] : *cache) {
            bool differs = false;
            for (unsigned i = 0; i < sector_bytes && !differs; ++i) {
                uint8_t now;
                differs = (sector.valid >> i & 1) && memory.read(where.second + i, &now, 1) &&
                          now != sector.bytes[i];
            }
            count += differs;
        }
    return count;
}

std::string Hierarchy::key() const {
    std::string text;
    const auto put = [&](uint64_t v, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(v >> 8 * i);
    };
    // Of the turns at a station only those of stores with bytes in common tell states apart.
    std::vector<std::string> stores;
    for (const Store& s : stores_) {
        put(static_cast<uint64_t>(s.at), 1);
        put(s.link, 4);
        put(s.from.thread, 8);
        put(s.address, 8);
        put(s.bytes, 1);
        put(static_cast<uint64_t>(std::ranges::count_if(
                stores_, [&](const Store& other) { return before(other, s); })),
            2);
        if (s.at < Station::vc || s.leaves())
            text.append(s.value.begin(), s.value.begin() + s.bytes);
        else
            text.append(s.old.begin(), s.old.begin() + s.bytes);
        stores.push_back(std::exchange(text, {}));
    }
    std::ranges::sort(stores);
    for (const std::string& s : stores) text += s;
    put(stores.size(), 2);
    for (const Cache* cache : caches()) {
        put(cache->size(), 2);
        for (const auto& [where, sector] : *cache) {
            put(where.first, 8);
            put(where.second, 8);
            put(sector.valid, 4);
            text.append(sector.bytes.begin(), sector.bytes.end());
        }
    }
    return text;
}

}  // namespace caches
