// SPDX-License-Identifier: Apache-2.0
// See session.hpp.
#include "emu/link/session.hpp"

#include <algorithm>

#include "emu/base/text.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu::link {

namespace {

constexpr uint32_t version = 1, oldest = 1;
// What a put or an answer has in front of its bytes.
constexpr uint32_t most_front = sizeof(GetBody);
// Acknowledged at the latest behind so many frames; there are more than 2 * this requests.
constexpr uint64_t frames_to_acknowledge = 32;
constexpr uint32_t bytes_to_acknowledge = 512 << 10;
constexpr size_t large = 16 << 10;

Error broken(std::string what) { return Error{ErrorCode::input, "link", std::move(what), ""}; }

}  // namespace

Session::Session(Identity me, uint32_t peer, const SessionLimits& limits, Windows& windows,
                 Time now)
    : me_(std::move(me)),
      peer_(peer),
      limits_(limits),
      windows_(windows),
      now_(now),
      last_in_(now),
      last_out_(now),
      progress_(now),
      up_since_(now),
      down_since_(now) {}

// ---- what is asked of the peer

uint32_t Session::most_bytes() const { return their_.frame_bytes() - most_front; }

bool Session::has_room(size_t body_bytes) const {
    // A frame always fits when nothing is in flight.
    return their_.process() &&
           (kept_bytes_ == reply_bytes_ ||
            kept_bytes_ - reply_bytes_ + header_bytes + body_bytes <= their_.in_flight_bytes());
}

Session::Outgoing& Session::send(FrameType type, std::span<const std::byte> body,
                                 std::span<const std::byte> more, bool reply) {
    Bytes memory;
    if (more.size() >= large && !spare_.empty()) {
        memory = std::move(spare_.back());
        spare_.pop_back();
    }
    auto frame = std::make_shared<Outgoing>(
        Outgoing{++last_number_, 0, reply, type == FrameType::control,
                 make_frame(type, last_number_, body, more, std::move(memory))});
    if (kept_.empty()) progress_ = now_;
    kept_bytes_ += frame->bytes.size();
    if (reply) {
        reply_bytes_ += frame->bytes.size();
        ++replies_;
    }
    kept_.push_back(frame);
    if (up_) output_.push_back(frame);
    return *frame;
}

void Session::put(uint32_t window, uint64_t offset, std::span<const std::byte> bytes) {
    send_body(FrameType::put, PutBody{window, 0, offset}, bytes);
}
void Session::reduce(AtomicBody what) {
    what.request = 0;
    send_body(FrameType::reduce, what);
}
uint64_t Session::new_request(FrameType answer, std::span<std::byte> into) {
    requests_[++last_request_] = Request{answer, into, false, false, std::nullopt, {}};
    return last_request_;
}
uint64_t Session::get(uint32_t window, uint64_t offset, std::span<std::byte> into, bool looks_on) {
    const uint64_t request = new_request(FrameType::got, into);
    requests_[request].looks_on = looks_on;
    send_body(FrameType::get, GetBody{request, window, static_cast<uint32_t>(into.size()), offset})
        .control = looks_on;
    return request;
}
uint64_t Session::atomic(AtomicBody what) {
    what.request = new_request(FrameType::was, {});
    send_body(FrameType::atomic, what);
    return what.request;
}
uint64_t Session::drain() {
    const uint64_t request = new_request(FrameType::drained, {});
    send_body(FrameType::drain, DrainBody{request});
    return request;
}
void Session::control(const message::Control& message) {
    const std::string text = message.SerializeAsString();
    send(FrameType::control, std::as_bytes(std::span(text)));
}

std::optional<Session::Answer> Session::answer(uint64_t request) {
    const auto found = requests_.find(request);
    if (found == requests_.end() || !found->second.done) return std::nullopt;
    Answer answer = std::move(*found->second.done);
    requests_.erase(found);
    return answer;
}
void Session::when_answered(uint64_t request, std::function<void(const Answer&)> then) {
    requests_.at(request).then = std::move(then);
}
void Session::lose_answers(const std::string& why) {
    Answer none;
    none.lost = why;
    for (auto at = requests_.begin(); at != requests_.end();) {
        if (!at->second.then) {
            ++at;
            continue;
        }
        at->second.then(none);
        at = requests_.erase(at);
    }
}
void Session::forget(uint64_t request) {
    const auto found = requests_.find(request);
    if (found == requests_.end()) return;
    if (found->second.done)
        requests_.erase(found);
    else
        found->second.abandoned = true;
}

