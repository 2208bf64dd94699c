// SPDX-License-Identifier: Apache-2.0
// The calls of link.hpp.
#include "emu/link/link.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "emu/base/descriptor_message.hpp"
#include "emu/base/limits.hpp"
#include "emu/link/link_impl.hpp"

namespace sassemu::link {

namespace {

constexpr std::chrono::milliseconds look_at_limits{20};

uint64_t drawn() {
    std::random_device random;
    uint64_t value = 0;
    while (!value) value = uint64_t{random()} << 32 | random();
    return value;
}

}  // namespace

Result<std::unique_ptr<Link>> Link::create(LinkOptions options) {
    auto link = std::make_unique<LinkImpl>(std::move(options));
    SASSEMU_TRY(link->begin());
    return std::unique_ptr<Link>(std::move(link));
}

LinkImpl::LinkImpl(LinkOptions options)
    : options_(std::move(options)),
      me_{options_.rank, static_cast<uint32_t>(options_.addresses.size()), options_.job, drawn()},
      windows_(options_.most_windows) {}

// In order: what was posted is performed, and the others hear that this one is through.
LinkImpl::~LinkImpl() {
    message::Control goodbye;
    goodbye.mutable_goodbye();
    tell_all(goodbye);
    const bool stopped = process_budget().cause() != Budget::Stop::none;
    const auto until =
        Session::Clock::now() +
        std::min(options_.limits.give_up, std::chrono::milliseconds(stopped ? 200 : 2000));
    for (auto& peer : peers_) {
        if (!peer) continue;
        Lock lock(peer->mutex);
        peer->changed.wait_until(lock, until, [&] {
            return !peer->session.up() || !peer->session.kept_bytes() || !thread_.joinable();
        });
    }
    io_.stop();
    if (thread_.joinable()) thread_.join();
    if (!bound_path_.empty()) ::unlink(bound_path_.c_str());
}

Result<LinkImpl::Peer*> LinkImpl::other(uint32_t rank) {
    if (rank < peers_.size() && peers_[rank]) return peers_[rank].get();
    return Error{ErrorCode::usage, "rank " + std::to_string(rank), "is no other rank", ""};
}

Error LinkImpl::gone(const Peer& peer) const {
    const std::string who = "rank " + std::to_string(peer.rank);
    if (!peer.session.failure().empty())
        return Error{ErrorCode::system, who, peer.session.failure(), ""};
    return Error{ErrorCode::system, who,
                 "has ended" + (peer.why_left.empty() ? "" : ": " + peer.why_left), ""};
}

template <class F>
Result<void> LinkImpl::wait(Peer& peer, Lock& lock, F&& met, bool soon) {
    const auto over = [&] { return !peer.session.failure().empty() || peer.left; };
    // An answer often is there before a sleep would have begun.
    if (soon && !met()) {
        ++looking_;
        const auto until = Session::Clock::now() + look_on;
        while (!met() && !over() && peer.connection && !peer.connection->secured() &&
               Session::Clock::now() < until) {
            read(peer.connection, peer);
            lock.unlock();
            lock.lock();
        }
        --looking_;
    }
    while (!peer.changed.wait_for(lock, look_at_limits, [&] { return met() || over(); })) continue;
    if (met()) return {};
    return gone(peer);
}

Result<void> LinkImpl::room(Peer& peer, Lock& lock, size_t body_bytes, bool request) {
    if (request) sends_ = false;
    const auto there = [&] {
        return peer.session.failure().empty() && !peer.left && peer.session.has_room(body_bytes) &&
               (!request || peer.session.may_request());
    };
    return wait(peer, lock, there, false);
}

Result<Session::Answer> LinkImpl::ask(Peer& peer, Lock& lock, uint64_t request) {
    flush(peer);
    std::optional<Session::Answer> answer;
    const auto there = [&] {
        if (!answer) answer = peer.session.answer(request);
        return answer.has_value();
    };
    const Result<void> waited = wait(peer, lock, there);
    if (!waited) {
        peer.session.forget(request);
        return waited.error();
    }
    if (answer->status == Status::ok) return std::move(*answer);
    return Error{ErrorCode::input, "rank " + std::to_string(peer.rank),
                 "the operation was refused: " + std::string(status_text(answer->status)), ""};
}

Result<void> LinkImpl::put(uint32_t rank, uint32_t window, uint64_t offset,
                           std::span<const std::byte> bytes) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    Lock lock(peer->mutex);
    sends_ = bytes.size() >= much;
    do {
        SASSEMU_TRY(room(*peer, lock, sizeof(PutBody), false));
        const auto part = bytes.first(std::min<size_t>(bytes.size(), peer->session.most_bytes()));
        SASSEMU_TRY(room(*peer, lock, sizeof(PutBody) + part.size(), false));
        peer->session.put(window, offset, part);
        flush_all(*peer, lock);
        bytes = bytes.subspan(part.size());
        offset += part.size();
    } while (!bytes.empty());
    return {};
}

