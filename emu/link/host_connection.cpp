// SPDX-License-Identifier: Apache-2.0
// See host_connection.hpp.
#include "emu/link/host_connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emu/base/descriptor_message.hpp"
#include "emu/link/address.hpp"

namespace sassemu::link {

namespace {

constexpr size_t most_bytes = sizeof(sassemu_wire_request) + SASSEMU_WIRE_PIECE;

ucred credentials(int socket) {
    ucred who{};
    socklen_t bytes = sizeof who;
    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes);
    return who;
}

bool somebody_listens(const Endpoint& endpoint) {
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return !::connect(probe.number(), reinterpret_cast<const sockaddr*>(&endpoint.at),
                      endpoint.bytes) ||
           errno == EAGAIN;
}

}  // namespace

Result<Descriptor> listen_privately(const std::string& path, const std::string& what) {
    const auto wrong = [&](ErrorCode code, const char* why, int number = 0) {
        return Error{code, what, number ? std::string(why) + ": " + std::strerror(number) : why,
                     ""};
    };
    SASSEMU_ASSIGN(const Endpoint endpoint, resolve({what, true, path, {}}, true));
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.number() < 0) return wrong(ErrorCode::system, "no socket", errno);
    const auto bind = [&] {
        return ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&endpoint.at),
                      endpoint.bytes);
    };
    int bound = bind();
    if (bound && errno == EADDRINUSE) {
        struct stat about {};
        if (!::lstat(path.c_str(), &about) && !S_ISSOCK(about.st_mode))
            return wrong(ErrorCode::input, "there is a file, and it is no socket");
        if (somebody_listens(endpoint))
            return wrong(ErrorCode::input, "another process listens there");
        ::unlink(path.c_str());  // left behind by a process that was killed
        bound = bind();
    }
    if (bound) return wrong(ErrorCode::system, "cannot listen there", errno);
    // Nobody can connect before listen().
    if (::chmod(path.c_str(), 0600) || ::listen(socket.number(), 16)) {
        const int why = errno;
        ::unlink(path.c_str());
        return wrong(ErrorCode::system, "cannot listen there", why);
    }
    return socket;
}

bool HostConnection::same_user() const {
    const uid_t who = credentials(socket()).uid;
    return who == ::geteuid() || who == 0;
}
int HostConnection::process() const { return credentials(socket()).pid; }

// ---- what comes

bool HostConnection::full() const { return in_.size() >= most_bytes; }

bool HostConnection::receive() {
    std::byte piece[65536];
    while (!full()) {
        // The last descriptor that came is that of the request.
        const ssize_t got = receive_with(socket(), piece, received_, MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        if (!got) return false;
        in_.insert(in_.end(), piece, piece + got);
    }
    return true;
}

std::optional<sassemu_wire_hello> HostConnection::hello() {
    sassemu_wire_hello hello;
    if (in_.size() < sizeof hello) return {};
    std::memcpy(&hello, in_.data(), sizeof hello);
    take(sizeof hello);
    return hello;
}

Result<std::optional<HostConnection::Request>> HostConnection::request() {
    Request request{};
    if (in_.size() < sizeof request.head) return std::optional<Request>();
    std::memcpy(&request.head, in_.data(), sizeof request.head);
    if (request.head.payload > SASSEMU_WIRE_PIECE)
        return Error{ErrorCode::limit, "", "a request has at most 1 MiB of data", ""};
    const size_t all = sizeof request.head + request.head.payload;
    if (in_.size() < all) return std::optional<Request>();
    request.payload.assign(in_.begin() + sizeof request.head,
                           in_.begin() + static_cast<std::ptrdiff_t>(all));
    request.descriptor = std::move(received_);
    take(all);
    return std::optional(std::move(request));
}

// ---- what goes

void HostConnection::put(const void* data, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), from, from + bytes);
}

void HostConnection::welcome(uint32_t flags, int status, std::string_view why) {
    sassemu_wire_welcome welcome{};
    std::memcpy(welcome.magic, SASSEMU_WIRE_MAGIC, sizeof welcome.magic);
    welcome.version = SASSEMU_WIRE_VERSION;
    welcome.flags = flags;
    welcome.status = status;
    welcome.payload = static_cast<uint32_t>(why.size());
    put(&welcome, sizeof welcome);
    put(why.data(), why.size());
}

void HostConnection::answer(const sassemu_wire_answer& head, std::span<const std::byte> payload,
                            int descriptor) {
    put(&head, sizeof head);
    put(payload.data(), payload.size());
    if (descriptor >= 0) to_send_ = Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

bool HostConnection::flush() {
    while (unsent()) {
        const ssize_t sent =
            send_with(socket(), std::span(out_).subspan(sent_), to_send_.number(), MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        to_send_.close();
        sent_ += static_cast<size_t>(sent);
    }
    out_.clear();
    sent_ = 0;
    return true;
}

}  // namespace sassemu::link
