// SPDX-License-Identifier: Apache-2.0
// See metrics.hpp.
#include "metrics.hpp"

#include <algorithm>
#include <array>

namespace profiling {

uint32_t shared_passes(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, uint32_t& ideal) {
    // Naturally aligned units: those of one column of banks meet, others never do.
    const uint32_t unit = std::clamp(bytes, bank_bytes, 4 * bank_bytes);
    const uint32_t columns = banks * bank_bytes / unit, at_once = columns;
    uint32_t passes = 0, next = 0;
    ideal = 0;
    for (uint32_t first = 0; first < 32; first += at_once) {
        std::array<uint8_t, banks> used{};
        uint64_t units[banks][banks];
        uint32_t most = 0, all = 0;
        for (uint32_t lane = first; lane < first + at_once; ++lane) {
            if (!(lanes >> lane & 1)) continue;
            const uint64_t u = addresses[next++] / unit;
            const auto column = static_cast<uint32_t>(u % columns);
            uint64_t* const list = units[column];
            if (std::find(list, list + used[column], u) != list + used[column]) continue;
            list[used[column]++] = u;
            most = std::max<uint32_t>(most, used[column]);
            ++all;
        }
        passes += most;
        ideal += all != 0;
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
