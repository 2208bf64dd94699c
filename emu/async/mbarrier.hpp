// The mbarrier object (PTX ISA, "mbarrier"): 64 bits of shared memory, laid out as an H200 has them.
// Measured there by 26,000 random protocol steps with the object read after each:
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

// What one instruction does to an object, summed over its lanes: pending arrivals fall by `arrivals`,
// those of later phases by `drops`, and the transaction count rises by `expect` (falls if negative).
struct MbarrierChange {
    uint64_t arrivals = 0, drops = 0;
    int64_t expect = 0;
};

struct Mbarrier {
    static constexpr uint32_t most_arrivals = (1 << 20) - 1;
    static constexpr int32_t most_transactions = (1 << 20) - 1;

    uint32_t phase = 0;       // parity
    uint32_t pending = 0;     // 0 .. most_arrivals
    uint32_t expected = 0;    // of later phases
    int32_t transactions = 0;

    static Mbarrier decode(uint64_t object);
    uint64_t encode() const;
    // What mbarrier.init leaves: no fixed bit is set, and somebody is expected. An H200 faults otherwise.
    static bool valid_initial(uint64_t object);
    // nullptr, or which rule of the protocol the change breaks; the object is then as before.
    const char* apply(const MbarrierChange& change);
};

// test_wait and try_wait: the phase of that parity is over.
inline bool mbarrier_completed(uint64_t object, uint32_t parity) {
    return (object >> 63) != (parity & 1);
}

}  // namespace sassemu
