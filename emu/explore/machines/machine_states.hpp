// SPDX-License-Identifier: Apache-2.0
// The threads of a test on a machine of the SDK, every state that they can bring it to: `flat`,
// `caches`, `nvshmem`, a stranger's. docs/litmus.md, sections 6, 7 and 9. What belongs here:
// threads, their loads that are not performed yet, memory. What does not: any machine.
//
// Several may search at once, each with a MachineStates of its own: states may go from one to the
// other, and between rounds settle() has all of them know what one has learnt.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "emu/explore/machines/copy_steps.hpp"
#include "emu/explore/machines/own_bytes.hpp"
#include "emu/explore/machines/pe_meetings.hpp"
#include "emu/explore/machines/state_search.hpp"
#include "emu/explore/machines/threads_ahead.hpp"

namespace sassemu::explore {

// Whether the thread does more than to start others and to wait for them.
inline bool accesses(const Thread& thread) {
    return !std::ranges::all_of(
        thread.code, [](const Statement& i) { return is_any<op::Launch, op::Join>(i.what); });
}

class MachineStates {
  public:
    using State = MachineState;
    using ThreadState = MachineState::OfThread;

    // `partly`: some steps may be left out by a search through all states, which knows what it
    // leaves out. `like`: one that searches already, and knows something.
    MachineStates(const Test& test, const ExploredMachine& machine, const SearchBudget& budget,
                  bool partly, const MachineStates* like = nullptr)
        : test_(test),
          machine_(machine),
          budget_(budget),
          memory_(test, machine.symmetric() && !test.sass),
          does_(test, memory_, machine.symmetric()),
          words_(test, memory_),
          fetch_(test.sass ? std::make_unique<SassFetch>(test, machine.scoped()) : nullptr),
          bytes_(test, memory_, fetch_.get()),
          pes_(test, memory_, bytes_, does_),
          prospects_(like ? like->prospects_ : Prospects(test)) {
        if (fetch_) {
            copies_.emplace(machine_, *fetch_, bytes_, does_);
            ahead_.emplace(test, machine_, *fetch_, does_, budget_, prospects_);
        }
        if (like)
            own_ = like->own_;
        else if (partly && machine.has_sectors() && OwnBytes::fits(test))
            own_.emplace();
        if (like && fetch_) fetch_->settle(settled_ = like->settled_);
        if (!memory_.fits())
            problem_ =
                "more than " + std::to_string(TestMemory::most_bytes) + " bytes of global memory";
        // A scoped machine that knows everybody forgets what all of them have seen; agents are not
        // there from the start.
        for (uint32_t t = 0; t < test.threads.size(); ++t)
            if (!(machine.scoped() && fetch_ && fetch_->issues()) &&
                (!fetch_ || test.threads[t].sass || accesses(test.threads[t])))
                places_.push_back(does_.place(t));
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
                // Registers that are read again: others do not tell states apart. Nor does one that
                // a load under way will fill before anybody reads it.
                k.add(t.pc);
                const bool multiplies = fetch_->multiplies(s.sass, n);
                const auto awaited = [&](size_t r) {
                    return std::ranges::any_of(t.window, [&](const MemoryOperation& o) {
                        return !o.joins &&
                               std::ranges::find(o.to, static_cast<int32_t>(r)) != o.to.end();
                    });
                };
                for (size_t r = 0; r < t.registers.size(); ++r)
                    if (multiplies || (fetch_->live(n, t.pc, r) && !awaited(r)))
                        k.add(t.registers[r]);
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
        if (machine_.scoped() || machine_.symmetric()) words_.key(s.words, out);
        if (fetch_) fetch_->key(s.sass, out);
        return out;
    }

