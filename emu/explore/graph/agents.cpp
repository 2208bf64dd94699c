// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations: what each agent reads, writes and completes, and who waits for it.
// docs/litmus.md, section 3, rules 3 to 8 (PTX ISA 8.9.1.1 and the instructions' own sections).
// Tensor cores are in tensor.cpp.
#include <algorithm>

#include "emu/explore/graph/turn.hpp"

namespace sassemu::explore {
namespace {

void append(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void Turn::into_group(GroupKind kind, const std::vector<uint32_t>& events) {
    append(groups(kind).open, events);
}

Agent Turn::issue() {
    Agent a;
    a.issue = add_event(SASSEMU_EVENT_ISSUE);
    a.number = s_.agents++;
    return a;
}

// The event of an agent comes after these of its own.
void Turn::after(const std::vector<uint32_t>& before, uint32_t event) {
    for (const uint32_t b : before) {
        s_.agent_order.push_back({b, event});
        s_.events[event].control.set(b);
    }
}

uint32_t Turn::agent_read(Agent& a, const Place& from, uint32_t proxy) {
    const uint32_t r = add_event(SASSEMU_EVENT_READ, &a);
    event(r).proxy = proxy;
    place(r, from);
    s_.spawn.push_back({a.issue, r});
    return add_read(r);
}

uint32_t Turn::agent_write(Agent& a, const Place& to, uint32_t proxy, uint32_t value) {
    const std::vector<uint32_t> before = a.events;
    const uint32_t w = add_event(SASSEMU_EVENT_WRITE, &a);
    event(w).proxy = proxy;
    place(w, to);
    s_.spawn.push_back({a.issue, w});
    after(before, w);
    set_value(w, value);
    return w;
}

void Turn::agent_modify(Agent& a, const Place& at, uint32_t scope,
                        const std::function<uint32_t(uint32_t, uint64_t)>& fresh) {
    const uint32_t old = agent_read(a, at, SASSEMU_PROXY_ASYNC);
    const uint32_t r = a.events.back();
    const uint32_t w = agent_write(a, at, SASSEMU_PROXY_ASYNC, fresh(old, event(r).bytes));
    event(r).operation = SASSEMU_OPERATION_REDUCTION;
    for (const uint32_t e : {r, w}) {
        event(e).order = SASSEMU_ORDER_RELAXED;
        event(e).scope = scope;
    }
    s_.rmw.push_back({r, w});
}

// The agent's operation on an mbarrier: a release of what the agent did, with the implicit proxy
// fence that the completion of an operation of the async proxy carries.
uint32_t Turn::agent_arrive(Agent& a, const Place& mbarrier, MbarrierEvent what, uint32_t scope,
                            bool proxied) {
    const std::vector<uint32_t> before = a.events;
    const uint32_t e =
        add_event(SASSEMU_EVENT_ARRIVE | (proxied ? uint32_t{SASSEMU_EVENT_PROXY_FENCE} : 0u), &a);
    SassemuEvent& x = event(e);
    x.order = SASSEMU_ORDER_RELEASE;
    x.scope = scope;
    x.from = SASSEMU_PROXY_GENERIC;
    x.to = SASSEMU_PROXY_ASYNC;
    x.both_ways = 1;
    place(e, mbarrier);
    s_.spawn.push_back({a.issue, e});
    after(before, e);
    what.event = e;
    what.location = x.location;
    s_.mbarriers.push_back(what);
    return e;
}

// The bytes that the agent has written are there.
uint32_t Turn::agent_complete(Agent& a, const Place& mbarrier, uint64_t bytes) {
    MbarrierEvent what{MbarrierEvent::Kind::transaction, 0, 0};
    what.amount = s_.constant(bytes);
    what.negative = true;
    return agent_arrive(a, mbarrier, what, SASSEMU_SCOPE_CLUSTER, true);
}

// st.async and red.async.
void Turn::store_async(const Place& to, uint32_t value, op::Modification by, AtomicType type,
                       const Place& mbarrier) {
    Agent a = issue();
    if (by.how == AtomicOp::none)
        agent_write(a, to, SASSEMU_PROXY_ASYNC, value);
    else
        agent_modify(a, to, SASSEMU_SCOPE_CLUSTER, [&](uint32_t old, uint64_t bytes) {
            return modified(by, type, bytes, old, value);
        });
    const uint32_t e = agent_complete(a, mbarrier, to.bytes);
    const auto reading = test_.options.find("st_async");
    if (reading != test_.options.end() && reading->second == "thread")
        s_.agent_order.push_back({a.issue, e});
}

// cp.async.mbarrier.arrive: after the copies of the thread so far, an arrival or one transaction.
void Turn::copies_arrive(Agent& a, const Place& mbarrier, bool transaction) {
    const ThreadState::Groups& copies = groups(GroupKind::copies);
    for (const auto& g : copies.committed) append(a.events, g);
    append(a.events, copies.open);
    MbarrierEvent what{transaction ? MbarrierEvent::Kind::transaction : MbarrierEvent::Kind::arrive,
                       0, 0};
    what.amount = s_.constant(1);
    what.negative = transaction;
    agent_arrive(a, mbarrier, what, SASSEMU_SCOPE_CTA, false);
}

// What a bulk operation reads, piece by piece. What the agent did before (the read of a tensor map)
// comes first.
std::vector<uint32_t> Turn::read_runs(Agent& a, const Receiver& r) {
    const std::vector<uint32_t> before = a.events;
    std::vector<uint32_t> values;
    for (const Piece& p : r.pieces) {
        values.push_back(p.from ? agent_read(a, *p.from, SASSEMU_PROXY_ASYNC) : 0);
        if (p.from) after(before, a.events.back());
    }
    return values;
}

// All that the agent has done for the receiver is reported, or waited for as a group.
void Turn::finish_runs(Agent& a, const Receiver& r) {
    if (r.object)
        agent_complete(a, *r.object, r.bytes);
    else
        into_group(GroupKind::bulks, a.events);
}

// A bulk copy: what it reads is read once, and written to every receiver; each has its own
// completion.
void Turn::copy_runs(Agent& a, const std::vector<Receiver>& receivers) {
    const std::vector<uint32_t> values = read_runs(a, receivers.front());
    const std::vector<uint32_t> reads = a.events;
    for (const Receiver& r : receivers) {
        std::vector<uint32_t> done = reads;
        for (size_t k = 0; k < r.pieces.size(); ++k) {
            a.events = reads;  // the writes are in no order
            done.push_back(agent_write(a, r.pieces[k].to, SASSEMU_PROXY_ASYNC, values[k]));
        }
        a.events = std::move(done);
        finish_runs(a, r);
    }
}

void Turn::wait_for(const std::vector<uint32_t>& events, uint32_t proxy) {
    const bool proxied = proxy != SASSEMU_PROXY_GENERIC;
    const uint32_t e =
        add_event(SASSEMU_EVENT_COMPLETE | (proxied ? uint32_t{SASSEMU_EVENT_PROXY_FENCE} : 0u));
    SassemuEvent& x = event(e);
    x.from = SASSEMU_PROXY_GENERIC;
    x.to = proxy;
    x.both_ways = 1;
    for (const uint32_t b : events) {
        s_.completion.push_back({b, e});
        s_.events[e].control.set(b);
    }
    self_.control.set(e);
}

Step Turn::perform(const op::StoreAsync& o) {
    store_async(o.to, value(o.value), o.by, AtomicType::u64, o.mbarrier);
    return Step::past;
}

Step Turn::perform(const op::CopyAsync& o) {
    Agent a = issue();
    const uint32_t v = agent_read(a, o.from, SASSEMU_PROXY_GENERIC);
    agent_write(a, o.to, SASSEMU_PROXY_GENERIC, v);
    into_group(GroupKind::copies, a.events);
    return Step::past;
}

Step Turn::perform(const op::CopiesArrive& o) {
    Agent a = issue();
    if (!o.no_increment) {
        MbarrierEvent more{MbarrierEvent::Kind::increment, a.issue,
                           test_.names[o.mbarrier.name].location};
        more.amount = s_.constant(1);
        s_.mbarriers.push_back(more);
    }
    copies_arrive(a, o.mbarrier, false);
    return Step::past;
}

Step Turn::perform(const op::Commit& o) {
    ThreadState::Groups& g = groups(o.kind);
    g.committed.push_back(std::move(g.open));
    g.open.clear();
    return Step::past;
}

// All committed groups but the newest ones that may be left; of a reduction `.read` waits for the
// source alone.
Step Turn::perform(const op::GroupWait& o) {
    const ThreadState::Groups& g = groups(o.kind);
    const auto reads = [&](const SassemuEvent& e) {
        return e.kind & SASSEMU_EVENT_READ && e.operation != SASSEMU_OPERATION_REDUCTION;
    };
    std::vector<uint32_t> events;
    const size_t all = g.committed.size(), kept = std::min<uint64_t>(o.left, all);
    for (size_t k = 0; k + kept < all; ++k)
        for (const uint32_t e : g.committed[k])
            if (!o.reads_only || reads(event(e))) events.push_back(e);
    if (o.uncommitted) append(events, g.open);
    wait_for(events, o.kind == GroupKind::copies ? SASSEMU_PROXY_GENERIC : SASSEMU_PROXY_ASYNC);
    return Step::past;
}

Step Turn::perform(const op::Bulk& o) {
    Agent a = issue();
    if (o.by.how == AtomicOp::none) {
        copy_runs(a, {{{{o.from, o.to}}, o.mbarrier, o.to.bytes}});
        return Step::past;
    }
    const uint32_t v = agent_read(a, o.from, SASSEMU_PROXY_ASYNC);
    agent_modify(a, o.to, SASSEMU_SCOPE_GPU, [&](uint32_t old, uint64_t bytes) {
        return modified(o.by, AtomicType::u64, bytes, old, v);
    });
    if (o.mbarrier)
        agent_complete(a, *o.mbarrier, o.to.bytes);
    else
        into_group(GroupKind::bulks, a.events);
    return Step::past;
}

// The map is read first, through the tensormap proxy; its value says where the data is.
Step Turn::perform(const op::BulkTensor& o) {
    Agent a = issue();
    const uint32_t map = agent_read(a, o.map, SASSEMU_PROXY_TENSORMAP);
    if (s_.evaluate(map, p_)) {
        tensor_copy(o, a, map);
        return Step::past;
    }
    s_.stalled.push_back({std::move(a), map, thread_, o});
    // A group that is committed meanwhile has to wait for the copy.
    return wait_for_value(map);
}

void Turn::tensor_copy(const op::BulkTensor& o, Agent& a, uint32_t map) {
    const auto name = Program::name_at(*s_.evaluate(map, p_), test_);
    if (!name) {
        s_.error = me_.id + ": " + where() + ": the tensor map holds no address";
        return;
    }
    Place here = o.shared;
    here.bytes = std::min(o.shared.bytes, test_.names[*name].bytes);
    const Place far{*name, 0, here.bytes};
    const Piece piece = o.mbarrier ? Piece{far, here} : Piece{here, far};
    copy_runs(a, {{{piece}, o.mbarrier, o.shared.bytes}});
}

Step Turn::perform(const op::MapReplace& o) {
    const uint32_t v = value(o.value);
    const uint32_t w = add_event(SASSEMU_EVENT_WRITE);
    place(w, o.map);
    set_value(w, v);
    return Step::past;
}

Step Turn::perform(const op::MapPublish& o) {
    copy(o.from, o.to);
    op::ProxyFence f;
    f.to = SASSEMU_PROXY_TENSORMAP;
    f.order = SASSEMU_ORDER_RELEASE;
    f.scope = o.scope;
    return perform(f);
}

}  // namespace sassemu::explore
