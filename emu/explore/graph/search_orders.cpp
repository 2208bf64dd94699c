// SPDX-License-Identifier: Apache-2.0
// The order of pairs that the model leaves open, and what complete executions show. See search.hpp.
#include "emu/explore/graph/final_memory.hpp"
#include "emu/explore/graph/prose.hpp"
#include "emu/explore/graph/search.hpp"

namespace sassemu::explore {

bool GraphSearch::settle_order(State& s) {
    JudgedGraph graph(judge_, s);
    return settle_order(s, graph);
}

bool GraphSearch::settle_order(State& s, JudgedGraph& graph) {
    if (stopped()) return false;
    if (!budget_.room()) return incomplete(too_many_choices), false;
    const bool related = relations(s, graph);
    auto answer = ask(graph, s, related ? SASSEMU_COMPLETE : SASSEMU_COMPLETE_SOMEHOW, related);
    if (!answer || !answer->consistent) return false;
    if (!s.mbarriers.empty() && !mbarriers_possible(s, answer->base, answer->open.empty()))
        return false;
    if (answer->open.empty()) return record(s, *answer, graph), true;
    for (const SassemuEdge& c : s.chosen)
        for (const SassemuEdge& pair : answer->open)
            if (std::minmax(c.from, c.to) == std::minmax(pair.from, pair.to)) {
                failure_ = make_error(ErrorCode::internal, "the model",
                                      "reports a pair as open that was ordered",
                                      "it has to heed `chosen` (consistency.h)");
                return false;
            }
    const auto shown = std::ranges::find_if(answer->open, [&](const SassemuEdge& pair) {
        return tells_apart(s, graph, *answer, pair);
    });
    const bool both = shown != answer->open.end();
    const SassemuEdge pair = both ? *shown : answer->open[0];
    bool possible = false;
    if (!both && answer->open.size() > 1) {
        const size_t before = s.chosen.size();
        s.chosen.insert(s.chosen.end(), answer->open.begin(), answer->open.end());
        possible = settle_order(s, graph);
        s.chosen.resize(before);
        if (possible || stopped()) return possible;
    }
    each(2, [&](size_t i) {
        if (possible && !both) return;
        s.chosen.push_back(i ? SassemuEdge{pair.to, pair.from} : pair);
        possible |= settle_order(s, graph);
        s.chosen.pop_back();
    });
    return possible;
}

bool GraphSearch::relations(const State& s, JudgedGraph& graph) const {
    return memory_shown_ || test_.liveness() || !s.mbarriers.empty() ||
           !s.granule_changes.empty() || mixed_sizes(graph);
}

bool GraphSearch::tells_apart(const State& s, JudgedGraph& graph, const Answer& a,
                              const SassemuEdge& pair) const {
    if (test_.liveness() || !s.mbarriers.empty() || mixed_sizes(graph)) return true;
    if (!memory_shown_) return false;
    const SassemuEvent& e = s.events[pair.from].e;
    const auto shown = [&](uint32_t location) {
        return std::ranges::any_of(names_, [&](const Condition* c) {
            return c->kind == Condition::Kind::memory && test_.names[c->name].location == location;
        });
    };
    if (e.kind & SASSEMU_EVENT_WRITE) return shown(e.location);
    // Fences may order writes of which each could be the last.
    const size_t n = s.events.size();
    for (size_t x = 0; x < n; ++x)
        for (size_t y = x + 1; y < n; ++y)
            if (s.events[x].e.kind & s.events[y].e.kind & SASSEMU_EVENT_WRITE &&
                s.events[x].e.location == s.events[y].e.location && shown(s.events[x].e.location) &&
                !a.coherence[x * n + y] && !a.coherence[y * n + x])
                return true;
    return false;
}

void GraphSearch::record(const State& s, const Answer& a, JudgedGraph& graph) {
    if (test_.liveness()) return record_liveness(s, a);
    report_.executions += sampling_.executions ? 1 : symmetry_.copies();
    if (report_.undefined.empty() && mixed_sizes(graph) && mixed_size_race(s, a))
        undefined("mixed-size race");
    if (report_.undefined.empty() && !s.granule_changes.empty()) look_at_columns(s, a);
    auto shown = final_values(program_, s, a, asked_, [&](const std::vector<uint64_t>& values) {
        if (budget_.over()) return incomplete(budget_.why()), false;
        if (sampling_.executions) {  // each is one that was drawn
            add_outcome(
                s, graph,
                {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(names_.size())}, 1,
                {});
            return true;
        }
        symmetry_.each_copy(values, [&](std::vector<uint64_t>&& copy, uint64_t count,
                                        const std::vector<uint32_t>& order) {
            add_outcome(s, graph, std::move(copy), count, order);
        });
        return true;
    });
    if (!shown) failure_ = std::move(shown).error();
}

void GraphSearch::add_outcome(const State& s, JudgedGraph& graph, std::vector<uint64_t>&& values,
                              uint64_t count, const std::vector<uint32_t>& order) {
    auto [it, fresh] = found_.try_emplace(values);
    if (fresh) it->second.condition = holds(*test_.condition, values);
    it->second.count += count;
    const bool before = parts_.report.witness && parts_.witness_at < place_;
    if (!it->second.condition || report_.witness || before) return;
    auto answer = ask(graph, s, true, true);
    --asked_questions_;  // whether it is asked depends on what else this thread has looked at
    if (answer) report_.witness = Witness{symmetry_.renamed(s, order), std::move(*answer), values};
}

void GraphSearch::record_liveness(const State& s, const Answer& a) {
    ++report_.executions;
    for (uint32_t t = 0; t < s.threads.size(); ++t) {
        if (s.threads[t].status != ThreadStatus::spinning) continue;
        for (const Source& source : s.sources) {
            const SassemuEvent& r = s.events[source.read].e;
            if (r.thread == static_cast<int32_t>(t) && source.read >= s.threads[t].needs &&
                !is_last(s, a, static_cast<uint32_t>(source.write), source.first, source.bytes))
                return;
        }
    }
    report_.verdict = Verdict::allowed;
    if (!report_.witness) report_.witness = Witness{s, a, {}};
}

void GraphSearch::finish() {
    report_.seconds = budget_.seconds();
    for (auto& [values, outcome] : found_) {
        outcome.values = values;
        if (outcome.condition) report_.verdict = Verdict::allowed;
        report_.outcomes.push_back(outcome);
    }
    if (!test_.corpus()) report_.prose = prose_clauses(test_);
    if (!report_.undefined.empty()) report_.verdict = Verdict::allowed;
    if (program_.too_deep && report_.verdict == Verdict::forbidden)
        incomplete("a value of more than 400 operations");
    report_.settle();
    if (!report_.error.empty()) report_.verdict = Verdict::error;
}

}  // namespace sassemu::explore
