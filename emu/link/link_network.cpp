// SPDX-License-Identifier: Apache-2.0
// What the link's thread does: it listens, dials, says hello, moves bytes, and looks at the clock.
// Of two ranks the higher one dials. All coroutines run on that one thread.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "emu/base/system_error.hpp"
#include "emu/link/link_impl.hpp"

namespace sassemu::link {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

using Protocol = asio::generic::stream_protocol;
constexpr milliseconds dial_again{20};
constexpr size_t most_pieces = 16;
// What comes at once and is more than answers and small requests.
constexpr size_t much = 16 << 10;
// So many handshakes in a row that fail are no accident on the way.
constexpr uint32_t most_unproved = 3;

// Whether somebody listens there.
bool is_alive(const Endpoint& endpoint) {
    const int probe =
        ::socket(endpoint.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool alive =
        !::connect(probe, reinterpret_cast<const sockaddr*>(&endpoint.at), endpoint.bytes) ||
        errno == EAGAIN || errno == EINPROGRESS;
    ::close(probe);
    return alive;
}

}  // namespace

// ---- beginning

Result<void> LinkImpl::begin() {
    const auto wrong = [](std::string what) {
        return Error{ErrorCode::usage, "link", std::move(what), ""};
    };
    if (me_.ranks < 2 || me_.ranks > most_ranks)
        return wrong("2 to " + std::to_string(most_ranks) + " ranks have a link, not " +
                     std::to_string(me_.ranks));
    if (me_.rank >= me_.ranks)
        return wrong("there is no rank " + std::to_string(me_.rank) + " among " +
                     std::to_string(me_.ranks));
    for (const std::string& text : options_.addresses) {
        SASSEMU_ASSIGN(Address address, parse_address(text));
        for (const Address& before : addresses_)
            if (before.text == text) return wrong("two ranks have the address " + text);
        addresses_.push_back(std::move(address));
    }
    if (options_.security.given()) {
        SASSEMU_ASSIGN(tls_, TlsContext::create(options_.security));
    }
    for (uint32_t rank = 0; rank < me_.ranks; ++rank) {
        peers_.emplace_back();
        if (rank == me_.rank) continue;
        peers_.back() =
            std::make_unique<Peer>(me_, rank, options_.limits, windows_, Session::Clock::now());
        Peer& peer = *peers_.back();
        peer.address = addresses_[rank];
        peer.session.on_control = [this, &peer](const message::Control& m) { received(peer, m); };
        SASSEMU_ASSIGN(const Endpoint endpoint, resolve(peer.address, false));
        SASSEMU_TRY(may_use(peer.address, endpoint));
    }
    SASSEMU_TRY(listen(addresses_[me_.rank]));
    asio::co_spawn(io_, accept(), asio::detached);
    asio::co_spawn(io_, tick(), asio::detached);
    for (uint32_t rank = 0; rank < me_.rank; ++rank)
        asio::co_spawn(io_, dial(*peers_[rank]), asio::detached);
    try {
        thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
        return Error{ErrorCode::system, "link", "the host has no thread for it", ""};
    }
    return {};
}

Result<void> LinkImpl::may_use(const Address& address, const Endpoint& endpoint) const {
    if (!endpoint.beyond_this_host || tls_) return {};
    return Error{ErrorCode::usage, "address '" + address.text + "'",
                 "is not of this host alone, and such links need TLS with mutual authentication",
                 "a key that all ranks have, or a certificate, its key and an authority"};
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

awaitable<void> LinkImpl::pause(milliseconds time) {
    asio::steady_timer timer(io_, time);
    boost::system::error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
}

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
    // Not by ?: GCC 12 then ends what co_await gave twice.
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
        co_await refuse("rank " + std::to_string(hello.rank()) +
                        (hello.rank() == me_.rank
                             ? " is taken: two processes have one rank"
                             : " does not exist: there are " + std::to_string(me_.ranks)));
        co_return;
    }
    Peer& peer = **found;
    Lock lock(peer.mutex);
    Result<void> good = peer.session.check(hello);
    if (good && hello.descriptor_of()) {
        lock.unlock();
        const uint32_t id = hello.descriptor_of();
        const int shared = mine.local ? windows_.descriptor(id) : -1;
        if (shared < 0) {
            co_await refuse("window " + std::to_string(id) + " does not exist or is not shared");
            co_return;
        }
        answer.mutable_window()->set_id(id);
        const Bytes frame = loose_frame(answer);
        iovec piece{const_cast<std::byte*>(frame.data()), frame.size()};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        cmsghdr* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &shared, sizeof shared);
        (void)::sendmsg(connection->descriptor(), &message, MSG_NOSIGNAL);
        ::close(shared);
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

// ---- bytes

void LinkImpl::attach(Peer& peer, const ConnectionRef& connection, const message::Hello& theirs) {
    peer.connection = connection;
    peer.unproved = 0;
    peer.session.connected(theirs, Session::Clock::now());
    flush(peer);
    peer.changed.notify_all();
}

// What has come, with the peer's lock. False: the connection has ended.
bool LinkImpl::take(const ConnectionRef& connection, Peer& peer) {
    const auto now = Session::Clock::now();
    bool any = false;
    for (;;) {
        const auto frame = connection->parser.next();
        if (frame && !*frame) break;
        const Result<void> good =
            frame ? peer.session.received(**frame, now) : Result<void>(frame.error());
        if (!good) drop(peer, good.error().message());
        if (peer.connection != connection) return false;  // a message may have ended it too
        any = true;
    }
    if (!any) return true;
    peer.session.settle();
    flush(peer);
    peer.changed.notify_all();
    return peer.connection == connection;
}

// The same, and what comes now. By any thread, which keeps the connection: the peer may get
// another.
bool LinkImpl::read(ConnectionRef connection, Peer& peer) {
    for (size_t sum = 0;;) {
        const size_t room = connection->parser.room().size();
        const Result<size_t> count = connection->read_now();
        if (!count) drop(peer, count.error().message());
        if (!count || !take(connection, peer)) return false;
        sum += *count;
        if (sum) streams_ = sum >= much;
        if (*count < room) return true;  // there was no more
    }
}

awaitable<void> LinkImpl::run(ConnectionRef connection, Peer& peer) {
    bool goes_on = true;
    {
        const Lock lock(peer.mutex);  // what came with hello
        goes_on = peer.connection == connection && take(connection, peer);
    }
    while (goes_on) {
        Result<void> good;
        if (connection->secured())
            good = co_await connection->read();
        else
            good = co_await connection->readable();
        const Lock lock(peer.mutex);
        if (peer.connection != connection) co_return;
        if (!good)
            drop(peer, good.error().message());
        else if (connection->secured())
            goes_on = take(connection, peer);
        else
            goes_on = read(connection, peer);
    }
}

// Who has just been active soon is again: it costs less to look than to sleep and be woken. Not
// where a caller looks, nor where what comes takes its time anyway.
void LinkImpl::work() {
    auto last = Session::Clock::now();
    while (!io_.stopped()) {
        const bool looks = !looking_ && !streams_ && Session::Clock::now() - last < look_on;
        if (looks ? io_.poll() : io_.run_one()) last = Session::Clock::now();
    }
}

// All that goes out at once, without TLS. True: there is no room at present, and who called has to
// go on when there is.
bool LinkImpl::write_out(const ConnectionRef& connection, Peer& peer) {
    while (connection && peer.connection == connection && !connection->writing &&
           peer.session.has_output()) {
        iovec pieces[most_pieces];
        const size_t count = peer.session.gather(pieces, most_pieces);
        const Result<size_t> done = connection->write_now(pieces, count);
        if (!done) {
            drop(peer, done.error().message());
            return false;
        }
        peer.session.wrote(*done, Session::Clock::now());
        if (!*done) return connection->writing = true;
    }
    return false;
}

void LinkImpl::flush(Peer& peer) {
    const ConnectionRef connection = peer.connection;
    if (!connection || connection->writing || !peer.session.has_output()) return;
    if (!connection->secured() && !write_out(connection, peer)) return;
    connection->writing = true;
    asio::co_spawn(io_, finish_writing(connection, peer), asio::detached);
}

// The same by who has much to send, and waits for room: more frames than the socket takes would
// only lie about and leave the cache.
void LinkImpl::flush_all(Peer& peer, Lock& lock) {
    const ConnectionRef connection = peer.connection;
    if (connection && connection->secured()) return flush(peer);
    while (write_out(connection, peer)) {
        lock.unlock();
        connection->wait_for_room();
        lock.lock();
        connection->writing = false;
    }
}

// The link's thread goes on with writing: there is no room at present, or TLS is in between.
awaitable<void> LinkImpl::finish_writing(ConnectionRef connection, Peer& peer) {
    Bytes bytes;
    for (;;) {
        bytes.clear();
        if (connection->secured()) {
            const Lock lock(peer.mutex);
            if (peer.connection != connection) co_return;
            iovec pieces[most_pieces];
            const size_t count = peer.session.gather(pieces, most_pieces);
            for (size_t i = 0; i < count; ++i) {
                const auto* const at = static_cast<const std::byte*>(pieces[i].iov_base);
                bytes.insert(bytes.end(), at, at + pieces[i].iov_len);
            }
            if (bytes.empty()) {
                connection->writing = false;
                co_return;
            }
        }
        Result<void> done;
        if (bytes.empty())
            done = co_await connection->writable();
        else
            done = co_await connection->write(bytes);
        const Lock lock(peer.mutex);
        if (peer.connection != connection) co_return;
        if (!done) co_return drop(peer, done.error().message());
        if (!bytes.empty()) {
            peer.session.wrote(bytes.size(), Session::Clock::now());
            peer.changed.notify_all();
            continue;
        }
        connection->writing = false;
        flush(peer);
        co_return;
    }
}

void LinkImpl::drop(Peer& peer, const std::string& why) {
    if (!peer.connection) return;
    peer.connection->shut();
    peer.connection.reset();
    peer.session.disconnected(why, Session::Clock::now());
    peer.changed.notify_all();
}

void LinkImpl::fail(Peer& peer, const std::string& why) {
    drop(peer, why);
    peer.session.fail(why);
    peer.changed.notify_all();
}

// It has not come within the patience of this side.
void LinkImpl::fail_absent(Peer& peer) {
    std::string last = peer.session.trouble();
    if (peer.rank > me_.rank) {
        const std::lock_guard guard(callbacks_);
        last = last_stranger_;
    }
    fail(peer, "is not there after " + std::to_string(options_.patience.count() / 1000) + " s" +
                   (last.empty() ? "" : " (last: " + last + ")") +
                   "; start all ranks, with the same list of addresses");
}

void LinkImpl::received(Peer& peer, const message::Control& message) {
    switch (message.message_case()) {
        case message::Control::kWindow: {
            const message::Window& w = message.window();
            if (peer.windows.size() >= options_.most_windows)
                return fail(peer, "it registers more than " +
                                      std::to_string(options_.most_windows) +
                                      " windows: the limit on windows");
            peer.windows[w.id()] =
                Window{w.address(), w.bytes(), nullptr, w.name(), w.writable(), -1, w.shared()};
            return;
        }
        case message::Control::kWindowGone:
            peer.windows.erase(message.window_gone().id());
            return;
        case message::Control::kArrival:
            peer.arrived = message.arrival().point();
            return;
        case message::Control::kGoodbye:
            peer.left = true;
            peer.why_left = message.goodbye().why();
            peer.session.lose_answers(gone(peer).message());
            return;
        case message::Control::kProgress:
            if (message.progress().ask())
                asked_ = message.progress().round();
            else
                peer.said = message.progress();
            return;
        case message::Control::kDeadlock:
            asio::post(io_, [this] { declare_deadlock(); });
            return;
        default:
            return;
    }
}

// ---- the clock

awaitable<void> LinkImpl::tick() {
    const milliseconds often =
        std::clamp(std::min(options_.limits.heartbeat, options_.limits.unacknowledged) / 4,
                   milliseconds(2), milliseconds(20));
    for (;;) {
        co_await pause(often);
        const auto now = Session::Clock::now();
        for (auto& peer : peers_) {
            if (!peer) continue;
            std::string why;
            {
                const Lock lock(peer->mutex);
                if (peer->lost) continue;
                if (const Result<void> due = peer->session.tick(now); !due)
                    drop(*peer, due.error().message());
                flush(*peer);
                if (!peer->session.process() && peer->session.failure().empty() &&
                    now - began_ > options_.patience)
                    fail_absent(*peer);
                // A process that had dialled and is gone does not dial again.
                if (peer->rank > me_.rank && !peer->connection && peer->session.process() &&
                    peer->session.failure().empty() && !peer->left) {
                    const auto endpoint = resolve(peer->address, false);
                    if (endpoint && !endpoint->beyond_this_host && !is_alive(*endpoint))
                        fail(*peer, "its process has ended");
                }
                if (peer->session.failure().empty() && !peer->left) continue;
                peer->lost = true;
                why = gone(*peer).message();
                peer->changed.notify_all();
            }
            const std::lock_guard guard(callbacks_);
            if (lost_) lost_(peer->rank, why);
        }
        look_for_deadlock();
    }
}

}  // namespace sassemu::link
