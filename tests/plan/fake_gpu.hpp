// SPDX-License-Identifier: Apache-2.0
// A GPU that runs nothing: memory is bytes, and each launch ends as the test says. What belongs
// here: just enough of the front door to test the plan runner's own decisions.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/gpu.hpp"

namespace sassemu::test {

// What the test and the fake share; it outlives the fake, which the runner owns.
struct FakeWorld {
    GpuOptions options;
    std::vector<LaunchRequest> requests;
    std::vector<std::string> releases;
    std::map<uint64_t, std::vector<std::byte>> memory;
    std::vector<TextureDesc> textures;
    // Called for each launch; may write memory and print through `options.on_printf`.
    std::function<Result<LaunchResult>(FakeWorld&, const LaunchRequest&)> on_launch;
};

class FakeGpu : public Gpu {
  public:
    explicit FakeGpu(FakeWorld& world) : world_(world) {}

    Result<uint64_t> allocate(uint64_t bytes, std::string, uint64_t address) override {
        if (address == 0) address = next_ += 0x10000;
        // Allocations start as rubbish: a runner that relies on zeros is wrong.
        world_.memory[address].assign(bytes, std::byte{0xa5});
        return address;
    }
    Result<void> release(uint64_t address) override {
        world_.memory.erase(address);
        return {};
    }
    Result<void> write(uint64_t address, std::span<const std::byte> bytes) override {
        std::byte* at = find(address, bytes.size());
        if (at == nullptr) return make_error(ErrorCode::usage, "fake", "outside");
        if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
        return {};
    }
    Result<void> read(uint64_t address, std::span<std::byte> bytes) override {
        const std::byte* at = find(address, bytes.size());
        if (at == nullptr) return make_error(ErrorCode::usage, "fake", "outside");
        if (!bytes.empty()) std::memcpy(bytes.data(), at, bytes.size());
        return {};
    }
    Result<void> fill(uint64_t address, uint64_t bytes, uint8_t value) override {
        const std::vector<std::byte> data(bytes, std::byte{value});
        return write(address, data);
    }
    Result<ModuleId> load(std::shared_ptr<const Module>, const SymbolAddresses&) override {
        return modules_++;
    }
    Result<Symbol> symbol(ModuleId, std::string_view name) override {
        return make_error(ErrorCode::not_found, "fake", "no symbol " + std::string(name));
    }
    Result<uint64_t> create_texture(const TextureDesc& desc, uint64_t wanted) override {
        world_.textures.push_back(desc);
        return wanted ? wanted : 0x7000 + world_.textures.size();
    }
    Result<uint64_t> create_surface(const TextureDesc& desc, uint64_t wanted) override {
        return create_texture(desc, wanted);
    }
    Result<void> give_to_heap(uint64_t) override { return {}; }
    Result<LaunchResult> launch(const LaunchRequest& request) override {
        world_.requests.push_back(request);
        if (world_.on_launch) return world_.on_launch(world_, request);
        LaunchResult result;
        result.stats.warp_instructions = 10;
        result.stats.seconds = 0.5;
        return result;
    }
    void interrupt() noexcept override {}
    HostLevel level() const override { return HostLevel::v2; }

  private:
    std::byte* find(uint64_t address, size_t size) {
        auto found = world_.memory.upper_bound(address);
        if (found == world_.memory.begin()) return nullptr;
        --found;
        const uint64_t offset = address - found->first;
        if (offset + size > found->second.size()) return nullptr;
        return found->second.data() + offset;
    }

    FakeWorld& world_;
    uint64_t next_ = 0x100000;
    ModuleId modules_ = 0;
};

inline std::function<Result<std::unique_ptr<Gpu>>(GpuOptions)> fake_factory(FakeWorld& world) {
    return [&world](GpuOptions options) -> Result<std::unique_ptr<Gpu>> {
        world.options = std::move(options);
        return std::unique_ptr<Gpu>(std::make_unique<FakeGpu>(world));
    };
}

}  // namespace sassemu::test
