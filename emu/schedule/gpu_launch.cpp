// SPDX-License-Identifier: Apache-2.0
// Launches of a GPU: what is refused, constant banks, residency.
#include <algorithm>
#include <cstring>
#include <optional>
#include <sassemu/names.hpp>
#include <utility>

#include "emu/machine/stepper.hpp"
#include "emu/module/attributes.hpp"
#include "emu/schedule/bank0.hpp"
#include "emu/schedule/gpu_impl.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

namespace {

// The largest shared memory of a CTA: bits 31..24 of its addresses name a CTA of the cluster.
constexpr uint64_t most_shared = (1 << 24) - 1024;

// The cluster that the launch asks for, or that the kernel was compiled for.
Dim3 cluster_of(const LaunchRequest& r, const Kernel& k) {
    if (!r.explicit_cluster && k.cluster) return {k.cluster->x, k.cluster->y, k.cluster->z};
    return r.cluster;
}

// Whether the kernel has one of these attributes.
bool uses(const Kernel& k, std::initializer_list<uint8_t> codes) {
    return std::any_of(k.attributes.begin(), k.attributes.end(), [&](const Attribute& a) {
        return std::find(codes.begin(), codes.end(), a.code) != codes.end();
    });
}

// Where the compiler keeps what tcgen05.alloc knows, in reserved shared memory; 0: nowhere.
uint32_t tensor_partition(const Module& module) {
    for (const sassemu::Symbol& s : module.symbols())
        if (s.name == "__nv_reservedSMEM_tcgen05_partition") return static_cast<uint32_t>(s.value);
    return 0;
}

}  // namespace

Result<void> GpuImpl::check(const LaunchRequest& r, const Kernel& k) const {
    const std::string where = "launch of '" + names::demangled(r.kernel) + "'";
    const auto bad = [&](std::string field, std::string what, std::string hint = "") {
        return Error{ErrorCode::input, where + ": " + field, std::move(what), std::move(hint)};
    };
    const Module& module = *modules_[r.module]->module;
    for (const uint32_t symbol : k.externs)
        if (auto no = DriverFunctions::refusal(module, module.symbols()[symbol]))
            return Error{ErrorCode::unsupported, where, std::move(no->why), std::move(no->hint)};
    const DeviceProfile& d = device_;
    if (!r.block.count() || r.block.x > 1024 || r.block.y > 1024 || r.block.z > 64 ||
        r.block.count() > 1024)
        return bad("block",
                   "(" + std::to_string(r.block.x) + "," + std::to_string(r.block.y) + "," +
                       std::to_string(r.block.z) + ") is not a valid block",
                   "at most 1024 threads, 1024 x 1024 x 64");
    if (!r.grid.count() || r.grid.x > 0x7fffffffu || r.grid.y > 65535 || r.grid.z > 65535)
        return bad("grid", "is empty or too large", "at most 2^31-1 x 65535 x 65535");
    if (k.max_threads) {
        const auto& m = *k.max_threads;
        const uint64_t most = uint64_t{m.x} * m.y * m.z;
        if (most && r.block.count() > most)
            return bad("block", std::to_string(r.block.count()) + " threads exceed the " +
                                    std::to_string(most) + " that the kernel was compiled for");
    }
    if (k.required_threads) {
        const auto& m = *k.required_threads;
        if (r.block.x != m.x || r.block.y != m.y || r.block.z != m.z)
            return bad("block", "differs from the kernel's required block (" + std::to_string(m.x) +
                                    "," + std::to_string(m.y) + "," + std::to_string(m.z) + ")");
    }
    const Dim3 cluster = cluster_of(r, k);
    const std::string shape = "(" + std::to_string(cluster.x) + "," + std::to_string(cluster.y) +
                              "," + std::to_string(cluster.z) + ")";
    if (!cluster.count() || cluster.count() > Cluster::most)
        return bad("cluster", shape + " is not a valid cluster",
                   "1 to 8 CTAs, 16 where the device allows it");
    if (k.cluster && Extent3{cluster.x, cluster.y, cluster.z} != *k.cluster)
        return bad("cluster",
                   shape + " differs from the kernel's (" + std::to_string(k.cluster->x) + "," +
                       std::to_string(k.cluster->y) + "," + std::to_string(k.cluster->z) + ")");
    if (k.explicit_cluster && !k.cluster && !r.explicit_cluster)
        return bad("cluster", "the kernel must be launched with the size of its clusters");
    if (k.max_cluster_rank && *k.max_cluster_rank && cluster.count() > *k.max_cluster_rank)
        return bad("cluster", shape + " exceeds the " + std::to_string(*k.max_cluster_rank) +
                                  " CTAs per cluster that the kernel was compiled for");
    if (r.grid.x % cluster.x || r.grid.y % cluster.y || r.grid.z % cluster.z)
        return bad("grid", "is not a multiple of the cluster " + shape + " in every dimension");
    if (cluster.count() > 1 &&
        !sassdec::architecture(modules_[r.module]->module->arch().sm).family->abi90)
        return bad("cluster", "clusters exist from sm_90 on");
    const uint64_t shared = uint64_t{k.shared_static} + r.dynamic_shared;
    if (shared > most_shared)
        return bad("dynamicShared",
                   std::to_string(shared) + " bytes of shared memory: addresses have 24 bits",
                   "at most " + std::to_string(most_shared) + " bytes, whatever the device offers");
    if (shared > uint64_t{d.shared_per_cta} + k.shared_reserved)
        return bad("dynamicShared", std::to_string(shared) +
                                        " bytes of shared memory exceed the device's " +
                                        std::to_string(d.shared_per_cta) + " per CTA");
    if (r.params.size() != k.param_size)
        return bad("parameters", std::to_string(r.params.size()) +
                                     " bytes given, the kernel takes " +
                                     std::to_string(k.param_size));
    const uint64_t warps = (r.block.count() + 31) / 32;
    if (warps * 32 * ((k.registers + 7) / 8 * 8) > d.registers_per_sm)
        return bad("block", "the CTA needs more registers than the device's " +
                                std::to_string(d.registers_per_sm) + " per SM");
    return {};
}

