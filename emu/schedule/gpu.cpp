// SPDX-License-Identifier: Apache-2.0
// The memory and the modules of one emulated device.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "emu/base/limits.hpp"
#include "emu/machine/stepper.hpp"
#include "emu/memory/models.hpp"
#include "emu/schedule/constant_banks.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "emu/schedule/gpu_impl.hpp"
#include "emu/schedule/level_choice.hpp"
#include "sassdec/ids.h"

namespace sassemu {

namespace {

constexpr uint64_t code_window = uint64_t{0x7a} << 40;  // code addresses; never data
constexpr uint64_t code_stride = uint64_t{1} << 32;     // per module
// For the parameters of launches that kernels have made, and whose grids have not begun.
constexpr uint64_t parameter_bytes = 16 << 20;

// Large ranges are given back to the host, which has zeros for whoever touches them again.
void fill_zeros(std::byte* at, uint64_t bytes) {
    constexpr uint64_t page = 4096, large = 1 << 20;
    const auto begin = reinterpret_cast<uintptr_t>(at), end = begin + bytes;
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (bytes < large || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED)) {
        host::fill(at, 0, bytes);
        return;
    }
    host::fill(at, 0, first - begin);
    host::fill(at + (last - begin), 0, end - last);
}

std::span<const std::byte> as_bytes(const std::vector<uint8_t>& v) {
    return {reinterpret_cast<const std::byte*>(v.data()), v.size()};
}

}  // namespace

Result<std::shared_ptr<Core>> Core::create(GpuOptions options, std::shared_ptr<Hooks> hooks,
                                           const StateFill& fill, bool several) {
    auto core = std::make_shared<Core>();
    core->options = std::move(options);
    core->hooks = std::move(hooks);
    core->fill = fill;
    GpuOptions& o = core->options;
    auto level = choose_level(o.reference ? HostLevel::v2 : o.level);
    if (!level) return level.error();
    core->level = *level;
    if (!core->hooks || !core->hooks->has_model()) {
        auto model = make_model(o.model, o.seed);
        if (!model) return model.error();
        core->model = std::move(*model);
    }
    const bool choices = o.seed || o.agents == AgentOrder::random;
    core->chooser = choices ? make_seeded_chooser(o.seed) : make_fixed_chooser();
    if (several) core->host = std::make_unique<AddressSpace>();
    if (o.threads == 0) o.threads = std::max(1u, std::thread::hardware_concurrency());
    if (o.on_printf)
        core->on_printf = [c = core.get()](std::string_view text) {
            const std::lock_guard guard(c->print);
            c->options.on_printf(text);
        };
    // One worker where a seed chooses, so that it says which run it is.
    const bool alone = o.deterministic || core->model || choices ||
                       (core->hooks && core->hooks->threading() != SASSEMU_FREE);
    core->scheduler =
        std::make_unique<Scheduler>(*core->chooser, core->stops, o.threads, alone, o.spawn);
    if (several && core->hooks) {
        core->hooks->attach(*core->host, *core->chooser);
        core->hooks->several = true;
    }
    return core;
}

GpuImpl::GpuImpl(std::shared_ptr<Core> core, uint32_t index, DeviceProfile device)
    : core_(std::move(core)),
      index_(index),
      device_(std::move(device)),
      space_(core_->host.get(), "GPU " + std::to_string(index)) {
    if (core_->host) core_->host->see(space_, true);
    if (Hooks* hooks = core_->hooks.get()) {
        if (!core_->host) hooks->attach(space_, *core_->chooser);
        if (hooks->wants_texels()) {
            textures_.texel = Hooks::texel;
            textures_.texel_user = hooks;
        }
    }
}

GpuImpl::~GpuImpl() = default;

Result<void> GpuImpl::fill(uint64_t address, uint64_t bytes, uint8_t value) {
    auto at = range(address, bytes, "fill");
    if (!at) return at.error();
    if (value)
        host::fill(*at, value, bytes);
    else
        fill_zeros(*at, bytes);
    if (core_->hooks) core_->hooks->client_access({}, SASSEMU_STORE, address, bytes);
    return {};
}

