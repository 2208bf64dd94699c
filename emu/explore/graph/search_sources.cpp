// SPDX-License-Identifier: Apache-2.0
// Which write each read takes. See search.hpp.
#include "emu/explore/graph/search.hpp"

namespace sassemu::explore {

namespace {

// Choices of which all pairs are remembered.
constexpr size_t most_paired = 4096;

}  // namespace

void GraphSearch::choose_source(State s, std::shared_ptr<JudgedGraph> graph) {
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
        const bool worse =
            chosen < s.sources.size() && (wanted[s.sources[chosen].read] || !wanted[source.read]);
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
    each_branch(writes.size() + 1, [&](size_t i) {
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

void GraphSearch::choose_sources(State s, JudgedGraph& graph) {
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
            if (may_write(s.events[w], source, s.events[source.read])) choices.push_back({i, w});
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
        each_branch(open[k].size(), [&](size_t i) {
            const Choice& c = open[k][i];
            if (refused_before(c)) return;
            take(c);
            const bool circle = needs_itself(s, s.sources[c.source].read, c.write);
            // The last is asked about with all orders (settle_order).
            const bool refused = !circle && k + 1 < open.size() && !possible();
            if (refused) learn(c);
            if (!circle && !refused && still_assumed(s)) {
                if (puts_off_) put_off(s);
                taken.push_back(c);
                if (!puts_off_) self(self, k + 1);
                taken.pop_back();
            }
            leave(c);
        });
    };
    go(go, 0);
}

bool GraphSearch::still_assumed(const State& s) const {
    if (s.assumptions.empty()) return true;
    s.forget();
    return s.assumptions_hold(program_);
}

bool GraphSearch::needs_itself(const State& s, uint32_t read, uint32_t write) {
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

}  // namespace sassemu::explore
