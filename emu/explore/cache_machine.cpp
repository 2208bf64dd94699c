// The model `caches`: an incoherent L1 and texture cache per SM, virtual channels, other clients of
// the GPU and the system. docs/litmus.md, section 7 (the machine of the SPA 5.0 page on MEMBAR).
#include <algorithm>

#include "emu/explore/operational.hpp"

namespace sassemu::explore {
namespace {

enum Level : uint32_t { at_sm = 1, in_channel = 2, in_gpu = 3, in_system = 4 };

// Who sees memory alike below the caches: the SMs of a GPU, its copy engine, the host.
struct Client {
    ThreadKind kind;
    int32_t gpu;
    auto operator<=>(const Client&) const = default;
};

class CacheMachine {
  public:
    // An operation that was fetched and is not performed yet; its operands are bound.
    struct Waiting {
        uint32_t instruction;
        uint64_t value;
    };
    struct ThreadState : Runner {
        std::vector<Waiting> window;
    };
    struct AtSm {  // a store that its SM has performed and its channel has not
        uint32_t location, thread;
        uint64_t value;
    };
    struct OnItsWay {  // a store that this view has not got yet
        uint32_t location, view, thread;
        uint64_t time, value;
    };
    struct Seen {
        uint64_t time = 0, value = 0;
    };
    struct Copy {
        bool texture;
        int32_t sm;
        uint32_t location;
        uint64_t value;
        auto operator<=>(const Copy&) const = default;
    };
    struct State {
        std::vector<ThreadState> threads;
        std::vector<AtSm> near;
        std::vector<OnItsWay> far;
        std::vector<Seen> views;   // [location][view]
        std::vector<Copy> copies;  // sorted
    };

    explicit CacheMachine(const Test& test) : test_(test) {
        for (const Thread& t : test.threads) views_.push_back(client(t));
        std::sort(views_.begin(), views_.end());
        views_.erase(std::unique(views_.begin(), views_.end()), views_.end());
    }

    State start() const {
        State s;
        for (const Thread& t : test_.threads) {
            ThreadState r;
            r.registers = t.initial;
            s.threads.push_back(std::move(r));
        }
        for (const Location& l : test_.locations)
            for (size_t v = 0; v < views_.size(); ++v)
                s.views.push_back({0, test_.names[find_name(test_, l.name)].initial});
        return s;
    }

    std::string key(const State& s) const {
        Key k;
        for (const ThreadState& t : s.threads) {
            k.add(static_cast<const Runner&>(t)).add(t.window.size());
            for (const Waiting& w : t.window) k.add(w.instruction).add(w.value);
        }
        k.add(s.near.size());
        for (const AtSm& o : s.near) k.add(o.location).add(o.thread).add(o.value);
        std::vector<OnItsWay> far = s.far;
        std::sort(far.begin(), far.end(), [](const OnItsWay& a, const OnItsWay& b) {
            return std::tie(a.location, a.view, a.time) < std::tie(b.location, b.view, b.time);
        });
        k.add(far.size());
        for (const OnItsWay& p : far)
            k.add(p.location).add(p.view).add(p.thread).add(p.time).add(p.value);
        for (const Seen& v : s.views) k.add(v.time).add(v.value);
        for (const Copy& c : s.copies)
            k.add(c.texture).add(static_cast<uint64_t>(c.sm)).add(c.location).add(c.value);
        return k.take();
    }

    template <class Emit>
    void next(const State& s, Emit&& emit) const {
        for (size_t i = 0; i < s.near.size(); ++i) to_channel(s, i, emit);
        for (size_t i = 0; i < s.far.size(); ++i) arrive(s, i, emit);
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            fetch(s, t, emit);
            for (size_t i = 0; i < s.threads[t].window.size(); ++i)
                if (may_perform(s, t, i)) perform(s, t, i, emit);
        }
    }

    bool ended(const State& s) const {
        if (!s.near.empty() || !s.far.empty()) return false;
        for (size_t t = 0; t < s.threads.size(); ++t)
            if (s.threads[t].pc < test_.threads[t].code.size() || !s.threads[t].window.empty())
                return false;
        return true;
    }

