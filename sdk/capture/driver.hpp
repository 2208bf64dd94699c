// SPDX-License-Identifier: Apache-2.0
// What capturing asks of CUDA, so that it can be tested without a GPU (tests/capture has another
// implementation), and what a launch is. The implementation over the driver is cupti.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "image.hpp"

namespace sassemu::capture {

enum class MemoryKind : uint8_t { device, host, managed };

// Bytes of an allocation, or those of a CUDA array row by row (its address on the GPU says
// nothing).
struct Range {
    uint64_t address = 0, bytes = 0;
    MemoryKind kind = MemoryKind::device;
    uint64_t array = 0;  // its CUarray; 0: none
};

// A texture or surface, in the words of the plan's schema.
struct TextureObject {
    uint64_t handle = 0;
    Range memory;          // an array's, or
    uint64_t address = 0;  // where in an allocation the texels begin
    bool surface = false;
    uint32_t width = 0, height = 0, depth = 0;
    uint64_t pitch = 0;
    std::string format, filter = "point", address_mode[3] = {"clamp", "clamp", "clamp"};
    uint32_t channels = 1;
    bool normalized = false, read_normalized = false, linear = false;
    std::string refused;  // why it cannot be captured; empty: it can
};

struct Launch {
    std::string kernel;  // mangled
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{0, 0, 0};
    uint32_t dynamic_shared = 0;
    bool cooperative = false, programmatic = false;
    std::vector<std::byte> parameters;  // the block
    const Image* image = nullptr;
    uint64_t module = 0;  // its CUmodule
};

struct Device {
    std::string name;
    int driver = 0;                           // as cuDriverGetVersion
    std::map<std::string, uint64_t> profile;  // fields of the plan's "device"
    std::map<std::string, uint64_t> limits;   // stack, heap, printf
};

class Driver {
  public:
    virtual ~Driver() = default;
    virtual void synchronize() = 0;  // throws Failure when the context is broken
    // The allocation that has the byte.
    virtual std::optional<Range> range_of(uint64_t address) = 0;
    virtual std::vector<uint64_t> allocations() = 0;  // that live, by an address in each
    virtual void read(const Range& from, std::span<std::byte> out) = 0;  // all of it
    virtual void write(const Range& to, std::span<const std::byte> bytes) = 0;
    virtual std::optional<Range> variable(const Launch& launch, const std::string& name) = 0;
    virtual std::optional<TextureObject> texture(uint64_t handle) = 0;
    virtual void launch_again() = 0;  // what is under way
    virtual Device device() = 0;
};

}  // namespace sassemu::capture