Result<void> LinkImpl::get(uint32_t rank, uint32_t window, uint64_t offset,
                           std::span<std::byte> bytes) {
    return get_all(rank, window, offset, bytes, false);
}
Result<void> LinkImpl::look(uint32_t rank, uint32_t window, uint64_t offset,
                            std::span<std::byte> bytes) {
    return get_all(rank, window, offset, bytes, true);
}

Result<void> LinkImpl::get_all(uint32_t rank, uint32_t window, uint64_t offset,
                               std::span<std::byte> bytes, bool looks_on) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    Lock lock(peer->mutex);
    do {
        SASSEMU_TRY(room(*peer, lock, sizeof(GetBody), true));
        const auto part =
            bytes.first(std::min<size_t>({bytes.size(), peer->session.most_bytes(),
                                          options_.limits.frame_bytes - sizeof(GetBody)}));
        SASSEMU_TRY(ask(*peer, lock, peer->session.get(window, offset, part, looks_on)));
        bytes = bytes.subspan(part.size());
        offset += part.size();
    } while (!bytes.empty());
    return {};
}

AtomicBody LinkImpl::body_of(const AtomicRequest& what) const {
    return {0,
            what.window,
            static_cast<uint8_t>(what.op),
            static_cast<uint8_t>(what.type),
            static_cast<uint8_t>(what.bytes),
            0,
            what.offset,
            {what.operand[0], what.operand[1]},
            {what.swap[0], what.swap[1]}};
}

Result<Wide128> LinkImpl::atomic(uint32_t rank, const AtomicRequest& what) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    Lock lock(peer->mutex);
    SASSEMU_TRY(room(*peer, lock, sizeof(AtomicBody), true));
    SASSEMU_ASSIGN(const Session::Answer answer,
                   ask(*peer, lock, peer->session.atomic(body_of(what))));
    return Wide128{answer.old[0], answer.old[1]};
}

// `send` asks for it, and returns the request.
template <class F>
void LinkImpl::later(uint32_t rank, size_t body_bytes, const Then& then, F&& send) {
    Session::Answer none;
    const auto peer = other(rank);
    if (!peer) {
        none.lost = peer.error().message();
        return then(none);
    }
    Lock lock((*peer)->mutex);
    if (const Result<void> good = room(**peer, lock, body_bytes, true); !good) {
        none.lost = good.error().message();
        return then(none);
    }
    (*peer)->session.when_answered(send((*peer)->session), then);
    flush(**peer);
}

void LinkImpl::get_later(uint32_t rank, uint32_t window, uint64_t offset,
                         std::span<std::byte> bytes, Then then) {
    later(rank, sizeof(GetBody), then,
          [&](Session& session) { return session.get(window, offset, bytes); });
}

void LinkImpl::atomic_later(uint32_t rank, const AtomicRequest& what, Then then) {
    later(rank, sizeof(AtomicBody), then,
          [&](Session& session) { return session.atomic(body_of(what)); });
}

Result<void> LinkImpl::reduce(uint32_t rank, const AtomicRequest& what) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    Lock lock(peer->mutex);
    SASSEMU_TRY(room(*peer, lock, sizeof(AtomicBody), false));
    peer->session.reduce(body_of(what));
    flush(*peer);
    return {};
}

Result<void> LinkImpl::drain(uint32_t rank) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    Lock lock(peer->mutex);
    SASSEMU_TRY(room(*peer, lock, sizeof(DrainBody), true));
    SASSEMU_ASSIGN(const Session::Answer answer, ask(*peer, lock, peer->session.drain()));
    if (answer.refused.empty()) return {};
    return Error{ErrorCode::input, "rank " + std::to_string(rank), answer.refused, ""};
}