Result<ModuleId> GpuImpl::place(std::shared_ptr<const Module> module, const SymbolAddresses& at) {
    auto m = std::make_unique<LoadedModule>();
    m->module = module;
    m->code_base = code_window + modules_.size() * code_stride;
    Placement placement;
    placement.code_base = m->code_base;
    placement.shared_window = window_base(shared_window_high);
    for (const DataSection& d : module->data_sections()) {
        SASSEMU_ASSIGN(const uint64_t base, reserve(std::max<uint64_t>(d.size, 1), {0, 0, d.name}));
        m->data_bases.push_back(base);
    }
    placement.data_bases = m->data_bases;
    for (const auto& [name, address] : at)
        if (const Variable* const v = module->variable(name); v && v->space == Space::global) {
            SASSEMU_TRY(reserve(std::max<uint64_t>(v->size, 1), {address, 0, name}));
            m->apart.emplace(name, address);
        }
    placement.variables = m->apart;
    for (const sassemu::Symbol& s : module->symbols()) {
        const auto wanted = at.find(s.name);
        const CodeSection* const code = module->code_section(s.section);
        if (wanted == at.end() || !code ||
            (s.kind != SymbolKind::function && s.kind != SymbolKind::kernel))
            continue;
        m->functions.emplace(wanted->second, code->code_offset + s.value);
        placement.functions.emplace(s.name, wanted->second);
    }
    const uint64_t services = m->code_base + (module->code_image_size() + 15) / 16 * 16 + 16;
    bool heap = false;
    m->services = DriverFunctions::table();
    for (DriverFunction& service : m->services) service.handler = nullptr;
    placement.undefined = [&](const sassemu::Symbol& symbol) -> Result<uint64_t> {
        const auto& table = DriverFunctions::table();
        for (size_t i = 0; i < table.size(); ++i)
            if (table[i].name == symbol.name) {
                m->services[i].handler = table[i].handler;
                heap |= symbol.name == "malloc" || symbol.name == "free";
                m->prints |= symbol.name == "vprintf";
                m->launches |= is_launch_function(symbol.name);
                return services + i * 16;
            }
        // The kernels that need it are refused when they are launched (check()).
        if (DriverFunctions::refusal(*module, symbol)) return uint64_t{0};
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
    for (const auto& [name, address] : m->apart) {
        const Variable& v = *module->variable(name);
        const auto& sections = module->data_sections();
        const auto section = std::ranges::find(sections, v.section, &DataSection::section);
        const auto& bytes = m->linked.data[static_cast<size_t>(section - sections.begin())];
        if (v.offset <= bytes.size() && v.size <= bytes.size() - v.offset)
            SASSEMU_TRY(write(address, as_bytes(bytes).subspan(v.offset, v.size)));
    }
    m->bank_bytes = level_banks(*module, m->linked);
    m->no_bank.resize(std::ranges::max(m->bank_bytes));
    for (const LinkedBank& bank : m->linked.banks) {
        if (bank.bank != 3 || bank.bytes.empty()) continue;
        uint64_t wanted = 0;
        for (const auto& [name, address] : at)
            if (const Variable* const v = module->variable(name);
                v && v->space == Space::constant && address > v->offset)
                wanted = address - v->offset;
        SASSEMU_ASSIGN(m->bank3, reserve(bank.bytes.size(), {wanted, 0, "__constant__ bank"}));
        m->bank_bytes[static_cast<size_t>(Base::bank3)] = bank.bytes.size();
        if (auto done = write(m->bank3, as_bytes(bank.bytes)); !done) return done.error();
    }
    if (heap && !heap_ && core_->options.heap_bytes) {
        const uint64_t bytes = (core_->options.heap_bytes + 15) / 16 * 16;
        SASSEMU_TRY(begin_heap(calls_.heap(), bytes, "device heap"));
        heap_ = true;
    }
    if (m->launches && !parameters_) {
        SASSEMU_TRY(begin_heap(calls_.parameters(), parameter_bytes, "parameters of launches"));
        parameters_ = true;
    }
    modules_.push_back(std::move(m));
    if (core_->stepper) core_->stepper->module_placed(module, index_);
    return static_cast<ModuleId>(modules_.size() - 1);
}

Result<void> GpuImpl::begin_heap(DeviceHeap& heap, uint64_t bytes, const char* name) {
    SASSEMU_ASSIGN(const uint64_t at, reserve(bytes, {0, heap_extent, name}));
    return heap.begin(space_.find(at), bytes, core_->fill);
}

Result<Gpu::Symbol> GpuImpl::symbol(ModuleId id, std::string_view name) {
    if (id >= modules_.size() || !modules_[id])
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
    if (const auto at = m.apart.find(name); at != m.apart.end()) return Symbol{at->second, v->size};
    const auto& sections = m.module->data_sections();
    for (size_t i = 0; i < sections.size(); ++i)
        if (sections[i].section == v->section) return Symbol{m.data_bases[i] + v->offset, v->size};
    return Error{ErrorCode::internal, m.module->file_name(), "variable without a section", ""};
}

Result<void> GpuImpl::unload(ModuleId id) {
    if (id >= modules_.size() || !modules_[id])
        return Error{ErrorCode::usage, "unload", "no module " + std::to_string(id), ""};
    const std::unique_ptr<LoadedModule> m = std::move(modules_[id]);
    for (const uint64_t base : m->data_bases) SASSEMU_TRY(release(base));
    for (const auto& [name, address] : m->apart)
        if (const Variable* const v = m->module->variable(name); v && v->space == Space::global)
            SASSEMU_TRY(release(address));
    if (m->bank3) SASSEMU_TRY(release(m->bank3));
    return {};
}

// The most registers that the code asks for while it runs (setmaxnreg); 0 if it does not.
static uint32_t asked_registers(const std::vector<uint8_t>& code, const std::string& arch) {
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

Result<CodeImage*> GpuImpl::code(LoadedModule& m) {
    // Operands in flight are watched in checked code only.
    Hooks* const hooks = core_->hooks.get();
    const GpuOptions& o = core_->options;
    const bool defers = hooks && hooks->defers();
    const bool waits = defers || core_->far;
    const Lowering lowering = o.reference && !waits                ? Lowering::reference
                              : o.checked || core_->model || waits ? Lowering::checked
                                                                   : Lowering::plain;
    auto& image = m.code[static_cast<int>(lowering)];
    if (!image) {
        CodeImage::Options options;
        options.lowering = lowering;
        options.late_copies = o.agents != AgentOrder::eager;
        options.modelled = core_->model != nullptr;
        options.arch = m.module->arch().name();
        options.base_address = m.code_base;
        options.elsewhere = m.functions;
        options.max_registers = asked_registers(m.linked.code, options.arch);
        for (const Kernel& k : m.module->kernels())
            options.max_registers = std::max(options.max_registers, k.registers);
        options.level = core_->level;
        options.bank_bytes = m.bank_bytes;
        image = std::make_shared<CodeImage>(m.module, m.linked.code, m.services, options);
        if (hooks) {
            hooks->instrument(image);
            if (auto done = process_budget().check(m.module->file_name()); !done) {
                image = nullptr;  // perhaps not all of it
                return done.error();
            }
        }
        image->ask_with(Engine::asks);
    }
    return image.get();
}

Result<std::unique_ptr<Gpu>> Gpu::create(GpuOptions options) {
    auto hooks = Hooks::load({}, options.model, options.seed);
    if (!hooks) return hooks.error();
    return create_gpu(std::move(options), std::move(*hooks));
}

Result<std::unique_ptr<Gpu>> create_gpu(GpuOptions options, std::shared_ptr<Hooks> hooks,
                                        const StateFill& fill, Stepper* stepper) {
    return within_memory("the emulated GPU", [&]() -> Result<std::unique_ptr<Gpu>> {
        DeviceProfile device = options.device;
        SASSEMU_ASSIGN(auto core, Core::create(std::move(options), std::move(hooks), fill, false));
        core->stepper = stepper;
        return std::unique_ptr<Gpu>(
            std::make_unique<GpuImpl>(std::move(core), 0, std::move(device)));
    });
}

}  // namespace sassemu
