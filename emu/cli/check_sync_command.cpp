// SPDX-License-Identifier: Apache-2.0
// `sassemu check-sync`: `run` with the plugin of that name. What the checker does is in
// plugins/check_sync.
#include <memory>

#include "emu/base/exit_code.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/run_command.hpp"
#include "emu/cli/signals.hpp"

namespace sassemu::cli {

namespace {

struct CheckCommand {
    std::vector<std::string> files;
    RunCommand run;
    std::string json, sarif, verdict;
    bool surfaces = false, too_strong = false;
};

Result<int> check(const CheckCommand& command, bool quick_options) {
    if (command.files.size() > 1 && (!command.json.empty() || !command.sarif.empty()))
        return make_error(ErrorCode::usage, "check-sync", "a report file is for one plan",
                          "check the plans one by one");
    if (command.files.size() > 1 && command.run.common.sandbox)
        return make_error(ErrorCode::usage, "--sandbox",
                          "each of several plans would have to load its files",
                          "check the plans one by one");
    std::string plugin = "check-sync";
    char separator = ':';
    const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) return;
        plugin += separator + std::string(key) + "=" + value;
        separator = ',';
    };
    add("json", command.json);
    add("sarif", command.sarif);
    add("verdict", command.verdict);
    if (command.surfaces) add("surfaces", "1");
    if (command.too_strong) add("too_strong", "1");
    int code = 0;
    for (const std::string& file : command.files) {
        RunCommand one = command.run;
        one.file = file;
        one.common.plugins.push_back(plugin);
        if (!command.json.empty() || !command.sarif.empty())
            one.report_option = command.json.empty() ? "--sarif" : "--json";
        const Result<int> end = run(one, quick_options);
        code = worse(code, end ? *end : fail(end.error()));
        if (stop_requested()) break;
    }
    return code;
}

}  // namespace

void add_check_sync_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<CheckCommand>();
    CLI::App* sub = app.add_subcommand(
        "check-sync",
        "run plans or a kernel, and report missing and too strong synchronisation of memory");
    sub->add_option("FILE", command->files, "launch plans (JSON), or a cubin, fatbin or executable")
        ->required();
    sub->add_option("--json", command->json, "write the report to this file as JSON");
    sub->add_option("--sarif", command->sarif, "write the report to this file as SARIF 2.1.0");
    sub->add_option("--verdict", command->verdict,
                    "strict: by the letter of the PTX specification; common: by what is commonly "
                    "relied on; default: both")
        ->check(CLI::IsMember({"both", "strict", "common"}));
    sub->add_flag("--surfaces", command->surfaces,
                  "judge surfaces too: what is written through one must not be read through one in "
                  "the same launch");
    sub->add_flag("--too-strong", command->too_strong,
                  "what is stronger than needed (said with --seeds 100 or more) is a finding too");
    sub->add_option("--seeds", command->run.seeds,
                    "run with so many seeds, from --seed on, and report once")
        ->check(CLI::PositiveNumber);
    add_common_options(*sub, command->run.common);
    CLI::Option_group* quick = add_quick_options(*sub, command->run);
    sub->callback([command, quick, &exit_code] {
        const Result<int> result = check(*command, quick->count_all() > 0);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
