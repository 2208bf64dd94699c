// SPDX-License-Identifier: Apache-2.0
// What one access of a warp costs by the published rules: passes over the banks of shared memory,
// sectors of global memory, lanes that contend for an address. Nothing else belongs here.
#pragma once

#include <cstdint>

namespace profiling {

constexpr uint32_t banks = 32, bank_bytes = 4, sector_bytes = 32;

// How lanes of one access share the passes over the banks of shared memory.
enum class Sharing : uint8_t {
    words,  // lanes with the same word are served together
    load,   // so, and parts of a wide access may be served together
    none    // atomics: one lane of a word at a time
};

// Passes that an access to shared memory takes: 32 banks of 4 bytes, a bank gives one word at a
// time (CUDA C++ Programming Guide, "Shared Memory"). Lanes with 8 bytes are served half a warp at
// a time, those with 16 a quarter; when parts of a wide load are served together was measured on an
// H100 (docs/profile.md). `addresses`: of the lanes set, ascending; `ideal`: passes if no two words
// of a bank met.
uint32_t shared_passes(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, Sharing sharing,
                       uint32_t& ideal);

// Of a copy from global to shared memory, lanes with the same word included. Both sides have banks:
// what is right as long as only one of them meets in a bank, and else the least that it can be.
uint32_t copy_passes(const uint64_t* to, const uint64_t* from, uint32_t to_lanes,
                     uint32_t from_lanes, uint32_t bytes, uint32_t& ideal);

// Different sectors of 32 bytes that the lanes touch. `ideal`: as few as their bytes need.
uint32_t sectors(const uint64_t* addresses, uint32_t count, uint32_t bytes, uint32_t& ideal);

// How many lanes the most wanted address has.
uint32_t contention(const uint64_t* addresses, uint32_t count);

}  // namespace profiling
