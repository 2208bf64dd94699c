// What the scheduler and the agents tell plugins: barriers, mbarrier objects, warps that join, exits, asynchronous copies.
// Each function is called only where the launch has plugins (Engine::hooks()).
#pragma once

#include "emu/machine/services.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu::events {

void barrier_arrive(Hooks&, Warp&, const Op*, uint32_t lanes, const BarrierRequest&);
// `waiting`: per warp, the lanes that go on now.
void barrier_complete(Hooks&, Cta&, uint32_t id, const Barrier&, const uint32_t* waiting);
void cluster_arrive(Hooks&, Warp&, const Op*, uint32_t lanes);
void cluster_wait(Hooks&, Warp&, const Op*, uint32_t lanes);
void cluster_complete(Hooks&, Cta&);
void mbarrier_change(Hooks&, Warp&, const Op*, uint32_t lane, uint32_t address, const MbarrierChange&,
                     const Mbarrier& before, const Mbarrier& after, bool misuse);
void warp_joins(Hooks&, Warp&, const Op*, uint32_t lanes);
void exits(Hooks&, Warp&, const Op*, uint32_t lanes);

// One asynchronous operation, from its issue to its completion. Without plugins it costs a test.
class AsyncOperation {
  public:
    AsyncOperation(Warp&, const Op*, uint32_t lanes, sassemu_agent_kind kind, uint32_t proxy = SASSEMU_VIA_ASYNC);
    ~AsyncOperation();  // COMPLETE
    AsyncOperation(const AsyncOperation&) = delete;
    explicit operator bool() const { return hooks_ != nullptr; }
    void read_global(uint64_t address, const std::byte* bytes, uint64_t count, uint32_t proxy = SASSEMU_VIA_ASYNC);
    void write_global(uint64_t address, const std::byte* bytes, uint64_t count, bool reduce = false);
    // `address` has a rank in bits 31..24.
    void read_shared(uint32_t address, const std::byte* bytes, uint64_t count);
    void write_shared(uint32_t address, const std::byte* bytes, uint64_t count, bool reduce = false);
    // Of the running operation; 0: none. For the mbarrier changes that report it.
    static uint64_t current() { return current_; }

  private:
    void tell(uint32_t step, uint32_t op, const sassemu_location& at, const std::byte* bytes, uint64_t count, uint32_t proxy);
    sassemu_location shared(uint32_t address) const;
    Hooks* hooks_;
    Warp& w_;
    const Op* op_;
    uint32_t lanes_, kind_, proxy_;
    uint64_t id_ = 0;
    static thread_local uint64_t current_;
};

}  // namespace sassemu::events
