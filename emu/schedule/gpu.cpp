// SPDX-License-Identifier: Apache-2.0
// class Gpu: memory, modules and launches of one emulated device.
#include "emu/gpu.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "emu/base/pages.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/textures.hpp"
#include "emu/module/link.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/bank0.hpp"
#include "emu/schedule/constant_banks.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/prepared.hpp"
#include "emu/schedule/service_calls.hpp"
#include "sassdec/architectures.hpp"
#include "sassdec/ids.h"

namespace sassemu {

namespace {

constexpr uint64_t code_window = uint64_t{0x7a} << 40;  // code addresses; never data
constexpr uint64_t code_stride = uint64_t{1} << 32;     // per module

// The largest shared memory of a CTA: bits 31..24 of its addresses name a CTA of the cluster.
constexpr uint64_t most_shared = (1 << 24) - 1024;

// Large ranges are given back to the host, which has zeros for whoever touches them again.
void fill_zeros(std::byte* at, uint64_t bytes) {
    constexpr uint64_t page = 4096, large = 1 << 20;
    const auto begin = reinterpret_cast<uintptr_t>(at), end = begin + bytes;
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (bytes < large || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED)) {
        std::memset(at, 0, bytes);
        return;
    }
    std::memset(at, 0, first - begin);
    std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

// Set-up that runs out of memory is an error, no exception.
template <class F>
auto within_memory(const std::string& where, F&& set_up) -> decltype(set_up()) {
    try {
        return set_up();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::system, where, "the host has no memory left", ""};
    }
}

std::span<const std::byte> as_bytes(const std::vector<uint8_t>& v) {
    return {reinterpret_cast<const std::byte*>(v.data()), v.size()};
}

// One module on the device.
struct LoadedModule {
    std::shared_ptr<const Module> module;
    LinkedImage linked;
    std::vector<uint64_t> data_bases;
    uint64_t code_base = 0;
    uint64_t bank3 = 0;                  // device address of the __constant__ variables
    bool prints = false;                 // its kernels may call vprintf
    BankBytes bank_bytes{};              // of every launch
    std::vector<std::byte> no_bank;      // zeros, in place of a bank that a kernel lacks
    std::shared_ptr<CodeImage> code[3];  // by Lowering
};

class GpuImpl final : public Gpu, public TouchedMemory {
  public:
    GpuImpl(GpuOptions options, std::shared_ptr<Hooks> hooks, const StateFill& fill)
        : options_(std::move(options)), fill_(fill), hooks_(std::move(hooks)) {}

    Result<void> start() {
        auto level = choose_level(options_.reference ? HostLevel::v2 : options_.level);
        if (!level) return level.error();
        level_ = *level;
        if (!hooks_ || !hooks_->has_model()) {
            auto model = make_model(options_.model, options_.seed);
            if (!model) return model.error();
            model_ = std::move(*model);
        }
        const bool choices = options_.seed || options_.agents == AgentOrder::random;
        chooser_ = choices ? make_seeded_chooser(options_.seed) : make_fixed_chooser();
        if (hooks_) hooks_->attach(space_, *chooser_);
        if (hooks_ && hooks_->wants_texels()) {
            textures_.texel = Hooks::texel;
            textures_.texel_user = hooks_.get();
        }
        if (options_.threads == 0)
            options_.threads = std::max(1u, std::thread::hardware_concurrency());
        return {};
    }

    Result<uint64_t> allocate(uint64_t bytes, std::string name, uint64_t address) override {
        return reserve(bytes, {address, 0, std::move(name)});
    }
    Result<void> release(uint64_t address) override {
        if (hooks_) hooks_->released(address);
        return space_.release(address);
    }

    Result<void> write(uint64_t address, std::span<const std::byte> bytes) override {
        auto at = range(address, bytes.size(), "write");
        if (!at) return at.error();
        host::copy(*at, bytes.data(), bytes.size());
        if (hooks_) hooks_->host_access(address, bytes.size(), true);
        return {};
    }
    Result<void> read(uint64_t address, std::span<std::byte> bytes) override {
        auto at = range(address, bytes.size(), "read");
        if (!at) return at.error();
        if (hooks_) hooks_->host_access(address, bytes.size(), false);
        host::copy(bytes.data(), *at, bytes.size());
        return {};
    }
    Result<void> fill(uint64_t address, uint64_t bytes, uint8_t value) override {
        auto at = range(address, bytes, "fill");
        if (!at) return at.error();
        if (value)
            std::memset(*at, value, bytes);
        else
            fill_zeros(*at, bytes);
        if (hooks_) hooks_->host_access(address, bytes, true);
        return {};
    }

