// SPDX-License-Identifier: Apache-2.0
// The search for all executions under a model that judges graphs, for the files that make it up:
// explorer.cpp runs it, search_sources.cpp chooses what reads take, search_meetings.cpp who met at
// barriers and mbarriers, search_orders.cpp orders what is open and records outcomes.
//
// A large search is done in parts, by several threads: what remains of a part once it has asked the
// model enough is put off, choice by choice, and each of these is a part of its own. Where a part
// ends depends on the test alone, and of what was found first the part that comes first in the
// order of choices decides: so whatever the number of threads, all that is reported is the same.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/graph/mbarrier_order.hpp"
#include "emu/explore/graph/symmetry.hpp"
#include "emu/explore/litmus/crew.hpp"

namespace sassemu::explore {

// An execution under construction whose choices are yet to be made, and its place among the others:
// the number of the put-off that led to it, of the part that did this, and so on from the start.
struct Branch {
    using Place = std::vector<uint32_t>;  // in lexicographical order, as without parts
    State state;
    Place place;
};

// What parts of a search have found.
struct PartsFound {
    Report report;
    Error failure;
    Branch::Place undefined_at, bound_at, witness_at, ended_at;  // of what the report has of it

    bool ended() const { return !failure.what.empty() || !report.error.empty(); }
    void add(PartsFound&& other);
};

class GraphSearch {
  public:
    GraphSearch(const Test& test, const Judge& judge, const Limits& limits,
                const SearchBudget& budget, const Sampling& sampling)
        : test_(test),
          judge_(judge),
          limits_(limits),
          sampling_(sampling),
          budget_(budget),
          program_(test),
          stepper_(program_, budget_),
          symmetry_(test) {
        if (test.condition) names_ = leaves(*test.condition);
        memory_shown_ = std::ranges::any_of(
            names_, [](const Condition* c) { return c->kind == Condition::Kind::memory; });
        asked_ = symmetry_.asked(names_);
    }
    // All executions, or so many random ones.
    static Result<Report> run(const Test& test, const Judge& judge, const Limits& limits,
                              const SearchBudget& budget, const Sampling& sampling, Crew& crew);

  private:
    struct Worker;
    void draw();  // random executions
    // What of the branch is not put off; that is answered, the first first.
    std::vector<Branch> look_at(Branch branch);
    void join(GraphSearch& other);  // what it has found
    Result<Report> conclude();
    void begin() { visit(State(program_), nullptr); }
    // Once that many questions have been asked, the rest of a series of choices is worth parts.
    static constexpr uint64_t worth_a_part = 1024;
    bool in_parts() const {
        return !test_.sass && !sampling_.executions && limits_.executions == ~uint64_t{0};
    }
    void put_off(const State& s);
    bool stopped();
    void incomplete(const char* why) { report_.incomplete(why); }

    // Exploration takes all alternatives; random mode the first, in random order, that leads to a
    // consistent execution.
    template <class F>
    void each(size_t count, F&& f) {
        std::vector<size_t> order(count);
        for (size_t i = 0; i < count; ++i) order[i] = i;
        if (sampling_.executions) std::shuffle(order.begin(), order.end(), random_);
        const uint64_t before = report_.executions;
        for (const size_t i : order) {
            if (stopped()) return;
            f(i);
            if (sampling_.executions && report_.executions > before) return;
        }
    }

    // The same of choices that lead to branches: f() has to heed `puts_off_`, as visit() does.
    template <class F>
    void each_branch(size_t count, F&& f) {
        const uint64_t before = asked_questions_;
        each(count, [&](size_t i) {
            puts_off_ = puts_off_ || (asked_questions_ - before >= worth_a_part && in_parts());
            f(i);
        });
    }

    // `graph`: what the state came from, if by choices.
    void visit(State s, std::shared_ptr<JudgedGraph> graph);
    static bool may_write(const GraphEvent& w, const Source& s, const GraphEvent& r) {
        return w.e.kind & SASSEMU_EVENT_WRITE && w.e.location == r.e.location &&
               w.e.first < s.first + s.bytes && s.first < w.e.first + w.e.bytes;
    }
    void choose_source(State s, std::shared_ptr<JudgedGraph> graph);

