// SPDX-License-Identifier: Apache-2.0
// The run loops: fetch, guard, count, dispatch. Everything else is in the handlers, which go on by
// themselves where they may (go_on in isa.hpp).
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

inline void run(Warp& w, const Op* op) {
    w.chained = SASSEMU_CHAINED && !w.instructions ? ~0u : 0;
    do {
        const uint32_t mask = w.active & (w.p[op->guard] ^ op->guard_xor);
        if (mask == 0) [[unlikely]] {
            ++w.guard_false;
            ++op;
            continue;
        }
        ++w.issued;
        w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
        op = op->fn[mask == ~0u](op, w, mask);
    } while (op);
}

// With operands in flight: an instruction that touches one waits (architecture, decision 8).
inline void run_checked(Warp& w, const Op* op, const RegisterSets* sets, const Op* first) {
    w.chained = 0;
    do {
        const uint32_t mask = w.active & (w.p[op->guard] ^ op->guard_xor);
        if (mask == 0) {
            ++w.guard_false;
            ++op;
            continue;
        }
        if (w.in_flight) {
            const RegisterSets& s = sets[op - first];
            uint64_t hit = 0;
            for (int i = 0; i < 4; ++i) hit |= w.pending[i] & (s.reads[i] | s.writes[i]);
            if (hit) {
                w.path().pc = op;
                w.path().state = PathState::in_flight;
                w.stop = Stop::pending;
                return;
            }
        }
        ++w.issued;
        w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
        op = op->fn[mask == ~0u](op, w, mask);
    } while (op);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