// What the barrier of a cooperative grid counts in. `user` goes with the launch.
Result<uint64_t> GpuImpl::workspace(std::shared_ptr<void>& user) {
    auto free = std::ranges::find_if(workspaces_, [](const auto& w) { return w.second.expired(); });
    if (free == workspaces_.end()) {
        auto at = reserve(4096, {0, 0, "cooperative grid workspace"});
        if (!at) return at.error();
        free = workspaces_.emplace(*at, std::weak_ptr<void>()).first;
    }
    user = std::make_shared<int>();
    free->second = user;
    if (auto done = fill(free->first, 4096, 0); !done) return done.error();
    const uint32_t size = 8;
    if (auto done = write(free->first, std::as_bytes(std::span(&size, 1))); !done)
        return done.error();
    return free->first;
}

// Everything of a launch but who runs it.
Result<void> GpuImpl::prepare(const LaunchRequest& request, PreparedLaunch& out) {
    if (request.module >= modules_.size() || !modules_[request.module])
        return Error{ErrorCode::usage, "launch", "no module " + std::to_string(request.module), ""};
    LoadedModule& m = *modules_[request.module];
    auto found = m.module->kernel(request.kernel);
    if (!found) return found.error();
    const Kernel& k = **found;
    if (auto ok = check(request, k); !ok) return ok.error();

    SASSEMU_ASSIGN(CodeImage* const code_image, code(m));
    CodeImage& image = *code_image;
    const Op* entry = image.at(m.code_base + k.code_offset);
    if (!entry)
        return Error{ErrorCode::input,
                     m.module->file_name() + ": kernel '" + names::demangled(request.kernel) + "'",
                     "its entry lies in no code section", ""};

    out.entry = entry;
    out.kernel = &k;
    out.matrix_sums = core_->level->matrix_sums;
    out.warpgroup_sums = core_->level->warpgroup_sums;
    Launch& launch = out.launch;
    launch.space = &space_;
    launch.code = &image;
    launch.textures = &textures_;
    launch.model = core_->model.get();
    launch.device = &device_;
    launch.grid = request.grid;
    launch.block = request.block;
    launch.cluster = cluster_of(request, k);
    launch.registers = image.options().max_registers;
    launch.warp_registers = (k.registers + 7) / 8 * 8;
    launch.rows = first_register_row + launch.registers + 1;
    launch.shared_bytes = k.shared_static + request.dynamic_shared;
    const bool uses_reserved = uses(k, {eiattr::reserved_smem_used});
    const uint32_t behind = uses_reserved ? reserved_behind(m.module->arch().sm) : 0;
    if (behind) launch.shared_bytes = (launch.shared_bytes + 127) / 128 * 128 + behind;
    launch.dynamic_shared = request.dynamic_shared;
    if (uses(k, {eiattr::tcgen05_1cta_used, eiattr::tcgen05_2cta_used}))
        launch.tensor_partition = tensor_partition(*m.module);
    const uint64_t own = std::max({k.min_stack_size, k.frame_size, k.crs_stack_size});
    const uint64_t stack = std::max<uint64_t>(core_->options.stack_bytes, own);
    launch.local_bytes =
        static_cast<uint32_t>(std::min<uint64_t>((stack + 15) / 16 * 16, 512 << 10));
    launch.arch = m.module->arch().sm;
    launch.id = ++core_->launches;
    launch.start_ns = launch.id * 1000000;

    Bank0Values values;
    values.block = request.block;
    values.grid = request.grid;
    values.cluster = launch.cluster;
    values.explicit_cluster = launch.in_clusters = request.explicit_cluster || k.cluster;
    values.stack_top = launch.local_bytes;
    values.param_base = k.param_base;
    values.constants = m.bank3;
    values.dynamic_shared = request.dynamic_shared;
    values.grid_id = launch.id;
    values.sms = device_.sms;
    values.shared = launch.shared_bytes;
    values.reserved_shared = k.shared_reserved + behind;
    if (request.cooperative) {
        auto at = workspace(out.workspace);
        if (!at) return at.error();
        values.grid_workspace = *at;
    }
    launch.bank_bytes = m.bank_bytes;
    std::vector<std::byte>& bank0 = out.bank0;
    bank0.resize(m.bank_bytes[static_cast<size_t>(Base::bank0)]);
    fill_bank0(bank0, launch.arch, values);
    std::copy(request.params.begin(), request.params.end(), bank0.begin() + k.param_base);

    const auto base = [&](Base of) -> const std::byte*& {
        return launch.base[static_cast<size_t>(of)];
    };
    base(Base::immediate) = image.immediates();
    base(Base::bank0) = bank0.data();
    base(Base::bank2) = base(Base::bank4) = m.no_bank.data();
    for (size_t i = 0; i < m.linked.banks.size(); ++i) {
        const LinkedBank& bank = m.linked.banks[i];
        const ConstantBank& source = m.module->constant_banks()[i];
        if (!source.kernel.empty() && source.kernel != k.name) continue;
        const auto* at = reinterpret_cast<const std::byte*>(bank.bytes.data());
        if (bank.bank == 2) base(Base::bank2) = at;
        if (bank.bank == 4) base(Base::bank4) = at;
    }
    if (m.bank3) base(Base::bank3) = space_.find(m.bank3).host;
    return {};
}

