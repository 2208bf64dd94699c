// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol.try_cancel: a warp asks for the work of a cluster that has not begun, which
// then never begins. Where the answer's parts lie is read off what ptxas 13.0 makes of
// clusterlaunchcontrol.query_cancel; what it holds where nothing is handed over is assumed.
#include <bit>

#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/machine/dimensions.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

// Words: x of the cluster's first CTA; y, and z in the upper half; whether there is one; zero.
struct Answer {
    uint32_t word[4] = {};
};
static_assert(sizeof(Answer) == WorkRequest::bytes);

Answer answer(const Launch& launch, const std::optional<uint64_t>& index) {
    if (!index) return {};
    const Dim3 first = first_cta(launch.grid, launch.cluster, *index);
    return {{first.x, (first.y & 0xffff) | first.z << 16, 1, 0}};
}

}  // namespace

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const WorkRequest& r) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, -1, r.mbarrier);
    for (uint32_t rest = receivers(r, r.to); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        issue.reports_to(reported(r, window));
        issue.will_write(events::shared_location(*w.cta, window | (r.to & 0xffffff)),
                         WorkRequest::bytes);
    }
    return issue.id();
}

const Op* take_work(Warp& w, const Op* op, uint32_t lanes, const WorkRequest& r, uint64_t id,
                    bool any) {
    // What is wrong is wrong before anything has been taken.
    for (uint32_t rest = receivers(r, r.to); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        if (!shared_range(w, op, lanes, window | (r.to & 0xffffff), WorkRequest::bytes, 16))
            return nullptr;
    }
    const Answer now = answer(*w.cta->launch, launch_host(w).take_cluster(any));
    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, id);
    for (uint32_t rest = receivers(r, r.to); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        const uint32_t to = window | (r.to & 0xffffff);
        std::byte* const bytes = shared_range(w, op, lanes, to, WorkRequest::bytes, 16);
        if (!bytes) return nullptr;
        if (agent) agent.write(events::shared_location(*w.cta, to), bytes, WorkRequest::bytes);
        copy_words(bytes, reinterpret_cast<const std::byte*>(&now), WorkRequest::bytes);
        if (!report(w, op, lanes, r, window, WorkRequest::bytes)) return nullptr;
    }
    return op + 1;
}

}  // namespace sassemu::async
