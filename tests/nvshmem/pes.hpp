// SPDX-License-Identifier: Apache-2.0
// A machine with PEs and a module on each, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emu/machine.hpp"
#include "emu/nvshmem/world.hpp"

namespace sassemu::nvshmem {

// Arguments of a kernel, each at its own alignment.
class Params {
  public:
    template <class T>
    Params& operator<<(T value) {
        bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
        std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
        return *this;
    }
    std::vector<std::byte> bytes;
};

class Pes {
  public:
    explicit Pes(const Options& options, GpuOptions gpu = one_worker(),
                 const std::string& cubin = "nvshmem/sm_90.cubin")
        : options_(options) {
        DeviceProfile small = *device_profile("h200");
        small.sms = 2;
        auto made = Machine::create(gpu, std::vector<DeviceProfile>(options.pes, small));
        EXPECT_TRUE(made) << made.error().message();
        machine_ = std::move(made).value();
        auto world = World::create(*machine_, options);
        EXPECT_TRUE(world) << world.error().message();
        world_ = std::move(world).value();
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/cubins/" + cubin);
        EXPECT_TRUE(module) << module.error().message();
        const auto shared = std::make_shared<const Module>(std::move(module).value());
        for (uint32_t pe = 0; pe < options.pes; ++pe) {
            const auto id = (*machine_->gpu(pe))->load(shared);
            EXPECT_TRUE(id) << id.error().message();
            modules_.push_back(*id);
            const auto bound = world_->bind(pe, *id);
            EXPECT_TRUE(bound && *bound);
        }
    }
    static GpuOptions one_worker() {
        GpuOptions gpu;
        gpu.deterministic = true;
        return gpu;
    }
    Machine& machine() { return *machine_; }
    World& world() { return *world_; }
    uint32_t pes() const { return options_.pes; }

    // The offset in every heap.
    uint64_t allocate(uint64_t bytes) {
        uint64_t at = 0;
        for (uint32_t pe = 0; pe < pes(); ++pe) {
            const auto address = world_->allocate(pe, bytes);
            EXPECT_TRUE(address) << address.error().message();
            at = *address - world_->heap(pe);
        }
        return at;
    }
    uint64_t at(uint32_t pe, uint64_t offset) const { return world_->heap(pe) + offset; }
    void write(uint32_t pe, uint64_t offset, const void* bytes, size_t count) {
        const auto done =
            machine_->write(at(pe, offset), std::span(static_cast<const std::byte*>(bytes), count));
        EXPECT_TRUE(done) << done.error().message();
    }
    std::vector<std::byte> read(uint32_t pe, uint64_t offset, size_t count) {
        std::vector<std::byte> bytes(count);
        const auto done = machine_->read(at(pe, offset), bytes);
        EXPECT_TRUE(done) << done.error().message();
        return bytes;
    }
    template <class T>
    T value(uint32_t pe, uint64_t offset) {
        T value;
        std::memcpy(&value, read(pe, offset, sizeof value).data(), sizeof value);
        return value;
    }
    void launch(uint32_t pe, const std::string& kernel, uint32_t threads, const Params& params) {
        LaunchRequest request;
        request.module = modules_[pe];
        request.kernel = kernel;
        request.block.x = threads;
        request.params = params.bytes;
        const auto put = machine_->launch({pe, 0}, request);
        ASSERT_TRUE(put) << put.error().message();
        operations_.push_back(*put);
    }
    // All end well, and nothing is on its way any more.
    void end() {
        for (const OperationId operation : operations_) {
            const auto ended = machine_->result(operation);
            ASSERT_TRUE(ended) << ended.error().message();
            std::string why = ended->result.message;
            if (ended->result.fault) why += ended->result.fault->report();
            EXPECT_EQ(ended->result.status, LaunchStatus::ok) << why;
        }
        operations_.clear();
        const auto finished = world_->finish();
        EXPECT_TRUE(finished) << finished.error().message();
    }

  private:
    const Options options_;
    std::unique_ptr<Machine> machine_;
    std::unique_ptr<World> world_;
    std::vector<ModuleId> modules_;
    std::vector<OperationId> operations_;
};

inline Options proxied(uint32_t pes, uint64_t seed, AgentOrder order = AgentOrder::random) {
    Options options;
    options.pes = pes;
    options.proxy = true;
    options.order = order;
    options.seed = seed;
    return options;
}

}  // namespace sassemu::nvshmem
