// SPDX-License-Identifier: Apache-2.0
// Whom a question is about, and its text in messages: [launch, CTA, warp, lane], and a frame unless
// it is the innermost. Nothing else belongs here.
#pragma once

#include "emu/debug/json.hpp"

namespace sassemu::debug {

// Whom a question is about. Names, not pointers: they mean the same in every process.
struct Focus {
    uint64_t launch = 0, cta = 0;  // %gridid; linear index
    uint32_t warp = 0, lane = 0;
    uint32_t frame = 0;  // from the innermost function that the lane is in
    bool operator==(const Focus&) const = default;
    Json json() const;
    // Of anything; what is none has zeros.
    static Focus of(const Json& json);
    bool is_same_warp(const Focus& other) const {
        return launch == other.launch && cta == other.cta && warp == other.warp;
    }
};

}  // namespace sassemu::debug
