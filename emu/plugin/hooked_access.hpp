// SPDX-License-Identifier: Apache-2.0
// How an access of a hooked instruction begins: what plugins are shown of it.
#pragma once

#include "emu/plugin/hooks.hpp"
#include "emu/plugin/recording.hpp"

namespace sassemu {

inline const HookedInstruction& hooked_instruction(const Warp& w, const Op* op) {
    return w.instructions[op - w.ops];
}

inline void begin_access(AccessCall& call, const HookedInstruction& i, const Op* op, Warp& w,
                         uint32_t lanes, uint64_t sequence) {
    call.shown = i.access;
    call.shown.lanes = lanes;
    call.shown.sequence = sequence;
    call.shown.token = hooked_launch(w).first_token ^ (w.cta->linear << 24 | (sequence & 0xffffff));
    call.shown.warp = handle(&w);
    call.op = op;
    call.w = &w;
    if (w.watch) [[unlikely]]
        call.shown.flags |= SASSEMU_ACCESS_IMMEDIATE;
}

// Lanes that access: LDG and LDGSTS have a predicate operand of their own.
inline uint32_t accessing(const HookedInstruction& i, const Warp& w, uint32_t mask) {
    const uint32_t p = w.p[i.predicate & 15];
    return mask & (i.predicate >> 8 ? ~p : p);
}

// Where records are kept, for those who get them later.
inline void record_access(AccessCall& call) {
    if (Recording* const r = Recording::current()) r->access(call);
}

}  // namespace sassemu
