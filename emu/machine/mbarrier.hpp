// SPDX-License-Identifier: Apache-2.0
// The mbarrier object (PTX ISA, "mbarrier"): 64 bits of shared memory, laid out as an H200 has
// them. Measured there by 26,000 random protocol steps with the object read after each:
//   bit 63       parity of the current phase
//   bits 62..43  minus the pending arrivals of this phase
//   bit 42       0
//   bits 41..21  minus the transaction count (bytes expected and not completed), 21 bits signed
//   bits 20..1   minus the arrivals that the next phase expects
//   bit 0        0
// A phase ends when both pending arrivals and transactions are zero. The upper word of the object
// before an arrival is the upper word of the token that the arrival returns.
#pragma once

#include <cstdint>

namespace sassemu {

// What one instruction does to an object, summed over its lanes: pending arrivals fall by
// `arrivals`, those of later phases by `drops`, and the transaction count rises by `expect` (falls
// if negative).
struct MbarrierChange {
    uint64_t arrivals = 0, drops = 0;
    int64_t expect = 0;
    bool counters = false;  // the object is a CounterMbarrier; arrivals only
};

struct Mbarrier {
    static constexpr uint32_t most_arrivals = (1 << 20) - 1;
    static constexpr int32_t most_transactions = (1 << 20) - 1;

    uint32_t phase = 0;     // parity
    uint32_t pending = 0;   // 0 .. most_arrivals
    uint32_t expected = 0;  // of later phases
    int32_t transactions = 0;

    static Mbarrier decode(uint64_t object);
    uint64_t encode() const;
    // What mbarrier.init leaves: no fixed bit is set, and somebody is expected. An H200 faults
    // otherwise.
    static bool valid_initial(uint64_t object);
    // nullptr, or which rule of the protocol the change breaks; the object is then as before.
    const char* apply(const MbarrierChange& change);
};

// The object before sm_90: two counters, which compiled code adds to with ordinary atomics
// (arrive.noComplete, drops) and reads with ordinary loads (test_wait). Read off what ptxas 13.0
// emits for sm_80; a chip that has ATOMS.ARRIVE was not at hand (an H200 answers it with a launch
// failure).
//   bits 63..32  bit 31: parity of the phase; below: minus the pending arrivals
//   bits 31..0   2^30 minus the arrivals that the next phase expects
// An arrival adds 1 to the upper word. Its carry flips the parity, and the next phase begins.
struct CounterMbarrier {
    static uint64_t arrive(uint64_t object) {
        const auto expected = static_cast<uint32_t>(object);
        auto state = static_cast<uint32_t>(object >> 32) + 1;
        if (state << 1 == 0) state |= (expected & 0x3fffffff) | 0x40000000;
        return uint64_t{state} << 32 | expected;
    }
    static uint32_t pending(uint64_t object) {
        return (0u - static_cast<uint32_t>(object >> 32)) & 0x7fffffff;
    }
};

// test_wait and try_wait: the phase of that parity is over.
inline bool mbarrier_completed(uint64_t object, uint32_t parity) {
    return (object >> 63) != (parity & 1);
}

}  // namespace sassemu
