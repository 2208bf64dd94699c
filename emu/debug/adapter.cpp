// SPDX-License-Identifier: Apache-2.0
// The adapter's messages, and how the program runs while a client may ask for more. The requests
// themselves are in adapter_requests.cpp.
#include "emu/debug/adapter.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace sassemu::debug {
namespace {

constexpr size_t most_message = 64 << 20;  // bytes

// Of what need not be a text: then it is none.
std::string word(const Json& message, const char* key) {
    const Json& value = part(message, key);
    return value.is_string() ? as<std::string>(value) : "";
}

}  // namespace

Adapter::Adapter(int in, int out, Sources& sources, Start start)
    : in_(in), out_(out), sources_(sources), start_(std::move(start)) {}

Adapter::~Adapter() = default;

// ---- messages: "Content-Length: N", an empty line, N bytes of JSON

bool Adapter::read_more(bool wait) {
    pollfd of{in_, POLLIN, 0};
    if (!wait && ::poll(&of, 1, 0) <= 0) return false;
    char bytes[4096];
    ssize_t got;
    do {
        got = ::read(in_, bytes, sizeof bytes);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        gone_ = true;
        return false;
    }
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
}

bool Adapter::take_message(Json& message) {
    const size_t end = buffer_.find("\r\n\r\n");
    if (end == buffer_.npos) {
        foreign_ = buffer_.size() > 4096;  // that is no header
        gone_ |= foreign_;
        return false;
    }
    constexpr std::string_view key = "Content-Length:";
    const size_t at = buffer_.find(key);
    size_t length = 0;
    if (at != buffer_.npos && at < end) {
        const size_t digits = buffer_.find_first_not_of(' ', at + key.size());
        std::from_chars(buffer_.data() + digits, buffer_.data() + end, length);
    }
    if (!length || length > most_message) {
        gone_ = foreign_ = true;
        return false;
    }
    if (buffer_.size() < end + 4 + length) return false;
    message = parse_json(std::string_view(buffer_).substr(end + 4, length));
    buffer_.erase(0, end + 4 + length);
    return true;
}

void Adapter::send(Json message) {
    message["seq"] = sequence_++;
    const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string all = "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
    for (size_t done = 0; done < all.size();) {
        const ssize_t put = ::write(out_, all.data() + done, all.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            gone_ = true;
            return;
        }
        done += static_cast<size_t>(put);
    }
}

void Adapter::event(const char* name, Json body) {
    send({{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void Adapter::answer(const Json& request, const Result<Json>& result) {
    Json message = {
        {"type", "response"},
        {"request_seq", part(request, "seq").is_number() ? part(request, "seq") : Json(0)},
        {"command", word(request, "command")},
        {"success", static_cast<bool>(result)}};
    if (result) {
        if (!result->is_null()) message["body"] = *result;
    } else {
        message["message"] = result.error().message();
        message["body"] = {{"error", {{"id", 1}, {"format", result.error().message()}}}};
    }
    send(std::move(message));
}

Result<void> Adapter::serve() {
    while (!ends_) {
        Json message;
        if (!queue_.empty()) {
            message = std::move(queue_.front());
            queue_.pop_front();
        } else if (!take_message(message)) {
            if (!gone_ && read_more(true)) continue;
            if (!foreign_) return {};
            return make_error(
                ErrorCode::usage, "--dap",
                "what came on standard input is no message of the Debug Adapter Protocol",
                "start it from an editor (docs/debug.md)");
        }
        if (word(message, "type") == "request") handle(message);
    }
    return {};
}

Result<Json> Adapter::perform(const Json& request) {
    try {
        const std::string command = field<std::string>(request, "command");
        const auto handler = handlers().find(command);
        if (handler == handlers().end())
            return make_error(ErrorCode::unsupported, command, "is not supported");
        const Json& given = part(request, "arguments");
        return (this->*handler->second)(given.is_object() ? given : Json::object());
    } catch (const Malformed& error) {
        return make_error(ErrorCode::usage, word(request, "command"), error.what());
    }
}

void Adapter::handle(const Json& request) {
    then_ = nullptr;
    const Result<Json> result = perform(request);
    answer(request, result);
    if (const auto then = std::move(then_); result && then) then();
}

// ---- running

void Adapter::run(const std::function<Result<void>()>& go) {
    // Asked for while it runs: what halted for that goes on so.
    next_ = go;
    if (runs_) return;
    runs_ = true;
    variables_.clear();
    for (auto now = next_;; now = next_) {
        const Result<void> done = now();
        if (!done) {
            event("output", {{"category", "stderr"}, {"output", done.error().message() + "\n"}});
            event("terminated", Json::object());
            ends_ = true;
            return;
        }
        // Halted to look at a request that need not halt it: on it goes.
        const auto halts = [](const Json& m) {
            const std::string command = word(m, "command");
            return command == "pause" || command == "disconnect" || command == "terminate";
        };
        if (field(session_->stop(), "stop", "") != "interrupted" || queue_.empty() || gone_ ||
            std::ranges::any_of(queue_, halts))
            break;
        const auto asked = std::exchange(queue_, {});
        for (const Json& m : asked) handle(m);
        if (ends_) return;
    }
    runs_ = false;
    tell_stop();
}

void Adapter::tell_stop() {
    const Stop& stop = session_->stop();
    const std::string why = field(stop, "stop", "");
    if (why == "ended") {
        event("output", {{"category", "console"}, {"output", part(stop, "report")}});
        event("exited", {{"exitCode", part(stop, "code")}});
        event("terminated", Json::object());
        return;
    }
    static const std::map<std::string, const char*> reasons = {{"started", "entry"},
                                                               {"start", "entry"},
                                                               {"breakpoint", "breakpoint"},
                                                               {"watch", "data breakpoint"},
                                                               {"step", "step"},
                                                               {"when", "data breakpoint"},
                                                               {"gone", "step"},
                                                               {"launch", "entry"},
                                                               {"reached", "goto"},
                                                               {"interrupted", "pause"},
                                                               {"fault", "exception"},
                                                               {"failed", "exception"}};
    const auto reason = reasons.find(why);
    Json body = {{"reason", reason == reasons.end() ? "pause" : reason->second},
                 {"threadId", thread_of(session_->focus())},
                 {"allThreadsStopped", true}};
    if (has(stop, "ids")) body["hitBreakpointIds"] = part(stop, "ids");
    if (has(stop, "what")) body["text"] = part(stop, "what");
    body["description"] = why + " at position " + std::to_string(session_->position());
    event("stopped", std::move(body));
}

int64_t Adapter::thread_of(const Json& focus) {
    Focus own = Focus::of(focus);
    own.frame = 0;  // whatever frame is looked at
    for (const auto& [id, at] : threads_)
        if (Focus::of(at).is_same_warp(own)) return id;
    const auto id = static_cast<int64_t>(threads_.size()) + 1;
    threads_[id] = own.json();
    return id;
}

Result<Json> Adapter::ask(Json question) {
    SASSEMU_TRY(needs_session());
    Json answer = session_->ask(std::move(question));
    if (!has(answer, "error")) return answer;
    return make_error(ErrorCode::usage, "", field<std::string>(answer, "error"));
}

Result<void> Adapter::needs_session() const {
    if (session_) return {};
    return make_error(ErrorCode::usage, "debugger", "nothing has been launched yet");
}

}  // namespace sassemu::debug
