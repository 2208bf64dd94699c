// SPDX-License-Identifier: Apache-2.0
// What orders threads: releases and acquires, fences, barriers, asynchronous operations.
#include <algorithm>
#include <unordered_map>

#include "machine.hpp"

namespace weak {

namespace {

constexpr size_t most_agents = 4096;
constexpr Stamp all_of_it = ~Stamp{0};

}  // namespace

void join(Knowledge& to, const Snapshot& from, uint32_t threads) {
    join(to, from.known);
    for (uint32_t k = 0; k < threads; ++k) {  // the host's number is the highest there is
        const Thread t = from.thread + k;
        to[in_global].add(t, from.global);
        to[in_shared].add(t, from.shared);
        to[inits].add(t, from.inits);
    }
}

std::shared_ptr<const Snapshot> Machine::snapshot(const Actor& a, Thread t) const {
    auto s = std::make_shared<Snapshot>();
    s->thread = t;
    if (a.agent) {  // order does not pass through it
        for (const Rule r : {in_global, in_shared, async_global, async_shared}) {
            s->known[r] = a.over;
            s->known[r].add(t, next_ - 1);
        }
    } else {
        s->known = a.now;
        s->global = s->shared = s->inits = next_ - 1;
    }
    return s;
}

// What a strong write of the thread gives: what it releases itself, else what fences before it did.
Edge Machine::edge(Actor& a, Thread t, const Order& o) const {
    Edge e{a.place, o.reach, 1, {}};
    std::shared_ptr<const Snapshot> own;
    if (o.releases) own = snapshot(a, t);
    for (uint32_t d = 0; d <= o.reach; ++d) e.gives[d] = own ? own : a.fenced[d];
    return e;
}

// What a strong write gives: that, and what the thread has released at the same place before.
void Machine::give(Actor& a, const Access& write, Edges& to) const {
    const Edge own = edge(a, write.who.thread, write.order);
    auto released =
        std::ranges::find(a.released_at, write.address, &std::pair<uint64_t, Edges>::first);
    if (released != a.released_at.end())
        for (const Edge& e : released->second) add_edge(to, e);
    add_edge(to, own);
    if (!write.order.releases) return;
    if (released == a.released_at.end())
        released = a.released_at.emplace(a.released_at.end(), write.address, Edges{});
    add_edge(released->second, own);
}

// From a strong write, by a strong read: now, or once a fence acquires.
void Machine::take(Actor& to, const Edge& e, const Order& o, bool now) {
    const Reach apart = to.place.apart(e.from);
    if (apart > o.reach || apart > e.reach || !e.gives[apart]) return;
    join(to.acquirable[apart], *e.gives[apart], e.threads);
    if (now) join(to.now, *e.gives[apart], e.threads);
}

void Machine::fence(const Who& who, const Fence& f) {
    Actor& a = actor(who);
    const Order& o = f.order;
    if (o.acquires)
        for (uint32_t d = 0; d <= o.reach; ++d)
            for (uint32_t r = 0; r < rules; ++r)
                if (!f.shared_alone || r == in_shared || r == async_shared || r == inits)
                    a.now[r].join(a.acquirable[d][r]);
    if (o.sc) {
        for (const ScFence& other : sc_) {
            const Reach apart = a.place.apart(other.place);
            if (apart <= o.reach && apart <= other.reach) join(a.now, *other.gives, 1);
        }
        // A later one of the same CTA and scope comes after it, and tells all of it.
        std::erase_if(sc_, [&](const ScFence& other) {
            return other.reach == o.reach && a.place.apart(other.place) == cta;
        });
        sc_.push_back({a.place, o.reach, snapshot(a, who.thread)});
    }
    if (f.to_async) {
        if (f.shared) a.now[async_shared].join(a.now[in_shared]);
        if (f.shared) a.now[async_shared].add(who.thread, next_ - 1);
        if (f.global) a.now[async_global].join(a.now[in_global]);
        if (f.global) a.now[async_global].add(who.thread, next_ - 1);
    }
    if (f.to_tensormap && o.releases) {
        a.now[tensormap].join(a.now[in_global]);
        a.now[tensormap].add(who.thread, next_ - 1);
    }
    if (f.to_tensormap && o.acquires) {
        a.maps.join(a.now[tensormap]);
        a.before_maps = a.now[in_global];
        a.maps_by = who.thread;
    }
    if (!o.releases) return;
    const auto all = snapshot(a, who.thread);
    for (uint32_t d = 0; d <= o.reach; ++d) {
        if (!f.shared_alone && !f.inits_alone) {
            a.fenced[d] = all;
            continue;
        }
        // Of what it does not restrict itself to, what was released before.
        const Snapshot before = a.fenced[d] ? *a.fenced[d] : Snapshot{};
        auto some = std::make_shared<Snapshot>(*all);
        for (const Rule r : {in_global, async_global, tensormap}) some->known[r] = before.known[r];
        some->global = before.global;
        if (f.inits_alone) {
            for (const Rule r : {in_shared, async_shared}) some->known[r] = before.known[r];
            some->shared = before.shared;
        }
        a.fenced[d] = some;
    }
}

// Whether whoever arrived in the one knew what the other gives, and nothing else but itself.
bool Machine::tells_all(const Phase& later, const Phase& before) {
    if (before.gathered.size() != 1 || before.gathered[0].edges != before.edges.size() ||
        later.edges.empty())
        return false;
    const Knowledge& all = before.gathered[0].known;
    return std::ranges::all_of(later.edges, [&](const Edge& e) {
        if (e.from.apart(before.gathered[0].to) != cta || !e.gives[cta]) return false;
        for (uint32_t r = 0; r < rules; ++r)
            if (e.gives[cta]->known[r].identity() != all[r].identity()) return false;
        return true;
    });
}

void Machine::arrive(const Who& who, uint64_t barrier, uint64_t phase, const Order& o) {
    Actor& a = actor(who);
    Barrier& b = barriers_[barrier];
    auto at = std::ranges::find(b, phase, &Phase::number);
    if (at == b.end()) {
        // Of phases that are long over one is kept for all: a wait takes what came before, too.
        if (b.size() > 2) {
            if (!tells_all(b[1], b[0])) {
                add_edges(b[1].edges, b[0].edges);
                b[1].gathered.clear();
            }
            b.erase(b.begin());
        }
        at = b.insert(b.end(), Phase{phase, {}, 0, {}});
    }
    if (!at->edges.empty() && arrives_with(at->edges.back(), a, who.thread, o)) return;
    at->edges.push_back(edge(a, who.thread, o));
    at->edges.back().from = who.place;
}

// The lanes of a warp mostly know the same when they arrive, and are one edge.
bool Machine::arrives_with(Edge& last, const Actor& a, Thread t, const Order& o) const {
    const Snapshot* const s = last.gives[cta].get();
    if (!everybody_.empty() || !o.releases || a.agent || last.reach != o.reach || !s ||
        s->thread + last.threads != t || s->global != next_ - 1 || s->shared != next_ - 1 ||
        s->inits != next_ - 1 || last.from.apart(a.place) != cta)
        return false;
    for (uint32_t d = 0; d <= o.reach; ++d)
        if (last.gives[d].get() != s) return false;
    for (uint32_t r = 0; r < rules; ++r)
        if (s->known[r].identity() != a.now[r].identity()) return false;
    ++last.threads;
    return true;
}

void Machine::wait(const Who& who, uint64_t barrier, uint64_t phase, const Order& o) {
    const auto at = barriers_.find(barrier);
    if (at == barriers_.end()) return;
    Actor& a = actor(who);
    for (auto p = at->second.rbegin(); p != at->second.rend(); ++p) {
        if (p->number > phase) continue;
        if (!o.acquires) {
            for (const Edge& e : p->edges) take(a, e, o, false);
            continue;
        }
        Phase::Gathered& all = gather(*p, a.place, o.reach);
        for (uint32_t r = 0; r < rules; ++r) {
            View& now = a.now[r];
            const auto is_now = [&](const View& v) { return v.identity() == now.identity(); };
            if (std::ranges::find(all.within[r], now.identity()) != all.within[r].end()) {
                now = all.known[r];
            } else if (!is_now(all.known[r]) && std::ranges::none_of(all.above[r], is_now)) {
                if (now.includes(all.known[r]))
                    all.above[r].push_back(now);
                else
                    now.join(all.known[r]);
            }
        }
        const auto before = std::next(p);
        if (before == at->second.rend()) break;
        if (p->telling != p->edges.size() && !tells_all(*p, *before)) continue;
        p->telling = p->edges.size();
        break;
    }
}

Machine::Phase::Gathered& Machine::gather(Phase& p, const Place& to, Reach reach) {
    auto at = std::ranges::find_if(p.gathered, [&](const Phase::Gathered& g) {
        return g.to.apart(to) == cta && g.reach == reach;
    });
    if (at != p.gathered.end() && at->edges == p.edges.size()) return *at;
    if (at == p.gathered.end())
        at = p.gathered.insert(at, Phase::Gathered{to, reach, 0, {}, {}, {}});
    Phase::Gathered& g = *at;
    g.edges = p.edges.size();
    std::vector<const View*> views[rules];
    std::vector<View::Entry> own[rules];
    bool alike = true;
    for (const Edge& e : p.edges) {
        const Reach apart = to.apart(e.from);
        if (apart > reach || apart > e.reach || !e.gives[apart]) continue;
        const Snapshot& s = *e.gives[apart];
        for (uint32_t r = 0; r < rules; ++r) views[r].push_back(&s.known[r]);
        for (uint32_t k = 0; k < e.threads; ++k) {
            const Thread t = s.thread + k;
            own[in_global].emplace_back(t, s.global);
            own[in_shared].emplace_back(t, s.shared);
            own[inits].emplace_back(t, s.inits);
        }
        alike = alike && s.global == s.shared && s.shared == s.inits &&
                s.known[in_global].identity() == s.known[in_shared].identity() &&
                s.known[in_shared].identity() == s.known[inits].identity();
    }
    for (uint32_t r = 0; r < rules; ++r) {
        g.within[r].clear();
        g.above[r].clear();
        for (const View* v : views[r])
            if (std::ranges::find(g.within[r], v->identity()) == g.within[r].end())
                g.within[r].push_back(v->identity());
        if ((r == in_shared || r == inits) && alike) {
            g.known[r] = g.known[in_global];
            continue;
        }
        g.known[r] = View{};
        g.known[r].join(views[r], std::move(own[r]));
    }
    return g;
}

void Machine::issue(const Who& who, Thread agent) {
    const Actor& from = actor(who);
    const auto [at, fresh] = actors_.try_emplace(agent);
    Actor& a = at->second;  // it knows what all know whose it is
    a.place = from.place;
    a.agent = true;
    join(a.now, from.now);
    a.now[in_global].add(who.thread, next_ - 1);
    a.now[in_shared].add(who.thread, next_ - 1);
    a.maps.join(from.maps);
    a.before_maps.join(from.before_maps);
    a.maps_by = from.maps_by;
    if (!fresh) return;
    agents_.push_back(agent);
    if (agents_.size() <= most_agents) return;
    recent_actors_.forget(agents_.front());
    actors_.erase(agents_.front());
    agents_.pop_front();
}

void Machine::observe(const Who& who, Thread agent) {
    const Actor* const of = find(agent);
    const View over = of ? of->over : View{};
    Actor& a = actor(who);
    if (a.agent) {
        a.over.join(over);
        a.over.add(agent, all_of_it);
    }
    for (const Rule r : {in_global, in_shared, async_global, async_shared}) {
        a.now[r].join(over);
        a.now[r].add(agent, all_of_it);
    }
}

// States that behave alike are equal in what they keep of memory, and in who is sure of which
// store; stamps themselves say nothing.
std::string Machine::key() const {
    std::string out;
    const auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
    std::vector<const Write*> writes;
    std::vector<uint64_t> numbers;
    for (const auto& [number, g] : granules_) numbers.push_back(number);
    std::ranges::sort(numbers);
    for (const uint64_t n : numbers)
        for (const Write& w : granules_.at(n).writes) {
            put(w.address);
            put(w.bytes | w.async << 8 | w.strong << 9 | w.undoable << 10 | w.together << 11);
            if (w.undoable) out.append(w.old.begin(), w.old.begin() + w.bytes);
            if (w.undoable) writes.push_back(&w);
        }
    for (const auto& [name, r] : late_.all()) {
        put(r.thread);
        put(r.address);
        put(r.copy);
        put(r.bytes | r.copied << 8 | r.overtaken << 16);
        out.append(r.newer.begin(), r.newer.end());
    }
    // Many threads share what they know.
    std::unordered_map<const void*, std::string> views, snapshots;
    std::vector<View> kept;
    const auto view = [&](const View& v) {
        const auto [at, fresh] = views.try_emplace(v.identity());
        std::string& all = at->second;
        if (fresh) {
            uint8_t bits = 0;
            for (size_t i = 0; i < writes.size(); ++i) {
                bits = static_cast<uint8_t>(bits << 1 | known(v, *writes[i]));
                if (i % 8 == 7) all += static_cast<char>(std::exchange(bits, 0));
            }
            if (writes.size() % 8) all += static_cast<char>(bits);
            for (const auto& [name, r] : late_.all())
                all += static_cast<char>(v.knows(r.thread, r.stamp));
        }
        out += all;
    };
    const auto knowledge = [&](const Knowledge& k) {
        for (const View& v : k) view(v);
    };
    const auto snapshot_key = [&](const Snapshot* s) {
        if (!s) {
            out += '-';
            return;
        }
        const auto [at, fresh] = snapshots.try_emplace(s);
        if (fresh) {
            Knowledge k = s->known;
            join(k, *s, 1);
            for (const View& v : k) kept.push_back(v);  // an identity is one as long as it lives
            const size_t before = out.size();
            knowledge(k);
            at->second = out.substr(before);
            return;
        }
        out += at->second;
    };
    const auto edges = [&](const Edges& all) {
        std::vector<std::string> each;
        for (const Edge& e : all) {
            std::string before = std::move(out);
            out.clear();
            put(e.from.cta << 8 | e.reach);
            for (const auto& g : e.gives) snapshot_key(g.get());
            each.push_back(std::exchange(out, std::move(before)));
        }
        std::ranges::sort(each);
        each.erase(std::unique(each.begin(), each.end()), each.end());
        for (const std::string& e : each) out += e;
        out += '.';
    };
    for (const uint64_t n : numbers)
        for (const Write& w : granules_.at(n).writes) edges(w.gives.get());
    std::vector<Thread> threads;
    for (const auto& [t, a] : actors_) threads.push_back(t);
    std::ranges::sort(threads);
    for (const Thread t : threads) {
        const Actor& a = actors_.at(t);
        put(t);
        for (const Write* w : writes) {
            out += static_cast<char>(
                sure(&a, t, Via::generic, *w) << 3 | sure(&a, t, Via::async, *w) << 2 |
                sure(&a, t, Via::tensormap, *w) << 1 | sure(&a, t, Via::uncoherent, *w));
        }
        knowledge(a.now);
        for (const auto& f : a.fenced) snapshot_key(f.get());
        for (const auto& k : a.acquirable) knowledge(k);
        view(a.maps);
        view(a.before_maps);
        put(a.maps_by);
        view(a.over);
        for (const auto& [address, e] : a.released_at) {
            put(address);
            edges(e);
        }
    }
    for (const ScFence& f : sc_) {
        put(f.place.cta << 8 | f.reach);
        snapshot_key(f.gives.get());
    }
    for (const auto& [b, phases] : barriers_)
        for (const Phase& p : phases) {
            put(b);
            put(p.number);
            edges(p.edges);
        }
    return out;
}

}  // namespace weak
