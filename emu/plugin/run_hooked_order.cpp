// SPDX-License-Identifier: Apache-2.0
// The same for hooked operations that order, synchronise or act on caches; accesses are in
// run_hooked.cpp.
#include "emu/machine/mbarrier.hpp"
#include "emu/memory/payload.hpp"
#include "emu/plugin/async_events.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/sync_events.hpp"

namespace sassemu {

// ---- fences and caches
// ---------------------------------------------------------------------------------------------------------

const Op* Hooks::fence(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    sassemu_fence f = i.fence;
    f.lanes = mask;
    f.warp = handle(&w);
    // An invalidation that is one with the barrier is known only once the whole section is lowered.
    f.invalidate_data = as<FencePayload>(*op).empties(FencePayload::data);
    f.invalidate_texture = as<FencePayload>(*op).empties(FencePayload::texture);
    if (model_ && model_table_->fence) {
        const int32_t answer = ask_model("fence", handle(&i), model_table_->fence, &f);
        if (w.stop == Stop::faulted) return nullptr;
        if (answer == SASSEMU_RETRY) return retry(op, w, mask);
    }
    for (PluginSession* s : on_fence_) s->tell("fence", handle(&i), &sassemu_observer::fence, &f);
    return plain(i, op, w, mask);
}

const Op* Hooks::cache(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    sassemu_cache_op c = i.cache;
    uint64_t address[32] = {};
    c.lanes = mask;
    c.warp = handle(&w);
    if (c.has_address) {
        const auto row = [&](uint32_t reg) -> const uint32_t* {
            return reg == SASSEMU_RZ ? w.row(zero_row) : w.row(register_row(reg));
        };
        const uint32_t* low = row(i.address_row);
        const uint32_t* high = i.wide_address && i.address_row != SASSEMU_RZ
                                   ? row(i.address_row + 1u)
                                   : w.row(zero_row);
        uint64_t add = static_cast<uint64_t>(int64_t{i.address_offset});
        if (i.address_ureg != 255)
            add += w.uniform[i.address_ureg] | uint64_t{w.uniform[i.address_ureg + 1u]} << 32;
        for (uint32_t lane = 0; lane < 32; ++lane)
            address[lane] = (uint64_t{high[lane]} << 32 | low[lane]) + add;
        c.address = address;
    }
    if (model_ && model_table_->cache &&
        ask_model("cache", handle(&i), model_table_->cache, &c) == SASSEMU_RETRY)
        return retry(op, w, mask);
    if (w.stop == Stop::faulted) return nullptr;
    for (PluginSession* s : on_cache_) s->tell("cache", handle(&i), &sassemu_observer::cache, &c);
    return plain(i, op, w, mask);
}

// ---- what synchronises, seen as instructions
// -------------------------------------------------------------------------------------

const Op* Hooks::misc(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    sassemu_sync e = events::event(w, handle(&i), 0, mask);
    const auto at = [&](uint32_t address) { events::set_object(e, *w.cta, address); };
    const auto told_behind = [&] {  // when it is over
        const Op* then = plain(i, op, w, mask);
        if (then) sync(e);
        return then;
    };
    switch (i.kind) {
        case Hooked::mbarrier_init: {
            const auto& barrier = as<MbarrierPayload>(*op);
            const uint32_t address = barrier.address(w);
            const Mbarrier next = Mbarrier::decode(barrier.object(w));
            if (scoped_)
                scoped_->initialises(handle(&w), mask, events::shared_location(*w.cta, address));
            const Op* then = plain(i, op, w, mask);
            if (!then) return nullptr;
            at(address);
            e.kind = SASSEMU_SYNC_MBARRIER_INIT;
            e.arrivals = next.expected;
            e.pending = next.pending;
            sync(e);
            return then;
        }
        case Hooked::mbarrier_test: {
            const auto& test = as<MbarrierTestPayload>(*op);
            uint32_t address[32];
            for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = test.near(w).at(lane);
            const uint32_t parity = test.parities(w);
            for (uint32_t todo = scoped_ ? mask : 0; todo; todo &= todo - 1) {
                const auto lane = static_cast<uint32_t>(std::countr_zero(todo));
                events::meets_object(*this, w, op, 1u << lane, address[lane]);
            }
            const Op* then = plain(i, op, w, mask);
            if (!then) return nullptr;  // it waits, and is issued again
            e.kind = SASSEMU_SYNC_MBARRIER_TEST;
            for (uint32_t todo = mask; todo;) {  // an event for each object and parity
                const auto leader = static_cast<uint32_t>(std::countr_zero(todo));
                const uint32_t first = address[leader];
                uint32_t same = 0;
                for (uint32_t lane = 0; lane < 32; ++lane)
                    if ((todo >> lane & 1) && address[lane] == first &&
                        !((parity >> lane ^ parity >> leader) & 1))
                        same |= 1u << lane;
                todo &= ~same;
                e.parity = parity >> leader & 1;
                at(first);
                e.lanes = same;
                e.passed = w.p[test.predicate()] & same;
                // The predicate may be PT or UPT, which are always true: then the result is in
                // nobody's hands.
                if (test.predicate() % 8 == 7) e.passed = 0;
                sync(e);
            }
            return then;
        }
        case Hooked::mbarrier_invalidate: {
            uint32_t address = static_cast<uint32_t>(i.address_offset);
            if (i.address_row != SASSEMU_RZ)
                address += w.row(register_row(i.address_row))[std::countr_zero(mask)];
            if (i.address_ureg != 255) address += w.uniform[i.address_ureg];
            at(address);
            e.kind = SASSEMU_SYNC_MBARRIER_INVALIDATE;
            break;
        }
        case Hooked::group_commit:
            e.kind = SASSEMU_SYNC_GROUP_COMMIT;
            e.id = i.group;
            break;
        case Hooked::group_wait:
            e.kind = SASSEMU_SYNC_GROUP_WAIT;
            e.id = i.group;
            e.pending = i.group_left;
            e.read_only = i.group_read;
            return told_behind();
        case Hooked::grid_launch:
            e.kind = SASSEMU_SYNC_GRID_LAUNCH;
            break;
        case Hooked::grid_wait:
            e.kind = SASSEMU_SYNC_GRID_WAIT;
            return told_behind();
        default:
            return plain(i, op, w, mask);
    }
    sync(e);
    return plain(i, op, w, mask);
}

}  // namespace sassemu
