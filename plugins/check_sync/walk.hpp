// SPDX-License-Identifier: Apache-2.0
// Where the value goes that a load has just put into a register of one lane: on from there through
// the code, with the values that its registers and predicates have now. What belongs here: that
// walk. What a load's place in the code alone says about its value is in meaning.cpp.
#pragma once

#include <sassemu/plugin.hpp>

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace check_sync {

// Rows: R, UR, P, UP.
constexpr uint32_t uniform_rows = 256, predicate_rows = 512, rows = 528, no_row = ~0u;

class Walks {
  public:
    explicit Walks(const sassemu::Plugin& plugin) : plugin_(plugin) {}
    // Whether it is certain that the value of register `reg`, which `insn` is about to load,
    // decides nothing: it is computed with and selected from, but nothing that depends on it is
    // stored, is an address, tells where the path goes, or goes to another lane.
    bool drops(sassemu_warp warp, uint32_t lane, sassemu_insn insn, uint32_t reg);
    // Instructions of former runs may be gone.
    void forget_handles() {
        ops_.clear();
        reads_.clear();
        returns_.clear();
    }
    void begin_launch() { steps_left_ = most_steps; }

  private:
    // Beyond these a value counts as used: in one walk, and in a launch.
    static constexpr uint32_t most_steps_of_one = 1 << 13, most_steps = 1 << 24;
    static constexpr size_t most_open = 64;  // paths

    enum class Form : uint8_t {
        other,
        add,
        multiply,
        logic,
        shift_add,
        shift,
        minmax,
        add_minmax,
        predicates
    };
    enum class Does : uint8_t {
        computes,
        selects,
        compares,
        combines,
        crosses,
        branches,
        calls,
        returns,  // to `target` and the number in the register
        ends,
        bails
    };
    struct Op {
        Does does = Does::computes;
        Form form = Form::other;
        bool is_signed = true, right = false;  // comparisons and minima; shifts
        char compares = 0, joins = 0;          // L l E N g G of LT LE EQ NE GE GT; & | ^
        bool has_effect = false;
        int guard = -1;  // predicate; uniform ones from 8 on
        bool guard_inverted = false;
        bool forks = false;  // a branch whose condition is not its guard alone
        bool has_target = false;
        uint64_t target = 0;  // offset in the module's code
        std::vector<sassemu_operand> sources;
        std::vector<uint32_t> reads, results;  // rows
        std::vector<uint32_t> named;           // rows of the destinations, in order; no_row: PT, RZ
        bool goes_on() const {                 // to what is behind it
            if (does == Does::branches) return guard >= 0 || forks;
            const bool leaves = does == Does::ends || does == Does::calls || does == Does::returns;
            return guard >= 0 || !leaves;
        }
    };
    struct Value {
        enum Kind : uint8_t { known, unknown, tainted } kind = unknown;
        uint32_t bits = 0;
    };
    struct State;
    const Op& op(sassemu_insn insn);
    Op read(sassemu_insn insn) const;
    void classify(Op& op, std::string_view text) const;
    Value source(const State& s, const sassemu_operand& o) const;
    Value result(const State& s, const Op& op) const;
    void perform(State& s, const Op& op) const;
    bool walk(State s, std::vector<State>& open);
    bool may_read(const State& s, uint32_t row);
    void forget_dead(State& s);
    void find_returns(uint64_t entry, const State& s);

    const sassemu::Plugin& plugin_;
    std::unordered_map<sassemu_insn, Op> ops_;
    std::map<std::tuple<sassemu_insn, std::string_view, uint32_t>, bool>
        reads_;  // what may_read() has found
    // What find_returns() has found, of a RET and the function that called; of an
    // entry: that it has looked.
    std::map<std::pair<sassemu_insn, std::string_view>, std::vector<uint64_t>> returns_;
    uint32_t steps_left_ = most_steps, left_ = 0;
};

}  // namespace check_sync
