// SPDX-License-Identifier: Apache-2.0
// A plan before its first launch: modules, GPUs, memory with its contents, arguments. What does not
// belong here: launching and comparing (run_plan.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/buffers_by_name.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu {
class Module;
namespace nvshmem {
class World;
}
}  // namespace sassemu

namespace sassemu::plan {

class Setup {
  public:
    using PrintFunction = std::function<void(std::string_view)>;
    Setup(const Plan& plan, const RunOptions& options, PrintFunction on_printf);
    ~Setup();

    // An Error: the plan does not fit its modules, the machine or the options. All requests are
    // built before the first launch: a wrong argument costs no run.
    Result<void> make();

    // With one GPU, that one; otherwise made when it is first asked for.
    Result<Gpu*> gpu(uint32_t index);
    Gpu* first_gpu() const { return gpu_; }
    Machine* machine() const { return machine_.get(); }  // null: one launch after the other
    Hooks* hooks() const { return hooks_.get(); }        // plugins; null: none
    const std::string& arch() const { return arch_; }
    const std::string& device() const { return device_; }

    nvshmem::World* world() const { return world_.get(); }  // null: no NVSHMEM

    // Of buffers; of a symmetric one, PE 0's copy.
    const std::unordered_map<std::string, uint64_t>& addresses() const { return addresses_; }
    uint64_t address(const Place& place) const {
        return address_on(place.buffer, place.pe) + place.offset;
    }
    // All of it; of a symmetric one the copies in the order of the PEs.
    Result<std::unique_ptr<ByteSource>> bytes_of(const Buffer& buffer);
    const Buffer* find_buffer(const std::string& name) const;
    // A global by name, in the first module that has it.
    Result<Gpu::Symbol> find_symbol(const std::string& name, uint32_t on = 0);
    Result<Gpu::Symbol> find_symbol(const Global& global, uint32_t on);
    const Module& module_of(const Launch& launch) const {
        return *placed_.at(launch.gpu).modules[launch.module];
    }
    // Who reads and writes the buffer.
    // Whether this process runs what is on the GPU, or has the buffer.
    bool mine(uint32_t gpu) const { return !options_.ranks || options_.ranks->mine(gpu); }
    static uint32_t home(const Buffer& buffer) {
        return buffer.kind == BufferKind::host || buffer.kind == BufferKind::managed ? 0
                                                                                     : buffer.gpu;
    }
    Result<Gpu*> gpu_of(const Buffer& buffer) { return gpu(buffer.gpu); }
    // One for each launch of the plan; of other operations, empty.
    std::vector<LaunchRequest>& requests() { return requests_; }
    const std::vector<LaunchRequest>& requests() const { return requests_; }

  private:
    Result<void> check_scope();
    Result<void> check_ranks();
    Result<void> load_modules();
    Result<DeviceProfile> profile(const DeviceOverrides& wanted, const std::string& usual,
                                  const Where& where);
    Result<void> create_gpu();
    Result<void> create_machine(GpuOptions options);
    Result<void> place_modules();
    Result<void> place_modules_on(uint32_t index);
    Gpu::SymbolAddresses symbol_addresses(std::span<const std::shared_ptr<const Module>> modules,
                                          size_t index) const;
    Result<void> load_for(const GpuOfPlan& gpu, size_t index, std::shared_ptr<const Module>& to);
    Result<void> create_world();
    Result<void> place_buffers();
    // What a buffer is for who runs on that GPU.
    uint64_t address_on(const std::string& name, uint32_t gpu) const;
    Result<void> fill_copies(const Buffer& buffer);
    Result<uint64_t> allocate(const Buffer& buffer);
    Result<void> show_host(const Buffer& buffer);
    Result<void> fill(Gpu& gpu, const Contents& contents, const Where& where, uint64_t address,
                      uint64_t bytes, bool zero_otherwise);
    Result<void> fill_globals();
    Result<void> prepare_launches();

    const Plan& plan_;
    const BuffersByName buffers_ = buffers_by_name(plan_);
    const RunOptions& options_;
    const PrintFunction on_printf_;
    std::string arch_, device_;
    std::string default_device_;  // the architecture's
    std::vector<std::shared_ptr<const Module>> modules_;
    // The modules as a GPU has them.
    struct Placed {
        std::vector<std::shared_ptr<const Module>> modules;
        std::vector<ModuleId> ids;
    };
    std::map<uint32_t, Placed> placed_;
    std::vector<LaunchRequest> requests_;
    std::unordered_map<std::string, uint64_t> addresses_;
    std::shared_ptr<Hooks> hooks_;
    Gpu* gpu_ = nullptr;  // the first
    // One of these; last: it goes first, while what it refers to is still there.
    std::unique_ptr<Gpu> alone_;
    std::unique_ptr<Machine> machine_;
    std::unique_ptr<nvshmem::World> world_;
};

}  // namespace sassemu::plan
