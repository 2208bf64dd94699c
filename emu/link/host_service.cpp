// SPDX-License-Identifier: Apache-2.0
// See host_service.hpp. A thread of its own talks to the sockets; what is asked for is done by
// step(), in turns of the scheduler, and answered from there.
#include "emu/link/host_service.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "emu/base/lend_thread.hpp"
#include "emu/base/limits.hpp"
#include "emu/link/address.hpp"
#include "emu/link/host_client.hpp"
#include "emu/machine.hpp"
#include "emu/machine/outside.hpp"

namespace sassemu::link {

namespace {

constexpr size_t most_strangers = 16;  // that have not said hello
constexpr std::chrono::seconds hello_within{5};

class HostService final : public plan::HostProcesses, public OutsideAgent {
  public:
    HostService(HostServiceOptions options, std::string path, Descriptor listener)
        : options_(std::move(options)), path_(std::move(path)), listener_(std::move(listener)) {}
    ~HostService() override {
        HostService::leave();
        ::unlink(path_.c_str());
    }

    // ---- for the run

    Result<void> add(Machine& machine, const plan::Buffer& buffer, uint32_t gpu, uint64_t address,
                     bool direct) override {
        return windows_.add(dynamic_cast<OutsideMemory&>(machine), buffer, gpu, address, direct);
    }

    Result<void> begin(Machine& machine) override {
        machine_ = &machine;
        memory_ = &dynamic_cast<OutsideMemory&>(machine);
        since_ = Clock::now();
        wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (wake_.number() < 0)
            return Error{ErrorCode::system, options_.address, "the host gives no descriptor", ""};
        thread_ = lend_thread([this] { work(); });
        if (!thread_.joinable())
            return Error{ErrorCode::system, options_.address, "the host has no thread for it", ""};
        memory_->add_outside(*this);
        if (!options_.begin_at_once) {
            SASSEMU_TRY(machine.wait_until("for a host process to attach and to begin", [this] {
                const std::lock_guard lock(mutex_);
                return may_begin() || stopped() || (!ever_attached_ && patience_over());
            }));
        }
        SASSEMU_TRY(process_budget().check("--listen " + options_.address));
        const std::lock_guard lock(mutex_);
        phase_ = Phase::running;
        if (options_.begin_at_once || ever_attached_ || stopped()) return {};
        return Error{ErrorCode::limit, "--listen " + options_.address,
                     "no host process has attached within " +
                         std::to_string(options_.patience.count() / 1000) + " s",
                     "--patience waits longer, --begin-at-once not at all"};
    }

    std::vector<std::string> end(const std::string& outcome) override {
        {
            const std::lock_guard lock(mutex_);
            outcome_ = outcome;
            phase_ = Phase::over;
            since_ = Clock::now();
        }
        if (thread_.joinable()) {
            const Result<void> left = machine_->wait_until("for host processes to detach", [this] {
                const std::lock_guard lock(mutex_);
                return attached(true) == 0 || stopped() || patience_over();
            });
            (void)left;  // whoever waits for ever then is told below
        }
        leave();
        return std::move(notes_);
    }

    void leave() noexcept override {
        if (!thread_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            phase_ = Phase::closed;
        }
        poke();
        thread_.join();
        memory_->remove_outside(*this);
        for (const ClientRef& client : clients_) {
            if (client->state == Client::State::greeting || client->gone) continue;
            notes_.push_back(client->name() + " was still attached when the run ended");
            client->fail(SASSEMU_HOST_GONE, "the run is over: " + outcome_);
        }
        clients_.clear();
        ::unlink(path_.c_str());
    }

    // ---- for the scheduler, see OutsideAgent

    bool ready() override {
        const std::lock_guard lock(mutex_);
        job_ = Job::none;
        for (size_t n = 0; n < clients_.size() && job_ == Job::none; ++n) {
            chosen_ = clients_[(turns_ + n) % clients_.size()];
            job_ = job_of(*chosen_);
        }
        if (job_ == Job::none) chosen_.reset();  // its socket would stay open
        turns_ += job_ != Job::none;
        return job_ != Job::none;
    }

