// SPDX-License-Identifier: Apache-2.0
// What threads may still do, learnt while they are explored: which bytes each of them touches at
// which instruction, and where it goes from there. A step whose bytes nobody else may touch before
// its thread has moved need not wait for anybody: it is done alone, whatever others could do first
// (a persistent set of one, Godefroid 1996).
//
// What is learnt grows. A step that was chosen before all was known may have been chosen wrongly:
// then all is explored again, with what is known by then, until a run learns nothing that matters.
// At that point no execution does anything that is not known: the first of a shortest one to do
// so would be, its predecessors being known, at the next place of a run that took steps chosen here
// in front of it, and would have been learnt there.
//
// Several may learn at once, each for itself: what is asked is answered by what all have learnt in
// the rounds before (adopt_news()), so that answers do not depend on who was first.
// What belongs here: no state is changed, and no step is taken.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "emu/explore/machines/machine_state.hpp"

namespace sassemu::explore {

class Prospects {
  public:
    explicit Prospects(const Test& test);

    // ---- learning, known from the next round on
    // At `pc` the thread has done, or would do, this, and stands at `next` then (none: it waits).
    void learn(uint32_t thread, uint32_t pc, std::optional<uint32_t> next, const Footprint& foot,
               const std::vector<MemoryOperation>& does);

    // ---- asking
    static constexpr uint32_t nobody = ~0u;
    // Whether somebody else may touch what `foot` touches, before thread `by` moves, so that the
    // order tells.
    bool meet(const MachineState& s, uint32_t by, const std::vector<Footprint::Range>& foot) const;
    // Whether what the thread has stored to global memory when it is at `pc` leaves no queue later
    // than at a fence of its, and before that nobody waits for it at a barrier, nor do copies
    // begin.
    bool drains_first(uint32_t thread, uint32_t pc) const;
    // The step has been taken alone.
    void choose(uint32_t by, const std::vector<Footprint::Range>& foot);

    // ---- rounds
    void adopt_news(const Prospects& of);
    void forget_news() { news_ = {}; }

    // ---- runs
    // A run that has seen so many states: what has been chosen in it may be wrong. Not at once:
    // it may learn more.
    bool stale(size_t states);
    bool begin_again();  // at its end: whether it has to be done again

  private:
    struct Cell {
        uint64_t granule = 0;
        uint16_t bytes = 0;  // of the granule
        bool writes = false;
    };
    struct Fact {
        uint32_t thread = 0, pc = 0;
        uint16_t bytes = 0;
        bool writes = false;
    };
    enum Past : uint8_t { drained = 1, not_drained = 2, opened = 4 };
    // How the barriers of a thread depend on another one.
    enum Apart : uint8_t { same_warp, same_cta, elsewhere, aparts };
    struct Step {
        uint64_t name = 0;  // in short: equal for equal steps
        uint32_t thread = 0, pc = 0;
        std::optional<uint32_t> next;
        std::vector<Cell> cells;
        uint64_t barrier = 0;
        bool arrives = false, starts_unknown = false;
        uint8_t past = 0;
    };
    struct Code {
        std::unordered_map<uint32_t, std::vector<uint32_t>> next;
        std::unordered_map<uint32_t, std::vector<uint64_t>> barriers;  // met at an instruction
        std::unordered_map<uint32_t, uint8_t> past;  // Past bits, as it was passed
        // From an instruction: what can be reached.
        mutable std::array<std::unordered_map<uint32_t, std::unordered_set<uint32_t>>, aparts>
            reached;
    };

    template <class Act>
    static void each_cell(const std::vector<Footprint::Range>& ranges, Act&& act);
    static bool add(std::vector<uint64_t>& to, uint64_t value);
    void adopt(const Step& step);
    void adopt_choice(const Cell& cell, uint32_t by);
    bool needs_all(uint32_t launch, uint64_t barrier, Apart apart) const;
    bool may_reach(const MachineState& s, uint32_t thread, uint32_t pc, uint32_t by) const;
    bool starts_behind(const MachineState& s, uint32_t thread, uint32_t by) const;
    Apart apart(uint32_t a, uint32_t b) const;
    bool suspect() const;  // of what was chosen, something depends on what is known
    uint32_t launch(uint32_t thread) const { return test_.sass->thread(thread).launch; }

    const Test& test_;
    std::unordered_map<uint32_t, Code> codes_;               // by launch
    std::unordered_map<uint64_t, std::vector<Fact>> facts_;  // by granule
    std::vector<Fact> unknown_;                              // touch what nobody knows yet
    std::unordered_set<uint64_t> arrived_;  // barriers at which threads arrive and go on
    std::unordered_set<uint64_t> known_;    // steps' names
    std::unordered_map<uint64_t, std::vector<Fact>> chosen_;
    bool grew_ = false;
    size_t grown_at_ = 0, states_ = 0, looked_at_ = 0;
    struct {
        std::vector<Step> steps;
        std::unordered_set<uint64_t> names;  // of these
        std::vector<std::pair<Cell, uint32_t>> choices;
    } news_;
};

}  // namespace sassemu::explore
