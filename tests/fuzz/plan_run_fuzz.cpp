// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any plan, whatever it claims (grids, buffers, repeats), on a small module under
// small limits -> a report or one line, in time and memory. Build: cmake --preset fuzz && cmake
// --build --preset fuzz Run: plan_run_fuzz -max_total_time=600 corpus/ build/fuzz/seeds/plan
#include <cstdint>
#include <string_view>

#include "emu/base/limits.hpp"
#include "emu/plan/report.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu {
namespace {

constexpr uint64_t memory = 512 << 20;
constexpr double seconds = 2;

// The plan's files are not the fuzzer's to choose.
void without_files(plan::Contents& contents) { contents.file.clear(); }
void without_files(std::optional<plan::Expectation>& expect) {
    if (expect && !expect->file.empty()) expect.reset();
}

void run(std::string_view text) {
    auto plan = plan::read_plan(text, "fuzz.json");
    if (!plan) return;
    for (std::string& module : plan->modules)
        module = SASSEMU_SOURCE_DIR "/cubins/dp4a/sm_90.cubin";
    for (plan::Buffer& buffer : plan->buffers)
        without_files(buffer.contents), without_files(buffer.expect);
    for (plan::Global& global : plan->globals)
        without_files(global.contents), without_files(global.expect);

    Budget& budget = process_budget();
    budget.reset();
    budget.set_memory_limit(budget.resident() + memory);
    budget.set_time_limit(seconds);
    // Who does not heed the limits is what this looks for.
    const Watchdog watchdog(budget, [](Budget::Stop) { __builtin_trap(); });
    plan::RunOptions options;
    options.gpu.threads = 1;
    options.max_warp_instructions = 4000;
    options.on_stdout = [](std::string_view) {};
    const auto report = plan::run_plan(*plan, options);
    if (!report) {
        if (report.error().message().empty() || exit_code(report.error().code) == 7)
            __builtin_trap();
        return;
    }
    if (report->exit_code() == 7 || plan::report_text(*report).empty()) __builtin_trap();
}

}  // namespace
}  // namespace sassemu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sassemu::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
