// SPDX-License-Identifier: Apache-2.0
// See run_plan.hpp. One Runner per run; its steps are its public functions, in the order of use.
#include "emu/plan/run_plan.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/module/module.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/in_flight.hpp"
#include "emu/plan/params.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::plan {
namespace {

class Runner {
  public:
    Runner(const Plan& plan, const RunOptions& options) : plan_(plan), options_(options) {}

    Result<RunReport> run() {
        process_budget().begin_work();
        report_.plan = plan_.file;
        report_.expected = plan_.expect.status;
        report_.expected_out = plan_.expect.out;
        report_.expected_warp_instructions = plan_.expect.warp_instructions;
        SASSEMU_TRY(check_scope());
        SASSEMU_TRY(load_modules());
        SASSEMU_TRY(create_gpu());
        SASSEMU_TRY(place_modules());
        SASSEMU_TRY(place_buffers());
        SASSEMU_TRY(fill_globals());
        SASSEMU_TRY(prepare_launches());
        SASSEMU_TRY(check_dumps());
        if (options_.on_loaded) SASSEMU_TRY(options_.on_loaded());
        const Result<void> launched = launch_all();
        if (options_.on_gpu) options_.on_gpu(nullptr);
        SASSEMU_TRY(launched);
        report_.out_met =
            !plan_.expect.out || (out_same_ && out_bytes_ == plan_.expect.out->size());
        SASSEMU_TRY(compare_all());
        note_races();
        process_budget().begin_results();
        write_dumps();
        if (hooks_) {
            if (options_.finish_plugins) hooks_->finish();
            report_.findings = hooks_->findings();
            for (Error& error : hooks_->take_write_errors())
                report_.write_errors.push_back(std::move(error));
        }
        return std::move(report_);
    }

  private:
    // Who makes the GPU itself runs the launches one by one.
    Result<void> check_scope() {
        if (!plan_.in_flight || !options_.create_gpu) return {};
        return make_error(ErrorCode::unsupported, plan_.file,
                          "several things in flight (gpus, peers, streams, events, host steps) are "
                          "for `sassemu run`");
    }

    Result<void> load_modules() {
        const std::string& name = options_.arch.empty() ? plan_.arch : options_.arch;
        std::optional<Arch> arch;
        if (!name.empty()) {
            auto parsed = parse_arch(name);
            if (!parsed) {
                Error error = std::move(parsed).error();
                error.code = ErrorCode::input;
                return std::move(error).within(options_.arch.empty() ? plan_.arch_where : "--arch");
            }
            arch = *parsed;
        }
        std::vector<std::string> kernels(plan_.modules.size());
        for (const Launch& launch : plan_.launches)
            if (!launch.operation.index()) kernels[launch.module] = launch.kernel;
        for (size_t i = 0; i < plan_.modules.size(); ++i) {
            LoadOptions load;
            load.arch = arch;
            load.kernel = std::move(kernels[i]);
            auto module = load_module_file(plan_.modules[i], load);
            if (!module) return std::move(module).error().within(plan_.module_where[i]);
            if (arch && !runs_on(module->arch(), *arch)) {
                return make_error(ErrorCode::input, plan_.module_where[i],
                                  plan_.modules[i] + " is built for " + module->arch().name() +
                                      " and does not run on " + name);
            }
            modules_.push_back(std::make_shared<const Module>(std::move(module).value()));
        }
        if (!arch) arch = modules_.front()->arch();
        report_.arch = arch->name();
        default_device_ = sassdec::architecture(arch->sm).device;
        return {};
    }

    Result<DeviceProfile> profile(const DeviceOverrides& wanted, const std::string& usual,
                                  const Where& where) {
        auto named = device_profile(wanted.name.value_or(usual));
        if (!named) {
            Error error = std::move(named).error();
            error.code = ErrorCode::input;
            return std::move(error).within(where);
        }
        DeviceProfile device = std::move(named).value();
        device.sms = wanted.sms.value_or(device.sms);
        device.shared_per_sm = wanted.shared_per_sm.value_or(device.shared_per_sm);
        device.shared_per_cta = wanted.shared_per_cta.value_or(device.shared_per_cta);
        device.registers_per_sm = wanted.registers_per_sm.value_or(device.registers_per_sm);
        device.resident_ctas_per_sm = wanted.resident_ctas.value_or(device.resident_ctas_per_sm);
        device.resident_threads_per_sm =
            wanted.resident_threads.value_or(device.resident_threads_per_sm);
        return device;
    }

