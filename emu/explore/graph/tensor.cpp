// SPDX-License-Identifier: Apache-2.0
// wgmma and tcgen05. Shared memory is read through the async proxy, tensor memory through its own.
// docs/litmus.md, section 3.
#include "emu/explore/graph/turn.hpp"

namespace sassemu::explore {

uint32_t Turn::tensor_proxy(const Place& at) const {
    const bool tensor =
        test_.locations[test_.names[at.name].location].space == SASSEMU_SPACE_TENSOR;
    return tensor ? SASSEMU_PROXY_TENSOR : SASSEMU_PROXY_ASYNC;
}

uint32_t Turn::product_of(Agent& a, const Place& b, const std::optional<Place>& c) {
    uint32_t product =
        s_.arithmetic(Arithmetic::mul, s_.constant(1), agent_read(a, b, tensor_proxy(b)));
    if (c) product = s_.arithmetic(Arithmetic::mul, product, agent_read(a, *c, tensor_proxy(*c)));
    return product;
}

void Turn::mark(const Agent& a, uint32_t operation) {
    for (const uint32_t e : a.events) event(e).operation = operation;
    event(a.issue).operation = operation;
}

Step Turn::perform(const op::WgmmaFence&) {
    self_.wgmma_fence = static_cast<int32_t>(add_event(0));
    return Step::past;
}

// A product comes after the thread's accesses by wgmma.fence or a proxy fence only (9.7.15).
int32_t Turn::last_wgmma_fence() const {
    int32_t from = -1;
    for (uint32_t e = 0; e < s_.events.size(); ++e) {
        const SassemuEvent& x = s_.events[e].e;
        if (x.thread != static_cast<int32_t>(thread_) || x.agent >= 0) continue;
        const bool async_fence = x.kind == SASSEMU_EVENT_PROXY_FENCE &&
                                 x.to == SASSEMU_PROXY_ASYNC && x.both_ways &&
                                 x.restriction != SASSEMU_SPACE_GLOBAL;
        if (async_fence || self_.wgmma_fence == static_cast<int32_t>(e))
            from = static_cast<int32_t>(e);
    }
    return from;
}

Step Turn::perform(const op::Wgmma& o) {
    const int32_t from = last_wgmma_fence();
    Agent a = issue();
    const size_t spawned = s_.spawn.size();
    set(o.to, product_of(a, o.b, o.c));
    if (from < 0) s_.spawn.resize(spawned);
    for (size_t k = spawned; k < s_.spawn.size(); ++k)
        s_.spawn[k].from = static_cast<uint32_t>(from);
    into_group(GroupKind::wgmmas, a.events);
    return Step::past;
}

Step Turn::perform(const op::TensorLoad& o) {
    Agent a = issue();
    set(o.to, agent_read(a, o.from, SASSEMU_PROXY_TENSOR));
    mark(a, SASSEMU_OPERATION_TENSOR_LOAD);
    self_.tensor_loads.insert(self_.tensor_loads.end(), a.events.begin(), a.events.end());
    return Step::past;
}

Step Turn::perform(const op::TensorStore& o) {
    const uint32_t v = value(o.value);
    Agent a = issue();
    agent_write(a, o.to, SASSEMU_PROXY_TENSOR, v);
    mark(a, SASSEMU_OPERATION_TENSOR_STORE);
    self_.tensor_stores.insert(self_.tensor_stores.end(), a.events.begin(), a.events.end());
    return Step::past;
}

Step Turn::perform(const op::TensorWait& o) {
    wait_for(o.stores ? self_.tensor_stores : self_.tensor_loads, SASSEMU_PROXY_GENERIC);
    return Step::past;
}

Step Turn::perform(const op::TensorProduct& o) {
    Agent a = issue();
    const uint32_t product = product_of(a, o.b, o.c);
    agent_write(a, o.to, tensor_proxy(o.to), product);
    mark(a, o.operation);
    self_.tensor_products.insert(self_.tensor_products.end(), a.events.begin(), a.events.end());
    return Step::past;
}

Step Turn::perform(const op::TensorFence& o) {
    event(add_event(0)).operation = o.operation;
    return Step::past;
}

Step Turn::perform(const op::TensorCommit& o) {
    Agent a = issue();
    a.events = self_.tensor_products;
    MbarrierEvent arrival{MbarrierEvent::Kind::arrive, 0, 0};
    arrival.amount = s_.constant(1);
    const uint32_t e = agent_arrive(a, o.mbarrier, arrival, SASSEMU_SCOPE_CLUSTER, true);
    event(e).operation = SASSEMU_OPERATION_TENSOR_BEFORE;
    return Step::past;
}

}  // namespace sassemu::explore
