// SPDX-License-Identifier: Apache-2.0
// Every kind of Hello, and of what is none, to a rank that waits for others and to one that has met
// them: by anybody who can connect, before anything is proved. The rank goes on, and answers or
// closes; what the others do with each other is as before.
//     SASSEMU_HELLOS=10000 [SASSEMU_SEED=n] build/release/tests/link_hello_test
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <random>

#include "emu/link/address.hpp"
#include "emu/link/connection.hpp"
#include "emu/link/link.hpp"

namespace {

using namespace sassemu;
using namespace sassemu::link;
using std::chrono::milliseconds;

uint32_t asked(const char* name, uint32_t otherwise) {
    const char* const text = std::getenv(name);
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

class Hellos : public testing::TestWithParam<const char*> {
  protected:
    static constexpr uint32_t ranks = 3;
    Hellos() {
        char name[] = "/tmp/sassemu-hello-XXXXXX";
        folder_ = ::mkdtemp(name);
        for (uint32_t r = 0; r < ranks; ++r)
            addresses_.push_back(GetParam() == std::string("unix")
                                     ? "unix:" + folder_ + "/" + std::to_string(r)
                                     : "tcp:127.0.0.1:" + std::to_string(free_port()));
        if (GetParam() == std::string("tls")) {
            key_ = folder_ + "/key";
            const int file = ::open(key_.c_str(), O_CREAT | O_WRONLY, 0600);
            EXPECT_EQ(::write(file, "sixteen bytes and more", 22), 22);
            ::close(file);
        }
    }
    ~Hellos() override { std::filesystem::remove_all(folder_); }

    static unsigned free_port() {
        static std::mt19937 random(static_cast<uint32_t>(::getpid()));
        for (;;) {
            sockaddr_in at{};
            at.sin_family = AF_INET;
            at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            const unsigned port = 10000 + random() % 20000;
            at.sin_port = htons(static_cast<uint16_t>(port));
            const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
            const int bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at);
            ::close(socket);
            if (!bound) return port;
        }
    }
    LinkOptions options(uint32_t rank, milliseconds patience) const {
        LinkOptions options;
        options.rank = rank;
        options.addresses = addresses_;
        options.job = "job";
        options.security.key = key_;
        options.limits.frame_bytes = 65536;
        options.limits.in_flight_bytes = 1 << 20;
        options.patience = patience;
        return options;
    }

    uint32_t any(std::initializer_list<uint32_t> values) {
        return values.begin()[random_() % values.size()];
    }
    // Right in most fields, so that each rule has its turn.
    message::Hello hello() {
        message::Hello out;
        const auto odd = [&] { return random_() % 6 == 0; };
        out.set_version(odd() ? any({0, 2, 7, ~0u}) : 1);
        out.set_oldest(odd() ? any({0, 2, ~0u}) : 1);
        out.set_rank(any({0, 1, 2, 3, 4, 1023, 1024, ~0u}));
        out.set_ranks(odd() ? any({0, 1, 2, 4, ~0u}) : ranks);
        out.set_job(odd() ? std::string(any({0, 1, 60'000}), 'x') : "job");
        out.set_process(odd() ? any({0, 1}) : 0x5eed + random_() % 3);
        out.set_peer(odd() ? any({1, ~0u}) : 0);
        out.set_received(odd() ? any({1, 2, ~0u}) : 0);
        out.set_frame_bytes(odd() ? any({0, 1, 4095, ~0u}) : 65536);
        out.set_in_flight_bytes(odd() ? any({0, 4096, ~0u}) : 1 << 20);
        out.set_requests(odd() ? any({0, 1, ~0u}) : 16);
        out.set_descriptor_of(random_() % 3 == 0 ? any({1, 2, 3, 99, ~0u}) : 0);
        return out;
    }
    message::Control control() {
        message::Control out;
        switch (random_() % 12) {
            case 0:
                out.mutable_refusal()->set_why("no");
                break;
            case 1:
                out.mutable_window()->set_id(1);
                break;
            case 2:
                out.mutable_arrival()->set_point(~uint64_t{0});
                break;
            case 3:
                out.mutable_goodbye();
                break;
            case 4:
                break;  // says nothing
            default:
                *out.mutable_hello() = hello();
        }
        return out;
    }
    // Whole, cut off, damaged, repeated, or bytes that are no frame at all.
    Bytes message() {
        Bytes out = loose_frame(control());
        switch (random_() % 10) {
            case 0:
                out.resize(random_() % out.size());
                break;
            case 1:
                out[random_() % out.size()] ^= static_cast<std::byte>(1 + random_() % 255);
                break;
            case 2: {
                const Bytes more = loose_frame(control());
                out.insert(out.end(), more.begin(), more.end());
                break;
            }
            case 3:
                for (std::byte& byte : out) byte = static_cast<std::byte>(random_());
                break;
            default:
                break;
        }
        return out;
    }

    // What the rank answers: the kind of its message, or that it says nothing.
    std::string send(uint32_t rank, const Bytes& bytes) {
        const auto address = parse_address(addresses_[rank]);
        const auto endpoint = resolve(*address, false);
        const int socket = ::socket(endpoint->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(socket, reinterpret_cast<const sockaddr*>(&endpoint->at), endpoint->bytes)) {
            ::close(socket);
            return "nobody listens";
        }
        (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        // Who has nothing more to say ends the connection, so that nobody waits.
        ::shutdown(socket, SHUT_WR);
        FrameParser parser(65536);
        std::string answer = "closed";
        for (pollfd of{socket, POLLIN, 0}; ::poll(&of, 1, 20'000) > 0;) {
            const auto room = parser.room();
            const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
            if (got <= 0) break;
            parser.filled(static_cast<size_t>(got));
            const auto frame = parser.next();
            if (!frame || !*frame) continue;
            const auto said = control_of(**frame);
            answer = !said                ? "something else"
                     : said->has_hello()  ? "hello"
                     : said->has_window() ? "window"
                                          : said->refusal().why();
            break;
        }
        ::close(socket);
        return answer;
    }

    std::string folder_, key_;
    std::vector<std::string> addresses_;
    std::mt19937 random_{asked("SASSEMU_SEED", 1)};
};

struct Rank {
    explicit Rank(LinkOptions options) : number(options.rank), memory(4096) {
        auto made = Link::create(std::move(options));
        if (!made) throw std::runtime_error(made.error().message());
        link = std::move(*made);
        shared = ::memfd_create("window", MFD_CLOEXEC);
        EXPECT_EQ(::ftruncate(shared, 4096), 0);
        own = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
        window = *link->add_window({0x1000, 4096, memory.data(), "w", true, -1, false});
        (void)*link->add_window(
            {0x3000, 4096, static_cast<std::byte*>(own), "shared", true, shared, false});
    }
    ~Rank() {
        link.reset();
        ::munmap(own, 4096);
        ::close(shared);
    }
    const uint32_t number;
    std::vector<std::byte> memory;
    std::unique_ptr<Link> link;
    uint32_t window = 0;
    int shared = -1;
    void* own = nullptr;
};

TEST_P(Hellos, OfEveryKindDoNotHarmRanksThatHaveMet) {
    std::vector<std::unique_ptr<Rank>> all;
    for (uint32_t r = 0; r < ranks; ++r)
        all.push_back(std::make_unique<Rank>(options(r, milliseconds(30'000))));
    const auto meet = [&] {
        std::vector<std::future<Result<void>>> met;
        for (auto& rank : all)
            met.push_back(std::async(std::launch::async, [&] { return rank->link->meet(); }));
        for (auto& one : met) {
            const Result<void> done = one.get();
            ASSERT_TRUE(done) << done.error().message();
        }
    };
    meet();
    std::map<std::string, int> answers;
    const uint32_t count = asked("SASSEMU_HELLOS", 300) / 6;
    for (uint32_t k = 0; k < count; ++k) ++answers[send(random_() % ranks, message())];
    for (const auto& [answer, times] : answers) std::printf("%6d  %s\n", times, answer.c_str());
    EXPECT_FALSE(answers.contains("nobody listens"));
    EXPECT_FALSE(answers.contains("hello"));  // every seat is taken
    // All is as it was.
    meet();
    for (auto& from : all)
        for (auto& to : all) {
            if (from == to) continue;
            const std::vector<std::byte> bytes(100, static_cast<std::byte>(random_()));
            ASSERT_TRUE(from->link->put(to->number, to->window, 8, bytes));
            ASSERT_TRUE(from->link->drain(to->number));
            EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), to->memory.begin() + 8));
        }
}

// One of them may take a seat: nothing is proved on this host. Whoever comes then is told so.
TEST_P(Hellos, OfEveryKindDoNotHarmARankThatWaits) {
    uint32_t left = asked("SASSEMU_HELLOS", 300) / 6;
    std::map<std::string, int> answers;
    while (left) {
        Rank waits(options(1, milliseconds(50)));
        auto met = std::async(std::launch::async, [&] { return waits.link->meet(); });
        for (uint32_t k = std::min(left, 25u); k; --k, --left) ++answers[send(1, message())];
        EXPECT_FALSE(met.get());
    }
    for (const auto& [answer, times] : answers) std::printf("%6d  %s\n", times, answer.c_str());
    EXPECT_FALSE(answers.contains("nobody listens"));
}

INSTANTIATE_TEST_SUITE_P(Ways, Hellos, testing::Values("unix", "tcp", "tls"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
