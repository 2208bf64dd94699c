// SPDX-License-Identifier: Apache-2.0
// What the scheduler tells plugins: barriers, mbarrier objects, warps that join, exits. Each
// function is called only where the launch has plugins (Launch::hooks).
#pragma once

#include "emu/machine/services.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu::events {

// An event that says who and where.
sassemu_sync event(Warp&, sassemu_insn, uint32_t kind, uint32_t lanes);
// The mbarrier object at a shared address, with a rank in bits 31..24.
void set_object(sassemu_sync&, const Cta&, uint32_t address);

void barrier_arrive(Hooks&, Warp&, const Op*, uint32_t lanes, const BarrierRequest&);
// `waiting`: per warp, the lanes that go on now.
void barrier_complete(Hooks&, Cta&, uint32_t id, const Barrier&, const uint32_t* waiting);
void cluster_arrive(Hooks&, Warp&, const Op*, uint32_t lanes);
void cluster_wait(Hooks&, Warp&, const Op*, uint32_t lanes);
void cluster_complete(Hooks&, Cta&);
// A thread is about to use the object, which a scoped machine may not show it as it is.
void meets_object(Hooks&, Warp&, const Op*, uint32_t lanes, uint32_t address);
void mbarrier_change(Hooks&, Warp&, const Op*, uint32_t lane, uint32_t address,
                     const MbarrierChange&, const Mbarrier& before, const Mbarrier& after,
                     bool misuse);
void warpgroup_arrive(Hooks&, Warp&, const Op*, uint32_t lanes);
void warpgroup_wait(Hooks&, Warp&, const Op*, uint32_t lanes);
void warp_joins(Hooks&, Warp&, const Op*, uint32_t lanes);
void exits(Hooks&, Warp&, const Op*, uint32_t lanes);

}  // namespace sassemu::events
