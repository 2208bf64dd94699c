// SPDX-License-Identifier: Apache-2.0
// What the link's thread does: it moves bytes, hears what the others say of themselves, and looks
// at the clock. How connections come about is in link_connections.cpp; all coroutines run on that
// one thread.
#include <algorithm>

#include "emu/base/lend_thread.hpp"
#include "emu/link/link_impl.hpp"

namespace sassemu::link {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr size_t most_pieces = 16;

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
        SASSEMU_ASSIGN(tls_, open_tls(options_.security));
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
    thread_ = lend_thread([this] { work(); });
    if (!thread_.joinable())
        return Error{ErrorCode::system, "link", "the host has no thread for it", ""};
    return {};
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
// where a caller looks, nor where what comes or goes takes its time anyway.
void LinkImpl::work() {
    auto last = Session::Clock::now();
    while (!io_.stopped()) {
        const bool looks =
            !looking_ && !streams_ && !sends_ && Session::Clock::now() - last < look_on;
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

awaitable<void> LinkImpl::pause(milliseconds time) {
    asio::steady_timer timer(io_, time);
    boost::system::error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
}

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
