// SPDX-License-Identifier: Apache-2.0
// One launch at work: the queue of its CTAs, how one is run for a turn, and what ends it all. The
// other files of schedule/ implement what handlers ask for (paths, barriers, port accesses); which
// launch has a turn is the scheduler's (scheduler.hpp), whose lock guards the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emu/async/agents.hpp"
#include "emu/gpu.hpp"
#include "emu/isa/level.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/machine/services.hpp"
#include "emu/machine/state_fill.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/program/code_image.hpp"
#include "emu/schedule/chain.hpp"
#include "emu/schedule/chooser.hpp"
#include "emu/schedule/cluster_queue.hpp"
#include "emu/schedule/stops.hpp"
#include "emu/schedule/watch.hpp"
#include "emu/schedule/work.hpp"

namespace sassemu {

class Recording;
struct FarLoad;  // far_access.hpp

// An access that a model holds back.
struct InFlight {
    uint64_t token = 0;
    uint32_t lanes = 0;
    Access access;
    const Op* op = nullptr;  // of a plugin's model: completed by it only; of a far load: its own
    std::shared_ptr<FarLoad> far;  // the values come from other processes
};

// The uniform registers and predicates of a path that was made to wait.
struct UniformState {
    uint32_t registers[uniform_slots];
    uint32_t predicates[8];
};

// Zeroed memory of the host, which backs only what is touched.
class Arena {
  public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { release(); }
    // New zeros in place of what was there; false: the host has no so many bytes.
    bool renew(uint64_t bytes);
    void release();
    std::byte* get() const { return at_; }
    uint64_t bytes() const { return bytes_; }

  private:
    std::byte* at_ = nullptr;
    uint64_t bytes_ = 0;
};

struct CtaSlot;
struct SlotCta : Cta {
    CtaSlot* slot = nullptr;
};

// What the engine keeps per CTA beside the machine state. The slot of rank 0 stands for its cluster
// in the queues and owns the slots of the other ranks.
struct alignas(64) CtaSlot {
    CtaSlot() { cta.slot = this; }
    CtaSlot(const CtaSlot&) = delete;
    SlotCta cta;
    Cluster cluster;
    std::vector<std::unique_ptr<CtaSlot>> others;  // ranks 1, 2, ...
    async::Agents agents;                          // of the cluster
    Arena arena;
    uint32_t local_bytes = 0, local_warps = 0;  // what of local memory is laid out in the arena
    std::vector<Watch> watches;                 // of parked paths
    std::vector<InFlight> in_flight;
    std::vector<UniformState> preempted;  // entry i is free or Path::saved - 1 of one path
    std::vector<uint32_t> preempted_free;
    uint32_t quiet_slices = 0;  // slices in a row that wrote nothing
    // After so many a CTA may be waiting for another one.
    static constexpr uint32_t others_first = 8;
    uint64_t removals = 0;   // of the address space, when its CTA had its last turn
    bool fresh = true;       // admitted, not prepared yet
    bool gives_way = false;  // a model asked to be asked again
};

// The slot of any CTA.
inline CtaSlot& slot_of(Cta& cta) { return *static_cast<SlotCta&>(cta).slot; }
inline async::Agents& agents_of(const Cta& cta) { return slot_of(*cta.cluster->cta[0]).agents; }

// Memory of finished CTAs, for the next ones; kept by the Gpu between launches.
using SlotCache = std::vector<std::unique_ptr<CtaSlot>>;

// What of a device is taken by CTAs that are resident, of all its grids together.
struct Residency {
    static constexpr uint64_t all = uint64_t{1} << 32;
    uint64_t used = 0;
};

class Hooks;               // plugins
struct HookedInstruction;  // what they are shown
class PrintedText;         // of one launch
class DriverFunctions;     // vprintf, malloc, ...
class ChildGrids;          // what its CTAs launch
class Stepper;             // a debugger

class Engine final : public LaunchHost, public Work {
  public:
    struct Settings {
        uint32_t threads = 1;
        uint32_t resident_limit = 1;  // clusters
        bool checked = false;
        AgentOrder agents = AgentOrder::eager;
        bool cooperative = false;
        std::shared_ptr<InstructionLimit> limit;  // null: none
        double seconds = 0;                       // from its begin
        const Stops* stops = nullptr;
        PrintedText* printed = nullptr;
        ChildGrids* children = nullptr;  // null: its module launches nothing
        Stepper* stepper = nullptr;      // a debugger; null: none
        Residency* residency = nullptr;
        Chain::Link* link = nullptr;  // where launches may overlap this one
        FarMemory* far = nullptr;     // memory that only messages reach; null: none
        uint32_t gpu = 0;
        std::shared_ptr<void> keep;  // what the launch refers to
        // Of plugins; empty: there are none.
        std::function<void()> on_begin;
        std::function<void(LaunchStatus)> on_end;
    };
    Engine(Launch& launch, const LevelTable& level, Chooser& chooser, DriverFunctions& calls,
           SlotCache& cache, Settings settings, std::string kernel, const Op* entry);

