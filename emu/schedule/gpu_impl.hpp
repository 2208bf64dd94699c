// SPDX-License-Identifier: Apache-2.0
// The GPU behind emu/gpu.hpp. Its memory and modules are in gpu.cpp, its launches in
// gpu_launch.cpp, its streams in stream_work.cpp. What it shares with the other GPUs of a machine
// is Core's.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "emu/base/pages.hpp"
#include "emu/gpu.hpp"
#include "emu/machine.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/textures.hpp"
#include "emu/module/link.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/device_launches.hpp"
#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/prepared.hpp"
#include "emu/schedule/scheduler.hpp"
#include "emu/schedule/stops.hpp"

namespace sassemu {

// Set-up that runs out of memory is an error, no exception.
template <class F>
auto within_memory(const std::string& where, F&& set_up) -> decltype(set_up()) {
    try {
        return set_up();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::limit, where, "the host has no memory left", ""};
    }
}

// One module on the device.
struct LoadedModule {
    std::shared_ptr<const Module> module;
    LinkedImage linked;
    std::vector<uint64_t> data_bases;
    Gpu::SymbolAddresses apart;              // variables that lie elsewhere than in their sections
    std::map<uint64_t, uint64_t> functions;  // address -> code offset, of such as lie elsewhere
    uint64_t code_base = 0;
    uint64_t bank3 = 0;                    // device address of the __constant__ variables
    bool prints = false;                   // its kernels may call vprintf
    bool launches = false;                 // its kernels may launch kernels
    BankBytes bank_bytes{};                // of every launch
    std::vector<std::byte> no_bank;        // zeros, in place of a bank that a kernel lacks
    std::vector<DriverFunction> services;  // those that it does not call have no handler
    std::shared_ptr<CodeImage> code[3];    // by Lowering
};

// What all GPUs of a machine share.
struct Core {
    // Plugins may go on, and be asked for their findings.
    ~Core() {
        if (!hooks || hooks->chooser != chooser.get()) return;
        hooks->space = nullptr;
        hooks->chooser = nullptr;
    }
    static Result<std::shared_ptr<Core>> create(GpuOptions options, std::shared_ptr<Hooks> hooks,
                                                const StateFill& fill, bool several);
    GpuOptions options;  // the device is each GPU's own
    StateFill fill;
    const LevelTable* level = nullptr;
    std::unique_ptr<MemoryModel> model;
    std::shared_ptr<Hooks> hooks;  // plugins; null: none
    Stepper* stepper = nullptr;    // a debugger; null: none
    std::unique_ptr<Chooser> chooser;
    std::unique_ptr<AddressSpace> host;  // what the host reaches; null: one GPU, whose own it is
    std::mutex print;
    std::function<void(std::string_view)> on_printf;  // one call at a time
    Stops stops;
    std::atomic<uint64_t> launches{0};
    std::set<uint64_t> outside;               // allocations that other processes write to
    FarMemory* far = nullptr;                 // memory that only messages reach; null: none
    std::shared_ptr<InstructionLimit> limit;  // of all that is in flight; null: none
    // Machine::on_end(); null: nobody asks.
    std::function<void(StreamId, const std::string&, const LaunchResult&)> ended;
    std::unique_ptr<Scheduler> scheduler;  // last: its threads go first
};

struct Stream {
    std::string name;
    int32_t priority = 0;
    bool blocking = true;  // waits for the legacy stream, and that one for it
    TaskRef last;
    std::shared_ptr<Chain> chain;  // the last is a launch of this one; null: it is none
};

struct GridParts;  // gpu_launch.cpp

class GpuImpl final : public Gpu, public TouchedMemory {
  public:
    GpuImpl(std::shared_ptr<Core> core, uint32_t index, DeviceProfile device);
    ~GpuImpl() override;

    Result<uint64_t> allocate(uint64_t bytes, std::string name, uint64_t address) override {
        return reserve(bytes, {address, 0, std::move(name)});
    }
    Result<void> release(uint64_t address) override {
        if (Hooks* hooks = core_->hooks.get()) hooks->released(address);
        return space_.release(address);
    }

    Result<void> write(uint64_t address, std::span<const std::byte> bytes) override {
        if (far(address, bytes.size())) return core_->far->put(address, bytes);
        auto at = range(address, bytes.size(), "write");
        if (!at) return at.error();
        host::write(*at, bytes.data(), bytes.size());
        if (Hooks* hooks = core_->hooks.get())
            hooks->client_access({}, SASSEMU_STORE, address, bytes.size());
        return {};
    }
    Result<void> read(uint64_t address, std::span<std::byte> bytes) override {
        if (far(address, bytes.size())) return core_->far->read(address, bytes);
        auto at = range(address, bytes.size(), "read");
        if (!at) return at.error();
        if (Hooks* hooks = core_->hooks.get())
            hooks->client_access({}, SASSEMU_LOAD, address, bytes.size());
        host::read(bytes.data(), *at, bytes.size());
        return {};
    }
    Result<void> fill(uint64_t address, uint64_t bytes, uint8_t value) override;

