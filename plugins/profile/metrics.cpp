// SPDX-License-Identifier: Apache-2.0
// See metrics.hpp.
#include "metrics.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace profiling {

namespace {

// Where each lane's bytes lie, in naturally aligned units: those of one column of banks meet,
// others never do.
struct Units {
    std::array<uint64_t, 32> unit;
    uint32_t lanes, columns;

    Units(const uint64_t* addresses, uint32_t set, uint32_t bytes) : unit{}, lanes(set) {
        const uint32_t size = std::clamp(bytes, bank_bytes, 4 * bank_bytes);
        columns = banks * bank_bytes / size;
        for (uint32_t lane = 0, next = 0; lane < 32; ++lane)
            if (set >> lane & 1) unit[lane] = addresses[next++] / size;
    }
    bool has(uint32_t lane) const { return lanes >> lane & 1; }

    // Different units (or lanes) of the fullest column.
    uint32_t fullest(uint32_t first, uint32_t count, bool shared) const {
        std::array<uint8_t, banks> used{};
        uint64_t list[banks][banks];
        uint32_t most = 0;
        for (uint32_t lane = first; lane < first + count; ++lane) {
            if (!has(lane)) continue;
            const uint64_t u = unit[lane];
            const auto column = static_cast<uint32_t>(u % columns);
            uint64_t* const here = list[column];
            if (shared && std::find(here, here + used[column], u) != here + used[column]) continue;
            here[used[column]++] = u;
            most = std::max<uint32_t>(most, used[column]);
        }
        return most;
    }

    // Lanes a and a ^ distance of [first, first + 16 or 32) want the same, as far as both take
    // part; `strict`: and take part both or not at all.
    bool paired(uint32_t first, uint32_t count, uint32_t distance, bool strict) const {
        for (uint32_t lane = first; lane < first + count; ++lane) {
            const uint32_t other = lane ^ distance;
            if (has(lane) && has(other) ? unit[lane] != unit[other]
                                        : strict && has(lane) != has(other))
                return false;
        }
        return true;
    }
    bool paired(uint32_t first, uint32_t count, bool strict = false) const {
        return paired(first, count, 1, strict) || paired(first, count, 2, strict);
    }

    // Two parts of a wide load that are served together take one pass, or are served apart.
    bool together(uint32_t first, uint32_t part) const {
        if (fullest(first, 2 * part, true) > 1) return false;
        // Of 16 bytes, the first half of the warp follows another rule than the second.
        if (part == 8 && first == 0) return !has(31) || paired(0, 16, true);
        return paired(first, 2 * part);
    }
};

}  // namespace

uint32_t shared_passes(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, Sharing sharing,
                       uint32_t& ideal) {
    const Units units(addresses, lanes, bytes);
    const uint32_t part = units.columns;
    uint32_t passes = 0;
    ideal = 0;
    const bool wide_load = sharing == Sharing::load && part < 32;
    const auto count = static_cast<uint32_t>(std::popcount(lanes));
    if (wide_load && part == 8 && count &&
        std::all_of(addresses, addresses + count, [&](uint64_t a) { return a == addresses[0]; })) {
        ideal = count > 16 ? 2 : 1;
        return ideal;
    }
    for (uint32_t first = 0; first < 32; first += part) {
        if (wide_load && first % (2 * part) == 0 && units.together(first, part)) {
            const uint32_t one = units.fullest(first, 2 * part, true);
            passes += one;
            ideal += one;
            first += part;
            continue;
        }
        const uint32_t here = units.fullest(first, part, sharing != Sharing::none);
        passes += here;
        ideal += here != 0;
    }
    return passes;
}

uint32_t copy_passes(const uint64_t* to, const uint64_t* from, uint32_t to_lanes,
                     uint32_t from_lanes, uint32_t bytes, uint32_t& ideal) {
    const Units there(to, to_lanes, bytes), here(from, from_lanes, bytes);
    uint32_t passes = 0;
    ideal = 0;
    for (uint32_t first = 0; first < 32; first += there.columns) {
        const uint32_t most = std::max(there.fullest(first, there.columns, false),
                                       here.fullest(first, here.columns, false));
        passes += most;
        ideal += most != 0;
    }
    return passes;
}

uint32_t sectors(const uint64_t* addresses, uint32_t count, uint32_t bytes, uint32_t& ideal) {
    std::array<uint64_t, 64> all;
    uint32_t n = 0;
    bool ascends = true;
    uint64_t units = 0, before = ~uint64_t{0};
    for (uint32_t k = 0; k < count; ++k) {
        units += addresses[k] != before;  // neighbours with the same bytes need them once
        before = addresses[k];
        const uint64_t low = addresses[k] / sector_bytes,
                       high = (addresses[k] + bytes - 1) / sector_bytes;
        for (uint64_t s = low; s <= high; ++s) {
            if (n && all[n - 1] == s) continue;
            ascends &= !n || all[n - 1] < s;
            all[n++] = s;
        }
    }
    if (!ascends) {
        std::sort(all.begin(), all.begin() + n);
        n = static_cast<uint32_t>(std::unique(all.begin(), all.begin() + n) - all.begin());
    }
    ideal = std::min<uint32_t>(
        n, static_cast<uint32_t>((units * bytes + sector_bytes - 1) / sector_bytes));
    return n;
}

uint32_t contention(const uint64_t* addresses, uint32_t count) {
    std::array<uint64_t, 32> all;
    std::copy_n(addresses, count, all.begin());
    std::sort(all.begin(), all.begin() + count);
    uint32_t most = 0, run = 0;
    for (uint32_t k = 0; k < count; ++k) {
        run = k && all[k] == all[k - 1] ? run + 1 : 1;
        most = std::max(most, run);
    }
    return most;
}

}  // namespace profiling
