// SPDX-License-Identifier: Apache-2.0
// What the scheduler hands to workers a turn at a time: a grid, a copy, a wait for a value, a call
// of the host's. What belongs here: what the scheduler has to know of them. What does not: who runs
// next (scheduler.hpp), or what they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "emu/gpu.hpp"

namespace sassemu {

struct CtaSlot;
class Recording;
class Work;

// A limit of warp instructions, of one launch or of all that is in flight.
struct InstructionLimit {
    uint64_t most = 0;
    std::atomic<uint64_t> granted{0};
    uint32_t turns = 0;  // being run under it; with the scheduler's lock
};

// One turn of a worker: what it runs, and what it counts and claims without the lock.
struct Turn {
    enum class Outcome : uint8_t { done, expired, blocked, stopped };
    struct Range {
        uint64_t begin = 0, end = 0;
    };
    Work* work = nullptr;
    CtaSlot* slot = nullptr;  // of a grid
    Outcome outcome = Outcome::stopped;
    uint64_t ctas = 0, warp_instructions = 0, thread_instructions = 0, guard_false = 0;
    uint64_t issued = 0;             // in this turn
    uint64_t ended = 0;              // CTAs, in this turn
    uint64_t unreported = 0;         // issued, not in Launch::issued yet
    uint64_t granted = 0;            // of the limit of instructions, not used yet
    bool refused = false;            // it has no more to give
    Range claimed;                   // clusters that it begins next
    Recording* recording = nullptr;  // for plugins
};

class Work {
  public:
    virtual ~Work() = default;
    // The scheduler's lock is held in all of these but run().
    // In flight from now on. False: it cannot begin yet, ask again.
    virtual bool begin() { return true; }
    // Something of it to run; false: it has nothing at present. It may end here.
    virtual bool take(Turn&) = 0;
    virtual void run(Turn&) noexcept {}
    virtual void put(Turn&) {}
    virtual bool over() const = 0;
    virtual LaunchResult finish() = 0;
    // run() may wait for others: it is no worker's.
    virtual bool waits_for_others() const { return false; }
    // Nothing runs anywhere and nothing can: what it has for that case. True: it may go on.
    virtual bool settle() { return false; }
    // Somebody outside for whom it works may still change memory.
    virtual bool may_act() const { return false; }
    // Something behind it may begin although it has not ended.
    virtual bool lets_in() const { return false; }
    // Ends it at its own limits.
    virtual void check_limits() {}
    // Ends it where it is.
    virtual void end(LaunchStatus status, std::string message) = 0;
    // For the report of a deadlock: lines, each with its end.
    virtual std::string waits() const = 0;
    virtual uint32_t most_workers() const { return 1; }
};

}  // namespace sassemu
