// SPDX-License-Identifier: Apache-2.0
// See security.hpp: the shared object, all that is made of OpenSSL. The key is used as an external
// PSK (RFC 8446, 4.2.11) with an (EC)DHE exchange, so that it does not open what was recorded
// before.
#include "emu/link/security.hpp"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
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

struct Context final : Tls, std::enable_shared_from_this<Context> {
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_method()), SSL_CTX_free};
    std::string key;  // what both sides derive from the file; `context` refers to this
    Result<std::unique_ptr<TlsChannel>> channel(bool asks) override;
};

SSL_SESSION* psk_session(SSL* ssl) {
    const auto* const context =
        static_cast<const Context*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
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

class Channel final : public TlsChannel {
  public:
    Channel(std::shared_ptr<const Context> context, bool asks)
        : context_(std::move(context)), ssl_(SSL_new(context_->context.get()), SSL_free) {
        BIO* const in = BIO_new(BIO_s_mem());
        BIO* const out = BIO_new(BIO_s_mem());
        if (!ssl_ || !in || !out) {
            BIO_free(in);
            BIO_free(out);
            ssl_.reset();
            return;
        }
        BIO_set_mem_eof_return(in, -1);  // more is to come
        SSL_set_bio(ssl_.get(), in, out);
        asks ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
    }
    [[nodiscard]] bool works() const { return ssl_ != nullptr; }

    Result<State> shake_hands() override {
        ERR_clear_error();
        SASSEMU_ASSIGN(const State state, state_after(SSL_do_handshake(ssl_.get()), strangers));
        if (state != State::done) return state;
        const bool proved = context_->key.empty()
                                ? SSL_get0_peer_certificate(ssl_.get()) &&
                                      SSL_get_verify_result(ssl_.get()) == X509_V_OK
                                : SSL_session_reused(ssl_.get()) == 1;
        if (proved && SSL_version(ssl_.get()) == TLS1_3_VERSION) return State::done;
        return Error{ErrorCode::input, "TLS", strangers, ""};
    }
    Result<State> read(std::span<std::byte> room, size_t& count) override {
        ERR_clear_error();
        return state_after(SSL_read_ex(ssl_.get(), room.data(), room.size(), &count), broken);
    }
    Result<void> write(std::span<const std::byte> bytes) override {
        ERR_clear_error();
        size_t written = 0;
        if (bytes.empty() || SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) == 1)
            return {};
        return Error{ErrorCode::system, "link", openssl_text(), ""};
    }
    Result<void> put(std::span<const std::byte> bytes) override {
        size_t taken = 0;
        if (BIO_write_ex(SSL_get_rbio(ssl_.get()), bytes.data(), bytes.size(), &taken) == 1 &&
            taken == bytes.size())
            return {};
        return Error{ErrorCode::system, "link", openssl_text(), ""};
    }
    size_t take(std::span<std::byte> room) override {
        size_t count = 0;
        if (BIO_read_ex(SSL_get_wbio(ssl_.get()), room.data(), room.size(), &count) != 1) return 0;
        return count;
    }

  private:
    static constexpr const char* strangers = "the other side has not proved who it is";
    static constexpr const char* broken = "what came is not what the other side has sent";

    Result<State> state_after(int result, const char* wrong) {
        if (result == 1) return State::done;
        switch (SSL_get_error(ssl_.get(), result)) {
            case SSL_ERROR_WANT_READ:
                return State::needs_input;
            case SSL_ERROR_ZERO_RETURN:
                return State::closed;
            default:
                return Error{ErrorCode::input, "TLS", std::string(wrong) + ": " + openssl_text(),
                             wrong == strangers ? "all ranks need the same key, or certificates of "
                                                  "one authority"
                                                : ""};
        }
    }

    const std::shared_ptr<const Context> context_;
    std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

Result<std::unique_ptr<TlsChannel>> Context::channel(bool asks) {
    auto made = std::make_unique<Channel>(shared_from_this(), asks);
    if (!made->works()) return Error{ErrorCode::system, "TLS", openssl_text(), ""};
    return std::unique_ptr<TlsChannel>(std::move(made));
}

Result<std::shared_ptr<Tls>> make_context(const Security& security) {
    const auto made = std::make_shared<Context>();
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
        SSL_CTX_set_app_data(context, made.get());
        SSL_CTX_set_psk_use_session_callback(context, offer_key);
        SSL_CTX_set_psk_find_session_callback(context, find_key);
        if (!SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"))
            return Error{ErrorCode::system, "TLS", openssl_text(), ""};
        return std::shared_ptr<Tls>(made);
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
    return std::shared_ptr<Tls>(made);
}

}  // namespace

}  // namespace sassemu::link

extern "C" __attribute__((visibility("default"))) void sassemu_make_tls(
    const sassemu::link::Security& security,
    sassemu::Result<std::shared_ptr<sassemu::link::Tls>>& made) {
    made = sassemu::link::make_context(security);
}
