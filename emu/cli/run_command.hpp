// SPDX-License-Identifier: Apache-2.0
// What `run` and the commands made of it share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/cli/options.hpp"
#include "emu/cli/quick_form.hpp"
#include "emu/link/host_service.hpp"

namespace sassemu::link {
class Launcher;
}

namespace sassemu::cli {

struct RunCommand {
    std::string file;
    CommonOptions common;
    QuickForm quick;
    bool ranks = false;  // one of several processes that run the plan
    uint32_t rank = 0;
    std::vector<std::string> peers;  // where each rank listens, by rank; empty: the launcher knows
    std::string key, certificate, authority;   // files: who may be a rank beyond this host
    std::shared_ptr<link::Launcher> launcher;  // that has started the ranks
    bool messages = false;                     // memory is not shared, even where it could be
    link::HostServiceOptions host;  // its address: where host processes attach; empty: nowhere
    double patience = 60;           // of the same, in seconds
    bool json = false;              // one JSON object on standard output, and nothing else
    bool fidelity = false;          // a statement of what the results rest on
    uint64_t seeds = 1;         // how many: --seed and those after it; plugins see all runs as one
    uint32_t gpus = 0;          // instead of the plan's number; 0: the plan's
    std::string report_option;  // the option that names a plugin's report file; empty: none does
};

CLI::Option_group* add_quick_options(CLI::App& sub, RunCommand& command);
// One plan, of a file, for one architecture: the one that the options name, or its first.
Result<plan::Plan> read_command_plan(const RunCommand& command, bool quick_options);
// The exit code. `quick_options`: some of those were given.
Result<int> run(const RunCommand& command, bool quick_options);

}  // namespace sassemu::cli
