// SPDX-License-Identifier: Apache-2.0
// A random program in the emulator, as record.cpp runs it on a chip.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace sassemu::programs {

struct Program {
    std::string name, kernel = "k";
    uint32_t grid = 1, cluster = 0, block = 32, bytes = 0;
    uint64_t seed = 0;  // of the input
};

struct Outcome {
    std::vector<std::byte> output;
    std::string wrong;  // empty: it ran
};

inline uint64_t mixed(uint64_t& state) {  // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

inline Outcome run(const Program& p, std::span<const std::byte> cubin, GpuOptions options) {
    constexpr uint64_t input_bytes = 64 << 10, output_bytes = 1 << 20;
    Outcome outcome;
    options.stack_bytes = 16 << 10;
    auto gpu = Gpu::create(std::move(options));
    if (!gpu.ok()) return Outcome{{}, std::string(gpu.error().what)};
    auto module =
        load_module({reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size()}, p.name);
    if (!module.ok()) return Outcome{{}, std::string(module.error().what)};
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    if (!id.ok()) return Outcome{{}, std::string(id.error().what)};
    std::vector<uint64_t> words(input_bytes / 8);
    uint64_t state = p.seed;
    for (uint64_t& w : words) w = mixed(state);
    // On a page of their own: a program may add to the lower half of the address alone.
    const uint64_t buffers[2] = {*(*gpu)->allocate(output_bytes, "out"),
                                 *(*gpu)->allocate(input_bytes, "in")};
    (void)(*gpu)->write(buffers[1], std::as_bytes(std::span(words)));
    (void)(*gpu)->fill(buffers[0], output_bytes, 0);
    LaunchRequest request;
    request.module = *id;
    request.kernel = p.kernel;
    request.grid = {p.grid, 1, 1};
    request.block = {p.block, 1, 1};
    if (p.cluster) {
        request.cluster = {p.cluster, 1, 1};
        request.explicit_cluster = true;
    }
    request.limits.max_warp_instructions = 20'000'000;
    request.params.resize(16);
    std::memcpy(request.params.data(), buffers, 16);
    const auto result = (*gpu)->launch(request);
    if (!result.ok()) return Outcome{{}, std::string(result.error().what)};
    if (result->status != LaunchStatus::ok)
        outcome.wrong = result->fault ? result->fault->report() : result->message;
    if (outcome.wrong.empty() && result->status != LaunchStatus::ok) outcome.wrong = "failed";
    outcome.output.resize(p.bytes);
    (void)(*gpu)->read(buffers[0], outcome.output);
    return outcome;
}

}  // namespace sassemu::programs
