// SPDX-License-Identifier: Apache-2.0
// The search through a space of states (of threads on an operational model): all of them, or
// random runs. What belongs here: nothing that knows a thread or a model (machine_states.hpp).
#pragma once

#include <deque>
#include <iterator>
#include <memory>
#include <unordered_set>

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/graph/state.hpp"
#include "emu/explore/litmus/crew.hpp"
#include "emu/explore/machines/state_set.hpp"

namespace sassemu::explore {

// What finished states show, each outcome with how often it came.
class Tally {
  public:
    explicit Tally(const Test& test) : test_(test), leaves_(leaves(*test.condition)) {}
    template <class Space>
    void add(const Space& space, const typename Space::State& state) {
        ++executions_;
        std::vector<uint64_t> values;
        for (const Condition* c : leaves_) values.push_back(space.shown(state, *c));
        auto [it, fresh] = found_.try_emplace(values);
        if (fresh) it->second.condition = holds(*test_.condition, values);
        ++it->second.count;
    }
    // What somebody else has found beside.
    void add(const Tally& other) {
        executions_ += other.executions_;
        for (const auto& [values, outcome] : other.found_) {
            Outcome& here = found_.try_emplace(values).first->second;
            here.condition = outcome.condition;
            here.count += outcome.count;
        }
    }
    // All comes again.
    void forget_counts() {
        executions_ = 0;
        for (auto& [values, outcome] : found_) outcome.count = 0;
    }
    void finish(Report& report, double seconds) {
        for (const Condition* c : leaves_) report.names.push_back(c->text);
        report.executions = executions_;
        for (auto& [values, outcome] : found_) {
            outcome.values = values;
            if (outcome.condition) report.verdict = Verdict::allowed;
            report.outcomes.push_back(outcome);
        }
        report.settle();
        report.seconds = seconds;
    }

  private:
    const Test& test_;
    std::vector<const Condition*> leaves_;
    uint64_t executions_ = 0;
    std::map<std::vector<uint64_t>, Outcome> found_;
};

// A space: State start(); void next(const State&, emit(State), bool whole); std::string
// key(const State&); bool ended(const State&); void stuck(const State&): of one that neither moves
// nor has ended; uint64_t shown(const State&, const Condition& leaf). Not `whole`, next() may show
// some steps and put off the others, if partial() says so; what it puts off is not put off for ever
// where one of the states that it showed is new. begin_again(): whether what was put off at a run
// has to be looked at in another; stale(states): whether that is known before its end. Where it is
// not to search `partly`, every step is shown. problem(): why there is nothing to be searched.
// `conclude(space)` is called at the end.
//
// The search goes in rounds: the states that came last are looked at together, by as many threads
// as there are, each with a space of its own (`make`). What is new, what is known (Space::settle())
// and the order of what is left depend on the rounds alone, and these on the test: so whatever the
// number of threads, the same states are visited, and all that is reported is the same. Within a
// round a state counts as new for all that show it: it is yet to be looked at.
template <class Make, class Conclude>
void search_states(Report& report, const Make& make, const Test& test, const SearchBudget& budget,
                   bool partly, Crew& crew, const Conclude& conclude) {
    using Space = typename decltype(make(budget, nullptr))::element_type;
    using State = typename Space::State;
    struct Worker {
        SearchBudget budget;
        std::unique_ptr<Space> space;
        Tally tally;
    };
    // States of a round stay in the caches of the host.
    constexpr size_t most_of_round = 64, least_for_one = 4;
    std::deque<Worker> workers;
    std::vector<const Space*> spaces;
    const auto hire = [&] {
        workers.push_back({budget, nullptr, Tally(test)});
        Worker& w = workers.back();
        w.space = make(w.budget, spaces.empty() ? nullptr : spaces[0]);
        spaces.push_back(w.space.get());
    };
    hire();
    const Space& first = *spaces[0];
    StateSet<State> seen;
    std::vector<typename StateSet<State>::Left> left, round;
    const auto begin = [&] {
        left.clear();
        seen.clear();
        for (Worker& w : workers) w.tally.forget_counts();
        State start = first.start();
        std::string key = first.key(start);
        (void)seen.add(std::move(key), 0, std::move(start), 0);
        seen.end_round(left);
    };
    const auto look_at = [&](unsigned number, size_t i) {
        Worker& w = workers[number];
        const Space& space = *w.space;
        const State at = std::move(round[i].state);
        bool moved = false, fresh = false;
        uint32_t shown = 0;
        const auto take = [&](State s) {
            moved = true;
            if (w.budget.over()) return;
            std::string key = space.key(s);
            fresh |= seen.add(std::move(key), uint64_t{i} << 32 | shown++, std::move(s), number);
        };
        space.begin_part(i);
        space.next(at, take, !partly);
        if (space.partial() && !fresh) space.next(at, take, true);
        if (!moved && space.ended(at))
            w.tally.add(space, at);
        else if (!moved)
            space.stuck(at);
        space.end_part();
    };
    if (first.problem().empty()) begin();
    while (!left.empty()) {
        const size_t count = std::min(left.size(), most_of_round);
        round.clear();
        std::move(left.end() - static_cast<std::ptrdiff_t>(count), left.end(),
                  std::back_inserter(round));
        left.erase(left.end() - static_cast<std::ptrdiff_t>(count), left.end());
        while (workers.size() < std::min<size_t>(crew.most(), count / least_for_one)) hire();
        crew.each(count, least_for_one, look_at,
                  [&](unsigned worker, size_t i) { return round[i].maker == worker; });
        seen.end_round(left);
        Space::settle(spaces);
        for (const Worker& w : workers)
            if (w.budget.over()) report.incomplete(w.budget.why());
        if (!report.complete || !first.problem().empty()) break;
        if (!left.empty() && !first.stale(seen.size())) continue;
        bool again = false;  // all say the same
        for (const Space* space : spaces) again = space->begin_again();
        if (again) begin();
    }
    for (Worker& w : workers)
        if (&w != &workers[0]) workers[0].tally.add(w.tally);
    report.states = seen.size();
    workers[0].tally.finish(report, budget.seconds());
    conclude(first);
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
    Tally tally(test);
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
            if (!space.problem().empty()) return step;
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
    for (uint64_t i = 0; i < sampling.executions && !budget.over_now(); ++i) {
        if (!space.problem().empty()) break;
        run(i, length, true);
    }
    report.states = all.size();
    if (budget.over_now()) report.incomplete(budget.why());
    report.incomplete("random executions only", false);
    tally.finish(report, budget.seconds());
    return report;
}

}  // namespace sassemu::explore
