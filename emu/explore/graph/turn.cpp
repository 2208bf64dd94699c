// SPDX-License-Identifier: Apache-2.0
// Values, events and the ordinary operations: arithmetic, branches, accesses, fences. See turn.hpp.
#include "emu/explore/graph/turn.hpp"

#include <algorithm>

#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

Step Turn::take() {
    begin();
    if (self_.pc >= code().size()) {
        self_.status = ThreadStatus::ended;
        return Step::stop;
    }
    const bool head = p_.loop_heads[thread_][self_.pc];
    if (head)
        self_.visits.push_back(
            {self_.pc, static_cast<uint32_t>(s_.events.size()), self_.registers});
    const Operation& o = code()[self_.pc].what;
    const Step step = std::visit([&](const auto& kind) { return perform(kind); }, o);
    if (step == Step::past) ++self_.pc;
    if (head && step == Step::stop && std::holds_alternative<op::Branch>(o) &&
        self_.status == ThreadStatus::needs_value)
        self_.visits.pop_back();
    return step;
}

void Turn::begin() {
    if (self_.next_index != 0 || s_.launched[thread_] < 0) return;
    const uint32_t e = add_event(SASSEMU_EVENT_COMPLETE);
    s_.completion.push_back({static_cast<uint32_t>(s_.launched[thread_]), e});
    s_.events[e].control.set(static_cast<size_t>(s_.launched[thread_]));
    self_.control.set(e);
}

Step Turn::refuse(const std::string& why) {
    s_.error = me_.id + ": " + where() + " " + why;
    return Step::stop;
}

Step Turn::beyond(const std::string& why) {
    s_.unexplored = true;
    return refuse(why);
}

Step Turn::wait_for_value(uint32_t value) {
    self_.status = ThreadStatus::needs_value;
    self_.needs = value;
    return Step::stop;
}

uint32_t Turn::value(const Argument& from) {
    return std::visit(
        Overloaded{[&](uint64_t v) { return s_.constant(v); },
                   [&](Register r) { return self_.registers[r.number]; },
                   [&](AddressOf a) { return s_.constant(Program::address_of(a.name)); }},
        from);
}

uint32_t Turn::add_event(uint32_t kind, Agent* agent) {
    GraphEvent out;
    SassemuEvent& e = out.e;
    e.kind = kind;
    e.thread = static_cast<int32_t>(thread_);
    e.agent = agent ? agent->number : -1;
    e.index = agent ? agent->index++ : self_.next_index++;
    e.cta = me_.cta;
    e.cluster = me_.cluster;
    e.gpu = me_.kind == ThreadKind::host || me_.kind == ThreadKind::stream
                ? -1 - static_cast<int32_t>(thread_)
                : me_.gpu;
    e.owner = -1;
    e.source = me_.sass || self_.pc < code().size() ? static_cast<int32_t>(self_.pc) : -1;
    out.control = self_.control;
    s_.events.push_back(std::move(out));
    const auto event = static_cast<uint32_t>(s_.events.size() - 1);
    if (agent) {
        s_.events[event].control.set(agent->issue);
        agent->events.push_back(event);
    }
    constexpr uint32_t impure = SASSEMU_EVENT_WRITE | SASSEMU_EVENT_ARRIVE | SASSEMU_EVENT_ISSUE;
    if (kind & impure) self_.first_impure = event + 1;
    return event;
}

uint32_t Turn::add_ordered(uint32_t kind, uint32_t order, uint32_t scope) {
    const uint32_t e = add_event(kind);
    event(e).order = order;
    event(e).scope = scope;
    return e;
}

void Turn::place(uint32_t number, const Place& at) {
    const Name& n = test_.names[at.name];
    const Location& l = test_.locations[n.location];
    SassemuEvent& e = event(number);
    e.location = n.location;
    e.alias = n.alias;
    e.first = n.offset + at.offset;
    e.bytes = at.bytes ? at.bytes : n.bytes - at.offset;
    e.owner = l.cta;
    e.space = l.space;
    if (l.space == SASSEMU_SPACE_SHARED_CTA) {
        e.space = l.cta == e.cta ? SASSEMU_SPACE_SHARED_CTA : 0;
        if (l.cluster == e.cluster) e.space |= SASSEMU_SPACE_SHARED_CLUSTER;
    }
    if (n.proxy != SASSEMU_PROXY_GENERIC && e.proxy == SASSEMU_PROXY_GENERIC) e.proxy = n.proxy;
    if (test_.sass) test_.sass->cut(e.location, e.first, e.bytes);
    if (test_.sass && e.kind & (SASSEMU_EVENT_READ | SASSEMU_EVENT_WRITE))
        test_.sass->touch(e.location, e.first, e.bytes, {thread_, self_.pc});
}

