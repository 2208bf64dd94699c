// See order.hpp.
#include "order.hpp"

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
                         a.acquirable_any.same(b.acquirable_any);
            for (uint32_t r = 0; r < reaches && equal; ++r)
                equal = same(a.released[r], b.released[r]) && same(a.acquirable[r], b.acquirable[r]);
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
    // The proxy rules know accesses by their space, and only what a fence has shown.
    const View kept[2] = {to[to_async], to[to_async_strict]};
    View last_in, last_out;
    for (uint32_t r = 0; r < rules; ++r) {
        if (r == to_async || r == to_async_strict) continue;
        if (last_in.empty() || !last_in.same(to[r])) {
            last_in = to[r];
            last_out = View::joined(to[r], one);
        }
        to[r] = last_out;
    }
    to[to_async] = kept[0];
    to[to_async_strict] = kept[1];
}

void Order::release(Warp& w, uint32_t lanes, const Release& how, uint32_t insn, Channel& to) {
    Edge* edge = nullptr;
    for (Edge& e : to.edges)
        if (e.from.cta == w.place.cta) edge = &e;
    if (!edge) {
        to.edges.emplace_back();
        edge = &to.edges.back();
        edge->from = w.place;
    }
    to.insn = insn;
    each(w, lanes, [&](Group& g) {
        const Entry self{w.threads(), g.lanes, w.epoch};
        Knowledge all = g.now;
        add(all, self);
        to.executed = joiner_(to.executed, all[executed]);
        const Knowledge& scoped = how.releases ? all : g.released[cta];
        to.any_scope = joiner_(to.any_scope, scoped[any_scope]);
        if (!how.releases) to.any_scope = joiner_(to.any_scope, g.released_shared[any_scope]);
        for (uint32_t far = cta; far <= how.reach && far < reaches; ++far) {
            Knowledge& gives = edge->gives[far];
            if (how.releases) {
                join_all(gives, all);
                continue;
            }
            join_all(gives, g.released[far]);
            edge->fence[far] = g.fence[far];
            gives[release_given] = joiner_(gives[release_given], all[release_given]);
            gives[executed] = joiner_(gives[executed], all[executed]);
            if (far <= cluster && !g.released_shared[for_shared].empty()) {
                for (const Rule r : {for_shared, by_letter, for_init, to_async, to_async_strict, acquire_given})
                    gives[r] = joiner_(gives[r], g.released_shared[r]);
                edge->fence[far] = g.shared_fence;
            } else {
                gives[for_init] = joiner_(gives[for_init], g.released_shared[for_init]);
            }
        }
    });
    if (how.reach == gpu) join_all(to.everywhere, edge->gives[gpu]);
}

void Order::release_copy(Warp& w, uint32_t lanes, const Entry& copy, uint32_t insn, Channel& to) {
    Channel one;
    one.edges.emplace_back();
    Edge& edge = one.edges.back();
    edge.from = w.place;
    one.insn = insn;
    each(w, lanes, [&](Group& g) {
        Knowledge all = g.now;
        add(all, {w.threads(), g.lanes, w.epoch});
        one.executed = joiner_(one.executed, all[executed]);
        one.everywhere[release_given] = joiner_(one.everywhere[release_given], all[release_given]);
    });
    add(one.everywhere, copy);
    edge.gives.fill(one.everywhere);
    one.any_scope = View(std::vector<Entry>{copy});
    one.executed = joiner_(one.executed, one.any_scope);
    // Nothing proper of the thread is given, so its epoch goes on: the stores of a warp make one entry.
    move(one, to);
}

void Order::move(Channel& from, Channel& to) {
    for (Edge& edge : from.edges) {
        Edge* same = nullptr;
        for (Edge& e : to.edges)
            if (e.from.cta == edge.from.cta) same = &e;
        if (!same) {
            to.edges.push_back(std::move(edge));
            continue;
        }
        for (uint32_t far = 0; far < reaches; ++far) {
            join_all(same->gives[far], edge.gives[far]);
            if (edge.fence[far]) same->fence[far] = edge.fence[far];
        }
    }
    join_all(to.everywhere, from.everywhere);
    to.executed = joiner_(to.executed, from.executed);
    to.any_scope = joiner_(to.any_scope, from.any_scope);
    to.insn = from.insn;
    from.clear();
}

