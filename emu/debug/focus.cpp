// SPDX-License-Identifier: Apache-2.0
// See focus.hpp.
#include "emu/debug/focus.hpp"

namespace sassemu::debug {

Json Focus::json() const {
    Json out = {launch, cta, warp, lane};
    if (frame) out.push_back(frame);
    return out;
}

Focus Focus::of(const Json& json) {
    Focus f;
    if (!json.is_array() || json.size() < 4 || json.size() > 5) return f;
    f.launch = as<uint64_t>(item(json, 0), "a launch");
    f.cta = as<uint64_t>(item(json, 1), "a block");
    f.warp = as<uint32_t>(item(json, 2), "a warp");
    f.lane = as<uint32_t>(item(json, 3), "a lane") & 31;
    if (json.size() == 5) f.frame = as<uint32_t>(item(json, 4), "a frame");
    return f;
}

}  // namespace sassemu::debug
