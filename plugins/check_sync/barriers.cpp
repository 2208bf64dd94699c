// SPDX-License-Identifier: Apache-2.0
// Barriers of a CTA (bar, barrier.cta): what they order, and how they are misused. Those of
// clusters are in clusters.cpp.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

constexpr const char* same_barrier =
    "the whole warp at one bar (join the branches before it), or barrier.sync without .aligned "
    "where threads of a warp come apart";

std::string diverged(uint32_t lanes, uint32_t live) {
    return std::to_string(std::popcount(lanes)) + " of the warp's " +
           std::to_string(std::popcount(live)) +
           " threads execute it; bar and barrier.aligned demand that all threads of a warp execute "
           "the same one";
}

}  // namespace

void Checker::arrive_at_barrier(Warp& w, const sassemu_sync& s, uint32_t insn) {
    const Meaning& m = meanings_[insn];
    Barrier& b = barriers_[{w.place.cta, s.id}];
    if (m.aligned && s.lanes != ~0u)
        if (const uint32_t live = info(s.warp).live; s.lanes != live)
            misused(w, s.lanes, insn, diverged(s.lanes, live), same_barrier);
    if (std::exchange(b.reduces, s.reduction ? 2 : 1) == (s.reduction ? 1 : 2))
        misused(w, s.lanes, insn,
                "bar.red and bar.sync or bar.arrive meet in one phase of barrier " +
                    std::to_string(s.id),
                "the same of them in all threads, or another barrier");
    if (m.packed == w.cut.reg && s.lanes & w.cut.lanes)
        misused(w, s.lanes, insn,
                w.cut.number > 15 ? "its number is " + std::to_string(w.cut.number) +
                                        ", and what the code keeps of it is " + std::to_string(s.id)
                                  : "its thread count is " + std::to_string(w.cut.count) +
                                        ", of which the code keeps 12 bits",
                "numbers 0 to 15, and counts of no more threads than a CTA has");
    arrives_again(b, w, s, insn);
    b.of_all = !s.expected;
    if (Weaker as; weaken(insn, as)) {
        return order_.next(w);
    } else if (as.within_warp) {
        return order_.together(w, s.lanes, true);
    }
    w.used = true;  // that it has come is something to know
    b.came.push_back({w.threads(), s.lanes, w.epoch});
    if (s.waits) {
        b.waiting.push_back({&w, s.lanes, w.done(), insn});
        // A reduction has a result: it is more than an order.
        order_.barrier_used.try_emplace(insn, s.reduction ? Order::level_cta : Order::level_none);
    } else {
        order_.release(w, s.lanes, {true, gpu}, insn, b.arrived, true);
    }
    order_.next(w);
}

void Checker::complete_barrier(Barrier& b, uint64_t cta) {
    // A barrier of all threads does not wait for those that have exited: all of them have by now.
    Channel gone;
    if (const auto at = ctas_.find(cta); b.of_all && at != ctas_.end())
        for (uint32_t k = 0, warps = info(at->second).warps; k < warps; ++k) {
            const sassemu_warp handle = host.cta_warp(at->second, k);
            Warp& w = warp_of(handle);
            if (const uint32_t lanes = ~info(handle).live; lanes && w.done()) {
                order_.release(w, lanes, {true, gpu}, 0, gone, true);
                order_.next(w);
                exited_[w.threads()] |= lanes;
            }
        }
    order_.meet(b.waiting, b.arrived, gone);
    if (b.id)
        for (const Order::Arrival& a : b.waiting)
            order_.know(*a.warp, a.lanes, {b.id, 1, b.phase}, {true, gpu, false});
    for (auto& [warp, last] : b.last)
        if (last.phase == b.phase) last.with = b.came;
    b.came.clear();
    ++b.phase;
    b.waiting.clear();
    b.reduces = 0;
    if (!b.arrived.edges.empty()) b.arrived.clear();
}

// A warp that has arrived without waiting arrives again: the phase of its former arrival is over,
// or both count in it. It is over for those who have waited in it, and for those who know that all
// its arrivals have been made.
void Checker::arrives_again(Barrier& b, Warp& w, const sassemu_sync& s, uint32_t insn) {
    if (!s.waits && !b.id) b.id = std::exchange(next_mbarrier_, next_mbarrier_ + 2);
    if (!b.id) return;
    Barrier::Last& last = b.last[w.id];
    const uint32_t again = last.lanes & s.lanes;
    const auto over = [&] {
        if (knows(w, again, {b.id, 1, last.phase})) return true;
        return !last.with.empty() &&
               std::all_of(last.with.begin(), last.with.end(), [&](const Entry& e) {
                   return e.who == w.threads() || knows(w, again, e);
               });
    };
    if (again && !over())
        misused(w, s.lanes, insn,
                "the warp has arrived at barrier " + std::to_string(s.id) +
                    " before, and nothing says that the phase of that arrival is over: both may "
                    "count in one",
                "bar.sync in place of the bar.arrive before, or another barrier or signal of those "
                "that wait");
    if (s.waits) return;
    if (last.phase != b.phase) last.lanes = 0;
    last.with.clear();
    last.phase = b.phase;
    last.lanes |= s.lanes;
}

// A count (from bit 16 on) and a number become one register. What is cut off is seen here only.
void Checker::pack_barrier(Warp& w, sassemu_warp handle, sassemu_insn i, uint32_t lanes) {
    uint32_t registers[3] = {SASSEMU_RZ, SASSEMU_RZ, SASSEMU_RZ}, n = 0;  // result, count, number
    for (uint32_t k = 0; k < host.insn_operands(i) && n < 3; ++k) {
        sassemu_operand o{};
        o.size = sizeof o;
        if (host.insn_operand(i, k, &o) == 0 && o.kind == SASSEMU_OPERAND_REGISTER)
            registers[n++] = o.index;
    }
    const uint32_t *counts = host.row(handle, registers[1]),
                   *numbers = host.row(handle, registers[2]);
    if (n < 3 || !counts || !numbers) return;
    w.cut = {registers[0], 0, 0, 0};
    for (; lanes; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        const uint32_t count = counts[lane] >> 16, number = numbers[lane];
        if (number > 15 || count > 4095)
            w.cut = {w.cut.reg, w.cut.lanes | 1u << lane, number, count};
    }
}

// After a deadlock: lanes that wait for others of their warp before a barrier that all of it must
// execute, with nothing else to wait for.
void Checker::never_gathered() {
    if (runs_.size() != 1 || !mbarriers_.empty() || !cluster_barriers_.empty() ||
        !flags_[0].empty() || !flags_[1].empty())
        return;
    for (const auto& [handle, w] : warps_)
        for (const auto& [insn, lanes] : w.gathering)
            if (lanes)
                misused(w, lanes, insn, diverged(lanes, host.active(handle) | lanes), same_barrier);
}

}  // namespace check_sync
