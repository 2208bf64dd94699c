// SPDX-License-Identifier: Apache-2.0
// A piece of device memory as an access finds it, and the generic windows beside that memory. What
// does not belong here: finding it (memory/address_space.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sassemu {

// The generic windows of this emulator: 4 GiB each, recognised by the upper half of an address.
// Hardware places them in the same way (a shared, a local and a constant aperture); the values are
// ours, and kernels read them from the constant bank and from special registers.
constexpr uint32_t constant_window_high = 0x7ffc;
constexpr uint32_t local_window_high = 0x7ffd;
constexpr uint32_t shared_window_high = 0x7ffe;
constexpr uint64_t window_base(uint32_t high) { return uint64_t{high} << 32; }

// One allocation as the page table sees it: [lo, hi) on the device, `host` + (address - lo) here.
struct Extent {
    uint64_t lo = 0, hi = 0;  // empty: holds() is false for every address
    std::byte* host = nullptr;
    uint32_t flags = 0;
    uint32_t id = 0;

    static constexpr uint32_t freed = 1, read_only = 2, code = 4, peer = 8;

    // All of [address, address + bytes) lies inside. (Below lo the difference wraps around.)
    bool holds(uint64_t address, uint64_t bytes) const {
        return address - lo < hi - lo && bytes <= hi - address;
    }
};

}  // namespace sassemu
