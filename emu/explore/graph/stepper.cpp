// SPDX-License-Identifier: Apache-2.0
// The step machine's ordinary instructions: arithmetic, branches, accesses, fences. See
// machine.hpp.
#include "emu/explore/graph/stepper.hpp"

#include <algorithm>

namespace sassemu::explore {

Machine::Fork Machine::run(State& s) const {
    // A search that ends, or begins again, knowing more, needs nothing of this one.
    const auto again = [&] { return budget_.over() || (test_.sass && test_.sass->grew()); };
    for (bool moved = true; moved && !s.overflow && !s.bounded && s.error.empty() &&
                            s.undefined.empty() && !again();) {
        moved = resume_agents(s);
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            ThreadState& thread = s.threads[t];
            if (thread.status == ThreadStatus::needs_value && s.evaluate(thread.needs, p_))
                thread.status = ThreadStatus::running;
            // What was put off may come from behind this instruction: it goes on with a guess.
            if (thread.status == ThreadStatus::needs_value && thread.guesses &&
                deferred(s, thread.needs))
                return {static_cast<int32_t>(t), thread.guesses};
            while (thread.status == ThreadStatus::running && !s.overflow && !s.bounded &&
                   s.error.empty() && s.undefined.empty() && !again()) {
                const Step step = this->step(s, t, -1);
                if (step == Step::fork) return {static_cast<int32_t>(t), 2};
                moved = true;
                if (step == Step::stop) break;
            }
        }
        moved |= wake(s);
    }
    return {};
}

void Machine::choose(State& s, uint32_t thread, uint32_t outcome) const {
    s.threads[thread].status = ThreadStatus::running;
    step(s, thread, static_cast<int32_t>(outcome));
}

const Instruction& Machine::current(const State& s, uint32_t thread) const {
    const ThreadState& t = s.threads[thread];
    return test_.threads[thread].sass ? *t.current : test_.threads[thread].code[t.pc];
}

// Perhaps through writes whose own values are open.
bool Machine::deferred(const State& s, uint32_t value) const {
    Events open = s.values[value].reads, done;
    for (bool more = true; more;) {
        more = false;
        for (const Source& source : s.sources) {
            if (!open[source.read]) continue;
            if (source.write < 0) {
                if (source.seen > 0) return true;
                continue;
            }
            const auto w = static_cast<size_t>(source.write);
            if (done[w]) continue;
            done.set(w);
            open |= s.events[w].data;
            more = true;
        }
    }
    return false;
}

// Lets go on what waited for other threads.
bool Machine::wake(State& s) const {
    bool woken = false;
    for (uint32_t t = 0; t < s.threads.size(); ++t) {
        ThreadState& thread = s.threads[t];
        if (thread.status == ThreadStatus::at_barrier) {
            const bool passed =
                current(s, t).op == Op::barrier ? barrier_passed(s, t) : cluster_passed(s, t);
            if (!passed) continue;
        } else if (thread.status == ThreadStatus::at_join) {
            const Instruction& i = test_.threads[t].code[thread.pc];
            if (s.threads[i.target].status != ThreadStatus::ended) continue;
            const uint32_t join = add_event(s, t, SASSEMU_EVENT_COMPLETE);
            for (uint32_t e = 0; e < s.events.size(); ++e)
                if (s.events[e].e.thread == static_cast<int32_t>(i.target)) {
                    s.completion.push_back({e, join});
                    s.events[join].control.set(e);
                }
            thread.control.set(join);
            ++thread.pc;
        } else {
            continue;
        }
        thread.status = ThreadStatus::running;
        woken = true;
    }
    return woken;
}

uint32_t Machine::value(const State& s, uint32_t thread, const Operand& o) const {
    return o.kind == Operand::Kind::reg ? s.threads[thread].registers[o.reg] : 0;
}

uint32_t Machine::constant_or_value(State& s, uint32_t thread, const Operand& o) const {
    if (o.kind == Operand::Kind::value) return s.constant(o.value);
    if (o.kind == Operand::Kind::address) return s.constant(Program::address_of(o.name));
    if (o.kind == Operand::Kind::computed) return o.reg;
    return value(s, thread, o);
}