    std::pair<uint64_t, uint64_t> touched(uint64_t address, uint64_t bytes) override {
        const Extent& e = space_.find(address);
        if (!e.holds(address, bytes)) return {0, bytes};
        const auto found = pages_.touched(e.host + (address - e.lo), bytes);
        if (hooks_ && found.first > 0) hooks_->host_access(address, found.first, false);
        return found;
    }

    Result<ModuleId> load(std::shared_ptr<const Module> module) override {
        const std::string& name = module->file_name();
        return within_memory(name, [&] { return place(module); });
    }
    Result<Symbol> symbol(ModuleId id, std::string_view name) override;
    Result<uint64_t> create_texture(const TextureDesc& desc) override {
        return textures_.add(desc, false);
    }
    Result<uint64_t> create_surface(const TextureDesc& desc) override {
        return textures_.add(desc, true);
    }
    Result<LaunchResult> launch(const LaunchRequest& request) override {
        return launch(request, nullptr);
    }
    Result<LaunchResult> launch(const LaunchRequest& request, Chain::Link* link) {
        return within_memory("launch of '" + request.kernel + "'",
                             [&] { return run(request, link); });
    }
    std::vector<Result<LaunchResult>> launch_chain(
        std::span<const LaunchRequest> requests) override;
    Result<void> prepare(const LaunchRequest& request, PreparedLaunch& out);
    void interrupt() noexcept override { interrupted_.store(true, std::memory_order_relaxed); }
    HostLevel level() const override {
        return level_->name[1] == '2'   ? HostLevel::v2
               : level_->name[1] == '3' ? HostLevel::v3
                                        : HostLevel::v4;
    }

  private:
    Result<std::byte*> range(uint64_t address, uint64_t bytes, const char* what) {
        const Extent& e = space_.find(address);
        if (bytes == 0 || e.holds(address, bytes)) return e.host + (address - e.lo);
        return Error{ErrorCode::input, std::string("device memory ") + what,
                     std::to_string(bytes) + " bytes do not fit in one allocation",
                     space_.describe(address)};
    }
    Result<uint64_t> reserve(uint64_t bytes, const AddressSpace::Options& options) {
        auto at = space_.allocate(bytes, options);
        if (at && hooks_)
            hooks_->allocated(*at, bytes, options.name, options.flags & Extent::read_only);
        return at;
    }
    Result<ModuleId> place(std::shared_ptr<const Module> module);
    Result<LaunchResult> run(const LaunchRequest& request, Chain::Link* link);
    Result<void> check(const LaunchRequest&, const Kernel&) const;
    CodeImage& code(LoadedModule& m);
    Result<uint64_t> workspace();

