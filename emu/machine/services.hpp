// SPDX-License-Identifier: Apache-2.0
// What handlers ask of the engine: the rare and the stateful. A table of functions, because
// handlers live in one shared object per host level and the engine in another; never called by a
// straight-line arithmetic instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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

// One function of the table. It is never null: who leaves it out does not compile.
template <class Function>
class Asked {
  public:
    template <class F>
    constexpr Asked(F function) : function_(function) {}
    Asked(std::nullptr_t) = delete;
    constexpr operator Function*() const { return function_; }

  private:
    Function* function_;
};

// Every function that returns an Op pointer follows the Handler convention: the next operation of
// the path that runs on (perhaps another path of the warp: Warp::active is set), or nullptr.
struct Services {
    // Ends the launch with a guest fault. `address` counts only with `has_address`.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, FaultKind, const char* what, bool has_address,
                    uint64_t address)>
        fault;
    // Ends the launch with status `unsupported`: the instruction has no behaviour here.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> unsupported;
    // Divergence: `taken` lanes of the running path go to `target`, the rest to `next`.
    Asked<const Op*(Warp&, const Op* target, uint32_t taken, const Op* next)> split;
    // Each lane of `lanes` goes to its own code address (BRX, JMX, RET, CALL by register); the rest
    // of the running path goes to op + 1.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const uint64_t address[32])> jump;
    // A taken back edge with the quantum used up.
    Asked<const Op*(Warp&, const Op* target, const Op* edge)> yield;
    // YIELD: another path runs first, where one can.
    Asked<const Op*(Warp&, const Op*)> give_way;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, uint32_t barrier)> bsync;
    // BREAK: lanes have left a convergence barrier; those that wait at it may be all there are.
    Asked<const Op*(Warp&, const Op*, uint32_t barrier)> leave_barrier;
    // `want`: the mask that each lane names; lanes that name the same one meet. The target of a
    // collective is where its lanes go on if others' code ran for them.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const uint32_t want[32], Meeting)> warpsync;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> end_collective;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> exit;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const BarrierRequest&)> barrier;
    // The barrier of the cluster (UCGABAR_ARV, UCGABAR_WAIT).
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> cluster_arrive;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> cluster_wait;
    // griddepcontrol, see schedule/chain.hpp.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> launch_dependents;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes)> grid_wait;
    // `bytes` of shared memory at a 32-bit address of the cluster, whose bits 31..24 are a rank.
    // nullptr: the launch has ended with a fault.
    Asked<std::byte*(Warp&, const Op*, uint32_t lane, uint32_t address, uint32_t bytes)> shared;
    // Changes the mbarrier object at such an address, and wakes who waits for the end of its phase.
    // False: the launch has ended with a fault.
    Asked<bool(Warp&, const Op*, uint32_t lane, uint32_t address, const MbarrierChange&)> mbarrier;
    // try_wait: the path executes `op` again when the phase has ended or the time is up.
    Asked<const Op*(Warp&, const Op*, const std::byte* object)> mbarrier_wait;
    // Copies, performed now or later; see async/agents.hpp.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const LaneCopy&)> lane_copy;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const LaneStore&)> lane_store;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const BulkCopy&)> bulk_copy;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const TensorCopy&)> tensor_copy;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const WorkRequest&)> next_work;
    // UMEMSETS: `bytes` of the CTA's shared memory become zero, now.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, uint32_t address, uint64_t bytes)>
        clear_shared;
    // As `mbarrier`, after the lane copies that the lanes have issued.
    Asked<bool(Warp&, const Op*, uint32_t lanes, uint32_t address, const MbarrierChange&)>
        arrive_after_copies;
    Asked<const Op*(Warp&, const Op*, const CopyGroup&)> end_copy_group;
    // Until at most `left` groups of the warp are on their way on a scoreboard.
    Asked<const Op*(Warp&, const Op*, uint32_t scoreboard, uint32_t left)> wait_copy_groups;
    // Tensor memory: its allocation, which fills in the request; loads and stores, performed now;
    // the work of the tensor core, performed now or later, and the arrivals that follow it.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, async::GranuleRequest&)> tensor_granules;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const async::TensorAccess&)> tensor_access;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const async::Multiply&)> multiply;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const async::TensorMove&)> tensor_move;
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, const async::TensorCommit&)> commit_tensor;
    // wgmma of a whole warp, performed with those of the other warps of its warpgroup, and the
    // wait for all but `left` of those that signal.
    Asked<const Op*(Warp&, const Op*, const async::WarpgroupMultiply&)> warpgroup_multiply;
    Asked<const Op*(Warp&, const Op*, uint32_t left)> warpgroup_wait;
    // WARPGROUP.ARRIVE and .WAIT of a whole warp: the warps of its warpgroup meet.
    Asked<const Op*(Warp&, const Op*)> warpgroup_arrive;
    Asked<const Op*(Warp&, const Op*)> warpgroup_meet;
    // NANOSLEEP for `ns` of virtual time, then op + 1.
    Asked<const Op*(Warp&, const Op*, uint32_t lanes, uint64_t ns)> sleep;
    // One access through the port (models, checked runs, --reference). Loads fill the destination
    // rows now or later. Generic addresses are resolved by the engine.
    Asked<const Op*(Warp&, const Op*, const Access&)> access;
    // LDGMC: the load, combined over the members of the multicast objects that lanes name.
    Asked<const Op*(Warp&, const Op*, const Access&, const LoadReduce&)> load_reduce;
    Asked<const Op*(Warp&, const Op*, const Fence&)> fence;
    // While an iteration is watched: these guest bytes were read.
    Asked<void(Warp&, const std::byte* at, uint32_t bytes)> watch;
    Asked<void(Warp&, const std::byte* object)> watch_mbarrier;
    // The absolute code address of an operation of this launch, and back (nullptr: no such code).
    Asked<uint64_t(const Warp&, const Op*)> address_of;
};

// A table that has `stand_in`, which converts to each of the functions, everywhere: for those who
// provide few of them, and set these by name.
template <class StandIn>
constexpr Services services_of(StandIn stand_in) {
    const auto fill = [&]<size_t... K>(std::index_sequence<K...>) {
        return Services{((void)K, stand_in)...};
    };
    return fill(std::make_index_sequence<sizeof(Services) / sizeof(void (*)())>());
}

inline const Services& services(const Warp& w) { return *w.cta->launch->services; }

// The rule for every taken backward branch, in the handlers themselves.
inline const Op* back_edge(Warp& w, const Op* target, const Op* edge) {
    if (w.issued < w.quantum_end) [[likely]]
        return target;
    return services(w).yield(w, target, edge);
}

}  // namespace sassemu
