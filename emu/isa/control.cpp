// Branches, calls, exits and convergence barriers. Divergence and convergence themselves are the
// engine's (schedule/paths.cpp); here are the cases that need no help.
#include "emu/isa/control.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

const Op* bra(const Op* op, Warp& w, uint32_t mask) {
    const Op* target = op + static_cast<int32_t>(op->m[0]);
    if (mask == w.active) [[likely]]
        return target <= op ? back_edge(w, target, op) : target;
    return services(w).split(w, target, mask, op + 1);
}

// The same with a second predicate: BRA P1, target.
const Op* bra_if(const Op* op, Warp& w, uint32_t mask) {
    mask &= w.p[op->k[0]] ^ op->m[1];
    return mask ? bra(op, w, mask) : op + 1;
}

// The distance in operations to a direct target inside the section.
bool direct(Lower& x, uint64_t target) {
    const uint64_t here = x.offset() - x.section_begin();
    if (target % 16 || target >= x.section_end() - x.section_begin()) {
        x.reject("the branch leaves its code section");
        return false;
    }
    x.op.m[0] = static_cast<uint32_t>((static_cast<int64_t>(target) - static_cast<int64_t>(here)) / 16);
    return true;
}

}  // namespace

void lower(Lower& x, const typed::Bra& i) {
    direct(x, i.target);
    if (i.pa.index == 7 && !i.pa.neg && !i.pa.uniform) {
        x.handler(bra);
    } else {
        x.op.k[0] = i.pa.uniform ? Lower::uniform_predicate(i.pa.index) : i.pa.index;
        x.op.m[1] = i.pa.neg ? ~0u : 0;
        x.handler(bra_if);
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
