// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk: a range of bytes between global memory and the shared memory of the cluster.
#include <span>
#include <vector>

#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/async/reduction.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

sassemu_location source(const Warp& w, const BulkCopy& c) {
    return c.from_global ? events::global_location(c.from)
                         : events::shared_location(*w.cta, static_cast<uint32_t>(c.from));
}

bool reduces(const BulkCopy& c) { return c.reduce != AtomicOp::none; }

void transfer(const BulkCopy& c, std::byte* to, const std::byte* from) {
    if (reduces(c)) return reduce_words(to, from, c.bytes, c.reduce, c.type);
    if (c.byte_mask == 0xffff) return copy_words(to, from, c.bytes);
    for (uint32_t i = 0; i < c.bytes; ++i)
        if (c.byte_mask >> i % 16 & 1) host::store_bytes(to + i, 1, host::load_bytes(from + i, 1));
}

// The same where only messages reach `c.to`.
Result<void> transfer_far(Warp& w, const BulkCopy& c, const std::byte* from) {
    LaunchHost& launch = launch_host(w);
    if (!reduces(c) && c.byte_mask == 0xffff) return launch.put_far(c.to, std::span(from, c.bytes));
    Result<void> sent;
    const uint32_t each = !reduces(c) ? 1 : step_bytes(c.type);
    for (uint32_t i = 0; sent && i < c.bytes; i += each) {
        if (reduces(c))
            sent = launch.reduce_far(
                c.to + i, {c.reduce, c.type, each, {host::load_bytes(from + i, each), 0}, {}});
        else if (c.byte_mask >> i % 16 & 1)
            sent = launch.put_far(c.to + i, std::span(from + i, 1));
    }
    return sent;
}

}  // namespace

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const BulkCopy& c) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, c.to_global ? SASSEMU_GROUP_BULK : -1,
                             c.mbarrier);
    issue.will_read(source(w, c), c.bytes);
    if (c.to_global) issue.will_write(events::global_location(c.to), c.bytes, reduces(c));
    const auto own = static_cast<uint32_t>(c.to);
    for (uint32_t rest = c.to_global ? 0 : receivers(c, own); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        issue.reports_to(reported(c, window));
        issue.will_write(events::shared_location(*w.cta, window | (own & 0xffffff)), c.bytes,
                         reduces(c));
    }
    return issue.id();
}

const Op* bulk_copy(Warp& w, const Op* op, uint32_t lanes, const BulkCopy& c, uint64_t id) {
    if (!c.bytes) {  // of nothing: from any address to any (tests/hardware/generic)
        events::AsyncOperation(w, op, lanes, SASSEMU_AGENT_TMA, id);
        return op + 1;
    }
    for (const uint64_t address : {c.to, c.from})
        if (address % 16)
            return services(w).fault(w, op, lanes, FaultKind::misaligned_address,
                                     "a bulk copy's addresses are multiples of 16", true, address);
    std::vector<std::byte> held;  // what another process has
    if (FarMemory* const far = c.from_global ? launch_host(w).far(c.from, c.bytes) : nullptr) {
        held.resize(c.bytes);
        if (!far_copied(w, op, lanes, c.from, far->read(c.from, held))) return nullptr;
    }
    const std::byte* from =
        !held.empty()   ? held.data()
        : c.from_global ? global_range(w, op, lanes, c.from, c.bytes, false)
                        : shared_range(w, op, lanes, static_cast<uint32_t>(c.from), c.bytes, 16);
    if (!from) return nullptr;
    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, id);
    if (agent) from = agent.read(source(w, c), from, c.bytes);
    if (c.to_global && launch_host(w).far(c.to, c.bytes))
        return far_copied(w, op, lanes, c.to, transfer_far(w, c, from)) ? op + 1 : nullptr;
    if (c.to_global) {
        std::byte* to = global_range(w, op, lanes, c.to, c.bytes, true);
        if (!to) return nullptr;
        if (agent) agent.write(events::global_location(c.to), to, c.bytes, reduces(c));
        transfer(c, to, from);
        return op + 1;
    }
    const auto own = static_cast<uint32_t>(c.to);
    for (uint32_t rest = receivers(c, own); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        std::byte* to = shared_range(w, op, lanes, window | (own & 0xffffff), c.bytes, 16);
        if (!to) return nullptr;
        if (agent)
            agent.write(events::shared_location(*w.cta, window | (own & 0xffffff)), to, c.bytes,
                        reduces(c));
        transfer(c, to, from);
        if (!report(w, op, lanes, c, window, c.bytes)) return nullptr;
    }
    return op + 1;
}

// st.bulk: the warp's own store, of more than lanes have registers for.
const Op* clear_shared(Warp& w, const Op* op, uint32_t lanes, uint32_t address, uint64_t bytes) {
    if (!bytes) return op + 1;
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    std::byte* const to = services(w).shared(w, op, lane, address, 8);
    if (!to) return nullptr;
    Cta& cta = *w.cta->cluster->cta[address >> 24];
    if ((address & 0xffffff) + bytes > cta.shared_bytes)
        return launch_host(w).fault(
            w, op, 1u << lane, FaultKind::out_of_bounds,
            "st.bulk leaves the shared memory of the CTA: " + std::to_string(bytes) + " bytes, " +
                shared_bounds(cta, address),
            true, address);
    ++w.effects;
    const sassemu_location at = events::shared_location(*w.cta, address);
    uint64_t id = 0;
    if (w.instructions) {
        events::AsyncIssue issue(w, op, lanes & (0u - lanes), SASSEMU_AGENT_WARP, -1);
        issue.will_write(at, bytes);
        id = issue.id();
    }
    events::AsyncOperation agent(w, op, lanes & (0u - lanes), SASSEMU_AGENT_WARP, id);
    if (agent) agent.write(at, to, bytes);
    for (uint64_t i = 0; i < bytes; i += 8) host::store<uint64_t>(to + i, 0);
    return op + 1;
}

}  // namespace sassemu::async