    Result<void> create_gpu() {
        GpuOptions gpu = options_.gpu;
        SASSEMU_ASSIGN(gpu.device, profile(plan_.device, default_device_, plan_.device_where));
        gpu.stack_bytes = plan_.stack_bytes.value_or(gpu.stack_bytes);
        gpu.heap_bytes = plan_.heap_bytes.value_or(gpu.heap_bytes);
        if (plan_.printf_bytes) report_.notes.push_back("limits.printf: output is never cut off");
        gpu.on_printf = [this](std::string_view text) {
            const std::lock_guard lock(out_mutex_);  // CTAs on several workers print
            take_output(text);
        };
        report_.device = gpu.device.name;
        if (options_.create_gpu) {
            SASSEMU_ASSIGN(alone_, options_.create_gpu(std::move(gpu)));
            gpu_ = alone_.get();
        } else {
            hooks_ = options_.hooks;
            if (hooks_) {
                hooks_->seed = gpu.seed;
            } else {
                SASSEMU_ASSIGN(hooks_, load_plugins(options_));
            }
            if (plan_.in_flight && hooks_) {
                const std::string& who =
                    options_.plugins.empty() ? options_.gpu.model : options_.plugins.front();
                return make_error(ErrorCode::unsupported, plan_.file,
                                  "'" + who + "' follows one launch at a time, and this plan has " +
                                      "several things in flight",
                                  "run it without plugins, or each launch in a plan of its own");
            }
            if (plan_.in_flight) {
                SASSEMU_TRY(create_machine(std::move(gpu)));
            } else {
                SASSEMU_ASSIGN(alone_, sassemu::create_gpu(std::move(gpu), hooks_, options_.fill));
                gpu_ = alone_.get();
            }
        }
        report_.level = gpu_->level();
        return {};
    }

    Result<void> create_machine(GpuOptions options) {
        std::vector<DeviceProfile> devices;
        for (const GpuOfPlan& gpu : plan_.gpus) {
            std::string usual = default_device_;
            if (!gpu.arch.empty()) {
                auto arch = parse_arch(gpu.arch);
                if (!arch) return std::move(arch).error().within(gpu.where);
                usual = sassdec::architecture(arch->sm).device;
            }
            SASSEMU_ASSIGN(DeviceProfile device, profile(gpu.device, usual, gpu.where));
            devices.push_back(std::move(device));
        }
        if (devices.empty()) devices.push_back(options.device);
        report_.device = devices.front().name;
        if (devices.size() > 1)
            report_.device += " and " + std::to_string(devices.size() - 1) + " more";
        SASSEMU_ASSIGN(machine_, Machine::create(std::move(options), std::move(devices), hooks_,
                                                 options_.fill));
        SASSEMU_ASSIGN(gpu_, machine_->gpu(0));
        for (uint32_t from = 0; from < plan_.gpus.size() && plan_.all_peers; ++from)
            for (uint32_t to = 0; to < plan_.gpus.size(); ++to)
                SASSEMU_TRY(machine_->peer_access(from, to, true));
        for (const auto& [from, to] : plan_.peers)
            SASSEMU_TRY(machine_->peer_access(from, to, true));
        return {};
    }

