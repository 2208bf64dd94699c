// SPDX-License-Identifier: Apache-2.0
// What a run's results rest on: the executed instructions by the evidence for their behaviour, and
// which of those that are only assumed had a part in a result, or in what is executed. Their
// results are marked, and the marks are followed (plugins/follow). What belongs here: the state.
// plugin.cpp has the callbacks, report.cpp the statement.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "follow/follower.hpp"

namespace fidelity {

using follow::Cta;
using follow::Origin;
using follow::Place;
using follow::Step;

struct Behaviour {     // of the instructions of one name
    std::string name;  // "HMMA.16816.F32"
    uint32_t kind = SASSEMU_EVIDENCE_NONE;
    std::string about, source;
    std::vector<sassemu_insn> places;    // in the code, executed or not
    uint64_t executed = 0, threads = 0;  // warp instructions, and their lanes
    bool decides = false;                // where a path goes, or whether it waits, by itself
    bool assumed() const {
        return kind == SASSEMU_EVIDENCE_ASSUMED || kind == SASSEMU_EVIDENCE_NONE;
    }
};

struct Output {
    uint64_t first = 0;    // byte of a buffer
    uint64_t counted = 0;  // up to here: the host may read it again
    uint64_t bytes = 0;
    bool is_read = false;  // by the host; else it was left there
};

class Fidelity final : public follow::Follower {
  public:
    static constexpr auto name = "fidelity";
    static constexpr auto summary =
        "says what the behaviour of executed instructions rests on, and where what is assumed goes";
    static constexpr uint64_t sync_ignored = ~uint64_t{0};

    explicit Fidelity(const sassemu::Start& start) : Follower(start, false, follow::Doubt::marks) {}
    uint32_t select(sassemu_insn i);
    void counts(sassemu_launch l, const sassemu_counts& c);
    void async(const sassemu_async& a);
    void host_access(uint64_t address, uint64_t bytes, uint32_t is_write);
    void release(const sassemu_allocation& a);
    void finish();

  private:
    // Marks have an origin from the beginning here.
    Origin born(const Step&, uint32_t, uint32_t) override { return follow::unnamed; }
    Origin born(const Step&, uint32_t, uint32_t, uint64_t, const Place&) override {
        return follow::unnamed;
    }
    Origin born_of_copy(const char*, uint64_t, sassemu_insn) override { return follow::unnamed; }
    Origin both(Origin a, Origin b) override;
    uint64_t* decisions(sassemu_insn i, Origin o) override { return &decisions_[{i, o}]; }

    // An origin is a set of behaviours.
    Origin set_of(std::vector<uint32_t> behaviours);
    void output(const follow::Extent& e, uint64_t at, uint64_t end, bool is_read);
    // report.cpp
    void tell();

    static constexpr size_t most_sets = 1 << 16;  // beyond, an origin is all of them
    std::vector<Behaviour> behaviours_;
    std::map<std::string, uint32_t, std::less<>> behaviour_of_;
    std::unordered_map<sassemu_module, std::vector<uint32_t>> code_;  // behaviour by index
    std::vector<std::vector<uint32_t>> sets_{{}};
    std::map<std::vector<uint32_t>, Origin> set_numbers_;
    std::unordered_map<uint64_t, Origin> joined_;
    std::map<std::pair<std::string, Origin>, Output> outputs_;  // by buffer
    std::map<std::pair<sassemu_insn, Origin>, uint64_t> decisions_;
};

}  // namespace fidelity
