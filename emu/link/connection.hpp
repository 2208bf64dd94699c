// SPDX-License-Identifier: Apache-2.0
// One connection: a socket of any kind, with TLS or without. What belongs here: bytes and frames
// without a number, in and out. What does not: sessions and who the other side is
// (link_network.cpp).
#pragma once

#include <memory>
#include <string>

#include "emu/base/result.hpp"
#include "emu/link/asio.hpp"
#include "emu/link/frame.hpp"
#include "emu/link/security.hpp"
#include "sassemu/link.pb.h"

namespace sassemu::link {

using boost::asio::awaitable;

class Connection {
  public:
    using Socket = boost::asio::generic::stream_protocol::socket;
    Connection(Socket socket, uint32_t frame_bytes);

    // Before anything else, where TLS is asked for. `asks`: this side has dialled.
    awaitable<Result<void>> secure(const std::shared_ptr<Tls>& tls, bool asks);
    // Some bytes into the parser. An Error: the connection has ended, or why it broke.
    awaitable<Result<void>> read();
    // The same without TLS, for connections that several threads read: readable(), and then with a
    // lock read_now(), which tells how many bytes there were.
    awaitable<Result<void>> readable();
    Result<size_t> read_now();
    awaitable<Result<void>> write(std::span<const std::byte> bytes);
    awaitable<Result<void>> writable();

    // Frames without a number, before a session has the connection.
    awaitable<Result<message::Control>> read_control();
    awaitable<Result<void>> write_control(const message::Control& message);

    // At once, by any thread: as many bytes as there is room for (0: none at present). Without TLS.
    Result<size_t> write_now(const iovec* pieces, size_t count);
    // The calling thread waits until there may be room, or something has ended.
    void wait_for_room() const;
    // By any thread; reads and writes end.
    void shut() { ::shutdown(descriptor(), SHUT_RDWR); }
    int descriptor() const { return descriptor_; }
    bool secured() const { return tls_ != nullptr; }

  private:
    Socket socket_;
    const int descriptor_ = socket_.native_handle();
    std::unique_ptr<TlsChannel> tls_;
    bool sending_ = false;  // somebody is in send_taken()

    // What TLS has for the other side goes there, and what comes from there to TLS (false: it has
    // ended there).
    awaitable<Result<void>> send_taken();
    awaitable<Result<bool>> receive();
    awaitable<Result<size_t>> read_secured(std::span<std::byte> room);

  public:
    FrameParser parser;
    bool writing = false;  // somebody waits for room, or for TLS
};
using ConnectionRef = std::shared_ptr<Connection>;

// A frame that has no number.
Bytes loose_frame(const message::Control& message);
// The message of a frame; an Error: it has none.
Result<message::Control> control_of(const Frame& frame);

}  // namespace sassemu::link
