// SPDX-License-Identifier: Apache-2.0
// The Link behind link.hpp. Its calls are in link.cpp, how connections come about in
// link_connections.cpp, what its thread does then in link_network.cpp, how it finds deadlocks in
// link_deadlock.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "emu/link/address.hpp"
#include "emu/link/asio.hpp"
#include "emu/link/connection.hpp"
#include "emu/link/link.hpp"

namespace sassemu::link {

class LinkImpl final : public Link {
  public:
    explicit LinkImpl(LinkOptions options);
    ~LinkImpl() override;
    Result<void> begin();

    Result<void> meet() override;
    Result<uint32_t> add_window(const Window& window) override;
    Result<void> remove_window(uint32_t id) override;
    std::vector<RemoteWindow> windows(uint32_t rank) override;
    Result<int> descriptor(uint32_t rank, uint32_t window) override;
    Result<void> put(uint32_t rank, uint32_t window, uint64_t offset,
                     std::span<const std::byte> bytes) override;
    Result<void> get(uint32_t rank, uint32_t window, uint64_t offset,
                     std::span<std::byte> bytes) override;
    Result<Wide128> atomic(uint32_t rank, const AtomicRequest& what) override;
    void get_later(uint32_t rank, uint32_t window, uint64_t offset, std::span<std::byte> bytes,
                   Then then) override;
    void atomic_later(uint32_t rank, const AtomicRequest& what, Then then) override;
    Result<void> look(uint32_t rank, uint32_t window, uint64_t offset,
                      std::span<std::byte> bytes) override;
    Result<void> reduce(uint32_t rank, const AtomicRequest& what) override;
    Result<void> drain(uint32_t rank) override;
    void watch(std::function<Progress()> progress, std::function<void()> stuck) override;
    void on_loss(std::function<void(uint32_t, const std::string&)> lost) override;
    std::string failure(uint32_t rank) override;

  private:
    using Lock = std::unique_lock<std::mutex>;
    // Another rank. All of it with its mutex.
    struct Peer {
        Peer(Identity me, uint32_t rank, const SessionLimits& limits, Windows& windows,
             Session::Time now)
            : rank(rank), session(std::move(me), rank, limits, windows, now) {}
        const uint32_t rank;
        Address address;
        std::mutex mutex;
        std::condition_variable changed;
        Session session;
        ConnectionRef connection;  // null: none at present
        std::map<uint32_t, Window> windows;
        uint64_t arrived = 0;  // how often it has come to meet()
        bool left = false, lost = false;
        uint32_t unproved = 0;  // TLS handshakes in a row that failed
        std::string why_left;
        message::Progress said;  // its last answer to a question of rank 0
    };

    static constexpr std::chrono::microseconds look_on{30};
    // More than answers and small requests.
    static constexpr size_t much = 16 << 10;

    // ---- calls
    Result<Peer*> other(uint32_t rank);
    Error gone(const Peer& peer) const;
    // Waits, with the lock, until `met` or the peer is gone.
    template <class F>
    Result<void> wait(Peer& peer, Lock& lock, F&& met, bool soon = true);
    Result<Session::Answer> ask(Peer& peer, Lock& lock, uint64_t request);
    Result<void> get_all(uint32_t rank, uint32_t window, uint64_t offset,
                         std::span<std::byte> bytes, bool looks_on);
    template <class F>
    void later(uint32_t rank, size_t body_bytes, const Then& then, F&& send);
    Result<void> room(Peer& peer, Lock& lock, size_t body_bytes, bool request);
    void tell_all(const message::Control& message);
    AtomicBody body_of(const AtomicRequest& what) const;

    // ---- network
    Result<void> listen(const Address& address);
    Result<void> may_use(const Address& address, const Endpoint& endpoint) const;
    awaitable<void> accept();
    awaitable<void> serve(ConnectionRef connection);
    awaitable<void> dial(Peer& peer);
    awaitable<Result<void>> dial_once(Peer& peer);
    awaitable<Result<ConnectionRef>> connect_to(Peer& peer);
    awaitable<void> run(ConnectionRef connection, Peer& peer);
    void work();
    awaitable<void> tick();
    awaitable<void> finish_writing(ConnectionRef connection, Peer& peer);
    awaitable<void> pause(std::chrono::milliseconds time);
    std::shared_ptr<boost::asio::steady_timer> shut_after(ConnectionRef connection,
                                                          std::chrono::milliseconds time);
    void attach(Peer& peer, const ConnectionRef& connection, const message::Hello& theirs);
    // These with the peer's lock.
    bool take(const ConnectionRef& connection, Peer& peer);
    bool read(ConnectionRef connection, Peer& peer);
    bool write_out(const ConnectionRef& connection, Peer& peer);
    void flush(Peer& peer);
    void flush_all(Peer& peer, Lock& lock);
    void drop(Peer& peer, const std::string& why);
    void fail(Peer& peer, const std::string& why);
    void fail_absent(Peer& peer);
    void received(Peer& peer, const message::Control& message);

    // ---- deadlocks
    void look_for_deadlock();
    std::optional<message::Progress> own_progress(uint64_t round);
    void declare_deadlock();
    bool unanswered();
    uint32_t coordinator();

    const LinkOptions options_;
    const Identity me_;
    Windows windows_;
    std::vector<Address> addresses_;
    std::shared_ptr<Tls> tls_;
    boost::asio::io_context io_{1};
    std::optional<boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>>
        acceptor_;
    std::string bound_path_;
    std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: this one
    uint64_t met_ = 0;                          // how often this one has come to meet()
    const Session::Time began_ = Session::Clock::now();
    uint32_t strangers_ = 0;  // connections that have not said who they are
    std::mutex callbacks_;    // and what follows
    std::function<Progress()> progress_;
    std::function<void()> stuck_;
    std::function<void(uint32_t, const std::string&)> lost_;
    std::string last_stranger_;  // why the last connection without a hello was closed
    // Of who asks: the question that is being asked, and what was answered to the one before.
    uint64_t round_ = 0;
    std::vector<message::Progress> before_;
    // Of the others: the question to answer (round 0: none), and how things stood when it came.
    uint64_t asked_ = 0;
    Progress when_asked_;
    bool found_stuck_ = false;
    std::atomic<uint32_t> looking_{0};  // callers that look for an answer by themselves
    std::atomic<bool> streams_{false};  // what came last was `much`
    std::atomic<bool> sends_{false};    // what was asked last was `much`
    std::thread thread_;
};

}  // namespace sassemu::link
