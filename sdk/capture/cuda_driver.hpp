// SPDX-License-Identifier: Apache-2.0
// What capturing asks of CUDA, over the driver API. What the program does meanwhile, cupti.cpp
// hears and tells here.
#pragma once

#include <cuda.h>

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "driver.hpp"

namespace sassemu::capture {

// Throws Failure.
void check(CUresult result, const char* what);

struct TextureSource {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    bool surface = false;
};

class CudaDriver final : public Driver {
  public:
    void synchronize() override;
    std::optional<Range> range_of(uint64_t address) override;
    std::vector<uint64_t> allocations() override;
    void read(const Range& from, std::span<std::byte> out) override;
    void write(const Range& to, std::span<const std::byte> bytes) override;
    std::optional<Range> variable(const Launch& launch, const std::string& name) override;
    std::optional<TextureObject> texture(uint64_t handle) override;
    void launch_again() override;
    Device device() override;

    // What callbacks tell.
    std::unordered_set<uint64_t> allocations_;
    std::unordered_map<uint64_t, TextureSource> textures_;
    std::function<CUresult()> again_;
};

}  // namespace sassemu::capture