uint32_t Machine::add_event(State& s, uint32_t thread, uint32_t kind, Agent* agent) const {
    const Thread& t = test_.threads[thread];
    ThreadState& state = s.threads[thread];
    Event out;
    SassemuEvent& e = out.e;
    e.kind = kind;
    e.thread = static_cast<int32_t>(thread);
    e.agent = agent ? agent->number : -1;
    e.index = agent ? agent->index++ : state.next_index++;
    e.cta = t.cta;
    e.cluster = t.cluster;
    e.gpu = t.kind == ThreadKind::host || t.kind == ThreadKind::stream
                ? -1 - static_cast<int32_t>(thread)
                : t.gpu;
    e.owner = -1;
    e.source = t.sass || state.pc < t.code.size() ? static_cast<int32_t>(state.pc) : -1;
    out.control = state.control;
    // What does not fit takes the place of the last event: run() ends at once, but an instruction
    // may add several.
    if (s.events.size() + 1 >= most_events) s.overflow = true;
    if (s.events.size() == most_events) s.events.pop_back();
    s.events.push_back(std::move(out));
    const auto event = static_cast<uint32_t>(s.events.size() - 1);
    if (agent) {
        s.events[event].control.set(agent->issue);
        agent->events.push_back(event);
    }
    constexpr uint32_t impure = SASSEMU_EVENT_WRITE | SASSEMU_EVENT_ARRIVE | SASSEMU_EVENT_ISSUE;
    if (kind & impure) state.first_impure = event + 1;
    return event;
}

void Machine::place_name(State& s, uint32_t event, uint32_t name, uint64_t offset,
                         uint64_t bytes) const {
    const Name& n = test_.names[name];
    const Location& l = test_.locations[n.location];
    SassemuEvent& e = s.events[event].e;
    e.location = n.location;
    e.alias = n.alias;
    e.first = n.offset + offset;
    e.bytes = bytes ? bytes : n.bytes - offset;
    e.owner = l.cta;
    e.space = l.space;
    if (l.space == SASSEMU_SPACE_SHARED_CTA) {
        e.space = l.cta == e.cta ? SASSEMU_SPACE_SHARED_CTA : 0;
        if (l.cluster == e.cluster) e.space |= SASSEMU_SPACE_SHARED_CLUSTER;
    }
    if (n.proxy != SASSEMU_PROXY_GENERIC && e.proxy == SASSEMU_PROXY_GENERIC) e.proxy = n.proxy;
    if (test_.sass) test_.sass->cut(e.location, e.first, e.bytes);
}

void Machine::place(State& s, uint32_t event, const Operand& o, uint64_t bytes) const {
    place_name(s, event, o.name, o.offset, bytes);
}

uint32_t Machine::add_read(State& s, uint32_t event) const {
    Event& r = s.events[event];
    r.first_piece = static_cast<uint32_t>(s.sources.size());
    const auto& cuts = p_.cuts[r.e.location];
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
        if (cuts[i] >= r.e.first && cuts[i + 1] <= r.e.first + r.e.bytes)
            s.sources.push_back({event, cuts[i], cuts[i + 1] - cuts[i], -1, 0});
    r.pieces = static_cast<uint32_t>(s.sources.size()) - r.first_piece;
    return s.read_value(event);
}

void Machine::set_value(State& s, uint32_t event, uint32_t value) const {
    s.events[event].value = value;
    s.events[event].data |= s.values[value].reads;
}

void Machine::jump(State& s, uint32_t thread, uint32_t target) const {
    ThreadState& t = s.threads[thread];
    const uint32_t from = t.pc;
    t.pc = target;
    if (target > from) return;
    const std::vector<bool>& live =
        test_.threads[thread].sass
            ? p_.test.sass->code(p_.test.sass->thread(thread).launch).live(target)
            : p_.live[thread][target];
    // A loop that came back to where it was, without having written anything: it may do so for
    // ever, and what follows is the same as if it had not gone round.
    for (const ThreadState::Visit& v : t.visits) {
        if (v.pc != target || v.events < t.first_impure) continue;
        bool same = true;
        for (size_t r = 0; r < t.registers.size() && same; ++r) {
            if (!live[r] || v.registers[r] == t.registers[r]) continue;
            const auto before = s.evaluate(v.registers[r], p_),
                       now = s.evaluate(t.registers[r], p_);
            same = before && now && *before == *now;
        }
        if (same) {
            t.status = ThreadStatus::spinning;
            t.needs = v.events;
            return;
        }
    }
    if (++t.taken[from] > test_.bound) s.bounded = true;
}

