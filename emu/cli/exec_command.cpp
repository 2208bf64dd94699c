// SPDX-License-Identifier: Apache-2.0
// `sassemu exec`: a CUDA program with our libraries in place of the driver's and the runtime's.
// What belongs here: its options, the environment that carries them, the exit code. What does not:
// what the libraries do with them (emu/driver).
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/program_file.hpp"
#include "emu/cli/signals.hpp"
#include "emu/machine.hpp"
#include "emu/plan/run_plan.hpp"
#include "emu/plugin/plugin_file.hpp"

namespace sassemu::cli {
namespace {

namespace fs = std::filesystem;

struct ExecCommand {
    CommonOptions common;
    std::vector<std::string> program, devices;
    uint32_t gpus = 0;
    uint64_t memory_limit = 0;
    std::string trace, profile, kernels, launches, save, exit_code;
    bool check_sync = false, check_mem = false, fidelity = false, debug = false, stats = false,
         wall_time = false;
};

// ---- what the libraries are told

// The folder with the libraries: beside libsassemu.
Result<std::string> library_folder() {
    Dl_info info{};
    std::error_code ignored;
    if (dladdr(reinterpret_cast<const void*>(&parse_plugin_spec), &info) == 0 || !info.dli_fname)
        return make_error(ErrorCode::internal, "exec", "libsassemu cannot be found");
    const fs::path file = fs::canonical(info.dli_fname, ignored);
    const std::string folder =
        ((ignored ? fs::path(info.dli_fname) : file).parent_path() / "sassemu").string();
    for (const char* name :
         {"/libsassemu_audit.so", "/cuda/libcuda.so.1", "/cudart/libcudart.so.13"})
        if (!fs::exists(folder + name, ignored))
            return make_error(ErrorCode::input, folder + name, "is missing",
                              "build all targets, or install sassemu anew");
    if (folder.find(':') != folder.npos)
        return make_error(ErrorCode::usage, folder,
                          "the dynamic linker cannot be given a folder with a colon in its name",
                          "install sassemu elsewhere");
    return folder;
}

// The program may change its directory before it uses a file.
std::string absolute(const std::string& path) { return fs::absolute(path).string(); }

Result<std::string> absolute_plugin(const std::string& text) {
    SASSEMU_ASSIGN(const PluginSpec spec, parse_plugin_spec(text));
    if (!spec.is_file) return text;
    return absolute(spec.name) + text.substr(spec.name.size());
}

// That it is there, and has these options.
Result<void> check_plugin(const std::string& text) {
    SASSEMU_ASSIGN(const PluginSpec spec, parse_plugin_spec(text));
    const Result<PluginFile> opened = PluginFile::open(spec, {});
    return opened ? Result<void>() : opened.error();
}

// Lines of key=value, see docs/driver.md.
class OptionLines {
  public:
    void add(const char* key, const std::string& value) {
        if (value.find('\n') != value.npos) bad_ = key;
        text_ += std::string(key) + "=" + value + "\n";
    }
    void add_if(bool given, const char* key, const std::string& value = "1") {
        if (given) add(key, value);
    }
    Result<std::string> text() const {
        if (bad_ == nullptr) return text_;
        return make_error(ErrorCode::usage, std::string("--") + bad_,
                          "its value has more than one line");
    }