    void step() noexcept override {
        const ClientRef client = std::move(chosen_);
        try {
            switch (job_) {
                case Job::none:
                    return;
                case Job::drop:
                    return drop(*client);
                case Job::answer:
                    return end_wait(*client);
                case Job::serve:
                    return serve(*client);
            }
        } catch (const std::bad_alloc&) {
            answer(*client, Error{ErrorCode::system, "", "the emulator has no memory left", ""});
        }
    }

    bool settle() override { return false; }

    bool may_act() override {
        const std::lock_guard lock(mutex_);
        if (phase_ == Phase::waiting || (!ever_attached_ && !patience_over())) return true;
        return std::ranges::any_of(clients_, [](const ClientRef& one) { return one->may_act(); });
    }

    std::string waits() override {
        const std::lock_guard lock(mutex_);
        std::string text;
        for (const ClientRef& one : clients_)
            if (one->state == Client::State::waiting)
                text += one->name() + " waits " +
                        (one->condition ? "until " + memory_->text(*one->condition)
                                        : "for the end of the launches") +
                        "\n";
        for (const std::string& lost : notes_) text += lost + "\n";
        return text;
    }

  private:
    using Client = HostClient;
    using Clock = Client::Clock;
    using ClientRef = std::shared_ptr<Client>;
    enum class Job : uint8_t { none, drop, answer, serve };
    enum class Phase : uint8_t { waiting, running, over, closed };

    // ---- with the lock

    // Those that are gone count until nothing is left of them.
    size_t attached(bool gone) const {
        return static_cast<size_t>(std::ranges::count_if(clients_, [&](const ClientRef& one) {
            return one->state != Client::State::greeting && (gone || !one->gone);
        }));
    }
    bool may_begin() const {
        return ever_attached_ &&
               std::ranges::none_of(clients_, [](const ClientRef& one) { return one->hold; });
    }
    bool stopped() const { return process_budget().poll() != Budget::Stop::none; }
    // Nobody has said anything for so long.
    bool patience_over() const {
        auto last = since_;
        for (const ClientRef& one : clients_) last = std::max(last, one->heard);
        return Clock::now() - last >= options_.patience;
    }
    Job job_of(Client& client) {
        if (client.gone) return Job::drop;
        if (client.state == Client::State::asked) return Job::serve;
        if (client.state != Client::State::waiting) return Job::none;
        const bool over = phase_ == Phase::over;
        client.met = over;
        if (client.condition) client.met = memory_->look(*client.condition);
        if (client.met && !*client.met && !over) return Job::none;
        client.state = Client::State::answered;
        return Job::answer;
    }

    // ---- steps

    void answer(Client& client, Result<Answer> what) {
        const std::lock_guard lock(mutex_);
        client.state = Client::State::idle;
        if (what)
            client.send(what->head, what->payload, what->descriptor);
        else
            client.fail(status_of(what.error()), what.error().message());
        if (client.connection.unsent() || client.connection.anything_left() || client.gone) poke();
    }

    void end_wait(Client& client) {
        if (!client.met) return answer(client, client.met.error());
        if (!client.condition) {
            const auto* text = reinterpret_cast<const std::byte*>(outcome_.data());
            return answer(client,
                          Answer{{}, {text, text + std::min<size_t>(outcome_.size(), 500)}});
        }
        if (*client.met) return answer(client, Answer{});
        const std::lock_guard lock(mutex_);
        client.state = Client::State::idle;
        client.fail(SASSEMU_HOST_ENDED,
                    "the launches have ended (" + outcome_ +
                        ") and nobody can write what is waited for: " + client.waits_at);
    }

    // It has ended: what kernels see of it goes too.
    void drop(Client& client) {
        windows_.release_all(*machine_, client.number);
        const std::lock_guard lock(mutex_);
        forget(client);
        poke();
    }

    void detach(Client& client) {
        windows_.release_all(*machine_, client.number);
        const std::lock_guard lock(mutex_);
        client.send({}, {});
        forget(client);
        poke();
    }