    Result<Gpu*> gpu(uint32_t index) {
        if (machine_) return machine_->gpu(index);
        return gpu_;
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

    // On the first GPU, and on those that launch something.
    Result<void> place_modules() {
        SASSEMU_TRY(place_modules_on(0));
        for (const Launch& launch : plan_.launches)
            if (!launch.operation.index()) SASSEMU_TRY(place_modules_on(launch.gpu));
        return {};
    }

    Result<void> place_modules_on(uint32_t index) {
        if (placed_.contains(index)) return {};
        SASSEMU_ASSIGN(Gpu * gpu, this->gpu(index));
        Placed& placed = placed_[index];
        placed.modules = modules_;
        for (size_t i = 0; i < modules_.size(); ++i) {
            if (index < plan_.gpus.size() && !plan_.gpus[index].arch.empty())
                SASSEMU_TRY(load_for(plan_.gpus[index], i, placed.modules[i]));
            auto id = gpu->load(placed.modules[i]);
            if (!id) return std::move(id).error().within(plan_.module_where[i]);
            placed.ids.push_back(*id);
        }
        return {};
    }

    // The module as a GPU of another architecture than the plan's wants it.
    Result<void> load_for(const GpuOfPlan& gpu, size_t index, std::shared_ptr<const Module>& to) {
        LoadOptions load;
        SASSEMU_ASSIGN(load.arch, parse_arch(gpu.arch));
        auto module = load_module_file(module_path(plan_, index, gpu.arch), load);
        if (!module) return std::move(module).error().within(gpu.where);
        if (!runs_on(module->arch(), *load.arch))
            return make_error(ErrorCode::input, gpu.where,
                              plan_.modules[index] + " is built for " + module->arch().name() +
                                  " and does not run on " + gpu.arch,
                              "{arch} in the module's path stands for the GPU's");
        to = std::make_shared<const Module>(std::move(module).value());
        return {};
    }

    Result<void> place_buffers() {
        // Buffers with an address of their own come first: nothing may be in their way.
        for (const bool fixed : {true, false}) {
            for (const Buffer& buffer : plan_.buffers) {
                if ((buffer.address != 0) != fixed) continue;
                auto address = allocate(buffer);
                if (!address) return std::move(address).error().within(buffer.where);
                addresses_.emplace(buffer.name, *address);
            }
        }
        for (const Buffer& buffer : plan_.buffers) {
            SASSEMU_ASSIGN(Gpu * gpu, gpu_of(buffer));
            SASSEMU_TRY(fill(*gpu, buffer.contents, buffer.where, addresses_.at(buffer.name),
                             buffer.bytes, true));
        }
        for (const Buffer& buffer : plan_.buffers) {
            for (const PointerPatch& patch : buffer.pointers) {
                const uint64_t value = addresses_.at(patch.buffer) + patch.add;
                SASSEMU_ASSIGN(Gpu * gpu, gpu_of(buffer));
                SASSEMU_TRY(gpu->write(addresses_.at(buffer.name) + patch.offset,
                                       std::as_bytes(std::span(&value, 1))));
            }
        }
        return {};
    }

    Result<uint64_t> allocate(const Buffer& buffer) {
        if (machine_ && buffer.kind == BufferKind::peer)
            return machine_->allocate_shared(buffer.gpu, buffer.bytes, buffer.name, buffer.address);
        if (machine_ && buffer.kind != BufferKind::device)
            return machine_->allocate_host(buffer.bytes, buffer.name, buffer.address);
        SASSEMU_ASSIGN(Gpu * gpu, this->gpu(buffer.gpu));
        return gpu->allocate(buffer.bytes, buffer.name, buffer.address);
    }
    // Who reads and writes the buffer.
    Result<Gpu*> gpu_of(const Buffer& buffer) { return gpu(buffer.gpu); }

    Result<void> fill(const Contents& contents, const Where& where, uint64_t address,
                      uint64_t bytes, bool zero_otherwise) {
        return fill(*gpu_, contents, where, address, bytes, zero_otherwise);
    }
    Result<void> fill(Gpu& gpu, const Contents& contents, const Where& where, uint64_t address,
                      uint64_t bytes, bool zero_otherwise) {
        if (!contents.file.empty()) {
            auto file = read_file(contents.file);
            if (!file) return std::move(file).error().within(where);
            if (file->size() != bytes) {
                return make_error(ErrorCode::input, where,
                                  contents.file + " has " + std::to_string(file->size()) +
                                      " bytes, " + std::to_string(bytes) + " are wanted");
            }
            return gpu.write(address, std::as_bytes(std::span(*file)));
        }
        if (contents.random) {
            if (bytes % element_size(contents.random->type) != 0) {
                return make_error(ErrorCode::input, where,
                                  std::to_string(bytes) + " bytes are no whole number of " +
                                      std::string(element_name(contents.random->type)) +
                                      " elements");
            }
            SASSEMU_TRY(process_budget().room_for(2 * bytes, where));
            std::vector<std::byte> values(bytes);
            fill_random(*contents.random, values);
            return gpu.write(address, values);
        }
        if (contents.fill) {
            // Zeros that a device buffer starts with anyway are not written: they would take
            // memory.
            if (*contents.fill != 0) SASSEMU_TRY(process_budget().room_for(bytes, where));
            return gpu.fill(address, bytes, *contents.fill);
        }
        if (!zero_otherwise) return {};
        return gpu.fill(address, bytes, 0);
    }

    // A global by name, in the first module that has it.
    Result<Gpu::Symbol> find_symbol(const std::string& name, uint32_t on = 0) {
        SASSEMU_TRY(process_budget().check(plan_.file));
        SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
        for (const ModuleId id : placed_.at(on).ids) {
            if (auto symbol = gpu->symbol(id, name)) return *symbol;
        }
        return make_error(ErrorCode::input, "", "no module has a variable '" + name + "'");
    }

    Result<void> fill_globals() {
        for (const Global& global : plan_.globals) {
            for (const auto& [on, placed] : placed_) {
                auto symbol = find_symbol(global.name, on);
                if (!symbol) return std::move(symbol).error().within(global.where);
                SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
                SASSEMU_TRY(fill(*gpu, global.contents, global.where, symbol->address,
                                 symbol->bytes, false));
            }
        }
        return {};
    }

    // All requests are built before the first launch: a wrong argument costs no run.
    Result<void> prepare_launches() {
        uint32_t on = 0;  // the GPU of the launch that is prepared
        ParameterSources sources;
        sources.buffer_address = [this](const std::string& name) -> Result<uint64_t> {
            return addresses_.at(name);
        };
        sources.symbol_address = [this, &on](const std::string& name) -> Result<uint64_t> {
            SASSEMU_ASSIGN(const Gpu::Symbol symbol, find_symbol(name, on));
            return symbol.address;
        };
        sources.texture_handle = [this, &on](const TextureArg& arg) -> Result<uint64_t> {
            TextureDesc desc = arg.desc;
            desc.address = addresses_.at(arg.buffer);
            SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
            return arg.surface ? gpu->create_surface(desc) : gpu->create_texture(desc);
        };
        for (const Launch& launch : plan_.launches) {
            LaunchReport entry;
            entry.kernel = launch.kernel;
            entry.grid = launch.grid;
            entry.block = launch.block;
            entry.gpu = launch.gpu;
            entry.stream = launch.stream;
            if (launch.operation.index()) {
                requests_.emplace_back();
                report_.launches.push_back(std::move(entry));
                continue;
            }
            on = launch.gpu;
            const Placed& placed = placed_.at(on);
            const Module& module = *placed.modules[launch.module];
            auto kernel = module.kernel(launch.kernel);
            if (!kernel) {
                Error error = std::move(kernel).error().within(launch.where);
                error.code = ErrorCode::input;
                return error;
            }
            LaunchRequest request;
            request.module = placed.ids[launch.module];
            request.kernel = launch.kernel;
            request.grid = launch.grid;
            request.block = launch.block;
            request.cluster = launch.cluster;
            request.explicit_cluster = launch.has_cluster;
            request.dynamic_shared = launch.dynamic_shared;
            request.cooperative = launch.cooperative;
            SASSEMU_ASSIGN(request.params, build_parameters(launch, **kernel, sources));
            request.may_overlap =
                plan_.launches[requests_.size()].may_overlap() && !requests_.empty();
            requests_.push_back(std::move(request));
            report_.launches.push_back(std::move(entry));
        }
        return {};
    }

    Result<void> check_dumps() {
        for (const Dump& dump : options_.dumps) {
            if (addresses_.contains(dump.buffer) || find_symbol(dump.buffer)) continue;
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
        if (options_.on_gpu) options_.on_gpu(gpu_);
        if (machine_) return run_in_flight();
        for (size_t i = 0; i < requests_.size();) {
            const size_t end = end_of_chain(i);
            for (size_t k = i; k < end; ++k)
                progress("launch " + std::to_string(k + 1) + "/" +
                         std::to_string(requests_.size()) + ": " + report_.launches[k].kernel);
            for (uint32_t run = 0; run < plan_.launches[i].repeat; ++run) {
                SASSEMU_ASSIGN(const bool more, launch_chain(i, end));
                if (!more) return {};
            }
            i = end;
        }
        return {};
    }

    Result<void> run_in_flight() {
        if (options_.stop_requested && options_.stop_requested()) {
            stop(report_.launches.front(), LaunchStatus::interrupted,
                 "interrupted before the launch");
            return {};
        }
        Limits limits;
        set_limits(limits);
        machine_->set_limits(limits);
        InFlight flight(InFlight::Parts{
            *machine_, plan_, addresses_, requests_,
            [this](const std::string& line) { progress(line); },
            [this](const std::string& line) { report_.notes.push_back(line); },
            [this](const std::string& name, const CheckBytes& check) {
                return compare_one(name + " of '" + check.at.buffer + "'",
                                   addresses_.at(check.at.buffer) + check.at.offset, check.at.bytes,
                                   check.expect, *find_buffer(check.at.buffer));
            }});
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
        if (outcome.host_failed.empty()) return {};
        if (report_.status == LaunchStatus::ok) report_.status = LaunchStatus::deadlock;
        report_.partial = true;
        report_.notes.push_back(std::move(outcome.host_failed));
        return {};
    }

    const Buffer* find_buffer(const std::string& name) const {
        const auto found = std::ranges::find(plan_.buffers, name, &Buffer::name);
        return found == plan_.buffers.end() ? nullptr : &*found;
    }

    // The launches from `first` on that may overlap. Eager ones never do, and are launched one by
    // one.
    size_t end_of_chain(size_t first) const {
        size_t end = first + 1;
        if (options_.gpu.agents == AgentOrder::eager) return end;
        const auto single = [&](size_t i) { return plan_.launches[i].repeat == 1; };
        while (end < requests_.size() && plan_.launches[end].may_overlap() && single(end - 1) &&
               single(end))
            ++end;
        return end;
    }

    // False: the plan ends here.
    Result<bool> launch_chain(size_t first, size_t end) {
        for (size_t i = first; i < end; ++i) {
            LaunchReport& entry = report_.launches[i];
            if (options_.stop_requested && options_.stop_requested()) {
                stop(entry, LaunchStatus::interrupted, "interrupted before the launch");
                return false;
            }
            if (const Result<void> checked = process_budget().check(plan_.launches[i].where);
                !checked) {
                const bool interrupted = process_budget().stopped() == Budget::Stop::interrupted;
                stop(entry, interrupted ? LaunchStatus::interrupted : LaunchStatus::limit,
                     checked.error().message());
                return false;
            }
            if (!set_limits(requests_[i].limits)) {
                stop(entry, LaunchStatus::limit, "the limit was used up by earlier launches");
                return false;
            }
        }
        auto results = gpu_->launch_chain(std::span(requests_).subspan(first, end - first));
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
            limits.seconds = seconds - report_.total.seconds;
            if (limits.seconds <= 0) return false;
        }
        if (most > 0) {
            if (report_.total.warp_instructions >= most) return false;
            limits.max_warp_instructions = most - report_.total.warp_instructions;
        }
        return true;
    }

    static void add(LaunchStats& sum, const LaunchStats& one) {
        sum.warp_instructions += one.warp_instructions;
        sum.thread_instructions += one.thread_instructions;
        sum.guard_false += one.guard_false;
        sum.seconds += one.seconds;
        sum.ctas += one.ctas;
        sum.bytes_per_resident_cta =
            std::max(sum.bytes_per_resident_cta, one.bytes_per_resident_cta);
        sum.threads = std::max(sum.threads, one.threads);
    }

    void stop(LaunchReport& entry, LaunchStatus status, std::string message) {
        entry.status = report_.status = status;
        entry.message = std::move(message);
        report_.partial = true;
    }

    void record(LaunchReport& entry, LaunchResult& result) {
        ++entry.repeats;
        add(entry.stats, result.stats);
        add(report_.total, result.stats);
        entry.status = result.status;
        if (result.status == LaunchStatus::ok) {
            // What it had to do without.
            if (!result.message.empty() && !std::ranges::count(report_.notes, result.message))
                report_.notes.push_back(std::move(result.message));
            return;
        }
        stop(entry, result.status, std::move(result.message));
        entry.fault = std::move(result.fault);
        if (entry.fault) report_.fault = entry.fault->kind;
    }

    Result<void> compare_all() {
        if (!report_.status_met() && report_.status != LaunchStatus::ok) return {};
        for (const Buffer& buffer : plan_.buffers) {
            if (!buffer.expect) continue;
            SASSEMU_TRY(compare_one(buffer.name, addresses_.at(buffer.name), buffer.bytes,
                                    *buffer.expect, buffer));
        }
        for (const Global& global : plan_.globals) {
            if (!global.expect) continue;
            SASSEMU_ASSIGN(const Gpu::Symbol symbol, find_symbol(global.name));
            SASSEMU_TRY(compare_one(global.name, symbol.address, symbol.bytes, *global.expect, {}));
        }
        return {};
    }

    // What threads leave that race depends on their order, here and on the chip. With plugins, a
    // checker may have looked already.
    void note_races() {
        const auto differs = [](const Comparison& c) { return !c.equal(); };
        const auto has_threads = [](const LaunchReport& l) {
            return l.grid.count() * l.block.count() > 1;
        };
        if (!hooks_ && std::ranges::any_of(report_.comparisons, differs) &&
            std::ranges::any_of(report_.launches, has_threads))
            report_.notes.push_back(
                "the results differ; should threads race, they may: `sassemu check-sync` tells");
    }

    Result<void> compare_one(const std::string& name, uint64_t address, uint64_t bytes,
                             const Expectation& expect, const Buffer& buffer) {
        SASSEMU_ASSIGN(Gpu * gpu, gpu_of(buffer));
        DeviceSource got(*gpu, address, bytes);
        SASSEMU_ASSIGN(Comparison result, compare(name, got, expect));
        // Memory carries no history: the last launch that ran is who can have written last.
        for (size_t i = 0; i < report_.launches.size(); ++i) {
            if (report_.launches[i].repeats == 0) continue;
            result.last_writer =
                "kernel '" + report_.launches[i].kernel + "', launch " + std::to_string(i + 1);
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
        Gpu::Symbol place;
        Gpu* gpu = gpu_;
        if (const Buffer* buffer = find_buffer(dump.buffer)) {
            place = {addresses_.at(buffer->name), buffer->bytes};
            SASSEMU_ASSIGN(gpu, gpu_of(*buffer));
        } else {
            SASSEMU_ASSIGN(place, find_symbol(dump.buffer));
        }
        DeviceSource bytes(*gpu, place.address, place.bytes);
        return write_file_atomically(dump.file, bytes).within("--dump " + dump.buffer);
    }

    void progress(const std::string& line) const {
        if (options_.on_progress) options_.on_progress(line);
    }

    const Plan& plan_;
    const RunOptions& options_;
    RunReport report_;
    std::mutex out_mutex_;
    uint64_t out_bytes_ = 0;
    bool out_same_ = true;  // as the plan expects, so far
    std::vector<std::shared_ptr<const Module>> modules_;
    // The modules as a GPU has them.
    struct Placed {
        std::vector<std::shared_ptr<const Module>> modules;
        std::vector<ModuleId> ids;
    };
    std::map<uint32_t, Placed> placed_;
    std::vector<LaunchRequest> requests_;
    std::string default_device_;  // the architecture's
    std::unordered_map<std::string, uint64_t> addresses_;
    std::shared_ptr<Hooks> hooks_;  // plugins; null: none
    Gpu* gpu_ = nullptr;            // the first
    // One of these; last: it goes first, while what it refers to is still there.
    std::unique_ptr<Gpu> alone_;
    std::unique_ptr<Machine> machine_;
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

Result<RunReport> run_plan(const Plan& plan, const RunOptions& options) {
    return Runner(plan, options).run();
}

}  // namespace sassemu::plan
