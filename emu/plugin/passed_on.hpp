// SPDX-License-Identifier: Apache-2.0
// Where the value of a load goes, from the code alone. What belongs here: following the registers
// of one load through its section. What does not: what a model makes of it (driven_late_reads.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sassemu/host.h"

namespace sassemu {

struct HookedInstruction;

// A store puts what a load has found, from its first byte on, into global memory as it is.
struct PassedOn {
    sassemu_insn store = nullptr;
    uint8_t offset = 0, bytes = 0;  // of the store
};

// The code of one section, for questions about the loads in it.
class SectionPaths {
  public:
    explicit SectionPaths(const HookedInstruction& any);
    // The store that follows the load in a straight line, into which no branch leads, and is all
    // that ever reads what it has found. Nothing: there is none, or something else may read it.
    std::optional<PassedOn> of(const HookedInstruction& load) const;

  private:
    using Registers = std::array<uint64_t, 4>;
    // `ends`: the thread; `elsewhere`: into another function or back; `anywhere`: not known.
    enum class Goes : uint8_t { on, to_target, ends, elsewhere, anywhere };
    struct Step {
        Registers reads{}, writes{};
        Goes goes = Goes::on;
        bool may_go_on = true;  // beside its target
        bool is_target = false;
        uint8_t guard = unguarded;               // a predicate, with its sense above
        uint16_t predicates = 0;                 // written
        int64_t target = -1;                     // a step's number
        uint8_t data = 0, words = 0;             // of a store to global memory; 0: it is none
        uint8_t address = 0, address_words = 0;  // of that
        uint8_t bytes = 0;
        uint8_t result = 0;  // of a load of shared memory that always takes place; `bytes` of it
        bool loads = false;
        bool leaves() const { return goes == Goes::elsewhere || goes == Goes::anywhere; }
    };
    // Registers that still have what was loaded: `covered` only where `guard` does not hold.
    struct Live {
        Registers all{}, covered{};
        uint8_t guard = unguarded;
        friend bool operator==(const Live&, const Live&) = default;
        bool is_read_by(const Step& s) const;
        void pass(const Step& s);
        void join(const Live& other);
        bool none() const { return all == Registers{}; }
    };
    static constexpr uint8_t unguarded = 0xff;
    static Step step_of(const HookedInstruction& i);
    bool dead(size_t from, const Live& live) const;

    const HookedInstruction* first_;
    std::vector<Step> steps_;
};

}  // namespace sassemu
