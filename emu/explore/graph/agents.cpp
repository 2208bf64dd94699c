// SPDX-License-Identifier: Apache-2.0
// The step machine's asynchronous operations: what each agent reads, writes and completes, and who
// waits for it. docs/litmus.md, section 3, rules 3 to 8 (PTX ISA 8.9.1.1 and the instructions' own
// sections).
#include <algorithm>

#include "emu/explore/graph/stepper.hpp"

namespace sassemu::explore {
namespace {

Value atomic_value(AtomicOp atomic) {
    Value v;
    v.kind = Value::Kind::atomic;
    v.atomic = atomic;
    return v;
}

}  // namespace

Machine::Agent Machine::issue(State& s, uint32_t thread) const {
    Agent a;
    a.issue = add_event(s, thread, SASSEMU_EVENT_ISSUE);
    a.number = s.agents++;
    return a;
}

uint32_t Machine::agent_read(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                             uint64_t bytes, uint32_t proxy) const {
    const uint32_t r = add_event(s, thread, SASSEMU_EVENT_READ, &a);
    s.events[r].e.proxy = proxy;
    place_name(s, r, name, offset, bytes);
    s.spawn.push_back({a.issue, r});
    return add_read(s, r);
}

uint32_t Machine::agent_write(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                              uint64_t bytes, uint32_t proxy, uint32_t value) const {
    const std::vector<uint32_t> before = a.events;
    const uint32_t w = add_event(s, thread, SASSEMU_EVENT_WRITE, &a);
    s.events[w].e.proxy = proxy;
    place_name(s, w, name, offset, bytes);
    s.spawn.push_back({a.issue, w});
    for (const uint32_t e : before) {
        s.agent_order.push_back({e, w});
        s.events[w].control.set(e);
    }
    set_value(s, w, value);
    return w;
}

// `modified`: the kind and operation of the value that is written.
void Machine::agent_modify(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                           uint64_t bytes, uint32_t value, uint32_t scope, Value modified) const {
    const uint32_t old = agent_read(s, thread, a, name, offset, bytes, SASSEMU_PROXY_ASYNC);
    const uint32_t r = a.events.back();
    modified.bytes = s.events[r].e.bytes;
    const uint32_t fresh = s.made_of(std::move(modified), old, value);
    const uint32_t w = agent_write(s, thread, a, name, offset, bytes, SASSEMU_PROXY_ASYNC, fresh);
    s.events[r].e.operation = SASSEMU_OPERATION_REDUCTION;
    for (const uint32_t e : {r, w}) {
        s.events[e].e.order = SASSEMU_ORDER_RELAXED;
        s.events[e].e.scope = scope;
    }
    s.rmw.push_back({r, w});
}

// The agent's operation on an mbarrier: a release of what the agent did, with the implicit proxy
// fence that the completion of an operation of the async proxy carries.
uint32_t Machine::agent_arrive(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                               MbarrierOp op, uint32_t scope, bool proxied) const {
    const std::vector<uint32_t> before = a.events;
    const uint32_t e = add_event(
        s, thread, SASSEMU_EVENT_ARRIVE | (proxied ? uint32_t{SASSEMU_EVENT_PROXY_FENCE} : 0u), &a);
    SassemuEvent& x = s.events[e].e;
    x.order = SASSEMU_ORDER_RELEASE;
    x.scope = scope;
    x.from = SASSEMU_PROXY_GENERIC;
    x.to = SASSEMU_PROXY_ASYNC;
    x.both_ways = 1;
    place(s, e, mbarrier, 0);
    s.spawn.push_back({a.issue, e});
    for (const uint32_t b : before) {
        s.agent_order.push_back({b, e});
        s.events[e].control.set(b);
    }
    op.event = e;
    op.location = s.events[e].e.location;
    s.mbarriers.push_back(op);
    return e;
}

// The bytes that the agent has written are there.
uint32_t Machine::agent_complete(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                                 uint64_t bytes) const {
    MbarrierOp op{MbarrierOp::Kind::transaction, 0, 0};
    op.amount = s.constant(bytes);
    op.negative = true;
    return agent_arrive(s, thread, a, mbarrier, op, SASSEMU_SCOPE_CLUSTER, true);
}

// st.async and red.async.
void Machine::store_async(State& s, uint32_t thread, const Operand& to, uint64_t bytes,
                          uint32_t value, const Value* modified, const Operand& mbarrier) const {
    Agent a = issue(s, thread);
    if (modified)
        agent_modify(s, thread, a, to.name, to.offset, bytes, value, SASSEMU_SCOPE_CLUSTER,
                     *modified);
    else
        agent_write(s, thread, a, to.name, to.offset, bytes, SASSEMU_PROXY_ASYNC, value);
    const uint32_t e = agent_complete(s, thread, a, mbarrier, bytes);
    const auto reading = test_.options.find("st_async");
    if (reading != test_.options.end() && reading->second == "thread")
        s.agent_order.push_back({a.issue, e});
}

// cp.async.mbarrier.arrive: after the copies of the thread so far, an arrival or one transaction.
void Machine::copies_arrive(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                            bool transaction) const {
    const ThreadState::Groups& groups = s.threads[thread].copies;
    for (const auto& g : groups.committed) a.events.insert(a.events.end(), g.begin(), g.end());
    a.events.insert(a.events.end(), groups.open.begin(), groups.open.end());
    MbarrierOp op{transaction ? MbarrierOp::Kind::transaction : MbarrierOp::Kind::arrive, 0, 0};
    op.amount = s.constant(1);
    op.negative = transaction;
    agent_arrive(s, thread, a, mbarrier, op, SASSEMU_SCOPE_CTA, false);
}

// A bulk copy: what it reads is read once, and written to every receiver; each has its own
// completion. What the agent did before (the read of a tensor map) comes first.
void Machine::copy_runs(State& s, uint32_t thread, Agent& a,
                        const std::vector<Receiver>& receivers) const {
    const std::vector<uint32_t> before = a.events;
    std::vector<uint32_t> values;
    for (const Piece& p : receivers.front().pieces) {
        if (p.from.kind == Operand::Kind::none) {
            values.push_back(0);
            continue;
        }
        values.push_back(
            agent_read(s, thread, a, p.from.name, p.from.offset, p.bytes, SASSEMU_PROXY_ASYNC));
        for (const uint32_t b : before) {
            s.agent_order.push_back({b, a.events.back()});
            s.events[a.events.back()].control.set(b);
        }
    }
    const std::vector<uint32_t> reads = a.events;
    for (const Receiver& r : receivers) {
        std::vector<uint32_t> done = reads;
        for (size_t k = 0; k < r.pieces.size(); ++k) {
            const Piece& p = r.pieces[k];
            a.events = reads;  // the writes are in no order
            done.push_back(agent_write(s, thread, a, p.to.name, p.to.offset, p.bytes,
                                       SASSEMU_PROXY_ASYNC, values[k]));
        }
        a.events = done;
        if (r.object.kind != Operand::Kind::none) {
            agent_complete(s, thread, a, r.object, r.bytes);
            continue;
        }
        auto& open = s.threads[thread].bulks.open;
        open.insert(open.end(), done.begin(), done.end());
    }
}

void Machine::wait_for(State& s, uint32_t thread, const std::vector<uint32_t>& events,
                       uint32_t proxy) const {
    const bool proxied = proxy != SASSEMU_PROXY_GENERIC;
    const uint32_t e = add_event(
        s, thread, SASSEMU_EVENT_COMPLETE | (proxied ? uint32_t{SASSEMU_EVENT_PROXY_FENCE} : 0u));
    SassemuEvent& x = s.events[e].e;
    x.from = SASSEMU_PROXY_GENERIC;
    x.to = proxy;
    x.both_ways = 1;
    for (const uint32_t b : events) {
        s.completion.push_back({b, e});
        s.events[e].control.set(b);
    }
    s.threads[thread].control.set(e);
}

// wait_group n: all committed groups but the newest n.
void Machine::wait_group(State& s, uint32_t thread, const Instruction& i,
                         ThreadState::Groups& groups) const {
    std::vector<uint32_t> events;
    const size_t all = groups.committed.size(), kept = std::min<uint64_t>(i.c.value, all);
    for (size_t g = 0; g + kept < all; ++g)
        for (const uint32_t e : groups.committed[g])
            if (!i.reads_only || s.events[e].e.kind & SASSEMU_EVENT_READ) events.push_back(e);
    if (i.negated) events.insert(events.end(), groups.open.begin(), groups.open.end());
    wait_for(s, thread, events,
             i.op == Op::copy_wait ? SASSEMU_PROXY_GENERIC : SASSEMU_PROXY_ASYNC);
}

Machine::Step Machine::asynchronous(State& s, uint32_t thread, const Instruction& i) const {
    const auto commit = [](ThreadState::Groups& g) {
        g.committed.push_back(std::move(g.open));
        g.open.clear();
    };
    switch (i.op) {
        case Op::store_async: {
            const uint32_t v = constant_or_value(s, thread, i.c);
            const Value modified = atomic_value(i.atomic);
            store_async(s, thread, i.b, i.bytes, v,
                        i.atomic == AtomicOp::none ? nullptr : &modified, i.d);
            break;
        }
        case Op::copy_async: {
            Agent a = issue(s, thread);
            const uint32_t v =
                agent_read(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_GENERIC);
            agent_write(s, thread, a, i.a.name, i.a.offset, i.bytes, SASSEMU_PROXY_GENERIC, v);
            auto& open = s.threads[thread].copies.open;
            open.insert(open.end(), a.events.begin(), a.events.end());
            break;
        }
        case Op::copy_commit:
            commit(s.threads[thread].copies);
            break;
        case Op::copy_wait:
            wait_group(s, thread, i, s.threads[thread].copies);
            break;
        case Op::copy_arrive: {
            Agent a = issue(s, thread);
            if (!i.no_increment) {
                MbarrierOp more{MbarrierOp::Kind::increment, a.issue,
                                test_.names[i.b.name].location};
                more.amount = s.constant(1);
                s.mbarriers.push_back(more);
            }
            copies_arrive(s, thread, a, i.b, false);
            break;
        }
        case Op::bulk: {
            Agent a = issue(s, thread);
            if (i.atomic == AtomicOp::none) {
                copy_runs(s, thread, a, {{{{i.b, i.a, i.bytes}}, i.d, i.bytes}});
                break;
            }
            const uint32_t v =
                agent_read(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_ASYNC);
            agent_modify(s, thread, a, i.a.name, i.a.offset, i.bytes, v, SASSEMU_SCOPE_GPU,
                         atomic_value(i.atomic));
            if (i.group) {
                auto& open = s.threads[thread].bulks.open;
                open.insert(open.end(), a.events.begin(), a.events.end());
            } else {
                agent_complete(s, thread, a, i.d, i.bytes);
            }
            break;
        }
        case Op::bulk_tensor: {
            // The map is read first, through the tensormap proxy; its value says where the data is.
            Agent a = issue(s, thread);
            const Operand& map = i.group ? i.a : i.b;
            const uint32_t v =
                agent_read(s, thread, a, map.name, map.offset, 0, SASSEMU_PROXY_TENSORMAP);
            const uint32_t read = a.events.back();
            if (s.evaluate(v, p_)) {
                tensor_copy(s, thread, i, a, v);
            } else {
                const auto place_in_code =
                    static_cast<uint32_t>(&i - test_.threads[thread].code.data());
                s.stalled.push_back({thread, place_in_code, a.issue, read, v, a.number, a.index});
                // A group that is committed meanwhile has to wait for the copy.
                s.threads[thread].status = ThreadStatus::needs_value;
                s.threads[thread].needs = v;
                return Step::stop;
            }
            break;
        }
        case Op::bulk_commit:
            commit(s.threads[thread].bulks);
            break;
        case Op::bulk_wait:
            wait_group(s, thread, i, s.threads[thread].bulks);
            break;
        case Op::map_replace: {
            const uint32_t v = constant_or_value(s, thread, i.c);
            const uint32_t w = add_event(s, thread, SASSEMU_EVENT_WRITE);
            place(s, w, i.b, 0);
            set_value(s, w, v);
            break;
        }
        case Op::map_publish: {
            const uint32_t r = add_event(s, thread, SASSEMU_EVENT_READ);
            place(s, r, i.b, i.bytes);
            const uint32_t v = add_read(s, r);
            const uint32_t w = add_event(s, thread, SASSEMU_EVENT_WRITE);
            place(s, w, i.a, i.bytes);
            set_value(s, w, v);
            Instruction f = i;
            f.op = Op::proxy_fence;
            f.b = Operand{};
            fence(s, thread, f);
            break;
        }
        default:
            tensor(s, thread, i);
            break;
    }
    return Step::done;
}

bool Machine::resume_agents(State& s) const {
    bool moved = false;
    for (size_t k = 0; k < s.stalled.size();) {
        const StalledAgent stalled = s.stalled[k];
        if (!s.evaluate(stalled.value, p_)) {
            ++k;
            continue;
        }
        s.stalled.erase(s.stalled.begin() + static_cast<std::ptrdiff_t>(k));
        const Instruction& i = test_.threads[stalled.thread].code[stalled.instruction];
        Agent a;
        a.number = stalled.agent;
        a.index = stalled.index;
        a.issue = stalled.issue;
        a.events = {stalled.map_read};
        tensor_copy(s, stalled.thread, i, a, stalled.value);
        s.threads[stalled.thread].status = ThreadStatus::running;
        ++s.threads[stalled.thread].pc;
        moved = true;
    }
    return moved;
}

void Machine::tensor_copy(State& s, uint32_t thread, const Instruction& i, Agent& a,
                          uint32_t map_value) const {
    const auto name = Program::name_at(*s.evaluate(map_value, p_), test_);
    if (!name) {
        s.error = test_.threads[thread].id + ": '" + i.text + "': the tensor map holds no address";
        return;
    }
    Operand far;
    far.kind = Operand::Kind::memory;
    far.name = *name;
    const uint64_t bytes = std::min(i.bytes, test_.names[*name].bytes);
    const Piece piece = i.group ? Piece{i.b, far, bytes} : Piece{far, i.a, bytes};
    copy_runs(s, thread, a, {{{piece}, i.d, i.bytes}});
}

// wgmma and tcgen05. Shared memory is read through the async proxy, tensor memory through its own.
void Machine::tensor(State& s, uint32_t thread, const Instruction& i) const {
    const auto proxy = [&](const Operand& o) {
        const bool tmem =
            test_.locations[test_.names[o.name].location].space == SASSEMU_SPACE_TENSOR;
        return tmem ? SASSEMU_PROXY_TENSOR : SASSEMU_PROXY_ASYNC;
    };
    const auto read_all = [&](Agent& a, std::initializer_list<const Operand*> operands) {
        uint32_t product = s.constant(1);
        for (const Operand* o : operands) {
            if (o->kind != Operand::Kind::memory) continue;
            const uint32_t v = agent_read(s, thread, a, o->name, o->offset, 0, proxy(*o));
            product = s.arithmetic(Op::mul, product, v);
        }
        return product;
    };
    const auto mark = [&](const Agent& a, uint32_t operation) {
        for (const uint32_t e : a.events) s.events[e].e.operation = operation;
        s.events[a.issue].e.operation = operation;
    };
    const auto append = [](std::vector<uint32_t>& to, const Agent& a) {
        to.insert(to.end(), a.events.begin(), a.events.end());
    };
    switch (i.op) {
        case Op::wgmma_fence:
            s.threads[thread].wgmma_fence = static_cast<int32_t>(add_event(s, thread, 0));
            break;
        case Op::wgmma: {
            // Ordered after the thread's accesses by wgmma.fence or a proxy fence only (9.7.15).
            int32_t from = -1;
            for (uint32_t e = 0; e < s.events.size(); ++e) {
                const SassemuEvent& x = s.events[e].e;
                if (x.thread != static_cast<int32_t>(thread) || x.agent >= 0) continue;
                const bool async_fence = x.kind == SASSEMU_EVENT_PROXY_FENCE &&
                                         x.to == SASSEMU_PROXY_ASYNC && x.both_ways &&
                                         x.restriction != SASSEMU_SPACE_GLOBAL;
                if (async_fence || s.threads[thread].wgmma_fence == static_cast<int32_t>(e))
                    from = static_cast<int32_t>(e);
            }
            Agent a = issue(s, thread);
            const size_t spawned = s.spawn.size();
            const uint32_t product = read_all(a, {&i.b, &i.c});
            if (from < 0) s.spawn.resize(spawned);
            for (size_t k = spawned; k < s.spawn.size(); ++k)
                s.spawn[k].from = static_cast<uint32_t>(from);
            s.threads[thread].registers[i.a.reg] = product;
            append(s.threads[thread].wgmmas.open, a);
            break;
        }
        case Op::wgmma_commit: {
            auto& g = s.threads[thread].wgmmas;
            g.committed.push_back(std::move(g.open));
            g.open.clear();
            break;
        }
        case Op::wgmma_wait:
            wait_group(s, thread, i, s.threads[thread].wgmmas);
            break;
        case Op::tensor_load: {
            Agent a = issue(s, thread);
            const uint32_t v =
                agent_read(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_TENSOR);
            s.threads[thread].registers[i.a.reg] = v;
            mark(a, SASSEMU_OPERATION_TENSOR_LOAD);
            append(s.threads[thread].tensor_loads, a);
            break;
        }
        case Op::tensor_store: {
            const uint32_t v = constant_or_value(s, thread, i.c);
            Agent a = issue(s, thread);
            agent_write(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_TENSOR, v);
            mark(a, SASSEMU_OPERATION_TENSOR_STORE);
            append(s.threads[thread].tensor_stores, a);
            break;
        }
        case Op::tensor_mma:
        case Op::tensor_copy: {
            Agent a = issue(s, thread);
            const uint32_t product = read_all(a, {&i.b, &i.c});
            agent_write(s, thread, a, i.a.name, i.a.offset, 0, proxy(i.a), product);
            mark(a, i.op == Op::tensor_mma ? SASSEMU_OPERATION_TENSOR_MMA
                                           : SASSEMU_OPERATION_TENSOR_COPY);
            append(s.threads[thread].tensor_products, a);
            break;
        }
        case Op::tensor_wait_load:
            wait_for(s, thread, s.threads[thread].tensor_loads, SASSEMU_PROXY_GENERIC);
            break;
        case Op::tensor_wait_store:
            wait_for(s, thread, s.threads[thread].tensor_stores, SASSEMU_PROXY_GENERIC);
            break;
        case Op::tensor_before:
        case Op::tensor_after: {
            const uint32_t e = add_event(s, thread, 0);
            s.events[e].e.operation = i.op == Op::tensor_before ? SASSEMU_OPERATION_TENSOR_BEFORE
                                                                : SASSEMU_OPERATION_TENSOR_AFTER;
            break;
        }
        case Op::tensor_commit: {
            Agent a = issue(s, thread);
            a.events = s.threads[thread].tensor_products;
            MbarrierOp op{MbarrierOp::Kind::arrive, 0, 0};
            op.amount = s.constant(1);
            const uint32_t e = agent_arrive(s, thread, a, i.b, op, SASSEMU_SCOPE_CLUSTER, true);
            s.events[e].e.operation = SASSEMU_OPERATION_TENSOR_BEFORE;
            break;
        }
        default:
            s.error = test_.threads[thread].id + ": '" + i.text +
                      "' has no meaning in the model '" + test_.model + "'";
            break;
    }
}

}  // namespace sassemu::explore
