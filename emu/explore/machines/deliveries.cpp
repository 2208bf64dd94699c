// SPDX-License-Identifier: Apache-2.0
// The model `nvshmem`: symmetric memory, and operations on other PEs as deliveries that happen
// later. docs/litmus.md, section 6 (the order and completion rules of nvshmem_fence and
// nvshmem_quiet).
#include <algorithm>

#include "emu/explore/machines/operational.hpp"

namespace sassemu::explore {
namespace {

constexpr uint64_t most_values = 1 << 20;  // in a state

// A PE's copy of a location.
struct Cell {
    uint32_t location = 0;
    uint32_t pe = 0;  // an index of pes
    bool operator==(const Cell&) const = default;
};

// What is on its way. A nbi get and the value that a nbi fetching AMO brings back are reads whose
// result is written to this PE's own memory.
struct Delivery {
    enum class Kind : uint8_t { put, put_nbi, add, fetch_nbi, get_nbi, value } kind;
    uint32_t number, thread, epoch;
    Cell to, from;  // from: put_nbi, get_nbi: what is read; fetch_nbi: where the
                    // value goes
    uint64_t payload = 0;
    bool is_get() const { return kind == Kind::get_nbi || kind == Kind::value; }
};

struct PendingLoad {
    uint32_t reg;
    Cell from;
};

class DeliveryMachine {
  public:
    struct ThreadState : Runner {
        std::vector<PendingLoad> loads;
        uint32_t epoch = 0;  // how many fences
        bool started = true;
    };
    // InfiniBand: a delivery that has not reached this PE's view yet.
    struct Spread {
        Cell to;
        uint32_t viewer;
        uint64_t value;
    };
    struct State {
        std::vector<ThreadState> threads;
        std::vector<Delivery> flying;
        std::vector<uint64_t> memory;  // [location][pe][viewer]
        std::vector<Spread> spreading;
    };

    explicit DeliveryMachine(const Test& test) : test_(test) {
        const auto option = test.options.find("transport");
        infiniband_ = option != test.options.end() && option->second == "ib";
        for (const Thread& t : test.threads) {
            add_pe(t.gpu);
            for (const Instruction& i : t.code)
                for_operands(i.what, Overloaded{[&](const Place& at) {
                                                    if (at.pe >= 0) add_pe(at.pe);
                                                },
                                                [](const auto&) {}});
        }
        for (const Condition* c : leaves(*test.condition)) add_pe(std::max(c->pe, 0));
        std::sort(pes_.begin(), pes_.end());
    }

    // Every PE sees every PE's copy of every location.
    uint64_t values() const { return test_.locations.size() * pes_.size() * pes_.size(); }

    State start() const {
        State s;
        for (const Thread& t : test_.threads) {
            ThreadState r;
            r.registers = t.initial;
            r.started = t.starts;
            s.threads.push_back(std::move(r));
        }
        for (uint32_t l = 0; l < test_.locations.size(); ++l)
            for (const int32_t pe : pes_)
                for (size_t viewer = 0; viewer < pes_.size(); ++viewer) {
                    const uint32_t name = find_name(test_, test_.locations[l].name);
                    const auto own = test_.initial_at.find({name, pe});
                    s.memory.push_back(own == test_.initial_at.end() ? test_.names[name].initial
                                                                     : own->second);
                }
        return s;
    }

    std::string key(const State& s) const {
        Key k;
        for (const ThreadState& t : s.threads) {
            k.add(static_cast<const Runner&>(t)).add(t.epoch).add(t.started).add(t.loads.size());
            for (const PendingLoad& l : t.loads) k.add(l.reg).add(l.from.location).add(l.from.pe);
        }
        // Equal sets of deliveries in flight are equal states: numbers only say who came first.
        std::vector<Delivery> flying = s.flying;
        std::sort(flying.begin(), flying.end(), [](const Delivery& a, const Delivery& b) {
            return std::pair{a.thread, a.number} < std::pair{b.thread, b.number};
        });
        k.add(flying.size());
        for (const Delivery& d : flying)
            k.add(static_cast<uint64_t>(d.kind))
                .add(d.thread)
                .add(d.epoch)
                .add(d.to.location)
                .add(d.to.pe)
                .add(d.from.location)
                .add(d.from.pe)
                .add(d.payload);
        for (const uint64_t v : s.memory) k.add(v);
        for (const Spread& p : s.spreading)
            k.add(p.to.location).add(p.to.pe).add(p.viewer).add(p.value);
        return k.take();
    }

