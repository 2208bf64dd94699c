// SPDX-License-Identifier: Apache-2.0
// `sassemu check-sync` and `sassemu check-mem`: `run` with the plugin of that name. What the
// checkers do is in plugins/check_sync and plugins/check_mem.
#include <memory>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/run_command.hpp"

namespace sassemu::cli {

namespace {

struct CheckCommand {
    std::string name;
    std::vector<std::string> files;
    RunCommand run;
    std::string json, sarif, suppressions, baseline, verdict;
    std::vector<std::string> kernels, undefined;
    bool surfaces = false, too_strong = false, loads = false, no_leaks = false, fp = false;
};

Result<int> check(const CheckCommand& command, bool quick_options) {
    if (command.files.size() > 1 && (!command.json.empty() || !command.sarif.empty()))
        return make_error(ErrorCode::usage, command.name, "a report file is for one plan",
                          "check the plans one by one");
    if (command.files.size() > 1 && command.run.common.sandbox)
        return make_error(ErrorCode::usage, "--sandbox",
                          "each of several plans would have to load its files",
                          "check the plans one by one");
    std::string plugin = command.name;
    char separator = ':';
    const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) return;
        plugin += separator + std::string(key) + "=" + value;
        separator = ',';
    };
    if (command.run.seeds > 1) add("runs", std::to_string(command.run.seeds));
    add("json", command.json);
    add("sarif", command.sarif);
    add("suppressions", command.suppressions);
    add("baseline", command.baseline);
    add("verdict", command.verdict);
    for (const std::string& kernel : command.kernels) add("kernel", kernel);
    for (const std::string& buffer : command.undefined) add("undefined", buffer);
    if (command.surfaces) add("surfaces", "1");
    if (command.too_strong) add("too_strong", "1");
    if (command.loads) add("loads", "1");
    if (command.no_leaks) add("leaks", "0");
    if (command.fp) add("fp", "1");
    int code = 0;
    uint64_t ran = 0;
    for (const std::string& file : command.files) {
        if (process_budget().poll() != Budget::Stop::none) break;
        RunCommand one = command.run;
        one.file = file;
        one.common.plugins.push_back(plugin);
        if (!command.json.empty() || !command.sarif.empty())
            one.report_option = command.json.empty() ? "--sarif" : "--json";
        const Result<int> end = run(one, quick_options);
        code = worse(code, end ? *end : fail(end.error()));
        ran += process_budget().cause() == Budget::Stop::none;
    }
    if (ran < command.files.size() && process_budget().cause() != Budget::Stop::none)
        code = worse(code, exit_with::limit);
    tell_partial(ran, command.files.size(), "plans");
    return code;
}

// With what both have.
CLI::App* add_command(CLI::App& app, const std::shared_ptr<CheckCommand>& command,
                      const std::string& summary, int& exit_code) {
    CLI::App* sub = app.add_subcommand(command->name, summary);
    sub->add_option("FILE", command->files, "launch plans (JSON), or a cubin, fatbin or executable")
        ->required();
    sub->add_option("--json", command->json, "write the report to this file as JSON");
    sub->add_option("--sarif", command->sarif, "write the report to this file as SARIF 2.1.0");
    sub->add_option("--suppressions", command->suppressions,
                    "leave out findings that a pattern of this file means; the same file does for "
                    "check-sync and check-mem");
    sub->add_option("--baseline", command->baseline,
                    "leave out findings that this earlier report (--json) has");
    sub->add_option("--seeds", command->run.seeds,
                    "run with so many seeds, from --seed on, and report once")
        ->check(positive());
    add_common_options(*sub, command->run.common);
    CLI::Option_group* quick = add_quick_options(*sub, command->run);
    sub->callback([command, quick, &exit_code] {
        process_budget().set_time_limit(command->run.common.time_limit);
        const Result<int> result = check(*command, quick->count_all() > 0);
        exit_code = result ? *result : fail(result.error());
    });
    return sub;
}

}  // namespace

void add_check_commands(CLI::App& app, int& exit_code) {
    auto sync = std::make_shared<CheckCommand>();
    sync->name = "check-sync";
    CLI::App* sub = add_command(
        app, sync,
        "run plans or a kernel, and report missing and too strong synchronisation of memory",
        exit_code);
    sub->add_option("--verdict", sync->verdict,
                    "strict: by the letter of the PTX specification; common: by what is commonly "
                    "relied on; default: both")
        ->check(CLI::IsMember({"both", "strict", "common"}));
    sub->add_flag("--surfaces", sync->surfaces,
                  "judge surfaces too: what is written through one must not be read through one in "
                  "the same launch");
    sub->add_flag("--too-strong", sync->too_strong,
                  "what is stronger than needed (said with --seeds 100 or more) is a finding too");

    auto memory = std::make_shared<CheckCommand>();
    memory->name = "check-mem";
    sub =
        add_command(app, memory,
                    "run plans or a kernel, and report accesses out of bounds, leaks, values that "
                    "were never initialised, and misused barriers",
                    exit_code);
    sub->add_option("--only-kernel", memory->kernels,
                    "report only what launches of this kernel do; repeatable")
        ->allow_extra_args(false);
    sub->add_option("--undefined", memory->undefined,
                    "what this buffer holds at first counts as uninitialised: NAME, or NAME+BYTE "
                    "from that byte on; repeatable")
        ->allow_extra_args(false);
    sub->add_flag("--loads", memory->loads,
                  "a load of uninitialised memory is a finding even if its value does not matter");
    sub->add_flag("--no-leaks", memory->no_leaks,
                  "blocks of the device heap that are never freed are no finding");
    sub->add_flag("--fp", memory->fp,
                  "say where the first NaN, infinity and subnormal number of each output was born, "
                  "and how it travelled");
}

}  // namespace sassemu::cli
