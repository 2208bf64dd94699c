// SPDX-License-Identifier: Apache-2.0
// One host process as a socket: its requests as they come, the answers to them, descriptors that go
// along. What belongs here: bytes. What does not: what a request does (host_service.cpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/descriptor.hpp"
#include "emu/base/result.hpp"
#include "sdk/host/wire.h"

namespace sassemu::link {

// A socket that listens at the path, for this user alone (0600). One that nobody listens at any
// more is replaced.
Result<Descriptor> listen_privately(const std::string& path, const std::string& what);

class HostConnection {
  public:
    explicit HostConnection(Descriptor socket) : socket_(std::move(socket)) {}
    int socket() const { return socket_.number(); }
    bool same_user() const;
    int process() const;  // its pid

    // Takes what has come. False: there will be no more.
    bool receive();
    // Nothing more is taken until what has come is used.
    bool full() const;
    bool anything_left() const { return !in_.empty(); }
    std::optional<sassemu_wire_hello> hello();
    struct Request {
        sassemu_wire_request head;
        std::vector<std::byte> payload;
        Descriptor descriptor;
    };
    // The next whole request. An Error: that is none.
    Result<std::optional<Request>> request();

    void welcome(uint32_t flags, int status, std::string_view why);
    void answer(const sassemu_wire_answer& head, std::span<const std::byte> payload,
                int descriptor = -1);
    // Sends what is left. False: nobody takes it any more.
    bool flush();
    bool unsent() const { return sent_ < out_.size(); }

  private:
    void put(const void* data, size_t bytes);
    void take(size_t bytes) {
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(bytes));
    }

    Descriptor socket_, received_, to_send_;
    std::vector<std::byte> in_, out_;
    size_t sent_ = 0;
};

}  // namespace sassemu::link