  private:
    std::string text_;
    const char* bad_ = nullptr;
};

// What `run` has and the libraries do not take yet.
Result<void> check_there(const ExecCommand& command) {
    struct Lacking {
        bool given;
        const char* option;
        const char* hint;
    };
    const CommonOptions& common = command.common;
    const Lacking all[] = {
        {command.debug, "--debug", "capture the launch, then sassemu debug its plan.json"},
        {!command.save.empty(), "--save", ""},
        {!command.kernels.empty(), "--kernels", ""},
        {!command.launches.empty(), "--launches", ""},
        {!common.fill.empty(), "--fill", ""},
        {!common.progress.empty() && common.progress != "never", "--progress", ""},
        {command.memory_limit != 0, "--memory-limit", "ulimit -v, or a control group"},
    };
    for (const Lacking& one : all)
        if (one.given)
            return make_error(ErrorCode::unsupported, one.option, "is not there yet for programs",
                              one.hint);
    return {};
}

// All that can be wrong with the options is said before the program starts.
Result<std::string> option_lines(ExecCommand& command) {
    SASSEMU_TRY(check_there(command));
    CommonOptions& common = command.common;
    std::vector<std::string> plugins;
    for (const std::string& text : common.plugins) {
        SASSEMU_ASSIGN(std::string plugin, absolute_plugin(text));
        plugins.push_back(std::move(plugin));
    }
    if (command.check_sync) plugins.emplace_back("check-sync");
    if (command.check_mem) plugins.emplace_back("check-mem");
    if (command.fidelity) plugins.emplace_back("fidelity");
    if (!command.trace.empty()) plugins.push_back("trace:file=" + absolute(command.trace));
    if (!command.profile.empty()) {
        const bool page = command.profile.ends_with(".html");
        plugins.push_back((page ? "profile:html=" : "profile:json=") + absolute(command.profile));
    }
    common.plugins = plugins;
    SASSEMU_ASSIGN(const plan::RunOptions run, run_options(common));
    for (const std::string& text : run.plugins) SASSEMU_TRY(check_plugin(text));
    if (run.gpu.model != "flat" && run.gpu.model != "delay")
        SASSEMU_TRY(check_plugin(run.gpu.model));
    OptionLines lines;
    if (!common.models.empty()) {
        SASSEMU_ASSIGN(const std::string model, absolute_plugin(common.models.back()));
        lines.add("model", model);
    }
    for (const std::string& plugin : plugins) lines.add("plugin", plugin);
    lines.add_if(!common.agents.empty(), "agents", common.agents);
    lines.add_if(common.deterministic, "deterministic");
    lines.add_if(common.reference, "reference");
    lines.add_if(common.seed != 0, "seed", std::to_string(common.seed));
    lines.add_if(common.threads != 0, "threads", std::to_string(common.threads));
    lines.add_if(!common.level.empty(), "level", common.level);
    lines.add_if(command.gpus != 0, "gpus", std::to_string(command.gpus));
    for (const std::string& device : command.devices) {
        const auto profile = device_profile(device);
        if (!profile) return Error(profile.error()).within("--device");
        lines.add("device", device);
    }
    lines.add_if(common.time_limit > 0, "time-limit", std::to_string(common.time_limit));
    lines.add_if(common.max_instructions != 0, "max-warp-instructions",
                 std::to_string(common.max_instructions));
    lines.add_if(command.stats, "stats");
    lines.add_if(command.wall_time, "wall-time");
    return lines.text();
}

// `value` in front of what is in the list already.
void put_in_front(const char* name, const std::string& value) {
    const char* const old = std::getenv(name);
    const std::string all = old != nullptr && *old != 0 ? value + ":" + old : value;
    ::setenv(name, all.c_str(), 1);
}

// ---- what the libraries have to say, in lines of a file without a name

struct KernelCount {
    uint64_t launches = 0, instructions = 0;
    double seconds = 0;
};

class ReportFile {
  public:
    static Result<ReportFile> create() {
        ReportFile file;
        file.descriptor_ = ::memfd_create("sassemu-exec", MFD_CLOEXEC);
        if (file.descriptor_ < 0)
            return make_error(ErrorCode::system, "exec",
                              std::string("no file for the report: ") + std::strerror(errno));
        return file;
    }
    // Where processes of this user reach it as long as this one lives.
    std::string path() const {
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
    }
    void read() {
        std::string text;
        char buffer[65536];
        ssize_t count = 0;
        for (off_t at = 0; (count = ::pread(descriptor_, buffer, sizeof buffer, at)) > 0;
             at += count)
            text.append(buffer, static_cast<size_t>(count));
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) take(line);
    }
    int exit_code() const { return exit_code_; }
    const std::map<std::string, KernelCount>& kernels() const { return kernels_; }

