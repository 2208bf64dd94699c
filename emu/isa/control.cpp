// SPDX-License-Identifier: Apache-2.0
// Branches, calls, exits and convergence barriers. Divergence and convergence themselves are the
// engine's (schedule/paths.cpp); here are the cases that need no help.
#include "emu/isa/control.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// The second predicate of most control instructions, k[0] with m[1] as its complement: both it and
// the guard must hold. Lanes that have only the guard go on behind the instruction.
SASSEMU_INLINE uint32_t taken(const Op* op, const Warp& w, uint32_t mask) {
    return mask & (w.p[op->k[0]] ^ op->m[1]);
}

const Op* bra(const Op* op, Warp& w, uint32_t mask) {
    const Op* target = op + static_cast<int32_t>(op->m[0]);
    if (mask == w.active) [[likely]] {
        if (target <= op) target = back_edge(w, target, op);
        return target ? go_on(target, w) : nullptr;
    }
    return services(w).split(w, target, mask, op + 1);
}
const Op* bra_if(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    return mask ? bra(op, w, mask) : next(op, w);
}
const Op* bra_if_both(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask) & (w.p[op->k[1]] ^ op->m[3]);
    return mask ? bra(op, w, mask) : next(op, w);
}
// The path goes as a whole, also lanes with a false guard: they wait in the loops of ELECT for the
// others, whose uniform registers they would overwrite.
const Op* bra_any(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask) & (w.p[op->k[1]] ^ op->m[3]);
    return mask ? bra(op, w, w.active) : next(op, w);
}
// Taken where the condition holds in all lanes of the path, and so by all of them or by none: code
// behind it has the lanes in which it holds go around in another way.
const Op* bra_all(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask) & (w.p[op->k[1]] ^ op->m[3]);
    return mask == w.active ? bra(op, w, mask) : next(op, w);
}
// Taken as a whole when lanes of the mask do not run together (DIV, m[2] = 0), or when they do.
const Op* bra_convergence(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    const uint32_t want =
        op->k[1] ? (op->k[2] ? ~w.scalar32(op->a) : w.scalar32(op->a)) & w.live : w.live;
    // The lanes that execute the branch, guard included, not all that run: code that finds masks
    // different between lanes relies on it (R2UR with a predicate, then @!P BRA.DIV).
    const bool together = (want & ~mask) == 0;
    // The decision is the path's: its lanes go together, those with a false guard too.
    return mask && together == (op->m[2] != 0) ? bra(op, w, w.active) : next(op, w);
}

// A target inside the section; calls may leave the section of a branch.
void set_target(Lower& x, uint64_t target) {
    const uint64_t here = x.offset() - x.section_begin();
    if (target % 16 || target >= x.section_end() - x.section_begin()) {
        x.reject("the branch leaves its code section");
        return;
    }
    x.op.m[0] = static_cast<uint32_t>(static_cast<int64_t>(target - here) / 16);
}

void set_predicate(Lower& x, const typed::Pred& p) {
    x.op.k[0] = p.uniform ? Lower::uniform_predicate(p.index) : Lower::predicate(p.index);
    x.op.m[1] = p.neg ? ~0u : 0;
}
void set_meeting(Lower& x, Meeting m) { x.op.k[2] = static_cast<uint8_t>(m); }
bool always(const typed::Pred& p) { return p.index == 7 && !p.neg; }

// Register targets: 64-bit row pair (or uniform pair) at a, plus 64 bits of displacement in
// m[2..3]; k[1]: uniform; k[2]: the sum counts from the section's first instruction.
const Op* jump_register(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    if (!mask) return next(op, w);
    uint64_t base = op->m[2] | uint64_t{op->m[3]} << 32;
    if (op->k[2]) base += services(w).address_of(w, op - op->e);
    uint64_t to[32];
    if (op->k[1]) {
        const uint64_t at = w.scalar64(op->a) + base;
        for (uint64_t& t : to) t = at;
    } else {
        const uint32_t* lo = w.row(op->a);
        const uint32_t* hi = w.row(op->a + row_bytes);
        for (int i = 0; i < 32; ++i) to[i] = (lo[i] | uint64_t{hi[i]} << 32) + base;
    }
    return services(w).jump(w, op, mask, to);
}
void set_jump(Lower& x, int64_t displacement, bool from_section) {
    x.op.m[2] = static_cast<uint32_t>(displacement);
    x.op.m[3] = static_cast<uint32_t>(static_cast<uint64_t>(displacement) >> 32);
    x.op.k[2] = from_section;
    x.op.e = static_cast<uint32_t>((x.offset() - x.section_begin()) / 16);
    x.handler(jump_register);
}

