// SPDX-License-Identifier: Apache-2.0
// The wgmma of the warpgroups of a CTA: which warps have issued what. The four warps of a warpgroup
// do one together, once all have issued it. Who does it is async/warpgroup_work.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emu/machine/tensor_requests.hpp"

namespace sassemu {
struct Op;
}

namespace sassemu::async {

// The metadata of a sparse product: a word of each lane of its four warps.
using WarpgroupMetadata = std::array<std::array<uint32_t, 32>, 4>;

struct Warpgroup {
    struct Issue {
        const Op* op;
        WarpgroupMultiply m;
        uint32_t warps;              // bit per warp that has issued it
        WarpgroupMetadata metadata;  // read as each warp issues it
    };
    std::vector<Issue> queue;  // that not all warps have issued, or that are not done
    uint64_t done = 0;         // wgmma before those
    uint64_t signals_done = 0;
    std::array<uint64_t, 4> issued{}, signals{};  // by each warp

    std::array<uint64_t, 4> arrived{};  // WARPGROUP.ARRIVE by each warp

    // Those that have arrived less often than this one (bit per warp).
    uint32_t behind(uint32_t warp) const {
        uint32_t all = 0;
        for (uint32_t i = 0; i < 4; ++i) all |= uint32_t{arrived[i] < arrived[warp]} << i;
        return all;
    }
    // Those of a warp that signal and are not done.
    uint64_t pending(uint32_t warp) const { return signals[warp] - signals_done; }
    // All have issued the oldest.
    bool ready() const { return !queue.empty() && queue.front().warps == 15; }
};
using Warpgroups = std::array<Warpgroup, 8>;

}  // namespace sassemu::async
