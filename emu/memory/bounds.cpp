// SPDX-License-Identifier: Apache-2.0
// See bounds.hpp.
#include "emu/memory/bounds.hpp"

#include <algorithm>

#include "emu/base/text.hpp"
#include "emu/machine/extent.hpp"
#include "emu/memory/address_space.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {
namespace {

// A window begins where another ends: an index below zero leads into that.
std::string or_before(uint32_t offset, bool generic, const char* next) {
    if (!generic || offset < 0xff000000u) return "";
    return "; or " + std::to_string((uint64_t{1} << 32) - offset) + " bytes before " + next;
}

}  // namespace

std::string shared_bounds(const Cta& cta, uint32_t address) {
    const Launch& launch = *cta.launch;
    const uint32_t reserved = std::min<uint32_t>(
        sassdec::architecture(launch.arch).family->reserved_shared, cta.shared_bytes);
    const uint32_t own = cta.shared_bytes - reserved;
    const uint32_t dynamic = std::min(launch.dynamic_shared, own);
    std::string text = "offset " + hex(address & 0xffffff) + "; ";
    text += "it has " + std::to_string(own - dynamic) + " bytes static + " +
            std::to_string(dynamic) + " dynamic";
    if (own) text += ", at offsets " + hex(reserved) + " to " + hex(cta.shared_bytes - 1);
    return text;
}

std::string bounds_text(const Warp& w, AccessSpace space, uint64_t address) {
    const Cta& cta = *w.cta;
    const auto low = static_cast<uint32_t>(address);
    const bool generic = space == AccessSpace::generic || space == AccessSpace::global;
    const uint64_t high = address >> 32;
    if (space == AccessSpace::shared || (generic && high == shared_window_high)) {
        const uint32_t rank = low >> 24;
        const bool is_there = rank < cta.cluster->size;
        return shared_bounds(is_there ? *cta.cluster->cta[rank] : cta, low);
    }
    if (space == AccessSpace::local || (generic && high == local_window_high))
        return "byte " + hex(low) + "; a thread has " + std::to_string(cta.launch->local_bytes) +
               ", its stack among them" + or_before(low, generic, "shared memory");
    if (space == AccessSpace::constant || (generic && high == constant_window_high))
        return "byte " + hex(low) + " of " +
               std::to_string(cta.launch->bank_bytes[static_cast<int>(Base::bank0)]) +
               or_before(low, generic, "the thread's local memory");
    return cta.launch->space->describe(address);
}

}  // namespace sassemu
