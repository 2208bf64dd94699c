// SPDX-License-Identifier: Apache-2.0
// The GPU behind emu/gpu.hpp. Its memory and modules are in gpu.cpp, its launches in
// gpu_launch.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "emu/base/pages.hpp"
#include "emu/gpu.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/textures.hpp"
#include "emu/module/link.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/prepared.hpp"

namespace sassemu {

// Set-up that runs out of memory is an error, no exception.
template <class F>
auto within_memory(const std::string& where, F&& set_up) -> decltype(set_up()) {
    try {
        return set_up();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::system, where, "the host has no memory left", ""};
    }
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

    Result<void> start();

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
    Result<void> fill(uint64_t address, uint64_t bytes, uint8_t value) override;

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
    DriverFunctions calls_;
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

}  // namespace sassemu
