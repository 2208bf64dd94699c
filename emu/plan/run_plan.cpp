// SPDX-License-Identifier: Apache-2.0
// See run_plan.hpp. One Runner per run; its steps are its public functions, in the order of use.
#include "emu/plan/run_plan.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <sassemu/names.hpp>
#include <set>
#include <span>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/progress.hpp"
#include "emu/module/module.hpp"
#include "emu/nvshmem/world.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/host_processes.hpp"
#include "emu/plan/in_flight.hpp"
#include "emu/plan/setup.hpp"
#include "emu/plan/trust.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/launch_stats.hpp"

namespace sassemu::plan {
namespace {

class Runner {
  public:
    Runner(const Plan& plan, const RunOptions& options)
        : plan_(plan), options_(options), setup_(plan, options, [this](std::string_view text) {
              const std::lock_guard lock(out_mutex_);  // CTAs on several workers print
              take_output(text);
          }) {}

    Result<RunReport> run() {
        report_.plan = plan_.file;
        report_.expected = plan_.expect.status;
        if (options_.ranks) {
            report_.rank = options_.ranks->rank();
            report_.ranks = options_.ranks->ranks();
        }
        report_.expected_out = plan_.expect.out;
        report_.expected_warp_instructions = plan_.expect.warp_instructions;
        SASSEMU_TRY(setup_.make());
        if (options_.on_placed) options_.on_placed(*setup_.first_gpu(), setup_.addresses());
        report_.arch = setup_.arch();
        report_.device = setup_.device();
        report_.level = setup_.first_gpu()->level();
        if (plan_.printf_bytes) report_.notes.push_back("limits.printf: output is never cut off");
        for (const Launch& launch : plan_.launches) {
            LaunchReport& entry = report_.launches.emplace_back();
            const std::string& symbol =
                setup_.requests()[report_.launches.size() - 1].kernel;  // of a copy: none
            entry.kernel = symbol.empty() ? launch.kernel : symbol;
            entry.grid = launch.grid;
            entry.block = launch.block;
            entry.gpu = launch.gpu;
            entry.stream = launch.stream;
            entry.elsewhere = !setup_.mine(launch.gpu);
        }
        SASSEMU_TRY(check_dumps());
        if (options_.evidence) SASSEMU_TRY(count_evidence());
        if (options_.hash) SASSEMU_TRY(hash_inputs());
        if (options_.on_loaded) SASSEMU_TRY(options_.on_loaded());
        process_progress().begin(ctas());
        process_budget().begin_work();  // what has been done until a limit is told from here on
        SASSEMU_TRY(unless_cut(launch_all()));
        const bool whole = process_budget().cause() == Budget::Stop::none;
        report_.runs = options_.runs;
        report_.runs_ended = options_.runs_ended + whole;
        report_.out_met =
            !plan_.expect.out || (out_same_ && out_bytes_ == plan_.expect.out->size());
        if (options_.ranks) meet_ranks();
        if (!report_.cut) SASSEMU_TRY(unless_cut(compare_all()));
        note_differences();
        const Budget::Results results(process_budget());
        write_dumps();
        if (Hooks* const hooks = setup_.hooks()) {
            if (!whole || report_.cut || report_.runs_ended == options_.runs)
                end_plugins(*hooks, report_);
            report_.findings = hooks->findings();
        }
        if (options_.hash) SASSEMU_TRY(end_hash());
        return std::move(report_);
    }

  private:
    // At a limit the run ends, with a report of what there is.
    Result<void> unless_cut(Result<void> done) {
        if (done || done.error().code != ErrorCode::limit) return done;
        report_.cut = std::move(done).error();
        report_.partial = true;
        return {};
    }

    // Output may be long: it is passed on and compared as it comes, and only its beginning stays.
    void take_output(std::string_view text) {
        if (plan_.expect.out) {
            const std::string_view all = *plan_.expect.out;
            const bool more = out_bytes_ <= all.size();
            out_same_ = out_same_ && more && all.substr(out_bytes_).starts_with(text);
        }
        out_bytes_ += text.size();
        report_.out += text.substr(0, RunReport::out_kept - report_.out.size());
        if (options_.on_stdout) options_.on_stdout(text);
    }

