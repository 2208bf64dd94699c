// SPDX-License-Identifier: Apache-2.0
// See setup.hpp. Its steps are in the order of use.
#include "emu/plan/setup.hpp"

#include <algorithm>
#include <span>

#include "emu/base/limits.hpp"
#include "emu/module/module.hpp"
#include "emu/nvshmem/world.hpp"
#include "emu/plan/host_processes.hpp"
#include "emu/plan/params.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::plan {

Setup::Setup(const Plan& plan, const RunOptions& options, PrintFunction on_printf)
    : plan_(plan), options_(options), on_printf_(std::move(on_printf)) {}
Setup::~Setup() {
    if (options_.ranks) options_.ranks->leave();
    if (options_.host) options_.host->leave();
}

Result<void> Setup::make() {
    SASSEMU_TRY(check_scope());
    if (options_.ranks) SASSEMU_TRY(check_ranks());
    SASSEMU_TRY(load_modules());
    SASSEMU_TRY(create_gpu());
    SASSEMU_TRY(place_modules());
    if (plan_.nvshmem) SASSEMU_TRY(create_world());
    SASSEMU_TRY(place_buffers());
    SASSEMU_TRY(fill_globals());
    SASSEMU_TRY(prepare_launches());
    if (options_.ranks) SASSEMU_TRY(options_.ranks->begin(*machine_));
    return {};
}

const Buffer* Setup::find_buffer(const std::string& name) const {
    const auto found = buffers_.find(name);
    return found == buffers_.end() ? nullptr : found->second;
}

// Who makes the GPU itself runs the launches one by one.
Result<void> Setup::check_scope() {
    if (!plan_.in_flight || !options_.create_gpu) return {};
    return make_error(ErrorCode::unsupported, plan_.file,
                      "several things in flight (gpus, peers, streams, events, host steps) are "
                      "for `sassemu run`");
}

// What one process does for another has to go through memory.
Result<void> Setup::check_ranks() {
    if (options_.gpu.deterministic)
        return make_error(ErrorCode::unsupported, "--deterministic",
                          "is one logical scheduler, and several ranks have one each",
                          "run all GPUs in one process (leave --ranks out)");
    if (!plan_.in_flight || plan_.gpus.size() < 2)
        return make_error(ErrorCode::input, plan_.file, "has one GPU, which one rank runs alone",
                          "--ranks is for plans with \"gpus\"");
    if (plan_.nvshmem)
        return make_error(ErrorCode::unsupported, plan_.file,
                          "has \"nvshmem\", whose PEs live in one process",
                          "run all GPUs in one process (leave --ranks out)");
    const auto refuse = [](const Where& where, const std::string& what) {
        return make_error(ErrorCode::unsupported, where,
                          what + " is of another rank, and streams and events do not leave one",
                          "waitValue and waitUntil wait for memory");
    };
    std::map<std::string, uint32_t> recorded;  // by which rank
    for (const Launch& launch : plan_.launches) {
        const uint32_t rank = options_.ranks->rank_of(launch.gpu);
        for (const std::string& event : launch.after)
            if (const auto by = recorded.find(event); by != recorded.end() && by->second != rank)
                return refuse(launch.where, "event '" + event + "'");
        if (!launch.event.empty()) recorded[launch.event] = rank;
    }
    for (const HostStep& step : plan_.host) {
        const auto* const wait = std::get_if<Synchronize>(&step.what);
        if (!wait) continue;
        if (!wait->event.empty() && recorded[wait->event])
            return refuse(step.where, "event '" + wait->event + "'");
        if (const auto stream = plan_.streams.find(wait->stream);
            stream != plan_.streams.end() && options_.ranks->rank_of(stream->second.gpu))
            return refuse(step.where, "stream '" + wait->stream + "'");
    }
    return {};
}

Result<void> Setup::load_modules() {
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
    arch_ = arch->name();
    default_device_ = sassdec::architecture(arch->sm).device;
    return {};
}

