// SPDX-License-Identifier: Apache-2.0
// The steps of machine.hpp.
#include "machine.hpp"

#include <algorithm>

namespace caches {

namespace {

uint64_t sector_of(uint64_t address) {
    return address / Machine::sector_bytes * Machine::sector_bytes;
}

}  // namespace

void Machine::store(const Place& from, uint64_t address, unsigned bytes, const uint8_t* value) {
    Store s;
    s.id = s.stamp = next_++;
    s.from = from;
    s.address = address;
    s.bytes = static_cast<uint8_t>(bytes);
    std::copy_n(value, bytes, s.value.begin());
    stores_.push_back(s);
}

Machine::Store* Machine::find(uint64_t id) {
    const auto it = std::ranges::find(stores_, id, &Store::id);
    return it == stores_.end() ? nullptr : &*it;
}

// Whether `a` and `b` wait in one queue, `a` first, and have a byte in common.
bool Machine::before(const Store& a, const Store& b) const {
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

bool Machine::can_advance(const Store& s) const {
    return std::ranges::none_of(stores_, [&](const Store& other) { return before(other, s); });
}

// One station further.
void Machine::advance(Memory& memory, uint64_t id) {
    Store& s = *find(id);
    s.at = static_cast<Station>(static_cast<uint8_t>(s.at) + 1);
    if (s.at <= Station::vc) s.stamp = next_++;
    if (s.at == Station::sm) {
        // A copy in L1 is written through; the other caches do not look.
        for (unsigned i = 0; i < s.bytes; ++i) {
            const uint64_t a = s.address + i;
            if (const auto it = l1_.find({s.from.sm, sector_of(a)}); it != l1_.end()) {
                it->second.bytes[a % sector_bytes] = s.value[i];
                it->second.valid |= 1u << a % sector_bytes;
            }
        }
    } else if (s.at == Station::vc) {
        memory.read(s.address, s.old.data(), s.bytes);
        memory.write(s.address, s.value.data(), s.bytes);
    }
    if (s.at == last_) stores_.erase(stores_.begin() + (&s - stores_.data()));
}

uint64_t Machine::send_store(Memory& memory, uint64_t id, Station to) {
    uint64_t moved = 0;
    for (;;) {
        const Store* s = find(id);
        if (!s || s->at >= to) return moved;
        const auto first =
            std::ranges::find_if(stores_, [&](const Store& other) { return before(other, *s); });
        if (first != stores_.end()) {
            const auto next = static_cast<Station>(static_cast<uint8_t>(first->at) + 1);
            moved += send_store(memory, first->id, next);
            continue;
        }
        advance(memory, id);
        ++moved;
    }
}

template <class Which>
uint64_t Machine::send_where(Memory& memory, Station to, Which&& which) {
    std::vector<std::pair<uint64_t, uint64_t>> ids;  // in the order of their turns
    for (const Store& s : stores_)
        if (s.at < to && which(s)) ids.emplace_back(s.stamp, s.id);
    std::ranges::sort(ids);
    uint64_t moved = 0;
    for (const auto& [stamp, id] : ids) moved += send_store(memory, id, to);
    return moved;
}

uint64_t Machine::send(Memory& memory, const Place& place, Station to) {
    return send_where(memory, to, [&](const Store& s) { return s.from.thread == place.thread; });
}
uint64_t Machine::send_all(Memory& memory, Station to) {
    return send_where(memory, to, [](const Store&) { return true; });
}
uint64_t Machine::send_sm(Memory& memory, uint32_t sm, Station to) {
    return send_where(memory, to,
                      [&](const Store& s) { return s.from.sm == sm && s.at >= Station::sm; });
}
uint64_t Machine::send_line(Memory& memory, uint32_t sm, uint64_t address) {
    const uint64_t line = address / 128 * 128;
    return send_where(memory, Station::vc,
                      [&](const Store& s) { return s.from.sm == sm && s.overlaps(line, 128); });
}

// What the thread may have seen goes with what it stored: of its CTA, then of its SM, then of all
// SMs. Otherwise a flag that one thread sets for all of its CTA after a barrier would say nothing
// of their data.
Cost Machine::membar(Memory& memory, const Place& place, Station level, bool data, bool texture) {
    Cost cost;
    cost.hops = static_cast<uint32_t>(level);
    if (data) invalidate_data(place.sm);
    if (texture) invalidate_texture(place.sm);
    cost.drains += send(memory, place, level);
    cost.drains += send_where(memory, level, [&](const Store& s) {
        switch (s.at) {
            case Station::own:
                return false;
            case Station::cta:
                return s.from.cta == place.cta;
            case Station::sm:
                return s.from.sm == place.sm;
            default:
                return true;
        }
    });
    return cost;
}

Machine::Sector& Machine::fill(Memory& memory, Cache& cache, uint32_t sm, uint64_t address) {
    const uint64_t at = sector_of(address);
    const auto [it, fresh] = cache.try_emplace({sm, at});
    Sector& sector = it->second;
    if (!fresh) return sector;
    if (memory.read(at, sector.bytes.data(), sector_bytes)) {
        sector.valid = ~0u;
    } else {  // it hangs over the end of an allocation
        for (unsigned i = 0; i < sector_bytes; ++i)
            if (memory.read(at + i, &sector.bytes[i], 1)) sector.valid |= 1u << i;
    }
    if (&cache != &l1_) return sector;
    // What the SM has in front of L2 is part of its copy.
    std::vector<const Store*> queued;
    for (const Store& s : stores_)
        if (s.at == Station::sm && s.from.sm == sm && s.overlaps(at, sector_bytes))
            queued.push_back(&s);
    std::ranges::sort(queued, {}, &Store::stamp);
    for (const Store* s : queued)
        for (unsigned i = 0; i < s->bytes; ++i)
            if (s->address + i - at < sector_bytes) sector.bytes[s->address + i - at] = s->value[i];
    return sector;
}

void Machine::load(Memory& memory, const Place& place, uint64_t address, unsigned bytes, Path path,
                   uint8_t* value) {
    for (unsigned i = 0; i < bytes; ++i) {
        const uint64_t a = address + i;
        if (path == Path::bypass) {
            memory.read(a, &value[i], 1);
        } else {
            Cache& cache = path == Path::texture    ? texture_
                           : path == Path::constant ? constant_
                                                    : l1_;
            value[i] = fill(memory, cache, place.sm, a).bytes[a % sector_bytes];
        }
    }
    if (path == Path::texture || path == Path::constant) return;
    // Nearer to the thread is newer.
    for (unsigned i = 0; i < bytes; ++i) {
        const Store* seen = nullptr;
        const auto rank = [](const Store& s) {
            return s.at == Station::own ? 3 : s.at == Station::cta ? 2 : 1;
        };
        for (const Store& s : stores_) {
            if (!s.covers(address + i) || s.at > Station::sm) continue;
            if (s.at == Station::own   ? s.from.thread != place.thread
                : s.at == Station::cta ? s.from.cta != place.cta
                                       : s.from.sm != place.sm)
                continue;
            if (!seen || rank(s) > rank(*seen) || (rank(s) == rank(*seen) && s.stamp > seen->stamp))
                seen = &s;
        }
        if (seen) value[i] = seen->value[address + i - seen->address];
    }
    if (path == Path::bypass)
        for (uint64_t a = sector_of(address); a < address + bytes; a += sector_bytes)
            invalidate(place.sm, a);
}

void Machine::before_atomic(Memory& memory, const Place& place, uint64_t address, unsigned bytes) {
    // What the thread can see of these bytes comes before it in L2.
    send_where(memory, Station::vc, [&](const Store& s) {
        if (!s.overlaps(address, bytes)) return false;
        switch (s.at) {
            case Station::own:
                return s.from.thread == place.thread;
            case Station::cta:
                return s.from.cta == place.cta;
            case Station::sm:
                return s.from.sm == place.sm;
            default:
                return false;
        }
    });
    for (uint64_t a = sector_of(address); a < address + bytes; a += sector_bytes)
        invalidate(place.sm, a);
    if (last_ == Station::vc) return;
    // Other channels see its result later, as they do a store's.
    Store s;
    s.id = s.stamp = next_++;
    s.from = place;
    s.address = address;
    s.bytes = static_cast<uint8_t>(bytes);
    s.at = Station::vc;
    memory.read(address, s.old.data(), bytes);
    stores_.push_back(s);
}

bool Machine::client_read(Memory& memory, Station client, uint64_t address, uint8_t* to,
                          unsigned bytes) const {
    for (unsigned i = 0; i < bytes; ++i) {
        if (!memory.read(address + i, &to[i], 1)) return false;
        const Store* first = nullptr;  // that the client does not see yet
        for (const Store& s : stores_)
            if (s.at >= Station::vc && s.at < client && s.covers(address + i) &&
                (!first || s.stamp < first->stamp))
                first = &s;
        if (first) to[i] = first->old[address + i - first->address];
    }
    return true;
}

void Machine::drop(Cache& cache, uint32_t sm) {
    const auto first = cache.lower_bound({sm, 0}), last = cache.lower_bound({sm + 1, 0});
    cache.erase(first, last);
}

void Machine::invalidate(uint32_t sm, uint64_t address) { l1_.erase({sm, sector_of(address)}); }

void Machine::invalidate_constant(uint32_t sm, uint64_t address) {
    constant_.erase({sm, sector_of(address)});
}

void Machine::evict(size_t index) {
    for (Cache* cache : caches()) {
        if (index < cache->size()) {
            cache->erase(std::next(cache->begin(), static_cast<std::ptrdiff_t>(index)));
            return;
        }
        index -= cache->size();
    }
}

size_t Machine::stale(Memory& memory) const {
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

std::string Machine::key() const {
    std::string text;
    const auto put = [&](uint64_t v, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(v >> 8 * i);
    };
    std::vector<const Store*> sorted;
    for (const Store& s : stores_) sorted.push_back(&s);
    std::ranges::sort(sorted, [](const Store* a, const Store* b) {
        return a->at != b->at ? a->at < b->at : a->stamp < b->stamp;
    });
    for (const Store* s : sorted) {
        put(static_cast<uint64_t>(s->at), 1);
        put(s->from.thread, 8);
        put(s->address, 8);
        put(s->bytes, 1);
        text.append(s->value.begin(), s->value.end());
        text.append(s->old.begin(), s->old.end());
    }
    for (const Cache* cache : caches()) {
        put(cache->size(), 2);
        for (const auto& [where, sector] : *cache) {
            put(where.first, 4);
            put(where.second, 8);
            text.append(sector.bytes.begin(), sector.bytes.end());
        }
    }
    return text;
}

}  // namespace caches
