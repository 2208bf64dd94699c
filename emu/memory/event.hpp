// SPDX-License-Identifier: Apache-2.0
// What an instruction does to memory and order, of the decoder's effects table in the words of
// port.hpp. Whoever wants to know asks here; nobody lists instructions.
#pragma once

#include "emu/machine/port.hpp"
#include "sassdec/effects.h"

namespace sassemu {

// The numbers are the table's, from its first word that the port has.
static_assert(SASSDEC_KIND_REDUCE - SASSDEC_KIND_LOAD == int(AccessOp::reduce) &&
              SASSDEC_SPACE_SURFACE - SASSDEC_SPACE_GLOBAL == int(AccessSpace::surface) &&
              SASSDEC_ORDER_MMIO == int(Ordering::mmio) &&
              SASSDEC_SCOPE_SYS == int(MemScope::sys) &&
              SASSDEC_PROXY_TENSORMAP == int(Proxy::tensormap) &&
              SASSDEC_OPERATOR_SAFE_ADD == int(AtomicOp::safe_add));

struct Event : sassdec_effect {
    const sassdec_insn* insn;

    bool is(sassdec_kind k) const { return kind == k; }
    bool is(sassdec_kind k, sassdec_action a) const { return kind == k && action == a; }
    // A load, store, atomic or reduction by the lanes themselves.
    bool accesses() const { return kind >= SASSDEC_KIND_LOAD && kind <= SASSDEC_KIND_REDUCE; }
    bool updates() const { return is(SASSDEC_KIND_ATOMIC) || is(SASSDEC_KIND_REDUCE); }

    // A cache operation on what loads of data go through; those of constants and of local memory
    // order nothing.
    bool acts_on_data() const {
        return is(SASSDEC_KIND_CACHE) &&
               (cache == SASSDEC_CACHE_DATA || cache == SASSDEC_CACHE_UNIFIED);
    }

    AccessOp access_op() const { return static_cast<AccessOp>(kind - SASSDEC_KIND_LOAD); }
    AccessSpace access_space() const {
        return static_cast<AccessSpace>(space - SASSDEC_SPACE_GLOBAL);
    }
    Ordering ordering() const { return static_cast<Ordering>(order); }
    MemScope mem_scope() const { return static_cast<MemScope>(scope); }
    AtomicOp atomic_op() const { return static_cast<AtomicOp>(atomic); }
    bool sign_extends() const { return type == SASSDEC_TYPE_S8 || type == SASSDEC_TYPE_S16; }
    // As encoded; 0 where there is no such field.
    uint8_t cache_policy() const {
        return static_cast<uint8_t>(policy == SASSDEC_POLICY_NONE ? 0
                                                                  : policy - SASSDEC_POLICY_FIRST);
    }
    const sassdec_operand* operand(uint8_t column) const {
        return column == SASSDEC_NO_OPERAND ? nullptr : insn->operand + column;
    }
};

inline Event event_of(const sassdec_insn& insn) {
    Event e;
    e.insn = &insn;
    sassdec_effects(&insn, &e);
    return e;
}

}  // namespace sassemu