    GpuOptions options_;
    const StateFill fill_;
    const LevelTable* level_ = nullptr;
    AddressSpace space_;
    PageMap pages_;
    TextureTable textures_;
    ServiceCalls calls_;
    std::unique_ptr<MemoryModel> model_;
    std::shared_ptr<Hooks> hooks_;  // plugins; null: none
    std::unique_ptr<Chooser> chooser_;
    std::vector<std::unique_ptr<LoadedModule>> modules_;
    SlotCache cache_;
    Workers workers_;
    std::atomic<bool> interrupted_{false};
    uint64_t launches_ = 0, workspace_ = 0;
    bool heap_ = false;
};

Result<ModuleId> GpuImpl::place(std::shared_ptr<const Module> module) {
    auto m = std::make_unique<LoadedModule>();
    m->module = module;
    m->code_base = code_window + modules_.size() * code_stride;
    Placement placement;
    placement.code_base = m->code_base;
    placement.shared_window = window_base(shared_window_high);
    for (const DataSection& d : module->data_sections()) {
        auto at = reserve(std::max<uint64_t>(d.size, 1), {0, 0, d.name});
        if (!at) return at.error();
        m->data_bases.push_back(*at);
    }
    placement.data_bases = m->data_bases;
    const uint64_t services = m->code_base + (module->code_image_size() + 15) / 16 * 16 + 16;
    bool heap = false;
    placement.undefined = [&](const sassemu::Symbol& symbol) -> Result<uint64_t> {
        const auto& table = ServiceCalls::table();
        for (size_t i = 0; i < table.size(); ++i)
            if (table[i].name == symbol.name) {
                heap |= symbol.name == "malloc" || symbol.name == "free";
                m->prints |= symbol.name == "vprintf";
                return services + i * 16;
            }
        return Error{ErrorCode::unsupported, module->file_name() + ": symbol '" + symbol.name + "'",
                     "is not defined in this module and is no service of the emulator",
                     "link the module with nvlink, or provide the function"};
    };
    auto linked = link(*module, placement);
    if (!linked) return linked.error();
    m->linked = std::move(*linked);
    for (size_t i = 0; i < m->data_bases.size(); ++i)
        if (auto done = write(m->data_bases[i], as_bytes(m->linked.data[i])); !done)
            return done.error();
    m->bank_bytes = level_banks(*module, m->linked);
    m->no_bank.resize(std::ranges::max(m->bank_bytes));
    for (const LinkedBank& bank : m->linked.banks) {
        if (bank.bank != 3 || bank.bytes.empty()) continue;
        auto at = reserve(bank.bytes.size(), {0, 0, "__constant__ bank"});
        if (!at) return at.error();
        m->bank3 = *at;
        m->bank_bytes[static_cast<size_t>(Base::bank3)] = bank.bytes.size();
        if (auto done = write(*at, as_bytes(bank.bytes)); !done) return done.error();
    }
    if (heap && !heap_ && options_.heap_bytes) {
        const uint64_t bytes = (options_.heap_bytes + 15) / 16 * 16;
        auto at = reserve(bytes, {0, heap_extent, "device heap"});
        if (!at) return at.error();
        if (auto begun = calls_.heap().begin(space_.find(*at), bytes, fill_); !begun)
            return begun.error();
        heap_ = true;
    }
    modules_.push_back(std::move(m));
    return static_cast<ModuleId>(modules_.size() - 1);
}

Result<Gpu::Symbol> GpuImpl::symbol(ModuleId id, std::string_view name) {
    if (id >= modules_.size())
        return Error{ErrorCode::usage, "symbol", "no module " + std::to_string(id), ""};
    const LoadedModule& m = *modules_[id];
    const Variable* v = m.module->variable(name);
    if (!v) {
        std::string known;
        for (const Variable& other : m.module->variables())
            known += (known.empty() ? "" : ", ") + other.name;
        return Error{ErrorCode::not_found,
                     m.module->file_name() + ": variable '" + std::string(name) + "'",
                     "does not exist", known.empty() ? "the module has none" : "it has " + known};
    }
    if (v->space == Space::constant) return Symbol{m.bank3 + v->offset, v->size};
    const auto& sections = m.module->data_sections();
    for (size_t i = 0; i < sections.size(); ++i)
        if (sections[i].section == v->section) return Symbol{m.data_bases[i] + v->offset, v->size};
    return Error{ErrorCode::internal, m.module->file_name(), "variable without a section", ""};
}

// The most registers that the code asks for while it runs (setmaxnreg); 0 if it does not.
uint32_t asked_registers(const std::vector<uint8_t>& code, const std::string& arch) {
    constexpr uint64_t opcode = 0x1c8;  // of USETMAXREG, bits 8..0
    const sassdec_arch as = sassdec_arch_from_name(arch.c_str());
    uint32_t most = 0;
    for (size_t at = 0; at + 16 <= code.size(); at += 16) {
        uint64_t word[2];
        std::memcpy(word, code.data() + at, 16);
        sassdec_insn i;
        if ((word[0] & 0x1ff) != opcode || sassdec_decode(as, word, 0, &i) != SASSDEC_OK ||
            i.id != SASSDEC_ID_USETMAXREG)
            continue;
        uint32_t asked = 255;  // by a uniform register: any number
        for (unsigned k = 0; k < i.operand_count; ++k)
            if (i.operand[k].kind == SASSDEC_OP_IMM)
                asked = static_cast<uint32_t>(i.operand[k].imm);
        most = std::max(most, std::min(asked, 255u));
    }
    return most;
}

CodeImage& GpuImpl::code(LoadedModule& m) {
    // Operands in flight are watched in checked code only.
    const bool defers = hooks_ && hooks_->defers();
    const Lowering lowering = options_.reference && !defers          ? Lowering::reference
                              : options_.checked || model_ || defers ? Lowering::checked
                                                                     : Lowering::plain;
    auto& image = m.code[static_cast<int>(lowering)];
    if (!image) {
        CodeImage::Options options;
        options.lowering = lowering;
        options.late_copies = options_.agents != AgentOrder::eager;
        options.modelled = model_ != nullptr;
        options.arch = m.module->arch().name();
        options.base_address = m.code_base;
        options.max_registers = asked_registers(m.linked.code, options.arch);
        for (const Kernel& k : m.module->kernels())
            options.max_registers = std::max(options.max_registers, k.registers);
        options.level = level_;
        options.bank_bytes = m.bank_bytes;
        image =
            std::make_shared<CodeImage>(m.module, m.linked.code, ServiceCalls::table(), options);
        if (hooks_) hooks_->instrument(image);
    }
    return *image;
}

// The cluster that the launch asks for, or that the kernel was compiled for.
Dim3 cluster_of(const LaunchRequest& r, const Kernel& k) {
    if (!r.explicit_cluster && k.cluster) return {k.cluster->x, k.cluster->y, k.cluster->z};
    return r.cluster;
}

Result<void> GpuImpl::check(const LaunchRequest& r, const Kernel& k) const {
    const std::string where = "launch of '" + r.kernel + "'";
    const auto bad = [&](std::string field, std::string what, std::string hint = "") {
        return Error{ErrorCode::input, where + ": " + field, std::move(what), std::move(hint)};
    };
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
    settings.hooks = hooks_.get();
    settings.max_warp_instructions = request.limits.max_warp_instructions;
    settings.seconds = request.limits.seconds;
    settings.interrupted = &interrupted_;
    settings.fill = &fill_;
    settings.link = link;
    PrintedText printed(options_.on_printf, modules_[request.module]->prints);
    settings.printed = &printed;
    for (auto& slot : cache_)
        if (slot->arena.bytes() > (64u << 20)) slot->arena.release();

    Engine engine(launch, *level_, *chooser_, calls_, cache_, workers_, settings, request.kernel,
                  prepared.entry);
    if (hooks_)
        hooks_->launch_begin(launch, k, request.params, modules_[request.module]->bank3,
                             request.may_overlap);
    LaunchResult result = engine.run();
    if (hooks_) hooks_->launch_end(launch, result.status);
    printed.flush();
    if (!link) interrupted_ = false;
    return result;
}

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::create(GpuOptions options) {
    auto hooks = Hooks::load({}, options.model, options.seed);
    if (!hooks) return hooks.error();
    return create_gpu(std::move(options), std::move(*hooks));
}

Result<std::unique_ptr<PreparedLaunch>> prepare_launch(Gpu& gpu, const LaunchRequest& request) {
    auto* own = dynamic_cast<GpuImpl*>(&gpu);
    if (!own)
        return Error{ErrorCode::internal, "prepare_launch", "is for GPUs of create_gpu()", ""};
    auto out = std::make_unique<PreparedLaunch>();
    if (auto ready = own->prepare(request, *out); !ready) return ready.error();
    return out;
}

Result<std::unique_ptr<Gpu>> create_gpu(GpuOptions options, std::shared_ptr<Hooks> hooks,
                                        const StateFill& fill) {
    return within_memory("the emulated GPU", [&]() -> Result<std::unique_ptr<Gpu>> {
        auto gpu = std::make_unique<GpuImpl>(std::move(options), std::move(hooks), fill);
        if (auto ok = gpu->start(); !ok) return ok.error();
        return std::unique_ptr<Gpu>(std::move(gpu));
    });
}

}  // namespace sassemu