    template <class Emit>
    void next(const State& s, Emit&& emit) const {
        const auto all = static_cast<uint32_t>(s.threads.size());
        mover_ = all;
        spread(s, emit);
        for (size_t i = 0; i < s.flying.size(); ++i) {
            mover_ = all + 1 + static_cast<uint32_t>(i);
            deliver(s, i, emit);
        }
        mover_ = all;
        meet(s, emit);
        for (mover_ = 0; mover_ < all; ++mover_) step(s, mover_, emit);
    }
    uint32_t mover() const { return mover_; }  // who makes the step that next() is showing

    bool ended(const State& s) const {
        if (!s.flying.empty() || !s.spreading.empty()) return false;
        for (size_t t = 0; t < s.threads.size(); ++t)
            if (s.threads[t].pc < test_.threads[t].code.size() || !s.threads[t].loads.empty())
                return false;
        return true;
    }

    uint64_t shown(const State& s, const Condition& c) const {
        if (c.kind == Condition::Kind::reg) return s.threads[c.thread].registers[c.reg];
        const uint32_t pe = index_of(std::max(c.pe, 0));
        return s.memory[at({test_.names[c.name].location, pe}, pe)];
    }

  private:
    void add_pe(int32_t pe) {
        if (std::find(pes_.begin(), pes_.end(), pe) == pes_.end()) pes_.push_back(pe);
    }
    uint32_t index_of(int32_t pe) const {
        return static_cast<uint32_t>(std::find(pes_.begin(), pes_.end(), pe) - pes_.begin());
    }
    uint32_t pe_of(uint32_t thread) const { return index_of(test_.threads[thread].gpu); }
    size_t at(Cell p, uint32_t viewer) const {
        return (p.location * pes_.size() + p.pe) * pes_.size() + viewer;
    }
    Cell cell(const Place& at, uint32_t thread) const {
        return {test_.names[at.name].location, at.pe >= 0 ? index_of(at.pe) : pe_of(thread)};
    }

    // The PE itself sees it now; over NVLink everybody does.
    void write(State& s, Cell to, uint64_t value) const {
        const uint64_t bytes = test_.locations[to.location].bytes;
        if (bytes < 8) value &= (uint64_t{1} << 8 * bytes) - 1;
        for (uint32_t viewer = 0; viewer < pes_.size(); ++viewer) {
            if (viewer == to.pe || !infiniband_)
                s.memory[at(to, viewer)] = value;
            else
                s.spreading.push_back({to, viewer, value});
        }
    }

    template <class Emit>
    void spread(const State& s, Emit&& emit) const {
        for (size_t i = 0; i < s.spreading.size(); ++i) {
            const Spread& p = s.spreading[i];
            const bool first = std::none_of(
                s.spreading.begin(), s.spreading.begin() + static_cast<std::ptrdiff_t>(i),
                [&](const Spread& q) { return q.to == p.to && q.viewer == p.viewer; });
            if (!first) continue;
            State n = s;
            n.memory[at(p.to, p.viewer)] = p.value;
            n.spreading.erase(n.spreading.begin() + static_cast<std::ptrdiff_t>(i));
            emit(std::move(n));
        }
    }

    // Rules (a) and (b): after what a fence of the thread put before it to this PE, and after the
    // thread's earlier operations on the same bytes. Gets are ordered by nothing.
    static bool may_arrive(const State& s, const Delivery& d) {
        return std::none_of(s.flying.begin(), s.flying.end(), [&](const Delivery& e) {
            return e.thread == d.thread && e.number < d.number && !e.is_get() &&
                   e.to.pe == d.to.pe && (e.epoch < d.epoch || e.to == d.to);
        });
    }

