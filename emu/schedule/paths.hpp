// SPDX-License-Identifier: Apache-2.0
// Independent thread scheduling: how the paths of a warp divide, wait and merge.
#pragma once

#include "emu/machine/services.hpp"

namespace sassemu::paths {

const Op* split(Warp&, const Op* target, uint32_t taken, const Op* next);
const Op* jump(Warp&, const Op*, uint32_t lanes, const uint64_t address[32]);
const Op* yield(Warp&, const Op* target, const Op* edge);
const Op* give_way(Warp&, const Op*);
const Op* bsync(Warp&, const Op*, uint32_t lanes, uint32_t barrier);
const Op* leave_barrier(Warp&, const Op*, uint32_t barrier);
// Before BAR on sm_120, for lanes of the warp that can come: the path waits (at_warpsync, with no
// meeting and BAR's own pc), or takes those along that have waited. False: BAR is executed.
bool meet_before_bar(Warp&, const Op* bar, const Op*& next);
inline bool is_before_bar(const Path& p) {
    return p.state == PathState::at_warpsync && p.meeting == Meeting::none;
}
const Op* warpsync(Warp&, const Op*, uint32_t lanes, const uint32_t want[32], Meeting);
const Op* end_collective(Warp&, const Op*, uint32_t lanes);
const Op* exit(Warp&, const Op*, uint32_t lanes);
const Op* sleep(Warp&, const Op*, uint32_t lanes, uint64_t ns);

// schedule/convergence.cpp. Makes the path that runs next the current one; false: none can. After
// an EXIT `left_by` is the lowest lane of those that executed it.
constexpr uint32_t nobody = 32;
bool pick(Warp&, uint32_t left_by = nobody);
// The same, and it runs.
bool choose(Warp&, uint32_t left_by = nobody);
// Another path of these lanes of the running one, left for later at a branch.
Path& push(Warp&, const Op* pc, uint32_t lanes);
// Lanes of a jump to several targets that have not had their turn.
void keep_turn(Warp&, const Op* jump, uint32_t lanes);
// Whether the running path is such lanes, and has its turn now.
bool take_turn(Warp&);
void remove(Warp&, uint32_t index);

// Whether the running path runs a collective, and the fault of one that leaves it.
bool in_collective(const Warp&);
const Op* leaves_collective(Warp&, const Op*, uint32_t lanes);

// Paths share the uniform registers of their warp. An H200 leaves a path where it blocks, at YIELD
// and at NANOSLEEP, and the next path finds what this one wrote (measured); it does not leave a
// path that spins (for a second or more) or waits for a load, and compilers count on that. The
// engine also takes turns at back edges; there `preempt` saves the uniform registers of the running
// path, and `resume` gives the running path its own back.
void preempt(Warp&);
void resume(Warp&);
// The lanes outside `lanes` of the running path become a path of their own at `pc`. False: a fault.
bool leave_behind(Warp&, uint32_t lanes, const Op* pc);
const Op* barrier(Warp&, const Op*, uint32_t lanes, const BarrierRequest&);

// schedule/cluster.cpp; see Services.
const Op* cluster_arrive(Warp&, const Op*, uint32_t lanes);
const Op* cluster_wait(Warp&, const Op*, uint32_t lanes);
// schedule/chain.cpp
const Op* launch_dependents(Warp&, const Op*, uint32_t lanes);
const Op* grid_wait(Warp&, const Op*, uint32_t lanes);
std::byte* shared(Warp&, const Op*, uint32_t lane, uint32_t address, uint32_t bytes);
bool mbarrier(Warp&, const Op*, uint32_t lane, uint32_t address, const MbarrierChange&);
const Op* mbarrier_wait(Warp&, const Op*, const std::byte* object);

}  // namespace sassemu::paths
