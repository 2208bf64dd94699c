// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 with mutual authentication, for connections that leave this host: by a key that both
// sides have, or by certificates of one authority. What does not belong here: when it is asked for
// (link.cpp).
#pragma once

#include <memory>
#include <string>

#include "emu/base/result.hpp"

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;

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

struct TlsContext {
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context;
    std::string key;  // what both sides derive from the file; the context refers to it
    static Result<std::shared_ptr<TlsContext>> create(const Security& security);
};
// After a handshake: whether the other side has proved who it is.
Result<void> check_peer(SSL* connection, const TlsContext& context);

}  // namespace sassemu::link
