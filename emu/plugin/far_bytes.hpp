// SPDX-License-Identifier: Apache-2.0
// The bytes of a driven machine where other processes have some of them. What belongs here: who may
// be at the machine, since others ask for memory of this process while this one waits for theirs;
// what loads find elsewhere; and that what the machine writes happens in its order everywhere. What
// does not: messages (emu/link).
//
// Nobody waits for another process while he is at the machine: who does leaves it, and comes back.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emu/machine/outside.hpp"

namespace sassemu {

class FarBytes {
  public:
    using Here = std::function<bool(uint64_t address, std::span<const std::byte> bytes)>;
    using Lost = std::function<void(uint64_t launch, const std::string& why)>;
    // `here` writes bytes of this process; `lost` is told whose write never arrives.
    FarBytes(FarMemory& far, Here here, Lost lost)
        : far_(far), here_(std::move(here)), lost_(std::move(lost)) {}

    // A thread is at the machine from enter() to its last leave(), which returns when all is
    // written. `outside`: it is of the link's, must not wait, and what it leaves behind is written
    // by the next one that may.
    void enter(bool outside);
    void leave();
    // All that this process has on its way is with those who have the memory. Not `outside`.
    void settle();

    bool elsewhere(uint64_t address) const { return far_.holds(FarMemory::by_host, address, 1); }
    // What loads of these lanes may read elsewhere, until forget(). Why not; empty: it is there.
    std::string fetch(const uint64_t* address, uint32_t lanes, uint32_t bytes);
    void forget() { fetched_.clear(); }

    // What the machine reads, where that is elsewhere. False: it is not known.
    bool read(uint64_t address, std::span<std::byte> into);
    // Over bytes that it has read: what it has written and is on its way.
    void overlay(uint64_t address, std::span<std::byte> bytes) const;
    // What it writes for a launch. False: it is of this process, and can be written at once.
    bool write(uint64_t launch, uint64_t address, std::span<const std::byte> bytes);

  private:
    static constexpr uint64_t line = 128;
    struct Fetched {
        uint64_t address;
        std::vector<std::byte> bytes;
    };
    struct Written {
        uint64_t launch, address;
        std::vector<std::byte> bytes;
        bool far;
    };
    void flush();
    // act() while others may be at the machine.
    template <class F>
    void away(F&& act);
    void come(bool outside, unsigned depth);

    FarMemory& far_;
    const Here here_;
    const Lost lost_;
    std::mutex mutex_;  // and what follows
    std::atomic<std::thread::id> holder_{};
    unsigned depth_ = 0;
    bool outside_ = false, flushing_ = false;
    std::vector<Fetched> fetched_;
    std::deque<Written> written_;
};

}  // namespace sassemu
