// SPDX-License-Identifier: Apache-2.0
// See limits.hpp.
#include "emu/cli/limits.hpp"

#include <unistd.h>

#include "emu/base/exit_code.hpp"
#include "emu/cli/options.hpp"
#include "emu/plan/atomic_file.hpp"

namespace sassemu::cli {
namespace {

// One line, and the end: what does not ask cannot be asked to end in order.
void end_process(const std::string& name, Budget::Stop why) {
    const Error error = process_budget().error(why, name);
    const std::string line = "sassemu: " + error.message() + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    plan::remove_temporary_files();
    ::_exit(why == Budget::Stop::interrupted ? exit_with::interrupted : exit_code(error.code));
}

}  // namespace

void CommandLimits::add_to(CLI::App& sub) {
    const auto is_time_limit = [](const CLI::Option* option) {
        return option->check_lname("time-limit");
    };
    if (sub.get_options(is_time_limit).empty())
        sub.add_option("--time-limit", seconds_, "seconds for the whole command")
            ->check(limit_in_seconds(1e-9));
    sub.add_option("--memory-limit", memory_,
                   "bytes of memory that it may touch, or with K, M or G; default: three quarters "
                   "of the machine's, or of the control group's")
        ->transform(CLI::AsSizeValue(false))
        ->check(positive());
    sub.parse_complete_callback([this, &sub] { begin(sub); });
}

void CommandLimits::begin(const CLI::App& sub) {
    Budget& budget = process_budget();
    if (memory_ != 0 && budget.resident() == 0)
        throw CLI::ValidationError("--memory-limit",
                                   "cannot hold: the system does not say how much memory is in use "
                                   "(/proc/self/statm); mount /proc, or leave the option out");
    budget.set_memory_limit(memory_ != 0 ? memory_ : default_memory_limit());
    budget.set_time_limit(seconds_);
    watchdog_ = std::make_unique<Watchdog>(
        budget, [name = sub.get_name()](Budget::Stop why) { end_process(name, why); });
}

}  // namespace sassemu::cli
