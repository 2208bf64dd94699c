// SPDX-License-Identifier: Apache-2.0
// The program `sassemu`: command line to subcommand to exit code. Nothing else belongs here.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/limits.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/signals.hpp"
#include "emu/cli/usage.hpp"
#include "emu/plugin/in_plugin.hpp"

namespace {

using namespace sassemu;
using namespace sassemu::cli;

struct Subcommand {
    std::string_view name;
    void (*add)(CLI::App& app, int& exit_code);
};
constexpr Subcommand subcommands[] = {
    {"run", add_run_command},           {"exec", add_exec_command},
    {"disasm", add_disasm_command},     {"info", add_info_command},
    {"asm", add_asm_command},           {"isa", add_isa_command},
    {"check-sync", add_check_commands}, {"check-mem", add_check_commands},
    {"debug", add_debug_command},       {"litmus", add_litmus_command},
    {"trace", add_trace_command},       {"plugins", add_plugins_command},
    {"help", add_help_command},         {"completion", add_completion_command},
};

// All, or the one that is asked for: making the options of the others would take longer than many a
// run. `help` and `completion` tell of all.
void add_subcommands(CLI::App& app, std::string_view asked, int& exit_code) {
    if (asked == "--version") return;
    const auto* const one = std::ranges::find(subcommands, asked, &Subcommand::name);
    if (one != std::end(subcommands) && asked != "help" && asked != "completion")
        return one->add(app, exit_code);
    void (*last)(CLI::App&, int&) = nullptr;  // one may add two
    for (const Subcommand& each : subcommands)
        if (each.add != std::exchange(last, each.add)) each.add(app, exit_code);
}

int run_program(int argc, char** argv) {
    int exit_code = exit_with::success;
    CLI::App app{"Runs NVIDIA machine code (SASS) on an ordinary CPU, bit for bit.", "sassemu"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "sassemu " SASSEMU_VERSION);
    app.footer(exit_code_text());  // before the subcommands, which inherit it
    add_subcommands(app, argc > 1 ? argv[1] : "", exit_code);
    CommandLimits limits;
    // `exec` has its limits by itself: they are the program's.
    for (CLI::App* sub : app.get_subcommands({}))
        if (sub->get_option_no_throw("--memory-limit") == nullptr) limits.add_to(*sub);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // help and version
        std::ostringstream out;
        app.exit(asked, out, out);
        print(out.str());
    } catch (const CLI::ParseError& error) {
        exit_code = fail(usage_error(app, error));
    }
    return exit_code;
}

// Says what the exception at hand is; nothing more may be allocated.
int end_by_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        std::fputs("sassemu: memory: the host has none left for this\n", stderr);
        return exit_with::limit;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sassemu: internal error: %s\n", error.what());
    } catch (...) {
        std::fputs("sassemu: internal error: not a standard exception\n", stderr);
    }
    return exit_with::internal;
}

}  // namespace

int main(int argc, char** argv) {
    occupy_standard_streams();
    handle_signals();
    name_plugin_crashes();
    // Libraries have functions that promise not to throw, and allocate.
    std::set_terminate([] {
        if (std::current_exception()) _exit(end_by_exception());
        std::abort();
    });
    try {
        int exit_code = run_program(argc, argv);
        const Budget::Results results(process_budget());
        const Result<void> written = finish_output();
        if (!written) exit_code = worse(exit_code, fail(written.error()));
        return interrupted() ? exit_with::interrupted : exit_code;
    } catch (...) {
        return end_by_exception();
    }
}