    // Every launch that runs here, with its module.
    template <class F>
    Result<void> each_kernel(F&& visit) {
        for (const Launch& launch : plan_.launches) {
            if (launch.operation.index() || !setup_.mine(launch.gpu)) continue;
            const Module& module = setup_.module_of(launch);
            SASSEMU_ASSIGN(const Kernel* kernel, module.kernel(launch.kernel));
            visit(module, *kernel);
        }
        return {};
    }

    Result<void> count_evidence() {
        EvidenceCount count;
        SASSEMU_TRY(each_kernel([&](const Module& module, const Kernel& kernel) {
            count.add(module, kernel, setup_.arch());
        }));
        report_.evidence = count.counts();
        return {};
    }

    Result<void> hash_inputs() {
        SASSEMU_TRY(add_inputs(hash_, plan_, options_));
        hash_.add("arch", report_.arch);
        hash_.add("device", report_.device);
        std::set<const Module*> modules;
        std::vector<const Module*> in_order;
        SASSEMU_TRY(each_kernel([&](const Module& module, const Kernel&) {
            if (modules.insert(&module).second) in_order.push_back(&module);
        }));
        for (const Module* module : in_order) {
            SpanSource elf(std::as_bytes(std::span(module->elf())));
            SASSEMU_TRY(hash_.add("module", elf));
        }
        return {};
    }

    Result<void> end_hash() {
        for (const LaunchReport& launch : report_.launches) {
            const FaultKind kind = launch.fault ? launch.fault->kind : FaultKind::none;
            hash_.add("launch " + launch.kernel, status_text(launch.status, kind));
        }
        hash_.add("printf", std::to_string(out_bytes_));
        SpanSource out(std::as_bytes(std::span(report_.out)));
        SASSEMU_TRY(hash_.add("printf", out));
        SASSEMU_ASSIGN(report_.hash, hash_.end());
        return {};
    }

    // That the launches of this process have; 0: more than can be counted.
    uint64_t ctas() const {
        uint64_t sum = 0;
        for (const Launch& launch : plan_.launches) {
            if (launch.operation.index() || !setup_.mine(launch.gpu)) continue;
            const uint64_t one = launch.grid.count();
            if (one > (~uint64_t{0} - sum) / launch.repeat) return 0;
            sum += one * launch.repeat;
        }
        return sum;
    }

    Result<void> check_dumps() {
        for (const Dump& dump : options_.dumps) {
            if (setup_.find_buffer(dump.buffer) || setup_.find_symbol(dump.buffer)) continue;
            std::string names;
            for (const Buffer& buffer : plan_.buffers) {
                names += (names.empty() ? "buffers: " : ", ") + buffer.name;
            }
            return make_error(ErrorCode::usage, "--dump",
                              "there is no buffer '" + dump.buffer + "'", names);
        }
        return {};
    }

    Result<void> launch_all() {
        began_ = std::chrono::steady_clock::now();
        if (options_.host) return run_with_host();
        if (setup_.machine()) return run_in_flight();
        for (size_t i = 0; i < setup_.requests().size();) {
            const size_t end = end_of_chain(i);
            for (size_t k = i; k < end; ++k)
                progress("launch " + std::to_string(k + 1) + "/" +
                         std::to_string(setup_.requests().size()) + ": " +
                         report_.launches[k].kernel);
            for (uint32_t run = 0; run < plan_.launches[i].repeat; ++run) {
                SASSEMU_ASSIGN(const bool more, launch_chain(i, end));
                if (!more) return {};
            }
            i = end;
        }
        return {};
    }

    Result<void> run_with_host() {
        SASSEMU_TRY(options_.host->begin(*setup_.machine()));
        const Result<void> ran = run_in_flight();
        for (std::string& note : options_.host->end(ran ? status_text(report_.status, report_.fault)
                                                        : ran.error().message()))
            report_.notes.push_back(std::move(note));
        return ran;
    }