    void serve(Client& client) {
        const sassemu_wire_request& request = client.request.head;
        switch (request.what) {
            case SASSEMU_WIRE_BEGIN: {
                const std::lock_guard lock(mutex_);
                client.hold = false;
                break;
            }
            case SASSEMU_WIRE_WAIT:
            case SASSEMU_WIRE_FINISH:
                return wait(client);
            case SASSEMU_WIRE_DETACH:
                return detach(client);
            default:
                return answer(client, windows_.perform(*machine_, *memory_, client));
        }
        answer(client, Answer{});
    }

    void wait(Client& client) {
        const sassemu_wire_request& request = client.request.head;
        Result<std::optional<ValueCondition>> condition = windows_.condition(request);
        if (!condition) return answer(client, condition.error());
        client.condition = *condition;
        // One look there is, whatever the timeout.
        client.met = false;
        if (client.condition) client.met = memory_->look(*client.condition);
        {
            const std::lock_guard lock(mutex_);
            client.waits_at =
                client.condition ? windows_.place(request) : "the end of the launches";
            client.until.reset();
            // Beyond what the clock can say it is for ever.
            constexpr int64_t longest = int64_t{1} << 60;
            if (request.timeout >= 0 && request.timeout < longest)
                client.until = Clock::now() + std::chrono::nanoseconds(request.timeout);
            if (client.met && !*client.met && phase_ != Phase::over) {
                client.state = Client::State::waiting;
                poke();  // there may be an earlier time to wake up at
                return;
            }
        }
        end_wait(client);
    }

    // ---- the thread of the sockets

    void poke() {
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_.number(), &one, sizeof one);
    }

