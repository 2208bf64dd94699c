// SPDX-License-Identifier: Apache-2.0
// The search for all executions. See explorer.hpp.
//
// Threads run ahead as far as they can (Stepper). Then one piece of one read gets its source: every
// write that exists, one after the other; and, as long as a thread could still bring forth others,
// the case that it takes one of those (all writes so far are then `seen`). Every execution is
// reached by one series of these choices, so nothing is visited twice; a read may take a write that
// stands after it in its own thread or depends on nothing, so load buffering is covered. The model
// is asked after every choice, and what it refuses is not followed further (consistency.h: models
// are monotone). Coherence stays as small as the model lets it be: only pairs that it reports as
// open are ordered, one way and the other.
#include "emu/explore/graph/explorer.hpp"

#include <deque>
#include <iterator>

#include "emu/explore/graph/search.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

// ---- parts

namespace {

// Of two the one that comes first.
template <class T>
void keep_first(T& mine, Branch::Place& at, bool here, T& other, Branch::Place& other_at,
                bool there) {
    if (!there || (here && at <= other_at)) return;
    mine = std::move(other);
    at = std::move(other_at);
}

constexpr size_t most_of_round = 64;

}  // namespace

void PartsFound::add(PartsFound&& other) {
    Report& theirs = other.report;
    report.executions += theirs.executions;
    for (const auto& [why, count] : theirs.refusals) report.refusals[why] += count;
    if (theirs.verdict == Verdict::allowed) report.verdict = Verdict::allowed;
    report.cut_short |= theirs.cut_short;
    keep_first(report.bound, bound_at, !report.complete, theirs.bound, other.bound_at,
               !theirs.complete);
    report.complete &= theirs.complete;
    keep_first(report.undefined, undefined_at, !report.undefined.empty(), theirs.undefined,
               other.undefined_at, !theirs.undefined.empty());
    keep_first(report.witness, witness_at, report.witness.has_value(), theirs.witness,
               other.witness_at, theirs.witness.has_value());
    if (!other.ended() || (ended() && ended_at <= other.ended_at)) return;
    report.error = std::move(theirs.error);
    failure = std::move(other.failure);
    ended_at = std::move(other.ended_at);
}

void GraphSearch::put_off(const State& s) {
    put_off_.push_back({s, place_});
    Branch& b = put_off_.back();
    b.place.push_back(static_cast<uint32_t>(put_off_.size()));
    b.state.forget();  // what its reads take may have been changed in place
}

std::vector<Branch> GraphSearch::look_at(Branch branch) {
    place_ = std::move(branch.place);
    puts_off_ = false;
    visit(std::move(branch.state), nullptr);
    parts_.add(
        {std::exchange(report_, {}), std::exchange(failure_, {}), place_, place_, place_, place_});
    return std::exchange(put_off_, {});
}

void GraphSearch::join(GraphSearch& other) {
    parts_.add(std::move(other.parts_));
    for (const auto& [values, outcome] : other.found_) {
        Outcome& here = found_.try_emplace(values).first->second;
        here.condition = outcome.condition;
        here.count += outcome.count;
    }
    program_.too_deep |= other.program_.too_deep;
}

struct GraphSearch::Worker {
    Worker(const Test& test, const Judge& judge, const Limits& limits, const SearchBudget& of_all,
           const Sampling& sampling)
        : budget(of_all), search(test, judge, limits, budget, sampling) {}
    const SearchBudget budget;
    GraphSearch search;
};

Result<Report> GraphSearch::run(const Test& test, const Judge& judge, const Limits& limits,
                                const SearchBudget& budget, const Sampling& sampling, Crew& crew) {
    std::deque<Worker> workers;
    const auto hire = [&] { workers.emplace_back(test, judge, limits, budget, sampling); };
    hire();
    GraphSearch& first = workers[0].search;
    if (sampling.executions) {
        first.draw();
        return first.conclude();
    }
    std::vector<Branch> left, round;
    left.push_back({State(first.program_), {}});
    const auto over = [](const Worker& w) {
        return w.budget.why() || w.search.parts_.ended() ||
               (w.search.test_.sass && w.search.test_.sass->grew());
    };
    while (!left.empty() && std::ranges::none_of(workers, over)) {
        const auto from =
            left.end() - static_cast<std::ptrdiff_t>(std::min(left.size(), most_of_round));
        round.assign(std::make_move_iterator(from), std::make_move_iterator(left.end()));
        left.erase(from, left.end());
        std::vector<std::vector<Branch>> more(round.size());
        while (workers.size() < std::min<size_t>(crew.most(), round.size())) hire();
        crew.each(
            round.size(), 1,
            [&](unsigned worker, size_t i) {
                more[i] = workers[worker].search.look_at(std::move(round[i]));
            },
            [](unsigned, size_t) { return true; });
        // What comes first is at the end.
        for (auto& branches : more)
            std::move(branches.rbegin(), branches.rend(), std::back_inserter(left));
    }
    for (Worker& w : workers)
        if (&w != &workers[0]) first.join(w.search);
    return first.conclude();
}