    template <class Emit>
    void deliver(const State& s, size_t i, Emit&& emit) const {
        using Kind = Delivery::Kind;
        const Delivery d = s.flying[i];
        const uint32_t own = pe_of(d.thread);
        State gone = s;
        gone.flying.erase(gone.flying.begin() + static_cast<std::ptrdiff_t>(i));
        const auto instead = [&](Delivery other) {
            State n = s;
            n.flying[i] = other;
            emit(std::move(n));
        };
        if (d.kind == Kind::get_nbi || d.kind == Kind::put_nbi) {
            Delivery read = d;  // the source is read at any time before
            read.kind = d.kind == Kind::get_nbi ? Kind::value : Kind::put;
            read.payload = s.memory[at(d.from, own)];
            instead(read);
            return;
        }
        if (d.kind == Kind::value) {
            write(gone, d.to, d.payload);
            emit(std::move(gone));
            return;
        }
        if (!may_arrive(s, d)) return;
        const uint64_t old = s.memory[at(d.to, d.to.pe)];
        write(gone, d.to, d.kind == Kind::put ? d.payload : old + d.payload);
        if (d.kind == Kind::fetch_nbi) {
            Delivery back = d;
            back.kind = Kind::value;
            back.to = d.from;
            back.payload = old;
            gone.flying.push_back(back);
        }
        emit(std::move(gone));
    }

    static bool quiet(const State& s, uint32_t thread) {
        return std::none_of(s.flying.begin(), s.flying.end(),
                            [&](const Delivery& d) { return d.thread == thread; });
    }

    static bool is_barrier(const Instruction& i) {
        const auto* o = std::get_if<op::ShmemOrder>(&i.what);
        return o && o->what == op::ShmemOrder::What::barrier_all;
    }

    // nvshmem_barrier_all: a quiet and a meeting of all threads that call it.
    template <class Emit>
    void meet(const State& s, Emit&& emit) const {
        bool any = false;
        State n = s;
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            const auto& code = test_.threads[t].code;
            if (!std::any_of(code.begin(), code.end(), is_barrier)) continue;
            const ThreadState& r = s.threads[t];
            if (!r.started || r.pc >= code.size() || !is_barrier(code[r.pc]) || !r.loads.empty() ||
                !quiet(s, t))
                return;
            any = true;
            ++n.threads[t].pc;
            ++n.threads[t].epoch;
        }
        if (any) emit(std::move(n));
    }

    // A delivery of this thread to these bytes that it would have to see itself.
    static bool mine_to(const State& s, uint32_t thread, Cell p) {
        return std::any_of(s.flying.begin(), s.flying.end(), [&](const Delivery& d) {
            return d.thread == thread && d.to == p && !d.is_get();
        });
    }

    template <class Emit>
    void step(const State& s, uint32_t t, Emit&& emit) const {
        const ThreadState& r = s.threads[t];
        if (!r.started) return;
        const uint32_t own = pe_of(t);
        for (size_t i = 0; i < r.loads.size(); ++i) {
            const Cell from = r.loads[i].from;
            const bool first =
                std::none_of(r.loads.begin(), r.loads.begin() + static_cast<std::ptrdiff_t>(i),
                             [&](const PendingLoad& l) { return l.from == from; });
            if (!first || mine_to(s, t, from)) continue;
            State n = s;
            n.threads[t].registers[r.loads[i].reg] = s.memory[at(from, own)];
            n.threads[t].loads.erase(n.threads[t].loads.begin() + static_cast<std::ptrdiff_t>(i));
            emit(std::move(n));
        }
        const auto& code = test_.threads[t].code;
        if (r.pc >= code.size()) return;
        const Instruction& c = code[r.pc];
        std::vector<uint32_t> open;
        for (const PendingLoad& l : r.loads) open.push_back(l.reg);
        if (touches(c, open)) return;
        State n = s;
        if (step_plain(n.threads[t], c.what)) return emit(std::move(n));
        ++n.threads[t].pc;
        if (std::visit([&](const auto& o) { return execute(s, t, o, n); }, c.what))
            emit(std::move(n));
    }

    void fly(const State& s, State& n, uint32_t t, Delivery::Kind kind, Cell to, Cell from,
             uint64_t payload) const {
        n.flying.push_back({kind, next_number(s), t, s.threads[t].epoch, to, from, payload});
    }
    static uint32_t next_number(const State& s) {
        uint32_t number = 0;
        for (const Delivery& d : s.flying) number = std::max(number, d.number + 1);
        return number;
    }

