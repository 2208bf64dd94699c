// The step machine's asynchronous operations: what each agent reads, writes and completes, and who
// waits for it. docs/litmus.md, section 3, rules 3 to 8 (PTX ISA 8.9.1.1 and the instructions' own
// sections).
#include <algorithm>

#include "emu/explore/machine.hpp"

namespace sassemu::explore {

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

void Machine::agent_modify(State& s, uint32_t thread, const Instruction& i, Agent& a, uint32_t name,
                           uint64_t offset, uint64_t bytes, uint32_t proxy, uint32_t value,
                           uint32_t scope) const {
    const uint32_t old = agent_read(s, thread, a, name, offset, bytes, proxy);
    const uint32_t r = a.events.back();
    Value v;
    v.kind = Value::Kind::atomic;
    v.atomic = i.atomic;
    v.bytes = s.events[r].e.bytes;
    v.a = old;
    v.b = value;
    v.reads = s.values[old].reads | s.values[value].reads;
    const uint32_t w = agent_write(s, thread, a, name, offset, bytes, proxy, s.add(std::move(v)));
    s.events[r].e.operation = SASSEMU_OPERATION_REDUCTION;
    for (const uint32_t e : {r, w}) {
        s.events[e].e.order = SASSEMU_ORDER_RELAXED;
        s.events[e].e.scope = scope;
    }
    s.rmw.push_back({r, w});
}

// The agent's operation on an mbarrier: a release of what the agent did, with the implicit proxy
// fence that the completion of an asynchronous operation carries.
uint32_t Machine::agent_arrive(State& s, uint32_t thread, const Instruction& i, Agent& a,
                               const Operand& mbarrier, MbarrierOp op, uint32_t scope) const {
    const std::vector<uint32_t> before = a.events;
    const bool proxied = i.op != Op::copy_arrive;
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
    using Kind = MbarrierOp::Kind;
    const auto commit = [](ThreadState::Groups& g) {
        g.committed.push_back(std::move(g.open));
        g.open.clear();
    };
    switch (i.op) {
        case Op::store_async: {
            const uint32_t v = constant_or_value(s, thread, i.c);
            Agent a = issue(s, thread);
            if (i.atomic == AtomicOp::none)
                agent_write(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_ASYNC, v);
            else
                agent_modify(s, thread, i, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_ASYNC, v,
                             SASSEMU_SCOPE_CLUSTER);
            MbarrierOp op{Kind::transaction, 0, 0};
            op.amount = s.constant(i.bytes);
            op.negative = true;
            const uint32_t e = agent_arrive(s, thread, i, a, i.d, op, SASSEMU_SCOPE_CLUSTER);
            const auto reading = test_.options.find("st_async");
            if (reading != test_.options.end() && reading->second == "thread")
                s.agent_order.push_back({a.issue, e});
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
                MbarrierOp more{Kind::increment, a.issue, test_.names[i.b.name].location};
                more.amount = s.constant(1);
                s.mbarriers.push_back(more);
            }
            const ThreadState::Groups& groups = s.threads[thread].copies;
            for (const auto& g : groups.committed)
                a.events.insert(a.events.end(), g.begin(), g.end());
            a.events.insert(a.events.end(), groups.open.begin(), groups.open.end());
            MbarrierOp op{Kind::arrive, 0, 0};
            op.amount = s.constant(1);
            agent_arrive(s, thread, i, a, i.b, op, SASSEMU_SCOPE_CTA);
            break;
        }
        case Op::bulk: {
            Agent a = issue(s, thread);
            const uint32_t v =
                agent_read(s, thread, a, i.b.name, i.b.offset, i.bytes, SASSEMU_PROXY_ASYNC);
            if (i.atomic == AtomicOp::none)
                agent_write(s, thread, a, i.a.name, i.a.offset, i.bytes, SASSEMU_PROXY_ASYNC, v);
            else
                agent_modify(s, thread, i, a, i.a.name, i.a.offset, i.bytes, SASSEMU_PROXY_ASYNC, v,
                             SASSEMU_SCOPE_GPU);
            if (i.group) {
                auto& open = s.threads[thread].bulks.open;
                open.insert(open.end(), a.events.begin(), a.events.end());
            } else {
                MbarrierOp op{Kind::transaction, 0, 0};
                op.amount = s.constant(i.bytes);
                op.negative = true;
                agent_arrive(s, thread, i, a, i.d, op, SASSEMU_SCOPE_CLUSTER);
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
                tensor_copy(s, thread, i, a, v, read);
            } else {
                const auto place_in_code =
                    static_cast<uint32_t>(&i - test_.threads[thread].code.data());
                s.stalled.push_back({thread, place_in_code, a.issue, read, a.number, a.index});
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
        const uint32_t v = s.read_value(stalled.map_read);
        if (!s.evaluate(v, p_)) {
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
        tensor_copy(s, stalled.thread, i, a, v, stalled.map_read);
        s.threads[stalled.thread].status = ThreadStatus::running;
        ++s.threads[stalled.thread].pc;
        moved = true;
    }
    return moved;
}

void Machine::tensor_copy(State& s, uint32_t thread, const Instruction& i, Agent& a,
                          uint32_t map_value, uint32_t map_read) const {
    const auto name = Program::name_at(*s.evaluate(map_value, p_), test_);
    if (!name) {
        s.error = test_.threads[thread].id + ": '" + i.text + "': the tensor map holds no address";
        return;
    }
    const Operand& shared = i.group ? i.b : i.a;
    const uint64_t bytes = std::min(i.bytes, test_.names[*name].bytes);
    const auto read_from = [&](uint32_t from, uint64_t offset) {
        return agent_read(s, thread, a, from, offset, bytes, SASSEMU_PROXY_ASYNC);
    };
    const uint32_t v = i.group ? read_from(shared.name, shared.offset) : read_from(*name, 0);
    const uint32_t r = a.events.back();
    s.events[r].control.set(map_read);
    s.agent_order.push_back({map_read, r});
    if (i.group)
        agent_write(s, thread, a, *name, 0, bytes, SASSEMU_PROXY_ASYNC, v);
    else
        agent_write(s, thread, a, shared.name, shared.offset, bytes, SASSEMU_PROXY_ASYNC, v);
    if (i.group) {
        auto& open = s.threads[thread].bulks.open;
        open.insert(open.end(), a.events.begin(), a.events.end());
        return;
    }
    MbarrierOp op{MbarrierOp::Kind::transaction, 0, 0};
    op.amount = s.constant(i.bytes);
    op.negative = true;
    agent_arrive(s, thread, i, a, i.d, op, SASSEMU_SCOPE_CLUSTER);
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
            const uint32_t e = agent_arrive(s, thread, i, a, i.b, op, SASSEMU_SCOPE_CLUSTER);
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
