// SPDX-License-Identifier: Apache-2.0
// The functions that a lane is in: the one that runs, who called it, and so on up to the kernel,
// with where each one's registers are now. What cannot be known is said, not guessed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/debug/frame_info.hpp"
#include "emu/debug/places.hpp"

namespace sassemu {
struct Warp;
}

namespace sassemu::debug {

struct Activation {
    CodePlace place;  // its next instruction; of a caller: the call that it is in
    // Where the frame begins in local memory, which is the caller's R1; none: not known.
    std::optional<uint64_t> frame;
    // Where what its R<n> holds is now.
    struct Slot {
        enum class Is : uint8_t { lost, in_register, in_local, value } is = Is::lost;
        uint64_t at = 0;  // number, address in local memory, or the value itself
    };
    std::array<Slot, FrameInfo::registers> registers;
};

struct CallStack {
    std::vector<Activation> activations;  // innermost first; one at least where the lane is alive
    std::string ends;  // why those farther out are not known; empty: the last is the kernel
};

constexpr size_t most_activations = 1000;

// `here`: where the lane is.
CallStack call_stack(const Places& places, const Warp& warp, uint32_t lane, const CodePlace& here);
// What it holds; none: nobody knows any more.
std::optional<uint32_t> value_of(const Activation::Slot& slot, const Warp& warp, uint32_t lane);

}  // namespace sassemu::debug
