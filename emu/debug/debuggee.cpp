// SPDX-License-Identifier: Apache-2.0
// The process of debuggee.hpp: running, halting, forking. What halts it is looked at in halts.cpp.
#include "emu/debug/debuggee.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "emu/base/exit_code.hpp"
#include "emu/debug/inspect.hpp"
#include "emu/machine/cta.hpp"
#include "emu/plan/report.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu::debug {
namespace {

using Clock = std::chrono::steady_clock;
// Between two looks at the debugger's wishes, and at the clock for checkpoints.
constexpr uint64_t house_every = 1 << 16;
constexpr auto checkpoint_every = std::chrono::milliseconds(60);
// Of the time that a run takes, forks have one part in so many.
constexpr int cost_share = 20;

}  // namespace

void Debuggee::run(const plan::Plan& plan, plan::RunOptions options) {
    keep_watch();
    ::setpgid(0, 0);  // Ctrl-C is the debugger's
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGCHLD, SIG_IGN);  // nobody waits for checkpoints
    const auto pass_on = [this](std::string_view text) {
        tell({{"event", "output"}, {"at", printed_}, {"text", std::string(text)}});
        printed_ += text.size();
    };
    options.stepper = this;
    options.gpu.deterministic = true;
    options.time_limit = 0;  // the user takes the time that it takes
    options.on_stdout = pass_on;
    options.on_plugin_text = pass_on;
    options.on_placed = [&](Gpu& gpu, const std::unordered_map<std::string, uint64_t>& addresses) {
        for (const plan::Buffer& buffer : plan.buffers)
            if (const auto at = addresses.find(buffer.name); at != addresses.end())
                named_[buffer.name] = {at->second, buffer.bytes};
        for (ModuleId id = 0; id < places_.modules().size(); ++id)
            for (const Variable& v : places_.modules()[id]->variables())
                if (const auto symbol = gpu.symbol(id, v.name))
                    named_[v.name] = {symbol->address, symbol->bytes};
    };
    const auto report = plan::run_plan(plan, options);
    if (!report) {
        tell({{"error", report.error().message()},
              {"limit", report.error().code == ErrorCode::limit}});
        _exit(0);
    }
    launches_.clear();
    end(report->exit_code(), plan::report_text(*report));
}

// For a process that begins to run: it is held to the limits, and does not outlive the debugger.
// Of the one that it was forked from it has the memory, and not the thread.
void Debuggee::keep_watch() {
    process_budget().after_fork();
    (void)watchdog_.release();  // NOLINT(bugprone-unused-return-value)
    watchdog_ = std::make_unique<Watchdog>(
        process_budget(),
        [this](Budget::Stop why) {
            // Where the other thread is in the middle of telling something, that is all.
            const std::unique_lock lock(telling_, std::try_to_lock);
            if (lock)
                channel_.send(
                    {{"error", process_budget().error(why, "debug").message()}, {"limit", true}});
            _exit(exit_with::limit);
        },
        [descriptor = channel_.descriptor()] {
            if (Channel::is_gone(descriptor)) _exit(exit_with::success);
        });
}

void Debuggee::tell(const Json& message, int passed) {
    const std::lock_guard lock(telling_);
    channel_.send(message, passed);
}

// The plan is over: there is nothing left to run, but something to tell.
void Debuggee::end(int code, const std::string& report) {
    current_ = nullptr;
    for (;;) {
        Json stop = {{"stop", "ended"}, {"position", position}};
        stop["code"] = code;
        stop["report"] = report;
        serve(stop);
    }
}

const RunningLaunch* Debuggee::launch_of(const Launch* launch) const {
    const auto at = std::ranges::find(launches_, launch, &RunningLaunch::launch);
    return at == launches_.end() ? nullptr : &*at;
}

Warp* Debuggee::warp_of(const Focus& focus) const {
    for (const RunningLaunch& l : launches_) {
        if (l.launch->id != focus.launch) continue;
        for (Cta* cta : l.ctas)
            if (cta->linear == focus.cta && focus.warp < cta->warp_count)
                return cta->warps + focus.warp;
    }
    return nullptr;
}

