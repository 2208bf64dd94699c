// SPDX-License-Identifier: Apache-2.0
// See order.hpp.
#include "order.hpp"

#include <algorithm>

namespace check_sync {

void Order::split(Warp& w, uint32_t lanes) {
    for (size_t i = 0, n = w.groups.size(); i < n; ++i) {
        const uint32_t inside = w.groups[i].lanes & lanes;
        if (!inside || inside == w.groups[i].lanes) continue;
        Group other = w.groups[i];
        other.lanes &= ~inside;
        w.groups[i].lanes = inside;
        w.groups.push_back(std::move(other));
    }
}

namespace {

bool same(const Knowledge& a, const Knowledge& b) {
    for (uint32_t r = 0; r < rules; ++r)
        if (!a[r].same(b[r])) return false;
    return true;
}
}  // namespace

void Order::merge(Warp& w) {
    for (size_t i = 0; i < w.groups.size(); ++i)
        for (size_t k = i + 1; k < w.groups.size();) {
            Group &a = w.groups[i], &b = w.groups[k];
            bool equal = same(a.now, b.now) && same(a.released_shared, b.released_shared) &&
                         a.maps.same(b.maps) && a.tensor.same(b.tensor) &&
                         a.acquirable_any.same(b.acquirable_any) &&
                         a.acquirable_given.same(b.acquirable_given);
            for (uint32_t r = 0; r < reaches && equal; ++r)
                equal =
                    same(a.released[r], b.released[r]) && same(a.acquirable[r], b.acquirable[r]);
            if (!equal) {
                ++k;
                continue;
            }
            a.lanes |= b.lanes;
            w.groups.erase(w.groups.begin() + static_cast<std::ptrdiff_t>(k));
        }
}

void Order::join_all(Knowledge& to, const Knowledge& from) {
    View last_to, last_from, result;
    for (uint32_t r = 0; r < rules; ++r) {
        if (r == 0 || !last_to.same(to[r]) || !last_from.same(from[r])) {
            last_to = to[r];
            last_from = from[r];
            result = joiner_(last_to, last_from);
        }
        to[r] = result;
    }
}

void Order::add(Knowledge& to, const Entry& entry) {
    const View one(std::vector<Entry>{entry});
    View last_in, last_out;
    for (uint32_t r = 0; r < rules; ++r) {
        if (by_fence(r)) continue;
        if (last_in.empty() || !last_in.same(to[r])) {
            last_in = to[r];
            last_out = View::joined(to[r], one);
        }
        to[r] = last_out;
    }
}

Edge& Channel::from(const Place& place) {
    std::vector<uint32_t>& of_cluster = near[place.cluster];
    for (const uint32_t i : of_cluster)
        if (edges[i].from.cta == place.cta) return edges[i];
    of_cluster.push_back(static_cast<uint32_t>(edges.size()));
    edges.emplace_back();
    edges.back().from = place;
    return edges.back();
}

void remember(std::vector<uint32_t>& fences, uint32_t insn) {
    if (insn && std::find(fences.begin(), fences.end(), insn) == fences.end())
        fences.push_back(insn);
}

void Order::release(Warp& w, uint32_t lanes, const Release& how, uint32_t insn, Channel& to,
                    bool barrier) {
    Edge& edge = to.from(w.place);
    to.insn = insn;
    for (const Group& g : w.groups) {  // which stay as they are
        if (!(g.lanes & lanes)) continue;
        const Entry self{w.threads(), g.lanes & lanes, w.done()};
        // What it learnt at a barrier it may hand on here: then the barrier was needed.
        if (g.met && !barrier && (how.releases || g.fence[cta] || g.shared_fence))
            need(g.met, level_meeting);
        if (how.releases) {
            Knowledge all = g.now;
            all[sent] = {};
            add(all, self);
            to.executed = joiner_(to.executed, all[executed]);
            to.any_scope = joiner_(to.any_scope, all[any_scope]);
            to.release_given = joiner_(to.release_given, all[release_given]);
            for (uint32_t far = cta; far <= how.reach && far < reaches; ++far) {
                if (far == sys) all[sc_given] = all[sc_given_sys];
                join_all(edge.gives[far], all);
            }
            give_all(to, edge, how.reach);
            continue;
        }
        Channel::Told& told = to.told[w.id];
        // A warp that has learnt nothing since it was here gives one thing more: itself.
        const bool again =
            told.changes == g.changes && told.lanes == self.lanes && told.reach == how.reach;
        told = {g.changes, self.lanes, how.reach};
        const auto give = [&](View& view, Rule rule) {
            if (!again) view = joiner_(view, g.now[rule]);
            view.raise(self);
        };
        give(to.executed, executed);
        give(to.release_given, release_given);
        for (uint32_t far = cta; far <= how.reach && far < reaches && !again; ++far) {
            Knowledge& gives = edge.gives[far];
            join_all(gives, g.released[far]);
            gives[sc_given] = joiner_(gives[sc_given], g.now[far == sys ? sc_given_sys : sc_given]);
            for (const Rule r : {sc_given_sys, map_given}) gives[r] = joiner_(gives[r], g.now[r]);
            edge.fence[far] = g.fence[far];
            if (far <= cluster && !g.released_shared[for_shared].empty()) {
                for (const Rule r : {for_shared, by_letter, for_init, to_async, to_async_strict,
                                     acquire_given, let_go})
                    gives[r] = joiner_(gives[r], g.released_shared[r]);
                edge.fence[far] = g.shared_fence;
            } else {
                gives[for_init] = joiner_(gives[for_init], g.released_shared[for_init]);
            }
        }
        if (how.reach >= gpu && !again) {
            remember(to.fences, edge.fence[gpu]);
            give_all(to, edge, how.reach);
        }
        if (again) continue;
        to.any_scope = joiner_(to.any_scope, g.released[cta][any_scope]);
        to.any_scope = joiner_(to.any_scope, g.released_shared[any_scope]);
    }
}

void Order::lets_go(const Warp& w, uint32_t lanes, View& to) {
    for (const Group& g : w.groups) {
        if (!(g.lanes & lanes)) continue;
        to = joiner_(to, g.now[let_go]);
        to.raise({w.threads(), g.lanes & lanes, w.done()});
    }
}

void Order::has_let_go(Warp& w, uint32_t lanes, const View& from) {
    each(w, lanes, [&](Group& g) {
        g.now[let_go] = joiner_(g.now[let_go], from);
        changed(g);
    });
}

void Order::give_all(Channel& to, const Edge& edge, Reach reach) {
    if (reach >= gpu) join_all(to.in_gpu(edge.from.gpu), edge.gives[gpu]);
    if (reach == sys) join_all(to.beyond, edge.gives[sys]);
}

Issue Order::issue(const Warp& w, uint32_t lanes) {
    Issue all;
    for (const Group& g : w.groups) {
        if (!(g.lanes & lanes)) continue;
        const View self(std::vector<Entry>{{w.threads(), g.lanes & lanes, w.done()}});
        all.executed = joiner_(all.executed, joiner_(g.now[executed], self));
        all.release_given = joiner_(all.release_given, joiner_(g.now[release_given], self));
    }
    return all;
}

Knowledge Order::commit(const Warp& w, uint32_t lanes) {
    Knowledge all{};
    for (const Group& g : w.groups) {
        if (!(g.lanes & lanes)) continue;
        View last, seen;  // mostly several rules know the same
        for (uint32_t r = 0; r < rules; ++r) {
            if (by_fence(r)) continue;
            if (!last.same(g.now[r])) {
                last = g.now[r];
                std::vector<Entry> of_copies;
                for (const Entry& e : last.entries())
                    if (is_async(e.who)) of_copies.push_back(e);
                seen = View(std::move(of_copies));
            }
            all[r] = joiner_(all[r], seen);
        }
    }
    return all;
}

void Order::release_copy(const Place& place, const Issue& by, const Knowledge& seen,
                         const Entry& copy, uint32_t insn, Channel& to) {
    Channel one;
    Edge& edge = one.from(place);
    one.insn = insn;
    Knowledge& all = one.in_gpu(place.gpu);
    all = seen;
    add(all, copy);
    edge.gives.fill(all);
    one.beyond = all;
    one.any_scope = all[any_scope];
    one.executed = joiner_(by.executed, all[executed]);
    one.release_given = joiner_(by.release_given, all[release_given]);
    // Nothing proper that the thread did is given, so its epoch goes on: the stores of a warp make
    // one entry.
    move(one, to);
}

void Order::move(Channel& from, Channel& to) {
    for (Edge& edge : from.edges) {
        Edge& same = to.from(edge.from);
        for (uint32_t far = 0; far < reaches; ++far) {
            join_all(same.gives[far], edge.gives[far]);
            if (edge.fence[far]) same.fence[far] = edge.fence[far];
        }
    }
    for (const uint32_t insn : from.fences) remember(to.fences, insn);
    to.told.clear();
    to.let_go = joiner_(to.let_go, from.let_go);
    for (const auto& [of, gives] : from.everywhere) join_all(to.in_gpu(of), gives);
    join_all(to.beyond, from.beyond);
    to.executed = joiner_(to.executed, from.executed);
    to.any_scope = joiner_(to.any_scope, from.any_scope);
    to.release_given = joiner_(to.release_given, from.release_given);
    to.insn = from.insn;
    from.clear();
}

void Order::acquire(Warp& w, uint32_t lanes, const Acquire& how, const Channel& from,
                    uint32_t insn) {
    const auto used_by = [&](uint32_t fence, Reach far) {
        if (!fence) return;
        int& used = release_used.try_emplace(fence, -1).first->second;
        used = std::max(used, static_cast<int>(far));
    };
    const auto near = from.near.find(w.place.cluster);
    const size_t here = near == from.near.end() ? 0 : near->second.size();
    const bool far_away = from.edges.size() > here;
    const bool other_gpus = std::any_of(from.edges.begin(), from.edges.end(),
                                        [&](const Edge& e) { return e.from.gpu != w.place.gpu; });
    each(w, lanes, [&](Group& g) {
        const View before = g.now[executed];
        const View proper[] = {g.now[for_global], g.now[for_shared], g.now[by_letter]};
        g.now[executed] = joiner_(before, from.executed);
        g.now[let_go] = joiner_(g.now[let_go], from.let_go);
        if (!g.now[executed].same(before)) {
            g.from = from.insn;
            g.to = insn;
        }
        const auto take = [&](const Knowledge& gives, Reach far) {
            if (how.acquires || (how.chip && far == cta)) {
                join_all(g.now, gives);
                return;
            }
            g.now[acquire_given] = joiner_(g.now[acquire_given], gives[acquire_given]);
            const Rule seen = far == sys ? sc_seen_sys : sc_seen;
            g.now[seen] = joiner_(g.now[seen], gives[sc_given]);
            // Within a cluster only shared memory is handed over without an acquire.
            if (how.chip && far == cluster)
                for (const Rule r : {for_shared, for_init, to_async, to_async_strict, let_go})
                    g.now[r] = joiner_(g.now[r], gives[r]);
            join_all(g.acquirable[far], gives);
            g.acquirable_from[far] = true;
        };
        for (size_t i = 0; i < here; ++i) {
            const Edge& e = from.edges[near->second[i]];
            const Reach far = e.from.apart(w.place);
            if (how.reach < far) continue;
            used_by(e.fence[far], far);
            take(e.gives[far], far);
        }
        const bool alone = how.chip && !far_away && from.edges.size() == 1 &&
                           from.edges[0].from.cta == w.place.cta;
        View& any = how.acquires || alone ? g.now[any_scope] : g.acquirable_any;
        any = joiner_(any, from.any_scope);
        const Reach farthest = other_gpus ? sys
                               : far_away ? gpu
                               : from.edges.size() == 1 && from.edges[0].from.cta == w.place.cta
                                   ? cta
                                   : cluster;
        if (how.reach >= farthest) {
            View& any_given = how.acquires || alone || (how.chip && !far_away)
                                  ? g.now[release_given]
                                  : g.acquirable_given;
            any_given = joiner_(any_given, from.release_given);
        }
        if (far_away && how.reach >= gpu) {
            const Reach far = other_gpus && how.reach == sys ? sys : gpu;
            for (const uint32_t fence : from.fences) used_by(fence, far);
            for (const auto& [of, gives] : from.everywhere)
                if (of == w.place.gpu) take(gives, gpu);
            if (far == sys) take(from.beyond, sys);
        }
        g.changes = ++versions_;
        if (!proper[0].same(g.now[for_global]) || !proper[1].same(g.now[for_shared]) ||
            !proper[2].same(g.now[by_letter]))
            changed(g);
    });
}

uint32_t Order::meeting(std::vector<uint32_t> insns) {
    std::sort(insns.begin(), insns.end());
    insns.erase(std::unique(insns.begin(), insns.end()), insns.end());
    const auto [at, is_new] =
        meeting_numbers_.try_emplace(insns, static_cast<uint32_t>(meetings_.size()));
    if (is_new) meetings_.push_back({std::move(insns), -1});
    return at->second;
}

void Order::need(uint32_t meeting, int level) {
    Meeting& m = meetings_[meeting];
    if (level <= m.level) return;
    m.level = level;
    for (const uint32_t insn : m.insns) {
        const auto barrier = barrier_used.find(insn);
        if (barrier != barrier_used.end()) barrier->second = std::max(barrier->second, level);
    }
}

void Order::has_met(Group& g, uint32_t meeting, const View& before) {
    g.met = meeting;
    g.now[without_meeting] = before;
    changed(g);
}

void Order::meet(const std::vector<Arrival>& arrived, const Channel& others,
                 const Channel& exited) {
    std::vector<Entry> selves;
    std::vector<uint32_t> insns;
    std::vector<Group*> groups;
    for (const Arrival& a : arrived) {
        split(*a.warp, a.lanes);
        insns.push_back(a.insn);
    }
    if (insns.empty()) return;
    const uint32_t insn = insns.front(), number = meeting(std::move(insns));
    for (const Arrival& a : arrived)
        for (Group& g : a.warp->groups)
            if (g.lanes & a.lanes) {
                groups.push_back(&g);
                selves.push_back({a.warp->threads(), g.lanes, a.epoch});
            }
    // A warp may have come in parts: later epochs first, as in every view.
    std::sort(selves.begin(), selves.end(), [](const Entry& x, const Entry& y) {
        return x.who != y.who ? x.who < y.who : x.epoch > y.epoch;
    });
    const View met(std::move(selves));
    Knowledge all;
    for (uint32_t r = 0; r < without_meeting; ++r) {
        const bool by_itself = !by_fence(r);  // see add()
        // Mostly all know the same, by several rules.
        uint32_t like = 0;
        for (; like < r; ++like) {
            bool alike = by_itself && !by_fence(like) && others.edges.empty() &&
                         (r != by_letter || exited.edges.empty());
            for (size_t i = 0; i < groups.size() && alike; ++i)
                alike = groups[i]->now[like].same(groups[i]->now[r]);
            if (alike) break;
        }
        if (like < r) {
            all[r] = all[like];
            continue;
        }
        View& sum = all[r];
        if (r != by_letter)
            for (const Edge& e : exited.edges) sum = View::joined(sum, e.gives[cta][r]);
        for (const Edge& e : others.edges) sum = View::joined(sum, e.gives[cta][r]);
        if (r == executed) sum = View::joined(sum, others.executed);
        if (r == release_given) sum = View::joined(sum, others.release_given);
        if (r == any_scope) sum = View::joined(sum, others.any_scope);
        const View* last = nullptr;
        for (const Group* g : groups) {
            if (!last || !last->same(g->now[r])) sum = View::joined(sum, g->now[r]);
            last = &g->now[r];
        }
        if (by_itself) sum = View::joined(sum, met);
    }
    for (Group* g : groups) {
        if (!all[executed].same(g->now[executed])) g->from = g->to = insn;
        const View before = g->now[for_global];
        g->now = all;
        has_met(*g, number, before);
    }
    for (const Arrival& a : arrived) merge(*a.warp);
}

void Order::know(Warp& w, uint32_t lanes, const Entry& entry, const Acquire& how, bool reaches) {
    each(w, lanes, [&](Group& g) {
        Knowledge one{};
        add(one, entry);
        changed(g);
        if (!reaches) {
            for (const Rule r : {executed, any_scope, release_given})
                g.now[r] = joiner_(g.now[r], one[r]);
            return;
        }
        if (how.acquires || how.chip) {
            join_all(g.now, one);
            return;
        }
        g.now[executed] = joiner_(g.now[executed], one[executed]);
        g.now[acquire_given] = joiner_(g.now[acquire_given], one[acquire_given]);
        g.acquirable_any = joiner_(g.acquirable_any, one[any_scope]);
        join_all(g.acquirable[cta], one);
        g.acquirable_from[cta] = true;
    });
}

void Order::await_grid(Warp& w, uint32_t lanes, Component grid, bool letter) {
    const View all(std::vector<Entry>{{in_space(grid, false), ~0u, grid_epoch},
                                      {in_space(grid, true), ~0u, grid_epoch}});
    each(w, lanes, [&](Group& g) {
        const View before = g.now[by_letter];
        add(g.now, {grid, ~0u, grid_epoch});
        if (!letter) g.now[by_letter] = before;
        for (const Rule r : {to_async, to_async_strict}) g.now[r] = joiner_(g.now[r], all);
        g.maps = joiner_(g.maps, View(std::vector<Entry>{{grid, ~0u, grid_epoch}}));
        changed(g);
    });
}

void Order::behind(Warp& w, const View& known, const View& shown) {
    for (Group& g : w.groups) {
        for (uint32_t r = 0; r < rules; ++r)
            if (!by_fence(r)) g.now[r] = joiner_(g.now[r], known);
        for (const Rule r : {to_async, to_async_strict}) g.now[r] = joiner_(g.now[r], shown);
        g.maps = joiner_(g.maps, known);
        changed(g);
    }
}

void Order::together(Warp& w, uint32_t lanes, bool stated) {
    Knowledge all{};
    bool first = true;
    each(w, lanes, [&](Group& g) {
        if (first)
            all = g.now;
        else
            join_all(all, g.now);
        first = false;
    });
    add(all, {w.threads(), lanes, w.done()});
    each(w, lanes, [&](Group& g) {
        const View letter = g.now[by_letter];
        g.now = all;
        changed(g);
        if (!stated) g.now[by_letter] = letter;
    });
    next(w);
    merge(w);
}

}  // namespace check_sync
