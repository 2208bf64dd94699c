// SPDX-License-Identifier: Apache-2.0
// The debugger's side of a debugged run: the live process, its checkpoints, what halts it; going
// forward, back and to a position. What belongs here: all that a console and an adapter share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/debug/channel.hpp"
#include "emu/plan/plan.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu::debug {

struct SessionOptions {
    uint32_t checkpoints = 32;      // at most; each is a process that shares most of its memory
    uint64_t checkpoint_every = 0;  // warp instructions; 0: by time
    std::function<void(std::string_view)> on_output;  // device printf, each byte once
    std::function<bool()> wants_halt;                 // asked now and then while it runs
};

struct Breakpoint {
    int id = 0;
    std::string kind = "breakpoint";  // watch, when
    std::string text;                 // as the user wrote it
    std::string condition;            // empty: none
    bool enabled = true, temporary = false;
    uint64_t hits = 0, ignore = 0;
    Json places;  // of a breakpoint, as inspect's "resolve" answers
    Json watch;   // as inspect's "watch" answers
};

// Where and why it has halted: "stop" (started, breakpoint, watch, when, step, launch, reached,
// interrupted, fault, failed, gone, ended,
// start), "position", "focus" and more.
using Stop = Json;

class Session {
  public:
    // Runs the plan up to its first warp instruction. Errors: the plan cannot be run at all.
    static Result<std::unique_ptr<Session>> start(const plan::Plan& plan, plan::RunOptions run,
                                                  SessionOptions options);
    ~Session();

    const Stop& stop() const { return stop_; }
    uint64_t position() const { return field(stop_, "position", uint64_t{0}); }
    bool limit_reached() const { return limit_reached_; }  // of time or memory
    bool ended() const { return field(stop_, "stop", "") == "ended"; }
    // Launch, CTA, warp, lane, and which frame of it unless it is the innermost.
    Json focus() const { return focus_; }
    void set_focus(const Json& focus);
    // A question of inspect.hpp, about the focus if it names no other.
    Json ask(Json question);

    // What follows sets stop() and the focus. `step`: {"what","unit","count"}; null: runs on.
    Result<void> forward(const Json& step = {});
    Result<void> back(const Json& step = {});
    Result<void> go_to(uint64_t position);

    // Errors of the next four: what the text means is not there.
    Result<const Breakpoint*> add_breakpoint(const std::string& where, const std::string& condition,
                                             bool temporary);
    Result<const Breakpoint*> add_watch(const std::string& expression,
                                        const std::string& condition);
    Result<const Breakpoint*> add_when(const std::string& expression);
    Result<void> set_condition(Breakpoint& breakpoint, const std::string& condition);
    std::vector<Breakpoint>& breakpoints() { return breakpoints_; }
    bool break_at_launches = false;

    // Who wrote one of these bytes last, before now: the "write" stop with a "where"; null: nobody.
    Result<Json> last_write(const std::string& expression);

    std::vector<uint64_t> checkpoint_positions() const;

  private:
    struct Checkpoint {
        uint64_t position = 0;
        Channel channel;
    };
    Session() = default;
    // Its next stop; events on the way are taken care of.
    Result<Stop> wait(const Channel& channel, bool may_halt);
    Result<Channel> fork(const Channel& from);
    Json stops() const;
    void keep(uint64_t position, int descriptor);
    void thin_out();
    size_t checkpoint_before(uint64_t position) const;  // at or before
    struct Found {
        Json last;
        uint64_t arrivals = 0, arrival = 0;  // of a step's unit: how many, and the first of them
        bool uncertain = false, halted = false;
    };
    Result<Found> scan(size_t checkpoint, uint64_t until, Json request);
    // The last position before `before` that halts it; null: there is none.
    Result<Json> search_back(uint64_t before, Json request);
    void take(Stop stop);
    void to_innermost();

    SessionOptions options_;
    Channel live_;
    std::vector<Checkpoint> checkpoints_;  // by position; the first is at the beginning
    std::vector<Breakpoint> breakpoints_;
    int next_id_ = 1;
    Stop stop_;
    Json focus_;
    bool limit_reached_ = false;
    uint64_t seen_output_ = 0;
    int process_ = -1;
};

}  // namespace sassemu::debug