// What a launch has that its engine refers to.
struct GridParts {
    LaunchRequest request;
    PreparedLaunch prepared;
    std::optional<PrintedText> printed;
    std::optional<ChildGrids> children;
    std::shared_ptr<Chain> chain;
};

// Prepares the launch. All settings but what it has to do with others of its stream.
Result<Engine::Settings> GpuImpl::settings_of(const std::shared_ptr<GridParts>& parts) {
    const LaunchRequest& request = parts->request;
    if (auto ready = prepare(request, parts->prepared); !ready) return ready.error();
    HookedLaunch& launch = parts->prepared.launch;
    const Kernel& k = *parts->prepared.kernel;
    CodeImage& image = *launch.code;
    const GpuOptions& options = core_->options;

    // Residency: what one SM holds, times the SMs of the device.
    const DeviceProfile& d = device_;
    const uint32_t warps = static_cast<uint32_t>((request.block.count() + 31) / 32);
    const uint32_t per_warp = std::max(1u, (k.registers + 7) / 8 * 8 * 32);
    const uint32_t by_registers = d.registers_per_sm / (per_warp * warps);
    const uint32_t by_threads = d.resident_threads_per_sm / (warps * 32);
    const uint32_t by_shared =
        launch.shared_bytes ? d.shared_per_sm / std::max(1u, launch.shared_bytes) : ~0u;
    const uint32_t per_sm =
        std::max(1u, std::min({by_registers, by_threads, by_shared, d.resident_ctas_per_sm}));
    Engine::Settings settings;
    // CTAs of a cluster are resident together.
    const auto per_cluster = static_cast<uint32_t>(launch.cluster.count());
    settings.resident_limit = static_cast<uint32_t>(
        std::clamp<uint64_t>(uint64_t{per_sm} * d.sms / per_cluster, 1, UINT32_MAX / 2));
    if (request.cooperative && request.grid.count() / per_cluster > settings.resident_limit)
        return Error{ErrorCode::input, "launch of '" + request.kernel + "': grid",
                     std::to_string(request.grid.count()) +
                         " CTAs of a cooperative launch must be "
                         "resident together, the device '" +
                         d.name + "' holds " +
                         std::to_string(uint64_t{settings.resident_limit} * per_cluster),
                     "use a smaller grid or a larger device profile"};
    settings.agents = options.agents;
    settings.threads = core_->scheduler->alone() ? 1 : options.threads;
    settings.checked = image.options().lowering == Lowering::checked;
    settings.cooperative = request.cooperative;
    launch.hooks = core_->hooks.get();
    launch.fill = &core_->fill;
    settings.limit = core_->limit;
    if (const uint64_t most = request.limits.max_warp_instructions) {
        settings.limit = std::make_shared<InstructionLimit>();
        settings.limit->most = most;
    }
    settings.seconds = request.limits.seconds;
    settings.stops = &core_->stops;
    settings.residency = &residency_;
    settings.far = core_->far;
    settings.gpu = index_;
    const LoadedModule& module = *modules_[request.module];
    settings.printed = &parts->printed.emplace(core_->on_printf, module.prints);
    if (module.launches)
        settings.children = &parts->children.emplace(
            calls_.parameters(), [&module, id = request.module](uint64_t entry, LaunchRequest& r) {
                for (const Kernel& kernel : module.module->kernels()) {
                    if (module.code_base + kernel.code_offset != entry) continue;
                    r.module = id;
                    r.kernel = kernel.name;
                    r.params.resize(kernel.param_size);
                    return true;
                }
                return false;
            });
    for (auto& slot : cache_)
        if (slot->arena.bytes() > (64u << 20)) slot->arena.release();
    if (Hooks* hooks = core_->hooks.get()) {
        settings.on_begin = [&launch, &k, hooks, parts = parts.get(), bank3 = module.bank3,
                             index = index_, per_sm] {
            hooks->launch_begin(launch, k, parts->request.params, bank3, parts->request.may_overlap,
                                index, per_sm);
        };
        settings.on_end = [&launch, hooks](LaunchStatus status) {
            hooks->launch_end(launch, status);
        };
    }
    if (Stepper* const stepper = core_->stepper) {
        settings.stepper = stepper;
        settings.on_begin = [stepper, &launch, name = request.kernel, index = index_,
                             then = std::move(settings.on_begin)] {
            if (then) then();
            stepper->launch_begin(launch, name, index);
        };
    }
    return settings;
}

