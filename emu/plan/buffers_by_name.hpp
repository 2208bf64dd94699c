// SPDX-License-Identifier: Apache-2.0
// A plan's buffers by their names, for whoever looks up many: a plan may have as many as it has
// lines. Nothing else belongs here.
#pragma once

#include <string_view>
#include <unordered_map>

#include "emu/plan/plan.hpp"

namespace sassemu::plan {

// As long as the plan's list of buffers stays as it is.
using BuffersByName = std::unordered_map<std::string_view, const Buffer*>;

inline BuffersByName buffers_by_name(const Plan& plan) {
    BuffersByName all;
    all.reserve(plan.buffers.size());
    for (const Buffer& buffer : plan.buffers) all.emplace(buffer.name, &buffer);
    return all;
}

}  // namespace sassemu::plan
