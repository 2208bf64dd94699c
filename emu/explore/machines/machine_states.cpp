// SPDX-License-Identifier: Apache-2.0
// The threads of a test on a machine of the SDK, every state that they can bring it to: `flat`,
// `caches`, `nvshmem`, a stranger's. docs/litmus.md, sections 6, 7 and 9. What belongs here:
// threads, their loads that are not performed yet, memory. What does not: any machine.
#include <algorithm>
#include <cstring>

#include "emu/explore/machines/explore_machine.hpp"
#include "emu/explore/machines/machine_operations.hpp"
#include "emu/explore/machines/ptx_words.hpp"
#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/state_search.hpp"
#include "emu/explore/machines/test_memory.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu::explore {
namespace {

// Whether the thread does more than to start others and to wait for them.
bool accesses(const Thread& thread) {
    return !std::ranges::all_of(
        thread.code, [](const Statement& i) { return is_any<op::Launch, op::Join>(i.what); });
}

class MachineStates {
  public:
    struct ThreadState : Runner {
        std::vector<MemoryOperation> window;  // loads that are not performed yet
        bool started = true;                  // of a thread of operations
    };
    struct State {
        std::vector<ThreadState> threads;
        ExploredMachine::State machine;
        std::vector<uint8_t> memory;
        SassState sass;
        PtxWords::State words;  // of a scoped machine
    };

    MachineStates(const Test& test, const ExploredMachine& machine, const SearchBudget& budget)
        : test_(test),
          machine_(machine),
          budget_(budget),
          memory_(test, machine.symmetric() && !test.sass),
          does_(test, memory_, machine.symmetric()),
          words_(test, memory_) {
        bytes_.size = sizeof bytes_;
        bytes_.memory = &reached_;
        bytes_.read = [](void* m, uint64_t address, void* to, uint32_t count) {
            const auto& at = *static_cast<const Reached*>(m);
            const std::byte* const near = at.shared(address, count);
            const uint64_t found = near ? 0 : at.states->memory_.find(address, count);
            if (found == at.states->memory_.size()) return -1;
            if (near)
                std::memcpy(to, near, count);
            else
                std::memcpy(to, at.row + found, count);
            return 0;
        };
        bytes_.write = [](void* m, uint64_t address, const void* from, uint32_t count) {
            const auto& at = *static_cast<const Reached*>(m);
            std::byte* const near = at.shared(address, count);
            const uint64_t found = near ? 0 : at.states->memory_.find(address, count);
            if (found == at.states->memory_.size()) return -1;
            if (near)
                std::memcpy(near, from, count);
            else
                std::memcpy(at.row + found, from, count);
            return 0;
        };
        if (test.sass) fetch_ = std::make_unique<SassFetch>(test, machine.scoped());
        if (!memory_.fits())
            problem_ =
                "more than " + std::to_string(TestMemory::most_bytes) + " bytes of global memory";
        for (uint32_t t = 0; t < test.threads.size(); ++t)
            if (!fetch_ || test.threads[t].sass || accesses(test.threads[t]))
                places_.push_back(does_.place(t));
        if (std::ranges::any_of(test.locations,
                                [](const Location& l) { return l.home != SASSEMU_OF_NOBODY; }))
            bytes_.home = [](void* m, uint64_t address) {
                return static_cast<const Reached*>(m)->states->memory_.home(address);
            };
    }

