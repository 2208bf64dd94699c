// SPDX-License-Identifier: Apache-2.0
// A thread's turn: what its next instruction adds to an execution under construction. What belongs
// here: the laws of events, agents and barriers, and the operations of a test's text. What does
// not: machine code (sass_turn.hpp), who has the turn (stepper.hpp).
#pragma once

#include <functional>

#include "emu/explore/graph/state.hpp"

namespace sassemu::explore {

// What becomes of a thread's turn.
enum class Step : uint8_t {
    past,   // to the next instruction
    moved,  // to where it stands now
    stop,   // it waits, or has ended
    fork,   // several outcomes, which no read decides
};

class Turn {
  public:
    // `outcome`: of an instruction with several; -1: not chosen yet.
    Turn(const Program& program, State& s, uint32_t thread, int32_t outcome = -1)
        : p_(program), test_(program.test), s_(s), thread_(thread), outcome_(outcome) {}
    virtual ~Turn() = default;

    // The next instruction of a thread in a test's text.
    Step take();

    // For a thread that waits: whether it goes on.
    bool barrier_passed();
    bool cluster_passed();
    bool joined();
    bool grid_over();  // the launch before its own
    // The map of a tensor copy is known.
    void tensor_copy(const op::BulkTensor& o, Agent& a, uint32_t map);

    // A thread that was launched comes after what launched it.
    void begin();

  protected:
    using Events = explore::Events;
    // Bytes of a copy that lie together; without `from` they become zeros.
    struct Piece {
        std::optional<Place> from;
        Place to;
    };
    struct Receiver {
        std::vector<Piece> pieces;
        std::optional<Place> object;  // mbarrier that the bytes are reported to; none: the group
        uint64_t bytes = 0;
    };

    virtual std::string where() const { return "'" + code()[self_.pc].text + "'"; }
    const std::vector<Statement>& code() const { return me_.code; }
    Step refuse(const std::string& why);  // the test does what no program may do
    Step beyond(const std::string& why);  // it does what exploration does not know
    Step wait_for_value(uint32_t value);
    void jump(uint32_t target, const std::vector<bool>& live);

    template <class Which>
    void completed(Which&& which);

    // Values and events. What an agent does has no place in its thread.
    uint32_t value(const Argument& from);
    void set(Register to, uint32_t value) { self_.registers[to.number] = value; }
    SassemuEvent& event(uint32_t number) { return s_.events[number].e; }
    uint32_t add_event(uint32_t kind, Agent* agent = nullptr);
    uint32_t add_ordered(uint32_t kind, uint32_t order, uint32_t scope);
    void place(uint32_t event, const Place& at);
    uint32_t add_read(uint32_t event);  // its sources; returns its value
    void set_value(uint32_t event, uint32_t value);
    uint32_t add_access(uint32_t kind, const op::Access& o);
    void copy(const Place& from, const Place& to);
    uint32_t atomic(const op::Access& o, op::Modification by, AtomicType type, bool fetches,
                    uint32_t operand,
                    uint32_t swap);  // returns what was there
    uint32_t modified(op::Modification by, AtomicType type, uint64_t bytes, uint32_t old,
                      uint32_t operand);

    // Groups and agents (agents.cpp).
    ThreadState::Groups& groups(GroupKind kind) { return self_.groups[static_cast<size_t>(kind)]; }
    void into_group(GroupKind kind, const std::vector<uint32_t>& events);
    Agent issue();
    void after(const std::vector<uint32_t>& before, uint32_t event);
    uint32_t agent_read(Agent& a, const Place& from, uint32_t proxy);
    uint32_t agent_write(Agent& a, const Place& to, uint32_t proxy, uint32_t value);
    // fresh(old value, bytes): the new one.
    void agent_modify(Agent& a, const Place& at, uint32_t scope,
                      const std::function<uint32_t(uint32_t, uint64_t)>& fresh);
    uint32_t agent_arrive(Agent& a, const Place& mbarrier, MbarrierEvent e, uint32_t scope,
                          bool proxied);
    uint32_t agent_complete(Agent& a, const Place& mbarrier, uint64_t bytes);
    void store_async(const Place& to, uint32_t value, op::Modification by, AtomicType type,
                     const Place& mbarrier);
    void copies_arrive(Agent& a, const Place& mbarrier, bool transaction);
    std::vector<uint32_t> read_runs(Agent& a, const Receiver& r);
    void finish_runs(Agent& a, const Receiver& r);
    void copy_runs(Agent& a, const std::vector<Receiver>& receivers);
    void wait_for(const std::vector<uint32_t>& events, uint32_t proxy);
    uint32_t product_of(Agent& a, const Place& b, const std::optional<Place>& c);
    uint32_t tensor_proxy(const Place& at) const;
    int32_t last_wgmma_fence() const;  // event; -1: none
    void mark(const Agent& a, uint32_t operation);

    // The operations.
    Step perform(const op::Move& o);
    Step perform(const op::Compute& o);
    Step perform(const op::Branch& o);
    Step perform(const op::Load& o);
    Step perform(const op::Store& o);
    Step perform(const op::Atomic& o);
    Step perform(const op::HostCopy& o);
    Step perform(const op::Fence& o);
    Step perform(const op::ProxyFence& o);
    Step perform(const op::Launch& o);
    Step perform(const op::Join& o);
    // barriers.cpp
    Step perform(const op::Barrier& o);
    Step perform(const op::ClusterArrive& o);
    Step perform(const op::ClusterWait& o);
    Step perform(const op::MbarrierInit& o);
    Step perform(const op::MbarrierArrive& o);
    Step perform(const op::MbarrierTransaction& o);
    Step perform(const op::MbarrierWait& o);
    // agents.cpp
    Step perform(const op::StoreAsync& o);
    Step perform(const op::CopyAsync& o);
    Step perform(const op::CopiesArrive& o);
    Step perform(const op::Commit& o);
    Step perform(const op::GroupWait& o);
    Step perform(const op::Bulk& o);
    Step perform(const op::BulkTensor& o);
    Step perform(const op::MapReplace& o);
    Step perform(const op::MapPublish& o);
    // tensor.cpp
    Step perform(const op::WgmmaFence& o);
    Step perform(const op::Wgmma& o);
    Step perform(const op::TensorLoad& o);
    Step perform(const op::TensorStore& o);
    Step perform(const op::TensorWait& o);
    Step perform(const op::TensorProduct& o);
    Step perform(const op::TensorCommit& o);
    Step perform(const op::TensorFence& o);
    // Of the models that are machines.
    Step perform(const op::OnMachine&) {
        return refuse("has no meaning in the model '" + test_.model + "'");
    }

    // barriers.cpp
    void arrive(BarrierInstance& b, const op::Barrier& o, uint32_t event);
    Step wait_at(const std::array<uint64_t, 3>& barrier, std::optional<Register> reduced_to);
    uint64_t lanes_here(const BarrierInstance& b) const;
    bool all_live_are_here(const BarrierInstance& b) const;
    uint32_t result_of(const MbarrierEvent& wait);
    MbarrierEvent& add_mbarrier(MbarrierEvent::Kind kind, uint32_t event_kind,
                                const op::MbarrierOperation& o);

    const Program& p_;
    const Test& test_;
    State& s_;
    const uint32_t thread_;
    int32_t outcome_;
    ThreadState& self_ = s_.threads[thread_];
    const Thread& me_ = test_.threads[thread_];
};

}  // namespace sassemu::explore
