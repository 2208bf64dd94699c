// SPDX-License-Identifier: Apache-2.0
// A machine some of whose memory other processes reach, or have themselves, or that has host
// processes of its own. What belongs here: what the link asks of it, and what it asks of the link.
// Nothing else does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/machine.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

// Memory of other processes that only messages reach; they perform what is asked for here. What is
// asked of one process is performed in the order of the calls. Any thread may call, and none with
// the lock of the machine. An Error, or what `then` is told: the process that has it is lost.
class FarMemory {
  public:
    static constexpr uint32_t by_host = ~0u;      // in place of a GPU: the host, and copy engines
    static constexpr uint32_t most_watched = 16;  // bytes at a time
    virtual ~FarMemory() = default;
    // All of the bytes are such memory, and the GPU may touch it. Locks nothing.
    virtual bool holds(uint32_t gpu, uint64_t address, uint64_t bytes) const = 0;

    struct Change {
        AtomicOp op = AtomicOp::add;
        AtomicType type = AtomicType::u32;
        uint32_t bytes = 4;
        uint64_t operand[2] = {}, swap[2] = {};
    };
    // Posted. An aligned 1, 2, 4 or 8 bytes are written at once.
    virtual Result<void> put(uint64_t address, std::span<const std::byte> bytes) = 0;
    virtual Result<void> reduce(uint64_t address, const Change& what) = 0;
    // All that this process has posted has been performed. An Error, also where some of it was
    // refused, counts for these processes only: what others lost is not the caller's.
    virtual Result<void> drain(const std::set<uint32_t>& ranks) = 0;
    // Which process has it.
    virtual uint32_t rank_of(uint64_t address) const = 0;

    // Asked for, and answered later: `then` is called once, on a thread of the link's, with an
    // empty text or why there is no answer. It must not call what is here. `into` and `old` stay
    // until then.
    using Then = std::function<void(const std::string& lost)>;
    virtual void get(uint64_t address, std::span<std::byte> into, Then then) = 0;
    virtual void atomic(uint64_t address, const Change& what, uint64_t old[2], Then then) = 0;
    // The same, waited for.
    Result<void> read(uint64_t address, std::span<std::byte> into);
    Result<void> change(uint64_t address, const Change& what, uint64_t old[2]);

    // A copy of bytes that somebody waits for, which is renewed from now on: what they are by now,
    // at first. It stays as long as this object. An Error also: too much is watched.
    virtual Result<const std::byte*> watch(uint64_t address, uint32_t bytes) = 0;
    // The process that has it is lost; what watch() gave means nothing any more. Locks nothing.
    virtual bool gone(uint64_t address) const = 0;

    // For memory models. Whose it is, as sassemu_bytes says it. Locks nothing.
    virtual int32_t home(uint64_t address) const = 0;
    // What the copy of watched bytes has, if there is one and nobody is at it. Waits for nobody.
    virtual bool seen(uint64_t address, std::span<std::byte> into) = 0;
};

// What other processes do to memory of this one, where a memory model has to know of it. Any
// thread may call. The bytes are of one allocation.
class SeenMemory {
  public:
    virtual ~SeenMemory() = default;
    virtual void read(uint64_t address, std::span<std::byte> into) = 0;
    virtual void write(uint64_t address, std::span<const std::byte> bytes) = 0;
    // Of a type and size that exist, aligned.
    virtual void update(uint64_t address, const FarMemory::Change& what, uint64_t old[2]) = 0;
};

// Does in the scheduler's turns what processes outside ask for. Both are asked with the machine's
// lock held, as ready() is.
class OutsideAgent : public MachineAgent {
  public:
    // One of them may still act: then nothing is a deadlock.
    virtual bool may_act() = 0;
    // For the report of a deadlock: lines, each with its end; empty: there is nothing to say.
    virtual std::string waits() = 0;
};

class OutsideMemory {
  public:
    virtual ~OutsideMemory() = default;
    // The bytes of an allocation are from now on those of the file (a memfd), whose size is set if
    // it is empty; what was in them is gone. Where they are in this process. Before anything runs.
    virtual Result<std::byte*> back(uint64_t address, int descriptor) = 0;
    // Others write to an allocation, by messages. Where it is in this process.
    virtual Result<std::byte*> share(uint64_t address) = 0;
    // Null: they may touch the bytes themselves.
    virtual SeenMemory* seen() = 0;
    // Some memory of this machine will be elsewhere. Before any module is placed.
    virtual void reach_by(FarMemory* far) = 0;
    // The bytes of an allocation are elsewhere from now on. Whose it was, and which GPUs could
    // touch it.
    struct Given {
        int32_t home = -1;
        std::vector<bool> gpus;
    };
    virtual Result<Given> give_away(uint64_t address) = 0;
    // Something has come that work may wait for. Any thread, whatever it holds.
    virtual void news() noexcept = 0;
    // Whether somebody outside may change memory: as long as one may, no deadlock is declared.
    virtual void outside_may_act(bool may) = 0;
    struct Progress {
        bool parked = false;  // nothing can go on, unless somebody outside changes memory
        uint64_t epoch = 0;   // changes whenever something has run
        uint64_t looks = 0;   // how often, in this epoch, all that is waited for was looked at
    };
    virtual Progress progress() = 0;

    // ---- host processes. As Machine::add_agent() and remove_agent().
    virtual void add_outside(OutsideAgent& agent) = 0;
    virtual void remove_outside(OutsideAgent& agent) = 0;
    // It has become ready: who sleeps looks again.
    virtual void wake() = 0;
    // From its step(). An atomic of the host's as kernels have them: 2, 4, 8 or 16 bytes, aligned.
    using Atomic = FarMemory::Change;
    virtual Result<void> update(uint64_t address, const Atomic& what, uint64_t old[2]) = 0;
    // From its ready() or step(). One look of the host's; where the condition holds it has waited.
    virtual Result<bool> look(const ValueCondition& condition) = 0;
    virtual std::string text(const ValueCondition& condition) = 0;
};

}  // namespace sassemu