    uint64_t shown(const State& s, const Condition& c) const {
        if (c.kind == Condition::Kind::reg) return s.threads[c.thread].registers[c.reg];
        Seen last;
        for (uint32_t v = 0; v < views_.size(); ++v) {
            const Seen& here = s.views[at(test_.names[c.name].location, v)];
            if (here.time >= last.time) last = here;
        }
        return last.value;
    }

  private:
    static Client client(const Thread& t) {
        const bool host = t.kind == ThreadKind::host || t.kind == ThreadKind::stream;
        return {host ? ThreadKind::host : t.kind, host ? -1 : t.gpu};
    }
    uint32_t view_of(uint32_t thread) const {
        return static_cast<uint32_t>(
            std::find(views_.begin(), views_.end(), client(test_.threads[thread])) -
            views_.begin());
    }
    size_t at(uint32_t location, uint32_t view) const { return location * views_.size() + view; }
    const Instruction& code(uint32_t thread, const Waiting& w) const {
        return test_.threads[thread].code[w.instruction];
    }
    uint32_t location(const Instruction& i) const { return test_.names[i.b.name].location; }
    int32_t sm(uint32_t thread) const { return test_.threads[thread].sm; }

    // How far a store of the thread has come when it reaches the view.
    Level level(uint32_t thread, uint32_t view) const {
        const Client own = client(test_.threads[thread]), other = views_[view];
        if (own == other) return in_channel;
        return own.gpu == other.gpu ? in_gpu : in_system;
    }

    void send(State& s, uint32_t l, uint32_t thread, uint64_t value) const {
        uint64_t time = 0;
        for (uint32_t v = 0; v < views_.size(); ++v) time = std::max(time, s.views[at(l, v)].time);
        for (const OnItsWay& p : s.far)
            if (p.location == l) time = std::max(time, p.time);
        ++time;
        const uint32_t own = view_of(thread);
        s.views[at(l, own)] = {time, value};
        for (uint32_t v = 0; v < views_.size(); ++v)
            if (v != own) s.far.push_back({l, v, thread, time, value});
    }

    template <class Emit>
    void to_channel(const State& s, size_t i, Emit&& emit) const {
        const AtSm& o = s.near[i];
        for (size_t k = 0; k < i; ++k)
            if (s.near[k].location == o.location && sm(s.near[k].thread) == sm(o.thread))
                return;  // same location in order
        State n = s;
        n.near.erase(n.near.begin() + static_cast<std::ptrdiff_t>(i));
        send(n, o.location, o.thread, o.value);
        emit(std::move(n));
    }

    template <class Emit>
    void arrive(const State& s, size_t i, Emit&& emit) const {
        const OnItsWay& p = s.far[i];
        for (const OnItsWay& q : s.far)
            if (q.location == p.location && q.view == p.view && q.time < p.time) return;
        State n = s;
        n.far.erase(n.far.begin() + static_cast<std::ptrdiff_t>(i));
        Seen& here = n.views[at(p.location, p.view)];
        if (here.time < p.time) here = {p.time, p.value};
        emit(std::move(n));
    }

    template <class Emit>
    void fetch(const State& s, uint32_t t, Emit&& emit) const {
        const ThreadState& r = s.threads[t];
        const auto& all = test_.threads[t].code;
        if (r.pc >= all.size()) return;
        const Instruction& i = all[r.pc];
        std::vector<uint32_t> awaited;
        for (const Waiting& w : r.window)
            if (code(t, w).a.kind == Operand::Kind::reg) awaited.push_back(code(t, w).a.reg);
        if (touches(i, awaited)) return;
        State n = s;
        ThreadState& to = n.threads[t];
        const bool off =
            i.guard >= 0 && (r.registers[static_cast<size_t>(i.guard)] != 0) == i.guard_inverted;
        if (off) {
            ++to.pc;
        } else if (!step_plain(to, i)) {
            to.window.push_back({r.pc, operand_value(r, i.c)});
            ++to.pc;
        }
        emit(std::move(n));
    }

    // In any order, but same location in order, and nothing over a MEMBAR or CCTL.
    bool may_perform(const State& s, uint32_t t, size_t i) const {
        const auto& window = s.threads[t].window;
        const auto orders = [](const Instruction& x) {
            return x.form == "MEMBAR" || x.form == "CCTL" || x.form == "CCTLT";
        };
        const Instruction& c = code(t, window[i]);
        for (size_t k = 0; k < i; ++k) {
            const Instruction& earlier = code(t, window[k]);
            if (orders(c) || orders(earlier) || location(earlier) == location(c)) return false;
        }
        return true;
    }

