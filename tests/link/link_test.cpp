// SPDX-License-Identifier: Apache-2.0
// Links over real sockets, several ranks in this process: what they do for each other, what they
// refuse, and what they say when the other side or the way to it fails.
#include "emu/link/link.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>

#include "relay.hpp"

namespace {

using namespace sassemu;
using namespace sassemu::link;
using link_test::Harm;
using link_test::Relay;
using std::chrono::milliseconds;

class Links : public testing::Test {
  protected:
    Links() {
        char name[] = "/tmp/sassemu-link-XXXXXX";
        folder_ = ::mkdtemp(name);
    }
    ~Links() override { std::filesystem::remove_all(folder_); }

    std::string at(const std::string& name) const { return "unix:" + folder_ + "/" + name; }
    std::string file(const std::string& name, const std::string& text, mode_t mode) const {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    static SessionLimits quick() {
        SessionLimits limits;
        limits.frame_bytes = 65536;
        limits.in_flight_bytes = 1 << 20;
        limits.heartbeat = milliseconds(50);
        limits.silence = milliseconds(1000);
        limits.unacknowledged = milliseconds(150);
        limits.give_up = milliseconds(10'000);
        return limits;
    }
    LinkOptions options(uint32_t rank, std::vector<std::string> addresses) const {
        LinkOptions options;
        options.rank = rank;
        options.addresses = std::move(addresses);
        options.job = "job";
        options.limits = quick();
        options.patience = milliseconds(10'000);
        return options;
    }
    std::vector<std::string> addresses(uint32_t ranks) const {
        std::vector<std::string> all;
        for (uint32_t r = 0; r < ranks; ++r) all.push_back(at(std::to_string(r)));
        return all;
    }
    // A free port each, none of those that connections get as their own.
    static std::vector<std::string> loopback(std::initializer_list<const char*> hosts) {
        static std::mt19937 random(static_cast<uint32_t>(::getpid()));
        std::vector<std::string> all;
        while (all.size() < hosts.size()) {
            sockaddr_in at{};
            at.sin_family = AF_INET;
            at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            const unsigned port = 10000 + random() % 20000;
            at.sin_port = htons(static_cast<uint16_t>(port));
            const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
            if (!::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at))
                all.push_back(std::string("tcp:") + hosts.begin()[all.size()] + ":" +
                              std::to_string(port));
            ::close(socket);
        }
        return all;
    }
    static std::string why(const Result<void>& result) {
        return result ? "none" : result.error().message();
    }
    std::string folder_;
};

// A rank with one window.
struct Rank {
    explicit Rank(LinkOptions options, size_t bytes = 65536) : memory(bytes) {
        auto made = Link::create(std::move(options));
        EXPECT_TRUE(made) << made.error().message();
        link = std::move(*made);
        id = *link->add_window({0x1000, bytes, memory.data(), "w", true, -1, false});
    }
    std::vector<std::byte> memory;
    std::unique_ptr<Link> link;
    uint32_t id = 0;
};
void meet(std::initializer_list<Rank*> ranks) {
    std::vector<std::future<Result<void>>> all;
    for (Rank* rank : ranks)
        all.push_back(std::async(std::launch::async, [=] { return rank->link->meet(); }));
    for (auto& one : all) {
        const Result<void> met = one.get();
        EXPECT_TRUE(met) << met.error().message();
    }
}

// Everything that one rank may ask of another, compared with an array that does it in order.
void exchange(Rank& a, uint32_t to, Rank& b, uint32_t seed, int operations) {
    std::mt19937 random(seed);
    std::vector<std::byte> model = b.memory;
    for (int i = 0; i < operations; ++i) {
        const uint32_t size = 1 + random() % (random() % 8 ? 100 : 30000);
        const uint32_t offset = random() % static_cast<uint32_t>(model.size() - size);
        AtomicRequest add;
        add.window = b.id;
        add.bytes = 8;
        add.type = AtomicType::u64;
        add.offset = offset / 8 * 8;
        add.operand[0] = random();
        uint64_t old, sum;
        std::memcpy(&old, model.data() + add.offset, 8);
        sum = old + add.operand[0];
        switch (random() % 5) {
            case 0: {
                std::vector<std::byte> bytes(size);
                for (std::byte& v : bytes) v = static_cast<std::byte>(random());
                ASSERT_TRUE(a.link->put(to, b.id, offset, bytes));
                std::copy(bytes.begin(), bytes.end(), model.begin() + offset);
                break;
            }
            case 1: {
                std::vector<std::byte> bytes(size);
                const auto got = a.link->get(to, b.id, offset, bytes);
                ASSERT_TRUE(got) << got.error().message();
                ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), model.begin() + offset));
                break;
            }
            case 2: {
                const auto was = a.link->atomic(to, add);
                ASSERT_TRUE(was) << was.error().message();
                ASSERT_EQ(was->low, old);
                std::memcpy(model.data() + add.offset, &sum, 8);
                break;
            }
            case 3:
                ASSERT_TRUE(a.link->reduce(to, add));
                std::memcpy(model.data() + add.offset, &sum, 8);
                break;
            default: {
                const auto drained = a.link->drain(to);
                ASSERT_TRUE(drained) << drained.error().message();
                ASSERT_EQ(b.memory, model);
            }
        }
    }
    ASSERT_TRUE(a.link->drain(to));
    EXPECT_EQ(b.memory, model);
}

