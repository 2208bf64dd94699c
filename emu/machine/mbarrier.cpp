// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the mbarrier object.
#include "emu/machine/mbarrier.hpp"

namespace sassemu {

namespace {

constexpr uint32_t count_mask = Mbarrier::most_arrivals;  // 20 bits
constexpr uint32_t transaction_bits = 21;

uint64_t negated(uint32_t count) { return (0u - count) & count_mask; }

}  // namespace

Mbarrier Mbarrier::decode(uint64_t object) {
    Mbarrier b;
    b.phase = static_cast<uint32_t>(object >> 63);
    b.pending = (0u - static_cast<uint32_t>(object >> 43)) & count_mask;
    b.expected = (0u - static_cast<uint32_t>(object >> 1)) & count_mask;
    // Sign-extends the 21 bits.
    const auto field = static_cast<uint32_t>(object >> 21) << (32 - transaction_bits);
    b.transactions = -(static_cast<int32_t>(field) >> (32 - transaction_bits));
    return b;
}

uint64_t Mbarrier::encode() const {
    const uint64_t field =
        (0u - static_cast<uint32_t>(transactions)) & ((1u << transaction_bits) - 1);
    return uint64_t{phase} << 63 | negated(pending) << 43 | field << 21 | negated(expected) << 1;
}

bool Mbarrier::valid_initial(uint64_t object) {
    const Mbarrier b = decode(object);
    return b.encode() == object && b.pending != 0 && b.expected != 0;
}

const char* Mbarrier::apply(const MbarrierChange& change) {
    if (change.arrivals > pending) return "more arrivals than the phase still expects";
    if (change.drops > expected) return "more threads drop out than the barrier counts";
    const int64_t sum = transactions + change.expect;
    if (sum > most_transactions || sum < -most_transactions)
        return "the transaction count leaves -(2^20-1) .. 2^20-1";
    pending -= static_cast<uint32_t>(change.arrivals);
    expected -= static_cast<uint32_t>(change.drops);
    transactions = static_cast<int32_t>(sum);
    if (pending == 0 && transactions == 0) {
        phase ^= 1;
        pending = expected;
    }
    return nullptr;
}

}  // namespace sassemu
