// SPDX-License-Identifier: Apache-2.0
// The tensor core as one of the agents: its multiplications, copies and shifts (tensor_core.hpp)
// between shared and tensor memory of a CTA, and the arrivals that say that they are done.
#include <bit>
#include <string>

#include "emu/async/agents.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

// visit(const Touched&) for what it reads and writes.
template <class Visit>
void each_touched(const TensorWork& work, Visit&& visit) {
    work.visit([&](const auto& what) {
        touched(
            what,
            [](void* self, const Touched& t) {
                (*static_cast<std::remove_reference_t<Visit>*>(self))(t);
            },
            &visit);
    });
}

sassemu_location location(const Cta& cta, const Touched& t) {
    return t.tensor
               ? events::tensor_location(cta, t.address)
               : events::shared_location(cta, cta.rank << 24 | static_cast<uint32_t>(t.address));
}

// The object in the CTA of `rank`, where there is more than one.
uint32_t object_in(const TensorCommit& c, uint32_t rank) {
    return rank << 24 | (c.mbarrier & 0xffffff);
}

}  // namespace

bool possible(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work) {
    const char* wrong =
        work.visit([&](const auto& what) { return check(what, w.cta->shared_bytes); });
    if (wrong && work.sparse())
        launch_host(w).unsupported(w, op, "a product with a sparse matrix");
    else if (wrong)
        launch_host(w).fault(w, op, lanes, FaultKind::other, wrong, false, 0);
    return !wrong;
}

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1);
    each_touched(work, [&](const Touched& t) {
        t.write ? issue.will_write(location(*w.cta, t), t.bytes)
                : issue.will_read(location(*w.cta, t), t.bytes);
    });
    return issue.id();
}

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const TensorCommit& c) {
    const uint32_t object =
        c.multicast ? object_in(c, static_cast<uint32_t>(std::countr_zero(c.ranks))) : c.mbarrier;
    return events::AsyncIssue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1, object).id();
}

const Op* tensor_work(Warp& w, const Op* op, uint32_t lanes, const TensorWork& work, uint64_t id,
                      lanes::FusedSteps steps) {
    CtaTensorMemory& tensor = tensor_of(*w.cta);
    if (const uint32_t lost =
            work.visit([](const auto& what) { return granules(what); }) & ~tensor.used()) {
        const auto column = static_cast<uint32_t>(std::countr_zero(lost)) * TensorMemory::granule;
        return launch_host(w).fault(w, op, lanes, FaultKind::out_of_bounds,
                                    "the tensor core uses columns " + std::to_string(column) +
                                        " to " +
                                        std::to_string(column + TensorMemory::granule - 1) +
                                        " of tensor memory, which are not allocated",
                                    true, column);
    }
    ++w.effects;
    TensorMemory& memory = tensor.cells();
    const std::byte* shared = w.cta->shared;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    if (agent)
        each_touched(work, [&](const Touched& t) {
            const std::byte* bytes =
                t.tensor ? reinterpret_cast<const std::byte*>(memory.cell) + t.address
                         : shared + t.address;
            t.write ? agent.write(location(*w.cta, t), bytes, t.bytes)
                    : agent.read(location(*w.cta, t), bytes, t.bytes);
        });
    work.visit([&](const auto& what) {
        if constexpr (std::is_same_v<decltype(what), const Multiply&>)
            multiply(what, shared, memory, w.cta->launch->arch, steps);
        else
            move(what, shared, memory);
    });
    return op + 1;
}

const Op* commit_tensor(Warp& w, const Op* op, uint32_t lanes, const TensorCommit& c, uint64_t id) {
    const events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    MbarrierChange arrival;
    arrival.arrivals = 1;
    if (!c.multicast)
        return services(w).mbarrier(w, op, lane, c.mbarrier, arrival) ? op + 1 : nullptr;
    for (uint32_t rest = c.ranks; rest; rest &= rest - 1)
        if (!services(w).mbarrier(
                w, op, lane, object_in(c, static_cast<uint32_t>(std::countr_zero(rest))), arrival))
            return nullptr;
    return op + 1;
}

}  // namespace sassemu::async
