// SPDX-License-Identifier: Apache-2.0
// The process that runs the plan for the debugger. It halts in the engine's own thread, answers
// questions about the state, and goes on when told to. Because the run is deterministic, a position
// (a number of warp instructions) names a state of the whole run; a *checkpoint* is a fork of this
// process that waits at one: the host's kernel keeps what both share. So going back is letting a
// checkpoint run forward again.
//
// Requests, each answered by one message ("stop" after events, or the answer):
//   {"do":"run", "until":N, "last":bool, "stops":[...], "step":{...}, "every":N}
//       goes on until something halts it. "last": nothing does before "until"; the last that would
//       have is told with it.
//   {"do":"fork"}      another process like this one; its end of a channel goes along
//   {"do":"..."}       see inspect.hpp
// Events on the way: {"event":"output","at":N,"text":..}, {"event":"checkpoint","position":N} with
// a channel.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/base/limits.hpp"
#include "emu/debug/channel.hpp"
#include "emu/debug/expression.hpp"
#include "emu/debug/focus.hpp"
#include "emu/debug/places.hpp"
#include "emu/debug/view.hpp"
#include "emu/machine/stepper.hpp"
#include "emu/plan/plan.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu::debug {

// A launch that is in flight.
struct RunningLaunch {
    Launch* launch = nullptr;
    std::string kernel;
    uint32_t gpu = 0;
    std::vector<Cta*> ctas;  // resident
};

// What halts a run.
struct Halt {
    enum class Kind : uint8_t {
        breakpoint,  // a lane comes to a place
        watch,       // bytes or a register of `focus` change
        write,       // the same, and stores that leave them as they were
        when         // an expression becomes true for a lane
    } kind = Kind::breakpoint;
    int id = 0;
    std::string where;  // breakpoint: as Places understands it
    std::optional<Expression> condition;
    Focus focus;
    ValuePlace place;
    TypeRef type;
    // Where the watched bytes lie now; empty: they do not exist now.
    std::vector<std::pair<const std::byte*, size_t>> pieces;
    std::vector<std::byte> seen;
    std::unordered_map<const Warp*, uint32_t> held;  // when: lanes for which it holds
};

class Debuggee final : public Stepper {
  public:
    explicit Debuggee(Channel channel) : channel_(std::move(channel)) {}

    // Runs the plan to its end and beyond: never returns.
    [[noreturn]] void run(const plan::Plan& plan, plan::RunOptions options);

    // ---- for inspect.cpp
    const Places& places() const { return places_; }
    const std::vector<RunningLaunch>& launches() const { return launches_; }
    const RunningLaunch* launch_of(const Launch* launch) const;
    // Null: it is not resident.
    Warp* warp_of(const Focus& focus) const;
    View view(Warp& warp, uint32_t lane, uint32_t frame = 0) const {
        return View(places_, named_, warp, lane, position, frame);
    }
    const std::map<std::string, NamedMemory>& named() const { return named_; }
    Focus focus_of(const Warp& warp, uint32_t lane) const;
    // Whose turn it is; null: nobody's.
    const Warp* current() const { return current_; }

    // ---- Stepper
    const uint8_t* marks(const CodeImage& code) override;
    void before(Warp& warp, const Op* op) override;
    void after(Warp& warp, const Op* op) override;
    void turn(Warp& warp) override;
    void module_placed(const std::shared_ptr<const Module>& module, uint32_t gpu) override;
    void launch_begin(Launch& launch, const std::string& kernel, uint32_t gpu) override;
    void launch_fails(Launch& launch, LaunchStatus status, const std::string& what, Warp* warp,
                      const Op* op, uint32_t lanes) override;
    void launch_end(Launch& launch) override;
    void cta_begin(Cta& cta) override;
    void cta_end(Cta& cta) override;

  private:
    // Following one lane, warp, CTA or everything by steps.
    struct Step {
        bool on = false;
        enum class Unit : uint8_t { lane, warp, cta, all } unit = Unit::warp;
        // An instruction; another source line; the same, not in what is called; until the return.
        enum class What : uint8_t { instruction, line, over, finish } what = What::instruction;
        uint64_t count = 1;
        Focus focus;
        bool begun = false;
        std::vector<SourceFrame> from;  // where it began, outermost first
        CodePlace at;                   // of the last arrival
        std::vector<SourceFrame> line;  // last: of the last arrival
        int64_t depth = 0;              // calls on the way
    };

    // Tells of the halt (null: of none), and answers until the run goes on.
    void keep_watch();
    void tell(const Json& message, int passed = -1);
    void serve(const Json& stop);
    Result<void> begin_run(const Json& request);
    // What runs on is this process; another one like it waits at the other end of what is sent.
    void fork_here(Json message);
    void keep_house();
    void check(Warp& warp, const Op* op);
    void set_halt_at(const Warp& warp);
    bool follows(const Warp& warp) const;
    bool follows_warp(const Warp& warp) const;
    bool goes_on() const;
    bool step_arrives(Warp& warp, const Op* op);
    void check_breakpoints(Warp& warp, const Op* op);
    void check_watches(Warp* by, uint64_t at);
    void check_stores(Warp& warp, const Op* op);
    void check_when(Warp& warp, bool tell);
    // Halts, or keeps it for the end of a run that looks for the last one.
    void found(Json stop, uint64_t at);
    void find_pieces(Halt& halt) const;
    std::vector<std::byte> bytes_of(const Halt& halt) const;
    void make_marks(const CodeImage& code, std::vector<uint8_t>& marks);
    Json stop_at(const char* reason, const Focus& focus) const;
    [[noreturn]] void end(int code, const std::string& report);

    Channel channel_;
    std::mutex telling_;
    std::unique_ptr<Watchdog> watchdog_;  // of this process
    Places places_;
    std::map<std::string, NamedMemory> named_;
    std::vector<RunningLaunch> launches_;
    std::unordered_map<const CodeImage*, std::vector<uint8_t>> marks_;
    Warp* current_ = nullptr;
    uint64_t printed_ = 0;  // bytes of output so far
    bool started_ = false;

    // ---- of the run under way
    std::vector<Halt> halts_;
    std::unordered_map<const CodeImage*, std::unordered_map<uint64_t, std::vector<size_t>>>
        halts_at_;  // breakpoints by code offset
    Step step_;
    std::optional<uint64_t> until_;
    bool last_ = false, at_launches_ = false, served_ = false;
    std::vector<const Launch*> begun_;  // and have executed nothing so far
    Json last_stop_;                    // that would have halted it
    std::deque<uint64_t> arrivals_;     // of the step's unit, the last of them
    bool first_uncertain_ = false;      // what came before the first arrival is not known
    uint64_t quiet_at_ = ~uint64_t{0};  // here it has halted already
    uint64_t house_at_ = 0;             // position of the next keep_house()
    uint64_t every_ = 0;                // between checkpoints; 0: by time
    uint64_t checkpoint_at_ = 0;
    std::chrono::steady_clock::time_point checkpoint_time_;
    std::chrono::steady_clock::duration checkpoint_cost_{};
    bool watches_ = false, whens_ = false, stores_ = false;
};

}  // namespace sassemu::debug
