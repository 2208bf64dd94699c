// SPDX-License-Identifier: Apache-2.0
// The model `caches`: an incoherent L1 and texture cache per SM, virtual channels, other clients of
// the GPU and the system. docs/litmus.md, section 7 (the machine of the SPA 5.0 page on MEMBAR).
#include <algorithm>

#include "emu/explore/operational.hpp"
#include "emu/explore/sass_fetch.hpp"
#include "emu/memory/perform.hpp"

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
        SassState sass;
    };

    // `coherent`: memory is one, and every operation is performed as it is fetched (model `flat`).
    CacheMachine(const Test& test, bool coherent, const SearchBudget& budget)
        : test_(test), coherent_(coherent), budget_(budget) {
        if (test.sass) fetch_ = std::make_unique<SassFetch>(test);
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
        if (fetch_) {
            s.sass = fetch_->start();
            for (uint32_t t = 0; t < s.threads.size(); ++t)
                if (test_.threads[t].sass)
                    fetch_->start_registers(t, s.threads[t].pc, s.threads[t].registers);
            for (uint32_t c = 0; c < fetch_->cells(); ++c)
                for (size_t v = 0; v < views_.size(); ++v)
                    s.views.push_back({0, fetch_->initial(c)});
            start_launch(s);
            return s;
        }
        for (const Location& l : test_.locations)
            for (size_t v = 0; v < views_.size(); ++v)
                s.views.push_back({0, test_.names[find_name(test_, l.name)].initial});
        return s;
    }

    std::string key(const State& s) const {
        Key k;
        for (uint32_t n = 0; n < s.threads.size(); ++n) {
            const ThreadState& t = s.threads[n];
            if (test_.threads[n].sass) {
                // Registers that are read again: others do not tell states apart.
                k.add(t.pc);
                for (size_t r = 0; r < t.registers.size(); ++r)
                    if (fetch_->live(n, t.pc, r)) k.add(t.registers[r]);
            } else {
                k.add(static_cast<const Runner&>(t));
            }
            k.add(t.window.size());
            for (const Waiting& w : t.window) k.add(w.instruction).add(w.value);
        }
        k.add(s.near.size());
        for (const AtSm& o : s.near) k.add(o.location).add(o.thread).add(o.value);
        std::vector<OnItsWay> far = s.far;
        std::sort(far.begin(), far.end(), [](const OnItsWay& a, const OnItsWay& b) {
            return std::tie(a.location, a.view, a.time) < std::tie(b.location, b.view, b.time);
        });
        k.add(far.size());
        // Of the times only their order at a location tells states apart.
        std::vector<uint64_t> times;
        const size_t views = views_.size();
        for (uint32_t l = 0; l * views < s.views.size(); ++l) {
            times.clear();
            for (size_t v = 0; v < views; ++v) times.push_back(s.views[l * views + v].time);
            for (const OnItsWay& p : far)
                if (p.location == l) times.push_back(p.time);
            std::sort(times.begin(), times.end());
            times.erase(std::unique(times.begin(), times.end()), times.end());
            const auto rank = [&](uint64_t time) {
                return static_cast<uint64_t>(std::lower_bound(times.begin(), times.end(), time) -
                                             times.begin());
            };
            for (size_t v = 0; v < views; ++v)
                k.add(rank(s.views[l * views + v].time)).add(s.views[l * views + v].value);
            for (const OnItsWay& p : far)
                if (p.location == l) k.add(p.view).add(p.thread).add(rank(p.time)).add(p.value);
        }
        for (const Copy& c : s.copies)
            k.add(c.texture).add(static_cast<uint64_t>(c.sm)).add(c.location).add(c.value);
        std::string out = k.take();
        if (fetch_) fetch_->key(s.sass, out);
        return out;
    }

    template <class Emit>
    void next(const State& s, Emit&& emit) const {
        if (fetch_ && between_launches(s)) {
            State n = s;
            start_launch(n);
            return emit(std::move(n));
        }
        const auto all = static_cast<uint32_t>(s.threads.size());
        // What a thread does by itself commutes with all that others do: no other move need come
        // before it.
        if (fetch_)
            for (uint32_t t = 0; t < s.threads.size(); ++t) {
                mover_ = t;
                if (test_.threads[t].sass && fetch_words(s, t, emit, true)) return;
            }
        for (size_t i = 0; i < s.near.size(); ++i) {
            mover_ = all + s.near[i].thread;
            to_channel(s, i, emit);
        }
        for (size_t i = 0; i < s.far.size(); ++i) {
            mover_ = 2 * all + s.far[i].thread;
            arrive(s, i, emit);
        }
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            mover_ = t;
            if (test_.threads[t].sass)
                fetch_words(s, t, emit, false);
            else
                fetch(s, t, emit);
            mover_ = 3 * all + t;
            for (size_t i = 0; i < s.threads[t].window.size(); ++i)
                if (may_perform(s, t, i)) perform(s, t, i, emit);
        }
    }

    bool ended(const State& s) const {
        if (!s.near.empty() || !s.far.empty()) return false;
        for (size_t t = 0; t < s.threads.size(); ++t) {
            if (!s.threads[t].window.empty()) return false;
            if (fetch_ ? !s.sass.threads[t].ended : s.threads[t].pc < test_.threads[t].code.size())
                return false;
        }
        return true;
    }

    uint64_t shown(const State& s, const Condition& c) const {
        if (c.kind == Condition::Kind::reg) return s.threads[c.thread].registers[c.reg];
        const Name& name = test_.names[c.name];
        if (!fetch_) return last_value(s, name.location);
        const uint64_t first = name.offset + c.first,
                       bytes = std::min<uint64_t>(8, c.bytes ? c.bytes : name.bytes);
        uint64_t out = 0;
        for (uint64_t k = 0; k < bytes; ++k) {
            const uint64_t cell = last_value(s, fetch_->cell_of(name.location, first + k));
            out |= (cell >> 8 * ((first + k) % 4) & 0xff) << 8 * k;
        }
        return out;
    }
    // Who made the step that next() is showing: a thread, what it has under way, or its stores.
    uint32_t mover() const { return mover_; }
    std::string problem() const { return fetch_ ? fetch_->problem() : std::string(); }

  private:
    uint64_t last_value(const State& s, uint32_t location) const {
        Seen last;
        for (uint32_t v = 0; v < views_.size(); ++v) {
            const Seen& here = s.views[at(location, v)];
            if (here.time >= last.time) last = here;
        }
        return last.value;
    }
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
        return test_.threads[thread].sass ? words_[w.instruction]
                                          : test_.threads[thread].code[w.instruction];
    }
    uint32_t location(const Instruction& i) const {
        return fetch_ ? static_cast<uint32_t>(i.b.value) : test_.names[i.b.name].location;
    }
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

    // The threads of the next launch start when those of the one before have ended and what they
    // stored has arrived; copies do not outlive a launch.
    void start_launch(State& s) const {
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            if (s.sass.threads[t].ended) continue;
            if (s.sass.threads[t].started) return;
            const uint32_t launch = test_.sass->thread(t).launch;
            for (uint32_t o = t; o < s.threads.size(); ++o)
                if (test_.threads[o].sass && test_.sass->thread(o).launch == launch)
                    s.sass.threads[o].started = true;
            s.copies.clear();
            return;
        }
    }

    bool between_launches(const State& s) const {
        if (!s.near.empty() || !s.far.empty()) return false;
        bool more = false;
        for (const auto& t : s.sass.threads) {
            if (!t.ended && t.started) return false;
            more |= !t.ended;
        }
        return more;
    }

    // Machine code: up to the next operation on memory that others see. With `alone` only if there
    // is none; whether there was a move.
    template <class Emit>
    bool fetch_words(const State& s, uint32_t t, Emit&& emit, bool alone) const {
        constexpr int most_steps = 1 << 20;
        State n = s;
        bool moved = false, touched = false;
        std::vector<Instruction> out;
        std::vector<uint64_t> values;
        fetch_->touched();
        for (int steps = 0; steps < most_steps && !budget_.over(); ++steps) {
            std::vector<uint32_t> awaited;
            ThreadState& r = n.threads[t];
            for (const Waiting& w : r.window)
                if (code(t, w).a.kind == Operand::Kind::reg) awaited.push_back(code(t, w).a.reg);
            const SassFetch::What what =
                fetch_->step(n.sass, t, r.pc, r.registers, awaited, r.window.empty(), out, values);
            touched = fetch_->touched();
            if (what == SassFetch::What::blocked) break;
            moved = true;
            if (what == SassFetch::What::operations || touched) break;
            if (n.sass.threads[t].ended || n.sass.threads[t].barrier >= 0) break;
        }
        if (!moved || (alone && (touched || !out.empty()))) return false;
        for (size_t k = 0; k < out.size(); ++k) {
            if (coherent_) {
                perform_now(n, t, out[k], values[k]);
                continue;
            }
            n.threads[t].window.push_back({intern(std::move(out[k])), values[k]});
        }
        emit(std::move(n));
        return true;
    }

    uint32_t intern(Instruction i) const {
        const std::string key =
            i.form + "|" + std::to_string(i.b.value) + "|" + std::to_string(i.scope) + "|" +
            std::to_string(i.reads_only) + "|" + std::to_string(i.group) + "|" +
            std::to_string(i.a.kind == Operand::Kind::reg ? static_cast<int64_t>(i.a.reg) : -1) +
            "|" + std::to_string(i.instance) + "|" + std::to_string(i.d.value);
        const auto [it, fresh] = interned_.try_emplace(key, static_cast<uint32_t>(words_.size()));
        if (fresh) words_.push_back(std::move(i));
        return it->second;
    }

    // What an atomic operation makes of the old value: as its word says, or of the two that texts
    // have.
    static uint64_t modified(const Instruction& c, uint64_t old, uint64_t value) {
        if (c.instance < 0) return c.atomic == AtomicOp::add ? old + value : value;
        const auto op = static_cast<sassemu::AtomicOp>(c.instance & 0xff);
        return static_cast<uint32_t>(
            atomic_result(op, static_cast<AtomicType>(c.instance >> 8), old, value, c.d.value));
    }

    void perform_now(State& n, uint32_t t, const Instruction& c, uint64_t value) const {
        if (c.form == "MEMBAR" || c.form == "CCTL" || c.form == "CCTLT") return;
        const uint32_t l = location(c);
        const uint64_t old = n.views[at(l, 0)].value;
        if (c.a.kind == Operand::Kind::reg) n.threads[t].registers[c.a.reg] = old;
        if (c.form == "LD" || c.form == "TLD") return;
        for (uint32_t v = 0; v < views_.size(); ++v)
            n.views[at(l, v)].value = c.form == "ST" ? value : modified(c, old, value);
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
        // What goes past the L1 leaves no copy there: a thread never reads what is older than its
        // own.
        const bool past = fetch_ && (c.form == "ATOM" || (c.form == "LD" && c.reads_only));
        if (past) std::erase_if(n.copies, [&](const Copy& x) { return mine(x, false); });
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
            if (c.a.kind == Operand::Kind::reg) n.threads[t].registers[c.a.reg] = old;
            send(n, l, t, modified(c, old, w.value));
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
    // names. In machine code what the thread may have seen goes with them: one thread fences for
    // those that it has met at a barrier.
    template <class Emit>
    void membar(const State& s, uint32_t t, const Instruction& c, State n, Emit&& emit) const {
        if (c.scope >= in_channel)
            for (const AtSm& o : s.near)
                if (o.thread == t || (fetch_ && sm(o.thread) == sm(t))) return;
        for (const OnItsWay& p : s.far)
            if ((p.thread == t || fetch_) && level(p.thread, p.view) <= c.scope) return;
        std::erase_if(n.copies, [&](const Copy& x) {
            return x.sm == sm(t) && (c.restriction & (x.texture ? 2u : 1u));
        });
        emit(std::move(n));
    }

    const Test& test_;
    const bool coherent_;
    const SearchBudget& budget_;
    std::vector<Client> views_;
    std::unique_ptr<SassFetch> fetch_;        // of threads in machine code
    mutable std::vector<Instruction> words_;  // what they have done to global memory
    mutable std::map<std::string, uint32_t> interned_;
    mutable uint32_t mover_ = 0;
};

}  // namespace

Result<Report> explore_caches(const Test& test, const Limits& limits, bool coherent,
                              const Sampling& sampling) {
    if (coherent && !test.sass)
        return make_error(ErrorCode::input, "model 'flat'",
                          "is for tests in machine code (.sass files and launch plans)");
    for (const Thread& t : test.threads)
        for (const Instruction& i : t.code)
            if (i.op != Op::sass && i.op > Op::branch_if_not_equal && !test.sass)
                return make_error(ErrorCode::input, t.id,
                                  "'" + i.text + "' has no meaning in the model '" +
                                      (coherent ? "flat'" : "caches'"));
    const SearchBudget budget(limits);
    CacheMachine machine(test, coherent, budget);
    Report report = sampling.executions ? sample_states(machine, test, budget, sampling)
                                        : search_states(machine, test, budget);
    if (report.error = machine.problem(); !report.error.empty()) report.verdict = Verdict::error;
    return report;
}

}  // namespace sassemu::explore
