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

#include <algorithm>
#include <bit>
#include <random>

#include "emu/explore/graph/final_memory.hpp"
#include "emu/explore/graph/mbarrier_order.hpp"
#include "emu/explore/graph/prose.hpp"
#include "emu/explore/graph/symmetry.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {
namespace {

// Ways in which the threads at one barrier may have met, and orders of mbarriers together.
constexpr size_t most_pairings = 100'000;
// Choices of which all pairs are remembered.
constexpr size_t most_paired = 4096;

class Search {
  public:
    Search(const Test& test, const Judge& judge, const Limits& limits, const SearchBudget& budget,
           const Sampling& sampling)
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

    Result<Report> run() {
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

  private:
    void begin() { visit(State(program_), nullptr); }

    bool stopped() {
        if (!failure_.what.empty() || !report_.error.empty()) return true;
        if (test_.sass && test_.sass->grew()) return true;  // explore() begins again
        if (report_.executions >= limits_.executions)
            return incomplete("the limit of executions"), true;
        if (!budget_.over()) return false;
        incomplete(budget_.why());
        return true;
    }

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

    // `graph`: what the state came from, if by choices.
    void visit(State s, std::shared_ptr<JudgedGraph> graph) {
        if (stopped()) return;
        if (!budget_.room()) return incomplete(too_many_choices);
        const Stepper::Fork fork = stepper_.run(s);
        if (stopped()) return;
        if (s.unguessed) incomplete("an address that depends on a read has too many places");
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
                if (t.status == ThreadStatus::spinning)
                    return;  // the same as if it had not gone round
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

    static bool may_write(const GraphEvent& w, const Source& s, const GraphEvent& r) {
        return w.e.kind & SASSEMU_EVENT_WRITE && w.e.location == r.e.location &&
               w.e.first < s.first + s.bytes && s.first < w.e.first + w.e.bytes;
    }

    void choose_source(State s, std::shared_ptr<JudgedGraph> graph) {
        if (!graph || !graph->fits(s)) graph = std::make_shared<JudgedGraph>(judge_, s);
        bool open = false, can_grow = !s.stalled.empty(), held = true;
        Events wanted;
        for (const ThreadState& t : s.threads)
            if (t.status == ThreadStatus::needs_value) {
                can_grow = true;
                held = held && stepper_.deferred(s, t.needs);
                wanted |= s.values[t.needs].reads;
            }
        if (!can_grow && ordered_mbarriers(s)) return;
        if (!can_grow) return choose_sources(std::move(s), *graph);
        // A read that a thread waits for comes first: then threads move on before others are
        // settled.
        size_t chosen = s.sources.size();
        std::vector<uint32_t> writes;
        for (size_t i = 0; i < s.sources.size(); ++i) {
            const Source& source = s.sources[i];
            if (source.write >= 0) continue;
            open = true;
            const bool worse = chosen < s.sources.size() &&
                               (wanted[s.sources[chosen].read] || !wanted[source.read]);
            if (worse && !source.seen) continue;
            std::vector<uint32_t> candidates;
            for (uint32_t w = source.seen; w < s.events.size(); ++w)
                if (may_write(s.events[w], source, s.events[source.read])) candidates.push_back(w);
            if (candidates.empty()) continue;
            if (source.seen) held = false;
            if (worse) continue;
            chosen = i;
            writes = std::move(candidates);
        }
        if (chosen == s.sources.size() && !open) return finish_execution(s, *graph);
        // What was put off did not come, or cannot: every thread that could bring it waits for such
        // a read itself.
        if (chosen == s.sources.size() || held) return;
        each(writes.size() + 1, [&](size_t i) {
            State next = s;
            if (i == writes.size()) {
                next.sources[chosen].seen = static_cast<uint32_t>(s.events.size());
                return visit(std::move(next), graph);
            }
            next.sources[chosen].write = static_cast<int32_t>(writes[i]);
            if (needs_itself(next, s.sources[chosen].read, writes[i])) return;  // no value at all
            const auto answer = ask(*graph, next, false);
            if (answer && answer->consistent) visit(std::move(next), graph);
        });
    }

    // All events are there: only the reads that are left take their sources, in place. What the
    // model refuses of one read alone, or of two, it refuses of all (models are monotone): it is
    // asked about that once.
    void choose_sources(State s, JudgedGraph& graph) {
        struct Choice {
            size_t source;
            uint32_t write;
            size_t number = 0;
        };
        const auto take = [&](const Choice& c) {
            s.sources[c.source].write = static_cast<int32_t>(c.write);
        };
        const auto leave = [&](const Choice& c) { s.sources[c.source].write = -1; };
        const auto possible = [&] {
            const auto answer = ask(graph, s, false);
            return answer && answer->consistent;
        };
        std::vector<std::vector<Choice>> open;
        for (size_t i = 0; i < s.sources.size(); ++i) {
            const Source& source = s.sources[i];
            if (source.write >= 0) continue;
            std::vector<Choice>& choices = open.emplace_back();
            for (uint32_t w = source.seen; w < s.events.size(); ++w)
                if (may_write(s.events[w], source, s.events[source.read]))
                    choices.push_back({i, w});
        }
        size_t count = 0;
        for (std::vector<Choice>& choices : open) {
            std::erase_if(choices, [&](const Choice& c) {
                if (stopped()) return true;
                take(c);
                const bool out = needs_itself(s, s.sources[c.source].read, c.write) ||
                                 (open.size() > 1 && !possible());
                leave(c);
                return out;
            });
            if (choices.empty()) return;
            for (Choice& c : choices) c.number = count++;
        }
        std::ranges::stable_sort(open, {}, &std::vector<Choice>::size);
        enum : uint8_t { unasked, together, apart };
        std::vector<uint8_t> pairs(count <= most_paired ? count * count : 0);
        std::vector<Choice> taken;
        const auto refused_before = [&](const Choice& c) {
            return !pairs.empty() && std::ranges::any_of(taken, [&](const Choice& e) {
                return pairs[e.number * count + c.number] == apart;
            });
        };
        // Which of those taken before alone is why it was refused.
        const auto learn = [&](const Choice& c) {
            if (pairs.empty() || taken.size() < 2) return;
            for (const Choice& e : taken) leave(e);
            for (const Choice& e : taken) {
                uint8_t& pair = pairs[e.number * count + c.number];
                const auto where = [&](const Choice& one) {
                    return s.events[s.sources[one.source].read].e.location;
                };
                if (pair != unasked || where(e) != where(c)) continue;
                take(e);
                pair = possible() ? together : apart;
                pairs[c.number * count + e.number] = pair;
                leave(e);
            }
            for (const Choice& e : taken) take(e);
        };
        const auto go = [&](auto&& self, size_t k) -> void {
            if (!budget_.room()) return incomplete(too_many_choices);
            if (k == open.size()) {
                s.forget();
                return finish_execution(s, graph);
            }
            each(open[k].size(), [&](size_t i) {
                const Choice& c = open[k][i];
                if (refused_before(c)) return;
                take(c);
                const bool circle = needs_itself(s, s.sources[c.source].read, c.write);
                // The last is asked about with all orders (settle_order).
                const bool refused = !circle && k + 1 < open.size() && !possible();
                if (refused) learn(c);
                if (!circle && !refused && still_assumed(s)) {
                    taken.push_back(c);
                    self(self, k + 1);
                    taken.pop_back();
                }
                leave(c);
            });
        };
        go(go, 0);
    }

    bool still_assumed(const State& s) const {
        if (s.assumptions.empty()) return true;
        s.forget();
        return s.assumptions_hold(program_);
    }

    // Whether the value of the write depends on the read that takes it.
    static bool needs_itself(const State& s, uint32_t read, uint32_t write) {
        if (s.events[write].data.none()) return false;
        Events reached;
        std::vector<uint32_t> open{write};
        while (!open.empty()) {
            const uint32_t w = open.back();
            open.pop_back();
            if (reached[w]) continue;
            reached.set(w);
            if (s.events[w].data[read]) return true;
            for (const Source& source : s.sources)
                if (source.write >= 0 && s.events[w].data[source.read])
                    open.push_back(static_cast<uint32_t>(source.write));
        }
        return false;
    }

    std::optional<Answer> ask(const State& s, bool complete, bool relations = false) {
        JudgedGraph graph(judge_, s);
        return ask(graph, s, complete, relations);
    }
    std::optional<Answer> ask(JudgedGraph& graph, const State& s, int32_t complete,
                              bool relations = false) {
        auto answer = graph.ask(s, complete, relations);
        if (answer && !answer->consistent) ++report_.refusals[{answer->axiom, answer->clause}];
        if (answer) return std::move(answer).value();
        failure_ = std::move(answer).error();
        return std::nullopt;
    }

    // All reads have their sources. What is left to choose: who met at the corpora's counted
    // barriers, the order on each mbarrier, and the order of open pairs.
    void finish_execution(State& s, JudgedGraph& graph) {
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
        const bool meetings =
            test_.corpus() && std::ranges::any_of(s.barriers, [](const auto& one) {
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

    // When more arrive than are counted, each wait was let through by any `needed` arrivals, its
    // own among them.
    std::vector<State> meet(std::vector<State> states, const BarrierInstance& b) {
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

    // The ways in which the waits may have been let through, by arrivals of which phases. Base
    // causality is asked of them when all reads have their sources (mbarriers_possible).
    std::vector<Pairing> mbarrier_pairings(const State& s) {
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

    static State paired(const State& s, const Pairing& pairing) {
        State next = s;
        for (const auto& [arrival, wait] : pairing) next.pairing.push_back({arrival, wait});
        next.mbarriers_ordered = true;
        return next;
    }

    // When no thread can do anything more, the waits are explained before the reads that are left
    // get their sources: then what the waits order leaves those few. False: it has to wait.
    bool ordered_mbarriers(const State& s) {
        if (s.mbarriers.empty() || s.mbarriers_ordered || test_.liveness()) return false;
        for (const ThreadState& t : s.threads)
            if (t.status != ThreadStatus::ended && t.status != ThreadStatus::not_started)
                return false;
        for (const MbarrierEvent& op : s.mbarriers)
            if (!s.evaluate(op.amount, program_) || !s.evaluate(op.expected, program_))
                return false;
        const std::vector<Pairing> together = mbarrier_pairings(s);
        each(together.size(), [&](size_t i) {
            State next = paired(s, together[i]);
            const auto answer = ask(next, false);
            if (answer && answer->consistent) choose_source(std::move(next), nullptr);
        });
        return !together.empty();
    }

    void order_mbarriers(State s) {
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

    // Whether some order of the operations on each object has the pairings of the execution and
    // respects the base causality that they make. With `noting`, what has no meaning is noted.
    bool mbarriers_possible(const State& s, const std::vector<uint8_t>& base, bool noting) {
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
            if (noting && !initialised_first(s, program_, l, base))
                undefined("uninitialised mbarrier");
        }
        return possible;
    }

    // Whether what came before depends on waits that nobody has explained yet: it may turn out
    // impossible.
    bool rests_on_waits(const State& s) {
        if (s.undefined_at < 0 || s.mbarriers_ordered) return false;
        const auto answer = ask(s, false, true);
        if (!answer) return true;
        return std::any_of(s.mbarriers.begin(), s.mbarriers.end(), [&](const MbarrierEvent& op) {
            return op.kind == MbarrierEvent::Kind::wait && op.result &&
                   answer->base[op.event * s.events.size() + static_cast<size_t>(s.undefined_at)];
        });
    }

    void undefined(const char* what) {
        if (report_.undefined.empty()) report_.undefined = what;
    }

    bool settle_order(State& s) {
        JudgedGraph graph(judge_, s);
        return settle_order(s, graph);
    }

    // Orders what the model says has to be ordered; whether that can be done. Both ways of a pair
    // are gone only where the condition could tell them apart; of the rest some order that is
    // consistent stands for all.
    bool settle_order(State& s, JudgedGraph& graph) {
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

    // What a question about a complete execution has to show besides its answer.
    bool relations(const State& s, JudgedGraph& graph) const {
        return memory_shown_ || test_.liveness() || !s.mbarriers.empty() || mixed_sizes(graph);
    }

    // Whether outcomes may differ by the order of the pair.
    bool tells_apart(const State& s, JudgedGraph& graph, const Answer& a,
                     const SassemuEdge& pair) const {
        if (test_.liveness() || !s.mbarriers.empty() || mixed_sizes(graph)) return true;
        if (!memory_shown_) return false;
        const SassemuEvent& e = s.events[pair.from].e;
        const auto shown = [&](uint32_t location) {
            return std::ranges::any_of(names_, [&](const Condition* c) {
                return c->kind == Condition::Kind::memory &&
                       test_.names[c->name].location == location;
            });
        };
        if (e.kind & SASSEMU_EVENT_WRITE) return shown(e.location);
        // Fences may order writes of which each could be the last.
        const size_t n = s.events.size();
        for (size_t x = 0; x < n; ++x)
            for (size_t y = x + 1; y < n; ++y)
                if (s.events[x].e.kind & s.events[y].e.kind & SASSEMU_EVENT_WRITE &&
                    s.events[x].e.location == s.events[y].e.location &&
                    shown(s.events[x].e.location) && !a.coherence[x * n + y] &&
                    !a.coherence[y * n + x])
                    return true;
        return false;
    }

    // Then whether they race is asked; the corpora's models do not ask.
    bool mixed_sizes(JudgedGraph& graph) const { return !test_.corpus() && graph.mixed_sizes(); }

    void record(const State& s, const Answer& a, JudgedGraph& graph) {
        if (test_.liveness()) return record_liveness(s, a);
        report_.executions += sampling_.executions ? 1 : symmetry_.copies();
        if (report_.undefined.empty() && mixed_sizes(graph) && mixed_size_race(s, a))
            undefined("mixed-size race");
        auto shown = final_values(program_, s, a, asked_, [&](const std::vector<uint64_t>& values) {
            if (budget_.over()) return incomplete(budget_.why()), false;
            if (sampling_.executions) {  // each is one that was drawn
                add_outcome(
                    s, graph,
                    {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(names_.size())},
                    1, {});
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

    void add_outcome(const State& s, JudgedGraph& graph, std::vector<uint64_t>&& values,
                     uint64_t count, const std::vector<uint32_t>& order) {
        auto [it, fresh] = found_.try_emplace(values);
        if (fresh) it->second.condition = holds(*test_.condition, values);
        it->second.count += count;
        if (!it->second.condition || report_.witness) return;
        auto answer = ask(graph, s, true, true);
        if (answer)
            report_.witness = Witness{symmetry_.renamed(s, order), std::move(*answer), values};
    }

    // May not terminate: what spins goes on for ever because the last round's reads took what is
    // last in coherence (memory fairness makes any other value go away), or a barrier never
    // completes.
    void record_liveness(const State& s, const Answer& a) {
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

    void finish() {
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
    static constexpr const char* too_many_choices = "an execution of too many choices";
};

}  // namespace

Result<Report> explore(Test& test, const Judge& judge, const Limits& limits,
                       const Sampling& sampling) {
    const SearchBudget budget(limits);
    for (;;) {
        auto report = Search(test, judge, limits, budget, sampling).run();
        if (!test.sass || !test.sass->grew()) return report;
        test.sass->grow(test);
    }
}

}  // namespace sassemu::explore
