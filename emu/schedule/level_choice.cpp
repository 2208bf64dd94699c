// SPDX-License-Identifier: Apache-2.0
// Which host level this CPU runs. A level's library is opened when the first run wants it.
#include "emu/schedule/level_choice.hpp"

#include <dlfcn.h>

namespace sassemu {

namespace {

struct Candidate {
    HostLevel level;
    const char* name;
    bool here;  // the CPU has it
};

// The library lies where libsassemu's run path says; what is open already is not looked for again.
Result<const LevelTable*> open_level(const std::string& name) {
    const std::string file = "libsassemu_" + name + ".so";
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const table = library ? ::dlsym(library, ("sassemu_level_" + name).c_str()) : nullptr;
    if (table) return reinterpret_cast<LevelFunction>(table)();
    const char* const why = ::dlerror();
    return Error{ErrorCode::system, "host level " + name,
                 "its library cannot be loaded: " + std::string(why ? why : file),
                 file + " belongs beside libsassemu.so"};
}

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
        {HostLevel::v4, "v4", v4},
#endif
#ifdef SASSEMU_HAS_V3
        {HostLevel::v3, "v3", v3},
#endif
        {HostLevel::v2, "v2", true},
    };
    std::string has;
    for (const Candidate& c : candidates) {
        if (!c.here) continue;
        if (wanted == HostLevel::automatic || wanted == c.level) return open_level(c.name);
        has += (has.empty() ? "" : ", ") + std::string(c.name);
    }
    return Error{ErrorCode::usage, "host level", "this CPU or build does not have it",
                 "it has " + has + "; configured with -USASSEMU_LEVELS a build has all"};
}

}  // namespace sassemu
