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

// Bytes of an allocation, or those of a CUDA array (its address on the GPU says nothing): row by
// row, slice by slice (of the depth, or layers, or faces of these), level of detail by level.
struct Range {
    uint64_t address = 0, bytes = 0;
    MemoryKind kind = MemoryKind::device;
    uint64_t array = 0;   // its CUarray, or CUmipmappedArray; 0: none
    uint32_t device = 0;  // whose memory
    uint32_t levels = 0;  // of a CUmipmappedArray
};

// A texture or surface, in the words of the plan's schema.
struct TextureObject {
    uint64_t handle = 0;
    Range memory;          // an array's, or
    uint64_t address = 0;  // where in an allocation the texels begin
    bool surface = false;
    uint32_t width = 0, height = 0, depth = 0, layers = 0;
    bool cube = false;
    uint64_t pitch = 0;
    std::string format, filter = "point", address_mode[3] = {"clamp", "clamp", "clamp"};
    uint32_t channels = 1;
    bool normalized = false, read_normalized = false, linear = false;
    bool srgb = false, seamless = false;
    uint32_t anisotropy = 0;
    float border[4] = {};
    std::string level_filter = "point";  // of several levels
    float level_bias = 0, level_low = 0, level_high = 0;
    std::string refused;  // why it cannot be captured; empty: it can
};

// What a graph does between its kernels: bytes of memory are copied or set, row by row.
struct Move {
    uint64_t to = 0, from = 0;
    std::vector<std::byte> bytes;  // instead of `from`, which is an offset in them
    uint64_t width = 0, height = 1, depth = 1;
    uint64_t to_row = 0, to_slice = 0, from_row = 0, from_slice = 0;  // bytes from one to the next
};

// A kernel of a module, or something else that a graph does.
struct Launch {
    std::optional<Move> move;  // then nothing of what follows
    std::string kernel;        // mangled
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{0, 0, 0};
    uint32_t dynamic_shared = 0;
    bool cooperative = false, programmatic = false;
    std::vector<std::byte> parameters;  // the block
    const Image* image = nullptr;
    uint64_t module = 0;  // its CUmodule
};

// What is under way: a kernel, or a graph in an order that it allows.
struct Work {
    std::vector<Launch> launches;
    std::vector<Range> scratch;   // memory that the graph itself allocates: nobody else sees it
    bool host_functions = false;  // the graph calls functions of the host, which nobody can repeat
};

struct Device {
    uint32_t number = 0;
    std::string name;
    int driver = 0;                           // as cuDriverGetVersion
    std::map<std::string, uint64_t> profile;  // fields of the plan's "device"
    std::map<std::string, uint64_t> limits;   // stack, heap, printf
};

class Driver {
  public:
    virtual ~Driver() = default;
    // Throws Failure when the launches do not end, and Broken when the context is.
    virtual void synchronize() = 0;
    virtual uint64_t context() = 0;
    // The allocation that has the byte.
    virtual std::optional<Range> range_of(uint64_t address) = 0;
    virtual std::vector<uint64_t> allocations() = 0;  // that live, by the first address of each
    // Whether other GPUs or processes reach some of it.
    virtual bool shared(const Range& range) = 0;
    virtual void read(const Range& from, std::span<std::byte> out) = 0;  // all of it
    virtual void write(const Range& to, std::span<const std::byte> bytes) = 0;
    virtual std::optional<Range> variable(const Launch& launch, const std::string& name) = 0;
    virtual std::optional<TextureObject> texture(uint64_t handle) = 0;
    virtual void launch_again() = 0;  // what is under way
    virtual Device device() = 0;
};

}  // namespace sassemu::capture
