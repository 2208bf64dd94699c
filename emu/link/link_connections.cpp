// SPDX-License-Identifier: Apache-2.0
// How connections come about: listening, dialling, and the hellos. Of two ranks the higher one
// dials.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emu/base/descriptor_message.hpp"
#include "emu/base/system_error.hpp"
#include "emu/link/link_impl.hpp"

namespace sassemu::link {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

using Protocol = asio::generic::stream_protocol;
constexpr milliseconds dial_again{20};
// So many handshakes in a row that fail are no accident on the way.
constexpr uint32_t most_unproved = 3;

}  // namespace

Result<void> LinkImpl::may_use(const Address& address, const Endpoint& endpoint) const {
    if (!endpoint.beyond_this_host || tls_) return {};
    return Error{ErrorCode::usage, "address '" + address.text + "'",
                 "is not of this host alone, and such links need TLS with mutual authentication",
                 "a key that all ranks have (--key FILE), or certificates of one authority "
                 "(--cert, --key, --ca)"};
}

Result<void> LinkImpl::listen(const Address& address) {
    SASSEMU_ASSIGN(const Endpoint endpoint, resolve(address, true));
    SASSEMU_TRY(may_use(address, endpoint));
    const auto* const at = reinterpret_cast<const sockaddr*>(&endpoint.at);
    const int socket = ::socket(endpoint.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return system_error(address.text, "no socket");
    acceptor_.emplace(io_);
    acceptor_->assign(Protocol(endpoint.at.ss_family, 0), socket);
    const int on = 1;
    if (!address.local) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int bound = ::bind(socket, at, endpoint.bytes);
    if (bound && errno == EADDRINUSE && address.local) {
        struct stat about;
        const bool is_socket =
            !::lstat(address.host_or_path.c_str(), &about) && S_ISSOCK(about.st_mode);
        if (!is_socket)
            return Error{ErrorCode::input, address.text, "there is a file, and it is no socket",
                         ""};
        if (!is_alive(endpoint)) {  // left behind by a process that was killed
            ::unlink(address.host_or_path.c_str());
            bound = ::bind(socket, at, endpoint.bytes);
        } else {
            errno = EADDRINUSE;
        }
    }
    if (bound && errno == EADDRINUSE)
        return Error{
            ErrorCode::input, address.text,
            "another process listens there: two processes have rank " + std::to_string(me_.rank),
            "each process needs a rank of its own"};
    if (bound) return system_error(address.text, "cannot listen there");
    if (address.local) {
        bound_path_ = address.host_or_path;
        // Nobody can connect before listen().
        if (::chmod(bound_path_.c_str(), 0600))
            return system_error(address.text, "its mode cannot be set to 0600");
    }
    if (::listen(socket, 128)) return system_error(address.text, "cannot listen there");
    return {};
}

// ---- connections

// Until the timer is cancelled.
std::shared_ptr<asio::steady_timer> LinkImpl::shut_after(ConnectionRef connection,
                                                         milliseconds time) {
    auto timer = std::make_shared<asio::steady_timer>(io_, time);
    timer->async_wait([connection, timer](const boost::system::error_code& error) {
        if (!error) connection->shut();
    });
    return timer;
}

awaitable<void> LinkImpl::accept() {
    for (;;) {
        boost::system::error_code error;
        Protocol::socket socket =
            co_await acceptor_->async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            co_await pause(dial_again);
            continue;
        }
        auto connection =
            std::make_shared<Connection>(std::move(socket), options_.limits.frame_bytes);
        asio::co_spawn(io_, serve(std::move(connection)), asio::detached);
    }
}