uint32_t Turn::add_read(uint32_t event) {
    GraphEvent& r = s_.events[event];
    r.first_piece = static_cast<uint32_t>(s_.sources.size());
    const auto& cuts = p_.cuts[r.e.location];
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
        if (cuts[i] >= r.e.first && cuts[i + 1] <= r.e.first + r.e.bytes)
            s_.sources.push_back({event, cuts[i], cuts[i + 1] - cuts[i], -1, 0});
    r.pieces = static_cast<uint32_t>(s_.sources.size()) - r.first_piece;
    return s_.read_value(event);
}

void Turn::set_value(uint32_t event, uint32_t value) {
    s_.events[event].value = value;
    s_.events[event].data |= s_.values[value].reads;
}

// What an atomic operation other than a compare-and-swap writes.
uint32_t Turn::modified(op::Modification by, AtomicType type, uint64_t bytes, uint32_t old,
                        uint32_t operand) {
    if (by.how == AtomicOp::exch) return operand;
    if (by.negated) operand = s_.arithmetic(Arithmetic::sub, 0, operand);
    Value v;
    v.kind = Value::Kind::atomic;
    v.atomic = by.how;
    v.type = type;
    v.bytes = bytes;
    return s_.made_of(std::move(v), old, operand);
}

void Turn::jump(uint32_t target, const std::vector<bool>& live) {
    const uint32_t from = self_.pc;
    self_.pc = target;
    if (target > from) return;
    // A loop that came back to where it was, without having written anything: it may do so for
    // ever, and what follows is the same as if it had not gone round.
    for (const ThreadState::Visit& v : self_.visits) {
        if (v.pc != target || v.events < self_.first_impure) continue;
        bool same = true;
        for (size_t r = 0; r < self_.registers.size() && same; ++r) {
            if (!live[r] || v.registers[r] == self_.registers[r]) continue;
            const auto before = s_.evaluate(v.registers[r], p_),
                       now = s_.evaluate(self_.registers[r], p_);
            same = before && now && *before == *now;
        }
        if (same) {
            self_.status = ThreadStatus::spinning;
            self_.needs = v.events;
            return;
        }
    }
    if (++self_.taken[from] > test_.bound) s_.bounded = true;
}

Step Turn::perform(const op::Move& o) {
    set(o.to, value(o.from));
    return Step::past;
}

Step Turn::perform(const op::Compute& o) {
    const uint32_t b = value(o.b), c = value(o.c);
    set(o.to, s_.arithmetic(o.how, b, c));
    return Step::past;
}

Step Turn::perform(const op::Branch& o) {
    if (o.if_equal) {
        const uint32_t b = value(o.b), c = value(o.c);
        const uint32_t equal = s_.arithmetic(Arithmetic::equal, b, c);
        const auto known = s_.evaluate(equal, p_);
        if (!known) return wait_for_value(equal);
        self_.control |= s_.values[equal].reads;
        if ((*known != 0) != *o.if_equal) return Step::past;
    }
    jump(o.target, p_.live[thread_][o.target]);
    return Step::moved;
}

Step Turn::perform(const op::Launch& o) {
    const uint32_t e = add_event(SASSEMU_EVENT_ISSUE);
    if (s_.threads[o.thread].status != ThreadStatus::not_started)
        return refuse("launches what has started");
    s_.launched[o.thread] = static_cast<int32_t>(e);
    s_.threads[o.thread].status = ThreadStatus::running;
    return Step::past;
}

Step Turn::perform(const op::Join&) {
    self_.status = ThreadStatus::at_join;
    return Step::stop;
}

bool Turn::joined() {
    const op::Join& o = std::get<op::Join>(code()[self_.pc].what);
    const bool over = s_.threads[o.thread].status == ThreadStatus::ended;
    if (o.early) {
        // Nothing is in order for that.
        bool triggered = false;
        for (size_t t = 0; t < test_.threads.size(); ++t)
            triggered |=
                test_.threads[t].cta == test_.threads[o.thread].cta && s_.threads[t].triggered;
        if (!over && !triggered) return false;
        ++self_.pc;
        return true;
    }
    if (!over) return false;
    completed([&](uint32_t thread) { return thread == o.thread; });
    return true;
}

bool Turn::grid_over() {
    const auto before = [&](uint32_t t) {
        return test_.threads[t].sass &&
               test_.sass->thread(t).launch + 1 == test_.sass->thread(thread_).launch;
    };
    for (uint32_t t = 0; t < s_.threads.size(); ++t)
        if (before(t) && s_.threads[t].status != ThreadStatus::ended) return false;
    completed(before);
    return true;
}

