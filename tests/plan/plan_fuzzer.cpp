// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a plan. The reader must answer with a plan or one error line.
// It is built from the reader's own sources: the engine has no part in reading.
#include <cstdlib>
#include <string_view>

#include "emu/plan/plan.hpp"

namespace sassemu {

// The reader lists the engine's fault names; here any distinct words do.
std::string_view fault_name(FaultKind kind) {
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
    return letters.substr(static_cast<size_t>(kind), 1);
}

}  // namespace sassemu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto plan = sassemu::plan::read_plan(text, "fuzz.json");
    if (!plan && (plan.error().message().find('\n') != std::string::npos ||
                  sassemu::exit_code(plan.error().code) != 2)) {
        std::abort();
    }
    return 0;
}