// ---- the connection

message::Hello Session::hello() const {
    message::Hello hello;
    hello.set_version(version);
    hello.set_oldest(oldest);
    hello.set_rank(me_.rank);
    hello.set_ranks(me_.ranks);
    hello.set_job(me_.job);
    hello.set_process(me_.process);
    hello.set_peer(their_.process());
    hello.set_received(received_);
    hello.set_frame_bytes(limits_.frame_bytes);
    hello.set_in_flight_bytes(limits_.in_flight_bytes);
    hello.set_requests(limits_.requests);
    return hello;
}

Result<void> Session::check(const message::Hello& theirs) const {
    const std::string who = "rank " + std::to_string(theirs.rank());
    const auto refuse = [&](std::string what) {
        return Error{ErrorCode::input, who, std::move(what), ""};
    };
    const auto range = [](uint32_t from, uint32_t to) {
        return std::to_string(from) + (from == to ? "" : " to " + std::to_string(to));
    };
    if (theirs.version() < oldest)
        return refuse("speaks version " + std::to_string(theirs.version()) +
                      " of the link, which is older than any that this process understands (" +
                      range(oldest, version) + ")");
    if (theirs.oldest() > version)
        return refuse("understands versions " + range(theirs.oldest(), theirs.version()) +
                      " of the link, which are newer than what this process speaks (" +
                      std::to_string(version) + ")");
    if (theirs.rank() != peer_)
        return refuse("answers where rank " + std::to_string(peer_) + " is expected");
    if (theirs.ranks() != me_.ranks)
        return refuse("says that there are " + std::to_string(theirs.ranks()) +
                      " ranks, and here there are " + std::to_string(me_.ranks));
    if (theirs.job() != me_.job)
        return refuse("runs another plan, or the same with other options: all ranks must agree");
    if (!theirs.process() || theirs.frame_bytes() < 4096 || theirs.frame_bytes() > 64u << 20 ||
        theirs.in_flight_bytes() < theirs.frame_bytes() || !theirs.requests())
        return refuse("offers limits that nobody can keep to");
    if (theirs.process() == me_.process) return refuse("is this process itself");
    if (their_.process() && theirs.process() != their_.process())
        return refuse(
            "is taken by another process: two processes have one rank, or the first has "
            "ended and what it held is lost");
    if (theirs.peer() && theirs.peer() != me_.process)
        return refuse("knows another process as rank " + std::to_string(me_.rank) +
                      ", whose memory and frames are lost");
    // A connection for a descriptor carries no frames; those of the session go on meanwhile.
    if (theirs.descriptor_of()) return {};
    if (theirs.received() > last_given_) return refuse("has received frames that were never sent");
    if (!kept_.empty() && theirs.received() + 1 < kept_.front()->number)
        return refuse("has lost frames that it had acknowledged");
    return {};
}

void Session::connected(const message::Hello& theirs, Time now) {
    their_ = theirs;
    up_ = true;
    now_ = last_in_ = last_out_ = up_since_ = now;
    acknowledged(theirs.received(), now);
    output_.assign(kept_.begin(), kept_.end());
    resent_ += std::ranges::count_if(
        kept_, [this](const OutgoingRef& frame) { return frame->number <= last_given_; });
    written_ = 0;
    told_ = received_;  // by this side's hello
    untold_bytes_ = 0;
}

void Session::disconnected(std::string why, Time now) {
    if (up_) down_since_ = now;
    up_ = false;
    output_.clear();
    written_ = 0;
    last_trouble_ = std::move(why);
}

void Session::fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
    up_ = false;
    output_.clear();
    kept_.clear();
    kept_bytes_ = reply_bytes_ = replies_ = 0;
    lose_answers(failure_);
}

void Session::acknowledged(uint64_t number, Time now) {
    bool any = false;
    while (!kept_.empty() && kept_.front()->number <= number) {
        Outgoing& frame = *kept_.front();
        kept_bytes_ -= frame.bytes.size();
        if (frame.reply) {
            reply_bytes_ -= frame.bytes.size();
            --replies_;
        }
        // Of one that has yet to be sent again the bytes are still needed.
        if (frame.bytes.size() >= large && kept_.front().use_count() == 1 && spare_.size() < 16)
            spare_.push_back(std::move(frame.bytes));
        kept_.pop_front();
        any = true;
    }
    if (any) progress_ = now;
}

