// SPDX-License-Identifier: Apache-2.0
// Machine code for the models that are machines: a thread with concrete registers is run up to its
// next operation on memory that others can see. What belongs here: registers, local and shared
// memory, barriers (the pipeline of an SM is in order). What does not: global memory, caches.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/explore/machines/memory_operation.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

// What machine code has beside the state that any thread of a machine has.
struct SassState {
    struct OfThread {
        bool ended = false, started = true;
        int32_t barrier = -1;  // waits at this number
        uint32_t cluster_arrivals = 0, cluster_waits = 0;
        std::map<uint32_t, uint32_t> local;  // words
        // Of a scoped machine: it goes on because this phase of this barrier is over.
        uint64_t passed = 0, phase = 0;
    };
    std::vector<OfThread> threads;
    // CTA -> its bytes, once one is touched; states have them in common until one writes.
    std::map<int32_t, std::shared_ptr<std::vector<uint8_t>>> shared;
    // (CTA, number) -> threads that have arrived in this phase, as bits
    std::map<std::pair<int32_t, uint32_t>, std::vector<bool>> barriers;
    std::map<uint64_t, uint64_t> phases;  // of a scoped machine's barriers, where not 0
};

class SassFetch {
  public:
    // `scoped`: shared memory, barriers and what PTX means are the machine's matter.
    SassFetch(const Test& test, bool scoped) : test_(test), scoped_(scoped) {}

    SassState start() const;
    void start_registers(uint32_t thread, uint32_t& pc, std::vector<uint64_t>& registers) const;
    void key(const SassState& s, std::string& out) const;
    bool live(uint32_t thread, uint32_t pc, size_t reg) const;

    enum class What : uint8_t {
        blocked,     // waits for a pending load, or for others
        ran,         // went on; nothing that others see
        operations,  // `out` has what it does to global memory, and it is past it
    };
    // `awaited`: registers whose loads are pending. `drained`: nothing of the thread is pending.
    What step(SassState& s, uint32_t thread, uint32_t& pc, std::vector<uint64_t>& registers,
              const std::vector<uint32_t>& awaited, bool drained,
              std::vector<MemoryOperation>& out);

    // At an address of scoped machines; null: it is not there.
    std::byte* shared_bytes(SassState& s, uint64_t address, uint64_t bytes) const;

    // Whether a step since the last call read or wrote what other threads of the CTA or cluster
    // see.
    bool touched() { return std::exchange(touched_, false); }
    const std::string& problem() const { return problem_; }  // why nothing was explored
    void refuse(std::string why) {
        if (problem_.empty()) problem_ = std::move(why);
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
        const bool drained;
        std::vector<uint64_t> in;  // of what it reads
    };
    What call(Turn& at);
    What plain(Turn& at, const SassEffects& e);
    What mbarrier(Turn& at, uint32_t address);
    What order(Turn& at);
    What access(Turn& at, const Access& a, uint64_t address);
    What local(Turn& at, const Access& a, uint32_t address);
    What near(Turn& at, const Access& a, uint32_t address, bool own);
    What far(Turn& at, const Access& a, uint64_t address);
    What operate(Turn& at, const Access& a, uint64_t address);
    void write(const Turn& at) const;
    uint64_t word(const Turn& at, uint32_t row, uint32_t k) const;
    std::byte* shared(Turn& at, uint32_t address, bool own, uint64_t bytes);
    What refuse_at(const Turn& at, const char* what);
    void arrive(SassState& s, uint32_t thread, const BarrierRequest& r) const;
    void release(SassState& s) const;
    bool cluster_passed(const SassState& s, uint32_t thread) const;

    std::vector<uint8_t>& unshare(SassState& s, int32_t cta) const;

    const Test& test_;
    const bool scoped_;
    std::string problem_;
    bool touched_ = false;
};

}  // namespace sassemu::explore