    // Not `whole`: a step alone, if there is one that nobody else's need come before; then
    // partial() says so.
    template <class Give>
    void next(const State& s, Give&& give, bool whole = true) const {
        partial_ = false;
        if (!problem_.empty() || (fetch_ && fetch_->ends())) return;
        const auto all = static_cast<uint32_t>(s.threads.size());
        // What a thread does by itself commutes with all that others do: no other move need come
        // before it.
        std::vector<Ahead> fetched;
        std::vector<Footprint> feet;
        bool moved = false;
        const bool partly = !whole && fetch_ && ahead_->clients_rest(s);
        if (own_) own_->meet_under_way(s);
        const auto emit = [&](State n) {
            moved = true;
            give(std::move(n));
        };
        for (uint32_t t = 0; t < all; ++t) {
            mover_ = t;
            if (!test_.threads[t].sass) {
                if (runs_alone(s, t)) return fetch(s, t, emit);
                if (!s.sass.agents.empty()) feet.push_back(ahead_->foot_of_client(s, t));
                continue;
            }
            fetched.push_back(ahead_->take(s, t));
            if (own_) own_->meet(t, fetched.back());
            if (!s.sass.agents.empty()) feet.push_back(ahead_->foot_of(s, t, fetched.back()));
            if (fetched.back().foot.unexplored) return;
            if (Ahead& ahead = fetched.back(); ahead.alone) {
                State n = s;
                put(n, t, std::move(ahead));
                return emit(std::move(n));
            }
            if (fetched.back().quiet) {
                State n = s;
                put(n, t, fetched.back());
                perform(std::move(n), t, fetched.back().does, 0, emit);
                if (moved) return;
            }
            if (partly && step_alone(s, t, fetched.back(), moved, emit)) return;
        }
        if (partly && one_alone(s, moved, emit)) return;
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
                Ahead& ahead = fetched[next_fetched++];
                if (ahead.moved && !step_own(s, t, ahead, emit)) {
                    const std::vector<MemoryOperation> does = std::move(ahead.does);
                    State n = s;
                    put(n, t, std::move(ahead));
                    perform(std::move(n), t, does, 0, emit);
                }
            }
            mover_ = 2 * all + t;
            for (size_t i = 0; i < s.threads[t].window.size(); ++i) late_load(s, t, i, emit);
        }
        if (s.sass.agents.empty()) return;
        if (!steps.empty()) feet.emplace_back().everywhere = true;
        std::vector<State> ways;
        for (const size_t i : copies_->wanted(s, feet, !moved)) {
            mover_ = 3 * all + s.sass.agents[i].thread;
            copies_->next(s, i, ways);
            for (State& n : ways) emit(std::move(n));
            ways.clear();
        }
    }

    bool partial() const { return partial_; }
    // What follows is part `number` of a round.
    void begin_part(uint64_t number) const { part_ = number; }
    void end_part() const {
        if (!fetch_) return;
        bool noted = false;
        for (size_t k = 0; k < noted_at_.size(); ++k) {
            const std::string& text = fetch_->notes().*kinds[k];
            if (text.empty() || !(settled_.*kinds[k]).empty()) continue;
            noted = true;
            if (part_ > noted_at_[k]) continue;
            noted_at_[k] = part_;
            noted_.*kinds[k] = text;
        }
        if (noted) fetch_->settle(settled_);  // the next part notes its own
    }
    // The round is over: what one has learnt all of them know. Of notes the earliest part's stand.
    static void settle(const std::vector<const MachineStates*>& all) {
        for (const MachineStates* to : all)
            for (const MachineStates* from : all) {
                to->prospects_.adopt_news(from->prospects_);
                if (to->own_) to->own_->adopt_news(*from->own_);
            }
        for (const MachineStates* one : all) {
            one->prospects_.forget_news();
            if (one->own_) one->own_->end_round();
        }
        if (all[0]->fetch_) settle_notes(all);
    }
    // What was left out because of partial steps may have to be looked at: see prospects.hpp.
    bool stale(size_t states) const {
        return (own_ && own_->surprised()) || prospects_.stale(states);
    }
    bool begin_again() const {
        const bool again = own_ && own_->surprised();
        if (own_) own_->begin();
        return prospects_.begin_again() || again;
    }

    bool ended(const State& s) const {
        if (s.machine.held() || !s.sass.agents.empty()) return false;
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
        return fetch_->notes().problem;
    }
    // Where exploration had to stop; empty: nowhere.
    std::string unexplored() const { return fetch_ ? fetch_->notes().unexplored : std::string{}; }
    std::string undefined() const { return fetch_ ? fetch_->notes().undefined : std::string{}; }
    // A state that is no end, and nobody can move.
    void stuck(const State& s) const {
        if (fetch_) fetch_->stuck(s.sass);
    }

  private:
    static constexpr uint64_t nowhere = ~uint64_t{0};
    using Notes = SassFetch::Notes;
    static constexpr std::string Notes::*kinds[] = {&Notes::problem, &Notes::unexplored,
                                                    &Notes::undefined};
    static void settle_notes(const std::vector<const MachineStates*>& all) {
        bool fresh = false;
        Notes notes = all[0]->settled_;
        for (size_t kind = 0; kind < std::size(kinds); ++kind) {
            const auto first = std::ranges::min_element(
                all, {}, [&](const MachineStates* s) { return s->noted_at_[kind]; });
            if (!(notes.*kinds[kind]).empty() || (*first)->noted_at_[kind] == nowhere) continue;
            notes.*kinds[kind] = (*first)->noted_.*kinds[kind];
            fresh = true;
        }
        if (!fresh) return;
        for (const MachineStates* s : all) {
            s->noted_at_.fill(nowhere);
            s->settled_ = notes;
            s->fetch_->settle(notes);
        }
    }

    const sassemu_bytes& bytes(State& s) const { return bytes_.of(s); }

    // An access that goes to memory at once, as nobody can tell (own_bytes.hpp). Whether the step
    // is one.
    template <class Emit>
    bool step_own(const State& s, uint32_t t, const Ahead& ahead, Emit&& emit) const {
        if (!own_ || !own_->take(t, ahead, [&] { return ahead_->fenced_first(s, t, ahead); }))
            return false;
        const auto waits = [&](const MemoryOperation& o) {
            return std::ranges::any_of(ahead.thread.window,
                                       [&](const MemoryOperation& w) { return w.overlaps(o); });
        };
        if (std::ranges::any_of(ahead.does, waits)) return true;
        State n = s;
        put(n, t, ahead);
        for (const MemoryOperation& o : ahead.does) bytes_.access(n, t, o);
        emit(std::move(n));
        return true;
    }

    // A step that is in order with nothing that others may do before its thread moves again
    // (prospects.hpp); of a machine with caches one that is about shared and tensor memory only,
    // for its caches know nothing of bytes, or one of those.
    template <class Emit>
    bool step_alone(const State& s, uint32_t t, const Ahead& ahead, const bool& moved,
                    Emit&& emit) const {
        if (step_own(s, t, ahead, emit)) return moved && (partial_ = true);
        const auto ranges = ahead_->touches(ahead, t);
        if (!ranges || !ahead_->comes_first(s, t, *ranges)) return false;
        State n = s;
        put(n, t, ahead);
        perform(std::move(n), t, ahead.does, 0, emit);
        return moved && chosen(t, *ranges);
    }
    bool chosen(uint32_t by, const std::vector<Footprint::Range>& ranges) const {
        prospects_.choose(by, ranges);
        return partial_ = true;
    }
    // The same of loads and agents that are under way.
    template <class Emit>
    bool one_alone(const State& s, const bool& moved, Emit&& emit) const {
        for (uint32_t t = 0; t < s.threads.size(); ++t)
            for (size_t i = 0; i < s.threads[t].window.size(); ++i) {
                const sassemu_operation& o = s.threads[t].window[i].what;
                if (machine_.has_stations()) {
                    if (!own_ || !own_->take(t, s.threads[t].window[i])) continue;
                    mover_ = 2 * static_cast<uint32_t>(s.threads.size()) + t;
                    late_load(s, t, i, emit);
                    if (moved) return partial_ = true;
                    continue;
                }
                // One that is strong may tell its thread something, sooner or later.
                if (o.ordering != SASSEMU_WEAK) continue;
                const std::vector<Footprint::Range> ranges{{o.address, o.bytes, false}};
                if (!ahead_->comes_first(s, t, ranges)) continue;
                mover_ = 2 * static_cast<uint32_t>(s.threads.size()) + t;
                late_load(s, t, i, emit);
                if (moved) return chosen(t, ranges);
            }
        std::vector<State> ways;
        for (size_t i = 0; i < s.sass.agents.size(); ++i) {
            const auto ranges = CopySteps::touches(s.sass.agents[i]);
            if (!ranges || !ahead_->comes_first(s, Prospects::nobody, *ranges, i)) continue;
            if (machine_.has_stations() && !(own_ && own_->take(s.sass.agents[i]))) {
                const auto global = [](const Footprint::Range& r) {
                    return !(r.address & SASSEMU_MACHINE_SHARED);
                };
                if (std::ranges::any_of(*ranges, global)) continue;
            }
            mover_ = 3 * static_cast<uint32_t>(s.threads.size()) + s.sass.agents[i].thread;
            copies_->next(s, i, ways);
            for (State& n : ways) emit(std::move(n));
            if (moved) return chosen(Prospects::nobody, *ranges);
        }
        return false;
    }

    // The first of a launch's threads starts.
    void start_launch(State& s, uint32_t first) const {
        s.sass.threads[first].started = true;
        for (uint32_t t = 0; t < s.threads.size(); ++t)
            if (t != first && test_.threads[t].sass && s.sass.threads[t].started &&
                test_.sass->thread(t).launch == test_.sass->thread(first).launch)
                return;
        if (!test_.sass->overlaps(test_.sass->thread(first).launch)) s.machine.launch();
    }

    // A thread has ended, and what it stored is everywhere.
    bool join(State& s, uint32_t t, uint32_t by) const {
        const ThreadState& r = s.threads[t];
        if (!r.window.empty() || (fetch_ && fetch_->issued_by(s.sass, t))) return false;
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

    // Of the thread's CTA launches that may overlap with its own need no more.
    bool triggered(const State& s, uint32_t t) const {
        if (s.sass.threads[t].ended) return true;
        for (uint32_t o = 0; o < s.threads.size(); ++o)
            if (test_.threads[o].cta == test_.threads[t].cta && s.sass.threads[o].triggered)
                return true;
        return false;
    }

    // griddepcontrol.wait: what the launch before this thread's has done is everywhere.
    bool join_grid(State& s, uint32_t by) const {
        const uint32_t before = test_.sass->thread(by).launch - 1;
        for (uint32_t t = 0; t < s.threads.size(); ++t)
            if (test_.threads[t].sass && test_.sass->thread(t).launch == before && !join(s, t, by))
                return false;
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
        if (!off && std::holds_alternative<op::Barrier>(i.what)) {
            std::vector<MemoryOperation> meetings;
            if (!r.window.empty() || !pes_.stored_at_home(n, t)) return;
            const PtxWords::What what = words_.step(n.words, t, to, i.what, meetings);
            if (what == PtxWords::What::blocked) return;
            to.pc += what == PtxWords::What::past;
            return emit(std::move(n));
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
                                  if (o.early ? triggered(n, o.thread) : join(n, o.thread, t))
                                      emit(std::move(n));
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
            if (pes_.meet(n, t)) emit(std::move(n));
            return;
        }
        for (const Statement& i : test_.threads[t].code)
            if (const auto* l = std::get_if<op::Launch>(&i.what); l && !pes_.quiet(n, l->thread))
                return;
        emit(std::move(n));
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

    static void put(State& s, uint32_t t, Ahead f) {
        s.threads[t] = std::move(f.thread);
        s.sass = std::move(f.sass);
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
        if (is_late(machine_, o)) {
            window.push_back(o);
            return perform(std::move(n), t, all, first + 1, emit);
        }
        if (o.orders(machine_.scoped())
                ? !window.empty()
                : std::ranges::any_of(window,
                                      [&](const MemoryOperation& w) { return w.overlaps(o); }))
            return;
        if (o.of_grids && !join_grid(n, t)) return;
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
        if (own_ && own_->take(t, window[i])) {
            auto& own = n.threads[t].window;
            own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
            bytes_.access(n, t, window[i]);
            return emit(std::move(n));
        }
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
        const std::array<uint8_t, 16> value = bytes_.perform(n, o, way);
        if (o.is(SASSEMU_OPERATION_ATOMIC) || o.is(SASSEMU_OPERATION_LOAD))
            put_result(n.threads[t].registers, o, value);
    }

    const Test& test_;
    const ExploredMachine& machine_;
    const SearchBudget& budget_;
    TestMemory memory_;
    MachineOperations does_;
    PtxWords words_;
    std::unique_ptr<SassFetch> fetch_;  // of threads in machine code
    StateMemory bytes_;
    PeMeetings pes_;
    mutable Prospects prospects_;
    mutable std::optional<OwnBytes> own_;
    std::optional<CopySteps> copies_;  // the same
    std::optional<ThreadsAhead> ahead_;
    std::vector<sassemu_place> places_;
    std::string problem_;
    mutable Notes settled_, noted_;
    mutable std::array<uint64_t, 3> noted_at_{nowhere, nowhere,
                                              nowhere};  // of what is settled: then
    mutable uint64_t part_ = 0;
    mutable uint32_t mover_ = 0;
    mutable bool partial_ = false;
};

}  // namespace sassemu::explore