    State start() const {
        State s{{}, {machine_, places_}, memory_.start(), {}, words_.start()};
        for (const Thread& t : test_.threads) {
            ThreadState r;
            r.registers = t.initial;
            r.started = t.starts;
            s.threads.push_back(std::move(r));
        }
        if (!fetch_) return s;
        s.sass = fetch_->start();
        for (uint32_t t = 0; t < s.threads.size(); ++t)
            if (test_.threads[t].sass)
                fetch_->start_registers(t, s.threads[t].pc, s.threads[t].registers);
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
                k.add(static_cast<const Runner&>(t)).add(t.started);
            }
            k.add(t.window.size());
            for (const MemoryOperation& o : t.window) {
                k.add(o.what.address).add(o.what.bytes).add(o.what.proxy).add(o.what.ordering);
                k.add(o.what.scope).add(o.what.flags).add(o.sign);
                for (const int32_t r : o.to) k.add(static_cast<uint32_t>(r));
            }
        }
        std::string out = k.take();
        s.machine.key(out);
        out.append(s.memory.begin(), s.memory.end());
        if (machine_.scoped()) words_.key(s.words, out);
        if (fetch_) fetch_->key(s.sass, out);
        return out;
    }

    template <class Emit>
    void next(const State& s, Emit&& emit) const {
        if (!problem().empty()) return;
        const auto all = static_cast<uint32_t>(s.threads.size());
        // What a thread does by itself commutes with all that others do: no other move need come
        // before it.
        std::vector<Fetched> fetched;
        for (uint32_t t = 0; t < all; ++t) {
            mover_ = t;
            if (!test_.threads[t].sass) {
                if (runs_alone(s, t)) return fetch(s, t, emit);
                continue;
            }
            fetched.push_back(fetch_words(s, t));
            if (Fetched& ahead = fetched.back(); ahead.alone) {
                State n = s;
                put(n, t, std::move(ahead));
                return emit(std::move(n));
            }
        }
        const std::vector<uint64_t> steps = s.machine.steps();
        for (uint32_t k = 0; k < steps.size(); ++k) {
            mover_ = all + static_cast<uint32_t>(steps[k]);
            State n = s;
            n.machine.take(bytes(n), k);
            emit(std::move(n));
        }
        size_t next_fetched = 0;
        for (uint32_t t = 0; t < all; ++t) {
            mover_ = t;
            if (!test_.threads[t].sass) {
                fetch(s, t, emit);
            } else {
                Fetched& ahead = fetched[next_fetched++];
                if (ahead.moved) {
                    const std::vector<MemoryOperation> does = std::move(ahead.does);
                    State n = s;
                    put(n, t, std::move(ahead));
                    perform(std::move(n), t, does, 0, emit);
                }
            }
            mover_ = 2 * all + t;
            for (size_t i = 0; i < s.threads[t].window.size(); ++i) late_load(s, t, i, emit);
        }
    }

    bool ended(const State& s) const {
        if (s.machine.held()) return false;
        for (size_t t = 0; t < s.threads.size(); ++t) {
            if (!s.threads[t].window.empty()) return false;
            if (test_.threads[t].sass ? !s.sass.threads[t].ended
                                      : s.threads[t].pc < test_.threads[t].code.size())
                return false;
        }
        return true;
    }

    uint64_t shown(const State& s, const Condition& c) const {
        if (c.kind == Condition::Kind::reg) return s.threads[c.thread].registers[c.reg];
        const Name& name = test_.names[c.name];
        const TestMemory::Piece& piece = memory_.of(name.location, std::max(c.pe, 0));
        const uint64_t first = name.offset + c.first;
        if (first >= piece.bytes) return 0;
        const uint64_t count =
            std::min({uint64_t{8}, c.bytes ? c.bytes : name.bytes, piece.bytes - first});
        uint64_t out = 0;
        std::memcpy(&out, s.memory.data() + piece.first + first, count);
        return out;
    }
    // Who made the step that next() is showing: a thread, the machine with what the thread stored,
    // or a load of the thread that was under way.
    uint32_t mover() const { return mover_; }
    std::string problem() const {
        if (!problem_.empty() || !fetch_) return problem_;
        return fetch_->problem();
    }

  private:
    // The memory of a state as its machine reaches it, for the calls that follow at once.
    const sassemu_bytes& bytes(State& s) const {
        reached_ = {this, s.memory.data(), &s.sass};
        return bytes_;
    }

    // The first of a launch's threads starts.
    void start_launch(State& s, uint32_t first) const {
        s.sass.threads[first].started = true;
        for (uint32_t t = 0; t < s.threads.size(); ++t)
            if (t != first && test_.threads[t].sass && s.sass.threads[t].started &&
                test_.sass->thread(t).launch == test_.sass->thread(first).launch)
                return;
        s.machine.launch();
    }

    // A thread has ended, and what it stored is everywhere.
    bool join(State& s, uint32_t t, uint32_t by) const {
        const ThreadState& r = s.threads[t];
        if (!r.window.empty()) return false;
        const bool over = test_.threads[t].sass ? s.sass.threads[t].ended
                                                : r.started && r.pc >= test_.threads[t].code.size();
        if (!over) return false;
        if (machine_.scoped()) {
            hand_over(s, t, by, 2 * t + 1);
            return true;
        }
        if (!test_.threads[t].sass) return true;
        MemoryOperation fence = MachineOperations::system_fence();
        fence.what.from = does_.place(t);
        if (!s.machine.ways(bytes(s), fence.what)) return false;
        perform_now(s, t, fence, 0);
        return true;
    }

    // What the one has done comes before all that the other does from here on.
    void hand_over(State& s, uint32_t from, uint32_t to, uint64_t what) const {
        constexpr uint64_t api = uint64_t{4} << 40;
        MemoryOperation arrive = meeting(SASSEMU_OPERATION_ARRIVE, api | what, 0,
                                         SASSEMU_ORDER_RELEASE, SASSEMU_SCOPE_SYS);
        MemoryOperation wait = meeting(SASSEMU_OPERATION_WAIT, api | what, 0, SASSEMU_ORDER_ACQUIRE,
                                       SASSEMU_SCOPE_SYS);
        arrive.what.from = does_.place(from);
        wait.what.from = does_.place(to);
        perform_now(s, from, arrive, 0);
        perform_now(s, to, wait, 0);
    }

    std::vector<uint32_t> awaited(const ThreadState& t) const {
        std::vector<uint32_t> out;
        for (const MemoryOperation& o : t.window)
            for (const int32_t r : o.to)
                if (r >= 0) out.push_back(static_cast<uint32_t>(r));
        return out;
    }

    // Whether nobody sees what the thread of operations does next: a register, a branch, a load
    // that begins.
    bool runs_alone(const State& s, uint32_t t) const {
        const ThreadState& r = s.threads[t];
        const auto& code = test_.threads[t].code;
        if (!r.started || r.pc >= code.size() || touches(code[r.pc], awaited(r))) return false;
        if (is_any<op::Move, op::Compute, op::Branch>(code[r.pc].what)) return true;
        if (machine_.scoped()) return false;
        if (fetch_) return std::holds_alternative<op::Launch>(code[r.pc].what);
        if (std::holds_alternative<op::Load>(code[r.pc].what)) return machine_.late_loads();
        const auto* o = std::get_if<op::OnMachine>(&code[r.pc].what);
        return o && o->until == op::OnMachine::Until::none &&
               o->whose == op::OnMachine::Whose::own && !o->blocks &&
               o->what.kind == SASSEMU_OPERATION_LOAD && machine_.late_loads();
    }

    template <class Emit>
    void fetch(const State& s, uint32_t t, Emit&& emit) const {
        const ThreadState& r = s.threads[t];
        const auto& code = test_.threads[t].code;
        if (!r.started || r.pc >= code.size()) return;
        const Statement& i = code[r.pc];
        if (touches(i, awaited(r))) return;
        State n = s;
        ThreadState& to = n.threads[t];
        const bool off =
            i.guard >= 0 && (r.registers[static_cast<size_t>(i.guard)] != 0) == i.guard_inverted;
        if (!off && step_plain(to, i.what)) return emit(std::move(n));
        if (machine_.scoped() && !off && !is_any<op::Launch, op::Join>(i.what)) {
            std::vector<MemoryOperation> all;
            const PtxWords::What what = words_.step(n.words, t, to, i.what, all);
            if (what == PtxWords::What::blocked) return;
            if (what == PtxWords::What::past) ++to.pc;
            n.words.threads[t].ended = to.pc >= code.size();
            return perform(std::move(n), t, all, 0, emit);
        }
        ++to.pc;
        if (off) return emit(std::move(n));
        if (!machine_.symmetric() && is_any<op::Load, op::Store, op::Atomic, op::Fence>(i.what))
            return perform(std::move(n), t, does_.of_host(r, i.what), 0, emit);
        std::visit(Overloaded{[&](const op::OnMachine& o) { operate(std::move(n), t, o, emit); },
                              [&](const op::Load& o) {
                                  op::OnMachine load{};
                                  load.to = o.to;
                                  load.at = o.at;
                                  load.what.kind = SASSEMU_OPERATION_LOAD;
                                  operate(std::move(n), t, load, emit);
                              },
                              [&](const op::Store& o) {
                                  op::OnMachine store{};
                                  store.at = o.at;
                                  store.value = o.value;
                                  store.what.kind = SASSEMU_OPERATION_STORE;
                                  operate(std::move(n), t, store, emit);
                              },
                              [&](const op::Fence&) {  // orders loads, and nothing that is sent
                                  if (r.window.empty()) emit(std::move(n));
                              },
                              [&](const op::Launch& o) {
                                  if (machine_.scoped() && !r.window.empty()) return;
                                  n.threads[o.thread].started = true;
                                  if (machine_.scoped()) hand_over(n, t, o.thread, 2 * o.thread);
                                  if (test_.threads[o.thread].sass) start_launch(n, o.thread);
                                  emit(std::move(n));
                              },
                              [&](const op::Join& o) {
                                  if (join(n, o.thread, t)) emit(std::move(n));
                              },
                              [](const auto&) {}},
                   i.what);
    }

    template <class Emit>
    void operate(State n, uint32_t t, const op::OnMachine& form, Emit&& emit) const {
        using Whose = op::OnMachine::Whose;
        const MemoryOperation o = does_.of_text(n.threads[t], t, form);
        if (form.until != op::OnMachine::Until::none) return look(std::move(n), t, o, form, emit);
        if (form.whose == Whose::own) return perform(std::move(n), t, {o}, 0, emit);
        if (form.whose == Whose::all) {
            if (meet(n, t)) emit(std::move(n));
            return;
        }
        for (const Statement& i : test_.threads[t].code)
            if (const auto* l = std::get_if<op::Launch>(&i.what); l && !quiet(n, l->thread)) return;
        emit(std::move(n));
    }

    bool quiet(State& n, uint32_t t) const {
        MemoryOperation o(SASSEMU_OPERATION_QUIET);
        o.what.from = does_.place(t);
        return n.machine.ways(bytes(n), o.what);
    }

    // nvshmem_barrier_all: a quiet and a meeting of all threads that call it, `last` among them.
    bool meet(State& n, uint32_t last) const {
        const auto meets = [](const Statement& i) {
            const auto* o = std::get_if<op::OnMachine>(&i.what);
            return o && o->whose == op::OnMachine::Whose::all;
        };
        for (uint32_t t = 0; t < n.threads.size(); ++t) {
            const auto& code = test_.threads[t].code;
            if (std::ranges::none_of(code, meets)) continue;
            ThreadState& r = n.threads[t];
            if (t == last) --r.pc;
            if (!r.started || r.pc >= code.size() || !meets(code[r.pc]) || !r.window.empty() ||
                !quiet(n, t))
                return false;
            ++r.pc;
        }
        return true;
    }

    // Waits until the value compares so, or says whether it does. Nothing moves over it then.
    template <class Emit>
    void look(State n, uint32_t t, const MemoryOperation& o, const op::OnMachine& form,
              Emit&& emit) const {
        ThreadState& r = n.threads[t];
        MemoryOperation early = o;
        early.what.early = 1;
        n.machine.perform(bytes(n), early.what, 0, early.value.data());
        uint64_t found = 0;
        std::memcpy(&found, early.value.data(), o.what.bytes);
        const bool equal = found == value_of(r, form.value);
        const bool holds = equal == (form.until == op::OnMachine::Until::equal);
        if (holds ? !r.window.empty() || !n.machine.ways(bytes(n), o.what) : !form.to) return;
        if (form.to) r.registers[form.to->number] = holds;
        emit(std::move(n));
    }

    // A thread of machine code up to its next operation on memory that others see.
    struct Fetched {
        ThreadState thread;
        SassState sass;
        std::vector<MemoryOperation> does;  // is past these, and they are not performed yet
        bool moved = false;
        bool alone = false;  // nobody sees what it did
    };

    Fetched fetch_words(const State& s, uint32_t t) const {
        constexpr int most_steps = 1 << 20;
        Fetched f{s.threads[t], s.sass, {}, false, false};
        ThreadState& r = f.thread;
        bool touched = false;
        fetch_->touched();
        for (int steps = 0; steps < most_steps && !budget_.over(); ++steps) {
            const SassFetch::What what =
                fetch_->step(f.sass, t, r.pc, r.registers, awaited(r), r.window.empty(), f.does);
            touched = fetch_->touched();
            if (what == SassFetch::What::blocked) break;
            f.moved = true;
            // Others see a late load when it is performed, not when it begins.
            const bool begins = what == SassFetch::What::operations && !touched &&
                                std::ranges::all_of(f.does, [&](const auto& o) { return late(o); });
            if (begins) {
                for (MemoryOperation& o : f.does) {
                    o.what.from = does_.place(t);
                    r.window.push_back(o);
                }
                f.does.clear();
            }
            if (begins || !f.does.empty() || touched) break;
            if (f.sass.threads[t].ended || f.sass.threads[t].barrier >= 0) break;
        }
        f.alone = f.moved && !touched && f.does.empty();
        return f;
    }
    static void put(State& s, uint32_t t, Fetched f) {
        s.threads[t] = std::move(f.thread);
        s.sass = std::move(f.sass);
    }

    bool late(const MemoryOperation& o) const {
        return o.is(SASSEMU_OPERATION_LOAD) && !o.blocks && machine_.late_loads();
    }

    // What the thread does next, in every way in which the machine can do it. A load of a machine
    // that has late ones only begins here. Nothing where a step, or a load that is under way, must
    // come first.
    template <class Emit>
    void perform(State n, uint32_t t, const std::vector<MemoryOperation>& all, size_t first,
                 Emit&& emit) const {
        if (first == all.size()) return emit(std::move(n));
        MemoryOperation o = all[first];
        auto& window = n.threads[t].window;
        o.what.from = does_.place(t);
        if (late(o)) {
            window.push_back(o);
            return perform(std::move(n), t, all, first + 1, emit);
        }
        if (o.orders(machine_.scoped())
                ? !window.empty()
                : std::ranges::any_of(window,
                                      [&](const MemoryOperation& w) { return w.overlaps(o); }))
            return;
        const uint32_t ways = n.machine.ways(bytes(n), o.what);
        const auto go = [&](State next, uint32_t way) {
            perform_now(next, t, o, way);
            perform(std::move(next), t, all, first + 1, emit);
        };
        for (uint32_t way = 0; way + 1 < ways; ++way) go(n, way);
        if (ways) go(std::move(n), ways - 1);
    }

    template <class Emit>
    void late_load(const State& s, uint32_t t, size_t i, Emit&& emit) const {
        const auto& window = s.threads[t].window;
        for (size_t k = 0; k < i; ++k)
            if (window[k].overlaps(window[i])) return;  // the same bytes in order
        State n = s;
        const uint32_t ways = n.machine.ways(bytes(n), window[i].what);
        for (uint32_t way = 0; way < ways; ++way) {
            State next = n;
            auto& own = next.threads[t].window;
            const MemoryOperation o = own[i];
            own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
            perform_now(next, t, o, way);
            emit(std::move(next));
        }
    }

    void perform_now(State& n, uint32_t t, const MemoryOperation& o, uint32_t way) const {
        std::array<uint8_t, 16> value = o.value;
        const sassemu_bytes& memory = bytes(n);
        n.machine.perform(memory, o.what, way, o.has_value() ? value.data() : nullptr);
        if (o.is(SASSEMU_OPERATION_ATOMIC)) {
            uint64_t old = 0, operand = 0;
            std::memcpy(&operand, value.data(), 8);
            memory.read(memory.memory, o.what.address, &old, o.what.bytes);
            const uint64_t now = atomic_result(o.atomic, o.type, old, operand, o.swap);
            memory.write(memory.memory, o.what.address, &now, o.what.bytes);
            std::memcpy(value.data(), &old, 8);
        } else if (!o.is(SASSEMU_OPERATION_LOAD)) {
            return;
        }
        for (size_t k = 0; k < o.to.size(); ++k) {
            if (o.to[k] < 0) continue;
            uint64_t v = 0;
            std::memcpy(
                &v, value.data() + 4 * k,
                o.whole ? std::min<size_t>(8, o.what.bytes) : std::min<size_t>(4, o.what.bytes));
            if (o.sign) v = extended(static_cast<uint32_t>(v), true, o.what.bytes);
            n.threads[t].registers[static_cast<size_t>(o.to[k])] = v;
        }
    }

    struct Reached {
        const MachineStates* states;
        uint8_t* row;
        SassState* sass;
        // Bytes of shared memory of machine code; null: it is none of that.
        std::byte* shared(uint64_t address, uint64_t count) const {
            if (!states->fetch_ || !(address & SASSEMU_MACHINE_SHARED)) return nullptr;
            return states->fetch_->shared_bytes(*sass, address, count);
        }
    };

    const Test& test_;
    const ExploredMachine& machine_;
    const SearchBudget& budget_;
    TestMemory memory_;
    MachineOperations does_;
    PtxWords words_;
    std::vector<sassemu_place> places_;
    std::unique_ptr<SassFetch> fetch_;  // of threads in machine code
    std::string problem_;
    mutable Reached reached_{};
    mutable sassemu_bytes bytes_{};
    mutable uint32_t mover_ = 0;
};

