// SPDX-License-Identifier: Apache-2.0
// Which host level this CPU runs.
#include "emu/schedule/level_choice.hpp"

#include <cstring>

namespace sassemu {

namespace {

struct Candidate {
    HostLevel level;
    const char* name;
    LevelFunction table;
    bool here;  // the CPU has it
};

}  // namespace

Result<const LevelTable*> choose_level(HostLevel wanted) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    [[maybe_unused]] const bool v3 = __builtin_cpu_supports("avx2") &&
                                     __builtin_cpu_supports("fma") &&
                                     __builtin_cpu_supports("bmi2");
    [[maybe_unused]] const bool v4 =
        v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd");
#endif
    const Candidate candidates[] = {
#ifdef SASSEMU_HAS_V4
        {HostLevel::v4, "v4", sassemu_level_v4, v4},
#endif
#ifdef SASSEMU_HAS_V3
        {HostLevel::v3, "v3", sassemu_level_v3, v3},
#endif
#ifdef SASSEMU_HAS_V2
        {HostLevel::v2, "v2", sassemu_level_v2, true},
#endif
    };
    std::string has;
    for (const Candidate& c : candidates) {
        if (!c.here) continue;
        if (wanted == HostLevel::automatic || wanted == c.level) return c.table();
        has += (has.empty() ? "" : ", ") + std::string(c.name);
    }
    return Error{ErrorCode::usage, "host level", "this CPU or build does not have it",
                 "it has " + (has.empty() ? "none for this CPU" : has) +
                     "; configured with -USASSEMU_LEVELS a build has all"};
}

}  // namespace sassemu