    void work() {
        std::unique_lock lock(mutex_);
        while (phase_ != Phase::closed) {
            std::vector<pollfd> sockets{{wake_.number(), POLLIN, 0}};
            const bool room = clients_.size() < options_.clients + most_strangers;
            sockets.push_back({room ? listener_.number() : -1, POLLIN, 0});
            const std::vector<ClientRef> known = clients_;
            auto next = Clock::time_point::max();
            for (const ClientRef& one : known) {
                const bool more = !one->gone && !one->connection.full();
                const int events = (more ? POLLIN : 0) | (one->connection.unsent() ? POLLOUT : 0);
                sockets.push_back({one->gone ? -1 : one->connection.socket(),
                                   static_cast<short>(events | POLLRDHUP), 0});
                next = std::min(next, one->deadline(hello_within));
            }
            int patience = -1;
            if (next != Clock::time_point::max())
                patience = static_cast<int>(std::clamp<int64_t>(
                    std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count(), 0,
                    60'000));
            lock.unlock();
            ::poll(sockets.data(), sockets.size(), patience);
            uint64_t count;
            [[maybe_unused]] const ssize_t taken = ::read(wake_.number(), &count, sizeof count);
            lock.lock();
            if (phase_ == Phase::closed) return;
            bool news = false;
            for (size_t i = 0; i < known.size(); ++i)
                news |= look_at(known[i], sockets[i + 2].revents);
            if (sockets[1].revents) accept();
            if (!news) continue;
            lock.unlock();
            memory_->wake();
            lock.lock();
        }
    }

    void accept() {
        Descriptor socket(
            ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.number() < 0) return;
        // Who does not say who it is makes room for nobody.
        constexpr std::ptrdiff_t most_greeting = 64;
        if (std::ranges::count(clients_, Client::State::greeting, &Client::state) >= most_greeting)
            return;
        auto client = std::make_shared<Client>(std::move(socket));
        clients_.push_back(std::move(client));
    }

    // True: the scheduler has something to do.
    bool look_at(const ClientRef& client, short events) {
        const auto now = Clock::now();
        if (client->gone) return false;
        if (events & POLLOUT && !client->connection.flush()) return lost(client);
        if (events & POLLIN) client->heard = now;
        if (events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR) &&
            (!client->connection.receive() || (client->connection.full() && events & POLLRDHUP)))
            return lost(client);
        bool news = false;
        if (client->state == Client::State::greeting) {
            if (!greet(*client) || now >= client->deadline(hello_within)) forget(*client);
            if (client->state == Client::State::greeting) return false;
            news = true;
        }
        if (client->state == Client::State::waiting && client->until && now >= *client->until) {
            client->state = Client::State::idle;
            client->fail(SASSEMU_HOST_TIMEOUT, "the time is over: " + client->waits_at);
        }
        if (client->state != Client::State::idle) return news;
        auto request = client->connection.request();
        if (!request) {
            client->fail(SASSEMU_HOST_REFUSED, request.error().message());
            return lost(client, "was refused: " + request.error().message());
        }
        if (!*request) return news;
        client->request = std::move(**request);
        client->state = Client::State::asked;
        return true;
    }

    // False: it is not to stay.
    bool greet(Client& client) {
        const auto hello = client.connection.hello();
        if (!hello) return true;
        std::string why;
        if (std::memcmp(hello->magic, SASSEMU_WIRE_MAGIC, sizeof hello->magic) != 0) return false;
        if (hello->version != SASSEMU_WIRE_VERSION)
            why = "the emulator speaks version " + std::to_string(SASSEMU_WIRE_VERSION) +
                  " of the host protocol, and the library " + std::to_string(hello->version);
        else if (!client.connection.same_user())
            why = "the emulator is another user's";
        else if (phase_ == Phase::over)
            why = "the launches have ended";
        else if (attached(false) >= options_.clients)
            why = std::to_string(options_.clients) +
                  " host processes are attached already: the limit (--clients)";
        const bool good = why.empty();
        client.connection.welcome(windows_.direct() ? SASSEMU_WIRE_SHARED : 0,
                                  good ? SASSEMU_HOST_OK : SASSEMU_HOST_REFUSED, why);
        if (!client.connection.flush() || !good) return false;
        client.state = Client::State::idle;
        client.number = ++last_number_;
        client.hold = hello->flags & SASSEMU_WIRE_HOLD;
        ever_attached_ = true;
        return true;
    }

    void forget(const Client& client) {
        std::erase_if(clients_, [&](const ClientRef& one) { return one.get() == &client; });
    }

    bool lost(const ClientRef& client, const std::string& how = "has ended without detaching") {
        if (client->state == Client::State::greeting) {
            forget(*client);
            return false;
        }
        if (std::ranges::find(clients_, client) == clients_.end()) return false;  // it has detached
        client->gone = true;
        client->hold = false;
        notes_.push_back(client->name() + " " + how);
        return true;
    }

    const HostServiceOptions options_;
    const std::string path_;
    const Descriptor listener_;
    Descriptor wake_;
    Machine* machine_ = nullptr;
    OutsideMemory* memory_ = nullptr;
    HostWindows windows_;  // in steps, and while there are none
    std::thread thread_;
    ClientRef chosen_;  // whose turn the next step is, and what it does
    Job job_ = Job::none;
    size_t turns_ = 0;

    // Never held while the machine is called, but for looks.
    std::mutex mutex_;
    Phase phase_ = Phase::waiting;
    std::vector<ClientRef> clients_;
    bool ever_attached_ = false;
    uint32_t last_number_ = 0;
    Clock::time_point since_{};  // of the phase
    std::string outcome_;
    std::vector<std::string> notes_;
};

}  // namespace

Result<std::shared_ptr<plan::HostProcesses>> make_host_service(HostServiceOptions options) {
    auto address = parse_address(options.address);
    if (!address) return std::move(address).error().within("--listen");
    if (!address->local)
        return Error{ErrorCode::unsupported, "--listen",
                     "'" + options.address + "': host processes attach through a Unix socket",
                     "unix:PATH"};
    auto listener = listen_privately(address->host_or_path, "--listen " + options.address);
    if (!listener) return std::move(listener).error();
    return std::shared_ptr<plan::HostProcesses>(std::make_shared<HostService>(
        std::move(options), address->host_or_path, std::move(*listener)));
}

}  // namespace sassemu::link
