// SPDX-License-Identifier: Apache-2.0
// Machine code for the models that are machines: a thread with concrete registers is run up to its
// next operation on memory that others can see. What belongs here: registers, local and shared
// memory, barriers (the pipeline of an SM is in order), and what asynchronous operations have still
// to do. What does not: global memory, caches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/explore/machines/copy_agent.hpp"
#include "emu/explore/machines/memory_operation.hpp"
#include "emu/explore/sass/products.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

// What machine code has beside the state that any thread of a machine has.
struct SassState {
    // Of one thread: the copies whose end it can wait for.
    struct Group {
        bool bulk = false;
        std::vector<uint32_t> copies;
    };
    // A wgmma, which a thread can wait for if it signals.
    struct Issued {
        uint32_t number = 0;
        bool signals = false;
    };
    // Of one thread: the registers that a load of tensor memory leaves, and the scoreboard that
    // says when.
    struct Loading {
        AgentName agent;
        RegisterRange to;
        uint8_t scoreboard = 7;
    };
    struct OfThread {
        bool ended = false, started = true, triggered = false;
        uint64_t barrier = 0;  // waits at this one, see SassFetch::barrier_key(); 0: at none
        uint32_t cluster_arrivals = 0, cluster_waits = 0;
        std::map<uint32_t, uint32_t> local;  // words
        // Of a scoped machine: it goes on because this phase of this barrier is over.
        uint64_t passed = 0, phase = 0;
        // What a barrier that is over has counted, until the thread goes on.
        bool has_reduced = false;
        uint32_t reduced = 0;
        // Asynchronous operations: how many it has issued; those that no group has yet, to shared
        // memory lane by lane and to global memory; all of the former; groups that it has not
        // waited for, and whether the last on a scoreboard was of bulk copies (bits).
        uint32_t issued = 0, bulk_scoreboards = 0;
        std::vector<uint32_t> open_copies, open_stores, lane_copies;
        std::vector<Group> groups;
        std::vector<Issued> products;  // likewise
        // Of tensor memory: loads, and stores, that are not done; all that it has asked of the
        // tensor core; of a scoped machine what comes before its next work there, what it tells
        // others, and what others have told it.
        std::vector<Loading> loading;
        std::vector<AgentName> storing;
        std::vector<uint32_t> cores;
        TensorOrder finished, told, acquired;
    };
    std::vector<OfThread> threads;
    // CTA -> its bytes, once one is touched; states have them in common until one writes.
    std::map<int32_t, std::shared_ptr<std::vector<uint8_t>>> shared;
    // Threads that have arrived in this phase: where, and what of a reduction.
    struct Barrier {
        struct Arrival {
            uint32_t pc = 0;
            bool here = false, predicate = false;
        };
        std::vector<Arrival> arrivals;
        TensorOrder told;
        BarrierOp op = BarrierOp::sync;  // of a reduction: which
    };
    std::map<std::pair<int32_t, uint64_t>, Barrier> barriers;  // (CTA, barrier_key())
    std::map<uint64_t, uint64_t> phases;                       // of barriers, where not 0
    // wgmma of a warpgroup that not all of it have issued, or that are not done; by CTA and number.
    using GroupKey = std::pair<int32_t, uint32_t>;
    std::map<GroupKey, std::vector<Product>> products;
    std::vector<CopyAgent> agents;  // under way, by thread and number
    // Tensor memory of CTAs, what tells it from others, and which columns are allocated.
    struct TensorRow {
        std::vector<std::byte> bytes = std::vector<std::byte>(tensor_memory_bytes);
        std::string key;
    };
    std::map<int32_t, std::shared_ptr<const TensorRow>> tensor;
    std::map<int32_t, uint32_t> granules;
    // A load or store of tensor memory that not all lanes of the warp have issued.
    struct WarpAccess {
        uint32_t pc = 0, address = 0, issued = 0;
        AgentName name;
        CellWork work;
        std::vector<AgentName> behind;
    };
    std::map<GroupKey, std::vector<WarpAccess>> accesses;  // by CTA and warp
    // Of a scoped machine: what arrivals at mbarriers have told, in this phase and before; at
    // barriers of clusters.
    struct Told {
        TensorOrder now, over;
    };
    std::map<uint64_t, Told> told;
    std::map<int32_t, TensorOrder> cluster_told;
};

class SassFetch {
  public:
    static constexpr uint32_t ended_pc = ~0u;  // where a thread is that has ended
    // `scoped`: shared memory, barriers and what PTX means are the machine's matter.
    SassFetch(const Test& test, bool scoped);

