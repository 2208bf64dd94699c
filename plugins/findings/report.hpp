// SPDX-License-Identifier: Apache-2.0
// Findings of plugins whose output is something else: a line each, without a report of their own.
#pragma once

#include <algorithm>
#include <sassemu/names.hpp>
#include <sassemu/plugin.hpp>
#include <string>
#include <vector>

namespace findings {

inline void report(const sassemu::Plugin& plugin, uint32_t severity, const char* kind,
                   const std::string& message) {
    sassemu_finding f{};
    f.size = sizeof f;
    f.severity = severity;
    f.kind = kind;
    f.message = message.c_str();
    plugin.host.report(plugin.session, &f);
}

// A name of option `kernel` that no launch had, beside those that were launched: a slip, as a rule.
template <class Names>
void report_unknown_kernels(const sassemu::Plugin& plugin, const std::vector<std::string>& wanted,
                            const Names& launched) {
    for (const std::string& name : wanted) {
        if (std::any_of(launched.begin(), launched.end(), [&](const std::string& symbol) {
                return sassemu::names::means(symbol, name);
            }))
            continue;
        std::string message = "no launch of '" + name + "'; there were:";
        for (const std::string& other : launched) message += " " + sassemu::names::demangled(other);
        report(plugin, SASSEMU_WARNING, "unknown-kernel", message);
    }
}

}  // namespace findings
