// SPDX-License-Identifier: Apache-2.0
// Loads of memory that other processes have: what of them has come. See far_access.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "emu/machine/outside.hpp"

namespace sassemu {

// What lanes asked for. Answers come on threads of the link's.
struct FarLoad {
    static constexpr uint32_t most_bytes = 16;  // of a lane
    alignas(8) std::byte bytes[32 * most_bytes];
    std::array<uint16_t, 32> at{};  // where in `bytes` a lane's are
    std::atomic<uint32_t> left{1};  // answers to come, and one as long as it is being asked for
    std::mutex mutex;
    std::string lost;  // why some never come

    bool done() const { return !left.load(std::memory_order_acquire); }
    void answered(const std::string& why);
    void wait() const;
};

}  // namespace sassemu