    // All events are there: only the reads that are left take their sources, in place. What the
    // model refuses of one read alone, or of two, it refuses of all (models are monotone): it is
    // asked about that once.
    void choose_sources(State s, JudgedGraph& graph);
    bool still_assumed(const State& s) const;

    // Whether the value of the write depends on the read that takes it.
    static bool needs_itself(const State& s, uint32_t read, uint32_t write);
    std::optional<Answer> ask(const State& s, bool complete, bool relations = false);
    std::optional<Answer> ask(JudgedGraph& graph, const State& s, int32_t complete,
                              bool relations = false);

    // All reads have their sources. What is left to choose: who met at the corpora's counted
    // barriers, the order on each mbarrier, and the order of open pairs.
    void finish_execution(State& s, JudgedGraph& graph);

    // When more arrive than are counted, each wait was let through by any `needed` arrivals, its
    // own among them.
    std::vector<State> meet(std::vector<State> states, const BarrierInstance& b);

    // The ways in which the waits may have been let through, by arrivals of which phases. Base
    // causality is asked of them when all reads have their sources (mbarriers_possible).
    std::vector<Pairing> mbarrier_pairings(const State& s);
    static State paired(const State& s, const Pairing& pairing);

    // When no thread can do anything more, the waits are explained before the reads that are left
    // get their sources: then what the waits order leaves those few. False: it has to wait.
    bool ordered_mbarriers(const State& s);
    void order_mbarriers(State s);

    // Whether some order of the operations on each object has the pairings of the execution and
    // respects the base causality that they make. With `noting`, what has no meaning is noted.
    bool mbarriers_possible(const State& s, const std::vector<uint8_t>& base, bool noting);

    // Whether what came before depends on waits that nobody has explained yet: it may turn out
    // impossible.
    bool rests_on_waits(const State& s);
    void undefined(const char* what) {
        if (report_.undefined.empty()) report_.undefined = what;
    }
    bool settle_order(State& s);

    // Orders what the model says has to be ordered; whether that can be done. Both ways of a pair
    // are gone only where the condition could tell them apart; of the rest some order that is
    // consistent stands for all.
    bool settle_order(State& s, JudgedGraph& graph);

    // What a question about a complete execution has to show besides its answer.
    bool relations(const State& s, JudgedGraph& graph) const;

    // Whether outcomes may differ by the order of the pair.
    bool tells_apart(const State& s, JudgedGraph& graph, const Answer& a,
                     const SassemuEdge& pair) const;

    // Then whether they race is asked; the corpora's models do not ask.
    bool mixed_sizes(JudgedGraph& graph) const { return !test_.corpus() && graph.mixed_sizes(); }
    void record(const State& s, const Answer& a, JudgedGraph& graph);

    // Columns of tensor memory that are used without being allocated, or allocated at the end:
    // search_columns.cpp.
    void look_at_columns(const State& s, const Answer& a);
    void add_outcome(const State& s, JudgedGraph& graph, std::vector<uint64_t>&& values,
                     uint64_t count, const std::vector<uint32_t>& order);

    // May not terminate: what spins goes on for ever because the last round's reads took what is
    // last in coherence (memory fairness makes any other value go away), or a barrier never
    // completes.
    void record_liveness(const State& s, const Answer& a);
    void finish();

    const Test& test_;
    const Judge& judge_;
    const Limits limits_;
    const Sampling sampling_;
    const SearchBudget& budget_;
    const Program program_;
    const Stepper stepper_;
    std::vector<const Condition*> names_;
    Symmetry symmetry_;
    std::vector<const Condition*> asked_;  // names_, and what symmetry needs beside them
    bool memory_shown_ = false;            // the condition names memory
    std::map<std::vector<uint64_t>, Outcome> found_;
    Report report_;
    Error failure_;
    std::mt19937_64 random_;
    PartsFound parts_;  // all but the one that is looked at
    Branch::Place place_;
    std::vector<Branch> put_off_;
    bool puts_off_ = false;
    uint64_t asked_questions_ = 0;
    static constexpr const char* too_many_choices = "an execution of too many choices";
};

}  // namespace sassemu::explore
