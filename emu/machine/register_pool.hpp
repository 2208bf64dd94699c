// SPDX-License-Identifier: Apache-2.0
// Who has how many registers: setmaxnreg moves them between the warps of a CTA by way of a pool of
// the CTA's (PTX ISA, "setmaxnreg"). Here every warp has rows for the most that its code asks for
// (CodeImage), so this only counts: who asks for more than is free waits, as on the chip. That a
// warp which has exited keeps its own until the CTA ends is assumed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sassemu {

class RegisterPool {
  public:
    // Every warp has `each` registers per thread, and nothing is left over.
    void begin(uint32_t each) {
        free_ = 0;
        for (uint16_t& held : held_) held = static_cast<uint16_t>(each);
    }
    // The warp keeps `count` per thread, if it has more.
    void release(uint32_t warp, uint32_t count) {
        if (count >= held_[warp]) return;
        free_ += held_[warp] - count;
        held_[warp] = static_cast<uint16_t>(count);
    }
    // The warp has at least `count` per thread from now on; false, and nothing changed: there are
    // not so many.
    bool ask(uint32_t warp, uint32_t count) {
        if (count <= held_[warp]) return true;
        if (count - held_[warp] > free_) return false;
        free_ -= count - held_[warp];
        held_[warp] = static_cast<uint16_t>(count);
        return true;
    }
    // Per thread of a warp.
    uint32_t free() const { return free_; }
    uint32_t held(uint32_t warp) const { return held_[warp]; }
    // What changes when it may be worth asking again: 4 bytes.
    const std::byte* watched() const { return reinterpret_cast<const std::byte*>(&free_); }

  private:
    uint32_t free_ = 0;
    uint16_t held_[32] = {};
};

}  // namespace sassemu
