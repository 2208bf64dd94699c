// SPDX-License-Identifier: Apache-2.0
// The step machine: runs the threads of a test as far as they can go and writes down their events.
// A thread runs in program order; what a read returns may stay open until the value decides
// something, so loads are overtaken by later stores as PTX allows. What belongs here: what each
// instruction does. What does not: which write a read takes (explorer.hpp), what is consistent.
#pragma once

#include "emu/explore/graph/state.hpp"
#include "emu/explore/litmus/budget.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

struct SassEffects;

class Machine {
  public:
    Machine(const Program& program, const SearchBudget& budget)
        : p_(program), test_(program.test), budget_(budget) {}

    // Runs until no thread can go on. A thread may come to an instruction with several outcomes
    // that no read decides (a compare-and-swap whose operands are open, a try_wait): then its
    // number is returned, with the count of outcomes; continue with choose() in as many copies of
    // the state.
    struct Fork {
        int32_t thread = -1;
        uint32_t outcomes = 0;
    };
    Fork run(State& s) const;
    void choose(State& s, uint32_t thread, uint32_t outcome) const;
    // Whether the value waits for a read that was put off.
    bool deferred(const State& s, uint32_t value) const;

  private:
    enum class Step : uint8_t { done, stop, fork };
    Step step(State& s, uint32_t thread, int32_t outcome) const;
    void jump(State& s, uint32_t thread, uint32_t target) const;
    bool wake(State& s) const;

    uint32_t value(const State& s, uint32_t thread, const Operand& o) const;
    uint32_t constant_or_value(State& s, uint32_t thread, const Operand& o) const;

    // Events. `agent` -1 is the thread itself.
    struct Agent {
        int32_t number = -1, index = 0;
        uint32_t issue = 0;
        std::vector<uint32_t> events;
    };
    // Bytes of a copy that lie together; without `from` they become zeros.
    struct Piece {
        Operand from, to;
        uint64_t bytes = 0;
    };
    struct Receiver {
        std::vector<Piece> pieces;
        Operand object;  // mbarrier that the bytes are reported to; none: the bulk group
        uint64_t bytes = 0;
    };
    uint32_t add_event(State& s, uint32_t thread, uint32_t kind, Agent* agent = nullptr) const;
    void place(State& s, uint32_t event, const Operand& o, uint64_t bytes) const;
    void place_name(State& s, uint32_t event, uint32_t name, uint64_t offset, uint64_t bytes) const;
    uint32_t add_read(State& s, uint32_t event) const;  // its sources; returns its value
    void set_value(State& s, uint32_t event, uint32_t value) const;

    Step access(State& s, uint32_t thread, const Instruction& i) const;
    Step atomic(State& s, uint32_t thread, const Instruction& i, int32_t outcome) const;
    void fence(State& s, uint32_t thread, const Instruction& i) const;

    // The operation at which the thread stands.
    const Instruction& current(const State& s, uint32_t thread) const;
    void begin(State& s, uint32_t thread) const;

    // sass_steps.cpp: one instruction of machine code
    struct Sass;
    Step sass(State& s, uint32_t thread, int32_t outcome) const;
    Step sass_instruction(State& s, Sass& at, int32_t outcome) const;
    Step sass_plain(State& s, Sass& at) const;
    Step sass_control(State& s, Sass& at) const;
    Step sass_access(State& s, Sass& at, int32_t outcome) const;
    Step sass_memory(State& s, Sass& at, const Access& a, uint64_t address, int32_t outcome) const;
    bool sass_place(State& s, Sass& at, const Access& a, uint64_t address, Operand& out) const;
    Step sass_local(State& s, Sass& at, const Access& a, uint32_t address) const;
    Step sass_other(State& s, Sass& at, int32_t outcome) const;
    Step sass_mbarrier(State& s, Sass& at, const SassEffects& e, int32_t outcome) const;
    Step sass_barrier(State& s, Sass& at, const BarrierRequest& r) const;
    Step sass_warpsync(State& s, Sass& at, uint32_t lanes) const;
    bool sass_object(State& s, Sass& at, uint32_t address, Operand& out) const;
    Step sass_wait(State& s, Sass& at, uint32_t value, uint32_t guesses) const;
    Step sass_refuse(State& s, Sass& at, const std::string& why) const;
    void sass_write(State& s, Sass& at, const SassLane& lane, const Events& reads) const;
    bool sass_range(State& s, Sass& at, bool near, bool own, uint64_t address, uint64_t bytes,
                    uint64_t alignment, Operand& out) const;