    SassState start() const;
    void start_registers(uint32_t thread, uint32_t& pc, std::vector<uint64_t>& registers) const;
    void key(const SassState& s, std::string& out) const;
    bool live(uint32_t thread, uint32_t pc, size_t reg) const;

    enum class What : uint8_t {
        blocked,     // waits for a pending load, or for others
        ran,         // went on; nothing that others see
        operations,  // `out` has what it does to global memory, and it is past it
    };
    // `pending`: its loads that are not performed yet.
    What step(SassState& s, uint32_t thread, uint32_t& pc, std::vector<uint64_t>& registers,
              const std::vector<MemoryOperation>& pending, std::vector<MemoryOperation>& out);

    // At an address of scoped machines; null: it is not there.
    std::byte* shared_bytes(SassState& s, uint64_t address, uint64_t bytes) const;

    // ---- agents: fetch_copies.cpp
    // Whether any code of the test has asynchronous operations.
    bool issues() const { return issues_; }
    // Nothing that it has to come after is under way.
    bool may_act(const SassState& s, const CopyAgent& a) const;
    // A map that lies in global memory has been read: it says what the copy is.
    void read_map(CopyAgent& a, const std::vector<uint8_t>& map);
    // The next receiver has its bytes: who is told of it, and what the machine is shown.
    void report(SassState& s, const CopyAgent& a, std::vector<MemoryOperation>& out);
    bool issued_by(const SassState& s, uint32_t thread) const;  // something is under way
    // ---- and wgmma: fetch_products.cpp
    // The thread's warpgroup has some under way, which read registers that it does not read again.
    bool multiplies(const SassState& s, uint32_t thread) const;
    // What the product has read of shared memory, where the CTA has it.
    static std::vector<std::byte> shared_as_read(const PreparedLaunch& launch, const CopyAgent& a);
    void multiply(SassState& s, const CopyAgent& a,
                  const std::function<std::vector<uint64_t>&(uint32_t thread)>& registers) const;

    // ---- and tcgen05: fetch_tensor.cpp
    void act(SassState& s, const CopyAgent& a,
             const std::function<std::vector<uint64_t>&(uint32_t thread)>& registers) const;

    // What steps since the last call read or wrote of what other threads of the CTA or cluster see,
    // and what the last of them waits for.
    Footprint touched() { return std::exchange(touched_, {}); }
    // A state in which nobody can go on, and that is no end: notes what is not explored of it.
    void stuck(const SassState& s);
    // What has been met first of each kind: why the program is none; where exploration ended; why
    // an execution has no meaning (docs/litmus.md, section 3, 12).
    struct Notes {
        std::string problem, unexplored, undefined;
    };
    const Notes& notes() const { return notes_; }
    // What all that explore the test have met; after a problem nobody takes a step.
    void settle(const Notes& of_all) {
        notes_ = of_all;
        ends_ = !notes_.problem.empty();
    }
    bool ends() const { return ends_; }
    void refuse(std::string why) {
        if (notes_.problem.empty()) notes_.problem = std::move(why);
    }

  private:
    // One instruction of one thread.
    struct Turn {
        SassState& s;
        const uint32_t thread;
        uint32_t& pc;
        const SassCode& code;
        const SassInstruction& i;
        std::vector<uint64_t>& registers;
        std::vector<MemoryOperation>& out;
        const std::vector<MemoryOperation>& pending;
        std::vector<uint64_t> in;  // of what it reads
        bool drained() const { return pending.empty(); }
    };
    What call(Turn& at);
    What plain(Turn& at, const SassEffects& e);
    What order(Turn& at);
    What access(Turn& at, const Access& a, uint64_t address);
    What local(Turn& at, const Access& a, uint32_t address);
    What near(Turn& at, const Access& a, uint32_t address, bool own);
    What far(Turn& at, const Access& a, uint64_t address);
    What at_members(Turn& at, const Access& a, const std::vector<uint64_t>& members,
                    const std::optional<LoadReduce>& combine);
    What operate(Turn& at, const Access& a, uint64_t address);
    SassLane& lane(uint32_t thread) const { return test_.sass->lane(lanes_, thread); }
    // What the handler does not write stays as it is, whatever the lane ran before.
    const SassEffects& run(const Turn& at, uint64_t object = 0) const;
    void write(const Turn& at) const;
    uint64_t word(const Turn& at, uint32_t row, uint32_t k) const;
    std::byte* shared(Turn& at, uint32_t address, bool own, uint64_t bytes);
    void note(std::string& where, uint32_t thread, const SassCode& code, uint32_t pc,
              const std::string& what) const;
    static constexpr const char* without_ptx =
        "is not explored by this model without its PTX: loads wait for it";
    What refuse_at(const Turn& at, const std::string& what);  // no program does it
    What beyond(const Turn& at, const std::string& what);     // exploration does not know it

