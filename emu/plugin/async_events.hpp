// SPDX-License-Identifier: Apache-2.0
// What plugins are told of asynchronous operations (sassemu_async): when one is issued, and when it
// is performed, which may be later (async/agents.hpp). Used only where the launch has plugins.
#pragma once

#include "emu/machine/cta.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu::events {

// Shared memory at an address with a rank in bits 31..24, as a CTA sees it.
sassemu_location shared_location(const Cta&, uint32_t address);
sassemu_location tensor_location(const Cta&, uint64_t address);  // see machine/tensor_memory.hpp
inline sassemu_location global_location(uint64_t address) { return {address, SASSEMU_GLOBAL, 0}; }

// The issue of one operation, and the ranges that it will touch.
class AsyncIssue {
  public:
    static constexpr uint32_t nobody = ~0u;
    // `group`: enum sassemu_group_kind, or -1: the mbarrier object at `mbarrier` hears of its
    // completion, or none does.
    AsyncIssue(Warp&, const Op*, uint32_t lanes, sassemu_agent_kind, int32_t group,
               uint32_t mbarrier = nobody);
    uint64_t id() const { return event_.id; }
    void also_by(Warp&);  // all of its lanes
    // Of the ranges that follow.
    void reports_to(uint32_t mbarrier) { event_.mbarrier = shared_location(cta_, mbarrier); }
    void is_of(uint32_t lanes) { event_.lanes = lanes; }
    void will_read(const sassemu_location& at, uint64_t bytes, uint32_t proxy = SASSEMU_VIA_ASYNC);
    void will_write(const sassemu_location& at, uint64_t bytes, bool reduce = false);

  private:
    Hooks& hooks_;
    const Cta& cta_;
    sassemu_async event_;
};

// The same operation while it is performed; COMPLETE at its end. Nothing where plugins do not know
// it (id 0).
class AsyncOperation {
  public:
    AsyncOperation(Warp&, const Op*, uint32_t lanes, sassemu_agent_kind, uint64_t id);
    ~AsyncOperation();
    AsyncOperation(const AsyncOperation&) = delete;
    explicit operator bool() const { return hooks_ != nullptr; }
    // `bytes` as they are before that. Under a scoped machine (sassemu/machine.h) the operation may
    // see others: they are returned, and stay until the next read.
    const std::byte* read(const sassemu_location& at, const std::byte* bytes, uint64_t count,
                          uint32_t proxy = SASSEMU_VIA_ASYNC);
    bool may_see_other() const { return hooks_ && hooks_->scoped(); }
    void write(const sassemu_location& at, const std::byte* bytes, uint64_t count,
               bool reduce = false);
    // The number of the one that runs; 0: none. For the mbarrier changes that report it.
    static uint64_t current() { return current_; }

  private:
    Warp& warp_;
    Hooks* hooks_;
    sassemu_async event_;
    static thread_local uint64_t current_;
};

// What an LDGSTS reads and writes, of which plugins are told as of accesses.
const std::byte* copy_reads(Warp&, uint64_t address, const std::byte* bytes, uint64_t count);
void copy_writes(Warp&, uint32_t address, uint64_t count);  // of the CTA's own memory

}  // namespace sassemu::events
