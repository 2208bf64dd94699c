// SPDX-License-Identifier: Apache-2.0
// One operation of a thread on memory that others can see, as a machine of the SDK is shown it
// (sdk/include/sassemu/machine.h), with what it stores and where its result goes.
#pragma once

#include <sassemu/machine.h>

#include <array>
#include <cstdint>

#include "emu/machine/port.hpp"

namespace sassemu::explore {

// A loaded value of less than a word as it stands in a register.
inline uint32_t extended(uint32_t v, bool sign, uint32_t bytes) {
    if (!sign) return v;
    return bytes == 1 ? static_cast<uint32_t>(static_cast<int8_t>(v))
                      : static_cast<uint32_t>(static_cast<int16_t>(v));
}

struct MemoryOperation {
    sassemu_operation what{};                   // who is filled in by who performs it
    std::array<int32_t, 4> to{-1, -1, -1, -1};  // registers of the words of the result; -1: none
    bool of_grids = false;                      // MEET: with the launch before, once it has ended
    bool blocks = false;                        // of a load: it is performed at once
    bool whole = false;                         // to[0] takes all of the result
    bool joins = false;                         // `atomic` of its value and what is in `to`
    bool sign = false;                          // results of less than a word are sign-extended
    AtomicOp atomic = AtomicOp::none;
    AtomicType type = AtomicType::u32;
    std::array<uint8_t, 16> value{};  // stored, or the operand of an atomic
    uint64_t swap = 0;                // of a compare-and-swap
    uint32_t arrivals = 0;            // of an atomic: at an mbarrier of sm_80, instead of `atomic`

    explicit MemoryOperation(sassemu_operation_kind kind) {
        what.size = sizeof what;
        what.kind = static_cast<uint8_t>(kind);
    }
    explicit MemoryOperation(const sassemu_operation& form) : what(form) {
        what.size = sizeof what;
    }
    bool is(sassemu_operation_kind kind) const { return what.kind == kind; }
    bool has_value() const {
        return is(SASSEMU_OPERATION_LOAD) || is(SASSEMU_OPERATION_STORE) ||
               is(SASSEMU_OPERATION_ATOMIC) || is(SASSEMU_OPERATION_REDUCE);
    }
    // Orders all that its thread did before. Of a scoped machine's accesses, those that release
    // (fences for nothing but proxies as well: late loads are before them).
    bool orders(bool scoped) const {
        const bool releases = what.ordering == SASSEMU_RELEASE ||
                              what.ordering == SASSEMU_ACQ_REL || what.ordering == SASSEMU_SC;
        return is(SASSEMU_OPERATION_FENCE) || is(SASSEMU_OPERATION_CACHE) ||
               is(SASSEMU_OPERATION_MEET) || what.kind >= SASSEMU_OPERATION_ARRIVE ||
               (scoped && releases);
    }
    bool overlaps(const MemoryOperation& other) const {
        return what.address < other.what.address + other.what.bytes &&
               other.what.address < what.address + what.bytes;
    }
};

}  // namespace sassemu::explore