    Result<void> run_in_flight() {
        Limits limits;
        set_limits(limits);
        setup_.machine()->set_limits(limits);
        InFlight flight(InFlight::Parts{
            *setup_.machine(), plan_, [this](const Place& place) { return setup_.address(place); },
            setup_.requests(), [this](const std::string& line) { progress(line); },
            [this](const std::string& line) { report_.notes.push_back(line); },
            [this](const std::string& name, const CheckBytes& check) -> Result<void> {
                SASSEMU_ASSIGN(Gpu * gpu, setup_.gpu_of(*setup_.find_buffer(check.at.buffer)));
                DeviceSource got(*gpu, setup_.address(check.at), check.at.bytes);
                return compare_one(name + " of '" + check.at.buffer + "'", got, check.expect);
            },
            [this](uint32_t gpu) { return setup_.mine(gpu); }});
        SASSEMU_ASSIGN(InFlight::Outcome outcome, flight.run());
        for (InFlight::Ended& ended : outcome.ended) {
            LaunchReport& entry = report_.launches[ended.launch];
            if (ended.how.result.status == LaunchStatus::not_run) {
                report_.partial = true;
                continue;  // what failed before it says why
            }
            const LaunchStatus first = report_.status;
            const FaultKind kind = report_.fault;
            if (ended.how.result.status == LaunchStatus::deadlock &&
                first == LaunchStatus::deadlock)
                ended.how.result.message = "in the same deadlock";
            record(entry, ended.how.result);
            if (first == LaunchStatus::ok) continue;
            report_.status = first;
            report_.fault = kind;
        }
        if (setup_.world() && report_.status == LaunchStatus::ok && outcome.host_failed.empty()) {
            const Result<void> finished = setup_.world()->finish();
            if (!finished) outcome.host_failed = "nvshmem: " + finished.error().message();
        }
        if (outcome.host_failed.empty()) return {};
        const Budget::Stop why = process_budget().cause();
        if (report_.status == LaunchStatus::ok && outcome.host_lacks) {
            report_.status = LaunchStatus::fault;
            report_.fault = FaultKind::use_after_free;
        } else if (report_.status == LaunchStatus::ok) {
            report_.status = why == Budget::Stop::none          ? LaunchStatus::deadlock
                             : why == Budget::Stop::interrupted ? LaunchStatus::interrupted
                                                                : LaunchStatus::limit;
        }
        report_.partial = true;
        report_.notes.push_back(std::move(outcome.host_failed));
        return {};
    }

    // The launches from `first` on that may overlap. Eager ones never do, and are launched one by
    // one.
    size_t end_of_chain(size_t first) const {
        size_t end = first + 1;
        if (options_.gpu.agents == AgentOrder::eager) return end;
        const auto single = [&](size_t i) { return plan_.launches[i].repeat == 1; };
        while (end < setup_.requests().size() && plan_.launches[end].may_overlap() &&
               single(end - 1) && single(end))
            ++end;
        return end;
    }

    // False: the plan ends here.
    Result<bool> launch_chain(size_t first, size_t end) {
        for (size_t i = first; i < end; ++i) {
            LaunchReport& entry = report_.launches[i];
            if (const Result<void> checked = process_budget().check(plan_.launches[i].where);
                !checked) {
                const bool interrupted = process_budget().cause() == Budget::Stop::interrupted;
                stop(entry, interrupted ? LaunchStatus::interrupted : LaunchStatus::limit,
                     checked.error().message());
                return false;
            }
            if (!set_limits(setup_.requests()[i].limits)) {
                stop(entry, LaunchStatus::limit, "the limit was used up by earlier launches");
                return false;
            }
        }
        auto results = setup_.first_gpu()->launch_chain(
            std::span(setup_.requests()).subspan(first, end - first));
        for (size_t i = first; i < first + results.size(); ++i) {
            LaunchReport& entry = report_.launches[i];
            auto& result = results[i - first];
            if (!result) return std::move(result).error().within(plan_.launches[i].where);
            record(entry, *result);
            // The engine looks at its limit now and then; the verdict must not depend on when.
            const uint64_t most = most_instructions();
            if (entry.status == LaunchStatus::ok && most > 0 &&
                report_.total.warp_instructions > most) {
                stop(entry, LaunchStatus::limit,
                     "more than " + std::to_string(most) + " warp instructions");
            }
            if (entry.status != LaunchStatus::ok) return false;
        }
        return true;
    }

    uint64_t most_instructions() const {
        return options_.max_warp_instructions.value_or(plan_.max_warp_instructions);
    }

    // What is left of the limits, which hold for all launches together; false: nothing.
    bool set_limits(Limits& limits) const {
        const double seconds = options_.time_limit.value_or(plan_.time_limit);
        const uint64_t most = most_instructions();
        if (seconds > 0) {
            const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - began_;
            limits.seconds = seconds - gone.count();
            if (limits.seconds <= 0) return false;
        }
        if (most > 0) {
            if (report_.total.warp_instructions >= most) return false;
            limits.max_warp_instructions = most - report_.total.warp_instructions;
        }
        return true;
    }

