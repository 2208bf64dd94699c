// SPDX-License-Identifier: Apache-2.0
// See channel.hpp.
#include "emu/debug/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "emu/base/descriptor_message.hpp"

namespace sassemu::debug {
namespace {

bool write_all(int to, const char* bytes, size_t count) {
    while (count) {
        const ssize_t done = ::send(to, bytes, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        count -= static_cast<size_t>(done);
    }
    return true;
}

bool read_all(int from, char* bytes, size_t count) {
    while (count) {
        const ssize_t done = ::recv(from, bytes, count, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        count -= static_cast<size_t>(done);
    }
    return true;
}

}  // namespace

std::optional<std::pair<Channel, Channel>> Channel::pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return std::nullopt;
    return std::pair(Channel(ends[0]), Channel(ends[1]));
}

bool Channel::send(const Json& message, int passed) const {
    // What stands in a cubin need not be UTF-8.
    const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    uint32_t head[2] = {static_cast<uint32_t>(text.size()), passed >= 0 ? 1u : 0u};
    const ssize_t done = send_with(descriptor(), std::as_bytes(std::span(head)), passed);
    return done == sizeof head && write_all(descriptor(), text.data(), text.size());
}

std::optional<Json> Channel::receive(int* passed) const {
    uint32_t head[2];
    Descriptor came;
    if (receive_with(descriptor(), std::as_writable_bytes(std::span(head)), came, MSG_WAITALL) !=
        sizeof head)
        return std::nullopt;
    if (passed) *passed = came.release();
    std::string text(head[0], '\0');
    if (!read_all(descriptor(), text.data(), text.size())) return std::nullopt;
    Json message = parse_json(text);
    if (message.is_discarded()) return std::nullopt;
    return message;
}

bool Channel::ready() const {
    pollfd of{descriptor(), POLLIN, 0};
    return ::poll(&of, 1, 0) > 0;
}

bool Channel::is_gone(int descriptor) {
    pollfd of{descriptor, POLLRDHUP, 0};
    return ::poll(&of, 1, 0) > 0 && (of.revents & (POLLRDHUP | POLLHUP));
}

}  // namespace sassemu::debug
