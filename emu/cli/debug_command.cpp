// SPDX-License-Identifier: Apache-2.0
// `sassemu debug`: the debugger on a plan or a kernel; its input, from a terminal, a file, options,
// or an editor. What does not belong here: commands (emu/debug).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/prompt.hpp"
#include "emu/cli/run_command.hpp"
#include "emu/debug/adapter.hpp"
#include "emu/debug/console.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::cli {
namespace {

struct DebugCommand {
    RunCommand run;
    std::vector<std::string> commands, files;
    uint32_t checkpoints = 32;
    uint64_t checkpoint_every = 0;
    bool batch = false, dap = false;
};

volatile std::sig_atomic_t halt_wanted = 0;
int told_to_halt[2] = {-1, -1};  // a pipe

// Ctrl-C halts the program, not the debugger.
Result<void> catch_interrupts() {
    if (::pipe2(told_to_halt, O_CLOEXEC | O_NONBLOCK))
        return make_error(ErrorCode::system, "debugger", "the host has no more descriptors");
    struct sigaction action {};
    action.sa_handler = [](int) {
        const int before = errno;
        halt_wanted = 1;
        if (::write(told_to_halt[1], "", 1) < 0) {  // it is full: told already
        }
        errno = before;
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    return {};
}

class Dialogue {
  public:
    Dialogue(debug::Console& console) : console_(console) {}

    void execute(const std::string& line, const std::string& where) {
        halt_wanted = 0;
        const Result<void> done = console_.execute(line);
        std::fflush(stdout);
        if (done) return;
        failed_ = true;
        const std::string text = shown(debug::Console::error_text(done.error()));
        std::fprintf(stderr, "%s%s\n", where.c_str(), text.c_str());
    }
    bool failed() const { return failed_; }

  private:
    debug::Console& console_;
    bool failed_ = false;
};

Result<int> debug_plan(const DebugCommand& command, const plan::Plan& plan) {
    SASSEMU_ASSIGN(plan::RunOptions run, run_options(command.run.common));
    debug::SessionOptions options;
    options.checkpoints = command.checkpoints;
    options.checkpoint_every = command.checkpoint_every;
    options.on_output = [](std::string_view text) {
        print(text);
        std::fflush(stdout);
    };
    options.wants_halt = [] { return halt_wanted != 0; };
    debug::Sources sources;
    SASSEMU_ASSIGN(const auto session, debug::Session::start(plan, run, std::move(options)));
    SASSEMU_TRY(catch_interrupts());
    debug::Console console(*session, sources,
                           [](std::string_view text) { print(shown(text, "\n\t")); });
    Dialogue dialogue(console);
    console.greet();
    std::fflush(stdout);
    for (const std::string& file : command.files) {
        SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(file));
        std::istringstream in(std::string(bytes.begin(), bytes.end()));
        size_t number = 0;
        for (std::string line; !console.quits() && std::getline(in, line);) {
            ++number;
            if (debug::Console::is_blank(line)) continue;
            dialogue.execute(line, file + ":" + std::to_string(number) + ": ");
        }
    }
    for (const std::string& line : command.commands)
        if (!console.quits() && !debug::Console::is_blank(line)) dialogue.execute(line, "");
    const bool terminal = ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
    bool failed = dialogue.failed();
    Prompt prompt(terminal && !command.batch, debug::Console::completions, told_to_halt[0]);
    for (std::string line; !command.batch && !console.quits();) {
        if (!prompt.read(line)) {
            if (terminal) print("quit\n");
            break;
        }
        if (!terminal && debug::Console::is_blank(line)) continue;
        dialogue.execute(line, "");
    }
    if (session->limit_reached()) return exit_with::limit;
    failed = dialogue.failed() && !terminal;
    return failed ? exit_with::bad_input : exit_with::success;
}

// What an editor launches; FILE may be in its request.
int adapt(const DebugCommand& command, bool quick_options) {
    debug::Sources sources;
    const auto start =
        [&](const std::string& program, const std::string& arch,
            debug::SessionOptions options) -> Result<std::unique_ptr<debug::Session>> {
        RunCommand run = command.run;
        if (!program.empty()) run.file = program;
        if (!arch.empty()) run.common.arch = arch;
        if (run.file.empty())
            return make_error(ErrorCode::usage, "launch", "names no program",
                              "\"program\": a launch plan");
        SASSEMU_ASSIGN(const plan::Plan plan, read_command_plan(run, quick_options));
        SASSEMU_ASSIGN(const plan::RunOptions settings, run_options(run.common));
        options.checkpoints = command.checkpoints;
        options.checkpoint_every = command.checkpoint_every;
        return debug::Session::start(plan, settings, std::move(options));
    };
    const Result<void> served = debug::Adapter(STDIN_FILENO, STDOUT_FILENO, sources, start).serve();
    return served ? exit_with::success : fail(served.error());
}

Result<int> debug_command(const DebugCommand& command, bool quick_options) {
    const CommonOptions& common = command.run.common;
    const auto refused = [&](const char* option, const char* why) {
        return make_error(ErrorCode::usage, option, why);
    };
    if (!common.plugins.empty())
        return refused("--plugin", "what plugins write would be written again going back");
    if (common.sandbox) return refused("--sandbox", "checkpoints are processes");
    if (!common.dumps.empty()) return refused("--dump", "is for `sassemu run`; here: x, print");
    if (common.max_instructions > 0)
        return refused("--max-instructions", "a debugged run ends where its user says: goto N");
    process_budget().set_time_limit(common.time_limit);
    if (!common.stats.empty()) return refused("--stats", "is for `sassemu run`");
    if (!common.progress.empty())
        return refused("--progress", "is for `sassemu run`; here: info position");
    if (command.dap) return adapt(command, quick_options);
    if (command.run.file.empty())
        return make_error(ErrorCode::usage, "FILE", "is missing", "a launch plan or a module");
    SASSEMU_ASSIGN(const plan::Plan plan, read_command_plan(command.run, quick_options));
    return debug_plan(command, plan);
}

}  // namespace

void add_debug_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<DebugCommand>();
    CLI::App* sub = app.add_subcommand(
        "debug", "run a plan, or one kernel of a module, step by step, forward and back");
    sub->add_option("FILE", command->run.file,
                    "a launch plan (JSON), or a cubin, fatbin or executable");
    sub->add_flag("--dap", command->dap,
                  "speak the Debug Adapter Protocol on standard input and output; the launch "
                  "request may name FILE as \"program\"");
    sub->add_option("-x,--command", command->files,
                    "execute the debugger's commands of this file first (repeatable)")
        ->allow_extra_args(false);
    sub->add_option("--ex", command->commands,
                    "execute this command, after those of files (repeatable)")
        ->allow_extra_args(false);
    sub->add_flag("--batch", command->batch, "end after these, with 2 if one failed");
    sub->add_option("--checkpoints", command->checkpoints,
                    "states that are kept for going back, at most")
        ->check(CLI::Range(2, 1000));
    sub->add_option("--checkpoint-every", command->checkpoint_every,
                    "warp instructions between two of them; default: by time");
    add_common_options(*sub, command->run.common);
    CLI::Option_group* quick = add_quick_options(*sub, command->run);
    sub->callback([command, quick, &exit_code] {
        const Result<int> result = debug_command(*command, quick->count_all() > 0);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
