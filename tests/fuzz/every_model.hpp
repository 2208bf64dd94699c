// SPDX-License-Identifier: Apache-2.0
// What fuzzers of exploration share: one test under every judge and machine that ships.
#pragma once

#include "emu/explore/graph/witness.hpp"
#include "emu/explore/machines/explore_machine.hpp"

namespace sassemu::explore {

inline void explore_under_every_model(Test& test) {
    const Limits limits{.seconds = 0.02, .executions = 50};
    for (const Sampling& sampling : {Sampling{}, Sampling{2, 1, 3}}) {
        // A liveness test has no condition, and machines want one.
        if (test.condition) {
            for (const char* machine : {"caches", "flat", "nvshmem", "weak"}) {
                const auto report = explore_machine(test, machine, limits, sampling);
                if (!report && report.error().message().empty()) __builtin_trap();
            }
        }
        for (const auto& [name, options] : {std::pair{"ptx60", ""},
                                            {"ptx75-proxy", ""},
                                            {"ptx", "reading=strict"},
                                            {"ptx", "reading=relied"}}) {
            const auto judge = Judge::open(name, options);
            if (!judge) __builtin_trap();
            const auto report = explore(test, **judge, limits, sampling);
            if (!report && report.error().message().empty()) __builtin_trap();
            if (!report || !report->witness) continue;
            if (witness_text(test, *report).empty() || witness_graphviz(test, *report).empty())
                __builtin_trap();
        }
    }
}

}  // namespace sassemu::explore