// A lane's state, five bits: 0 exited, 1 ready, 3 gave way, 11 at WARPSYNC, 16 + n waits at Bn.
uint32_t thread_state(const Path& p) {
    if (p.state == PathState::at_bsync) return 16u + p.barrier;
    if (p.state == PathState::at_warpsync) return 11;
    return p.yielded ? 3 : 1;
}
uint32_t state_of(const Warp& w, typed::CbuState which) {
    using enum typed::CbuState;
    if (which == MACTIVE) return w.active;
    if (which == MEXITED) return ~w.live;
    const Convergence& c = w.convergence;
    uint32_t value = which == OPT_STACK ? uint32_t{c.left_count} << 25 : 0;
    if (which == OPT_STACK)
        for (uint32_t i = 0; i < c.left_count; ++i) value |= uint32_t{c.left[i]} << 5 * i;
    else
        for (uint32_t k = 0; k < w.paths_used; ++k)
            if (thread_state(w.paths[k]) >> static_cast<uint32_t>(which) & 1)
                value |= k == w.current ? w.active : w.paths[k].lanes;
    return value;
}

const Op* leave(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    return mask ? services(w).exit(w, op, mask) : next(op, w);
}

// A barrier register is the warp's: what a path finds there, others may have written.
const Op* bssy(const Op* op, Warp& w, uint32_t mask) {
    w.convergence.b[op->k[1]] |= taken(op, w, mask);
    return next(op, w);
}
const Op* bsync(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    Convergence& c = w.convergence;
    const uint32_t members = c.b[op->k[1]] & w.live;
    // Who is not in the register does not wait.
    if (!(members & mask)) return next(op, w);
    // Everybody is here already: the common end of a uniform region.
    if (mask == w.active && (members & ~mask) == 0) [[likely]] {
        c.b[op->k[1]] = 0;
        return next(op, w);
    }
    return services(w).bsync(w, op, mask, op->k[1]);
}
const Op* leave_barrier(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask) & w.convergence.b[op->k[1]];
    if (!mask) return next(op, w);
    w.convergence.b[op->k[1]] &= ~mask;
    return services(w).leave_barrier(w, op, op->k[1]);
}

const Op* bmov_from(const Op* op, Warp& w, uint32_t mask) {
    uint32_t& b = w.convergence.b[op->k[1]];
    L::store(w.row(op->d), L::splat(b), mask);
    if (op->k[2]) b = 0;
    return next(op, w);
}
// The lowest lane's value counts.
const Op* bmov_to(const Op* op, Warp& w, uint32_t mask) {
    w.convergence.b[op->k[1]] = op->k[2] ? w.scalar32(op->a) : w.row(op->a)[std::countr_zero(mask)];
    return next(op, w);
}
// k[1]: which state.
const Op* bmov_state(const Op* op, Warp& w, uint32_t mask) {
    L::store(w.row(op->d), L::splat(state_of(w, static_cast<typed::CbuState>(op->k[1]))), mask);
    return next(op, w);
}

const Op* yield(const Op* op, Warp& w, uint32_t) {
    return w.paths_used == 1 ? op + 1 : services(w).give_way(w, op);
}

// WARPSYNC. k[2]: its Meeting; m[0]: the target of a collective. Here all lanes name the same mask.
const Op* meet(const Op* op, Warp& w, uint32_t mask, uint32_t named) {
    alignas(64) uint32_t want[32];
    L::store(want, L::splat(named));
    return services(w).warpsync(w, op, mask, want, static_cast<Meeting>(op->k[2]));
}
const Op* warpsync_all(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    return mask ? meet(op, w, mask, w.live) : next(op, w);
}
const Op* warpsync(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    if (!mask) return next(op, w);
    if (op->k[1]) return meet(op, w, mask, w.scalar32(op->a));
    return services(w).warpsync(w, op, mask, w.row(op->a), static_cast<Meeting>(op->k[2]));
}
const Op* end_collective(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    return mask ? services(w).end_collective(w, op, mask) : next(op, w);
}

