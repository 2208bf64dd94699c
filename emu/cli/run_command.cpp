// SPDX-License-Identifier: Apache-2.0
// `sassemu run`: a plan or the quick form, its report, its statistics.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "emu/base/exit_code.hpp"
#include "emu/base/input_file.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/base/workers.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/progress_line.hpp"
#include "emu/cli/run_command.hpp"
#include "emu/cli/sandbox.hpp"
#include "emu/link/launcher.hpp"
#include "emu/link/ranks.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/compare.hpp"
#include "emu/plan/report.hpp"
#include "emu/plan/run_plan.hpp"
#include "emu/plan/sha256.hpp"
#include "emu/plugin/plugin_file.hpp"
#include "emu/schedule/schedules.hpp"

namespace sassemu::cli {
namespace {

// A plan is JSON, and so is what comes from standard input; everything else is a module for the
// quick form.
bool is_plan(const std::string& path) {
    if (path == "-" || path.ends_with(".json")) return true;
    const Result<int> opened = open_input(path);
    struct stat status {};
    // Whoever reads it says why it cannot be; and what is read of a pipe is gone.
    if (!opened || ::fstat(*opened, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (opened) ::close(*opened);
        return false;
    }
    std::FILE* file = ::fdopen(*opened, "rb");
    if (file == nullptr) return false;
    int first = std::fgetc(file);
    while (first == ' ' || first == '\n' || first == '\r' || first == '\t') {
        first = std::fgetc(file);
    }
    std::fclose(file);
    return first == '{';
}

Result<std::string> read_standard_input() {
    std::string text;
    char buffer[65536];
    for (size_t count = sizeof buffer; count == sizeof buffer;) {
        count = std::fread(buffer, 1, sizeof buffer, stdin);
        text.append(buffer, count);
        SASSEMU_TRY(process_budget().check("standard input"));
    }
    if (std::ferror(stdin) == 0) return text;
    return make_error(ErrorCode::input, "standard input",
                      std::string("cannot be read: ") + std::strerror(errno));
}

Result<void> write_stats(const plan::RunReport& report, const std::string& target) {
    const std::string line = plan::stats_json(report);
    if (target != "-") return plan::write_file_atomically(target, line).within("--stats");
    print(line);
    return {};
}

// A report is text of several lines; what stands in them may come from anywhere.
void print_lines(std::string_view text) { print(shown(text, "\n\t")); }

// The ranks of a plan may share one standard error.
int fail_as(const RunCommand& command, Error error) {
    if (command.ranks && (command.launcher || !command.peers.empty()))
        error = std::move(error).within("rank " + std::to_string(command.rank));
    return fail(error);
}

// The option of a plugin that names a file which the plugin writes, as `trace:file`.
std::string file_option(const PluginSpec& plugin) {
    for (const auto& [key, value] : plugin.options)
        for (const char* writes : {"file", "html", "json", "sarif"})
            if (key == writes) return plugin.name + ":" + key;
    return "";
}

// The files that the run will write, opened before it loads anything: the options name them then
// by descriptors.
Result<void> open_outputs(Sandbox& sandbox, plan::RunOptions& options, std::string& stats) {
    const auto open = [&](std::string& path) -> Result<void> {
        SASSEMU_ASSIGN(path, sandbox.open_output(path));
        return {};
    };
    for (plan::Dump& dump : options.dumps) SASSEMU_TRY(open(dump.file));
    if (!stats.empty() && stats != "-") SASSEMU_TRY(open(stats));
    for (std::string& text : options.plugins) {
        SASSEMU_ASSIGN(PluginSpec plugin, parse_plugin_spec(text));
        if (plugin.name != "check-sync" && plugin.name != "check-mem") {
            if (const std::string option = file_option(plugin); !option.empty())
                return make_error(ErrorCode::usage, "--sandbox",
                                  "the file of --plugin " + option + " cannot be opened beforehand",
                                  "leave one of the two out");
            continue;
        }
        text = plugin.name;
        for (auto& [key, value] : plugin.options) {
            if (key == "json" || key == "sarif") SASSEMU_TRY(open(value));
            text += (text == plugin.name ? ":" : ",") + key + "=" + value;
        }
    }
    return sandbox.start();
}

}  // namespace

namespace {

// Asks the launcher, where --peer does not say who the ranks are.
Result<void> join_launcher(RunCommand& command, bool numbered) {
    if (!command.ranks || !command.peers.empty()) return {};
    const bool present = link::Launcher::present();
    const bool other_launcher = !present && std::getenv("PMI_RANK");
    if (other_launcher)
        return make_error(ErrorCode::usage, "--ranks", "the launcher speaks PMI, and not PMIx",
                          "srun --mpi=pmix, or mpirun of Open MPI");
    if (!present)
        return make_error(ErrorCode::usage, "--ranks",
                          "there is no launcher that would tell the ranks of each other",
                          "mpirun -np N sassemu run --ranks ..., or --rank N and "
                          "--peer unix:PATH,unix:PATH,..., one for each rank");
    if (numbered)
        return make_error(ErrorCode::usage, "--rank", "the launcher numbers the ranks",
                          "leave it out, or say with --peer who they are");
    SASSEMU_ASSIGN(command.launcher, link::Launcher::join());
    command.rank = command.launcher->rank();
    return {};
}

// Who may be a rank, where they are not all of this host.
Result<link::Security> security_of(const RunCommand& command) {
    const auto wrong = [](const char* option, std::string what) {
        return make_error(ErrorCode::usage, option, std::move(what),
                          "--key FILE alone, or --cert, --key and --ca");
    };
    const bool certified = !command.certificate.empty();
    if (certified != !command.authority.empty())
        return wrong(certified ? "--cert" : "--ca",
                     "a certificate and the authority of all ranks belong together");
    if (certified && command.key.empty())
        return wrong("--cert", "the certificate's key is missing");
    if (command.launcher && !command.key.empty())
        return wrong("--key", "a launcher gives its ranks a key");
    link::Security security;
    (certified ? security.certificate_key : security.key) = command.key;
    security.certificate = command.certificate;
    security.authority = command.authority;
    return security;
}

// The processes that run the same plan. All must have the same file.
Result<std::shared_ptr<plan::Ranks>> other_ranks(const RunCommand& command, const plan::Plan& plan,
                                                 const std::string& model) {
    const auto wrong = [](const char* option, std::string what, std::string hint) {
        return make_error(ErrorCode::usage, option, std::move(what), std::move(hint));
    };
    if (command.common.sandbox)
        return wrong("--sandbox", "the ranks of a plan open sockets", "leave one of the two out");
    if (command.seeds > 1)
        return wrong("--ranks", "ranks run a plan once", "run the seeds one by one");
    SASSEMU_ASSIGN(const auto file, plan::open_byte_source(command.file));
    link::LinkOptions options;
    options.rank = command.rank;
    options.addresses = command.peers;
    SASSEMU_ASSIGN(options.security, security_of(command));
    SASSEMU_ASSIGN(options.job, plan::sha256_hex(*file));
    options.job += " " + plan.arch + " " + command.common.arch;
    if (command.launcher) SASSEMU_TRY(command.launcher->introduce(options));
    if (command.launcher && command.launcher->ranks() == 1) return std::shared_ptr<plan::Ranks>();
    // Under a model who has the memory performs what is asked for.
    const bool messages = command.messages || model != "flat";
    SASSEMU_ASSIGN(
        auto ranks,
        link::make_ranks(std::move(options),
                         std::max<uint32_t>(1, static_cast<uint32_t>(plan.gpus.size())), messages));
    return std::shared_ptr<plan::Ranks>(std::move(ranks));
}

// Host processes attach to a run that is under way.
Result<std::shared_ptr<plan::HostProcesses>> host_processes(const RunCommand& command) {
    const auto wrong = [](const char* option, std::string what, std::string hint) {
        return make_error(ErrorCode::unsupported, option, std::move(what), std::move(hint));
    };
    if (command.common.deterministic)
        return wrong("--deterministic", "a host process acts when it likes", "leave --listen out");
    if (command.common.sandbox)
        return wrong("--sandbox", "host processes need a socket", "leave one of the two out");
    if (command.seeds > 1)
        return wrong("--listen", "host processes attach to one run", "run the seeds one by one");
    link::HostServiceOptions options = command.host;
    options.patience = std::chrono::milliseconds(static_cast<int64_t>(command.patience * 1e3));
    return link::make_host_service(std::move(options));
}

// A run that was begun under one of several seeds came to nothing: what the plugins have found
// under the others.
int end_seeds(const RunCommand& command, const plan::RunOptions& options, plan::RunReport& report) {
    if (!options.runs_ended) return exit_with::success;
    if (options.hooks) plan::end_plugins(*options.hooks, report);
    for (const Error& error : report.write_errors) (void)fail(error);
    tell_partial(options.runs_ended, command.seeds, "seeds");
    return report.exit_code();
}

// Runs the plan, once per seed.
Result<int> run_seeds(const RunCommand& command, plan::Plan plan) {
    SASSEMU_ASSIGN(plan::RunOptions options, run_options(command.common));
    options.evidence = command.json || !command.common.stats.empty();
    options.hash = command.fidelity;
    if (command.fidelity) options.plugins.emplace_back("fidelity");
    std::string stats = command.common.stats;
    std::unique_ptr<Sandbox> sandbox;
    if (command.common.sandbox) {
        if (command.seeds > 1)
            return make_error(ErrorCode::usage, "--sandbox",
                              "each of several seeds would have to load its files again",
                              "run the seeds one by one");
        SASSEMU_ASSIGN(sandbox, Sandbox::create());
        SASSEMU_TRY(open_outputs(*sandbox, options, stats));
        SASSEMU_TRY(plan::open_expectations(plan));
        options.on_loaded = [&] {
            Workers::open_library();
            return sandbox->seal();
        };
    }
    // A plugin that crashes takes what the buffer of standard output holds with it.
    if (!options.plugins.empty() || !command.common.models.empty())
        std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    if (command.ranks) {
        SASSEMU_ASSIGN(options.ranks, other_ranks(command, plan, options.gpu.model));
    }
    if (!command.host.address.empty()) {
        SASSEMU_ASSIGN(options.host, host_processes(command));
        plan.in_flight = true;  // the launches, and the host
    }
    bool line_open = false;
    // Of several ranks that share a terminal one draws on it.
    const bool quiet = command.ranks && command.rank && command.common.progress != "always";
    ProgressLine progress(quiet ? "never" : command.common.progress,
                          [](double) { return run_progress_text(); });
    options.on_progress = [&](std::string_view text) {
        std::string label = plan.in_flight
                                ? std::to_string(plan.launches.size()) + " launches in flight"
                                : std::string(text);
        if (command.seeds > 1)
            label = "seed " + std::to_string(options.runs_ended + 1) + "/" +
                    std::to_string(command.seeds) + ", " + label;
        progress.step(text, std::move(label));
    };
    // With --json standard output is for the one object.
    options.on_stdout = [&](std::string_view text) {
        progress.clear(!text.empty() && text.back() != '\n');
        if (command.json) {
            std::fwrite(text.data(), 1, text.size(), stderr);
        } else {
            print(text);
            if (!text.empty()) line_open = text.back() != '\n';
        }
    };
    options.on_plugin_text = [&](std::string_view text) {
        progress.clear();
        if (command.json) {
            std::fputs(shown(text, "\n\t").c_str(), stderr);
        } else {
            print_lines(text);
        }
    };
    int code = exit_with::success;
    options.runs = command.seeds;
    if (command.seeds > 1) {
        SASSEMU_ASSIGN(options.hooks, plan::load_plugins(options));
    }
    plan::RunReport report;
    for (bool last = false; !last;) {
        auto outcome = plan::run_plan(plan, options);
        const Budget::Results results(process_budget());
        progress.clear();
        if (!outcome) {
            progress.end();
            code = worse(code, fail_as(command, outcome.error()));
            return worse(code, end_seeds(command, options, report));
        }
        report = std::move(*outcome);
        options.runs_ended = report.runs_ended;
        const bool stopped = process_budget().cause() != Budget::Stop::none;
        last = stopped || report.cut || options.runs_ended == command.seeds;
        if (last && options.hooks && !report.plugins_ended)
            plan::end_plugins(*options.hooks, report);
        const int end = report.exit_code();
        code = worse(code, end);
        if (stopped && options.runs_ended < command.seeds) code = worse(code, exit_with::limit);
        if (last) break;
        // The report of the last run does not tell of a launch that ended badly under an earlier
        // seed.
        if (end != exit_with::success && end != exit_with::finding)
            print_lines("seed " + std::to_string(options.gpu.seed) + ":\n" +
                        plan::report_text(report));
        options.gpu.seed = nth_seed(command.common.seed, options.runs_ended);
        if (command.common.agents.empty()) options.gpu.agents = agent_order_of(options.gpu.seed);
    }
    const Budget::Results results(process_budget());
    progress.end();
    if (command.json) {
        print(plan::report_json(report));
    } else {
        if (line_open) print("\n");
        print_lines(plan::report_text(report));
    }
    tell_partial(options.runs_ended, command.seeds, "seeds");
    if (!stats.empty() && !(command.json && stats == "-")) {
        const Result<void> written = write_stats(report, stats);
        if (!written) code = worse(code, fail(written.error()));
    }
    if (!sandbox) return code;
    const Result<void> placed = sandbox->finish();
    return placed ? code : worse(code, fail(placed.error()));
}

// A plan for several architectures, on each of them in turn.
Result<int> run_all(const RunCommand& command, const std::vector<std::string>& archs,
                    const std::function<Result<plan::Plan>(const std::string& arch)>& read) {
    if (command.common.sandbox) {
        return make_error(ErrorCode::usage, "--sandbox",
                          command.file + " is for several architectures, and each loads files",
                          "pick one, e.g. --arch " + archs.front());
    }
    std::string one_file = command.report_option;
    if (!command.common.dumps.empty()) one_file = "--dump";
    if (!command.common.stats.empty() && command.common.stats != "-") one_file = "--stats";
    if (!command.host.address.empty()) one_file = "--listen";
    for (const std::string& text : command.common.plugins) {
        SASSEMU_ASSIGN(const PluginSpec plugin, parse_plugin_spec(text));
        if (const std::string option = file_option(plugin); !option.empty())
            one_file = "--plugin " + option;
    }
    if (!one_file.empty()) {
        return make_error(ErrorCode::usage, one_file,
                          command.file + " is for several architectures, and a file is for one run",
                          "pick one, e.g. --arch " + archs.front());
    }
    int code = 0;
    uint64_t ran = 0;
    for (const std::string& arch : archs) {
        if (process_budget().poll() != Budget::Stop::none) break;
        auto plan = read(arch);
        const Result<int> end =
            plan ? run_seeds(command, std::move(*plan)) : std::move(plan).error();
        code = worse(code, end ? *end : fail(end.error()));
        ran += process_budget().cause() == Budget::Stop::none;
    }
    if (ran < archs.size()) code = worse(code, exit_with::limit);
    tell_partial(ran, archs.size(), "architectures");
    return code;
}

Error no_quick_options(const std::string& file) {
    return {ErrorCode::usage, file,
            "--kernel, --grid, --block, --arg and their like describe the launch of a module, and "
            "this is a plan",
            ""};
}

}  // namespace

Result<plan::Plan> read_command_plan(const RunCommand& command, bool quick_options) {
    SASSEMU_TRY(confine_inputs(command.common));
    const bool is_json = is_plan(command.file);
    if (is_json && quick_options) return no_quick_options(command.file);
    return is_json ? plan::read_plan_file(command.file, command.common.arch)
                   : quick_plan(command.file, command.quick);
}

Result<int> run(const RunCommand& command, bool quick_options) {
    SASSEMU_TRY(confine_inputs(command.common));
    const bool is_json = is_plan(command.file);
    if (is_json && quick_options) return no_quick_options(command.file);
    if (!is_json && command.gpus)
        return make_error(ErrorCode::usage, "--gpus", "is for plans, and this is a module");
    std::string text;  // of a plan from standard input, which can be read but once
    const bool piped = command.file == "-";
    if (piped) {
        SASSEMU_ASSIGN(text, read_standard_input());
    }
    const auto read = [&](const std::string& arch) -> Result<plan::Plan> {
        if (!is_json) return quick_plan(command.file, command.quick);
        return piped ? plan::read_plan(text, "standard input", arch, command.gpus)
                     : plan::read_plan_file(command.file, arch, command.gpus);
    };
    SASSEMU_ASSIGN(plan::Plan plan, read(command.common.arch));
    if (command.common.arch.empty() && plan.archs.size() > 1)
        return run_all(command, plan.archs, read);
    return run_seeds(command, std::move(plan));
}

CLI::Option_group* add_quick_options(CLI::App& sub, RunCommand& command) {
    CLI::Option_group* quick = sub.add_option_group("one launch", "for a module instead of a plan");
    quick->add_option("--kernel", command.quick.kernel,
                      "kernel: symbol, demangled name, a part of it such as saxpy or saxpy<float>, "
                      "or a pattern; default: the only one");
    quick->add_option("--grid", command.quick.grid, "CTAs: x[,y[,z]]");
    quick->add_option("--block", command.quick.block, "threads per CTA: x[,y[,z]]");
    quick->add_option("--cluster", command.quick.cluster, "CTAs per cluster: x[,y[,z]]");
    quick->add_option("--dynamic-shared", command.quick.dynamic_shared, "bytes");
    quick->add_option("--repeat", command.quick.repeat, "launch it this often")->check(positive());
    quick->add_flag("--cooperative", command.quick.cooperative, "a cooperative grid");
    quick
        ->add_option("--arg", command.quick.args,
                     "i32=N, f32=X, bits=0x.., bytes=HEX, symbol=NAME, buffer=BYTES, file=PATH "
                     "(repeatable; buffers are called arg0, arg1, ... by position)")
        ->allow_extra_args(false);
    return quick;
}

void add_host_options(CLI::App& sub, RunCommand& command, CLI::Option* ranks) {
    CLI::Option_group* const group = sub.add_option_group(
        "host processes", "programs that use libsassemu_host work on the plan's memory meanwhile");
    CLI::Option* const listen =
        group
            ->add_option("--listen", command.host.address,
                         "unix:PATH where host processes of this user attach; launches begin when "
                         "one has, and the run ends when all have detached")
            ->excludes(ranks);
    group
        ->add_option("--clients", command.host.clients,
                     "so many may be attached at the same time; 1")
        ->check(CLI::Range(1u, 64u))
        ->needs(listen);
    group
        ->add_option("--patience", command.patience,
                     "seconds that launches wait for one to attach, and the end of the run for one "
                     "that says nothing; 60")
        ->check(CLI::Range(0.0, 1e6, "SECONDS"))
        ->needs(listen);
    group
        ->add_flag("--begin-at-once", command.host.begin_at_once,
                   "launches do not wait for a host process to attach")
        ->needs(listen);
}

void add_run_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<RunCommand>();
    CLI::App* sub = app.add_subcommand("run", "run a launch plan, or one kernel of a module");
    sub->add_option(
           "FILE", command->file,
           "a launch plan (JSON; - for one from standard input, whose paths count from the "
           "current directory), or a cubin, fatbin or executable")
        ->required();
    sub->add_flag("--json", command->json,
                  "the report as one JSON object on stdout; what kernels and plugins print goes to "
                  "stderr");
    sub->add_flag("--fidelity", command->fidelity,
                  "say what each executed instruction's behaviour rests on (measured, published "
                  "vectors, specification, assumed), which assumed ones have reached a result or a "
                  "branch, and a hash of the run");
    sub->add_option("--gpus", command->gpus,
                    "run the plan on so many GPUs (and PEs of NVSHMEM), whatever its own number is")
        ->check(CLI::Range(1u, Machine::most_gpus));
    add_common_options(*sub, command->common);
    CLI::Option_group* ranks = sub->add_option_group(
        "ranks",
        "for a plan with several GPUs, run by several processes, which mpirun or srun (PMIx) has "
        "started or --peer names");
    CLI::Option* const several =
        ranks->add_flag("--ranks", command->ranks, "run the launches of this rank's GPUs only");
    CLI::Option* const number =
        ranks->add_option("--rank", command->rank, "which of the processes this is, from 0")
            ->needs(several);
    ranks
        ->add_option("--peer", command->peers,
                     "where the ranks listen, in their order, this one too: "
                     "unix:PATH,unix:PATH,... (or repeated), or tcp:HOST:PORT")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->needs(several);
    ranks
        ->add_option("--key", command->key,
                     "a file that all ranks have, 16 bytes or more that only its owner can read: "
                     "links to other hosts need it; with --cert, the certificate's key (PEM)")
        ->needs(several);
    ranks
        ->add_option("--cert", command->certificate,
                     "instead: a certificate of this rank (PEM), with --key and --ca")
        ->needs(several);
    ranks
        ->add_option("--ca", command->authority,
                     "the authority that has signed the certificates of all ranks (PEM)")
        ->needs(several);
    ranks
        ->add_flag("--messages", command->messages,
                   "reach the memory of other ranks by messages also where it could be shared")
        ->needs(several);
    add_host_options(*sub, *command, several);
    CLI::Option_group* quick = add_quick_options(*sub, *command);
    sub->callback([command, quick, number, &exit_code] {
        process_budget().set_time_limit(command->common.time_limit);
        const Result<void> joined = join_launcher(*command, number->count() > 0);
        const Result<int> result =
            joined ? run(*command, quick->count_all() > 0) : Result<int>(joined.error());
        exit_code = result ? *result : fail_as(*command, result.error());
        if (command->launcher) (void)finish_output();  // whoever ends the program asks again
        command->launcher.reset();                     // once this rank has said what it has to say
    });
}

}  // namespace sassemu::cli
