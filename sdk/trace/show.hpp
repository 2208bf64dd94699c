// SPDX-License-Identifier: Apache-2.0
// Words for what traces have, for messages. Not installed.
#pragma once

#include <algorithm>
#include <cstdio>
#include <sassemu/trace.hpp>

namespace sassemu::trace {

inline std::string hex(uint64_t v) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
    return text;
}

inline std::string place_text(const Reader& trace, uint64_t launch, uint64_t cta) {
    std::string text = "launch " + std::to_string(launch);
    const auto& all = trace.launches();
    // They count from 1; of a filtered trace some are missing.
    auto of = launch && launch <= all.size() ? all.begin() + static_cast<int64_t>(launch) - 1
                                             : all.begin();
    if (of == all.end() || of->id() != launch)
        of =
            std::find_if(all.begin(), all.end(), [&](const Launch& l) { return l.id() == launch; });
    if (of != all.end()) text = "kernel " + of->kernel() + " (" + text + ")";
    const auto at = trace.ctas().find({launch, cta});
    if (at == trace.ctas().end()) return text + ", CTA " + std::to_string(cta);
    const Dim3& id = at->second.id();
    return text + ", CTA (" + std::to_string(id.x()) + "," + std::to_string(id.y()) + "," +
           std::to_string(id.z()) + ")";
}

}  // namespace sassemu::trace
