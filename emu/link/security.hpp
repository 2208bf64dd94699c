// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 with mutual authentication, for connections that leave this host: by a key that both
// sides have, or by certificates of one authority. It is a shared object of its own
// (libsassemu_tls.so), opened when it is asked for: few runs need OpenSSL, and loading it costs
// more than many a run. What does not belong here: sockets (connection.cpp), and when TLS is asked
// for (link_network.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "emu/base/result.hpp"

namespace sassemu::link {

// Either a key, or the three files of certificates (PEM). Whoever has a certificate of the
// authority is let in; names in certificates are not looked at.
struct Security {
    std::string key;  // its file: 16 bytes or more, readable by its owner only
    std::string certificate, certificate_key, authority;
    std::string secret;  // the key itself, in place of the file
    bool given() const {
        return !key.empty() || !secret.empty() || !certificate.empty() || !authority.empty();
    }
};

// One connection's TLS: bytes in and out, no socket. After any call there may be something to
// take() for the other side, an alert among it.
class TlsChannel {
  public:
    enum class State { done, needs_input, closed };
    virtual ~TlsChannel() = default;
    // Until it is done, with what has come so far; an Error: the other side has not proved itself.
    virtual Result<State> shake_hands() = 0;
    // Plain bytes into `room`; `count` of them if it is done.
    virtual Result<State> read(std::span<std::byte> room, size_t& count) = 0;
    virtual Result<void> write(std::span<const std::byte> bytes) = 0;
    // What has come from the other side, and what is to go there: how many bytes (0: none).
    virtual Result<void> put(std::span<const std::byte> bytes) = 0;
    virtual size_t take(std::span<std::byte> room) = 0;
};

class Tls {
  public:
    virtual ~Tls() = default;
    // `asks`: this side has dialled.
    virtual Result<std::unique_ptr<TlsChannel>> channel(bool asks) = 0;
};

Result<std::shared_ptr<Tls>> open_tls(const Security& security);

}  // namespace sassemu::link

// What the shared object exports.
extern "C" void sassemu_make_tls(const sassemu::link::Security& security,
                                 sassemu::Result<std::shared_ptr<sassemu::link::Tls>>& made);