bool understands(const Test& test, const ExploredMachine& machine, const Thread& thread,
                 const Operation& o) {
    if (machine.scoped())
        return is_any<op::Move, op::Compute, op::Branch, op::Launch, op::Join>(o) ||
               (PtxWords::understands(test, o) && thread.kind != ThreadKind::stream);
    if (!machine.symmetric() && thread.kind == ThreadKind::host &&
        is_any<op::Load, op::Store, op::Atomic, op::Fence>(o))
        return true;
    if (is_any<op::Move, op::Compute, op::Branch, op::Launch, op::Join>(o) || machine.symmetric())
        return is_any<op::Move, op::Compute, op::Branch, op::Load, op::Store, op::Fence, op::Launch,
                      op::Join, op::OnMachine>(o);
    const auto* form = std::get_if<op::OnMachine>(&o);
    return form && form->what.kind < SASSEMU_OPERATION_COPY && (!form->at || form->at->pe < 0) &&
           form->until == op::OnMachine::Until::none;
}

}  // namespace

Result<Report> explore_machine(const Test& test, const ExploredMachine& machine,
                               const Limits& limits, const Sampling& sampling) {
    const std::string where = "model '" + machine.name() + "'";
    if (machine.name() == "flat" && !test.sass)
        return make_error(ErrorCode::input, where,
                          "is for tests in machine code (.sass files and launch plans)");
    for (const Thread& t : test.threads)
        for (const Statement& i : t.code)
            if (!understands(test, machine, t, i.what))
                return make_error(ErrorCode::input, t.id,
                                  "'" + i.text + "' has no meaning in the " + where);
    const SearchBudget budget(limits);
    MachineStates states(test, machine, budget);
    Report report;
    if (states.problem().empty())
        report = sampling.executions ? sample_states(states, test, budget, sampling)
                                     : search_states(states, test, budget);
    report.error = states.problem();
    if (report.error.empty() && machine.failed()) report.error = where + " failed";
    if (!report.error.empty()) report.verdict = Verdict::error;
    return report;
}

Result<Report> explore_machine(const Test& test, const std::string& machine, const Limits& limits,
                               const Sampling& sampling) {
    SASSEMU_ASSIGN(const auto opened, ExploredMachine::open(machine, {}));
    return explore_machine(test, *opened, limits, sampling);
}

}  // namespace sassemu::explore