awaitable<void> LinkImpl::serve(ConnectionRef connection) {
    message::Control answer;
    const auto refuse = [&](const std::string& why, bool later = false) -> awaitable<void> {
        answer.mutable_refusal()->set_why(why);
        answer.mutable_refusal()->set_later(later);
        const Result<void> told = co_await connection->write_control(answer);
        (void)told;  // it has gone
    };
    const Address& mine = addresses_[me_.rank];
    if (strangers_ >= options_.most_connections) {
        co_await refuse("more than " + std::to_string(options_.most_connections) +
                            " connections have not said who they are: the limit on connections",
                        true);
        co_return;
    }
    if (mine.local) {
        ucred who{};
        socklen_t bytes = sizeof who;
        ::getsockopt(connection->descriptor(), SOL_SOCKET, SO_PEERCRED, &who, &bytes);
        if (who.uid != ::geteuid() && who.uid != 0) {
            co_await refuse("it belongs to another user");
            co_return;
        }
    }
    ++strangers_;
    const auto timer = shut_after(connection, options_.limits.silence);
    Result<void> secured;
    if (tls_ && !mine.local) secured = co_await connection->secure(tls_, false);
    // Not by ?: which, around co_await or in its argument, GCC 12 takes apart wrongly: it ends a
    // temporary twice (tests/house/coroutines_test.py looks for it everywhere).
    Result<message::Control> first = Error{};
    if (secured) first = co_await connection->read_control();
    timer->cancel();
    --strangers_;
    if (!first || !first->has_hello()) {
        const std::lock_guard guard(callbacks_);
        last_stranger_ = !secured ? secured.error().message()
                         : first  ? "it did not begin with hello"
                                  : first.error().message();
        co_return;
    }
    const message::Hello& hello = first->hello();
    const auto found = other(hello.rank());
    if (!found) {
        std::string why = "rank " + std::to_string(hello.rank());
        if (hello.rank() == me_.rank)
            why += " is taken: two processes have one rank";
        else
            why += " does not exist: there are " + std::to_string(me_.ranks);
        co_await refuse(why);
        co_return;
    }
    Peer& peer = **found;
    Lock lock(peer.mutex);
    Result<void> good = peer.session.check(hello);
    if (good && hello.descriptor_of()) {
        lock.unlock();
        const uint32_t id = hello.descriptor_of();
        const Descriptor shared(mine.local ? windows_.descriptor(id) : -1);
        if (shared.number() < 0) {
            co_await refuse("window " + std::to_string(id) + " does not exist or is not shared");
            co_return;
        }
        answer.mutable_window()->set_id(id);
        (void)send_with(connection->descriptor(), loose_frame(answer), shared.number());
        co_return;
    }
    if (good && !peer.session.failure().empty())
        good = Error{ErrorCode::system, "rank " + std::to_string(me_.rank),
                     "has given this link up: " + peer.session.failure(), ""};
    if (good && hello.rank() < me_.rank)
        good = Error{ErrorCode::input, "rank " + std::to_string(hello.rank()),
                     "dialled: the higher of two ranks does that", ""};
    if (!good) {
        lock.unlock();
        co_await refuse(good.error().message());
        co_return;
    }
    // The other side has given the former connection up, if there is one.
    drop(peer, "the other side has connected anew");
    *answer.mutable_hello() = peer.session.hello();
    lock.unlock();
    const Result<void> told = co_await connection->write_control(answer);
    if (!told) co_return;
    lock.lock();
    // While hello was on its way nothing was received: there was no connection.
    if (!peer.session.check(hello) || peer.connection) co_return;
    attach(peer, connection, hello);
    lock.unlock();
    co_await run(std::move(connection), peer);
}

awaitable<Result<ConnectionRef>> LinkImpl::connect_to(Peer& peer) {
    const auto endpoint = resolve(peer.address, false);
    if (!endpoint) co_return endpoint.error();
    Protocol::socket socket(io_);
    boost::system::error_code error;
    co_await socket.async_connect(
        Protocol::endpoint(reinterpret_cast<const sockaddr*>(&endpoint->at), endpoint->bytes),
        asio::redirect_error(asio::use_awaitable, error));
    // Where nobody listens yet, TCP may give the socket the very port that it calls.
    if (!error && !peer.address.local && socket.local_endpoint(error) == socket.remote_endpoint())
        error = asio::error::connection_refused;
    if (error)
        co_return Error{error == asio::error::connection_refused ||
                                error == boost::system::errc::no_such_file_or_directory
                            ? ErrorCode::not_found
                            : ErrorCode::system,
                        peer.address.text, error.message(), ""};
    co_return std::make_shared<Connection>(std::move(socket), options_.limits.frame_bytes);
}

awaitable<Result<void>> LinkImpl::dial_once(Peer& peer) {
    const Result<ConnectionRef> made = co_await connect_to(peer);
    if (!made) co_return made.error();
    const ConnectionRef connection = *made;
    const auto timer = shut_after(connection, options_.limits.silence);
    if (tls_ && !peer.address.local) {
        const Result<void> secured = co_await connection->secure(tls_, true);
        if (!secured) {
            timer->cancel();
            co_return secured.error();
        }
    }
    message::Control hello;
    Lock lock(peer.mutex);
    *hello.mutable_hello() = peer.session.hello();
    lock.unlock();
    Result<void> told = co_await connection->write_control(hello);
    Result<message::Control> answer = told ? Error{} : told.error();
    if (told) answer = co_await connection->read_control();
    timer->cancel();
    if (!answer) co_return answer.error();
    lock.lock();
    if (answer->has_refusal()) {
        const std::string why = "it refused the link: " + answer->refusal().why();
        if (!answer->refusal().later()) fail(peer, why);
        co_return Error{ErrorCode::input, "", why, ""};
    }
    const Result<void> good = peer.session.check(answer->hello());
    if (!answer->has_hello() || !good) {
        fail(peer, answer->has_hello() ? good.error().message() : "it does not begin with hello");
        co_return Result<void>();
    }
    attach(peer, connection, answer->hello());
    lock.unlock();
    co_await run(connection, peer);
    co_return Result<void>();
}

awaitable<void> LinkImpl::dial(Peer& peer) {
    for (;;) {
        const Result<void> ended = co_await dial_once(peer);
        {
            const Lock lock(peer.mutex);
            if (!peer.session.failure().empty() || peer.left) co_return;
            if (!ended) {
                // Whoever was there and does not listen any more will not come back.
                if (ended.error().code == ErrorCode::not_found && peer.session.process())
                    fail(peer, "its process has ended");
                else if (ended.error().where == "TLS" && ++peer.unproved == most_unproved)
                    fail(peer, ended.error().message());
                else
                    peer.session.disconnected(ended.error().message(), Session::Clock::now());
            }
        }
        co_await pause(dial_again);
    }
}

}  // namespace sassemu::link
