// SPDX-License-Identifier: Apache-2.0
// Does what a plan says and reports what happened. What belongs here: memory set-up, launches in
// order, comparison, the exit code's rule. What does not: text (report.hpp), options' syntax (cli).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/evidence/evidence.hpp"
#include "emu/gpu.hpp"
#include "emu/machine/state_fill.hpp"
#include "emu/plan/compare.hpp"
#include "emu/plan/plan.hpp"
#include "emu/plan/ranks.hpp"

namespace sassemu {
class Hooks;    // plugins at work: emu/plugin/hooks.hpp
class Stepper;  // emu/machine/stepper.hpp
}  // namespace sassemu

namespace sassemu::plan {

// A buffer (or global) whose bytes go to a file after the last launch, whatever the outcome.
struct Dump {
    std::string buffer, file;
};

struct RunOptions {
    GpuOptions gpu;  // its device profile is replaced: by the plan's, or the architecture's own
    StateFill fill;  // what kernels find where nobody has written; no buffers
    std::optional<double> time_limit;  // seconds; these two replace the plan's own
    std::optional<uint64_t> max_warp_instructions;
    std::string arch;  // replaces the plan's
    std::vector<Dump> dumps;
    std::function<void(std::string_view)> on_stdout;    // device printf, as it comes
    std::function<void(std::string_view)> on_progress;  // one line per step
    std::function<Result<void>()> on_loaded;  // every input file is read, but for expectations
    // Everything is in its place; buffers by name. With several GPUs the first.
    std::function<void(Gpu&, const std::unordered_map<std::string, uint64_t>&)> on_placed;
    // Plugins, NAME or file.so and then :key=value,...; names are looked up in the directories
    // first.
    std::vector<std::string> plugins, plugin_directories;
    std::function<void(std::string_view)>
        on_plugin_text;  // what plugins print; empty: standard output
    // Plugins that load_plugins() has made, for so many runs, and how many have ended. The last one
    // ends them, and one that does not come to its end.
    std::shared_ptr<Hooks> hooks;
    uint64_t runs = 1, runs_ended = 0;
    bool evidence = false;         // the report says on what the kernels' instructions rest
    bool hash = false;             // and has the hash of the run
    Stepper* stepper = nullptr;    // a debugger, with gpu.deterministic; null: none
    std::shared_ptr<Ranks> ranks;  // other processes that run the same plan; null: none
    std::shared_ptr<class HostProcesses> host;  // of a plan with several things in flight; or null
    // How a GPU is made; empty: create_gpu, with the plugins.
    std::function<Result<std::unique_ptr<Gpu>>(GpuOptions)> create_gpu;
};

struct LaunchReport {
    std::string kernel;
    std::string stream;  // as the plan names it; empty: none
    uint32_t gpu = 0;
    bool elsewhere = false;  // another rank runs it
    Dim3 grid, block;
    uint32_t repeats = 0;  // how often it ran, a failed run included
    LaunchStatus status = LaunchStatus::not_run;
    std::optional<GuestFault> fault;
    std::string message;
    LaunchStats stats;  // summed over the repeats
};

struct RunReport {
    std::string plan, arch, device;
    uint32_t rank = 0, ranks = 1;  // which of several processes that run the plan
    HostLevel level = HostLevel::automatic;
    std::vector<LaunchReport> launches;
    LaunchStatus status = LaunchStatus::ok;  // of the first launch that did not end well
    FaultKind fault = FaultKind::none;
    StatusExpectation expected;
    std::vector<Comparison> comparisons;  // none when the status was not the expected one
    std::string out;                      // what device printf wrote: its first out_kept bytes
    static constexpr size_t out_kept = 64 << 10;
    bool out_met = true;  // all of it was what the plan expects
    std::optional<std::string> expected_out;
    std::optional<uint64_t> expected_warp_instructions;
    LaunchStats total;
    bool partial = false;  // a launch did not complete
    // Where a limit or a signal has ended it, if not in a launch: comparisons are missing.
    std::optional<Error> cut;
    // Of the options' runs those that have ended, this one too unless a limit or a signal has cut
    // it; and whether it was the last.
    uint64_t runs = 1, runs_ended = 0;
    bool plugins_ended = false;
    std::vector<Error> write_errors;  // dumps and plugins' reports that could not be written
    std::vector<std::string> notes;
    uint64_t findings = 0;                        // of checkers
    std::optional<EvidenceCounts> evidence;       // instructions of the launched kernels
    std::string hash;                             // 64 hex digits; empty: not asked for
    std::map<std::string, std::string> sections;  // what plugins have added, by key: JSON

    bool status_met() const;
    bool results_met() const;  // buffers, stdout, instruction count
    int exit_code() const;     // the command line's contract
};

// An Error: nothing usable came out (bad plan, module, argument). Guest faults are in the report.
Result<RunReport> run_plan(const Plan& plan, const RunOptions& options);
// The plugins of the options, for RunOptions::hooks; null: there are none.
Result<std::shared_ptr<Hooks>> load_plugins(const RunOptions& options);
// Ends plugins of several runs where the last did not: what they have found is told and written.
void end_plugins(Hooks& hooks, RunReport& report);

}  // namespace sassemu::plan
