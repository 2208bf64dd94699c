// SPDX-License-Identifier: Apache-2.0
// What handlers ask of the engine: the rare and the stateful. A table of functions, because
// handlers live in one shared object per host level and the engine in another; never called by a
// straight-line arithmetic instruction.
#pragma once

#include <cstdint>

#include "emu/gpu.hpp"
#include "emu/machine/copies.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/mbarrier.hpp"
#include "emu/machine/port.hpp"
#include "emu/machine/tensor_requests.hpp"

namespace sassemu {

enum class BarrierOp : uint8_t { sync, arrive, reduce_popc, reduce_and, reduce_or, scan };

struct BarrierRequest {
    BarrierOp op = BarrierOp::sync;
    uint32_t id = 0;
    uint32_t threads = 0;    // 0: all
    uint32_t predicate = 0;  // lanes whose reduction input is true
};

// Every function that returns an Op pointer follows the Handler convention: the next operation of
// the path that runs on (perhaps another path of the warp: Warp::active is set), or nullptr.
struct Services {
    // Ends the launch with a guest fault. `address` counts only with `has_address`.
    const Op* (*fault)(Warp&, const Op*, uint32_t lanes, FaultKind, const char* what,
                       bool has_address, uint64_t address);
    // Ends the launch with status `unsupported`: the instruction has no behaviour here.
    const Op* (*unsupported)(Warp&, const Op*, uint32_t lanes);
    // Divergence: `taken` lanes of the running path go to `target`, the rest to `next`.
    const Op* (*split)(Warp&, const Op* target, uint32_t taken, const Op* next);
    // Each lane of `lanes` goes to its own code address (BRX, JMX, RET, CALL by register); the rest
    // of the running path goes to op + 1.
    const Op* (*jump)(Warp&, const Op*, uint32_t lanes, const uint64_t address[32]);
    // A taken back edge with the quantum used up.
    const Op* (*yield)(Warp&, const Op* target, const Op* edge);
    // YIELD: other paths run first; none waits at BSYNC for the lanes that yield.
    const Op* (*give_way)(Warp&, const Op*);
    const Op* (*bsync)(Warp&, const Op*, uint32_t lanes, uint32_t barrier);
    // After b[][] has changed or lanes have left: paths at BSYNC may now go on.
    void (*recheck)(Warp&);
    // `want`: the mask that each lane names; lanes that name the same one meet. The target of a
    // collective is where its lanes go on if others' code ran for them.
    const Op* (*warpsync)(Warp&, const Op*, uint32_t lanes, const uint32_t want[32], Meeting);
    const Op* (*end_collective)(Warp&, const Op*, uint32_t lanes);
    const Op* (*exit)(Warp&, const Op*, uint32_t lanes);
    const Op* (*barrier)(Warp&, const Op*, uint32_t lanes, const BarrierRequest&);
    // The barrier of the cluster (UCGABAR_ARV, UCGABAR_WAIT).
    const Op* (*cluster_arrive)(Warp&, const Op*, uint32_t lanes);
    const Op* (*cluster_wait)(Warp&, const Op*, uint32_t lanes);
    // griddepcontrol, see schedule/chain.hpp.
    const Op* (*launch_dependents)(Warp&, const Op*, uint32_t lanes);
    const Op* (*grid_wait)(Warp&, const Op*, uint32_t lanes);
    // `bytes` of shared memory at a 32-bit address of the cluster, whose bits 31..24 are a rank.
    // nullptr: the launch has ended with a fault.
    std::byte* (*shared)(Warp&, const Op*, uint32_t lane, uint32_t address, uint32_t bytes);
    // Changes the mbarrier object at such an address, and wakes who waits for the end of its phase.
    // False: the launch has ended with a fault.
    bool (*mbarrier)(Warp&, const Op*, uint32_t lane, uint32_t address, const MbarrierChange&);
    // try_wait: the path executes `op` again when the phase has ended or the time is up.
    const Op* (*mbarrier_wait)(Warp&, const Op*, const std::byte* object);
    // Copies, performed now or later; see async/agents.hpp.
    const Op* (*lane_copy)(Warp&, const Op*, uint32_t lanes, const LaneCopy&);
    const Op* (*lane_store)(Warp&, const Op*, uint32_t lanes, const LaneStore&);
    const Op* (*bulk_copy)(Warp&, const Op*, uint32_t lanes, const BulkCopy&);
    const Op* (*tensor_copy)(Warp&, const Op*, uint32_t lanes, const TensorCopy&);
    // As `mbarrier`, after the lane copies that the lanes have issued.
    bool (*arrive_after_copies)(Warp&, const Op*, uint32_t lanes, uint32_t address,
                                const MbarrierChange&);
    const Op* (*end_copy_group)(Warp&, const Op*, const CopyGroup&);
    // Until at most `left` groups of the warp are on their way on a scoreboard.
    const Op* (*wait_copy_groups)(Warp&, const Op*, uint32_t scoreboard, uint32_t left);
    // Tensor memory: its allocation, which fills in the request; loads and stores, performed now;
    // the work of the tensor core, performed now or later, and the arrivals that follow it.
    const Op* (*tensor_granules)(Warp&, const Op*, uint32_t lanes, async::GranuleRequest&);
    const Op* (*tensor_access)(Warp&, const Op*, uint32_t lanes, const async::TensorAccess&);
    const Op* (*multiply)(Warp&, const Op*, uint32_t lanes, const async::Multiply&);
    const Op* (*tensor_move)(Warp&, const Op*, uint32_t lanes, const async::TensorMove&);
    const Op* (*commit_tensor)(Warp&, const Op*, uint32_t lanes, const async::TensorCommit&);
    // NANOSLEEP for `ns` of virtual time, then op + 1.
    const Op* (*sleep)(Warp&, const Op*, uint32_t lanes, uint64_t ns);
    // One access through the port (models, checked runs, --reference). Loads fill the destination
    // rows now or later. Generic addresses are resolved by the engine.
    const Op* (*access)(Warp&, const Op*, const Access&);
    const Op* (*fence)(Warp&, const Op*, const Fence&);
    // While an iteration is watched: these guest bytes were read.
    void (*watch)(Warp&, const std::byte* at, uint32_t bytes);
    void (*watch_mbarrier)(Warp&, const std::byte* object);
    // The absolute code address of an operation of this launch, and back (nullptr: no such code).
    uint64_t (*address_of)(const Warp&, const Op*);
};

inline const Services& services(const Warp& w) { return *w.cta->launch->services; }

// The rule for every taken backward branch, in the handlers themselves.
inline const Op* back_edge(Warp& w, const Op* target, const Op* edge) {
    if (w.issued < w.quantum_end) [[likely]]
        return target;
    return services(w).yield(w, target, edge);
}

}  // namespace sassemu
