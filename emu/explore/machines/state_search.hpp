// SPDX-License-Identifier: Apache-2.0
// The search through a space of states (of threads on an operational model): all of them, or
// random runs. What belongs here: nothing that knows a thread or a model (machine_states.hpp).
#pragma once

#include <unordered_set>

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/graph/state.hpp"

namespace sassemu::explore {

// What finished states show, each outcome with how often it came.
class Tally {
  public:
    Tally(const Test& test, Report& report)
        : test_(test), report_(report), leaves_(leaves(*test.condition)) {
        for (const Condition* c : leaves_) report.names.push_back(c->text);
    }
    template <class Space>
    void add(const Space& space, const typename Space::State& state) {
        ++report_.executions;
        std::vector<uint64_t> values;
        for (const Condition* c : leaves_) values.push_back(space.shown(state, *c));
        auto [it, fresh] = found_.try_emplace(values);
        if (fresh) it->second.condition = holds(*test_.condition, values);
        ++it->second.count;
    }
    // All comes again.
    void forget_counts() {
        report_.executions = 0;
        for (auto& [values, outcome] : found_) outcome.count = 0;
    }
    void finish(double seconds) {
        for (auto& [values, outcome] : found_) {
            outcome.values = values;
            if (outcome.condition) report_.verdict = Verdict::allowed;
            report_.outcomes.push_back(outcome);
        }
        report_.settle();
        report_.seconds = seconds;
    }

  private:
    const Test& test_;
    Report& report_;
    std::vector<const Condition*> leaves_;
    std::map<std::vector<uint64_t>, Outcome> found_;
};

// A space: State start(); void next(const State&, emit(State), bool whole); std::string
// key(const State&); bool ended(const State&); void stuck(const State&): of one that neither moves
// nor has ended; uint64_t shown(const State&, const Condition& leaf). Not `whole`, next() may show
// some steps and put off the others, if partial() says so; what it puts off is not put off for ever
// where one of the states that it showed is new. begin_again(): whether what was put off at a run
// has to be looked at in another; stale(states): whether that is known before its end. Where it is
// not to search `partly`, every step is shown.
template <class Space>
Report search_states(Space& space, const Test& test, const SearchBudget& budget, bool partly) {
    using State = typename Space::State;
    Report report;
    Tally tally(test, report);
    std::unordered_set<std::string> seen;
    std::vector<State> stack;
    const auto begin = [&] {
        stack.clear();
        seen.clear();
        tally.forget_counts();
        stack.push_back(space.start());
        seen.insert(space.key(stack[0]));
    };
    begin();
    while (!stack.empty()) {
        const State at = std::move(stack.back());
        stack.pop_back();
        bool moved = false, fresh = false;
        const auto take = [&](State s) {
            moved = true;
            if (budget.over()) return;
            if (!seen.insert(space.key(s)).second) return;
            fresh = true;
            stack.push_back(std::move(s));
        };
        space.next(at, take, !partly);
        if (space.partial() && !fresh) space.next(at, take, true);
        if (!moved && space.ended(at))
            tally.add(space, at);
        else if (!moved)
            space.stuck(at);
        if (budget.over()) report.incomplete(budget.why());
        if (!report.complete) break;
        if ((stack.empty() || space.stale(seen.size())) && space.begin_again()) begin();
    }
    report.states = seen.size();
    tally.finish(budget.seconds());
    return report;
}

// Random mode: schedules as PCT draws them (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS
// 2010). Whoever can move has a priority drawn at the start of a run; the highest moves. At `depth`
// - 1 steps, drawn as well, the one that moves falls below all others. A bug of that depth is met
// by one run with probability at least 1 / (n * k^(depth - 1)) for n movers and k steps. Who comes
// back to a state of the same run, as spinning does, falls below all, too: so nobody starves. Run i
// of a seed is always the same run.
template <class Space>
Report sample_states(Space& space, const Test& test, const SearchBudget& budget,
                     const Sampling& sampling) {
    using State = typename Space::State;
    constexpr uint64_t most_steps = 1'000'000;
    const auto mix = [](uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    };
    Report report;
    Tally tally(test, report);
    std::unordered_set<std::string> all;
    // One run; how many steps it took.
    const auto run = [&](uint64_t number, uint64_t length, bool counts) -> uint64_t {
        uint64_t drawn = mix(sampling.seed * 0x9e3779b97f4a7c15u + number + 1);
        const auto draw = [&](uint64_t below) {
            return (drawn = mix(drawn + 0x9e3779b97f4a7c15u)) % below;
        };
        std::vector<uint64_t> changes;
        for (uint32_t i = 1; i < sampling.depth; ++i)
            changes.push_back(draw(std::max<uint64_t>(length, 1)));
        std::map<uint32_t, int64_t> priority;
        int64_t lowest = 0;
        const uint64_t order = draw(~uint64_t{0});
        std::unordered_set<std::string> seen;
        State at = space.start();
        for (uint64_t step = 0; step < most_steps && !budget.over(); ++step) {
            std::vector<std::pair<uint32_t, State>> moves;
            space.next(at, [&](State s) { moves.emplace_back(space.mover(), std::move(s)); });
            if (budget.over()) break;  // then next() may have left moves out
            if (moves.empty()) {
                if (!space.ended(at))
                    space.stuck(at);
                else if (counts)
                    tally.add(space, at);
                return step;
            }
            uint32_t mover = moves[0].first;
            for (const auto& [who, s] : moves) {
                priority.try_emplace(who, static_cast<int64_t>(mix(order + who) >> 2) + 1);
                if (priority[who] > priority[mover]) mover = who;
            }
            std::vector<size_t> own;
            for (size_t i = 0; i < moves.size(); ++i)
                if (moves[i].first == mover) own.push_back(i);
            at = std::move(moves[own[draw(own.size())]].second);
            std::string key = space.key(at);
            if (counts) all.insert(key);
            if (!seen.insert(std::move(key)).second ||
                std::find(changes.begin(), changes.end(), step) != changes.end())
                priority[mover] = --lowest;
        }
        return most_steps;
    };
    // How long runs are decides where change points may lie: measured by eight runs that count for
    // nothing.
    uint64_t length = 1;
    for (uint64_t i = 0; i < 8; ++i) length = std::max(length, run(~i, length, false));
    report.steps = length;
    for (uint64_t i = 0; i < sampling.executions && !budget.over_now(); ++i) run(i, length, true);
    report.states = all.size();
    if (budget.over_now()) report.incomplete(budget.why());
    report.incomplete("random executions only", false);
    tally.finish(budget.seconds());
    return report;
}

}  // namespace sassemu::explore