// A thread that was launched comes after what launched it.
void Machine::begin(State& s, uint32_t thread) const {
    ThreadState& t = s.threads[thread];
    if (t.next_index != 0 || s.launched[thread] < 0) return;
    const uint32_t e = add_event(s, thread, SASSEMU_EVENT_COMPLETE);
    s.completion.push_back({static_cast<uint32_t>(s.launched[thread]), e});
    s.events[e].control.set(static_cast<size_t>(s.launched[thread]));
    s.threads[thread].control.set(e);
}

Machine::Step Machine::step(State& s, uint32_t thread, int32_t outcome) const {
    const std::vector<Instruction>& code = test_.threads[thread].code;
    {
        ThreadState& t = s.threads[thread];
        begin(s, thread);
        if (test_.threads[thread].sass) return sass(s, thread, outcome);
        if (t.pc >= code.size()) {
            t.status = ThreadStatus::ended;
            return Step::stop;
        }
        if (p_.loop_heads[thread][t.pc])
            t.visits.push_back({t.pc, static_cast<uint32_t>(s.events.size()), t.registers});
    }
    const Instruction& i = code[s.threads[thread].pc];
    switch (i.op) {
        case Op::move: {
            const uint32_t v = constant_or_value(s, thread, i.b);
            s.threads[thread].registers[i.a.reg] = v;
            break;
        }
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::and_:
        case Op::or_:
        case Op::xor_:
        case Op::equal:
        case Op::not_equal: {
            const uint32_t b = constant_or_value(s, thread, i.b),
                           c = constant_or_value(s, thread, i.c);
            const uint32_t v = s.arithmetic(i.op, b, c);
            s.threads[thread].registers[i.a.reg] = v;
            break;
        }
        case Op::branch:
            jump(s, thread, i.target);
            return Step::done;
        case Op::branch_if_equal:
        case Op::branch_if_not_equal: {
            const uint32_t b = constant_or_value(s, thread, i.b),
                           c = constant_or_value(s, thread, i.c);
            const uint32_t equal = s.arithmetic(Op::equal, b, c);
            ThreadState& t = s.threads[thread];
            const auto known = s.evaluate(equal, p_);
            if (!known) {
                t.status = ThreadStatus::needs_value;
                t.needs = equal;
                if (p_.loop_heads[thread][t.pc]) t.visits.pop_back();
                return Step::stop;
            }
            t.control |= s.values[equal].reads;
            if ((*known != 0) == (i.op == Op::branch_if_equal))
                jump(s, thread, i.target);
            else
                ++t.pc;
            return Step::done;
        }
        case Op::load:
        case Op::store:
        case Op::copy:
            access(s, thread, i);
            break;
        case Op::atomic: {
            const Step done = atomic(s, thread, i, outcome);
            if (done != Step::done) return done;
            break;
        }
        case Op::fence:
        case Op::proxy_fence:
            fence(s, thread, i);
            break;
        case Op::barrier:
            return barrier(s, thread, i);
        case Op::cluster_arrive:
        case Op::cluster_wait:
            return cluster(s, thread, i);
        case Op::mbarrier_wait:
            if (i.fetches && outcome < 0) return Step::fork;
            [[fallthrough]];
        case Op::mbarrier_init:
        case Op::mbarrier_arrive:
        case Op::mbarrier_expect:
        case Op::mbarrier_complete:
            mbarrier(s, thread, i, outcome);
            break;
        case Op::launch: {
            const uint32_t e = add_event(s, thread, SASSEMU_EVENT_ISSUE);
            if (s.threads[i.target].status != ThreadStatus::not_started) {
                s.error = test_.threads[thread].id + ": '" + i.text + "' launches what has started";
                return Step::stop;
            }
            s.launched[i.target] = static_cast<int32_t>(e);
            s.threads[i.target].status = ThreadStatus::running;
            break;
        }
        case Op::join:
            s.threads[thread].status = ThreadStatus::at_join;
            return Step::stop;
        default: {
            const Step done = asynchronous(s, thread, i);
            if (done != Step::done) return done;
            break;
        }
    }
    ++s.threads[thread].pc;
    return Step::done;
}