GridTree::Grid GpuImpl::grid_of(const std::shared_ptr<GridParts>& parts,
                                Engine::Settings settings) {
    settings.keep = parts;
    return {std::make_unique<Engine>(parts->prepared.launch, *core_->level, *core_->chooser, calls_,
                                     cache_, std::move(settings), parts->request.kernel,
                                     parts->prepared.entry),
            parts->children ? &*parts->children : nullptr};
}

Result<TaskRef> GpuImpl::enqueue(Stream& stream, const LaunchRequest& request, bool overlaps) {
    auto parts = std::make_shared<GridParts>();
    parts->request = request;
    SASSEMU_ASSIGN(Engine::Settings settings, settings_of(parts));
    const bool launches = settings.children;
    const uint32_t threads = settings.threads;
    // Launches overlap where it can be seen: not in the order that hides what comes too early, not
    // where plugins or models look on, and not where more may come behind one.
    if (core_->options.agents != AgentOrder::eager && !core_->hooks && !core_->model && !launches) {
        overlaps = overlaps && stream.chain;
        if (!overlaps)
            stream.chain = std::make_shared<Chain>(core_->options.agents, *core_->chooser);
        parts->chain = stream.chain;
        settings.link = parts->chain->add();
    } else {
        overlaps = false;
    }
    auto task = std::make_shared<Task>();
    task->what = "launch " + std::to_string(parts->prepared.launch.id) + " (kernel '" +
                 names::demangled(request.kernel) + "') on " + place(stream);
    GridTree::Grid grid = grid_of(parts, std::move(settings));
    if (launches)
        task->work = std::make_unique<GridTree>(
            std::move(grid),
            [this](const LaunchRequest& child) {
                return within_memory(child.kernel, [&]() -> Result<GridTree::Grid> {
                    auto its = std::make_shared<GridParts>();
                    its->request = child;
                    SASSEMU_ASSIGN(Engine::Settings of, settings_of(its));
                    return grid_of(its, std::move(of));
                });
            },
            request.kernel, request.limits, threads);
    else
        task->work = std::move(grid.engine);
    add(stream, task, {}, overlaps);
    stream.chain = parts->chain;
    return task;
}