void Order::acquire(Warp& w, uint32_t lanes, const Acquire& how, const Channel& from, uint32_t insn) {
    each(w, lanes, [&](Group& g) {
        const View before = g.now[executed];
        g.now[executed] = joiner_(before, from.executed);
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
            // Within a cluster only shared memory is handed over without an acquire.
            if (how.chip && far == cluster)
                for (const Rule r : {for_shared, for_init, to_async, to_async_strict, release_given})
                    g.now[r] = joiner_(g.now[r], gives[r]);
            join_all(g.acquirable[far], gives);
        };
        bool far_away = false;
        for (const Edge& e : from.edges) {
            const Reach far = e.from.apart(w.place);
            far_away |= far == gpu;
            if (how.reach < far) continue;
            if (e.fence[far]) {
                int& used = release_used.try_emplace(e.fence[far], -1).first->second;
                used = std::max(used, static_cast<int>(far));
            }
            if (far != gpu) take(e.gives[far], far);
        }
        const bool near = how.chip && !far_away && from.edges.size() == 1 && from.edges[0].from.cta == w.place.cta;
        View& any = how.acquires || near ? g.now[any_scope] : g.acquirable_any;
        any = joiner_(any, from.any_scope);
        if (far_away && how.reach == gpu) take(from.everywhere, gpu);
    });
}

void Order::know(Warp& w, uint32_t lanes, const Entry& entry, const Acquire& how) {
    each(w, lanes, [&](Group& g) {
        Knowledge one{};
        add(one, entry);
        if (how.acquires || how.chip) {
            join_all(g.now, one);
            return;
        }
        g.now[executed] = joiner_(g.now[executed], one[executed]);
        g.now[acquire_given] = joiner_(g.now[acquire_given], one[acquire_given]);
        g.acquirable_any = joiner_(g.acquirable_any, one[any_scope]);
        join_all(g.acquirable[cta], one);
    });
}

void Order::release_fence(Warp& w, uint32_t lanes, Reach reach, Restrict only, uint32_t insn) {
    each(w, lanes, [&](Group& g) {
        Knowledge all = g.now;
        add(all, {w.threads(), g.lanes, w.epoch});
        if (only == mbarrier_init) {
            g.released_shared[for_init] = all[for_init];
            return;
        }
        release_used.try_emplace(insn, -1);
        if (only == shared_memory) {
            g.released_shared = all;
            g.shared_fence = insn;
            return;
        }
        for (uint32_t far = cta; far <= reach; ++far) {
            g.released[far] = all;
            g.fence[far] = insn;
        }
    });
    ++w.epoch;
}

void Order::acquire_fence(Warp& w, uint32_t lanes, Reach reach, Restrict only, uint32_t insn) {
    int& used = acquire_used.try_emplace(insn, -1).first->second;
    each(w, lanes, [&](Group& g) {
        g.now[any_scope] = joiner_(g.now[any_scope], g.acquirable_any);
        for (uint32_t far = cta; far <= reach; ++far) {
            const Knowledge& gives = g.acquirable[far];
            if (!gives[release_given].empty()) used = std::max(used, static_cast<int>(far));
            if (only == shared_memory) {
                for (const Rule r : {for_shared, by_letter, for_init, to_async, to_async_strict, release_given})
                    g.now[r] = joiner_(g.now[r], gives[r]);
                continue;
            }
            join_all(g.now, gives);
            g.acquirable[far] = {};
        }
    });
}

void Order::proxy_fence(Warp& w, uint32_t lanes, bool shared, bool global) {
    each(w, lanes, [&](Group& g) {
        std::vector<Entry> own, all;
        const auto both = [&](std::vector<Entry>& to, const Entry& e, bool in_global, bool in_shared) {
            if (in_global) to.push_back({in_space(e.who, false), e.lanes, e.epoch});
            if (in_shared) to.push_back({in_space(e.who, true), e.lanes, e.epoch});
        };
        both(own, {w.threads(), g.lanes, w.epoch}, global, shared);
        for (const Entry& e : g.now[for_shared].entries())  // and its LDGSTS that are done
            if (e.who == w.copying()) both(own, {e.who, e.lanes & g.lanes, e.epoch}, global, shared);
        for (const Entry& e : g.now[for_global].entries()) both(all, e, global, false);
        for (const Entry& e : g.now[for_shared].entries()) both(all, e, false, shared);
        std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.who < b.who; });
        g.now[to_async_strict] = joiner_(g.now[to_async_strict], View(own));
        g.now[to_async] = joiner_(g.now[to_async], joiner_(View(all), View(own)));
    });
    ++w.epoch;
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
    add(all, {w.threads(), lanes, w.epoch});
    each(w, lanes, [&](Group& g) {
        const View letter = g.now[by_letter];
        g.now = all;
        if (!stated) g.now[by_letter] = letter;
    });
    ++w.epoch;
    merge(w);
}

}  // namespace check_sync
