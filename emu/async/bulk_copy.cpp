// cp.async.bulk: a range of bytes between global memory and the shared memory of the cluster.
#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/plugin/sync_events.hpp"

namespace sassemu::async {

const Op* bulk_copy(Warp& w, const Op* op, uint32_t lanes, const BulkCopy& c) {
    for (const uint64_t address : {c.to, c.from})
        if (address % 16)
            return services(w).fault(w, op, lanes, FaultKind::misaligned_address,
                                     "a bulk copy's addresses are multiples of 16", true, address);
    const std::byte* from =
        c.from_global ? global_range(w, op, lanes, c.from, c.bytes, false)
                      : shared_range(w, op, lanes, static_cast<uint32_t>(c.from), c.bytes, 16);
    if (!from) return nullptr;
    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA);
    if (agent) {
        if (c.from_global)
            agent.read_global(c.from, from, c.bytes);
        else
            agent.read_shared(static_cast<uint32_t>(c.from), from, c.bytes);
    }
    if (c.to_global) {
        std::byte* to = global_range(w, op, lanes, c.to, c.bytes, true);
        if (!to) return nullptr;
        if (agent) agent.write_global(c.to, to, c.bytes);
        copy_words(to, from, c.bytes);
        return op + 1;
    }
    const auto own = static_cast<uint32_t>(c.to);
    for (uint32_t rest = receivers(c, own); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        std::byte* to = shared_range(w, op, lanes, window | (own & 0xffffff), c.bytes, 16);
        if (!to) return nullptr;
        if (agent) agent.write_shared(window | (own & 0xffffff), to, c.bytes);
        copy_words(to, from, c.bytes);
        if (!report(w, op, lanes, c, window, c.bytes)) return nullptr;
    }
    return op + 1;
}

}  // namespace sassemu::async
