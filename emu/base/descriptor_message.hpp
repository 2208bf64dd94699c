// SPDX-License-Identifier: Apache-2.0
// Bytes on a Unix socket, and a descriptor along with them; whether its memory may be mapped.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "emu/base/descriptor.hpp"

namespace sassemu {

// Whether memory that came from elsewhere cannot become shorter while it is mapped, which would be
// a signal. A file of any other kind has no seals at all.
inline bool is_sealed(int descriptor) {
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK);
}

// How many bytes went, -1: errno says why none. `descriptor`, if it is not -1, goes with the
// first of them, and stays open here.
inline ssize_t send_with(int socket, std::span<const std::byte> bytes, int descriptor,
                         int flags = 0) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    }
    ssize_t done;
    do done = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    return done;
}

// How many bytes came, 0: none will, -1: errno says why. `descriptor` becomes the last one that
// came with them, if any did; others are closed.
inline ssize_t receive_with(int socket, std::span<std::byte> into, Descriptor& descriptor,
                            int flags = 0) {
    iovec part{into.data(), into.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t done;
    do done = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (done < 0 && errno == EINTR);
    if (done < 0) return done;
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
            int number;
            std::memcpy(&number, CMSG_DATA(head) + at, sizeof number);
            descriptor = Descriptor(number);
        }
    }
    return done;
}

}  // namespace sassemu
