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

#include "emu/explore/graph/search.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

Result<Report> GraphSearch::run() {
    for (const Condition* c : names_) report_.names.push_back(c->text);
    if (sampling_.executions == 0) {
        begin();
    } else {
        // Every execution is a function of the seed and its number.
        for (uint64_t i = 0; i < sampling_.executions && !stopped(); ++i) {
            random_.seed(sampling_.seed * 0x9e3779b97f4a7c15u + i);
            begin();
        }
        report_.incomplete("random executions only", false);
    }
    if (!failure_.what.empty()) return failure_;
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
        each(fork.outcomes, [&](size_t outcome) {
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
    auto answer = graph.ask(s, complete, relations);
    if (answer && !answer->consistent) ++report_.refusals[{answer->axiom, answer->clause}];
    if (answer) return std::move(answer).value();
    failure_ = std::move(answer).error();
    return std::nullopt;
}

Result<Report> explore(Test& test, const Judge& judge, const Limits& limits,
                       const Sampling& sampling) {
    const SearchBudget budget(limits);
    for (;;) {
        auto report = GraphSearch(test, judge, limits, budget, sampling).run();
        if (!test.sass || !test.sass->grew()) return report;
        test.sass->grow(test);
    }
}

}  // namespace sassemu::explore
