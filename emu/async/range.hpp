// SPDX-License-Identifier: Apache-2.0
// What the agents' copies share: ranges of guest memory, checked once and then copied in words; who
// receives a copy, and the report of its completion.
#pragma once

#include <string>

#include "emu/machine/copies.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/machine/services.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/bounds.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu::async {

// [address, address + bytes) of global memory; nullptr after a fault of the launch.
inline std::byte* global_range(Warp& w, const Op* op, uint32_t lanes, uint64_t address,
                               uint64_t bytes, bool write) {
    const Extent& e = w.cta->launch->space->find(address);
    std::byte* const host = bytes_of(e, address, bytes);
    if (host && !(write && (e.flags & Extent::read_only))) return host;
    const bool freed = was_freed(e, address);
    services(w).fault(
        w, op, lanes, freed ? FaultKind::use_after_free : FaultKind::out_of_bounds,
        freed ? "the copy uses memory that was freed" : "the copy leaves global memory", true,
        address);
    return nullptr;
}

// How a copy of memory that only messages reach ended. False after a fault of the launch.
inline bool far_copied(Warp& w, const Op* op, uint32_t lanes, uint64_t address,
                       const Result<void>& copied) {
    if (copied) return true;
    launch_host(w).fault(w, op, lanes, FaultKind::use_after_free,
                         "the memory cannot be reached: " + copied.error().message(), true,
                         address);
    return false;
}

// As global_range(), of shared memory; `address` has a rank in bits 31..24. Aligned to `alignment`.
inline std::byte* shared_range(Warp& w, const Op* op, uint32_t lanes, uint32_t address,
                               uint64_t bytes, uint32_t alignment) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    // The least that a copy has; all of it where the alignment is wrong, which is then said.
    std::byte* first =
        services(w).shared(w, op, lane, address, address % alignment ? alignment : 16);
    if (!first) return nullptr;
    const Cta& cta = *w.cta->cluster->cta[address >> 24];
    if ((address & 0xffffff) + bytes <= cta.shared_bytes) return first;
    launch_host(w).fault(
        w, op, lanes, FaultKind::out_of_bounds,
        "the copy of " + std::to_string(bytes) +
            " bytes leaves the shared memory of the CTA: " + shared_bounds(cta, address),
        true, address);
    return nullptr;
}

inline void copy_words(std::byte* to, const std::byte* from, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 8)
        host::store<uint64_t>(to + i, host::load<uint64_t>(from + i));
}

// The CTAs (bit per rank) that get what a copy writes at the shared address `to`.
inline uint32_t receivers(const Completion& c, uint32_t to) {
    return c.multicast ? c.ranks : 1u << (to >> 24);
}

// The object that is told of what a copy writes to the rank in `window` (bits 31..24).
inline uint32_t reported(const Completion& c, uint32_t window) {
    constexpr uint32_t odd = 1u << 24;
    if (!c.multicast) return c.mbarrier;
    if (c.pair) window = (window & ~odd) | (c.mbarrier & odd);
    return window | (c.mbarrier & 0xffffff);
}

// `bytes` have arrived in the shared memory of the rank in `window` (bits 31..24). False after a
// fault.
inline bool report(Warp& w, const Op* op, uint32_t lanes, const Completion& c, uint32_t window,
                   uint64_t bytes) {
    MbarrierChange done;
    done.expect = -static_cast<int64_t>(bytes);
    return services(w).mbarrier(w, op, static_cast<uint32_t>(std::countr_zero(lanes)),
                                reported(c, window), done);
}

}  // namespace sassemu::async
