// SPDX-License-Identifier: Apache-2.0
// st.async and red.async (STAS, REDAS): a lane's registers go to the shared memory of a CTA of the
// cluster, and their bytes are reported to an mbarrier there. A weak store that happens later (PTX
// ISA, "st.async").
#include <bit>

#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

template <class T>
void reduce(std::byte* at, const LaneStore& c, uint64_t operand) {
    bool changed = false;
    host::update<T>(
        at, [&](T was) { return static_cast<T>(atomic_result(c.atomic, c.type, was, operand, 0)); },
        changed);
}

}  // namespace

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const LaneStore& c) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, -1,
                             c.mbarrier[std::countr_zero(lanes)]);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        issue.is_of(1u << lane);
        issue.reports_to(c.mbarrier[lane]);
        issue.will_write(events::shared_location(*w.cta, c.to[lane]), c.bytes,
                         c.atomic != AtomicOp::none);
    }
    return issue.id();
}

const Op* lane_store(Warp& w, const Op* op, uint32_t lanes, const LaneStore& c, uint64_t id) {
    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, id);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        std::byte* to = services(w).shared(w, op, lane, c.to[lane], c.bytes);
        if (!to) return nullptr;
        const bool is_reduction = c.atomic != AtomicOp::none;
        if (agent)
            agent.write(events::shared_location(*w.cta, c.to[lane]), to, c.bytes, is_reduction);
        const uint32_t* data = c.data[lane];
        const uint64_t low = data[0] | uint64_t{data[1]} << 32;
        if (is_reduction)
            c.bytes == 8 ? reduce<uint64_t>(to, c, low) : reduce<uint32_t>(to, c, data[0]);
        else if (c.bytes == 8)
            host::store<uint64_t>(to, low);
        else
            for (uint32_t i = 0; i < c.bytes / 4; ++i) host::store<uint32_t>(to + 4 * i, data[i]);
        MbarrierChange done;
        done.expect = -static_cast<int64_t>(c.bytes);
        if (!services(w).mbarrier(w, op, lane, c.mbarrier[lane], done)) return nullptr;
    }
    return op + 1;
}

}  // namespace sassemu::async