    std::pair<uint64_t, uint64_t> touched(uint64_t address, uint64_t bytes) override {
        const Extent& e = space_.find(address);
        {
            const auto lock = core_->scheduler->lock();
            if (far(address, bytes) || !e.holds(address, bytes) || core_->outside.contains(e.lo))
                return {0, bytes};
        }
        const auto found = pages_.touched(e.host + (address - e.lo), bytes);
        if (core_->hooks && found.first > 0)
            core_->hooks->client_access({}, SASSEMU_LOAD, address, found.first);
        return found;
    }

    Result<ModuleId> load(std::shared_ptr<const Module> module,
                          const SymbolAddresses& at) override {
        const std::string& name = module->file_name();
        return within_memory(name, [&] { return place(module, at); });
    }
    Result<Symbol> symbol(ModuleId id, std::string_view name) override;
    Result<void> unload(ModuleId id);
    Result<uint64_t> create_texture(const TextureDesc& desc, uint64_t wanted) override {
        return textures_.add(desc, false, wanted);
    }
    Result<uint64_t> create_surface(const TextureDesc& desc, uint64_t wanted) override {
        return textures_.add(desc, true, wanted);
    }
    Result<void> give_to_heap(uint64_t address) override {
        calls_.heap().adopt(address);
        return {};
    }
    Result<LaunchResult> launch(const LaunchRequest& request) override {
        return std::move(launch_chain(std::span(&request, 1)).front());
    }
    std::vector<Result<LaunchResult>> launch_chain(
        std::span<const LaunchRequest> requests) override;
    // With the scheduler's lock: a launch in a stream of this GPU, and anything else there.
    // `overlaps`: it may begin before the launch before it has ended.
    Result<TaskRef> enqueue(Stream& stream, const LaunchRequest& request, bool overlaps);
    void add(Stream& stream, const TaskRef& task, std::vector<TaskRef> after = {},
             bool overlaps = false);
    // For reports: "GPU 0", and with a stream that is not the legacy one ", stream 'a'".
    std::string place(const Stream& stream) const;
    Result<uint64_t> reserve(uint64_t bytes, AddressSpace::Options options) {
        options.flags |= Hooks::memory_of(index_);
        auto at = space_.allocate(bytes, options);
        if (at && core_->hooks)
            core_->hooks->allocated(*at, bytes, options.name, options.flags & Extent::read_only);
        return at;
    }
    AddressSpace& space() { return space_; }
    std::deque<Stream>& streams() { return streams_; }  // the first is the legacy stream
    const DeviceProfile& device() const { return device_; }
    Result<void> prepare(const LaunchRequest& request, PreparedLaunch& out);
    void interrupt() noexcept override { core_->stops.interrupt(); }
    HostLevel level() const override {
        return core_->level->name[1] == '2'   ? HostLevel::v2
               : core_->level->name[1] == '3' ? HostLevel::v3
                                              : HostLevel::v4;
    }

  private:
    bool far(uint64_t address, uint64_t bytes) const {
        return core_->far && core_->far->holds(FarMemory::by_host, address, bytes);
    }
    Result<std::byte*> range(uint64_t address, uint64_t bytes, const char* what) {
        const Extent& e = space_.find(address);
        if (bytes == 0 || e.holds(address, bytes)) return e.host + (address - e.lo);
        return Error{ErrorCode::input, std::string("device memory ") + what,
                     std::to_string(bytes) + " bytes do not fit in one allocation",
                     space_.describe(address)};
    }
    Result<ModuleId> place(std::shared_ptr<const Module> module, const SymbolAddresses& at);
    Result<void> check(const LaunchRequest&, const Kernel&) const;
    // An Error: a limit came while plugins were shown it.
    Result<CodeImage*> code(LoadedModule& m);
    Result<uint64_t> workspace(std::shared_ptr<void>& user);
    Result<void> begin_heap(DeviceHeap& heap, uint64_t bytes, const char* name);
    Result<Engine::Settings> settings_of(const std::shared_ptr<GridParts>& parts);
    GridTree::Grid grid_of(const std::shared_ptr<GridParts>& parts, Engine::Settings settings);

    const std::shared_ptr<Core> core_;
    const uint32_t index_;
    const DeviceProfile device_;
    AddressSpace space_;
    PageMap pages_;
    TextureTable textures_;
    DriverFunctions calls_;
    std::vector<std::unique_ptr<LoadedModule>> modules_;
    SlotCache cache_;
    Residency residency_;
    std::deque<Stream> streams_{1};
    std::map<uint64_t, std::weak_ptr<void>> workspaces_;  // of cooperative grids, and who uses them
    bool heap_ = false, parameters_ = false;              // what calls_ has been given room for
};

}  // namespace sassemu