    // What the thread's operation makes of the state; false: it has to wait.
    bool execute(const State&, uint32_t t, const op::Load& o, State& n) const {
        n.threads[t].loads.push_back({o.to.number, cell(o.at, t)});
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::Store& o, State& n) const {
        fly(s, n, t, Delivery::Kind::put, cell(o.at, t), {}, value_of(s.threads[t], o.value));
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::Fence&, State&) const {
        return s.threads[t].loads.empty();
    }
    bool execute(const State&, uint32_t, const op::Launch& o, State& n) const {
        n.threads[o.thread].started = true;
        return true;
    }
    bool execute(const State& s, uint32_t, const op::Join& o, State&) const {
        const ThreadState& other = s.threads[o.thread];
        return other.started && other.pc >= test_.threads[o.thread].code.size() &&
               other.loads.empty();
    }
    bool execute(const State& s, uint32_t t, const op::ShmemPut& o, State& n) const {
        fly(s, n, t, o.adds ? Delivery::Kind::add : Delivery::Kind::put, cell(o.to, t), {},
            value_of(s.threads[t], o.value));
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::ShmemCopy& o, State& n) const {
        const Cell to = cell(o.to, t), from = cell(o.from, t);
        if (o.nbi) {
            fly(s, n, t, o.gets ? Delivery::Kind::get_nbi : Delivery::Kind::put_nbi, to, from, 0);
            return true;
        }
        if (mine_to(s, t, from)) return false;
        const uint64_t v = s.memory[at(from, pe_of(t))];
        if (o.gets)
            write(n, to, v);
        else
            fly(s, n, t, Delivery::Kind::put, to, {}, v);
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::ShmemGet& o, State& n) const {
        const Cell from = cell(o.from, t);
        if (mine_to(s, t, from)) return false;
        n.threads[t].registers[o.to.number] = s.memory[at(from, pe_of(t))];
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::ShmemFetchAddNbi& o, State& n) const {
        fly(s, n, t, Delivery::Kind::fetch_nbi, cell(o.at, t), cell(o.to, t),
            value_of(s.threads[t], o.value));
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::ShmemFetchAdd& o, State& n) const {
        const Cell to = cell(o.at, t);
        if (!may_arrive(s, {Delivery::Kind::add, next_number(s), t, s.threads[t].epoch, to, {}, 0}))
            return false;
        const uint64_t old = s.memory[at(to, to.pe)];
        write(n, to, old + value_of(s.threads[t], o.value));
        n.threads[t].registers[o.to.number] = old;
        return true;
    }
    bool execute(const State& s, uint32_t t, const op::ShmemOrder& o, State& n) const {
        using What = op::ShmemOrder::What;
        if (o.what == What::fence) ++n.threads[t].epoch;
        if (o.what == What::quiet) return quiet(s, t);
        if (o.what == What::quiet_on_stream)
            for (const Instruction& i : test_.threads[t].code)
                if (const auto* l = std::get_if<op::Launch>(&i.what); l && !quiet(s, l->thread))
                    return false;
        return o.what != What::barrier_all;  // meet() has it
    }
    bool execute(const State& s, uint32_t t, const op::ShmemWait& o, State& n) const {
        const Cell where = cell(o.at, t);
        const bool holds =
            (s.memory[at(where, pe_of(t))] == value_of(s.threads[t], o.value)) != o.negated;
        if (o.to) n.threads[t].registers[o.to->number] = holds;
        if (o.to && !holds) return true;
        return holds && s.threads[t].loads.empty() && !mine_to(s, t, where);
    }
    template <class Kind>
    bool execute(const State&, uint32_t, const Kind&, State&) const {
        return false;  // explore_deliveries() has refused it, or it is plain
    }

    const Test& test_;
    std::vector<int32_t> pes_;
    bool infiniband_ = false;
    mutable uint32_t mover_ = 0;
};

}  // namespace

Result<Report> explore_deliveries(const Test& test, const Limits& limits,
                                  const Sampling& sampling) {
    for (const Thread& t : test.threads)
        for (const Instruction& i : t.code) {
            if (!is_any<op::Move, op::Compute, op::Branch, op::Load, op::Store, op::Fence,
                        op::Launch, op::Join, op::ShmemOrder, op::ShmemPut, op::ShmemCopy,
                        op::ShmemGet, op::ShmemFetchAdd, op::ShmemFetchAddNbi, op::ShmemWait>(
                    i.what))
                return make_error(ErrorCode::input, t.id,
                                  "'" + i.text + "' has no meaning in the model 'nvshmem'");
        }
    DeliveryMachine machine(test);
    if (machine.values() > most_values)
        return make_error(ErrorCode::input, "threads",
                          "PEs and locations make up more than " + std::to_string(most_values) +
                              " copies of values");
    const SearchBudget budget(limits);
    return sampling.executions ? sample_states(machine, test, budget, sampling)
                               : search_states(machine, test, budget);
}

}  // namespace sassemu::explore