  private:
    void take(const std::string& line) {
        std::istringstream words(line);
        std::string kind, name;
        words >> kind;
        if (int code = 0; kind == "exit-code" && words >> code)
            exit_code_ = worse(exit_code_, code);
        KernelCount one;
        if (kind != "kernel" || !(words >> one.launches >> one.instructions >> one.seconds)) return;
        std::getline(words >> std::ws, name);
        KernelCount& all = kernels_[name];
        all.launches += one.launches;
        all.instructions += one.instructions;
        all.seconds += one.seconds;
    }

    int descriptor_ = -1;
    int exit_code_ = exit_with::success;
    std::map<std::string, KernelCount> kernels_;
};

void print_stats(const ReportFile& report) {
    std::fprintf(stderr, "%12s %16s %10s  kernel\n", "launches", "instructions", "seconds");
    for (const auto& [name, count] : report.kernels())
        std::fprintf(stderr, "%12llu %16llu %10.3f  %s\n",
                     static_cast<unsigned long long>(count.launches),
                     static_cast<unsigned long long>(count.instructions), count.seconds,
                     shown(name).c_str());
}

// ---- the program

volatile std::sig_atomic_t program_process = 0;

// What a terminal sends goes to the program by itself, as it is of the same process group.
void pass_on(int number, siginfo_t* info, void*) {
    const int before = errno;
    if (program_process > 0 && info->si_code <= 0) ::kill(program_process, number);
    errno = before;
}

constexpr int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

// In the child. Only what is safe after fork().
[[noreturn]] void become(const std::string& path, char* const* arguments, pid_t parent,
                         const sigset_t& mask) {
    for (const int number : passed_on)
        if (number != SIGHUP && number != SIGINT && number != SIGTERM) std::signal(number, SIG_DFL);
    restore_signals();
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    // Whoever kills `sassemu exec` kills the program, as without it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(exit_with::interrupted);
    ::execv(path.c_str(), arguments);
    const int error = errno;
    std::fprintf(stderr, "sassemu: %s: cannot be executed: %s\n", path.c_str(),
                 std::strerror(error));
    ::_exit(exit_with::bad_input);
}

// The library ends launches at the limit; a program that goes on all the same is ended here.
class TimeLimit {
  public:
    explicit TimeLimit(double seconds) {
        if (seconds <= 0) return;
        thread_ = std::jthread([this, seconds](const std::stop_token& stop) {
            std::unique_lock lock(mutex_);
            for (const auto& [number, patience] :
                 {std::pair{SIGTERM, seconds + 1}, std::pair{SIGKILL, 2.0}}) {
                wake_.wait_for(lock, stop, std::chrono::duration<double>(patience),
                               [] { return false; });
                if (stop.stop_requested()) return;
                reached_ = true;
                ::kill(program_process, number);
            }
        });
    }
    bool reached() const { return reached_; }

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::atomic<bool> reached_ = false;
    std::jthread thread_;
};

// How it ended, as waitpid() says it.
Result<int> run_program(const std::string& path, const ExecCommand& command, bool& out_of_time) {
    std::vector<char*> arguments;
    for (const std::string& word : command.program)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    sigset_t all, before;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) become(path, arguments.data(), parent, before);
    const int error = errno;
    if (child > 0) {
        program_process = child;
        struct sigaction action {};
        action.sa_sigaction = pass_on;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        for (const int number : passed_on) {
            struct sigaction old {};
            ::sigaction(number, nullptr, &old);
            if (old.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
        }
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (child < 0)
        return make_error(ErrorCode::system, "exec",
                          std::string("the program cannot be started: ") + std::strerror(error));
    const TimeLimit limit(command.common.time_limit);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    program_process = 0;
    out_of_time = limit.reached();
    return status;
}

// As the program ended by a signal, so does this one.
[[noreturn]] void end_by(int number) {
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);  // the program's dump is the one of interest
    std::signal(number, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(number);
    ::_exit(128 + number);
}

Result<int> execute(ExecCommand& command) {
    SASSEMU_ASSIGN(const std::string path, find_program(command.program.front()));
    SASSEMU_ASSIGN(ReportFile report, ReportFile::create());
    SASSEMU_ASSIGN(const std::string folder, library_folder());
    SASSEMU_ASSIGN(std::string options, option_lines(command));
    options += "plugin-path=" + folder + "/plugins\nreport=" + report.path() + "\n";
    put_in_front("LD_AUDIT", folder + "/libsassemu_audit.so");
    put_in_front("LD_LIBRARY_PATH", folder + "/cuda");
    ::setenv("SASSEMU_EXEC", options.c_str(), 1);
    std::fflush(nullptr);
    bool out_of_time = false;
    SASSEMU_ASSIGN(const int status, run_program(path, command, out_of_time));
    report.read();
    if (command.stats) print_stats(report);
    int reported = report.exit_code();
    if (out_of_time) {
        (void)fail(make_error(ErrorCode::limit, command.program.front(),
                              "the time limit is over, and the program was ended"));
        return worse(reported, exit_with::limit);
    }
    if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
    const int own = WEXITSTATUS(status);
    const bool report_first = command.exit_code == "report";
    return (report_first ? reported != 0 : own == 0) ? reported : own;
}

}  // namespace

void add_exec_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<ExecCommand>();
    CLI::App* sub = app.add_subcommand(
        "exec", "run a CUDA program as it is, on emulated GPUs: sassemu exec -- PROGRAM ARGS");
    sub->add_option("PROGRAM", command->program, "the program and its arguments, after --")
        ->required();
    sub->add_option("--gpus", command->gpus, "so many GPUs; 1")
        ->check(CLI::Range(1u, Machine::most_gpus));
    sub->add_option("--device", command->devices,
                    "what they are, e.g. h200; repeated: one after the other, the last one for the "
                    "rest")
        ->allow_extra_args(false);
    add_machine_options(*sub, command->common);
    sub->add_option("--memory-limit", command->memory_limit,
                    "bytes of memory that the program may touch, or with K, M or G; default: three "
                    "quarters of the machine's, or of the control group's")
        ->transform(CLI::AsSizeValue(false))
        ->check(positive());
    sub->add_flag("--check-sync", command->check_sync, "look for races in every launch");
    sub->add_flag("--check-mem", command->check_mem,
                  "look for accesses out of bounds, leaks and uninitialised values");
    sub->add_option("--trace", command->trace,
                    "write a trace to this file (sassemu trace, Perfetto)");
    sub->add_option("--profile", command->profile,
                    "write a profile to this file: a page (.html) or JSON");
    sub->add_flag("--fidelity", command->fidelity,
                  "say what the behaviour of what was executed rests on");
    sub->add_flag("--debug", command->debug, "not there yet: --save, then sassemu debug");
    sub->add_option("--kernels", command->kernels,
                    "checkers, traces, profiles and --save look only at kernels whose name has "
                    "this in it, or matches this pattern");
    sub->add_option("--launches", command->launches,
                    "and only at these launches of each process: FIRST-LAST, from 0");
    sub->add_option("--save", command->save,
                    "a folder for launches as capsules, which sassemu run replays");
    sub->add_flag("--stats", command->stats, "a line for each kernel at the end, on stderr");
    sub->add_flag("--wall-time", command->wall_time,
                  "events have the host's time, not that of the emulated GPUs");
    sub->add_option("--exit-code", command->exit_code,
                    "which exit code comes first, if it is not 0: the program's, or that of what "
                    "was reported; program")
        ->check(CLI::IsMember({"program", "report"}));
    sub->callback([command, &exit_code] {
        const Result<int> result = execute(*command);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