void LinkImpl::tell_all(const message::Control& message) {
    for (auto& peer : peers_) {
        if (!peer) continue;
        const Lock lock(peer->mutex);
        if (!peer->session.failure().empty() || peer->left) continue;
        peer->session.control(message);
        flush(*peer);
    }
}

Result<void> LinkImpl::meet() {
    ++met_;
    message::Control message;
    message.mutable_arrival()->set_point(met_);
    tell_all(message);
    for (auto& peer : peers_) {
        if (!peer) continue;
        Lock lock(peer->mutex);
        // Nobody is woken by a limit or a signal.
        while (peer->arrived < met_) {
            SASSEMU_TRY(process_budget().check("rank " + std::to_string(peer->rank)));
            const auto until = Session::Clock::now() + look_at_limits;
            SASSEMU_TRY(wait(*peer, lock, [&] {
                return peer->arrived >= met_ || Session::Clock::now() >= until;
            }));
        }
    }
    return {};
}

Result<uint32_t> LinkImpl::add_window(const Window& window) {
    SASSEMU_ASSIGN(const uint32_t id, windows_.add(window));
    message::Control message;
    message::Window& said = *message.mutable_window();
    said.set_id(id);
    said.set_address(window.address);
    said.set_bytes(window.bytes);
    said.set_name(window.name);
    said.set_writable(window.writable);
    said.set_shared(window.descriptor >= 0);
    tell_all(message);
    return id;
}

Result<void> LinkImpl::remove_window(uint32_t id) {
    SASSEMU_TRY(windows_.remove(id));
    message::Control message;
    message.mutable_window_gone()->set_id(id);
    tell_all(message);
    return {};
}

std::vector<Link::RemoteWindow> LinkImpl::windows(uint32_t rank) {
    std::vector<RemoteWindow> all;
    const auto peer = other(rank);
    if (!peer) return all;
    const Lock lock((*peer)->mutex);
    for (const auto& [id, window] : (*peer)->windows) all.push_back({id, window});
    return all;
}

// On a connection of its own, so that frames and descriptors cannot get out of step.
Result<int> LinkImpl::descriptor(uint32_t rank, uint32_t window) {
    SASSEMU_ASSIGN(Peer * peer, other(rank));
    const std::string what = "rank " + std::to_string(rank) + ", window " + std::to_string(window);
    const auto failed = [&](std::string why) {
        return Error{ErrorCode::system, what, "its memory cannot be had: " + std::move(why), ""};
    };
    if (!peer->address.local) return failed("descriptors go through Unix sockets only");
    SASSEMU_ASSIGN(const Endpoint endpoint, resolve(peer->address, false));
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{10, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&endpoint.at), endpoint.bytes))
        return failed(std::strerror(errno));
    message::Control hello;
    {
        const Lock lock(peer->mutex);
        *hello.mutable_hello() = peer->session.hello();
    }
    hello.mutable_hello()->set_descriptor_of(window);
    const Bytes asked = loose_frame(hello);
    if (::send(socket.number(), asked.data(), asked.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(asked.size()))
        return failed(std::strerror(errno));
    FrameParser parser(options_.limits.frame_bytes);
    Descriptor got;
    for (;;) {
        const auto frame = parser.next();
        if (!frame) return failed(frame.error().message());
        if (*frame) {
            const auto answer = control_of(**frame);
            if (!answer) return failed(answer.error().message());
            if (answer->has_refusal()) return failed(answer->refusal().why());
            if (answer->window().id() != window || got.number() < 0)
                return failed("the answer has no descriptor");
            return got.release();
        }
        const auto room = parser.room();
        const ssize_t count = receive_with(socket.number(), room, got);
        if (count <= 0) return failed(count ? std::strerror(errno) : "the connection ended");
        parser.filled(static_cast<size_t>(count));
    }
}

void LinkImpl::watch(std::function<Progress()> progress, std::function<void()> stuck) {
    const std::lock_guard guard(callbacks_);
    progress_ = std::move(progress);
    stuck_ = std::move(stuck);
}

void LinkImpl::on_loss(std::function<void(uint32_t, const std::string&)> lost) {
    const std::lock_guard guard(callbacks_);
    lost_ = std::move(lost);
}

std::string LinkImpl::failure(uint32_t rank) {
    const auto peer = other(rank);
    if (!peer) return {};
    const Lock lock((*peer)->mutex);
    if ((*peer)->session.failure().empty() && !(*peer)->left) return {};
    return gone(**peer).message();
}

}  // namespace sassemu::link
