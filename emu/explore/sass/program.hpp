// SPDX-License-Identifier: Apache-2.0
// The threads of real kernels as threads of a test: the launches that they belong to, their code,
// and where their memory lies among the test's locations. Two front ends fill it: .sass files and
// launch plans (read_sass.cpp, plan/read_plan_test.cpp). What does not belong here: what
// instructions do.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "emu/explore/sass/code.hpp"
#include "emu/explore/sass/lane.hpp"

namespace sassemu::explore {

struct SassThread {
    uint32_t launch = 0;
    uint64_t cta = 0;     // in its grid
    uint32_t thread = 0;  // in its CTA
};

class SassProgram {
  public:
    explicit SassProgram(std::unique_ptr<Gpu> gpu);
    ~SassProgram();

    // Errors: those of a launch.
    Result<uint32_t> add_launch(const LaunchRequest& request);
    // Global memory [address, address + bytes) as a location of the test; its bytes are read now.
    Result<uint32_t> add_memory(Test& test, const std::string& name, uint64_t address,
                                uint64_t bytes);
    // The same for a name that the test has: `address` is that of its location's first byte.
    Result<void> place_memory(Test& test, uint32_t name, uint64_t address);
    // Addresses that stand for the same bytes at each of `members`.
    void add_multicast(uint64_t address, uint64_t bytes, std::vector<uint64_t> members) {
        objects_.push_back({address, bytes, std::move(members)});
    }
    // The CTA that a thread of the test runs in has shared memory of its own, and tensor memory if
    // its code uses it: as locations.
    void add_shared(Test& test, uint32_t thread);

    Gpu& gpu() { return *gpu_; }
    const SassThread& thread(uint32_t number) const { return threads_[number]; }
    std::vector<SassThread>& threads() { return threads_; }
    SassCode& code(uint32_t launch) const;
    SassLane& lane(uint32_t thread) const;  // placed
    // Lanes of its own for somebody who runs threads beside others: one for each launch.
    using Lanes = std::vector<std::unique_ptr<SassLane>>;
    Lanes lanes() const;
    SassLane& lane(const Lanes& of, uint32_t thread) const;
    // Runs the instruction for the thread: `in` has what it reads, in the order of `reads`.
    const SassEffects& run(uint32_t thread, uint32_t pc, const std::vector<uint64_t>& in,
                           uint64_t object = 0) const {
        return run(lane(thread), thread, pc, in, object);
    }
    const SassEffects& run(SassLane& placed, uint32_t thread, uint32_t pc,
                           const std::vector<uint64_t>& in, uint64_t object = 0) const;
    uint32_t lanes_of_warp(uint32_t thread) const;  // that there are, as bits
    bool leads_warp(uint32_t thread) const {        // it is the lowest lane
        return !(threads_[thread].thread % 32);
    }
    // The test's register whose word this is: a row of a handler's operand, and words after it.
    int32_t number_of_row(uint32_t thread, uint32_t row,
                          uint32_t word) const;  // -1: none
    uint32_t entry(uint32_t launch) const;
    PreparedLaunch& launch(uint32_t number) const { return *launches_[number].prepared; }
    uint32_t launches() const { return static_cast<uint32_t>(launches_.size()); }
    // It may begin before the one ahead of it has ended (griddepcontrol).
    bool overlaps(uint32_t launch) const { return launches_[launch].overlaps; }
    bool ptx_known() const;

    // Where an access lands. False: nowhere.
    bool global(uint64_t address, uint64_t bytes, Place& out) const;
    // Where an access to a multicast object lands; null: the address is in none.
    std::optional<std::vector<uint64_t>> members(uint64_t address) const;
    // Of the first byte of a location in global memory; 0: it has none.
    uint64_t address(const Test& test, uint32_t location) const;
    // Shared memory: an offset in the window of the thread's cluster; `own` leaves the rank out.
    bool shared(const Test& test, uint32_t thread, uint32_t address, bool own, uint64_t bytes,
                Place& out) const;
    // At a place of the row that tensor memory is (tensor_work.hpp).
    bool tensor(const Test& test, uint32_t thread, uint32_t offset, uint64_t bytes,
                Place& out) const;
    bool mbarrier(const Test& test, uint32_t thread, uint32_t address, Place& out) const;
    // The word that says which columns of tensor memory are allocated, in a CTA of which several
    // threads change that. False: it is not known of it yet.
    bool granules(int32_t cta, Place& out) const;
    void share_granules(int32_t cta) { grew_ |= granules_.try_emplace(cta, -1).second; }

    // What a run of the search found out too late: boundaries between accesses and mbarrier
    // objects. It is then begun again.
    bool cut(uint32_t location, uint64_t first, uint64_t bytes);  // true: known already
    // Words of a location (a number of 4 bytes each) that a reduction by an instruction of a thread
    // does not have for itself, of those that it changes: somebody else touches them, by `met` or
    // as touch() has said. The others are one, so who touches them later begins the search again.
    using By = std::pair<uint32_t, uint32_t>;     // thread, instruction
    using Range = std::pair<uint64_t, uint64_t>;  // first byte, bytes
    const std::set<uint64_t>& reduce(uint32_t location, uint64_t first, uint64_t bytes, By by,
                                     const std::vector<Range>& met);
    void touch(uint32_t location, uint64_t first, uint64_t bytes, By by);
    bool grew() const { return grew_; }
    void grow(Test& test);
    const std::set<uint64_t>& cuts(uint32_t location) const { return cuts_[location]; }
    const std::vector<uint8_t>& image(uint32_t location) const { return images_[location]; }

    // Which names there are that lie in memory that the threads can address, with their sizes.
    std::vector<std::pair<uint64_t, uint64_t>> ranges() const;

  private:
    struct Launched {
        std::unique_ptr<PreparedLaunch> prepared;
        std::unique_ptr<SassLane> lane;
        SassCode* code = nullptr;
        bool overlaps = false;
    };
    struct Memory {
        uint64_t low, high;
        uint32_t name;
    };
    struct Reduced {
        uint64_t first, bytes;
        By by;
        bool operator==(const Reduced&) const = default;
    };
    struct Object {
        uint64_t address, bytes;
        std::vector<uint64_t> members;
    };
    // The CTA of the test in which `rank` of the thread's cluster runs; -1: there is none.
    int32_t cta_of_rank(const Test& test, uint32_t thread, uint32_t rank) const;
    uint32_t add_location(Test& test, Location location);
    void share(std::set<uint64_t>& shared, const Reduced& r, uint64_t first, uint64_t bytes);

    std::unique_ptr<Gpu> gpu_;
    std::vector<Launched> launches_;
    std::map<CodeImage*, std::unique_ptr<SassCode>> codes_;
    std::vector<SassThread> threads_;
    std::vector<Memory> ranges_;
    std::vector<Object> objects_;
    std::map<int32_t, uint32_t> shared_, tensor_;                 // CTA -> name
    std::map<int32_t, int32_t> granules_;                         // likewise; -1: none yet
    std::map<std::pair<int32_t, uint32_t>, uint32_t> mbarriers_;  // CTA and offset -> name
    mutable std::set<std::pair<int32_t, uint32_t>> new_mbarriers_;
    std::vector<std::set<uint64_t>> cuts_;
    std::map<uint32_t, std::vector<Reduced>> reduced_;     // by location
    std::map<uint32_t, std::set<uint64_t>> shared_words_;  // of what is reduced
    std::vector<std::vector<uint8_t>> images_;
    mutable bool grew_ = false;
};

}  // namespace sassemu::explore
