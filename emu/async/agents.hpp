// SPDX-License-Identifier: Apache-2.0
// The agents of a cluster: copies that a warp has issued and that are not performed yet, and who
// decides when they are. What one copy does is in lane_copy.cpp, lane_store.cpp, bulk_copy.cpp and
// tensor_copy.cpp; what the tensor core does, whose work is kept here in the same way, in
// tensor_work.cpp and warpgroup_work.cpp.
//
// Programs may rely on nothing but: a copy is done when its group or its mbarrier says so (PTX ISA,
// "Asynchronous copy operations"). Three orders show what a program relies on beyond that:
//   eager   each copy is performed when it is issued
//   lazy    as late as can be: when something waits for it, when nothing else can run (what polls
//           with an eye on the clock does not count as running), or its CTA ends; and one now and
//           then, for waits that count how often they look
//   random  at times that the Chooser picks
// The tensor core does what a warp gives it in order; when, is free in the same way (PTX ISA,
// "tcgen05 memory consistency").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "emu/async/tensor_core.hpp"
#include "emu/async/warpgroup_core.hpp"
#include "emu/gpu.hpp"
#include "emu/machine/chooser.hpp"
#include "emu/machine/services.hpp"

namespace sassemu::async {

// Perform a copy or a store now, known to plugins as `id`. They follow the Handler convention: op +
// 1, or nullptr after a fault of the launch.
const Op* lane_copy(Warp&, const Op*, uint32_t lanes, const LaneCopy&);
const Op* lane_store(Warp&, const Op*, uint32_t lanes, const LaneStore&, uint64_t id);
const Op* bulk_copy(Warp&, const Op*, uint32_t lanes, const BulkCopy&, uint64_t id);
const Op* tensor_copy(Warp&, const Op*, uint32_t lanes, const TensorCopy&, uint64_t id);
const Op* take_work(Warp&, const Op*, uint32_t lanes, const WorkRequest&, uint64_t id, bool any);
// Tell plugins of the issue, and of the ranges that will be touched. They return the id.
uint64_t announce(Warp&, const Op*, uint32_t lanes, const WorkRequest&);
uint64_t announce(Warp&, const Op*, uint32_t lanes, const LaneStore&);
uint64_t announce(Warp&, const Op*, uint32_t lanes, const BulkCopy&);
uint64_t announce(Warp&, const Op*, uint32_t lanes, const TensorCopy&);

// Work of the tensor core.
class TensorWork {
  public:
    TensorWork(const Multiply& m) : what_(m) {
        if (m.disabled_lanes)
            std::copy_n(m.disabled_lanes, m.pair ? 8 : 4, disabled_lanes_.emplace().begin());
    }
    TensorWork(const TensorMove& m) : what_(m) {}
    // visit(const Multiply&) or visit(const TensorMove&)
    template <class Visit>
    auto visit(Visit&& visit) const {
        if (const auto* m = std::get_if<TensorMove>(&what_)) return visit(*m);
        Multiply m = std::get<Multiply>(what_);
        m.disabled_lanes = disabled_lanes_ ? disabled_lanes_->data() : nullptr;
        return visit(m);
    }
    // cta_group::2
    bool pair() const {
        return std::visit([](const auto& what) { return what.pair; }, what_);
    }