    bool begin() override;
    bool take(Turn& turn) override;
    void run(Turn& turn) noexcept override;
    void put(Turn& turn) override;
    bool over() const override;
    LaunchResult finish() override;
    bool settle() override;
    bool lets_in() const override { return settings_.link && settings_.link->triggered(); }
    void check_limits() override;
    // For CodeImage::ask_with(): the operation, and then whether the launch has to end.
    static const Op* asks(const Op* op, Warp& w, uint32_t mask);
    std::string waits() const override;
    uint32_t most_workers() const override { return workers_; }

    const Op* fault(Warp&, const Op*, uint32_t lanes, FaultKind, std::string what, bool has_address,
                    uint64_t address) override;
    const Op* unsupported(Warp&, const Op*, const std::string& why) override;
    const Op* park(Warp&, const Op* op, const std::byte* at, uint32_t bytes) override;
    // Ends the launch with a status that is no fault.
    void end(LaunchStatus status, std::string message) override;
    Chooser& chooser() { return chooser_; }
    DriverFunctions& calls() { return calls_; }
    PrintedText& printed() { return *settings_.printed; }
    ChildGrids* children() { return settings_.children; }
    CtaSlot& slot(Warp& w) { return slot_of(*w.cta); }
    void complete(uint64_t token, uint32_t lanes) override;
    bool complete_with(uint64_t token, uint32_t lanes, const uint32_t* values) override;
    std::optional<uint64_t> take_cluster(bool any) override { return queue_.take(any); }
    void hold(Warp&, const Op*, const Access&, uint64_t token) override;
    void give_way(Warp& w) override { slot(w).gives_way = true; }
    Hooks* hooks() const { return launch_.hooks; }
    // Performs every held access of the warp now (same-address order, barriers, exits).
    void drain(Warp& w);
    FarMemory* far(uint64_t address, uint64_t bytes) const override {
        FarMemory* const far = settings_.far;
        return far && far->holds(settings_.gpu, address, bytes) ? far : nullptr;
    }
    Result<void> put_far(uint64_t address, std::span<const std::byte> bytes) override {
        posts(address);
        return settings_.far->put(address, bytes);
    }
    Result<void> reduce_far(uint64_t address, const FarMemory::Change& what) override {
        posts(address);
        return settings_.far->reduce(address, what);
    }
    void watch_far(Warp& w, uint64_t address, uint32_t bytes, const std::byte* seen) override;
    bool has_far() const { return settings_.far; }
    // ---- far_access.cpp. The lanes whose bytes only messages reach, which are aligned.
    uint32_t far_lanes(const Access& a) const;
    // The access, which has such lanes; the others are fine.
    const Op* access_far(Warp& w, const Op* op, const Access& a, uint32_t far);

    // Multicast objects; see multicast.cpp.
    static bool is_multicast(const Warp& w, const Access& a, uint32_t lane);
    const Op* access_multicast(Warp& w, const Op* op, const Access& a);
    const Op* access_member(Warp& w, const Op* op, const Access& a);
    const Op* load_reduce(Warp& w, const Op* op, const Access& a, const LoadReduce& how);
    // What the process has posted is performed. An Error: of what this launch has posted.
    Result<void> drain_far();
    const Chain::Link* link() const { return settings_.link; }
    // A path has stopped at griddepcontrol.
    void hold_for_chain() { held_.fetch_add(1, std::memory_order_relaxed); }
    bool checked() const { return settings_.checked; }
    const std::string& kernel() const { return kernel_; }

  private:
    using Outcome = Turn::Outcome;
    using Range = Turn::Range;
    // Warp instructions that a path runs before the next path or warp has its turn, and a CTA
    // before the next CTA. Large enough that switching costs nothing, small enough that a lock
    // holder in another CTA is never far.
    static constexpr uint64_t path_quantum = 4096, cta_slice = 1 << 18;
    // Quanta that a path of a divided warp runs before another has its turn.
    static constexpr uint8_t most_turns = 64;

