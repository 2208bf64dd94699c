// SPDX-License-Identifier: Apache-2.0
// See channel.hpp.
#include "emu/debug/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

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
    iovec part{head, sizeof head};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (passed >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr* const of = CMSG_FIRSTHDR(&header);
        of->cmsg_level = SOL_SOCKET;
        of->cmsg_type = SCM_RIGHTS;
        of->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(of), &passed, sizeof passed);
    }
    ssize_t done;
    do {
        done = ::sendmsg(descriptor(), &header, MSG_NOSIGNAL);
    } while (done < 0 && errno == EINTR);
    return done == sizeof head && write_all(descriptor(), text.data(), text.size());
}

std::optional<Json> Channel::receive(int* passed) const {
    uint32_t head[2];
    iovec part{head, sizeof head};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t done;
    do {
        done = ::recvmsg(descriptor(), &header, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    } while (done < 0 && errno == EINTR);
    if (done != sizeof head) return std::nullopt;
    int came = -1;
    if (const cmsghdr* of = CMSG_FIRSTHDR(&header); of && of->cmsg_type == SCM_RIGHTS)
        std::memcpy(&came, CMSG_DATA(of), sizeof came);
    if (passed)
        *passed = came;
    else if (came >= 0)
        ::close(came);
    std::string text(head[0], '\0');
    if (!read_all(descriptor(), text.data(), text.size())) return std::nullopt;
    Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded()) return std::nullopt;
    return message;
}

bool Channel::ready() const {
    pollfd of{descriptor(), POLLIN, 0};
    return ::poll(&of, 1, 0) > 0;
}

}  // namespace sassemu::debug
