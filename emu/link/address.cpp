// SPDX-License-Identifier: Apache-2.0
// See address.hpp.
#include "emu/link/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace sassemu::link {

Result<Address> parse_address(const std::string& text) {
    const auto wrong = [&](std::string what) {
        return Error{ErrorCode::usage, "address '" + text + "'", std::move(what),
                     "unix:PATH or tcp:HOST:PORT"};
    };
    Address address{text, text.starts_with("unix:"), {}, {}};
    if (address.local) {
        address.host_or_path = text.substr(5);
        if (address.host_or_path.empty()) return wrong("names no socket");
        if (address.host_or_path.size() >= sizeof sockaddr_un{}.sun_path)
            return wrong("a socket's path has at most " +
                         std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes");
        return address;
    }
    const size_t colon = text.rfind(':');
    if (!text.starts_with("tcp:") || colon < 5 || colon + 1 == text.size())
        return wrong("is none of the link's");
    address.host_or_path = text.substr(4, colon - 4);
    address.port = text.substr(colon + 1);
    if (address.host_or_path.front() == '[' && address.host_or_path.back() == ']')
        address.host_or_path = address.host_or_path.substr(1, address.host_or_path.size() - 2);
    const bool digits =
        std::ranges::all_of(address.port, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || address.port.size() > 5 || std::stoul(address.port) > 65535 ||
        std::stoul(address.port) == 0)
        return wrong("a port is a number from 1 to 65535");
    return address;
}

Result<Endpoint> resolve(const Address& address, bool to_listen) {
    Endpoint endpoint;
    if (address.local) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path, address.host_or_path.data(), address.host_or_path.size());
        std::memcpy(&endpoint.at, &at, sizeof at);
        endpoint.bytes = sizeof at;
        return endpoint;
    }
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
    const int failed =
        ::getaddrinfo(address.host_or_path.c_str(), address.port.c_str(), &hints, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
    if (failed)
        return Error{ErrorCode::input, "address '" + address.text + "'",
                     std::string("the host is not known: ") + ::gai_strerror(failed), ""};
    std::memcpy(&endpoint.at, found->ai_addr, found->ai_addrlen);
    endpoint.bytes = found->ai_addrlen;
    if (found->ai_family == AF_INET) {
        const auto& at = reinterpret_cast<const sockaddr_in&>(endpoint.at);
        endpoint.beyond_this_host = ntohl(at.sin_addr.s_addr) >> 24 != 127;
    } else {
        const auto& at = reinterpret_cast<const sockaddr_in6&>(endpoint.at);
        endpoint.beyond_this_host = !IN6_IS_ADDR_LOOPBACK(&at.sin6_addr);
    }
    return endpoint;
}

bool is_alive(const Endpoint& endpoint) {
    const int probe =
        ::socket(endpoint.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool alive =
        !::connect(probe, reinterpret_cast<const sockaddr*>(&endpoint.at), endpoint.bytes) ||
        errno == EAGAIN || errno == EINPROGRESS;
    ::close(probe);
    return alive;
}

}  // namespace sassemu::link