    Outcome run_ctas(CtaSlot& slot, Turn& worker);
    CtaSlot* next(Turn& worker);
    bool unclaimed() const { return queue_.left() || !returned_.empty(); }
    bool can_admit() const;
    Range claim();
    CtaSlot* admit(Turn& worker);
    void retire(CtaSlot& slot);
    bool prepare(CtaSlot& slot);
    bool prepare_cta(CtaSlot& slot, uint32_t rank);
    Outcome run_cluster(CtaSlot& slot, Turn& worker);
    Outcome run_slice(CtaSlot& slot, Turn& worker);
    void report(Turn& worker);
    // Whether a schedule (schedules.hpp) leaves what is usual, one time in `count`. Asked with
    // plugins only: they look at orders.
    bool turns_away(uint32_t count) {
        return chooser_.pick(ChoicePoint::next_warp, count) == count - 1;
    }
    bool run_warp(CtaSlot& slot, Warp& w, Turn& worker);
    static bool next_path(Warp& w);
    static void take_turns(Warp& w);
    void run_path(Warp& w, Turn& worker);
    void run_within_limit(Warp& w, Turn& worker);
    bool grant(Turn& worker, uint64_t count);
    void run_freely(Warp& w);
    void run_followed(Warp& w);
    void run_recorded(Warp& w, Turn& worker);
    template <bool limited, bool recorded>
    void run_stepwise(Warp& w, Turn& worker);
    void fail(LaunchStatus status, const char* why) noexcept;
    void watch_spin(CtaSlot& slot, Warp& w, Turn& worker);
    bool wake_parked(CtaSlot& slot);
    static bool let_time_pass(CtaSlot& slot);
    bool wake_cluster(CtaSlot& slot);
    bool time_out_waits(CtaSlot& slot);
    template <class F>
    void each_path(F&& act);
    void give_way_to_chain();
    void come_back();
    bool out_of_instructions();
    bool stops(Turn& worker, uint64_t done);
    bool must_end(const Warp& w);
    void step_model(Cta& cta, bool idle);
    void tell_cta(Cta& cta, bool begins);
    static void account(const Cta& cta, Turn& worker);
    bool complete_in(CtaSlot& slot, uint64_t token, uint32_t lanes, const uint32_t* values);
    void posts(uint64_t address);
    const Op* lost(Warp& w, const Op* op, uint32_t lanes, uint64_t address, const std::string& why);
    void complete_far(CtaSlot& slot);
    void end_far_load(CtaSlot& slot, size_t index);
    const Op* far_store(Warp& w, const Op* op, const Access& a, uint32_t far);
    const Op* far_atomic(Warp& w, const Op* op, const Access& a, uint32_t far);

    Launch& launch_;
    const LevelTable& level_;
    Chooser& chooser_;
    DriverFunctions& calls_;
    SlotCache& cache_;
    Settings settings_;
    std::string kernel_;  // demangled
    const Op* entry_;
    const HookedInstruction* instructions_ = nullptr;
    uint64_t path_quantum_, cta_slice_;  // warp instructions

    std::vector<CtaSlot*> runnable_;  // in turn; short: CTAs run to their end one after the other
    std::vector<CtaSlot*> blocked_;
    std::vector<std::unique_ptr<CtaSlot>> slots_;
    std::vector<Range> returned_;  // claimed, then given back
    ClusterQueue queue_;
    uint64_t total_ = 0;  // clusters
    uint32_t workers_ = 1, resident_ = 0, busy_ = 0;
    std::atomic<uint32_t> held_{0};  // paths that wait for other launches
    bool short_ctas_ = false;        // the last CTA that ended was short
    bool away_ = false;              // it has given way to others of its chain
    bool starved_ = false;           // its limit may be used up
    uint64_t share_ = 0;             // of the device, of a cluster
    Turn sum_;                       // of all turns
    std::chrono::steady_clock::time_point started_, left_, deadline_;
    uint64_t turn_most_ = 0;     // warp instructions that a turn may take, with a limit
    std::string out_of_memory_;  // said when there is no memory to say it
    std::mutex fault_mutex_, far_mutex_;
    std::set<uint32_t> far_posted_;  // the processes to which it has posted something
    LaunchResult result_;
    static thread_local Cta* stepping_;  // the CTA whose accesses the model may complete now
};

inline Engine& engine(const Cta& cta) { return static_cast<Engine&>(*cta.launch->host); }
inline Engine& engine(const Warp& w) { return engine(*w.cta); }

// The table handed to handlers.
const Services& engine_services();

// schedule/convergence.cpp: lets another runnable path of the warp go on, or stops with `blocked`.
const Op* run_other_path(Warp& w);
// After lanes left the CTA: a barrier that waited for them only may open.
void recheck_barriers(Cta& cta);
// schedule/cluster.cpp: the same for the barrier of the cluster.
void recheck_cluster(Cluster& cluster);
// Whoever waits for this warp of its warpgroup (WARPGROUP.WAIT).
void recheck_warpgroup(const Warp& of);
// For reports: where the object lies, its phase, and the arrivals and bytes that are missing.
std::string describe_mbarrier(const Cluster& cluster, const std::byte* object);

}  // namespace sassemu