const Op* lepc(const Op* op, Warp& w, uint32_t mask) {
    const uint64_t at = services(w).address_of(w, op + static_cast<int32_t>(op->m[0]));
    L::store(w.row(op->d), L::splat(static_cast<uint32_t>(at)), mask);
    L::store(w.row(op->d + row_bytes), L::splat(static_cast<uint32_t>(at >> 32)), mask);
    return next(op, w);
}

const Op* nanosleep(const Op* op, Warp& w, uint32_t mask) {
    mask = taken(op, w, mask);
    if (!mask) return next(op, w);
    const uint32_t ns = op->k[1] ? w.scalar32(op->a) : w.row(op->a)[std::countr_zero(mask)];
    return services(w).sleep(w, op, mask, ns);
}

const Op* launch_dependents(const Op* op, Warp& w, uint32_t mask) {
    return services(w).launch_dependents(w, op, mask);
}

}  // namespace

void lower(Lower& x, const typed::Bra& i) {
    set_target(x, i.target);
    set_predicate(x, i.pa);
    if (i.how == typed::BraKind::DIV || i.how == typed::BraKind::CONV) {
        x.op.m[2] = i.how == typed::BraKind::CONV;
        x.op.k[1] = i.mask.kind == typed::SrcKind::UReg;
        if (x.op.k[1]) x.op.a = x.uniform_scalar(i.mask.index);
        x.op.k[2] = i.mask.inv;
        x.handler(bra_convergence);
    } else {
        // BRA.U has a uniform predicate as well.
        x.op.k[1] = Lower::uniform_predicate(i.pb.index);
        x.op.m[3] = i.pb.neg ? ~0u : 0;
        x.handler(i.how == typed::BraKind::UANY ? bra_any
                  : i.how == typed::BraKind::U  ? bra_all
                  : !always(i.pb)               ? bra_if_both
                  : always(i.pa)                ? bra
                                                : bra_if);
    }
}

// BRX R, d: the table entry counts from the section's first instruction, d undoes the distance from
// here to there: target = R + d + (pc + 16).
void lower(Lower& x, const typed::Brx& i) {
    x.op.a = x.source_row(i.a.index, 2);
    set_predicate(x, i.pa);
    set_jump(x,
             static_cast<int64_t>(i.offset.imm) +
                 static_cast<int64_t>(x.offset() - x.section_begin() + 16),
             true);
}
void lower(Lower& x, const typed::Brxu& i) {
    x.op.a = x.uniform_scalar(i.a.index, 2);
    x.op.k[1] = 1;
    set_predicate(x, i.pa);
    set_jump(x,
             static_cast<int64_t>(i.offset.imm) +
                 static_cast<int64_t>(x.offset() - x.section_begin() + 16),
             true);
}
void lower(Lower& x, const typed::Jmp& i) {
    if (i.how != typed::BraKind::NONE) return x.gap("JMP.U, JMP.DIV and JMP.CONV");
    x.op.a = zero_row;
    set_predicate(x, i.pa);
    set_jump(x, static_cast<int64_t>(i.offset.imm), false);
}
void lower(Lower& x, const typed::Jmx& i) {
    x.op.a = x.source_row(i.a.index, 2);
    set_predicate(x, i.pa);
    set_jump(x, static_cast<int64_t>(i.offset.imm), false);
}

// Direct calls may leave the section, so they go through the jump as well.
void lower(Lower& x, const typed::CallRel& i) {
    set_predicate(x, i.pa);
    x.op.a = zero_row;
    set_jump(x, static_cast<int64_t>(i.target), true);
}
void lower(Lower& x, const typed::CallRelReg& i) {
    set_predicate(x, i.pa);
    x.op.a = x.source_row(i.a.index, 2);
    set_jump(x, static_cast<int64_t>(i.target), true);
}
void lower(Lower& x, const typed::CallAbs& i) {
    set_predicate(x, i.pa);
    x.op.a = zero_row;
    set_jump(x, static_cast<int64_t>(i.offset.imm), false);
}
void lower(Lower& x, const typed::CallAbsReg& i) {
    set_predicate(x, i.pa);
    x.op.a = x.source_row(i.a.index, 2);
    set_jump(x, static_cast<int64_t>(i.offset.imm), false);
}
// RET.REL R, f: the register counts from f, which the compiler sets to the function's start.
void lower(Lower& x, const typed::RetRel& i) {
    set_predicate(x, i.pa);
    x.op.a = x.source_row(i.a.index, 2);
    set_jump(x, static_cast<int64_t>(i.target), true);
}
void lower(Lower& x, const typed::RetAbs& i) {
    set_predicate(x, i.pa);
    x.op.a = x.source_row(i.a.index, 2);
    set_jump(x, static_cast<int64_t>(i.offset.imm), false);
}

