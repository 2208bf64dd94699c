// SPDX-License-Identifier: Apache-2.0
// See session.hpp.
#include "emu/debug/session.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "emu/debug/debuggee.hpp"

namespace sassemu::debug {
namespace {

Error lost() {
    return {ErrorCode::system, "debugger", "the process that ran the program is gone",
            "the host may have run out of memory; start again with fewer --checkpoints"};
}

}  // namespace

Result<std::unique_ptr<Session>> Session::start(const plan::Plan& plan, plan::RunOptions run,
                                                SessionOptions options) {
    std::unique_ptr<Session> session(new Session);
    session->options_ = std::move(options);
    auto ends = Channel::pair();
    if (!ends) return make_error(ErrorCode::system, "debugger", "the host has no more descriptors");
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        return make_error(ErrorCode::system, "debugger", "the host has no more processes");
    if (child == 0) {
        ends->first.close();
        Debuggee(std::move(ends->second)).run(plan, std::move(run));
    }
    session->process_ = child;
    session->live_ = std::move(ends->first);
    ends->second.close();
    SASSEMU_ASSIGN(Stop stop, session->wait(session->live_, false));
    if (part(stop, "stop") == "ended")
        return make_error(ErrorCode::input, plan.file,
                          "no kernel has run: there is nothing to see");
    SASSEMU_ASSIGN(Channel first, session->fork(session->live_));
    session->checkpoints_.push_back({field(stop, "position", uint64_t{0}), std::move(first)});
    session->take(std::move(stop));
    return session;
}

Session::~Session() {
    live_.close();
    checkpoints_.clear();
    if (process_ > 0) {
        ::kill(process_, SIGKILL);  // it may be in the middle of a run
        ::waitpid(process_, nullptr, 0);
    }
}

void Session::take(Stop stop) {
    stop_ = std::move(stop);
    if (has(stop_, "focus")) set_focus(part(stop_, "focus"));
}

void Session::set_focus(const Json& focus) { focus_ = Focus::of(focus).json(); }

void Session::to_innermost() {
    if (focus_.size() > 4) focus_.erase(4);
}

Json Session::ask(Json question) {
    if (!has(question, "focus")) question["focus"] = focus_;
    if (!live_.send(question)) return {{"error", lost().message()}};
    auto answer = live_.receive();
    return answer ? std::move(*answer) : Json{{"error", lost().message()}};
}

Result<Stop> Session::wait(const Channel& channel, bool may_halt) {
    bool told = false;
    for (;;) {
        pollfd of{channel.descriptor(), POLLIN, 0};
        const int ready = ::poll(&of, 1, options_.wants_halt ? 20 : -1);
        if (options_.wants_halt && may_halt && !told && options_.wants_halt()) {
            told = true;
            channel.send({{"do", "halt"}});
        }
        if (ready <= 0) continue;
        int passed = -1;
        auto message = channel.receive(&passed);
        if (!message) return lost();
        limit_reached_ |=
            field(*message, "limit", false) || field(*message, "status", "") == "limit";
        if (has(*message, "error"))
            return Error{limit_reached_ ? ErrorCode::limit : ErrorCode::input, "debugger",
                         field<std::string>(*message, "error"), ""};
        const std::string event = field(*message, "event", "");
        if (event == "output") {
            // What is run again prints again.
            const std::string text = field<std::string>(*message, "text");
            const uint64_t at = field<uint64_t>(*message, "at");
            if (at + text.size() > seen_output_ && options_.on_output) {
                options_.on_output(
                    std::string_view(text).substr(seen_output_ - std::min(at, seen_output_)));
            }
            seen_output_ = std::max<uint64_t>(seen_output_, at + text.size());
        } else if (event == "checkpoint") {
            keep(field<uint64_t>(*message, "position"), passed);
        } else if (has(*message, "stop")) {
            return std::move(*message);
        }
    }
}

Result<Channel> Session::fork(const Channel& from) {
    int passed = -1;
    if (!from.send({{"do", "fork"}})) return lost();
    const auto message = from.receive(&passed);
    if (!message) return lost();
    if (passed < 0)
        return make_error(ErrorCode::system, "debugger",
                          "the host has no more processes or descriptors");
    return Channel(passed);
}

// ---- checkpoints

void Session::keep(uint64_t position, int descriptor) {
    if (descriptor < 0) return;
    Channel channel(descriptor);
    const auto at = std::ranges::lower_bound(checkpoints_, position, {}, &Checkpoint::position);
    if (at != checkpoints_.end() && at->position == position) return;
    checkpoints_.insert(at, {position, std::move(channel)});
    thin_out();
}

// The farther back, the fewer: the one whose neighbours leave the least gap, for its distance.
void Session::thin_out() {
    while (checkpoints_.size() > std::max<size_t>(options_.checkpoints, 2)) {
        const uint64_t end = std::max(checkpoints_.back().position, position());
        size_t victim = 1;
        double least = 1e300;
        for (size_t k = 1; k + 1 < checkpoints_.size(); ++k) {
            const auto gap =
                static_cast<double>(checkpoints_[k + 1].position - checkpoints_[k - 1].position);
            const uint64_t here = checkpoints_[k].position;
            const auto distance =
                static_cast<double>(here > end ? here - end : end - here) + 65536.0;
            if (gap / distance < least) {
                least = gap / distance;
                victim = k;
            }
        }
        checkpoints_.erase(checkpoints_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
}

size_t Session::checkpoint_before(uint64_t position) const {
    const auto at = std::ranges::upper_bound(checkpoints_, position, {}, &Checkpoint::position);
    return at == checkpoints_.begin() ? 0 : static_cast<size_t>(at - checkpoints_.begin()) - 1;
}

std::vector<uint64_t> Session::checkpoint_positions() const {
    std::vector<uint64_t> out;
    for (const Checkpoint& c : checkpoints_) out.push_back(c.position);
    return out;
}

// ---- moving

Json Session::stops() const {
    Json out = Json::array();
    for (const Breakpoint& b : breakpoints_) {
        if (!b.enabled) continue;
        Json one = b.watch.is_object() ? b.watch : Json::object();
        one["kind"] = b.kind;
        one["id"] = b.id;
        if (b.kind == "when") {
            one["condition"] = b.text;
        } else if (!b.condition.empty()) {
            one["condition"] = b.condition;
        }
        if (b.kind != "breakpoint") {
            out.push_back(std::move(one));
            continue;
        }
        for (const Json& place : b.places) {
            one["where"] = part(place, "name");
            out.push_back(one);
        }
    }
    return out;
}

Result<void> Session::forward(const Json& step) {
    if (ended()) return {};
    to_innermost();
    Json request = {{"do", "run"},
                    {"resume", true},
                    {"stops", stops()},
                    {"launches", break_at_launches},
                    {"every", options_.checkpoint_every}};
    if (!step.is_null()) {
        request["step"] = step;
        request["step"]["focus"] = focus_;
    }
    for (;;) {
        if (!live_.send(request)) return lost();
        SASSEMU_ASSIGN(Stop stop, wait(live_, true));
        // Hits that are to be ignored do not halt it.
        bool halts = !has(stop, "ids");
        for (const Json& id : list(stop, "ids"))
            for (Breakpoint& b : breakpoints_) {
                if (b.id != as<int>(id)) continue;
                ++b.hits;
                if (b.ignore)
                    --b.ignore;
                else
                    halts = true;
            }
        if (!halts) continue;
        std::erase_if(breakpoints_, [&](const Breakpoint& b) {
            return b.temporary && std::ranges::count(list(stop, "ids"), Json(b.id));
        });
        take(std::move(stop));
        return {};
    }
}

Result<void> Session::go_to(uint64_t target) {
    const size_t nearest = checkpoint_before(target);
    const bool by_live =
        !ended() && position() <= target && position() >= checkpoints_[nearest].position;
    if (!by_live) {
        SASSEMU_ASSIGN(live_, fork(checkpoints_[nearest].channel));
    }
    if (by_live && position() == target) {
        stop_["stop"] = "reached";
        return {};
    }
    if (!live_.send({{"do", "run"},
                     {"until", target},
                     {"resume", by_live},
                     {"every", options_.checkpoint_every}}))
        return lost();
    SASSEMU_ASSIGN(Stop stop, wait(live_, true));
    take(std::move(stop));
    return {};
}

Result<Session::Found> Session::scan(size_t checkpoint, uint64_t until, Json request) {
    SASSEMU_ASSIGN(const Channel process, fork(checkpoints_[checkpoint].channel));
    request["do"] = "run";
    request["last"] = true;
    request["until"] = until;
    request["every"] = options_.checkpoint_every;
    if (!process.send(request)) return lost();
    SASSEMU_ASSIGN(const Stop stop, wait(process, true));
    Found found;
    found.last = part(stop, "last");
    found.arrivals = field(stop, "arrivals", uint64_t{0});
    found.arrival = field(stop, "arrival", uint64_t{0});
    found.uncertain = field(stop, "uncertain", false);
    found.halted = field(stop, "stop", "") == "interrupted";
    return found;
}

Result<Json> Session::search_back(uint64_t before, Json request) {
    uint64_t until = before;
    const bool steps = has(request, "step");
    const bool lines = steps && field(part(request, "step"), "what", "") != "instruction";
    uint64_t count = steps ? field(part(request, "step"), "count", uint64_t{1}) : 0;
    while (until) {
        size_t from = checkpoint_before(until - 1);
        uint64_t begin = checkpoints_[from].position;
        Found found;
        for (;;) {
            if (steps) request["step"]["count"] = count;
            // Running it makes checkpoints, which move this one.
            from = checkpoint_before(begin);
            SASSEMU_ASSIGN(found, scan(from, until, request));
            if (found.halted) return Json{{"stop", "interrupted"}};
            // Whether a line began there is known from what ran before it.
            const bool unsure =
                lines && found.uncertain && found.arrivals <= count && found.arrivals;
            from = checkpoint_before(begin);
            if (!unsure || !from) break;
            begin = checkpoints_[from - 1].position;
        }
        const bool arrived = steps && found.arrivals >= count;
        const uint64_t at = arrived ? found.arrival : 0;
        if (!found.last.is_null() && (!arrived || field<uint64_t>(found.last, "position") >= at))
            return found.last;
        if (arrived) return Json{{"stop", "step"}, {"position", at}};
        count -= std::min(count, found.arrivals);
        until = begin;
    }
    return Json();
}

Result<void> Session::back(const Json& step) {
    to_innermost();
    const uint64_t now = position();
    const Json focus = focus_;
    Json request = {{"stops", stops()}, {"launches", break_at_launches}};
    if (!step.is_null()) {
        request["step"] = step;
        request["step"]["focus"] = focus_;
        if (ended()) request["step"]["unit"] = "all";  // whoever ran last
        const Json here = ask({{"do", "where"}});
        if (has(here, "name")) request["step"]["here"] = part(here, "name");
        // Where there are no lines, steps are by instructions.
        if (has(here, "name") && !has(here, "file")) request["step"]["what"] = "instruction";
    }
    // With nothing else to look for, steps of everything are positions.
    const uint64_t count = step.is_object() ? field(step, "count", uint64_t{1}) : 0;
    const Json& steps = part(request, "step");
    const bool plain = count && count <= now && part(steps, "unit") == "all" &&
                       part(steps, "what") == "instruction" && list(request, "stops").empty() &&
                       !break_at_launches;
    Json found = {{"stop", "step"}, {"position", now - std::min(now, count)}};
    if (!plain) {
        SASSEMU_ASSIGN(found, search_back(now, request));
    }
    if (!found.is_null() && part(found, "stop") == "interrupted") {
        stop_["stop"] = "interrupted";
        return {};
    }
    SASSEMU_TRY(go_to(found.is_null() ? checkpoints_.front().position
                                      : field<uint64_t>(found, "position")));
    if (found.is_null()) {
        stop_["stop"] = "start";
        return {};
    }
    const uint64_t at = position();
    for (const auto& [key, value] : found.items()) stop_[key] = value;
    stop_["position"] = at;
    if (has(found, "focus"))
        set_focus(part(found, "focus"));
    else if (const std::string unit = step.is_object() ? field(step, "unit", "warp") : "";
             unit == "lane" ||
             (unit == "warp" && item(focus_, 1) == item(focus, 1) &&
              item(focus_, 2) == item(focus, 2) &&
              field(ask({{"do", "where"}, {"focus", focus}}), "state", "") == "running"))
        focus_ = focus;
    return {};
}

Result<Json> Session::last_write(const std::string& expression) {
    Json watch = ask({{"do", "watch"}, {"expression", expression}});
    if (has(watch, "error"))
        return make_error(ErrorCode::usage, "who", field<std::string>(watch, "error"));
    watch["kind"] = "write";
    SASSEMU_ASSIGN(Json found, search_back(position(), {{"stops", Json::array({watch})}}));
    if (found.is_null() || part(found, "stop") == "interrupted") return found;
    // Looked at in a process of its own: this one stays where it is.
    const uint64_t at = field<uint64_t>(found, "position");
    const size_t nearest = checkpoint_before(at);
    SASSEMU_ASSIGN(const Channel there, fork(checkpoints_[nearest].channel));
    if (!there.send({{"do", "run"}, {"until", at}})) return lost();
    SASSEMU_ASSIGN(const Stop stop, wait(there, true));
    if (!there.send({{"do", "where"}, {"focus", part(found, "focus")}})) return lost();
    if (auto where = there.receive()) found["where"] = std::move(*where);
    return found;
}

// ---- what halts it

Result<const Breakpoint*> Session::add_breakpoint(const std::string& where,
                                                  const std::string& condition, bool temporary) {
    const Json found = ask({{"do", "resolve"}, {"where", where}});
    if (has(found, "error"))
        return make_error(ErrorCode::not_found, "break", field<std::string>(found, "error"));
    Breakpoint b;
    b.text = where;
    b.temporary = temporary;
    b.places = part(found, "places");
    SASSEMU_TRY(set_condition(b, condition));
    b.id = next_id_++;
    breakpoints_.push_back(std::move(b));
    return &breakpoints_.back();
}

Result<const Breakpoint*> Session::add_watch(const std::string& expression,
                                             const std::string& condition) {
    Breakpoint b;
    b.kind = "watch";
    b.text = expression;
    b.watch = ask({{"do", "watch"}, {"expression", expression}});
    if (has(b.watch, "error"))
        return make_error(ErrorCode::usage, "watch", field<std::string>(b.watch, "error"));
    SASSEMU_TRY(set_condition(b, condition));
    b.id = next_id_++;
    breakpoints_.push_back(std::move(b));
    return &breakpoints_.back();
}

Result<const Breakpoint*> Session::add_when(const std::string& expression) {
    Breakpoint b;
    b.kind = "when";
    b.text = expression;
    SASSEMU_TRY(Expression::parse(expression));
    b.id = next_id_++;
    breakpoints_.push_back(std::move(b));
    return &breakpoints_.back();
}

Result<void> Session::set_condition(Breakpoint& b, const std::string& condition) {
    if (!condition.empty()) SASSEMU_TRY(Expression::parse(condition));
    b.condition = condition;
    return {};
}

}  // namespace sassemu::debug