TEST_F(Links, DoWhatIsAskedOverUnixSockets) {
    const auto all = addresses(2);
    Rank a(options(0, all)), b(options(1, all));
    meet({&a, &b});
    exchange(a, 1, b, 1, 400);
    exchange(b, 0, a, 2, 400);
    struct stat about;
    ASSERT_EQ(::stat((folder_ + "/0").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(Links, DoWhatIsAskedOverLoopback) {
    const auto all = loopback({"127.0.0.1", "localhost"});
    Rank a(options(0, all)), b(options(1, all));
    meet({&a, &b});
    exchange(b, 0, a, 3, 300);
}

TEST_F(Links, AllMeetHoweverManyAndInWhateverOrderTheyCome) {
    const auto all = addresses(5);
    std::vector<std::unique_ptr<Rank>> ranks(5);
    for (const uint32_t r : {3u, 0u, 4u, 2u, 1u})
        ranks[r] = std::make_unique<Rank>(options(r, all), 4096);
    for (int round = 0; round < 3; ++round)
        meet({ranks[0].get(), ranks[1].get(), ranks[2].get(), ranks[3].get(), ranks[4].get()});
    for (uint32_t r = 0; r < 5; ++r) {
        const auto windows = ranks[0]->link->windows(r);
        ASSERT_EQ(windows.size(), r ? 1u : 0u);
        if (!windows.empty()) {
            EXPECT_EQ(windows[0].window.bytes, 4096u);
        }
    }
}

TEST_F(Links, GiveTheMemoryOfAWindowItself) {
    const auto all = addresses(2);
    Rank a(options(0, all)), b(options(1, all));
    const int memory = ::memfd_create("window", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(memory, 8192), 0);
    auto* const own = static_cast<std::byte*>(
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    const uint32_t id = *b.link->add_window({0x20000, 8192, own, "shared", true, memory, false});
    meet({&a, &b});
    const auto got = a.link->descriptor(1, id);
    ASSERT_TRUE(got) << got.error().message();
    auto* const theirs =
        static_cast<std::byte*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, *got, 0));
    theirs[5000] = std::byte{42};
    EXPECT_EQ(own[5000], std::byte{42});
    ASSERT_TRUE(a.link->put(1, id, 5001, std::vector<std::byte>(1, std::byte{43})));
    ASSERT_TRUE(a.link->drain(1));
    EXPECT_EQ(theirs[5001], std::byte{43});
    EXPECT_EQ(a.link->descriptor(1, b.id).error().message(),
              "rank 1, window 1: its memory cannot be had: window 1 does not exist or is not "
              "shared");
    ::munmap(own, 8192);
    ::munmap(theirs, 8192);
    ::close(*got);
    ::close(memory);
}

TEST_F(Links, ASharedKeyOpensTls) {
    const auto all = loopback({"127.0.0.1", "127.0.0.1"});
    LinkOptions of_a = options(0, all), of_b = options(1, all);
    of_a.security.key = file("a", "sixteen bytes and more", 0600);
    of_b.security.key = file("b", "sixteen bytes and more", 0400);
    Rank a(of_a), b(of_b);
    meet({&a, &b});
    exchange(a, 1, b, 4, 200);
}

TEST_F(Links, AnotherKeyDoesNot) {
    const auto all = loopback({"127.0.0.1", "127.0.0.1"});
    LinkOptions of_a = options(0, all), of_b = options(1, all);
    of_a.security.key = file("a", "sixteen bytes and more", 0600);
    of_b.security.key = file("b", "sixteen bytes and less", 0600);
    of_a.patience = milliseconds(2000);
    Rank a(of_a), b(of_b);
    auto met = std::async(std::launch::async, [&] { return why(a.link->meet()); });
    const std::string of_higher = why(b.link->meet());
    EXPECT_EQ(of_higher.rfind("rank 0: TLS: the other side has not proved who it is: ", 0), 0u)
        << of_higher;
    const std::string of_lower = met.get();
    EXPECT_EQ(of_lower.rfind("rank 1: is not there after 2 s (last: TLS: the other side has not "
                             "proved who it is: ",
                             0),
              0u)
        << of_lower;
}

TEST_F(Links, WithoutTheKeyNobodyComesIn) {
    const auto all = loopback({"127.0.0.1", "127.0.0.1"});
    LinkOptions of_a = options(0, all), of_b = options(1, all);
    of_a.security.key = file("a", "sixteen bytes and more", 0600);
    of_a.patience = of_b.patience = milliseconds(1500);
    Rank a(of_a), b(of_b);
    EXPECT_NE(why(b.link->meet()), "none");
}

TEST_F(Links, CertificatesOfOneAuthorityOpenTls) {
    const auto shell = [&](const std::string& command) {
        return std::system(("cd " + folder_ + " && (" + command + ") >/dev/null 2>&1").c_str());
    };
    if (shell("openssl version")) GTEST_SKIP() << "there is no openssl";
    for (const char* authority : {"ca", "other"})
        ASSERT_EQ(shell(std::string("openssl req -x509 -newkey ec -pkeyopt "
                                    "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x "
                                    "-keyout ") +
                        authority + ".key -out " + authority + ".pem"),
                  0);
    for (const char* rank : {"a", "b", "c"})
        ASSERT_EQ(
            shell(std::string("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
                              "-nodes -subj /CN=") +
                  rank + " -keyout " + rank + ".key -out " + rank +
                  ".csr && openssl x509 -req -days 2 -in " + rank + ".csr -CA " +
                  (*rank == 'c' ? "other" : "ca") + ".pem -CAkey " +
                  (*rank == 'c' ? "other" : "ca") + ".key -CAcreateserial -out " + rank + ".pem"),
            0);
    const auto with = [&](LinkOptions options, const std::string& name) {
        options.security = {"",
                            folder_ + "/" + name + ".pem",
                            folder_ + "/" + name + ".key",
                            folder_ + "/ca.pem",
                            {}};
        options.patience = milliseconds(2000);
        return options;
    };
    {
        const auto all = loopback({"127.0.0.1", "127.0.0.1"});
        Rank a(with(options(0, all), "a")), b(with(options(1, all), "b"));
        meet({&a, &b});
        exchange(a, 1, b, 5, 100);
    }
    const auto all = loopback({"127.0.0.1", "127.0.0.1"});
    Rank a(with(options(0, all), "a")), c(with(options(1, all), "c"));
    auto met = std::async(std::launch::async, [&] { return why(a.link->meet()); });
    EXPECT_NE(why(c.link->meet()), "none");
    EXPECT_NE(met.get(), "none");
}

TEST_F(Links, RefuseWhatTheyMayNotDo) {
    const auto refused = [](LinkOptions options) {
        const auto made = Link::create(std::move(options));
        return made ? std::string("made") : made.error().message();
    };
    const std::string rule =
        "is not of this host alone, and such links need TLS with mutual authentication; "
        "a key that all ranks have (--key FILE), or certificates of one authority (--cert, --key, "
        "--ca)";
    EXPECT_EQ(refused(options(0, {"tcp:0.0.0.0:41885", "tcp:127.0.0.1:41886"})),
              "address 'tcp:0.0.0.0:41885': " + rule);
    EXPECT_EQ(refused(options(0, {"tcp:127.0.0.1:41885", "tcp:192.0.2.1:41886"})),
              "address 'tcp:192.0.2.1:41886': " + rule);
    EXPECT_EQ(refused(options(0, {"tcp:[::]:41885", "tcp:127.0.0.1:41886"})),
              "address 'tcp:[::]:41885': " + rule);
    EXPECT_EQ(refused(options(0, {at("0")})), "link: 2 to 1024 ranks have a link, not 1");
    EXPECT_EQ(refused(options(2, addresses(2))), "link: there is no rank 2 among 2");
    EXPECT_EQ(refused(options(0, {at("0"), at("0")})),
              "link: two ranks have the address " + at("0"));
    for (const char* bad : {"/tmp/x", "unix:", "tcp:host", "tcp::1", "tcp:h:0", "tcp:h:70000",
                            "tcp:h:1x", "udp:h:1", ""})
        EXPECT_EQ(
            refused(options(0, {bad, at("1")})).rfind("address '" + std::string(bad) + "': ", 0),
            0u)
            << bad;
    LinkOptions keyed = options(0, addresses(2));
    keyed.security.key = file("open", "sixteen bytes and more", 0644);
    EXPECT_EQ(refused(keyed),
              keyed.security.key + ": others than its owner can read the link's key; chmod 600 it");
    keyed.security.key = file("short", "fifteen bytes..", 0600);
    EXPECT_NE(refused(keyed).find("a key of the link has 16 to 65536 bytes, and this one 15"),
              std::string::npos);
    keyed.security.key = folder_ + "/none";
    EXPECT_NE(refused(keyed).find("cannot be read"), std::string::npos);
    file("0", "no socket", 0600);
    EXPECT_EQ(refused(options(0, addresses(2))),
              at("0") + ": there is a file, and it is no socket");
}

TEST_F(Links, TwoProcessesWithOneRankAreNamed) {
    const auto all = addresses(2);
    Rank a(options(0, all)), b(options(1, all));
    meet({&a, &b});
    const auto again = Link::create(options(1, all));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message(),
              at("1") +
                  ": another process listens there: two processes have rank 1; each process "
                  "needs a rank of its own");
    Rank other(options(1, {at("0"), at("elsewhere")}));
    EXPECT_EQ(why(other.link->meet()),
              "rank 0: it refused the link: rank 1: is taken by another process: two processes "
              "have one rank, or the first has ended and what it held is lost");
    exchange(a, 1, b, 6, 50);  // the first is as it was
}

TEST_F(Links, AnotherPlanIsRefused) {
    LinkOptions of_b = options(1, addresses(2));
    of_b.job = "another";
    LinkOptions of_a = options(0, addresses(2));
    of_a.patience = milliseconds(1000);
    Rank a(of_a), b(of_b);
    EXPECT_EQ(
        why(b.link->meet()).rfind("rank 0: it refused the link: rank 1: runs another plan", 0), 0u);
}

TEST_F(Links, ASocketLeftBehindIsTakenOver) {
    const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at_0{};
    at_0.sun_family = AF_UNIX;
    std::strcpy(at_0.sun_path, (folder_ + "/0").c_str());
    ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&at_0), sizeof at_0), 0);
    ::close(left);
    Rank a(options(0, addresses(2))), b(options(1, addresses(2)));
    meet({&a, &b});
}

