// SPDX-License-Identifier: Apache-2.0
// Where a process of the link listens, as text and as what the system wants. Nothing else belongs
// here.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::link {

// "unix:PATH" or "tcp:HOST:PORT", HOST a name, an IPv4 address or an IPv6 address in brackets.
struct Address {
    std::string text;
    bool local = false;  // a Unix socket
    std::string host_or_path, port;
};
Result<Address> parse_address(const std::string& text);

// What the system calls it; of a name the first of its addresses.
struct Endpoint {
    sockaddr_storage at{};
    socklen_t bytes = 0;
    bool beyond_this_host = false;  // neither a Unix socket nor loopback
};
Result<Endpoint> resolve(const Address& address, bool to_listen);
// Whether somebody listens there.
bool is_alive(const Endpoint& endpoint);

}  // namespace sassemu::link