Machine::Step Machine::access(State& s, uint32_t thread, const Instruction& i) const {
    const auto ordered = [&](uint32_t kind, uint32_t order) {
        const uint32_t e = add_event(s, thread, kind);
        s.events[e].e.order = order;
        s.events[e].e.scope = i.scope;
        s.events[e].e.proxy = i.proxy;
        return e;
    };
    uint32_t order = i.order;
    if (order == SASSEMU_ORDER_SC) {
        // As the CUDA atomics' ABI has it: a fence.sc, then the access.
        ordered(SASSEMU_EVENT_FENCE, SASSEMU_ORDER_SC);
        order = i.op == Op::load ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED;
    }
    if (i.op == Op::copy) {
        const uint32_t r = ordered(SASSEMU_EVENT_READ, SASSEMU_ORDER_WEAK);
        place(s, r, i.b, i.bytes);
        const uint32_t v = add_read(s, r);
        const uint32_t w = ordered(SASSEMU_EVENT_WRITE, SASSEMU_ORDER_WEAK);
        place(s, w, i.a, i.bytes);
        set_value(s, w, v);
        return Step::done;
    }
    const uint32_t e = ordered(i.op == Op::load ? SASSEMU_EVENT_READ : SASSEMU_EVENT_WRITE, order);
    place(s, e, i.b, i.bytes);
    if (i.op == Op::load) {
        const uint32_t v = add_read(s, e);
        s.threads[thread].registers[i.a.reg] = v;
    } else {
        set_value(s, e, constant_or_value(s, thread, i.c));
    }
    return Step::done;
}

// A read and a write. A compare-and-swap writes only if the values are equal: both are explored
// while that is open, and held against the value once it is known.
Machine::Step Machine::atomic(State& s, uint32_t thread, const Instruction& i,
                              int32_t outcome) const {
    const bool swaps = i.atomic == AtomicOp::compare_swap;
    if (swaps && outcome < 0) return Step::fork;
    const bool acquires = i.order == SASSEMU_ORDER_ACQUIRE || i.order == SASSEMU_ORDER_ACQ_REL;
    const bool releases = i.order == SASSEMU_ORDER_RELEASE || i.order == SASSEMU_ORDER_ACQ_REL;
    const uint32_t r = add_event(s, thread, SASSEMU_EVENT_READ);
    // A red is no read operation (PTX ISA 8.4): the model of the current text knows it by its mark.
    const bool red_acquires = i.fetches || test_.corpus();
    if (!i.fetches) s.events[r].e.operation = SASSEMU_OPERATION_REDUCTION;
    s.events[r].e.order = acquires && red_acquires ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED;
    s.events[r].e.scope = i.scope;
    place(s, r, i.b, i.bytes);
    const uint32_t old = add_read(s, r);
    const uint32_t operand = constant_or_value(s, thread, i.c);
    uint32_t fresh = 0;
    if (swaps) {
        const uint32_t equal = s.arithmetic(Op::equal, old, operand);
        s.assumptions.push_back({equal, outcome == 1});
        fresh = constant_or_value(s, thread, i.d);
    } else if (i.atomic == AtomicOp::exchange) {
        fresh = operand;
    } else {
        Value v;
        v.kind = Value::Kind::atomic;
        v.atomic = i.atomic;
        v.bytes = i.bytes;
        fresh = s.made_of(std::move(v), old, operand);
    }
    if (!swaps || outcome == 1) {
        const uint32_t w = add_event(s, thread, SASSEMU_EVENT_WRITE);
        s.events[w].e.order = releases ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED;
        s.events[w].e.scope = i.scope;
        place(s, w, i.b, i.bytes);
        set_value(s, w, fresh);
        if (swaps) s.events[w].data |= s.values[operand].reads, s.events[w].data.set(r);
        s.rmw.push_back({r, w});
    }
    if (i.fetches) s.threads[thread].registers[i.a.reg] = old;
    return Step::done;
}

void Machine::fence(State& s, uint32_t thread, const Instruction& i) const {
    const uint32_t kind = i.op == Op::proxy_fence ? SASSEMU_EVENT_PROXY_FENCE : SASSEMU_EVENT_FENCE;
    const uint32_t e = add_event(s, thread, kind);
    SassemuEvent& f = s.events[e].e;
    f.order = i.order;
    f.scope = i.scope;
    if (i.b.kind == Operand::Kind::memory) place(s, e, i.b, i.bytes);
    SassemuEvent& g = s.events[e].e;
    g.space = 0;
    g.restriction = i.restriction;
    g.operation = i.operation;
    g.from = i.from;
    g.to = i.to;
    g.both_ways = i.both_ways;
}

}  // namespace sassemu::explore