    uint64_t below_caches(const State& s, uint32_t t, uint32_t l) const {
        for (size_t k = s.near.size(); k-- > 0;)
            if (s.near[k].location == l && sm(s.near[k].thread) == sm(t)) return s.near[k].value;
        return s.views[at(l, view_of(t))].value;
    }

    template <class Emit>
    void perform(const State& s, uint32_t t, size_t i, Emit&& emit) const {
        const Waiting w = s.threads[t].window[i];
        const Instruction& c = code(t, w);
        State n = s;
        n.threads[t].window.erase(n.threads[t].window.begin() + static_cast<std::ptrdiff_t>(i));
        if (c.form == "MEMBAR") return membar(s, t, c, std::move(n), emit);
        if (c.form == "CCTL" || c.form == "CCTLT") {
            std::erase_if(n.copies, [&](const Copy& x) {
                return x.sm == sm(t) && x.texture == (c.form == "CCTLT") &&
                       (!c.group || x.location == location(c));
            });
            return emit(std::move(n));
        }
        const uint32_t l = location(c);
        const auto mine = [&](const Copy& x, bool texture) {
            return x.sm == sm(t) && x.texture == texture && x.location == l;
        };
        if (c.form == "ST") {
            n.near.push_back({l, t, w.value});
            for (Copy& x : n.copies)
                if (mine(x, false)) x.value = w.value;
            return emit(std::move(n));
        }
        if (c.form == "ATOM") {
            for (const AtSm& o : s.near)
                if (o.location == l && sm(o.thread) == sm(t)) return;
            const uint64_t old = s.views[at(l, view_of(t))].value;
            n.threads[t].registers[c.a.reg] = old;
            send(n, l, t, c.atomic == AtomicOp::add ? old + w.value : w.value);
            return emit(std::move(n));
        }
        load(s, t, c, std::move(n), emit);
    }

    // LD, TLD, PRELOAD: a copy if there is one, or what the client sees; then a copy is there.
    template <class Emit>
    void load(const State& s, uint32_t t, const Instruction& c, State n, Emit&& emit) const {
        const uint32_t l = location(c);
        const bool texture = c.form == "TLD";
        const bool cached = test_.threads[t].kind == ThreadKind::thread && !c.reads_only;
        const auto take = [&](State& to, uint64_t value) {
            if (c.a.kind == Operand::Kind::reg) to.threads[t].registers[c.a.reg] = value;
        };
        if (cached)
            for (const Copy& x : s.copies)
                if (x.sm == sm(t) && x.texture == texture && x.location == l) {
                    State hit = n;
                    take(hit, x.value);
                    emit(std::move(hit));
                }
        // Without a copy, or after it was evicted.
        const uint64_t value = below_caches(s, t, l);
        take(n, value);
        if (cached) {
            std::erase_if(n.copies, [&](const Copy& x) {
                return x.sm == sm(t) && x.texture == texture && x.location == l;
            });
            n.copies.push_back({texture, sm(t), l, value});
            std::sort(n.copies.begin(), n.copies.end());
        }
        emit(std::move(n));
    }

    // Waits until the thread's stores have come as far as its level says; then empties what it
    // names.
    template <class Emit>
    void membar(const State& s, uint32_t t, const Instruction& c, State n, Emit&& emit) const {
        if (c.scope >= in_channel)
            for (const AtSm& o : s.near)
                if (o.thread == t) return;
        for (const OnItsWay& p : s.far)
            if (p.thread == t && level(t, p.view) <= c.scope) return;
        std::erase_if(n.copies, [&](const Copy& x) {
            return x.sm == sm(t) && (c.restriction & (x.texture ? 2u : 1u));
        });
        emit(std::move(n));
    }

    const Test& test_;
    std::vector<Client> views_;
};

}  // namespace

Result<Report> explore_caches(const Test& test, const Limits& limits) {
    for (const Thread& t : test.threads)
        for (const Instruction& i : t.code)
            if (i.op != Op::sass && i.op > Op::branch_if_not_equal)
                return make_error(ErrorCode::input, t.id,
                                  "'" + i.text + "' has no meaning in the model 'caches'");
    CacheMachine machine(test);
    return search_states(machine, test, limits);
}

}  // namespace sassemu::explore
