// SPDX-License-Identifier: Apache-2.0
// What two processes have with each other, whatever connections come and go: numbered frames that
// are kept until they are acknowledged and sent again over the next connection, requests and their
// answers, credits. What belongs here: rules and state; bytes come in and go out as values, and
// time is told. What does not: sockets and threads (link.hpp).
//
// Nothing is lost silently: a frame that is missing, changed or out of its turn ends the
// connection; the next one goes on behind what was performed. When no connection gets a frame
// through for `give_up`, or the other process is another one than before, the session has failed
// for good, and every call says why.
//
// Memory is bounded: of frames not acknowledged by the receiver's in_flight_bytes, of answers by
// the requests that it takes.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/link/frame.hpp"
#include "emu/link/windows.hpp"
#include "sassemu/link.pb.h"

namespace sassemu::link {

struct SessionLimits {
    uint32_t frame_bytes = 128 << 10;           // body of a frame
    uint32_t in_flight_bytes = 4 << 20;         // received and not acknowledged
    uint32_t requests = 256;                    // not answered
    std::chrono::milliseconds heartbeat{1000};  // something is sent at least so often
    std::chrono::milliseconds silence{10'000};  // nothing came for so long: the connection ends
    std::chrono::milliseconds unacknowledged{5000};  // a frame was not acknowledged for so long
    std::chrono::milliseconds give_up{15'000};       // no frame got through for so long
};

// Who this process is.
struct Identity {
    uint32_t rank = 0, ranks = 1;
    std::string job;       // what all ranks have in common
    uint64_t process = 0;  // drawn, not 0
};

class Session {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;
    Session(Identity me, uint32_t peer, const SessionLimits& limits, Windows& windows, Time now);

    // ---- what is asked of the peer. Each makes a frame; whether there is room for one of that
    // size is asked first.
    bool has_room(size_t body_bytes) const;
    bool may_request() const { return requests_.size() < their_.requests(); }
    uint32_t most_bytes() const;  // of data in a frame
    void put(uint32_t window, uint64_t offset, std::span<const std::byte> bytes);
    void reduce(AtomicBody what);
    // `looks_on`: kept_data() does not count it.
    uint64_t get(uint32_t window, uint64_t offset, std::span<std::byte> into,
                 bool looks_on = false);
    uint64_t atomic(AtomicBody what);
    uint64_t drain();
    void control(const message::Control& message);

    struct Answer {
        Status status = Status::ok;
        uint64_t old[2] = {};
        std::string refused;  // of a drain: the first put or reduce that touched nothing since the
                              // last drain; empty: none
        std::string lost;     // there is none, and why
    };
    // Once: the answer, when it is there.
    std::optional<Answer> answer(uint64_t request);
    // It is given to `then` when it comes, or when nobody will ever answer.
    void when_answered(uint64_t request, std::function<void(const Answer&)> then);
    // Nobody will answer any more.
    void lose_answers(const std::string& why);
    // Nobody waits for the answer any more.
    void forget(uint64_t request);
    // Messages of the peer that are not the session's own business, in order.
    std::function<void(const message::Control&)> on_control;

    // ---- the connection
    message::Hello hello() const;
    // A connection has said hello. An Error refuses it: fatal() then tells whether for good.
    Result<void> check(const message::Hello& theirs) const;
    void connected(const message::Hello& theirs, Time now);
    void disconnected(std::string why, Time now);
    bool up() const { return up_; }
    // The peer's process; 0: it has never been there.
    uint64_t process() const { return their_.process(); }
    void fail(std::string why);
    const std::string& trouble() const { return last_trouble_; }  // why it was down last
    const std::string& failure() const { return failure_; }       // empty: it has not failed

    // A frame has come. An Error: the connection is to be closed.
    Result<void> received(const Frame& frame, Time now);
    // All that came at once has been handed over: perhaps an acknowledgement is due.
    void settle();
    // What is due by now; an Error: the connection is to be closed, or the session has failed.
    Result<void> tick(Time now);

    // ---- bytes to be written, in order
    bool has_output() const { return !output_.empty(); }
    size_t gather(iovec* to, size_t most);
    void wrote(size_t bytes, Time now);

    uint64_t kept_bytes() const { return kept_bytes_; }  // of frames not acknowledged
    // Something was asked of the peer, or is on its way to it, that it has not performed.
    bool kept_data() const;
    uint64_t duplicates() const { return duplicates_; }
    uint64_t resent() const { return resent_; }

  private:
    struct Outgoing {
        uint64_t number;      // 0: none
        uint64_t tells;       // what it acknowledges
        bool reply, control;  // control: nor anything else that touches memory
        Bytes bytes;
    };
    using OutgoingRef = std::shared_ptr<Outgoing>;
    struct Request {
        FrameType answer;
        std::span<std::byte> into;
        bool looks_on = false, abandoned = false;
        std::optional<Answer> done;
        std::function<void(const Answer&)> then;
    };

    Outgoing& send(FrameType type, std::span<const std::byte> body,
                   std::span<const std::byte> more = {}, bool reply = false);
    template <class T>
    Outgoing& send_body(FrameType type, const T& body, std::span<const std::byte> more = {},
                        bool reply = false) {
        return send(type, std::as_bytes(std::span(&body, 1)), more, reply);
    }
    uint64_t new_request(FrameType answer, std::span<std::byte> into);
    void acknowledge();
    void acknowledged(uint64_t number, Time now);
    Result<void> perform(const Frame& frame);
    Result<void> answered(const Frame& frame);

    const Identity me_;
    const uint32_t peer_;
    const SessionLimits limits_;
    Windows& windows_;

    bool up_ = false;
    std::string failure_, last_trouble_;
    message::Hello their_;  // as the peer last said; limits of 0 until then

    // Outgoing.
    std::deque<OutgoingRef> kept_;  // numbered, in order, not acknowledged
    std::deque<OutgoingRef> output_;
    std::vector<Bytes> spare_;                   // memory of large frames that were acknowledged
    size_t written_ = 0;                         // bytes of output_.front() that are out
    uint64_t last_number_ = 0, last_given_ = 0;  // of frames: made, and gathered to be written
    uint64_t kept_bytes_ = 0, reply_bytes_ = 0;
    uint32_t replies_ = 0;
    // Incoming.
    uint64_t received_ = 0, told_ = 0;  // performed, and of that acknowledged
    uint64_t untold_bytes_ = 0;
    bool refusing_ = false;  // told the peer so, since its last drain
    std::string refused_;    // what the peer has told

    std::map<uint64_t, Request> requests_;
    uint64_t last_request_ = 0;
    Time now_, last_in_, last_out_, progress_, up_since_, down_since_;
    uint64_t duplicates_ = 0, resent_ = 0;
};

}  // namespace sassemu::link
