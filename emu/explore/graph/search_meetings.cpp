// SPDX-License-Identifier: Apache-2.0
// Who met at counted barriers, and which arrivals let the waits on mbarriers through. See
// search.hpp.
#include <bit>
#include <set>

#include "emu/explore/graph/search.hpp"

namespace sassemu::explore {

namespace {

// Ways in which the threads at one barrier may have met, and orders of mbarriers together.
constexpr size_t most_pairings = 100'000;

}  // namespace

void GraphSearch::finish_execution(State& s, JudgedGraph& graph) {
    bool waits_for_ever = false;
    for (const ThreadState& t : s.threads) {
        if (t.status == ThreadStatus::ended || t.status == ThreadStatus::not_started) continue;
        if (!test_.liveness()) return;
        if (t.status == ThreadStatus::needs_value) return;
        waits_for_ever = true;
    }
    if (test_.liveness() && !waits_for_ever) {
        ++report_.executions;
        return;
    }
    const bool meetings = test_.corpus() && std::ranges::any_of(s.barriers, [](const auto& one) {
                              return one.second.counted && one.second.complete;
                          });
    if (!meetings && (s.mbarriers.empty() || s.mbarriers_ordered)) {
        settle_order(s, graph);
        return;
    }
    std::vector<State> met{s};
    for (const auto& [key, b] : s.barriers)
        if (test_.corpus() && b.counted && b.complete) {
            met = meet(std::move(met), b);
            if (stopped()) return;
        }
    each(met.size(), [&](size_t i) {
        if (met[i].mbarriers.empty() || met[i].mbarriers_ordered)
            settle_order(met[i]);
        else
            order_mbarriers(std::move(met[i]));
    });
}

std::vector<State> GraphSearch::meet(std::vector<State> states, const BarrierInstance& b) {
    const size_t n = b.arrivals.size();
    if (n > 16) return incomplete("more than 16 arrivals at one barrier"), std::vector<State>{};
    for (size_t to = 0; to < n; ++to) {
        if (!b.arrivals[to].waits) continue;
        std::vector<State> out;
        for (uint32_t mask = 0; mask < (1u << n); ++mask) {
            if (!(mask >> to & 1) || static_cast<uint64_t>(std::popcount(mask)) != b.needed)
                continue;
            for (const State& s : states) {
                if (out.size() >= most_pairings) incomplete("too many meetings at barriers");
                if (out.size() >= most_pairings || stopped()) return {};
                State next = s;
                for (size_t from = 0; from < n; ++from)
                    if (from != to && mask >> from & 1)
                        next.pairing.push_back({b.arrivals[from].event, b.arrivals[to].event});
                out.push_back(std::move(next));
            }
        }
        states = std::move(out);
    }
    return states;
}

std::vector<Pairing> GraphSearch::mbarrier_pairings(const State& s) {
    std::set<uint32_t> locations;
    for (const MbarrierEvent& op : s.mbarriers) locations.insert(op.location);
    std::vector<Pairing> together{{}};
    for (const uint32_t l : locations) {
        const MbarrierOrders orders = mbarrier_orders(s, program_, l, {}, budget_);
        if (stopped()) return {};
        if (orders.cut) incomplete("too many orders on one mbarrier");
        std::vector<Pairing> next;
        for (const Pairing& before : together)
            for (const Pairing& p : orders.pairings) {
                if (next.size() >= most_pairings) incomplete("too many orders on mbarriers");
                if (next.size() >= most_pairings || stopped()) return {};
                next.push_back(before);
                next.back().insert(next.back().end(), p.begin(), p.end());
            }
        together = std::move(next);
    }
    return together;
}

State GraphSearch::paired(const State& s, const Pairing& pairing) {
    State next = s;
    for (const auto& [arrival, wait] : pairing) next.pairing.push_back({arrival, wait});
    next.mbarriers_ordered = true;
    return next;
}

bool GraphSearch::ordered_mbarriers(const State& s) {
    if (s.mbarriers.empty() || s.mbarriers_ordered || test_.liveness()) return false;
    for (const ThreadState& t : s.threads)
        if (t.status != ThreadStatus::ended && t.status != ThreadStatus::not_started) return false;
    for (const MbarrierEvent& op : s.mbarriers)
        if (!s.evaluate(op.amount, program_) || !s.evaluate(op.expected, program_)) return false;
    const std::vector<Pairing> together = mbarrier_pairings(s);
    each_branch(together.size(), [&](size_t i) {
        State next = paired(s, together[i]);
        const auto answer = ask(next, false);
        if (!answer || !answer->consistent) return;
        if (puts_off_) return put_off(next);
        choose_source(std::move(next), nullptr);
    });
    return !together.empty();
}

void GraphSearch::order_mbarriers(State s) {
    const std::vector<Pairing> together = mbarrier_pairings(s);
    if (together.empty()) {
        // Nothing lets every wait through; a misuse before that may be why.
        const auto answer = ask(s, false, true);
        if (answer && answer->consistent) mbarriers_possible(s, answer->base, true);
    }
    each(together.size(), [&](size_t i) {
        State next = paired(s, together[i]);
        settle_order(next);
    });
}

bool GraphSearch::mbarriers_possible(const State& s, const std::vector<uint8_t>& base,
                                     bool noting) {
    std::set<uint32_t> locations;
    for (const MbarrierEvent& op : s.mbarriers) locations.insert(op.location);
    bool possible = true;
    for (const uint32_t l : locations) {
        const MbarrierOrders orders = mbarrier_orders(s, program_, l, base, budget_);
        if (stopped()) return false;
        Pairing here;
        for (const SassemuEdge& pair : s.pairing) {
            const SassemuEvent& wait = s.events[pair.to].e;
            if (wait.bytes && wait.location == l) here.emplace_back(pair.from, pair.to);
        }
        std::sort(here.begin(), here.end());
        possible = possible && orders.pairings.count(here);
        if (noting && orders.misused) undefined("mbarrier count");
        if (noting && !initialised_first(s, program_, l, base)) undefined("uninitialised mbarrier");
    }
    return possible;
}

bool GraphSearch::rests_on_waits(const State& s) {
    if (s.undefined_at < 0 || s.mbarriers_ordered) return false;
    const auto answer = ask(s, false, true);
    if (!answer) return true;
    return std::any_of(s.mbarriers.begin(), s.mbarriers.end(), [&](const MbarrierEvent& op) {
        return op.kind == MbarrierEvent::Kind::wait && op.result &&
               answer->base[op.event * s.events.size() + static_cast<size_t>(s.undefined_at)];
    });
}

}  // namespace sassemu::explore