Focus Debuggee::focus_of(const Warp& warp, uint32_t lane) const {
    return {warp.cta->launch->id, warp.cta->linear, warp.index, lane};
}

Json Debuggee::stop_at(const char* reason, const Focus& focus) const {
    return {{"stop", reason}, {"position", position}, {"focus", focus.json()}};
}

// ---- what the engine tells

void Debuggee::module_placed(const std::shared_ptr<const Module>& module, uint32_t) {
    places_.add(module);
}

void Debuggee::launch_begin(Launch& launch, const std::string& kernel, uint32_t gpu) {
    launches_.push_back({&launch, kernel, gpu, {}});
    begun_.push_back(&launch);
}

void Debuggee::launch_end(Launch& launch) {
    served_ = false;
    check_watches(nullptr, position ? position - 1 : 0);
    std::erase_if(launches_, [&](const RunningLaunch& l) { return l.launch == &launch; });
    std::erase(begun_, &launch);
    for (Halt& halt : halts_) find_pieces(halt);
}

void Debuggee::launch_fails(Launch& launch, LaunchStatus status, const std::string& what,
                            Warp* warp, const Op* op, uint32_t lanes) {
    if (last_ || (until_ && position < *until_)) return;
    Json stop;
    if (warp) {
        warp->path().pc = op;
        current_ = warp;
        stop = stop_at("fault",
                       focus_of(*warp, lanes ? static_cast<uint32_t>(std::countr_zero(lanes)) : 0));
    } else {
        stop = {{"stop", "failed"}, {"position", position}};
        const RunningLaunch* of = launch_of(&launch);
        if (of && !of->ctas.empty()) stop["focus"] = focus_of(of->ctas.front()->warps[0], 0).json();
    }
    stop["status"] = status == LaunchStatus::deadlock      ? "deadlock"
                     : status == LaunchStatus::unsupported ? "unsupported"
                     : status == LaunchStatus::limit       ? "limit"
                     : status == LaunchStatus::interrupted ? "interrupted"
                                                           : "fault";
    stop["what"] = what;
    serve(stop);
}

void Debuggee::cta_begin(Cta& cta) {
    for (RunningLaunch& l : launches_)
        if (l.launch == cta.launch) l.ctas.push_back(&cta);
    for (Halt& halt : halts_) find_pieces(halt);
    if (whens_)
        for (uint32_t i = 0; i < cta.warp_count; ++i) check_when(cta.warps[i], false);
}

void Debuggee::cta_end(Cta& cta) {
    served_ = false;
    check_watches(nullptr, position ? position - 1 : 0);
    for (RunningLaunch& l : launches_)
        if (l.launch == cta.launch) std::erase(l.ctas, &cta);
    for (Halt& halt : halts_) find_pieces(halt);
    if (current_ && current_->cta == &cta) current_ = nullptr;
}

void Debuggee::turn(Warp& warp) {
    current_ = &warp;
    served_ = false;
    if (watches_) check_watches(nullptr, position ? position - 1 : 0);
    if (step_.on && !last_ && step_.unit != Step::Unit::all && !goes_on()) {
        const uint32_t lanes = warp.active | 1u << 31;
        serve(stop_at("gone", focus_of(warp, static_cast<uint32_t>(std::countr_zero(lanes)))));
    }
    set_halt_at(warp);
}

// Whether what a step follows still runs.
bool Debuggee::goes_on() const {
    const Warp* warp = warp_of(step_.focus);
    if (!warp) return false;
    if (step_.unit == Step::Unit::cta) return warp->cta->live_threads;
    return step_.unit == Step::Unit::warp ? warp->live : warp->live >> step_.focus.lane & 1;
}

void Debuggee::before(Warp& warp, const Op* op) {
    current_ = &warp;
    do {
        served_ = false;
        if (position >= house_at_) keep_house();
        if (!served_) check(warp, op);
    } while (served_);
    set_halt_at(warp);
}

