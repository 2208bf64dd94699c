// SPDX-License-Identifier: Apache-2.0
// Random uses of SYNCS.CAS (cas.sass). The recorder on the GPU machine and the replay make the same
// cases from their numbers.
#pragma once

#include <initializer_list>

#include "tensor_cases.hpp"

namespace cas_cases {

struct Case {
    uint64_t object, difference, next;
    uint32_t how, unused;  // bits: an mbarrier.init of it, not a plain store; an arrival; the
                           // operands are URZ
};
struct Result {
    uint64_t before, old, after, in_memory;
};

inline uint64_t initial(tensor_cases::Random& r) {
    const uint64_t left = 0x100000 - (r.below(2) ? 1 + r.below(4) : 1 + r.below(0xfffff));
    return left << 43 | left << 1;
}

inline Case make(uint32_t number) {
    tensor_cases::Random r(number);
    const auto any = [&] {
        return uint64_t{r.next()} << 33 ^ uint64_t { r.next() } << 16 ^ r.next();
    };
    Case c{};
    c.how = r.below(4) | (r.below(8) == 0 ? 4 : 0);
    c.object = c.how & 1 ? initial(r) : r.below(4) ? any() : 0;
    const uint32_t kind = r.below(4);
    c.difference = kind < 2 ? 0 : kind == 2 ? 1ull << r.below(64) : any();
    c.next = r.below(2) ? any() : r.below(2) ? initial(r) : r.below(2) ? 0 : ~0ull;
    return c;
}

inline uint16_t folded(const Result& result) {
    uint64_t hash = 0;
    for (const uint64_t v : {result.before, result.old, result.after, result.in_memory})
        hash = (hash ^ v) * 0x9E3779B97F4A7C15ull ^ hash >> 29;
    return static_cast<uint16_t>(hash >> 48);
}

}  // namespace cas_cases