    void stop(LaunchReport& entry, LaunchStatus status, std::string message) {
        entry.status = report_.status = status;
        entry.message = std::move(message);
        report_.partial = true;
    }

    void record(LaunchReport& entry, LaunchResult& result) {
        ++entry.repeats;
        add_stats(entry.stats, result.stats);
        add_stats(report_.total, result.stats);
        entry.status = result.status;
        if (result.status == LaunchStatus::ok) {
            // What it had to do without.
            if (!result.message.empty() && !std::ranges::count(report_.notes, result.message))
                report_.notes.push_back(std::move(result.message));
            return;
        }
        stop(entry, result.status, std::move(result.message));
        entry.fault = std::move(result.fault);
        if (!entry.fault) return;
        report_.fault = entry.fault->kind;
        if (plan_.captured) say_what_a_capsule_lacks(*entry.fault);
    }

    // What was captured ran on a GPU without that fault.
    static void say_what_a_capsule_lacks(GuestFault& fault) {
        constexpr uint64_t least_of_memory = uint64_t{1} << 32;
        const bool memory = fault.has_address && fault.address >= least_of_memory;
        if (memory && fault.kind == FaultKind::out_of_bounds)
            fault.what +=
                "; it is outside all captured memory: capture with all=1, a larger window= for "
                "the arena of an allocator, or round=1 for what lies behind a small allocation";
        else if (fault.kind == FaultKind::invalid_pc)
            fault.what +=
                "; an address of a function that no variable of the captured modules has is not "
                "captured";
    }

    // What holds for all of the plan, no rank can tell alone.
    void meet_ranks() {
        const Result<void> met = unless_cut(options_.ranks->end());
        if (!met) report_.write_errors.push_back(met.error());
        report_.expected_out.reset();
        report_.out_met = true;
        report_.expected_warp_instructions.reset();
    }

    Result<void> compare_all() {
        if (!report_.status_met() && report_.status != LaunchStatus::ok) return {};
        for (const Buffer& buffer : plan_.buffers) {
            if (!buffer.expect || !setup_.mine(Setup::home(buffer))) continue;
            SASSEMU_ASSIGN(const auto got, setup_.bytes_of(buffer));
            SASSEMU_TRY(compare_one(buffer.name, *got, *buffer.expect));
        }
        // Every GPU that launches has its own.
        std::set<uint32_t> gpus;
        for (const Launch& launch : plan_.launches)
            if (!launch.operation.index()) gpus.insert(launch.gpu);
        if (gpus.empty()) gpus.insert(0);
        for (const Global& global : plan_.globals) {
            for (const uint32_t on : gpus) {
                if (!global.expect || !setup_.mine(on)) continue;
                SASSEMU_ASSIGN(Gpu * gpu, setup_.gpu(on));
                SASSEMU_ASSIGN(const Gpu::Symbol symbol, setup_.find_symbol(global, on));
                DeviceSource got(*gpu, symbol.address, symbol.bytes);
                const std::string where = setup_.machine() ? " of GPU " + std::to_string(on) : "";
                SASSEMU_TRY(compare_one(global.name + where, got, *global.expect));
            }
        }
        return {};
    }

    // What threads leave that race depends on their order, here and on the chip. With plugins, a
    // checker may have looked already.
    void note_differences() {
        const auto differs = [](const Comparison& c) { return !c.equal(); };
        const auto has_threads = [](const LaunchReport& l) {
            return l.grid.count() * l.block.count() > 1;
        };
        const bool different = std::ranges::any_of(report_.comparisons, differs);
        if (plan_.lacks_heap && (different || report_.status == LaunchStatus::fault))
            report_.notes.push_back(
                "the capsule lacks the device heap, which its module uses (malloc, free): what it "
                "held is not there, and addresses in it are others");
        else if (plan_.lacks_host && (different || report_.status == LaunchStatus::fault))
            report_.notes.push_back(
                "the captured graph calls functions of the host, which do not run here: what they "
                "stored is not there");
        else if (!setup_.hooks() && different && std::ranges::any_of(report_.launches, has_threads))
            report_.notes.push_back(
                "the results differ; should threads race, they may: `sassemu check-sync` tells");
    }