// All that these threads have done comes before what this one does from here on.
template <class Which>
void Turn::completed(Which&& which) {
    const uint32_t join = add_event(SASSEMU_EVENT_COMPLETE);
    for (uint32_t e = 0; e < s_.events.size(); ++e)
        if (e != join && event(e).thread >= 0 && which(static_cast<uint32_t>(event(e).thread))) {
            s_.completion.push_back({e, join});
            s_.events[join].control.set(e);
        }
    self_.control.set(join);
    ++self_.pc;
}

// As the CUDA atomics' ABI has it: a fence.sc, then the access.
uint32_t Turn::add_access(uint32_t kind, const op::Access& o) {
    uint32_t order = o.order;
    if (order == SASSEMU_ORDER_SC) {
        event(add_ordered(SASSEMU_EVENT_FENCE, order, o.scope)).proxy = o.proxy;
        order = kind == SASSEMU_EVENT_READ ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED;
    }
    const uint32_t e = add_ordered(kind, order, o.scope);
    event(e).proxy = o.proxy;
    place(e, o.at);
    return e;
}

Step Turn::perform(const op::Load& o) {
    set(o.to, add_read(add_access(SASSEMU_EVENT_READ, o)));
    return Step::past;
}

Step Turn::perform(const op::Store& o) {
    const uint32_t e = add_access(SASSEMU_EVENT_WRITE, o);
    set_value(e, value(o.value));
    return Step::past;
}

Step Turn::perform(const op::HostCopy& o) {
    copy(o.from, o.to);
    return Step::past;
}

// One read, and one write of what it took, both weak.
void Turn::copy(const Place& from, const Place& to) {
    const uint32_t r = add_event(SASSEMU_EVENT_READ);
    place(r, from);
    const uint32_t v = add_read(r);
    const uint32_t w = add_event(SASSEMU_EVENT_WRITE);
    place(w, to);
    set_value(w, v);
}

// A read and a write. A compare-and-swap writes only if the values are equal: both are explored
// while that is open, and held against the value once it is known.
uint32_t Turn::atomic(const op::Access& o, op::Modification by, AtomicType type, bool fetches,
                      uint32_t operand, uint32_t swap) {
    const bool swaps = by.how == AtomicOp::cas;
    const bool acquires = o.order == SASSEMU_ORDER_ACQUIRE || o.order == SASSEMU_ORDER_ACQ_REL;
    const bool releases = o.order == SASSEMU_ORDER_RELEASE || o.order == SASSEMU_ORDER_ACQ_REL;
    // A red is no read operation (PTX ISA 8.4): the model of the current text knows it by its mark.
    const uint32_t r = add_ordered(
        SASSEMU_EVENT_READ,
        acquires && (fetches || test_.corpus()) ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED,
        o.scope);
    if (!fetches) event(r).operation = SASSEMU_OPERATION_REDUCTION;
    place(r, o.at);
    const uint32_t old = add_read(r);
    if (swaps)
        s_.assumptions.push_back({s_.arithmetic(Arithmetic::equal, old, operand), outcome_ == 1});
    if (swaps && outcome_ != 1) return old;
    const uint32_t w = add_ordered(
        SASSEMU_EVENT_WRITE, releases ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED, o.scope);
    place(w, o.at);
    set_value(w, swaps ? swap : modified(by, type, o.at.bytes, old, operand));
    if (swaps) s_.events[w].data |= s_.values[operand].reads, s_.events[w].data.set(r);
    s_.rmw.push_back({r, w});
    return old;
}

Step Turn::perform(const op::Atomic& o) {
    if (o.by.how == AtomicOp::cas && outcome_ < 0) return Step::fork;
    const uint32_t old =
        atomic(o, o.by, AtomicType::u64, o.to.has_value(), value(o.value), value(o.swap));
    if (o.to) set(*o.to, old);
    return Step::past;
}

Step Turn::perform(const op::Fence& o) {
    SassemuEvent& e = event(add_ordered(SASSEMU_EVENT_FENCE, o.order, o.scope));
    e.restriction = o.restriction;
    e.operation = o.operation;
    return Step::past;
}

Step Turn::perform(const op::ProxyFence& o) {
    const uint32_t number = add_ordered(SASSEMU_EVENT_PROXY_FENCE, o.order, o.scope);
    if (o.at) place(number, *o.at);
    SassemuEvent& e = event(number);
    e.space = 0;
    e.restriction = o.restriction;
    e.from = o.from;
    e.to = o.to;
    e.both_ways = o.both_ways;
    return Step::past;
}

}  // namespace sassemu::explore
