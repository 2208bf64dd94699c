// SPDX-License-Identifier: Apache-2.0
// See security.hpp. The key is used as an external PSK (RFC 8446, 4.2.11) with an (EC)DHE exchange,
// so that it does not open what was recorded before.
#include "emu/link/security.hpp"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace sassemu::link {

namespace {

constexpr std::string_view identity = "sassemu link 1";

std::string openssl_text() {
    char text[256];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    ERR_clear_error();
    return text;
}

// Where a context keeps its TlsContext; the application's data are Asio's.
int own_data() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

SSL_SESSION* psk_session(SSL* ssl) {
    const auto* const context =
        static_cast<const TlsContext*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), own_data()));
    const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION* const session = SSL_SESSION_new();
    if (cipher && session &&
        SSL_SESSION_set1_master_key(session,
                                    reinterpret_cast<const unsigned char*>(context->key.data()),
                                    context->key.size()) &&
        SSL_SESSION_set1_id_context(
            session, reinterpret_cast<const unsigned char*>(identity.data()), identity.size()) &&
        SSL_SESSION_set_cipher(session, cipher) &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return nullptr;
}
int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** id, size_t* id_bytes,
              SSL_SESSION** session) {
    *session = psk_session(ssl);
    if (!*session) return 0;
    if (digest && digest != SSL_CIPHER_get_handshake_digest(SSL_SESSION_get0_cipher(*session))) {
        SSL_SESSION_free(*session);
        *session = nullptr;
        return 1;
    }
    *id = reinterpret_cast<const unsigned char*>(identity.data());
    *id_bytes = identity.size();
    return 1;
}
int find_key(SSL* ssl, const unsigned char* id, size_t id_bytes, SSL_SESSION** session) {
    *session = nullptr;
    if (id_bytes == identity.size() && !std::memcmp(id, identity.data(), id_bytes))
        *session = psk_session(ssl);
    return 1;
}

Result<std::string> derived_key(const std::string& bytes, const std::string& where) {
    if (bytes.size() < 16 || bytes.size() > 65536)
        return Error{
            ErrorCode::input, where,
            "a key of the link has 16 to 65536 bytes, and this one " + std::to_string(bytes.size()),
            ""};
    const std::string text = std::string(identity) + bytes;
    std::string key(SHA256_DIGEST_LENGTH, '\0');
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(key.data()));
    return key;
}

Result<void> check_owner(const std::string& path) {
    const auto wrong = [&](std::string what, std::string hint = {}) {
        return Error{ErrorCode::input, path, std::move(what), std::move(hint)};
    };
    struct stat about;
    if (::stat(path.c_str(), &about)) return wrong("the link's key cannot be read");
    if (!S_ISREG(about.st_mode)) return wrong("the link's key is no regular file");
    if (about.st_mode & 077)
        return wrong("others than its owner can read the link's key", "chmod 600 it");
    return {};
}

Result<std::string> read_key(const std::string& path) {
    SASSEMU_TRY(check_owner(path));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) return Error{ErrorCode::input, path, "the link's key cannot be read", ""};
    return derived_key(bytes, path);
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::create(const Security& security) {
    auto made =
        std::make_shared<TlsContext>(TlsContext{{SSL_CTX_new(TLS_method()), SSL_CTX_free}, {}});
    SSL_CTX* const context = made->context.get();
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION))
        return Error{ErrorCode::system, "TLS", openssl_text(), ""};
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(identity.data()),
                                   identity.size());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    if (!security.key.empty() || !security.secret.empty()) {
        SASSEMU_ASSIGN(made->key, security.key.empty() ? derived_key(security.secret, "TLS")
                                                       : read_key(security.key));
        SSL_CTX_set_ex_data(context, own_data(), made.get());
        SSL_CTX_set_psk_use_session_callback(context, offer_key);
        SSL_CTX_set_psk_find_session_callback(context, find_key);
        if (!SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"))
            return Error{ErrorCode::system, "TLS", openssl_text(), ""};
        return made;
    }
    const auto file = [&](const std::string& path, bool loaded, const char* what) -> Result<void> {
        if (loaded) return {};
        return Error{ErrorCode::input, path.empty() ? "TLS" : path,
                     std::string(what) + " cannot be used: " + openssl_text(),
                     "PEM files of a certificate (--cert), its key (--key) and the authority "
                     "(--ca)"};
    };
    SASSEMU_TRY(file(security.authority,
                     SSL_CTX_load_verify_file(context, security.authority.c_str()) == 1,
                     "the authority"));
    SASSEMU_TRY(file(security.certificate,
                     SSL_CTX_use_certificate_chain_file(context, security.certificate.c_str()) == 1,
                     "the certificate"));
    SASSEMU_TRY(check_owner(security.certificate_key));
    SASSEMU_TRY(file(security.certificate_key,
                     SSL_CTX_use_PrivateKey_file(context, security.certificate_key.c_str(),
                                                 SSL_FILETYPE_PEM) == 1,
                     "the certificate's key"));
    return made;
}

Result<void> check_peer(SSL* connection, const TlsContext& context) {
    const bool proved = context.key.empty() ? SSL_get0_peer_certificate(connection) &&
                                                  SSL_get_verify_result(connection) == X509_V_OK
                                            : SSL_session_reused(connection) == 1;
    if (proved && SSL_version(connection) == TLS1_3_VERSION) return {};
    return Error{ErrorCode::input, "TLS", "the other side has not proved who it is", ""};
}

}  // namespace sassemu::link
