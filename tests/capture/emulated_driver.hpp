// SPDX-License-Identifier: Apache-2.0
// The emulator as the GPU whose launches are captured: a module, allocations, launches.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "sdk/capture/driver.hpp"

namespace sassemu {

inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

template <class T>
T require(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message());
    return std::move(result).value();
}
inline void require(Result<void> done) {
    if (!done) throw std::runtime_error(done.error().message());
}

class EmulatedDriver : public capture::Driver {
  public:
    // `at`: where the GPU has variables and functions.
    EmulatedDriver(const std::string& cubin, const Gpu::SymbolAddresses& at)
        : image_(file_bytes(cubin)) {
        module_ = std::make_shared<const Module>(require(load_module_file(cubin, {})));
        GpuOptions options;
        options.device = require(device_profile("h100"));
        gpu_ = require(Gpu::create(options));
        id_ = require(gpu_->load(module_, at));
    }

    void synchronize() override {}
    uint64_t context() override { return 1; }
    bool shared(const capture::Range&) override { return false; }
    std::optional<capture::Range> range_of(uint64_t address) override {
        for (const auto& [start, bytes] : memory_)
            if (address >= start && address - start < bytes) return capture::Range{start, bytes};
        for (const std::string& name : image_.symbols.variables)
            if (const capture::Range at = *variable({}, name);
                address >= at.address && address - at.address < at.bytes)
                return at;
        return {};
    }
    std::vector<uint64_t> allocations() override {
        std::vector<uint64_t> all;
        for (const auto& [start, bytes] : memory_) all.push_back(start);
        return all;
    }
    void read(const capture::Range& from, std::span<std::byte> out) override {
        require(gpu_->read(from.address, out));
    }
    void write(const capture::Range& to, std::span<const std::byte> bytes) override {
        require(gpu_->write(to.address, bytes));
    }
    std::optional<capture::Range> variable(const capture::Launch&,
                                           const std::string& name) override {
        const Gpu::Symbol at = require(gpu_->symbol(id_, name));
        return capture::Range{at.address, at.bytes};
    }
    std::optional<capture::TextureObject> texture(uint64_t) override { return {}; }
    capture::Device device() override {
        return {0, "a test", 13000, {{"sms", 132}}, {{"stack", 1024}}};
    }

    capture::Launch launch(const std::string& kernel, uint32_t threads,
                           const std::vector<uint64_t>& parameters) const {
        capture::Launch l;
        l.kernel = kernel;
        l.block = {threads, 1, 1};
        const auto bytes = std::as_bytes(std::span(parameters));
        l.parameters.assign(bytes.begin(), bytes.end());
        l.image = &image_;
        return l;
    }
    // As a GPU does them.
    void perform(const capture::Launch& launch) {
        if (launch.move) return perform(*launch.move);
        LaunchRequest request;
        request.module = id_;
        request.kernel = launch.kernel;
        request.grid = {1, 1, 1};
        request.block = {launch.block[0], 1, 1};
        request.params = launch.parameters;
        const LaunchResult result = require(gpu_->launch(request));
        if (result.status != LaunchStatus::ok)
            throw std::runtime_error(result.message + (result.fault ? result.fault->report() : ""));
    }
    void perform(const capture::Move& move) {
        std::vector<std::byte> row(move.width);
        for (uint64_t z = 0; z < move.depth; ++z)
            for (uint64_t y = 0; y < move.height; ++y) {
                const uint64_t from = move.from + z * move.from_slice + y * move.from_row;
                if (move.bytes.empty())
                    require(gpu_->read(from, row));
                else
                    std::copy_n(move.bytes.begin() + static_cast<ptrdiff_t>(from), move.width,
                                row.begin());
                require(gpu_->write(move.to + z * move.to_slice + y * move.to_row, row));
            }
    }
    uint64_t allocate(uint64_t bytes) {
        const uint64_t at = next_ += 0x1000;  // several in a page, none at its beginning
        memory_[at] = bytes;
        return require(gpu_->allocate(bytes, "memory", at));
    }
    void put(uint64_t address, const std::vector<uint64_t>& words) {
        require(gpu_->write(address, std::as_bytes(std::span(words))));
    }
    Gpu& gpu() { return *gpu_; }

  private:
    const capture::Image image_;
    std::shared_ptr<const Module> module_;
    std::unique_ptr<Gpu> gpu_;
    ModuleId id_ = 0;
    std::map<uint64_t, uint64_t> memory_;
    uint64_t next_ = 0x7f2a60000200;
};

}  // namespace sassemu
