// SPDX-License-Identifier: Apache-2.0
// See options.hpp.
#include "emu/cli/options.hpp"

#include <cstdio>
#include <limits>

#include "emu/base/input_file.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/progress_line.hpp"
#include "emu/plan/element.hpp"
#include "emu/schedule/schedules.hpp"

namespace sassemu::cli {

CLI::Validator limit_in_seconds(double least) {
    return {[least](const std::string& text) {
                constexpr double most = 1e9;
                double seconds = 0;
                if (CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= most)
                    return std::string();
                char range[64];
                std::snprintf(range, sizeof range, "' is no time from %g to %g seconds", least,
                              most);
                return "'" + text + range;
            },
            "SECONDS"};
}

CLI::Validator positive() {
    return {[](const std::string& text) {
                double number = 0;
                const bool good = CLI::detail::lexical_cast(text, number) && number > 0;
                return good ? std::string() : "'" + text + "' is no number above 0";
            },
            "POSITIVE"};
}

void add_machine_options(CLI::App& app, CommonOptions& options) {
    app.add_option("--model", options.models, "memory model: NAME or file.so, then :key=value,...")
        ->expected(1)
        ->take_last();
    app.add_option("--plugin", options.plugins, "plugin: NAME or file.so (repeatable)")
        ->allow_extra_args(false);
    app.add_option("--threads", options.threads, "worker threads; 0: all that the host has");
    app.add_option("--seed", options.seed, "seed of every choice that is left open");
    app.add_flag("--deterministic", options.deterministic,
                 "one logical scheduler: same bytes whatever --threads");
    app.add_flag("--reference", options.reference, "the scalar reference, without fast paths");
    app.add_option("--agents", options.agents,
                   "when asynchronous copies take place: eager, lazy (as late as can be) or random "
                   "(by --seed)")
        ->check(CLI::IsMember({"eager", "lazy", "random"}));
    app.add_option("--fill", options.fill,
                   "what kernels find where nobody has written (registers, shared and local "
                   "memory, malloc; not buffers): 0x and 2, 4 or 8 digits, random:SEED; zeros");
    app.add_option("--time-limit", options.time_limit,
                   "seconds for the whole command, until its results are written")
        ->check(limit_in_seconds(1e-9));
    app.add_option("--max-instructions", options.max_instructions,
                   "warp instructions for all launches together: it ends after so many, exactly")
        ->check(positive());
    app.add_option("--level", options.level, "instruction set of the host to use")
        ->check(CLI::IsMember({"v2", "v3", "v4"}));
    add_progress_option(app, options.progress);
}

void add_common_options(CLI::App& app, CommonOptions& options) {
    add_machine_options(app, options);
    app.add_option("--dump", options.dumps,
                   "BUFFER=FILE: its bytes after the last launch (repeatable)")
        ->allow_extra_args(false);
    app.add_flag("--stats{-}", options.stats,
                 "one JSON object as the last line of stdout, or =FILE");
    app.add_flag("--sandbox", options.sandbox,
                 "once everything is loaded, leave the run nothing but its output files (Linux; "
                 "SECURITY.md)");
    app.add_option("--root", options.root,
                   "the plan and every file that it names lie in this folder, links included");
    app.add_option("--directory", options.directories,
                   "source files that modules name may be shown from this folder (repeatable); "
                   "besides, from that of --root")
        ->allow_extra_args(false);
    app.add_option(
        "--arch", options.arch,
        "architecture to run as, e.g. sm_90; default: the plan's, all of a list in turn");
}

namespace {

// Who makes a page with sources in it is told where these may lie.
Result<std::vector<std::string>> plugins_of(const CommonOptions& options) {
    std::vector<std::string> all = options.plugins, folders = options.directories;
    if (!options.root.empty()) folders.push_back(options.root);
    for (std::string& plugin : all) {
        if (!plugin.starts_with("profile:")) continue;
        for (const std::string& folder : folders) {
            if (folder.find(',') != folder.npos)
                return make_error(ErrorCode::usage, "--plugin profile",
                                  "the folder '" + folder + "' has a comma in its name");
            plugin += ",directory=" + folder;
        }
    }
    return all;
}

}  // namespace

Result<void> confine_inputs(const CommonOptions& options) {
    if (!options.root.empty()) SASSEMU_TRY(keep_inputs_inside(options.root));
    for (const std::string& directory : options.directories)
        SASSEMU_TRY(add_source_folder(directory));
    return {};
}

Result<plan::RunOptions> run_options(const CommonOptions& options) {
    plan::RunOptions run;
    SASSEMU_ASSIGN(run.plugins, plugins_of(options));
    if (!options.models.empty()) run.gpu.model = options.models.back();
    run.gpu.threads = options.threads;
    run.gpu.seed = options.seed;
    run.gpu.deterministic = options.deterministic;
    run.gpu.reference = options.reference;
    if (options.agents.empty()) run.gpu.agents = agent_order_of(options.seed);
    if (options.agents == "lazy") run.gpu.agents = AgentOrder::lazy;
    if (options.agents == "random") run.gpu.agents = AgentOrder::random;
    if (options.level == "v2") run.gpu.level = HostLevel::v2;
    if (options.level == "v3") run.gpu.level = HostLevel::v3;
    if (options.level == "v4") run.gpu.level = HostLevel::v4;
    if (options.time_limit > 0) run.time_limit = options.time_limit;
    if (options.max_instructions > 0) run.max_warp_instructions = options.max_instructions;
    run.arch = options.arch;
    if (!options.fill.empty()) {
        SASSEMU_ASSIGN(run.fill, StateFill::parse(options.fill));
    }
    for (const std::string& text : options.dumps) {
        const size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
            return make_error(ErrorCode::usage, "--dump " + text, "expected BUFFER=FILE");
        }
        run.dumps.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return run;
}

Result<Dim3> parse_dim3(const std::string& text, const std::string& what) {
    Dim3 dim;
    uint32_t* const axes[3] = {&dim.x, &dim.y, &dim.z};
    size_t start = 0;
    for (size_t i = 0; i < 3; ++i) {
        const size_t comma = text.find(',', start);
        const auto value =
            plan::parse_unsigned(std::string_view(text).substr(start, comma - start), INT32_MAX);
        if (!value || *value == 0) break;
        *axes[i] = static_cast<uint32_t>(*value);
        if (comma == std::string::npos) return dim;
        start = comma + 1;
    }
    return make_error(ErrorCode::usage, what + " " + text,
                      "expected one to three positive numbers, e.g. 4,1,1");
}

int fail(const Error& error) {
    std::fflush(stdout);  // so that the two streams stay in order
    const Error clean{error.code, shown(error.where), shown(error.what), shown(error.hint)};
    std::fprintf(stderr, "sassemu: %s\n", clean.message().c_str());
    return exit_code(error.code);
}

void tell_partial(uint64_t ran, uint64_t all, const char* what) {
    const Budget::Stop why = process_budget().cause();
    if (all == 1 || ran == all || why == Budget::Stop::none) return;
    std::fflush(stdout);
    std::fprintf(stderr, "sassemu: %llu of %llu %s ran: %s\n", static_cast<unsigned long long>(ran),
                 static_cast<unsigned long long>(all), what, process_budget().text(why).c_str());
}

}  // namespace sassemu::cli
