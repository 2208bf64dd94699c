// SPDX-License-Identifier: Apache-2.0
// What tests of the engine share: kernels of tests/engine/data, launched with raw arguments.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/schedule/level_choice.hpp"

namespace sassemu {

// One GPU with one of the cubins of data/, and launches with raw arguments.
class KernelTest : public ::testing::Test {
  protected:
    void start(const char* cubin, GpuOptions options = {}) {
        auto gpu = Gpu::create(std::move(options));
        ASSERT_TRUE(gpu);
        gpu_ = std::move(*gpu);
        load(cubin);
    }
    // To a GPU that there is.
    void load(const char* cubin) {
        auto module =
            load_module_file(std::string(SASSEMU_SOURCE_DIR "/tests/engine/data/") + cubin);
        ASSERT_TRUE(module);
        auto id = gpu_->load(std::make_shared<const Module>(std::move(*module)));
        ASSERT_TRUE(id);
        id_ = *id;
    }
    // Whether the build has the level that `reference` runs.
    static bool has_reference() { return choose_level(HostLevel::v2).ok(); }
    uint64_t buffer(uint64_t bytes) { return *gpu_->allocate(bytes, "buffer"); }
    uint64_t buffer(const std::vector<uint32_t>& words) {
        const uint64_t at = buffer(words.size() * 4);
        EXPECT_TRUE(gpu_->write(at, std::as_bytes(std::span(words))));
        return at;
    }
    std::vector<uint32_t> words(uint64_t at, size_t count) {
        std::vector<uint32_t> out(count);
        EXPECT_TRUE(gpu_->read(at, std::as_writable_bytes(std::span(out))));
        return out;
    }
    template <class... T>
    LaunchRequest request(const char* kernel, Dim3 grid, uint32_t cluster, T... arguments) {
        LaunchRequest r;
        r.module = id_;
        r.kernel = kernel;
        r.grid = grid;
        r.block = {64, 1, 1};
        r.cluster = {cluster, 1, 1};
        r.explicit_cluster = cluster > 1;
        r.limits.max_warp_instructions = 10'000'000;
        [[maybe_unused]] const auto put = [&](auto v) {
            r.params.resize((r.params.size() + sizeof v - 1) / sizeof v * sizeof v);
            const auto* bytes = reinterpret_cast<const std::byte*>(&v);
            r.params.insert(r.params.end(), bytes, bytes + sizeof v);
        };
        (put(arguments), ...);
        return r;
    }
    template <class... T>
    Result<LaunchResult> launch(const char* kernel, Dim3 grid, uint32_t cluster, T... arguments) {
        return gpu_->launch(request(kernel, grid, cluster, arguments...));
    }
    // The launch ends with this fault, whose report has all of these parts.
    static void expect_fault(const Result<LaunchResult>& r, FaultKind kind,
                             std::initializer_list<const char*> parts) {
        ASSERT_TRUE(r) << r.error().what;
        ASSERT_EQ(r->status, LaunchStatus::fault) << r->message;
        EXPECT_EQ(r->fault->kind, kind) << r->fault->report();
        for (const char* part : parts)
            EXPECT_NE(r->fault->report().find(part), std::string::npos) << part << "\n"
                                                                        << r->fault->report();
    }
    std::unique_ptr<Gpu> gpu_;
    ModuleId id_ = 0;
};

}  // namespace sassemu