    Result<void> compare_one(const std::string& name, ByteSource& got, const Expectation& expect) {
        if (options_.hash) SASSEMU_TRY(hash_.add("result " + name, got));
        SASSEMU_ASSIGN(Comparison result, compare(name, got, expect));
        // Memory carries no history: the last launch that ran is who can have written last.
        for (size_t i = 0; i < report_.launches.size(); ++i) {
            if (report_.launches[i].repeats == 0) continue;
            result.last_writer = "kernel '" + names::demangled(report_.launches[i].kernel) +
                                 "', launch " + std::to_string(i + 1);
        }
        report_.comparisons.push_back(std::move(result));
        return {};
    }

    void write_dumps() {
        for (const Dump& dump : options_.dumps) {
            const Result<void> written = write_dump(dump);
            if (!written) report_.write_errors.push_back(written.error());
        }
    }

    Result<void> write_dump(const Dump& dump) {
        std::unique_ptr<ByteSource> bytes;
        if (const Buffer* buffer = setup_.find_buffer(dump.buffer)) {
            if (!setup_.mine(Setup::home(*buffer))) return {};  // its rank does
            SASSEMU_ASSIGN(bytes, setup_.bytes_of(*buffer));
        } else {
            SASSEMU_ASSIGN(const Gpu::Symbol place, setup_.find_symbol(dump.buffer));
            bytes = std::make_unique<DeviceSource>(*setup_.first_gpu(), place.address, place.bytes);
        }
        if (options_.hash) SASSEMU_TRY(hash_.add("dump " + dump.buffer, *bytes));
        return write_file_atomically(dump.file, *bytes).within("--dump " + dump.buffer);
    }

    void progress(const std::string& line) const {
        if (options_.on_progress) options_.on_progress(line);
    }

    const Plan& plan_;
    const RunOptions& options_;
    RunReport report_;
    RunHash hash_;  // where it is asked for
    std::mutex out_mutex_;
    std::chrono::steady_clock::time_point began_;  // with the first launch
    uint64_t out_bytes_ = 0;
    bool out_same_ = true;  // as the plan expects, so far
    Setup setup_;           // last: GPUs go first, while what they refer to is still there
};

// Of a launch that did not end as expected.
int code_of(LaunchStatus status) {
    switch (status) {
        case LaunchStatus::interrupted:
            return exit_with::interrupted;
        case LaunchStatus::internal:
            return exit_with::internal;
        case LaunchStatus::fault:
        case LaunchStatus::assert_failed:
        case LaunchStatus::trap:
            return exit_with::faulted;
        case LaunchStatus::deadlock:
        case LaunchStatus::limit:
            return exit_with::limit;
        case LaunchStatus::unsupported:
            return exit_with::not_executed;
        case LaunchStatus::ok:
        case LaunchStatus::not_run:
            break;
    }
    return exit_with::differs;
}

}  // namespace

bool RunReport::status_met() const {
    if (status != expected.status) return false;
    return status != LaunchStatus::fault || fault == expected.fault;
}

bool RunReport::results_met() const {
    for (const Comparison& comparison : comparisons) {
        if (!comparison.equal()) return false;
    }
    if (!out_met) return false;
    return !expected_warp_instructions || *expected_warp_instructions == total.warp_instructions;
}

int RunReport::exit_code() const {
    int code = status_met() ? exit_with::success : code_of(status);
    if (!results_met()) code = worse(code, exit_with::differs);
    if (!write_errors.empty()) code = worse(code, exit_with::bad_input);
    if (cut) code = worse(code, exit_with::limit);
    if (findings > 0) code = worse(code, exit_with::finding);
    return code;
}

Result<std::shared_ptr<Hooks>> load_plugins(const RunOptions& options) {
    SASSEMU_ASSIGN(std::unique_ptr<Hooks> hooks,
                   Hooks::load({options.plugins, options.plugin_directories, options.on_plugin_text,
                                [](const std::string& path, std::string_view text) {
                                    return write_file_atomically(path, text);
                                }},
                               options.gpu.model, options.gpu.seed));
    return std::shared_ptr<Hooks>(std::move(hooks));
}

void end_plugins(Hooks& hooks, RunReport& report) {
    hooks.finish();
    report.plugins_ended = true;
    report.findings = hooks.findings();
    for (Error& error : hooks.take_write_errors()) report.write_errors.push_back(std::move(error));
    report.sections = hooks.sections();
}

Result<RunReport> run_plan(const Plan& plan, const RunOptions& options) {
    return Runner(plan, options).run();
}

}  // namespace sassemu::plan