Result<DeviceProfile> Setup::profile(const DeviceOverrides& wanted, const std::string& usual,
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

Result<void> Setup::create_gpu() {
    GpuOptions gpu = options_.gpu;
    SASSEMU_ASSIGN(gpu.device, profile(plan_.device, default_device_, plan_.device_where));
    gpu.stack_bytes = plan_.stack_bytes.value_or(gpu.stack_bytes);
    gpu.heap_bytes = plan_.heap_bytes.value_or(gpu.heap_bytes);
    gpu.on_printf = on_printf_;
    device_ = gpu.device.name;
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
        if (const std::string* who = plan_.in_flight && hooks_ ? hooks_->follows_one() : nullptr) {
            return make_error(ErrorCode::unsupported, plan_.file,
                              "'" + *who + "' follows one launch at a time, and this plan has " +
                                  "several things in flight",
                              "run it without plugins, or each launch in a plan of its own");
        }
        std::string alone = hooks_ ? hooks_->needs_one_process() : "";
        if (gpu.model != "flat" && !(hooks_ && hooks_->has_model()))
            alone = "the model '" + gpu.model + "' holds back accesses of its own process only";
        if (options_.ranks && !alone.empty())
            return make_error(ErrorCode::unsupported, "--ranks", alone,
                              "run all GPUs in one process (leave --ranks out)");
        if (plan_.in_flight) {
            SASSEMU_TRY(create_machine(std::move(gpu)));
        } else {
            SASSEMU_ASSIGN(alone_, sassemu::create_gpu(std::move(gpu), hooks_, options_.fill,
                                                       options_.stepper));
            gpu_ = alone_.get();
        }
    }
    return {};
}

Result<void> Setup::create_machine(GpuOptions options) {
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
    device_ = devices.front().name;
    if (devices.size() > 1) device_ += " and " + std::to_string(devices.size() - 1) + " more";
    SASSEMU_ASSIGN(machine_, Machine::create(std::move(options), std::move(devices), hooks_,
                                             options_.fill, options_.stepper));
    SASSEMU_ASSIGN(gpu_, machine_->gpu(0));
    for (uint32_t from = 0; from < plan_.gpus.size() && plan_.all_peers; ++from)
        for (uint32_t to = 0; to < plan_.gpus.size(); ++to)
            SASSEMU_TRY(machine_->peer_access(from, to, true));
    for (const auto& [from, to] : plan_.peers) SASSEMU_TRY(machine_->peer_access(from, to, true));
    return {};
}

Result<Gpu*> Setup::gpu(uint32_t index) {
    if (machine_) return machine_->gpu(index);
    return gpu_;
}

// A name is of the module that the plan says, or the first that has it.
Gpu::SymbolAddresses Setup::symbol_addresses(std::span<const std::shared_ptr<const Module>> modules,
                                             size_t index) const {
    Gpu::SymbolAddresses at;
    for (const Global& global : plan_.globals) {
        const auto has = [&](const auto& module) {
            return module->variable(global.symbol) != nullptr;
        };
        const auto first = std::ranges::find_if(modules, has);
        const bool here = global.module ? *global.module == index
                                        : first == modules.begin() + static_cast<ptrdiff_t>(index);
        if (global.address && here) at.emplace(global.symbol, global.address);
    }
    for (const FunctionOfPlan& function : plan_.functions)
        if (function.module == index) at.emplace(function.name, function.address);
    return at;
}

// On the first GPU, and on those that launch something.
Result<void> Setup::place_modules() {
    SASSEMU_TRY(place_modules_on(0));
    for (const Launch& launch : plan_.launches)
        if (!launch.operation.index()) SASSEMU_TRY(place_modules_on(launch.gpu));
    return {};
}

Result<void> Setup::place_modules_on(uint32_t index) {
    if (placed_.contains(index)) return {};
    SASSEMU_ASSIGN(Gpu * gpu, this->gpu(index));
    Placed& placed = placed_[index];
    placed.modules = modules_;
    for (size_t i = 0; i < modules_.size(); ++i) {
        if (index < plan_.gpus.size() && !plan_.gpus[index].arch.empty())
            SASSEMU_TRY(load_for(plan_.gpus[index], i, placed.modules[i]));
        for (const FunctionOfPlan& function : plan_.functions)
            if (function.module == i &&
                !std::ranges::count(placed.modules[i]->functions(), function.name, &Function::name))
                return make_error(ErrorCode::input, function.where,
                                  plan_.modules[i] + " has no function '" + function.name + "'");
        auto id = gpu->load(placed.modules[i], symbol_addresses(placed.modules, i));
        if (!id) return std::move(id).error().within(plan_.module_where[i]);
        placed.ids.push_back(*id);
    }
    return {};
}