    // sass_async.cpp
    struct Run;
    using MapBytes = std::array<std::byte, 128>;
    Step sass_async(State& s, Sass& at, const SassEffects& e) const;
    void sass_wait_groups(State& s, Sass& at, const SassEffects& e) const;
    Step sass_lane_copy(State& s, Sass& at, const LaneCopy& c) const;
    Step sass_copies_arrive(State& s, Sass& at, const SassEffects& e) const;
    Step sass_lane_store(State& s, Sass& at, const LaneStore& c) const;
    Step sass_bulk_copy(State& s, Sass& at, const BulkCopy& c) const;
    Step sass_tensor_copy(State& s, Sass& at, const TensorCopy& c) const;
    bool sass_map(State& s, Sass& at, uint64_t address, MapBytes& map) const;
    bool sass_receivers(State& s, Sass& at, const Completion& c, uint32_t own_rank,
                        const std::vector<Run>& runs, bool from_global, uint64_t bytes,
                        std::vector<Receiver>& out) const;
    static std::vector<Run> runs_of(const TensorMap& m, const TensorCopy& c);
    Step sass_map_fence(State& s, Sass& at, uint64_t address) const;

    // barriers.cpp
    Step barrier(State& s, uint32_t thread, const Instruction& i) const;
    bool barrier_passed(State& s, uint32_t thread) const;
    uint64_t lanes_here(const State& s, const BarrierInstance& b) const;
    Step cluster(State& s, uint32_t thread, const Instruction& i) const;
    bool cluster_passed(State& s, uint32_t thread) const;
    void mbarrier(State& s, uint32_t thread, const Instruction& i, int32_t outcome) const;

    // agents.cpp
    Step asynchronous(State& s, uint32_t thread, const Instruction& i) const;
    Agent issue(State& s, uint32_t thread) const;
    uint32_t agent_read(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                        uint64_t bytes, uint32_t proxy) const;
    uint32_t agent_write(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                         uint64_t bytes, uint32_t proxy, uint32_t value) const;
    void agent_modify(State& s, uint32_t thread, Agent& a, uint32_t name, uint64_t offset,
                      uint64_t bytes, uint32_t value, uint32_t scope, Value modified) const;
    uint32_t agent_arrive(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                          MbarrierOp op, uint32_t scope, bool proxied) const;
    uint32_t agent_complete(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                            uint64_t bytes) const;
    void store_async(State& s, uint32_t thread, const Operand& to, uint64_t bytes, uint32_t value,
                     const Value* modified, const Operand& mbarrier) const;
    void copies_arrive(State& s, uint32_t thread, Agent& a, const Operand& mbarrier,
                       bool transaction) const;
    void copy_runs(State& s, uint32_t thread, Agent& a,
                   const std::vector<Receiver>& receivers) const;
    void wait_for(State& s, uint32_t thread, const std::vector<uint32_t>& events,
                  uint32_t proxy) const;
    void wait_group(State& s, uint32_t thread, const Instruction& i,
                    ThreadState::Groups& groups) const;
    bool resume_agents(State& s) const;
    void tensor_copy(State& s, uint32_t thread, const Instruction& i, Agent& a,
                     uint32_t map_value) const;
    void tensor(State& s, uint32_t thread, const Instruction& i) const;

    const Program& p_;
    const Test& test_;
    const SearchBudget& budget_;
};

}  // namespace sassemu::explore