void GraphSearch::draw() {
    // Every execution is a function of the seed and its number.
    for (uint64_t i = 0; i < sampling_.executions && !stopped(); ++i) {
        random_.seed(sampling_.seed * 0x9e3779b97f4a7c15u + i);
        begin();
    }
    parts_.add({std::exchange(report_, {}), std::exchange(failure_, {}), {}, {}, {}, {}});
    parts_.report.incomplete("random executions only", false);
}

Result<Report> GraphSearch::conclude() {
    report_ = std::move(parts_.report);
    for (const Condition* c : names_) report_.names.push_back(c->text);
    if (!parts_.failure.what.empty()) return parts_.failure;
    finish();
    return std::move(report_);
}

bool GraphSearch::stopped() {
    if (!failure_.what.empty() || !report_.error.empty()) return true;
    if (test_.sass && test_.sass->grew()) return true;  // explore() begins again
    if (report_.executions >= limits_.executions)
        return incomplete("the limit of executions"), true;
    if (!budget_.over()) return false;
    incomplete(budget_.why());
    return true;
}

void GraphSearch::visit(State s, std::shared_ptr<JudgedGraph> graph) {
    if (stopped()) return;
    if (puts_off_) return put_off(s);
    if (!budget_.room()) return incomplete(too_many_choices);
    const Stepper::Fork fork = stepper_.run(s);
    if (stopped()) return;
    if (s.unguessed) incomplete("an address that depends on a read has too many places");
    if (s.unexplored) return report_.incomplete(s.error);
    if (!s.error.empty()) {
        report_.error = s.error;
        return;
    }
    if (!s.undefined.empty()) {
        if (!rests_on_waits(s)) return undefined(s.undefined.c_str());
        return incomplete("bytes that are no tensor map were read behind an mbarrier");
    }
    if (!test_.liveness())
        for (const ThreadState& t : s.threads)
            if (t.status == ThreadStatus::spinning) return;  // the same as if it had not gone round
    if (s.bounded) return report_.incomplete("a loop reached its bound", false);
    if (fork.thread >= 0) {
        each_branch(fork.outcomes, [&](size_t outcome) {
            State next = s;
            stepper_.choose(next, static_cast<uint32_t>(fork.thread),
                            static_cast<uint32_t>(outcome));
            visit(std::move(next), nullptr);
        });
        return;
    }
    if (!s.assumptions_hold(program_)) return;
    if (!std::exchange(s.symmetric, true) && sampling_.executions == 0) symmetry_.break_in(s);
    choose_source(std::move(s), std::move(graph));
}

std::optional<Answer> GraphSearch::ask(const State& s, bool complete, bool relations) {
    JudgedGraph graph(judge_, s);
    return ask(graph, s, complete, relations);
}

std::optional<Answer> GraphSearch::ask(JudgedGraph& graph, const State& s, int32_t complete,
                                       bool relations) {
    ++asked_questions_;
    auto answer = graph.ask(s, complete, relations);
    if (answer && !answer->consistent) ++report_.refusals[{answer->axiom, answer->clause}];
    if (answer) return std::move(answer).value();
    failure_ = std::move(answer).error();
    return std::nullopt;
}

Result<Report> explore(Test& test, const Judge& judge, const Limits& limits,
                       const Sampling& sampling) {
    const SearchBudget budget(limits);
    Crew crew(limits.workers);
    Result<Report> report = Report{};
    for (;;) {
        crew.search(
            [&] { report = GraphSearch::run(test, judge, limits, budget, sampling, crew); });
        if (!test.sass || !test.sass->grew()) return report;
        test.sass->grow(test);
    }
}

}  // namespace sassemu::explore