TEST_F(Links, ConnectionsThatSayNothingAreLimited) {
    LinkOptions of_a = options(0, addresses(2));
    of_a.most_connections = 3;
    of_a.limits.silence = milliseconds(60'000);
    Rank a(of_a);
    std::vector<int> silent;
    sockaddr_un at_0{};
    at_0.sun_family = AF_UNIX;
    std::strcpy(at_0.sun_path, (folder_ + "/0").c_str());
    for (int i = 0; i < 4; ++i) {
        silent.push_back(::socket(AF_UNIX, SOCK_STREAM, 0));
        ASSERT_EQ(::connect(silent.back(), reinterpret_cast<sockaddr*>(&at_0), sizeof at_0), 0);
    }
    char text[512];
    const ssize_t count = ::recv(silent.back(), text, sizeof text, 0);
    ASSERT_GT(count, 0);
    EXPECT_NE(std::string(text, static_cast<size_t>(count))
                  .find("more than 3 connections have not said who they are: the limit on "
                        "connections"),
              std::string::npos);
    for (const int socket : silent) ::close(socket);
    Rank b(options(1, addresses(2)));  // once they are gone there is room again
    meet({&a, &b});
}

TEST_F(Links, TooManyWindowsAreRefusedOnBothSides) {
    LinkOptions of_a = options(0, addresses(2));
    of_a.most_windows = 4;
    Rank a(of_a), b(options(1, addresses(2)));
    std::vector<std::byte> bytes(8);
    Result<uint32_t> made = 0u;
    for (int i = 0; i < 4 && made; ++i)
        made = a.link->add_window({0, 8, bytes.data(), "w", true, -1, false});
    EXPECT_EQ(made.error().message(), "window 'w': a process registers at most 4");
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(b.link->add_window({0, 8, bytes.data(), "w", true, -1, false}));
    EXPECT_EQ(why(a.link->meet()),
              "rank 1: it registers more than 4 windows: the limit on windows");
}

TEST_F(Links, AWindowThatIsRemovedIsTouchedNoMore) {
    const auto all = addresses(2);
    Rank a(options(0, all)), b(options(1, all));
    meet({&a, &b});
    std::atomic<bool> end{false};
    std::string error;
    std::thread writer([&] {
        const std::vector<std::byte> bytes(4000, std::byte{1});
        while (!end && error.empty()) {
            const auto put = a.link->put(1, b.id, 100, bytes);
            const auto drained = put ? a.link->drain(1) : put;
            if (!drained) error = drained.error().message();
        }
    });
    while (__atomic_load_n(reinterpret_cast<uint8_t*>(&b.memory[100]), __ATOMIC_RELAXED) == 0)
        std::this_thread::yield();
    ASSERT_TRUE(b.link->remove_window(b.id));
    const std::vector<std::byte> none(b.memory.size());
    std::fill(b.memory.begin(), b.memory.end(), std::byte{0});
    writer.join();
    EXPECT_EQ(b.memory, none);
    EXPECT_EQ(error.rfind("rank 1: frame ", 0), 0u) << error;
    EXPECT_NE(error.find("was refused: the window is not registered (any more)"), std::string::npos)
        << error;
    EXPECT_EQ(why(a.link->get(1, b.id, 0, std::span<std::byte>(a.memory).first(8))),
              "rank 1: the operation was refused: the window is not registered (any more)");
}

TEST_F(Links, WhoLeavesInOrderIsNamed) {
    const auto all = addresses(3);
    Rank a(options(0, all)), c(options(2, all));
    auto b = std::make_unique<Rank>(options(1, all));
    meet({&a, b.get(), &c});
    std::promise<std::string> lost;
    a.link->on_loss([&](uint32_t rank, const std::string& text) {
        if (rank == 1) lost.set_value(text);
    });
    b.reset();
    EXPECT_EQ(lost.get_future().get(), "rank 1: has ended");
    EXPECT_EQ(why(a.link->drain(1)), "rank 1: has ended");
    EXPECT_EQ(why(a.link->put(1, 1, 0, std::vector<std::byte>(8))), "rank 1: has ended");
    exchange(a, 2, c, 7, 50);  // the others go on
}

struct Named {
    const char* name;
    Harm harm;
};
class Harmed : public Links, public testing::WithParamInterface<Named> {};
TEST_P(Harmed, NothingIsLost) {
    Relay relay(folder_ + "/relay", folder_ + "/0", GetParam().harm, 11);
    Rank a(options(0, addresses(2)), 32768 + 4096);
    Rank b(options(1, {at("relay"), at("1")}), 32768 + 4096);
    meet({&a, &b});
    std::thread other([&] { exchange(b, 0, a, 8, 120); });
    exchange(a, 1, b, 9, 120);
    other.join();
    EXPECT_GT(relay.harmed(), 2u);
}
INSTANTIATE_TEST_SUITE_P(
    Links, Harmed,
    testing::Values(Named{"hold", {100, 0, 0, 0, 0, 0}}, Named{"drop", {0, 15, 0, 0, 0, 0}},
                    Named{"twice", {0, 0, 50, 0, 0, 0}}, Named{"swap", {0, 0, 0, 20, 0, 0}},
                    Named{"flip", {0, 0, 0, 0, 20, 0}}, Named{"cut", {0, 0, 0, 0, 0, 20}},
                    Named{"all", {20, 5, 5, 5, 5, 5}}),
    [](const auto& info) { return info.param.name; });

TEST_F(Links, ACutThatEndsIsNotNoticedAndOneThatDoesNotIsNamed) {
    Relay relay(folder_ + "/relay", folder_ + "/0", {}, 12);
    LinkOptions of_a = options(0, addresses(2)), of_b = options(1, {at("relay"), at("1")});
    of_a.limits.give_up = of_b.limits.give_up = milliseconds(700);
    Rank a(of_a), b(of_b);
    meet({&a, &b});
    for (int i = 0; i < 5; ++i) {
        exchange(a, 1, b, 20 + i, 20);
        relay.cut(true);
    }
    exchange(a, 1, b, 30, 20);
    relay.cut(false);
    const std::string text = why(a.link->drain(1));
    EXPECT_EQ(text.rfind("rank 1: no frame got through for 0.70 s (last: ", 0), 0u) << text;
    EXPECT_NE(why(b.link->drain(0)), "none");
}

}  // namespace
