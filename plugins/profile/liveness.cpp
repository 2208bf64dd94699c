// SPDX-License-Identifier: Apache-2.0
// See liveness.hpp: the backward data flow of textbooks.
#include "liveness.hpp"

#include <bit>
#include <cstddef>

namespace profiling {

std::vector<uint32_t> live_registers(const std::vector<Step>& function) {
    const size_t n = function.size();
    std::vector<uint32_t> leaders;
    for (const Step& s : function)
        leaders.insert(leaders.end(), s.targets.begin(), s.targets.end());
    std::vector<Registers> in(n);
    Registers at_leaders{};
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) {
            const Step& s = function[k];
            Registers live{};
            const auto add = [&](const Registers& from) {
                for (size_t w = 0; w < live.size(); ++w) live[w] |= from[w];
            };
            if (s.falls_through && k + 1 < n) add(in[k + 1]);
            for (const uint32_t t : s.targets) add(in[t]);
            if (s.anywhere) add(at_leaders);
            for (size_t w = 0; w < live.size(); ++w) {
                if (s.always) live[w] &= ~s.written[w];
                live[w] |= s.read[w];
            }
            changed |= live != in[k];
            in[k] = live;
        }
        for (const uint32_t l : leaders)
            for (size_t w = 0; w < at_leaders.size(); ++w) {
                changed |= (in[l][w] & ~at_leaders[w]) != 0;
                at_leaders[w] |= in[l][w];
            }
    }
    std::vector<uint32_t> counts;
    for (size_t k = 0; k < n; ++k) {
        uint32_t count = 0;
        for (size_t w = 0; w < in[k].size(); ++w)
            count += static_cast<uint32_t>(std::popcount(in[k][w] | function[k].written[w]));
        counts.push_back(count);
    }
    return counts;
}

}  // namespace profiling