void Debuggee::after(Warp& warp, const Op*) {
    served_ = false;
    if (watches_) check_watches(&warp, position - 1);
    if (whens_ && !served_) check_when(warp, true);
    if (served_) quiet_at_ = ~uint64_t{0};  // it has halted behind an instruction, not at the next
    set_halt_at(warp);
}

void Debuggee::set_halt_at(const Warp& warp) {
    // Of a lane's warp each instruction: one may let another path go on, that of the lane.
    const bool each =
        std::ranges::count(begun_, warp.cta->launch) || (step_.on && follows_warp(warp));
    halt_at = each ? 0 : house_at_;
}

// ---- going on and halting

void Debuggee::keep_house() {
    const auto wants_to_halt = [this] { return until_ && position >= *until_; };
    if (!started_) {
        started_ = true;
        const uint32_t lanes = current_->active;
        return serve(stop_at("started",
                             focus_of(*current_, static_cast<uint32_t>(std::countr_zero(lanes)))));
    }
    if (wants_to_halt() && quiet_at_ != position) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(current_->active));
        return serve(stop_at("reached", focus_of(*current_, lane)));
    }
    if (channel_.ready()) {  // {"do":"halt"}, or nobody is there any more
        if (!channel_.receive()) _exit(0);
        const auto lane = static_cast<uint32_t>(std::countr_zero(current_->active));
        return serve(stop_at("interrupted", focus_of(*current_, lane)));
    }
    const auto now = Clock::now();
    const auto wait = std::max<Clock::duration>(checkpoint_every, checkpoint_cost_ * cost_share);
    if (every_ ? position >= checkpoint_at_ : now - checkpoint_time_ >= wait) {
        fork_here({{"event", "checkpoint"}, {"position", position}});
        if (served_) return;  // this is the checkpoint, and it has been told to run
        checkpoint_time_ = Clock::now();
        checkpoint_cost_ = checkpoint_time_ - now;
        checkpoint_at_ = position + every_;
    }
    house_at_ = position + house_every;
    if (every_) house_at_ = std::min(house_at_, checkpoint_at_);
    if (until_ && *until_ > position) house_at_ = std::min(house_at_, *until_);
}

void Debuggee::fork_here(Json message) {
    auto ends = Channel::pair();
    const pid_t child = ends ? ::fork() : -1;
    if (child == 0) {
        ends->first.close();
        channel_ = std::move(ends->second);
        ends.reset();
        serve(Json());
        keep_watch();
        return;
    }
    // No process is to be had: there is a checkpoint less.
    if (child < 0) message["event"] = "none";
    tell(message, child < 0 ? -1 : ends->first.descriptor());
}

void Debuggee::serve(const Json& stop) {
    if (!stop.is_null()) {
        Json told = stop;
        if (last_) {
            told["last"] = last_stop_;
            // Of those that were asked for the first, and how many of them there were.
            told["arrivals"] = arrivals_.size();
            if (!arrivals_.empty()) told["arrival"] = arrivals_.front();
            told["uncertain"] = first_uncertain_;
        }
        tell(told);
    }
    // What the last run wanted is over, also for a checkpoint.
    step_ = {};
    for (;;) {
        const auto request = channel_.receive();
        if (!request) _exit(0);
        Json answer;
        try {
            const std::string what = field(*request, "do", "");
            if (what == "run") {
                const Result<void> begun = begin_run(*request);
                if (begun) break;
                answer = {{"error", begun.error().message()}};
            } else if (what == "fork") {
                const bool before = served_;
                served_ = false;
                fork_here({{"event", "forked"}, {"position", position}});
                if (served_) return;
                served_ = before;
                continue;
            } else if (what == "halt") {
                continue;  // it has halted meanwhile
            } else {
                answer = inspect(*this, *request);
            }
        } catch (const Malformed& error) {
            answer = {{"error", std::string("malformed request: ") + error.what()}};
        }
        tell(answer);
    }
    served_ = true;
    house_at_ = position;
}