// The module as a GPU of another architecture than the plan's wants it.
Result<void> Setup::load_for(const GpuOfPlan& gpu, size_t index,
                             std::shared_ptr<const Module>& to) {
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

Result<void> Setup::create_world() {
    const NvshmemOfPlan& wanted = *plan_.nvshmem;
    nvshmem::Options options;
    options.pes = wanted.pes;
    options.heap_bytes = wanted.heap;
    options.node = wanted.node;
    options.proxy = wanted.proxy;
    options.infiniband = wanted.infiniband;
    options.order = options_.gpu.agents;
    options.seed = options_.gpu.seed;
    auto world = nvshmem::World::create(*machine_, options);
    if (!world) return std::move(world).error().within(wanted.where);
    world_ = std::move(world).value();
    for (const auto& [on, placed] : placed_)
        for (const ModuleId id : placed.ids)
            if (auto bound = world_->bind(on, id); !bound)
                return std::move(bound).error().within(wanted.where);
    return {};
}

uint64_t Setup::address_on(const std::string& name, uint32_t gpu) const {
    const uint64_t address = addresses_.at(name);
    const Buffer* buffer = find_buffer(name);
    if (!world_ || buffer->kind != BufferKind::symmetric || gpu >= world_->pes()) return address;
    return address - world_->heap(0) + world_->heap(gpu);
}

// A global by name, in the first module that has it.
Result<Gpu::Symbol> Setup::find_symbol(const std::string& name, uint32_t on) {
    SASSEMU_TRY(process_budget().check(plan_.file));
    SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
    for (const ModuleId id : placed_.at(on).ids) {
        if (auto symbol = gpu->symbol(id, name)) return *symbol;
    }
    return make_error(ErrorCode::input, "", "no module has a variable '" + name + "'");
}

Result<Gpu::Symbol> Setup::find_symbol(const Global& global, uint32_t on) {
    if (!global.module) return find_symbol(global.symbol, on);
    SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
    if (auto symbol = gpu->symbol(placed_.at(on).ids[*global.module], global.symbol))
        return *symbol;
    return make_error(
        ErrorCode::input, "",
        "module " + std::to_string(*global.module) + " has no variable '" + global.symbol + "'");
}

Result<void> Setup::fill_globals() {
    for (const Global& global : plan_.globals) {
        for (const auto& [on, placed] : placed_) {
            auto symbol = find_symbol(global, on);
            if (!symbol) return std::move(symbol).error().within(global.where);
            SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
            SASSEMU_TRY(
                fill(*gpu, global.contents, global.where, symbol->address, symbol->bytes, false));
        }
    }
    return {};
}

// All requests are built before the first launch: a wrong argument costs no run.
Result<void> Setup::prepare_launches() {
    uint32_t on = 0;  // the GPU of the launch that is prepared
    ParameterSources sources;
    sources.buffer_address = [this, &on](const std::string& name) -> Result<uint64_t> {
        return address_on(name, on);
    };
    sources.symbol_address = [this, &on](const std::string& name) -> Result<uint64_t> {
        SASSEMU_ASSIGN(const Gpu::Symbol symbol, find_symbol(name, on));
        return symbol.address;
    };
    const auto texture = [this](const TextureArg& arg, uint32_t index, uint64_t handle) {
        TextureDesc desc = arg.desc;
        desc.address = address_on(arg.buffer, index) + arg.offset;
        return gpu(index).and_then([&](Gpu* gpu) {
            return arg.surface ? gpu->create_surface(desc, handle)
                               : gpu->create_texture(desc, handle);
        });
    };
    for (const auto& placed : placed_)
        for (const Handle& handle : plan_.handles)
            if (auto made = texture(handle.texture, placed.first, handle.handle); !made)
                return std::move(made).error().within(handle.where);
    sources.texture_handle = [&](const TextureArg& arg) { return texture(arg, on, 0); };
    for (const Launch& launch : plan_.launches) {
        if (launch.operation.index()) {
            requests_.emplace_back();
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
        request.kernel = (*kernel)->name;
        request.grid = launch.grid;
        request.block = launch.block;
        request.cluster = launch.cluster;
        request.explicit_cluster = launch.has_cluster;
        request.dynamic_shared = launch.dynamic_shared;
        request.cooperative = launch.cooperative;
        SASSEMU_ASSIGN(request.params, build_parameters(launch, **kernel, sources));
        request.may_overlap = plan_.launches[requests_.size()].may_overlap() && !requests_.empty();
        requests_.push_back(std::move(request));
    }
    return {};
}

}  // namespace sassemu::plan