// Behind what is in the stream, and in others of the GPU as the legacy stream wants it.
void GpuImpl::add(Stream& stream, const TaskRef& task, std::vector<TaskRef> after, bool overlaps) {
    task->priority = stream.priority;
    Stream& legacy = streams_.front();
    if (&stream == &legacy) {
        for (const Stream& other : streams_)
            if (other.blocking && &other != &legacy) after.push_back(other.last);
    } else if (stream.blocking) {
        after.push_back(legacy.last);
    }
    if (!overlaps) after.push_back(stream.last);
    core_->scheduler->add(task, after, overlaps ? stream.last : nullptr);
    stream.last = task;
    stream.chain.reset();
}

std::string GpuImpl::place(const Stream& stream) const {
    return "GPU " + std::to_string(index_) +
           (stream.name.empty() ? std::string() : ", stream '" + stream.name + "'");
}

std::vector<Result<LaunchResult>> GpuImpl::launch_chain(std::span<const LaunchRequest> requests) {
    std::vector<Result<LaunchResult>> results;
    std::vector<TaskRef> tasks;
    auto lock = core_->scheduler->lock();
    const bool one_by_one = core_->options.agents == AgentOrder::eager || core_->hooks;
    const auto finish = [&] {
        for (const TaskRef& task : std::exchange(tasks, {})) {
            core_->scheduler->wait(
                lock,
                {"for " + task->what, [&] { return task->state == Task::State::done; }, 0, false});
            if (task->failure) *task->failure = true;
            if (task->result.status == LaunchStatus::not_run && !results.empty()) return false;
            results.push_back(std::move(task->result));
            if (results.back()->status != LaunchStatus::ok) return false;
        }
        return true;
    };
    for (const LaunchRequest& request : requests) {
        auto task = within_memory("launch of '" + names::demangled(request.kernel) + "'", [&] {
            return enqueue(streams_.front(), request, !tasks.empty());
        });
        if (task) tasks.push_back(std::move(*task));
        if ((task && !one_by_one) || (finish() && task)) continue;
        if (!task) results.push_back(task.error());
        break;
    }
    finish();
    if (core_->scheduler->idle()) core_->stops.take_back();
    return results;
}

Result<std::unique_ptr<PreparedLaunch>> prepare_launch(Gpu& gpu, const LaunchRequest& request) {
    auto* own = dynamic_cast<GpuImpl*>(&gpu);
    if (!own)
        return Error{ErrorCode::internal, "prepare_launch", "is for GPUs of create_gpu()", ""};
    auto out = std::make_unique<PreparedLaunch>();
    if (auto ready = own->prepare(request, *out); !ready) return ready.error();
    return out;
}

}  // namespace sassemu
