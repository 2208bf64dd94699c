// SPDX-License-Identifier: Apache-2.0
// See connection.hpp.
#include "emu/link/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace sassemu::link {

namespace asio = boost::asio;

namespace {

Error ended(const boost::system::error_code& error) {
    const bool plain = error == asio::error::eof || error == asio::error::connection_reset ||
                       error == asio::error::broken_pipe;
    return Error{ErrorCode::system, "link",
                 plain ? "the other side has closed the connection" : error.message(), ""};
}

}  // namespace

Connection::Connection(Socket socket, uint32_t frame_bytes)
    : socket_(std::move(socket)), parser(frame_bytes) {
    const int on = 1;  // frames are small and waited for; of a Unix socket there is no such thing
    (void)::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Bytes loose_frame(const message::Control& message) {
    const std::string text = message.SerializeAsString();
    Bytes frame = make_frame(FrameType::control, 0, std::as_bytes(std::span(text)));
    seal(frame, 0);
    return frame;
}

Result<message::Control> control_of(const Frame& frame) {
    message::Control message;
    if (frame.type != FrameType::control || frame.number ||
        !message.ParseFromArray(frame.body.data(), static_cast<int>(frame.body.size())))
        return Error{ErrorCode::input, "link", "what came is no message to begin with", ""};
    return message;
}

awaitable<Result<void>> Connection::secure(const std::shared_ptr<Tls>& tls, bool asks) {
    auto channel = tls->channel(asks);
    if (!channel) co_return channel.error();
    tls_ = std::move(*channel);
    for (;;) {
        const auto state = tls_->shake_hands();
        const Result<void> sent = co_await send_taken();  // an alert, where it failed
        if (!state) co_return state.error();
        if (!sent) co_return sent.error();
        if (*state == TlsChannel::State::done) co_return Result<void>();
        const Result<bool> more = co_await receive();
        if (more && *more) continue;
        const Error why = more ? ended(asio::error::eof) : more.error();
        co_return Error{ErrorCode::input, "TLS",
                        "the other side has not proved who it is: " + why.what,
                        "all ranks need the same key, or certificates of one authority"};
    }
}

// Of two that send the first takes what both have.
awaitable<Result<void>> Connection::send_taken() {
    if (sending_) co_return Result<void>();
    sending_ = true;
    std::array<std::byte, 16384> bytes;
    boost::system::error_code error;
    while (const size_t count = error ? 0 : tls_->take(bytes))
        co_await asio::async_write(socket_, asio::buffer(bytes.data(), count),
                                   asio::redirect_error(asio::use_awaitable, error));
    sending_ = false;
    if (error) co_return ended(error);
    co_return Result<void>();
}

awaitable<Result<bool>> Connection::receive() {
    std::array<std::byte, 16384> bytes;
    boost::system::error_code error;
    const size_t count = co_await socket_.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::eof) co_return false;
    if (error) co_return ended(error);
    const Result<void> kept = tls_->put(std::span(bytes).first(count));
    if (!kept) co_return kept.error();
    co_return true;
}

// 0: the other side has closed the connection.
awaitable<Result<size_t>> Connection::read_secured(std::span<std::byte> room) {
    for (;;) {
        size_t count = 0;
        const auto state = tls_->read(room, count);
        const Result<void> sent = co_await send_taken();
        if (!state) co_return state.error();
        if (*state == TlsChannel::State::done) co_return count;
        if (*state == TlsChannel::State::closed) co_return size_t{0};
        if (!sent) co_return sent.error();
        const Result<bool> more = co_await receive();
        if (!more) co_return more.error();
        if (!*more) co_return size_t{0};
    }
}

awaitable<Result<void>> Connection::read() {
    const auto room = parser.room();
    boost::system::error_code error;
    size_t count = 0;
    if (tls_) {
        const Result<size_t> got = co_await read_secured(room);
        if (!got) co_return got.error();
        count = *got;
        if (!count) error = asio::error::eof;
    } else {
        count = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()),
                                                 asio::redirect_error(asio::use_awaitable, error));
    }
    if (error && error == asio::error::eof && parser.inside_frame())
        co_return Error{ErrorCode::input, "link", "the connection ended within a frame", ""};
    if (error) co_return ended(error);
    parser.filled(count);
    co_return Result<void>();
}

awaitable<Result<void>> Connection::readable() {
    boost::system::error_code error;
    co_await socket_.async_wait(Socket::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return ended(error);
    co_return Result<void>();
}

Result<size_t> Connection::read_now() {
    const auto room = parser.room();
    for (;;) {
        const ssize_t count = ::recv(descriptor_, room.data(), room.size(), MSG_DONTWAIT);
        if (count > 0) {
            parser.filled(static_cast<size_t>(count));
            return static_cast<size_t>(count);
        }
        if (!count)
            return Error{ErrorCode::system, "link",
                         parser.inside_frame() ? "the connection ended within a frame"
                                               : "the other side has closed the connection",
                         ""};
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return size_t{0};
        return Error{ErrorCode::system, "link", std::strerror(errno), ""};
    }
}

awaitable<Result<void>> Connection::write(std::span<const std::byte> bytes) {
    if (tls_) {
        for (constexpr size_t record = 16384; !bytes.empty();
             bytes = bytes.subspan(std::min(record, bytes.size()))) {
            const Result<void> taken = tls_->write(bytes.first(std::min(record, bytes.size())));
            if (!taken) co_return taken.error();
            const Result<void> sent = co_await send_taken();
            if (!sent) co_return sent.error();
        }
        co_return Result<void>();
    }
    boost::system::error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return ended(error);
    co_return Result<void>();
}

awaitable<Result<void>> Connection::writable() {
    boost::system::error_code error;
    co_await socket_.async_wait(Socket::wait_write,
                                asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return ended(error);
    co_return Result<void>();
}

awaitable<Result<message::Control>> Connection::read_control() {
    for (;;) {
        const auto frame = parser.next();
        if (!frame) co_return frame.error();
        if (*frame) co_return control_of(**frame);
        const Result<void> more = co_await read();
        if (!more) co_return more.error();
    }
}

awaitable<Result<void>> Connection::write_control(const message::Control& message) {
    const Bytes frame = loose_frame(message);
    co_return co_await write(frame);
}

Result<size_t> Connection::write_now(const iovec* pieces, size_t count) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = count;
    for (;;) {
        const ssize_t done = ::sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done >= 0) return static_cast<size_t>(done);
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return size_t{0};
        return Error{ErrorCode::system, "link", std::strerror(errno), ""};
    }
}

void Connection::wait_for_room() const {
    pollfd what{descriptor(), POLLOUT, 0};
    (void)::poll(&what, 1, 100);
}

}  // namespace sassemu::link