Result<void> Session::received(const Frame& frame, Time now) {
    now_ = last_in_ = now;
    if (frame.acknowledged > last_given_)
        return broken("frame " + std::to_string(frame.acknowledged) +
                      " is acknowledged, which was never sent");
    acknowledged(frame.acknowledged, now);
    if (frame.type == FrameType::acknowledge) {
        if (frame.number || !frame.body.empty())
            return broken("an acknowledgement has a number or a body");
        return {};
    }
    if (!frame.number) return broken("a frame has no number");
    if (frame.number <= received_) {
        ++duplicates_;
        untold_bytes_ = limits_.in_flight_bytes;  // say again how far this side is
        return {};
    }
    if (frame.number != received_ + 1)
        return broken("frame " + std::to_string(frame.number) + " came where " +
                      std::to_string(received_ + 1) + " was due: frames were lost or overtaken");
    SASSEMU_TRY(perform(frame));
    received_ = frame.number;
    untold_bytes_ += header_bytes + frame.body.size();
    return {};
}

Result<void> Session::perform(const Frame& frame) {
    const auto too_short = [] { return broken("the body of a frame is too short for its type"); };
    const auto room_to_answer = [&]() -> Result<void> {
        if (replies_ < limits_.requests + frames_to_acknowledge) return {};
        return broken("more than " + std::to_string(limits_.requests) +
                      " requests are in flight: the limit on requests");
    };
    // The first since the last drain: the next drain tells of that one.
    const auto refuse = [&](uint32_t window, Status status) {
        if (!std::exchange(refusing_, true))
            send_body(FrameType::refused, RefusedBody{frame.number, window, status}, {}, true);
    };
    switch (frame.type) {
        case FrameType::put: {
            const auto body = frame.as<PutBody>();
            if (!body) return too_short();
            const Status status =
                windows_.put(body->window, body->offset, frame.body.subspan(sizeof(PutBody)));
            if (status != Status::ok) refuse(body->window, status);
            return {};
        }
        case FrameType::get: {
            const auto body = frame.as<GetBody>();
            if (!body) return too_short();
            SASSEMU_TRY(room_to_answer());
            if (body->bytes > std::min(their_.frame_bytes(), limits_.frame_bytes) - most_front)
                return broken("a get of " + std::to_string(body->bytes) +
                              " bytes: the limit on frames");
            Bytes bytes(body->bytes);
            const Status status = windows_.get(body->window, body->offset, bytes);
            if (status != Status::ok) bytes.clear();
            send_body(FrameType::got, AnswerBody{body->request, status, 0}, bytes, true);
            return {};
        }
        case FrameType::atomic:
        case FrameType::reduce: {
            const auto body = frame.as<AtomicBody>();
            if (!body) return too_short();
            uint64_t old[2] = {};
            if (frame.type == FrameType::atomic) SASSEMU_TRY(room_to_answer());
            const Status status = windows_.atomic(*body, old);
            if (frame.type == FrameType::atomic)
                send_body(FrameType::was, AnswerBody{body->request, status, 0},
                          std::as_bytes(std::span(old)), true);
            else if (status != Status::ok)
                refuse(body->window, status);
            return {};
        }
        case FrameType::drain: {
            const auto body = frame.as<DrainBody>();
            if (!body) return too_short();
            SASSEMU_TRY(room_to_answer());
            host::fence();
            refusing_ = false;
            send_body(FrameType::drained, *body, {}, true);
            return {};
        }
        case FrameType::refused: {
            const auto body = frame.as<RefusedBody>();
            if (!body) return too_short();
            if (refused_.empty())
                refused_ = "frame " + std::to_string(body->number) + " to window " +
                           std::to_string(body->window) +
                           " was refused: " + std::string(status_text(body->status));
            return {};
        }
        case FrameType::control: {
            message::Control message;
            if (!message.ParseFromArray(frame.body.data(), static_cast<int>(frame.body.size())) ||
                message.message_case() == message::Control::MESSAGE_NOT_SET ||
                message.message_case() == message::Control::kHello)
                return broken("a control message cannot be read");
            if (on_control) on_control(message);
            return {};
        }
        default:
            return answered(frame);
    }
}

