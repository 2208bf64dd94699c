// SPDX-License-Identifier: Apache-2.0
// What capturing asks of CUDA, over the driver API. What the program does meanwhile, cupti.cpp
// hears and tells here.
#pragma once

#include <cuda.h>

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "driver.hpp"

namespace sassemu::capture {

// CUPTI calls back for what the library itself asks of the driver too.
inline thread_local bool inside = false;
struct Inside {
    const bool before = std::exchange(inside, true);
    ~Inside() { inside = before; }
};

// Throws Failure.
void check(CUresult result, const char* what);

struct TextureSource {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    bool surface = false;
    bool view = false;  // of some of its levels or layers, or as another format
};

class CudaDriver final : public Driver {
  public:
    explicit CudaDriver(uint64_t wait) : wait_(wait) {}
    void synchronize() override;
    uint64_t context() override;
    std::optional<Range> range_of(uint64_t address) override;
    std::vector<uint64_t> allocations() override;
    bool shared(const Range& range) override;
    void read(const Range& from, std::span<std::byte> out) override;
    void write(const Range& to, std::span<const std::byte> bytes) override;
    std::optional<Range> variable(const Launch& launch, const std::string& name) override;
    std::optional<TextureObject> texture(uint64_t handle) override;
    void launch_again() override;
    Device device() override;

    // What callbacks tell.
    std::set<uint64_t> allocations_, shared_;
    std::unordered_map<uint64_t, TextureSource> textures_;
    std::function<CUresult()> again_;

  private:
    const uint64_t wait_;  // seconds
};

}  // namespace sassemu::capture
