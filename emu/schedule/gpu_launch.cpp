// SPDX-License-Identifier: Apache-2.0
// Launches of a GPU: what is refused, constant banks, residency, chains.
#include <algorithm>
#include <cstring>

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

}  // namespace

Result<void> GpuImpl::check(const LaunchRequest& r, const Kernel& k) const {
    const std::string where = "launch of '" + r.kernel + "'";
    const auto bad = [&](std::string field, std::string what, std::string hint = "") {
        return Error{ErrorCode::input, where + ": " + field, std::move(what), std::move(hint)};
    };
    const Module& module = *modules_[r.module]->module;
    for (const uint32_t symbol : k.externs)
        if (auto no = DriverFunctions::refusal(module, module.symbols()[symbol]))
            return Error{ErrorCode::unsupported, where, std::move(no->why), std::move(no->hint)};
    const DeviceProfile& d = options_.device;
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

Result<uint64_t> GpuImpl::workspace() {
    if (!workspace_) {
        auto at = reserve(4096, {0, 0, "cooperative grid workspace"});
        if (!at) return at.error();
        workspace_ = *at;
    }
    if (auto done = fill(workspace_, 4096, 0); !done) return done.error();
    const uint32_t size = 8;
    if (auto done = write(workspace_, std::as_bytes(std::span(&size, 1))); !done)
        return done.error();
    return workspace_;
}

std::vector<Result<LaunchResult>> GpuImpl::launch_chain(std::span<const LaunchRequest> requests) {
    if (requests.size() < 2 || options_.agents == AgentOrder::eager || hooks_ || model_)
        return Gpu::launch_chain(requests);
    const auto ended_well = [](const Result<LaunchResult>& r) {
        return r && r->status == LaunchStatus::ok;
    };
    std::vector<std::optional<Result<LaunchResult>>> of(requests.size());
    Chain chain(requests.size(), options_.agents, *chooser_);
    chain.run([&](size_t i, Chain::Link& link) {
        of[i] = launch(requests[i], &link);
        return ended_well(*of[i]);
    });
    interrupted_ = false;  // it was for all of them
    std::vector<Result<LaunchResult>> results;
    for (size_t i = 0; i < of.size(); ++i) {
        auto& result = of[i];
        if (!result && chain.refused(i))
            results.push_back(Error{ErrorCode::system, "launch of '" + requests[i].kernel + "'",
                                    "the host has no thread for a launch that may overlap another",
                                    "--agents eager needs none"});
        if (!result) break;
        results.push_back(std::move(*result));
        if (!ended_well(results.back())) break;
    }
    return results;
}

// Everything of a launch but who runs it.
Result<void> GpuImpl::prepare(const LaunchRequest& request, PreparedLaunch& out) {
    if (request.module >= modules_.size())
        return Error{ErrorCode::usage, "launch", "no module " + std::to_string(request.module), ""};
    LoadedModule& m = *modules_[request.module];
    auto found = m.module->kernel(request.kernel);
    if (!found) return found.error();
    const Kernel& k = **found;
    if (auto ok = check(request, k); !ok) return ok.error();

    CodeImage& image = code(m);
    const Op* entry = image.at(m.code_base + k.code_offset);
    if (!entry)
        return Error{ErrorCode::input, m.module->file_name() + ": kernel '" + request.kernel + "'",
                     "its entry lies in no code section", ""};

    out.entry = entry;
    out.kernel = &k;
    Launch& launch = out.launch;
    launch.space = &space_;
    launch.code = &image;
    launch.textures = &textures_;
    launch.model = model_.get();
    launch.device = &options_.device;
    launch.grid = request.grid;
    launch.block = request.block;
    launch.cluster = cluster_of(request, k);
    launch.registers = image.options().max_registers;
    launch.rows = first_register_row + launch.registers + 1;
    launch.shared_bytes = k.shared_static + request.dynamic_shared;
    launch.dynamic_shared = request.dynamic_shared;
    const uint64_t own = std::max({k.min_stack_size, k.frame_size, k.crs_stack_size});
    const uint64_t stack = std::max<uint64_t>(options_.stack_bytes, own);
    launch.local_bytes =
        static_cast<uint32_t>(std::min<uint64_t>((stack + 15) / 16 * 16, 512 << 10));
    launch.arch = m.module->arch().sm;
    launch.id = ++launches_;
    launch.start_ns = launches_ * 1000000;

    Bank0Values values;
    values.block = request.block;
    values.grid = request.grid;
    values.cluster = launch.cluster;
    values.explicit_cluster = request.explicit_cluster || k.cluster;
    values.stack_top = launch.local_bytes;
    values.param_base = k.param_base;
    values.dynamic_shared = request.dynamic_shared;
    values.grid_id = launch.id;
    values.sms = options_.device.sms;
    values.reserved_shared = k.shared_reserved;
    if (request.cooperative) {
        auto at = workspace();
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
        if (!source.kernel.empty() && source.kernel != request.kernel) continue;
        const auto* at = reinterpret_cast<const std::byte*>(bank.bytes.data());
        if (bank.bank == 2) base(Base::bank2) = at;
        if (bank.bank == 4) base(Base::bank4) = at;
    }
    if (m.bank3) base(Base::bank3) = space_.find(m.bank3).host;
    return {};
}

Result<LaunchResult> GpuImpl::run(const LaunchRequest& request, Chain::Link* link) {
    PreparedLaunch prepared;
    if (auto ready = prepare(request, prepared); !ready) return ready.error();
    Launch& launch = prepared.launch;
    const Kernel& k = *prepared.kernel;
    CodeImage& image = *launch.code;

    // Residency: what one SM holds, times the SMs of the device.
    const DeviceProfile& d = options_.device;
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
    settings.agents = options_.agents;
    // One worker where a seed chooses, so that it says which run it is.
    const bool alone = options_.deterministic || model_ || options_.seed ||
                       options_.agents == AgentOrder::random ||
                       (hooks_ && hooks_->threading() != SASSEMU_FREE);
    settings.threads = alone ? 1 : options_.threads;
    settings.checked = image.options().lowering == Lowering::checked;
    launch.hooks = hooks_.get();
    launch.fill = &fill_;
    settings.max_warp_instructions = request.limits.max_warp_instructions;
    settings.seconds = request.limits.seconds;
    settings.interrupted = &interrupted_;
    settings.link = link;
    PrintedText printed(options_.on_printf, modules_[request.module]->prints);
    settings.printed = &printed;
    for (auto& slot : cache_)
        if (slot->arena.bytes() > (64u << 20)) slot->arena.release();

    Engine engine(launch, *level_, *chooser_, calls_, cache_, workers_, settings, request.kernel,
                  prepared.entry);
    if (hooks_)
        hooks_->launch_begin(launch, k, request.params, modules_[request.module]->bank3,
                             request.may_overlap, per_sm);
    LaunchResult result = engine.run();
    if (hooks_) hooks_->launch_end(launch, result.status);
    printed.flush();
    if (!link) interrupted_ = false;
    return result;
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
