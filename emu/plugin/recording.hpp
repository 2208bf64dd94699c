// SPDX-License-Identifier: Apache-2.0
// What a worker has executed and plugins have not been told yet: straight runs of instructions,
// their accesses, and how often each instruction ran (sassemu/records.h). The run loop that fills
// it is in schedule/stepwise.cpp; launches without such plugins have none of this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/machine/cta.hpp"
#include "sassemu/records.h"

namespace sassemu {

struct AccessCall;
class Hooks;
struct HookedImage;
struct HookedInstruction;
struct PluginSession;

// What is wanted of one instruction: two bits for each plugin that records, by its slot, one for
// all that count, and one where the block ends.
struct Wanted {
    static constexpr uint32_t most_slots = 31;
    static constexpr uint64_t counts = uint64_t{1} << 63, last = uint64_t{1} << 62;
    static constexpr uint64_t record(uint32_t slot) { return uint64_t{1} << 2 * slot; }
    static constexpr uint64_t skipped(uint32_t slot) { return uint64_t{2} << 2 * slot; }
};

class Recording {
  public:
    explicit Recording(const std::vector<PluginSession*>& recorders);
    Recording(const Recording&) = delete;

    // This thread's; null: nothing is recorded here.
    static Recording* current() { return current_; }

    // ---- the run loop's
    void turn(Warp& w) {  // it runs from now on
        if (cta_ != w.cta) deliver();
        close();
        cta_ = w.cta;
        warp_ = &w;
        first_ = next_ = nullptr;
        clock_ = w.cta->clock() - w.issued - w.guard_false;
    }
    // The next instruction, once it is counted.
    void executes(const Op* op, uint32_t lanes, uint32_t active) {
        if (warp_->path().end == op) [[unlikely]]
            if (was_executed(lanes, active)) return;
        if (op != next_ || lanes != lanes_ || active != active_ ||
            wanted_[op - ops_] != run_wanted_) [[unlikely]]
            begin(op, lanes, active);
        ++next_;
        if (run_wanted_ & Wanted::last) [[unlikely]]
            deliver();
    }
    void skips(const Op* op, uint32_t active) {
        if (wanted_[op - ops_] & any_skipped) executes(op, 0, active);
    }
    // Takes out the lanes that execute the instruction again: a BSYNC at which they have waited, or
    // a jump with several targets. The chip counts these once (measured, tests/profile). Whether
    // none is left.
    bool was_executed(uint32_t& lanes, uint32_t& active);
    // The instruction at hand did not take place. False: too late for its thread instructions.
    bool take_back(const Op* op);
    // The run so far is over: its thread instructions are the warp's.
    void close();

    // ---- the plugins'
    // An access of the instruction at hand.
    void access(AccessCall& call);
    void access(const HookedInstruction& i, uint32_t lanes, const uint64_t* addresses);
    // All that was recorded so far, to everybody or to one.
    void deliver();
    void deliver(const PluginSession& s);
    // Of all instructions of the launch's image; forgets them.
    void add_counts(const Launch& launch, std::vector<sassemu_count>& total);

    // ---- Hooks'
    void begin(const Launch& launch, const HookedImage& image, bool counts);

    // A thread that runs some of a launch records while this lives.
    class Scope {
      public:
        explicit Scope(const Launch& launch);
        ~Scope();
        Scope(const Scope&) = delete;
        Recording* get() const { return current_; }

      private:
        Hooks* const hooks_;
    };

  private:
    static constexpr uint64_t any_skipped = 0xaaaaaaaaaaaaaaaau;  // and Wanted::counts
    struct Buffer {
        const PluginSession* session;
        std::vector<sassemu_record> records;
        std::vector<sassemu_recorded_access> accesses;
        std::vector<uint64_t> addresses;
        std::vector<uint32_t> words;
    };
    void begin(const Op* op, uint32_t lanes, uint32_t active);
    void tally(const Op* first, const Op* end, uint32_t lanes, uint32_t active, uint64_t times);
    void deliver(Buffer& b);
    sassemu_recorded_access& add(Buffer& b, uint32_t lanes, const uint64_t* addresses);
    // Only after the whole access is there: then the block may go.
    void deliver_if_full(Buffer& b);

    [[gnu::tls_model("initial-exec")]] static thread_local Recording* current_;

    // The open run, [first_, next_): what the loop looks at comes first.
    const Op *next_ = nullptr, *first_ = nullptr;
    uint32_t lanes_ = 0, active_ = 0;
    uint64_t run_wanted_ = 0;
    const uint64_t* wanted_ = nullptr;  // by index of the operation
    const Op* ops_ = nullptr;
    Warp* warp_ = nullptr;
    Cta* cta_ = nullptr;
    uint64_t clock_ = 0;      // of the CTA, less what the warp has issued
    uint64_t run_clock_ = 0;  // at the beginning of the run
    const HookedInstruction* instructions_ = nullptr;
    std::vector<Buffer> buffers_;  // by slot
    struct Counts {
        const Launch* launch = nullptr;  // null: of none that is in flight
        // Differences between neighbours: a run changes two of them.
        std::vector<sassemu_count> at;
        uint64_t low = ~uint64_t{0}, high = 0;  // those that were touched
    };
    std::vector<std::unique_ptr<Counts>> all_counts_;
    Counts* counts_ = nullptr;  // of the launch at hand
};

}  // namespace sassemu
