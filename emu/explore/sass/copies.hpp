// SPDX-License-Identifier: Apache-2.0
// What asynchronous copies in machine code move: bytes that lie together on both sides, and who is
// told. Both searches ask here (graph/sass_async.cpp, machines/fetch_copies.cpp). What does not
// belong here: when they move.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emu/async/range.hpp"
#include "emu/async/tensor_box.hpp"
#include "emu/explore/sass/code.hpp"
#include "emu/schedule/prepared.hpp"

namespace sassemu::explore {

// Bytes that lie together in shared memory (`near`, an offset in its CTA's) and on the other side.
struct CopyRun {
    uint32_t near = 0;
    uint64_t far = 0, bytes = 0;
    bool inside = true;  // else zeros
};
std::vector<CopyRun> runs_of(const TensorMap& map, const TensorCopy& c);

// The CTAs of a cluster that a copy writes to, in bits 31..24, and the object that each has told.
struct CopyReceiver {
    uint32_t window, object;
};
std::vector<CopyReceiver> receivers_of(const Completion& c, uint32_t to);

// Why the hardware would not do this copy, or why it is not explored; empty: it is.
std::string fault_of(const BulkCopy& c);
std::string unexplored(const TensorMap& map, const TensorCopy& c, const std::vector<CopyRun>& runs);

// A tensor map that is a parameter of the launch; null: the address is none of a parameter, or
// (`beyond`) of too few bytes there.
const std::byte* parameter_map(const Launch& launch, uint64_t address, bool& beyond);

// Whether a DEPBAR.LE waits for copies at all, and for groups of bulk copies only until they have
// read: as the PTX says, which has lost it in the words. Without it compiled code empties the cache
// behind a wait for writes. `bulk`: what was committed last on the scoreboard.
struct GroupWaited {
    bool any = false, bulk = false, reads_only = false;
};
GroupWaited group_waited(const SassCode& code, uint32_t pc, bool bulk);

}  // namespace sassemu::explore
