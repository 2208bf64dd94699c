// SPDX-License-Identifier: Apache-2.0
// A capsule: a folder with a launch plan, the module and the memory files (docs/capture.md). It
// appears whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "driver.hpp"
#include "memory.hpp"

namespace sassemu::capture {

constexpr int capsule_version = 2;

struct Capsule {
    const Work& work;
    Memory& memory;
    Device device;
    std::string program;
    uint64_t index = 0;  // of the launch in its process
    uint32_t runs = 1;   // of the launch on the GPU
};

// The folder's path. Throws Failure.
std::string write_capsule(const Capsule& capsule, const std::string& directory);

}  // namespace sassemu::capture