  private:
    std::variant<Multiply, TensorMove> what_;
    std::optional<std::array<uint32_t, 8>> disabled_lanes_;  // of a multiplication: its own copy
};
uint64_t announce(Warp&, const Op*, uint32_t lanes, const TensorWork&);
uint64_t announce(Warp&, const Op*, uint32_t lanes, const TensorCommit&);
const Op* tensor_work(Warp&, const Op*, uint32_t lanes, const TensorWork&, uint64_t id,
                      lanes::MatrixSums);
const Op* commit_tensor(Warp&, const Op*, uint32_t lanes, const TensorCommit&, uint64_t id);
CtaTensorMemory& tensor_of(Cta&);
// The other CTA of its pair (cta_group::2); null: the cluster has none.
Cta* peer_of(const Cta&);
// Before it is issued: false after a fault of the launch, for no such work can be done.
bool possible(Warp&, const Op*, uint32_t lanes, const TensorWork&);
// The oldest wgmma of a warpgroup that all its warps have issued; `room` is the unit's.
struct WarpgroupWork {
    uint32_t group = 0;
};
uint64_t announce(Warp&, const Op*, uint32_t lanes, const WarpgroupWork&);
const Op* warpgroup_work(Warp&, const Op*, uint32_t lanes, const WarpgroupWork&, uint64_t id,
                         lanes::WarpgroupProduct& room, lanes::WarpgroupSums);
// For reports: what a warp at WARPGROUP.DEPBAR waits for.
std::string describe_warpgroup(const Cta&, uint32_t warp);
// The warps of its warpgroup that one at WARPGROUP.WAIT waits for (bit per warp), and as "2, 3".
uint32_t missing(const Warp&);
std::string describe_missing(const Warp&);
// Performed at once, events included.
const Op* clear_shared(Warp&, const Op*, uint32_t lanes, uint32_t address, uint64_t bytes);
const Op* tensor_access(Warp&, const Op*, uint32_t lanes, const TensorAccess&);
const Op* tensor_granules(Warp&, const Op*, uint32_t lanes, GranuleRequest&);

// An arrival that waits for the copies which the lanes have issued before.
struct Arrival {
    uint32_t mbarrier = 0;
    MbarrierChange change;
};

class Agents {
  public:
    using Work = std::variant<LaneCopy, LaneStore, BulkCopy, TensorCopy, Arrival, CopyGroup,
                              TensorWork, TensorCommit, WarpgroupWork, WorkRequest>;

    // For the next cluster. `matrix_sums` and `warpgroup_sums` are the tensor cores'.
    void begin(AgentOrder order, Chooser& chooser, lanes::MatrixSums matrix_sums,
               lanes::WarpgroupSums warpgroup_sums) {
        order_ = order;
        chooser_ = &chooser;
        matrix_sums_ = matrix_sums;
        warpgroup_sums_ = warpgroup_sums;
        jobs_.clear();
    }
    bool eager() const { return order_ == AgentOrder::eager; }
    bool idle() const { return jobs_.empty(); }

    const Op* issue(Warp&, const Op*, uint32_t lanes, const Work&);
    // Until at most `left` groups of the warp are under way on the scoreboard; all with left == 0.
    const Op* wait(Warp&, const Op*, uint32_t scoreboard, uint32_t left);
    // A moment at which the random order may perform something. False: the launch has ended with a
    // fault.
    bool turn();
    // Performs the oldest; false when there is none.
    bool act();
    // A warp's part of a wgmma, which is issued as work with the last of its warpgroup.
    const Op* multiply(Warp&, const Op*, const WarpgroupMultiply&);
    // Performs the wgmma of the warp's warpgroup that can be, until at most `left` of the warp's
    // signals are to come. False: the launch has ended with a fault.
    bool reach(Warp&, uint32_t left);
    // Performs all that the CTA has issued.
    void finish(const Cta&);

  private:
    struct Job {
        Warp* warp;
        const Op* op;
        uint32_t lanes;
        Work work;
        Issued issued;
    };
    Issued announce(Warp&, const Op*, uint32_t lanes, const Work&);
    const Op* perform_now(Warp&, const Op*, uint32_t lanes, const Work&, const Issued&);
    bool follows(const Job& later, const Job& earlier) const;
    bool ready(size_t index) const;
    bool takes_any();
    bool perform(size_t index);
    // Of the first `end` jobs those that `which` names; `end` falls by their number.
    template <class Which>
    bool perform_all(size_t& end, Which&& which);

    AgentOrder order_ = AgentOrder::eager;
    Chooser* chooser_ = nullptr;
    lanes::MatrixSums matrix_sums_;
    lanes::WarpgroupSums warpgroup_sums_ = nullptr;
    std::unique_ptr<lanes::WarpgroupProduct> room_;  // null until something uses it
    std::vector<Job> jobs_;                          // in the order of issue
};

}  // namespace sassemu::async
