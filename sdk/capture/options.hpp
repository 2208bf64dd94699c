// SPDX-License-Identifier: Apache-2.0
// What is to be captured, as the variable SASSEMU_CAPTURE says: `key=value` separated by commas
// (docs/capture.md).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sassemu::capture {

// A capsule that cannot be made; the program that is captured goes on.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A kernel has failed: nothing of its context can be captured any more.
struct Broken : Failure {
    using Failure::Failure;
};
// A launch that waits for one that comes later, or never ends.
struct Stuck : Failure {
    using Failure::Failure;
};

struct Options {
    std::string directory = "capsules";
    std::string kernel =
        "*";  // a pattern (fnmatch) of the mangled or the demangled name, or a part of it
    uint64_t first = 0;       // launches of matching kernels before this one are passed over
    uint64_t step = 1;        // then every step-th
    uint64_t count = 1;       // so many capsules; 0: no end
    uint64_t per_kernel = 0;  // at most so many of one kernel; 0: no end
    uint64_t max_bytes = uint64_t{1} << 30;  // of the memory of one capsule
    uint64_t window = uint64_t{16} << 20;    // of a larger allocation, so much around each pointer
    uint32_t repeat = 1;  // a launch is run so often; what differs between the runs is not compared
    uint64_t wait = 30;   // seconds that a launch may take
    bool all = false;     // all allocations, not only those that can be reached
    bool round = false;   // allocations end where the driver's do: at a multiple of 512 bytes
    bool verbose = false;
};

// Throws Failure.
Options read_options(std::string_view text);
bool matches(const Options& options, const std::string& mangled);

}  // namespace sassemu::capture