Result<void> Debuggee::begin_run(const Json& request) {
    std::vector<Halt> halts;
    for (const Json& from : list(request, "stops")) {
        Halt& halt = halts.emplace_back();
        const std::string kind = field(from, "kind", "breakpoint");
        halt.kind = kind == "watch"   ? Halt::Kind::watch
                    : kind == "write" ? Halt::Kind::write
                    : kind == "when"  ? Halt::Kind::when
                                      : Halt::Kind::breakpoint;
        halt.id = field(from, "id", 0);
        halt.where = field(from, "where", "");
        halt.focus = Focus::of(part(from, "focus"));
        halt.focus.frame = 0;
        if (has(from, "condition")) {
            SASSEMU_ASSIGN(halt.condition,
                           Expression::parse(field<std::string>(from, "condition")));
        }
        if (halt.kind == Halt::Kind::watch || halt.kind == Halt::Kind::write) {
            halt.place.kind = place_kind(field(from, "place", uint8_t{0}));
            halt.place.space = space_of(field(from, "space", uint8_t{0}));
            halt.place.address = field(from, "address", uint64_t{0});
            halt.type = basic_type(field(from, "type", ""));
            const auto bytes = field(from, "bytes", uint64_t{4});
            if (!halt.type || halt.type->bytes != bytes)
                halt.type = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8
                                ? integer_type(static_cast<unsigned>(bytes), false)
                                : array_of(basic_type("uint8_t"), bytes);
        }
    }
    halts_ = std::move(halts);
    halts_at_.clear();
    marks_.clear();
    const auto any = [&](auto... kinds) {
        return std::ranges::any_of(halts_,
                                   [&](const Halt& h) { return ((h.kind == kinds) || ...); });
    };
    watches_ = any(Halt::Kind::watch, Halt::Kind::write);
    stores_ = any(Halt::Kind::write);
    whens_ = any(Halt::Kind::when);
    at_launches_ = field(request, "launches", false);
    last_ = field(request, "last", false);
    last_stop_ = Json();
    arrivals_.clear();
    first_uncertain_ = position != 0;
    until_.reset();
    if (has(request, "until")) until_ = field<uint64_t>(request, "until");
    // Going on from a halt, the same place does not halt it at once.
    quiet_at_ = field(request, "resume", false) ? position : ~uint64_t{0};
    every_ = field(request, "every", uint64_t{0});
    checkpoint_at_ = position + every_;
    checkpoint_time_ = Clock::now();
    step_ = {};
    if (const Json* const of = &part(request, "step"); of->is_object()) {
        const std::string unit = field(*of, "unit", "warp"),
                          what = field(*of, "what", "instruction");
        step_.on = true;
        step_.unit = unit == "lane"  ? Step::Unit::lane
                     : unit == "cta" ? Step::Unit::cta
                     : unit == "all" ? Step::Unit::all
                                     : Step::Unit::warp;
        step_.what = what == "line"     ? Step::What::line
                     : what == "over"   ? Step::What::over
                     : what == "finish" ? Step::What::finish
                                        : Step::What::instruction;
        step_.count = std::max<uint64_t>(1, field(*of, "count", uint64_t{1}));
        step_.focus = Focus::of(part(*of, "focus"));
        step_.focus.frame = 0;
        step_.depth = field(*of, "levels", int64_t{0});
        if (last_ && has(*of, "here")) {  // where the way back begins
            const auto places = places_.find(field<std::string>(*of, "here"), {});
            if (places) {
                step_.from = places_.frames(places->front());
                std::ranges::reverse(step_.from);
            }
        }
    }
    for (Halt& halt : halts_) {
        find_pieces(halt);
        halt.seen = bytes_of(halt);
    }
    if (whens_)
        for (const RunningLaunch& l : launches_)
            for (const Cta* cta : l.ctas)
                for (uint32_t i = 0; i < cta->warp_count; ++i) check_when(cta->warps[i], false);
    return {};
}

}  // namespace sassemu::debug