Result<void> Session::answered(const Frame& frame) {
    const auto id = frame.as<DrainBody>();
    const auto found = id ? requests_.find(id->request) : requests_.end();
    if (found == requests_.end() || found->second.answer != frame.type || found->second.done)
        return broken("an answer to what was never asked");
    Request& request = found->second;
    Answer answer;
    if (frame.type == FrameType::drained) {
        answer.refused = std::exchange(refused_, {});
    } else {
        const auto body = frame.as<AnswerBody>();
        if (!body) return broken("the body of an answer is too short");
        const auto data = frame.body.subspan(sizeof(AnswerBody));
        answer.status = body->status;
        if (frame.type == FrameType::was) {
            if (data.size() != sizeof answer.old) return broken("an answer has no value");
            std::memcpy(answer.old, data.data(), sizeof answer.old);
        } else if (body->status == Status::ok) {
            if (data.size() != request.into.size())
                return broken("an answer has " + std::to_string(data.size()) + " bytes, " +
                              std::to_string(request.into.size()) + " were asked for");
            if (!request.abandoned && !data.empty())
                std::memcpy(request.into.data(), data.data(), data.size());
        }
    }
    if (request.then) request.then(answer);
    if (request.then || request.abandoned)
        requests_.erase(found);
    else
        request.done = std::move(answer);
    return {};
}

void Session::acknowledge() {
    output_.push_back(std::make_shared<Outgoing>(
        Outgoing{0, 0, false, true, make_frame(FrameType::acknowledge, 0, {})}));
}

void Session::settle() {
    const bool much =
        untold_bytes_ >= std::min(limits_.in_flight_bytes / 4, bytes_to_acknowledge) ||
        received_ - told_ >= frames_to_acknowledge;
    // What waits to go out, and has not begun to, says it too.
    if (up_ && much && output_.size() < 2) acknowledge();
}

Result<void> Session::tick(Time now) {
    const auto seconds = [](auto duration) {
        return std::to_string(std::chrono::duration<double>(duration).count()).substr(0, 4) + " s";
    };
    const std::string who = "rank " + std::to_string(peer_);
    now_ = now;
    if (!failure_.empty()) return Error{ErrorCode::system, who, failure_, ""};
    const std::string trouble = last_trouble_.empty() ? "" : " (last: " + last_trouble_ + ")";
    const bool stuck = !kept_.empty() && now - progress_ > limits_.give_up;
    if (their_.process() && (stuck || (!up_ && now - down_since_ > limits_.give_up))) {
        fail("no frame got through for " + seconds(limits_.give_up) + trouble);
        return Error{ErrorCode::system, who, failure_, ""};
    }
    if (!up_) return {};
    if (now - last_in_ > limits_.silence)
        return broken("nothing came for " + seconds(limits_.silence));
    if (!kept_.empty() && now - std::max(progress_, up_since_) > limits_.unacknowledged)
        return broken("a frame was not acknowledged for " + seconds(limits_.unacknowledged));
    const bool behind = received_ != told_;
    if (output_.empty() && (behind || now - last_out_ > limits_.heartbeat)) acknowledge();
    return {};
}

bool Session::kept_data() const {
    // Who waits for a reply says so itself.
    return std::ranges::any_of(
               kept_, [](const OutgoingRef& frame) { return !frame->control && !frame->reply; }) ||
           std::ranges::any_of(requests_,
                               [](const auto& r) { return !r.second.done && !r.second.looks_on; });
}

size_t Session::gather(iovec* to, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < output_.size() && count < most; ++i) {
        Outgoing& frame = *output_[i];
        const size_t done = i ? 0 : written_;
        // What has begun to go out stays as it is. The others say how far this side is by now.
        if (!done) seal(frame.bytes, frame.tells = received_);
        // From here on the peer may have it, however late wrote() says that all of it is out.
        last_given_ = std::max(last_given_, frame.number);
        to[count++] = {frame.bytes.data() + done, frame.bytes.size() - done};
    }
    return count;
}

void Session::wrote(size_t bytes, Time now) {
    if (bytes) last_out_ = now;
    while (bytes) {
        const Outgoing& frame = *output_.front();
        const size_t part = std::min(bytes, frame.bytes.size() - written_);
        written_ += part;
        bytes -= part;
        if (written_ < frame.bytes.size()) return;
        told_ = std::max(told_, frame.tells);
        if (told_ == received_) untold_bytes_ = 0;
        written_ = 0;
        output_.pop_front();
    }
}

}  // namespace sassemu::link