    // fetch_barriers.cpp
    static uint64_t barrier_key(uint32_t id, uint32_t threads) { return 1 + id + (threads << 8); }
    static uint64_t warp_key(uint32_t warp, uint32_t lanes) {
        return uint64_t{1} << 63 | uint64_t{warp} << 32 | lanes;
    }
    What barrier(Turn& at, const BarrierRequest& r);
    What warpsync(Turn& at, uint32_t lanes);
    What meet(Turn& at, uint64_t key, BarrierOp op, bool predicate);
    What result_of_barrier(Turn& at);
    What cluster(Turn& at, bool arrives);
    What mbarrier(Turn& at, uint32_t address);
    // Of the object at an address of machines; `shown`: as an arrival. Not null: the rule that it
    // breaks.
    const char* change(SassState& s, uint64_t object, const MbarrierChange& by, bool shown,
                       uint32_t order, uint32_t scope, std::vector<MemoryOperation>& out) const;
    bool over(const SassState& s, int32_t cta, uint64_t key, const SassState::Barrier& b) const;
    void release(SassState& s);
    bool cluster_passed(const SassState& s, uint32_t thread) const;
    bool divided(const SassState::Barrier& b, uint32_t& thread) const;

    // fetch_copies.cpp
    What async(Turn& at, const SassEffects& e);
    What wait_groups(Turn& at, const SassEffects& e);
    What issue(Turn& at, CopyWork work);
    static void begin(SassState& s, CopyAgent a, CopyWork work);
    What acquire_map(Turn& at, uint64_t address);
    struct Asked;  // what a copy is, or why it is none
    Asked lane_copy(uint32_t thread, const LaneCopy& c) const;
    Asked lane_store(uint32_t thread, const LaneStore& c) const;
    Asked bulk_copy(uint32_t thread, const BulkCopy& c) const;
    Asked tensor_copy(uint32_t thread, const TensorCopy& c, const std::byte* map) const;
    Asked tensor_copy(uint32_t thread, const TensorCopy& c) const;

    // fetch_products.cpp
    std::vector<uint32_t> warpgroup(uint32_t thread) const;
    SassState::GroupKey group_key(uint32_t thread) const;
    uint64_t registers_of(uint32_t thread) const;
    bool touches_products(const SassState& s, uint32_t thread, const SassInstruction& i) const;
    What product(Turn& at, const async::WarpgroupMultiply& m);
    What product_wait(Turn& at, uint32_t left);

    // fetch_tensor.cpp
    std::vector<uint32_t> warp(uint32_t thread) const;
    static bool pending(const SassState& s, AgentName a);
    bool waits_for_tensor(const SassState& s, uint32_t thread, const SassInstruction& i);
    bool tensor_orders(Turn& at);
    static void tell_all(SassState& s, uint32_t thread);
    std::vector<AgentName> behind(const Turn& at, const CellWork& work) const;
    What tensor(Turn& at, const SassEffects& e);
    What tensor_granules(Turn& at);
    void look_at_columns(const SassState& s, const CellWork& used);
    void free_columns(const Turn& at, int32_t cta, uint32_t freed);
    void look_at_leaks(const SassState& s, uint32_t thread);
    What tensor_access(Turn& at, const async::TensorAccess& a);
    void complete_accesses(SassState& s, uint32_t thread) const;
    What tensor_work(Turn& at, const TensorWork& work);
    What tensor_commit(Turn& at, const async::TensorCommit& c);
    void tensor_key(const SassState& s, std::string& out) const;

    std::vector<uint8_t>& unshare(SassState& s, int32_t cta) const;

    void note_undefined(const char* what) {
        if (notes_.undefined.empty()) notes_.undefined = what;
    }

    const Test& test_;
    const bool scoped_;
    bool issues_ = false;
    const SassProgram::Lanes lanes_;  // others may run threads meanwhile
    Notes notes_;
    bool ends_ = false;
    Footprint touched_;
};

}  // namespace sassemu::explore
