// SPDX-License-Identifier: Apache-2.0
// cp.async (LDGSTS): every lane copies 4, 8 or 16 bytes from global to its CTA's shared memory. A
// weak access of the generic proxy that happens later (PTX ISA, "cp.async").
#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/async/agents.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

std::byte* landing(Warp& w, const Op* op, AccessSpace space, uint64_t address, uint32_t lane,
                   uint32_t bytes) {
    const Landing at = land(w, space, address, lane, bytes, space == AccessSpace::shared);
    if (!at.host) services(w).fault(w, op, 1u << lane, at.fault, at.what, true, address);
    return at.host;
}

}  // namespace

const Op* lane_copy(Warp& w, const Op* op, uint32_t lanes, const LaneCopy& c) {
    ++w.effects;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        std::byte* to = landing(w, op, AccessSpace::shared, c.to[lane], lane, c.bytes);
        if (!to) return nullptr;
        uint32_t words[4] = {};
        if (c.from_lanes >> lane & 1) {
            const std::byte* from =
                landing(w, op, AccessSpace::global, c.from[lane], lane, c.bytes);
            if (!from) return nullptr;
            from = events::copy_reads(w, c.from[lane], from, c.bytes);
            for (uint32_t i = 0; i < c.bytes / 4; ++i)
                words[i] = host::load<uint32_t>(from + 4 * i);
            for (uint32_t i = c.keep[lane]; i < c.bytes; ++i)
                reinterpret_cast<unsigned char*>(words)[i] = 0;
        }
        events::copy_writes(w, c.to[lane] & 0xffffff, c.bytes);
        for (uint32_t i = 0; i < c.bytes / 4; ++i) host::store<uint32_t>(to + 4 * i, words[i]);
    }
    return op + 1;
}

}  // namespace sassemu::async