void lower(Lower& x, const typed::Exit& i) {
    set_predicate(x, i.pa);
    x.handler(leave);
}
void lower(Lower& x, const typed::Kill& i) {
    set_predicate(x, i.pa);
    x.handler(leave);
}

void lower(Lower& x, const typed::Bssy& i) {
    set_predicate(x, i.pa);
    x.op.k[1] = i.d & 15;
    x.handler(bssy);
}
void lower(Lower& x, const typed::Bsync& i) {
    set_predicate(x, i.pa);
    x.op.k[1] = i.d & 15;
    x.handler(bsync);
}
void lower(Lower& x, const typed::Break& i) {
    set_predicate(x, i.pa);
    x.op.k[1] = i.d & 15;
    x.handler(leave_barrier);
}
void lower(Lower& x, const typed::BmovFromB& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[1] = i.a & 15;
    x.op.k[2] = i.clear;
    x.handler(bmov_from);
}
void lower(Lower& x, const typed::BmovToB& i) {
    const Operand a = x.source(i.a);
    x.op.a = a.at;
    x.op.k[1] = i.d & 15;
    x.op.k[2] = a.scalar;
    if (i.pquad) x.gap("BMOV.PQUAD");
    x.handler(bmov_to);
}
void lower(Lower& x, const typed::BmovFromState& i) {
    using enum typed::CbuState;
    if (i.clear || i.a == MKILL || i.a == MATEXIT || i.a > OPT_STACK ||
        (i.a > THREAD_STATE_ENUM_4 && i.a < MEXITED))
        return x.gap("a state of the warp that compilers do not move");
    x.op.d = x.destination_row(i.d.index);
    x.op.k[1] = static_cast<uint8_t>(i.a);
    x.handler(bmov_state);
}
void lower(Lower& x, const typed::Yield&) { x.handler(yield); }

void lower(Lower& x, const typed::WarpsyncAll& i) {
    set_predicate(x, i.pa);
    set_meeting(x, Meeting::here);
    x.handler(warpsync_all);
}
void lower(Lower& x, const typed::Warpsync& i) {
    set_predicate(x, i.pa);
    const Operand a = x.source(i.a);
    x.op.a = a.at;
    x.op.k[1] = a.scalar;
    set_meeting(x, i.mode != 0 ? Meeting::exclusive : Meeting::here);
    x.handler(warpsync);
}

void lower(Lower& x, const typed::WarpsyncCollective& i) {
    set_predicate(x, i.pa);
    set_target(x, i.target);
    x.op.a = x.source_row(i.a.index);
    set_meeting(x, Meeting::collective);
    x.handler(warpsync);
}
void lower(Lower& x, const typed::WarpsyncCollectiveAll& i) {
    set_predicate(x, i.pa);
    set_target(x, i.target);
    set_meeting(x, Meeting::collective_all);
    x.handler(warpsync_all);
}
void lower(Lower& x, const typed::Endcollective& i) {
    set_predicate(x, i.pa);
    x.handler(end_collective);
}

void lower(Lower& x, const typed::Lepc& i) {
    x.op.d = x.destination_row(i.d.index, 2);
    x.op.m[0] = 0;
    x.handler(lepc);
}
void lower(Lower& x, const typed::LepcOf& i) {
    x.op.d = x.destination_row(i.d.index, 2);
    set_target(x, i.target);
    x.handler(lepc);
}

void lower(Lower& x, const typed::Nanosleep& i) {
    // NANOSLEEP.SYNCS goes on waiting after a try_wait that timed out; here that one has waited.
    if (i.syncs) return x.handler(nothing);
    set_predicate(x, i.pa);
    const Operand a = x.source(i.a);
    x.op.a = a.at;
    x.op.k[1] = a.scalar;
    x.handler(nanosleep);
}
// griddepcontrol.launch_dependents.
void lower(Lower& x, const typed::Preexit&) {
    x.handler(x.late_copies() ? launch_dependents : nothing);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
