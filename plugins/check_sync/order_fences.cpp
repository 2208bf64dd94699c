// SPDX-License-Identifier: Apache-2.0
// What fences do to the orders that threads know; see order.hpp. Which instructions are fences is
// in fences.cpp.
#include <algorithm>

#include "order.hpp"

namespace check_sync {

void Order::release_fence(Warp& w, uint32_t lanes, Reach reach, Restrict only, uint32_t insn) {
    each(w, lanes, [&](Group& g) {
        Knowledge all = g.now;
        g.changes = ++versions_;
        add(all, {w.threads(), g.lanes, w.done()});
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
        all[sent] = {};
        for (uint32_t far = cta; far <= reach; ++far) {
            g.released[far] = all;
            g.fence[far] = insn;
        }
    });
    next(w);
}

void Order::nvshmem_fence(Warp& w, uint32_t lanes, uint32_t insn,
                          const std::function<bool(Component)>& of_cta) {
    release_used.try_emplace(insn, -1);
    each(w, lanes, [&](Group& g) {
        Knowledge all = g.now;
        g.changes = ++versions_;
        add(all, {w.threads(), g.lanes, w.done()});
        std::vector<Entry> own;
        for (const Entry& e : all[for_global].entries())
            if (of_cta(e.who)) own.push_back(e);
        all[sent] = View(std::move(own));
        for (uint32_t far = cta; far < reaches; ++far) {
            all[delivered] = g.released[far][delivered];  // as of the last other fence
            g.released[far] = all;
            g.fence[far] = insn;
        }
    });
    next(w);
}

void Order::acquire_fence(Warp& w, uint32_t lanes, Reach reach, Restrict only, uint32_t insn) {
    int& used = acquire_used.try_emplace(insn, -1).first->second;
    each(w, lanes, [&](Group& g) {
        changed(g);
        g.now[any_scope] = joiner_(g.now[any_scope], g.acquirable_any);
        g.now[release_given] = joiner_(g.now[release_given], g.acquirable_given);
        for (uint32_t far = cta; far <= reach; ++far) {
            const Knowledge& gives = g.acquirable[far];
            if (std::exchange(g.acquirable_from[far], false))
                used = std::max(used, static_cast<int>(far));
            if (only == shared_memory) {
                for (const Rule r : {for_shared, by_letter, for_init, to_async, to_async_strict,
                                     release_given, let_go})
                    g.now[r] = joiner_(g.now[r], gives[r]);
                g.acquirable_from[far] = true;  // the rest stays
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
        g.changes = ++versions_;
        const auto both = [&](std::vector<Entry>& to, const Entry& e, bool in_global,
                              bool in_shared) {
            if (in_global) to.push_back({in_space(e.who, false), e.lanes, e.epoch});
            if (in_shared) to.push_back({in_space(e.who, true), e.lanes, e.epoch});
        };
        both(own, {w.threads(), g.lanes, w.done()}, global, shared);
        for (const Entry& e : g.now[for_shared].entries())  // and its LDGSTS that are done
            if (e.who == w.copying())
                both(own, {e.who, e.lanes & g.lanes, e.epoch}, global, shared);
        // Of threads and their LDGSTS: what agents do is the async proxy's own.
        for (const Entry& e : g.now[for_global].entries())
            if (e.who < first_mbarrier) both(all, e, global, false);
        for (const Entry& e : g.now[for_shared].entries())
            if (e.who < first_mbarrier) both(all, e, false, shared);
        std::stable_sort(all.begin(), all.end(),
                         [](const Entry& a, const Entry& b) { return a.who < b.who; });
        g.now[to_async_strict] = joiner_(g.now[to_async_strict], View(own));
        g.now[to_async] = joiner_(g.now[to_async], joiner_(View(all), View(own)));
    });
    next(w);
}

void Order::tensormap_release(Warp& w, uint32_t lanes) {
    each(w, lanes, [&](Group& g) {
        g.now[map_given] = joiner_(joiner_(g.now[map_given], g.now[for_global]),
                                   View(std::vector<Entry>{{w.threads(), g.lanes, w.done()}}));
        g.changes = ++versions_;
    });
    next(w);
}

void Order::tensormap_fence(Warp& w, uint32_t lanes) {
    each(w, lanes, [&](Group& g) {
        g.maps = joiner_(g.maps, g.now[map_given]);
        for (const Knowledge& gives : g.acquirable) g.maps = joiner_(g.maps, gives[map_given]);
        g.before_maps =
            joiner_(g.now[for_global], View(std::vector<Entry>{{w.threads(), ~0u, w.done()}}));
        g.changes = ++versions_;
    });
}

void Order::sc_release(Warp& w, uint32_t lanes, Reach reach, uint32_t insn) {
    if (std::find(sc_fences_.begin(), sc_fences_.end(), insn) == sc_fences_.end())
        sc_fences_.push_back(insn);
    if (w.stores.any) remember(w.stores.fences, insn);
    each(w, lanes, [&](Group& g) {
        for (const Rule r : {sc_given, sc_given_sys})
            if (r == sc_given || reach == sys)
                g.now[r] = joiner_(joiner_(g.now[r], g.now[for_global]),
                                   View(std::vector<Entry>{{w.threads(), g.lanes, w.done()}}));
        g.changes = ++versions_;
    });
    next(w);
}

void Order::sc_acquire(Warp& w, uint32_t lanes, Reach reach) {
    each(w, lanes, [&](Group& g) {
        const bool far = reach == sys && !g.now[sc_seen_sys].empty();
        const View seen = far ? joiner_(g.now[sc_seen], g.now[sc_seen_sys]) : g.now[sc_seen];
        if (seen.empty() || g.now[by_letter].contains(seen)) return;
        if (!g.now[for_global].contains(seen)) {
            for (const uint32_t insn : sc_fences_)
                release_used[insn] = acquire_used[insn] = far ? sys : gpu;
            sc_used.insert(sc_fences_.begin(), sc_fences_.end());
        }
        for (const Rule r : {for_global, for_shared, by_letter, for_init, any_scope, acquire_given,
                             release_given, executed, delivered, let_go})
            g.now[r] = joiner_(g.now[r], seen);
        changed(g);
    });
}

}  // namespace check_sync
