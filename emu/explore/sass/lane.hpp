// SPDX-License-Identifier: Apache-2.0
// One instruction for one lane, by the emulator's own handler: registers in, registers out, and
// what it asks of the machine around it. What belongs here: the scratch warp that handlers see.
// What does not: what memory and barriers then do (graph/sass_turn.cpp, machines/sass_fetch.cpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "emu/async/tensor_map.hpp"
#include "emu/explore/sass/tensor_work.hpp"
#include "emu/machine/services.hpp"
#include "emu/schedule/prepared.hpp"

namespace sassemu::explore {

// What an instruction asked for beside registers.
struct SassEffects {
    enum class Call : uint8_t {
        none,
        exit,
        barrier,
        cluster_arrive,
        cluster_wait,
        mbarrier,       // `address`, `change`
        mbarrier_test,  // `address`; the object was shown as phase 0
        copies_arrive,  // `address`, `change`: after the lane copies so far
        warpsync,       // `lanes`
        lane_copy,
        lane_store,
        bulk_copy,
        tensor_copy,
        end_group,
        wait_groups,
        launch_dependents,
        grid_wait,
        product,       // `product`, of a thread of a warpgroup
        product_wait,  // `left`: of those that signal
        product_fence,
        tensor_granules,  // `granules`; `object` has those that are used
        tensor_access,
        tensor_work,
        tensor_commit,
        fault,  // `problem`
    };
    Call call = Call::none;
    std::vector<Access> accesses;
    std::optional<LoadReduce> combine;  // of its load: what the members of an object hold
    uint32_t address = 0, lanes = 0;
    struct Group {
        uint32_t scoreboard = 0, left = 0;
    };
    std::vector<Group> groups;  // end_group: one; wait_groups: one or more
    bool bulk_group = false;
    bool waited = false;  // mbarrier_test: it would have slept
    uint64_t object = 0;  // what it left of the object that it was shown
    MbarrierChange change;
    BarrierRequest barrier;
    LaneCopy lane{};
    LaneStore store{};
    BulkCopy bulk{};
    TensorCopy tensor{};
    async::WarpgroupMultiply product{};
    async::GranuleRequest granules{};
    async::TensorAccess tensor_access{};
    TensorWork tensor_work{};
    async::TensorCommit tensor_commit{};
    uint32_t left = 0;
    const char* problem = nullptr;
    bool unexplored = false;  // fault: it is exploration that does not know the instruction
    const sassemu::Op* next = nullptr;  // null after exit and faults
};

class SassLane {
  public:
    explicit SassLane(PreparedLaunch& launch);
    SassLane(const SassLane&) = delete;

    // Which thread it is from now on.
    void place(uint64_t cta, uint32_t thread);
    uint32_t lane() const { return lane_; }
    void set(uint32_t index, uint32_t value);  // a number of sass_register
    uint32_t get(uint32_t index) const;
    void set_object(uint64_t object) { object_ = object; }
    // `whole`: of a warp, which does it as one.
    const SassEffects& run(const sassemu::Op* op, bool whole);
    // What lies in a row that is no register: constants of handlers.
    uint32_t row(uint32_t row) const;
    // Number of sass_register of the register whose row this is; -1: none (RZ).
    static int32_t register_of_row(uint32_t row);

    PreparedLaunch& launch() const { return launch_; }

  private:
    friend struct SassServices;

    PreparedLaunch& launch_;
    Cluster cluster_;
    struct Thread : Cta {  // which handlers take for a CTA
        SassLane* lane = nullptr;
    } cta_;
    std::unique_ptr<Warp> warp_;
    std::unique_ptr<std::byte, void (*)(void*)> rows_{nullptr, std::free};
    SassEffects effects_;
    uint64_t object_ = 0;
    uint32_t lane_ = 0;
};

}  // namespace sassemu::explore
