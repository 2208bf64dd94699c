// SPDX-License-Identifier: Apache-2.0
// CTA barriers 0..15. As on the chip, warps are counted (emu/isa/QUESTIONS.md, T11): one is there
// as soon as some of its lanes are, and where it waits none of its lanes runs until the barrier
// opens; lanes that come later arrive for the next phase. One that does not wait may arrive again,
// and counts again, but not with a reduction. A reduction is over the lanes that came.
#include <algorithm>
#include <string>

#include "emu/plugin/sync_events.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

bool full(const Cta& cta, const Barrier& b) {
    if (b.expected) return b.warps * 32 >= b.expected;
    bool all = true;
    for (uint32_t i = 0; i < cta.warp_count; ++i) all &= !cta.warps[i].live || b.mask[i];
    return all;
}

void open(Cta& cta, uint32_t id) {
    Barrier& b = cta.barrier[id];
    if (Hooks* hooks = engine(cta).hooks()) {
        uint32_t waiting[32] = {};
        for (uint32_t i = 0; i < cta.warp_count; ++i)
            for (uint32_t k = 0; k < cta.warps[i].paths_used; ++k)
                if (const Path& p = cta.warps[i].paths[k];
                    p.state == PathState::at_bar && p.barrier == id)
                    waiting[i] |= p.lanes;
        events::barrier_complete(*hooks, cta, id, b, waiting);
    }
    if (b.waiting) {
        for (uint32_t i = 0; i < cta.warp_count; ++i) {
            Warp& w = cta.warps[i];
            for (uint32_t k = 0; k < w.paths_used; ++k) {
                Path& p = w.paths[k];
                if (p.state != PathState::at_bar || p.barrier != id) continue;
                p.state = PathState::runnable;
                cta.barrier_result[i] = b.reduce;
                cta.barrier_expected[i] = b.arrived;
            }
        }
    }
    // Clear again; warps that the CTA has not are so.
    b.expected = b.arrived = b.warps = b.waiting = b.reduce = 0;
    b.open = false;
    std::fill_n(b.mask, cta.warp_count, 0u);
    cta.barriers_open &= ~(1u << id);
}

}  // namespace

void recheck_barriers(Cta& cta) {
    for (uint32_t id = 0; id < 16; ++id)
        if ((cta.barriers_open >> id & 1) && cta.live_threads && full(cta, cta.barrier[id]))
            open(cta, id);
}

const Op* paths::barrier(Warp& w, const Op* op, uint32_t lanes, const BarrierRequest& request) {
    Cta& cta = *w.cta;
    // Code for sm_120 has no BSSY around a branch that ends at BAR, and counts on its lanes being
    // together behind it. (Nobody had such a chip.)
    if (const Op* next = nullptr; w.paths_used > 1 && cta.launch->arch >= 120 &&
                                  request.op != BarrierOp::arrive && w.active == lanes &&
                                  !in_collective(w) && meet_before_bar(w, op, next))
        return next;
    const auto misuse = [&](const std::string& what) {
        return engine(w).fault(w, op, lanes, FaultKind::barrier_misuse,
                               "barrier " + std::to_string(request.id) + what, false, 0);
    };
    if (request.id > 15) return misuse(" does not exist; a CTA has barriers 0..15");
    if (request.threads % 32)
        return misuse(": the thread count " + std::to_string(request.threads) +
                      " is not a multiple of the warp size");
    if (request.threads > (cta.warp_count * 32))
        return misuse(": " + std::to_string(request.threads) +
                      " threads are more than the CTA has");
    if (Hooks* hooks = engine(w).hooks()) events::barrier_arrive(*hooks, w, op, lanes, request);
    if (w.in_flight) engine(w).drain(w);
    ++w.effects;
    Barrier& b = cta.barrier[request.id];
    if (!b.open) {
        b.open = true;
        b.expected = request.threads;
        cta.barriers_open |= 1u << request.id;
    } else if (b.expected != request.threads) {
        return misuse(": this arrival expects " +
                      (request.threads ? std::to_string(request.threads) : "all") +
                      " threads, an earlier one of the same phase " +
                      (b.expected ? std::to_string(b.expected) : "all"));
    }
    // An H200 calls this an illegal instruction; the PTX ISA ("bar") leaves it undefined.
    if (b.warps > b.waiting && request.op >= BarrierOp::reduce_popc)
        return engine(w).fault(
            w, op, lanes, FaultKind::illegal_instruction,
            "barrier " + std::to_string(request.id) +
                ": a reduction (BAR.RED) in a phase in which BAR.ARV has arrived; "
                "give one of them a barrier of its own",
            false, 0);
    b.mask[w.index] |= lanes;
    b.arrived += static_cast<uint32_t>(std::popcount(lanes));
    ++b.warps;
    b.reduce += static_cast<uint32_t>(std::popcount(request.predicate & lanes));
    if (b.expected && b.warps * 32 > b.expected)
        return misuse(": more than the expected " + std::to_string(b.expected) +
                      " threads have arrived");

    if (!paths::leave_behind(w, lanes, op + 1)) return nullptr;
    Path& p = w.path();
    p.pc = op + 1;
    if (request.op != BarrierOp::arrive) {
        p.state = PathState::at_bar;
        p.barrier = static_cast<uint8_t>(request.id);
        ++b.waiting;
    }
    if (full(cta, b)) open(cta, request.id);
    if (p.state != PathState::runnable) {
        w.stop = Stop::blocked;
        return nullptr;
    }
    // Warps of a chip run abreast: where all of them arrive and then wait at one barrier, none
    // waits before the last has arrived. So the others have their turn.
    if (request.op != BarrierOp::arrive || w.watch) return op + 1;
    w.stop = Stop::yielded;
    return nullptr;
}

}  // namespace sassemu
