// SPDX-License-Identifier: Apache-2.0
// `sassemu run`: a plan or the quick form, its report, its statistics, Ctrl-C.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/run_command.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/plan/report.hpp"
#include "emu/plan/run_plan.hpp"
#include "emu/schedule/schedules.hpp"

namespace sassemu::cli {
namespace {

constexpr int interrupted_exit = 130;

// What the signal handler may touch. A handler can reach nothing but globals.
std::atomic<Gpu*> running_gpu{nullptr};
std::atomic<bool> launching{false}, stop_requested{false};

void on_interrupt(int) {
    const bool again = stop_requested.exchange(true);
    if (Gpu* gpu = running_gpu.load(); gpu != nullptr && !again) {
        gpu->interrupt();
    } else if (again || !launching.load()) {
        _exit(interrupted_exit);
    }
}

// Ctrl-C stops the launch for as long as this lives.
class InterruptScope {
  public:
    InterruptScope() {
        struct sigaction action {};
        action.sa_handler = on_interrupt;
        sigaction(SIGINT, &action, &previous_);
    }
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;
    ~InterruptScope() { sigaction(SIGINT, &previous_, nullptr); }

  private:
    struct sigaction previous_ {};
};

// A plan is JSON; everything else is a module for the quick form.
bool is_plan(const std::string& path) {
    if (path.ends_with(".json")) return true;
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return false;
    int first = std::fgetc(file);
    while (first == ' ' || first == '\n' || first == '\r' || first == '\t') {
        first = std::fgetc(file);
    }
    std::fclose(file);
    return first == '{';
}

Result<void> write_stats(const plan::RunReport& report, const std::string& target) {
    const std::string line = plan::stats_json(report);
    if (target != "-") {
        return plan::write_file_atomically(target, std::as_bytes(std::span(line)))
            .within("--stats");
    }
    std::fwrite(line.data(), 1, line.size(), stdout);
    return {};
}

}  // namespace

int worse(int a, int b) {
    for (const int code : {130, 7, 3, 4, 5, 6, 2, 1})
        if (a == code || b == code) return code;
    return 0;
}

namespace {

// Runs the plan, once per seed.
Result<int> run_seeds(const RunCommand& command, const plan::Plan& plan) {
    SASSEMU_ASSIGN(plan::RunOptions options, run_options(command.common));
    bool line_open = false;
    options.on_stdout = [&](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        if (!text.empty()) line_open = text.back() != '\n';
    };
    if (command.common.progress) {
        options.on_progress = [](std::string_view line) {
            std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
        };
    }
    options.on_gpu = [](Gpu* gpu) {
        launching = true;  // stays: from here on results are written, and Ctrl-C must not cut that
        running_gpu = gpu;
    };
    options.stop_requested = [] { return stop_requested.load(); };
    const InterruptScope interrupts;
    int code = 0;
    if (command.seeds > 1) {
        SASSEMU_ASSIGN(options.hooks, plan::load_plugins(options));
    }
    for (uint64_t n = 0; n + 1 < command.seeds && !stop_requested; ++n) {
        options.finish_plugins = false;
        auto outcome = plan::run_plan(plan, options);
        running_gpu = nullptr;
        if (!outcome) return std::move(outcome).error();
        // The report of the last run does not tell of a launch that ended badly under an earlier
        // seed.
        if (outcome->exit_code() != 0 && outcome->exit_code() != 6) {
            const std::string text =
                "seed " + std::to_string(options.gpu.seed) + ":\n" + plan::report_text(*outcome);
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
        code = worse(code, outcome->exit_code());
        options.gpu.seed = nth_seed(command.common.seed, n + 1);
        if (command.common.agents.empty()) options.gpu.agents = agent_order_of(options.gpu.seed);
    }
    options.finish_plugins = true;
    auto outcome = plan::run_plan(plan, options);
    running_gpu = nullptr;
    if (!outcome) return std::move(outcome).error();
    const plan::RunReport& report = *outcome;
    if (line_open) std::fputc('\n', stdout);
    const std::string text = plan::report_text(report);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!command.common.stats.empty()) SASSEMU_TRY(write_stats(report, command.common.stats));
    return worse(code, report.exit_code());
}

// A plan for several architectures, on each of them in turn.
Result<int> run_all(const RunCommand& command, const std::vector<std::string>& archs) {
    std::string one_file = command.report_option;
    if (!command.common.dumps.empty()) one_file = "--dump";
    if (!command.common.stats.empty() && command.common.stats != "-") one_file = "--stats";
    if (!one_file.empty()) {
        return make_error(ErrorCode::usage, one_file,
                          command.file + " is for several architectures, and a file is for one run",
                          "pick one, e.g. --arch " + archs.front());
    }
    int code = 0;
    for (const std::string& arch : archs) {
        auto plan = plan::read_plan_file(command.file, arch);
        const Result<int> end = plan ? run_seeds(command, *plan) : std::move(plan).error();
        code = worse(code, end ? *end : fail(end.error()));
        if (stop_requested) break;
    }
    return code;
}

}  // namespace

Result<int> run(const RunCommand& command, bool quick_options) {
    const bool is_json = is_plan(command.file);
    if (is_json && quick_options) {
        return make_error(ErrorCode::usage, command.file,
                          "--kernel, --grid, --block, --arg and their like describe the launch of "
                          "a module, and this is a plan");
    }
    SASSEMU_ASSIGN(const plan::Plan plan,
                   is_json ? plan::read_plan_file(command.file, command.common.arch)
                           : quick_plan(command.file, command.quick));
    if (command.common.arch.empty() && plan.archs.size() > 1) return run_all(command, plan.archs);
    return run_seeds(command, plan);
}

CLI::Option_group* add_quick_options(CLI::App& sub, RunCommand& command) {
    CLI::Option_group* quick = sub.add_option_group("one launch", "for a module instead of a plan");
    quick->add_option("--kernel", command.quick.kernel, "kernel; default: the only one");
    quick->add_option("--grid", command.quick.grid, "CTAs: x[,y[,z]]");
    quick->add_option("--block", command.quick.block, "threads per CTA: x[,y[,z]]");
    quick->add_option("--cluster", command.quick.cluster, "CTAs per cluster: x[,y[,z]]");
    quick->add_option("--dynamic-shared", command.quick.dynamic_shared, "bytes");
    quick->add_option("--repeat", command.quick.repeat, "launch it this often")
        ->check(CLI::PositiveNumber);
    quick->add_flag("--cooperative", command.quick.cooperative, "a cooperative grid");
    quick
        ->add_option("--arg", command.quick.args,
                     "i32=N, f32=X, bits=0x.., bytes=HEX, symbol=NAME, buffer=BYTES, file=PATH "
                     "(repeatable; buffers are called arg0, arg1, ... by position)")
        ->allow_extra_args(false);
    return quick;
}

void add_run_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<RunCommand>();
    CLI::App* sub = app.add_subcommand("run", "run a launch plan, or one kernel of a module");
    sub->add_option("FILE", command->file, "a launch plan (JSON), or a cubin, fatbin or executable")
        ->required();
    add_common_options(*sub, command->common);
    CLI::Option_group* quick = add_quick_options(*sub, *command);
    sub->callback([command, quick, &exit_code] {
        const Result<int> result = run(*command, quick->count_all() > 0);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
