// SPDX-License-Identifier: Apache-2.0
// One access, lane by lane: addresses resolved to host bytes, checked, and performed. The plain
// twin of the fast handlers of isa/memory: what the port, checked runs and --reference use.
#pragma once

#include "emu/machine/cta.hpp"
#include "emu/machine/port.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu {

// Where a lane's access lands, or why it cannot.
struct Landing {
    std::byte* host = nullptr;  // null: a fault
    FaultKind fault = FaultKind::none;
    bool local = false;  // interleaved: word k of the access is at host + 128 * k
    const char* what = "";
};

// Resolves one lane's address in `space` (generic addresses through the windows) and checks
// alignment and bounds. `write` also asks for permission; `through` is Access::through.
Landing land(Warp& w, AccessSpace space, uint64_t address, uint32_t lane, uint32_t bytes,
             bool write, const AddressSpace* through = nullptr);

// Whether it lands, here or in memory of another process.
bool reaches(Warp& w, AccessSpace space, uint64_t address, uint32_t lane, uint32_t bytes,
             bool write);

// Performs the access for `lanes` (a subset of access.lanes, all of which must land): loads and
// atomics fill the destination rows.
void perform(Warp& w, const Access& access, uint32_t lanes);

// What LDSM or STSM moves of the row that a lane names: 16 bytes from or to `at`.
void matrix_row(Warp& w, const Access& access, uint32_t lane, std::byte* at);

// Values of a load into its destination rows: word k of lane i at values[k * 32 + i].
void deliver(uint32_t* rows, uint32_t bytes, bool sign, uint32_t lanes, const uint32_t* values);

// old -> new of an atomic operator on the raw bits of `type`.
uint64_t atomic_result(AtomicOp op, AtomicType type, uint64_t old, uint64_t operand, uint64_t swap);
// Whether the operator exists for values of that type in so many bytes.
bool atomic_exists(AtomicOp op, AtomicType type, uint32_t bytes);
// The whole atomic of 2, 4, 8 or 16 bytes at an aligned place, one that exists; what was there.
// `changed`: whether the bytes differ afterwards.
host::Wide update_at(std::byte* at, AtomicOp op, AtomicType type, uint32_t bytes,
                     host::Wide operand, host::Wide swap, bool& changed);

}  // namespace sassemu
