// SPDX-License-Identifier: Apache-2.0
// Sessions without sockets and clocks: two of them with a wire between that loses, doubles,
// reorders, changes, cuts and holds frames, from a seed; and a peer that breaks the rules.
#include "emu/link/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "emu/machine/port.hpp"

namespace {

using namespace sassemu;
using namespace sassemu::link;
using std::chrono::milliseconds;

// One process: its memory, its windows, its session with the other.
struct End {
    End(uint32_t rank, const SessionLimits& limits, Session::Time now, size_t bytes = 4096)
        : memory(bytes),
          windows(8),
          session({rank, 2, "job", 100 + rank}, 1 - rank, limits, windows, now),
          parser(std::in_place, limits.frame_bytes) {
        id = *windows.add({0x10000, bytes, memory.data(), "w", true, -1, false});
    }
    std::vector<std::byte> memory;
    Windows windows;
    Session session;
    std::optional<FrameParser> parser;
    uint32_t id = 0;
    size_t writing = 0;  // bytes gathered of which the session has not been told that they are out
};

struct Faults {
    int drop = 0, twice = 0, swap = 0, flip = 0, cut = 0, hold = 0;  // of 1000 frames each
    int late = 0;  // of 1000 times: what is written is out, and the writer is told later
};

// The two, and the wire. Time is counted in steps of a millisecond.
class Pair {
  public:
    Pair(uint32_t seed, Faults faults, SessionLimits limits = quick())
        : a(0, limits, {}), b(1, limits, {}), random_(seed), faults_(faults) {}

    static SessionLimits quick() {
        SessionLimits limits;
        limits.frame_bytes = 4096;
        limits.in_flight_bytes = 16384;
        limits.requests = 16;
        limits.heartbeat = milliseconds(20);
        limits.silence = milliseconds(100);
        limits.unacknowledged = milliseconds(50);
        limits.give_up = milliseconds(5000);
        return limits;
    }

    void connect() {
        a.parser.emplace(4096u);
        b.parser.emplace(4096u);
        for (auto& way : wire_) way.clear();
        const auto of_a = a.session.hello(), of_b = b.session.hello();
        ASSERT_TRUE(a.session.check(of_b)) << a.session.check(of_b).error().message();
        ASSERT_TRUE(b.session.check(of_a)) << b.session.check(of_a).error().message();
        a.session.connected(of_b, now_);
        b.session.connected(of_a, now_);
        ++connections;
    }
    // A millisecond passes. False: a session has failed.
    bool step() {
        now_ += milliseconds(1);
        if (!a.session.up()) connect();
        carry(a, b, wire_[0]);
        carry(b, a, wire_[1]);
        for (End* end : {&a, &b}) {
            if (const auto due = end->session.tick(now_); !due) cut(due.error().message());
            if (!end->session.failure().empty()) return false;
        }
        return true;
    }
    void cut(const std::string& why) {
        last_cut = why;
        a.session.disconnected(why, now_);
        b.session.disconnected(why, now_);
        a.writing = b.writing = 0;
    }

    End a, b;
    int connections = 0;
    std::string last_cut;
    Session::Time now() const { return now_; }

  private:
    bool happens(int per_mille) { return static_cast<int>(random_() % 1000) < per_mille; }

    void carry(End& from, End& to, std::vector<Bytes>& wire) {
        if (from.writing && happens(faults_.late)) return deliver(to, wire);
        from.session.wrote(std::exchange(from.writing, 0), now_);
        iovec pieces[16];
        const size_t count = from.session.gather(pieces, random_() % 16 + 1);
        for (size_t i = 0; i < count; ++i) {
            const auto* at = static_cast<const std::byte*>(pieces[i].iov_base);
            Bytes frame(at, at + pieces[i].iov_len);
            if (faults_.late)
                from.writing += frame.size();
            else
                from.session.wrote(frame.size(), now_);
            if (happens(faults_.drop)) continue;
            if (happens(faults_.flip))
                frame[random_() % frame.size()] ^= static_cast<std::byte>(1u << random_() % 8);
            if (happens(faults_.twice)) wire.push_back(frame);
            wire.push_back(std::move(frame));
            if (wire.size() > 1 && happens(faults_.swap))
                std::swap(wire[wire.size() - 1], wire[wire.size() - 2]);
            if (happens(faults_.cut)) {
                wire.back().resize(random_() % wire.back().size());
                deliver(to, wire);
                return cut("cut");
            }
        }
        if (!happens(faults_.hold)) deliver(to, wire);
    }
    void deliver(End& to, std::vector<Bytes>& wire) {
        for (const Bytes& bytes : std::exchange(wire, {})) {
            std::span<const std::byte> left(bytes);
            while (!left.empty()) {
                const auto room = to.parser->room();
                const size_t now =
                    std::min({room.size(), left.size(), size_t{random_() % 900 + 1}});
                std::copy_n(left.begin(), now, room.begin());
                left = left.subspan(now);
                to.parser->filled(now);
                for (;;) {
                    const auto frame = to.parser->next();
                    if (!frame) return cut(frame.error().message());
                    if (!*frame) break;
                    if (const auto done = to.session.received(**frame, now_); !done)
                        return cut(done.error().message());
                }
            }
        }
        to.session.settle();
    }

    Session::Time now_{};
    std::mt19937 random_;
    const Faults faults_;
    std::vector<Bytes> wire_[2];
};

// Puts, gets, reductions, atomics and drains at random, compared with a plain array that does them
// in order.
void random_work(Pair& pair, uint32_t seed, int operations) {
    std::mt19937 random(seed);
    std::vector<std::byte> model(4096);
    End &a = pair.a, &b = pair.b;
    const auto at = [&](size_t offset) {
        uint64_t v;
        std::memcpy(&v, model.data() + offset, 8);
        return v;
    };
    struct Asked {
        uint64_t request = 0, old = 0;  // of an atomic what was there, else 0
        Bytes expected = {}, got = {};  // of a get
    };
    std::deque<Asked> asked;
    int done = 0, idle = 0;
    while (done < operations || !asked.empty()) {
        ASSERT_TRUE(pair.step()) << a.session.failure() << b.session.failure();
        ASSERT_LT(++idle, 20000) << "nothing gets on; last cut: " << pair.last_cut;
        EXPECT_LE(a.session.kept_bytes(), 16384u + 4096 + header_bytes);
        while (!asked.empty()) {
            const auto answer = a.session.answer(asked.front().request);
            if (!answer) break;
            idle = 0;
            EXPECT_EQ(answer->status, Status::ok);
            EXPECT_EQ(answer->refused, "");
            EXPECT_EQ(asked.front().got, asked.front().expected);
            EXPECT_EQ(answer->old[0], asked.front().old);
            asked.pop_front();
        }
        for (int k = 0;
             k < 4 && done < operations && a.session.has_room(4096) && a.session.may_request();
             ++k, ++done) {
            const uint32_t size = random() % 10 ? random() % 64 : random() % 4000;
            const uint32_t offset = random() % (4096 - size);
            AtomicBody add{0,
                           b.id,
                           static_cast<uint8_t>(AtomicOp::add),
                           static_cast<uint8_t>(AtomicType::u64),
                           8,
                           0,
                           offset / 8 * 8,
                           {random(), 0},
                           {}};
            if (add.offset > 4088) add.offset = 4088;
            const uint64_t sum = at(add.offset) + add.operand[0];
            switch (random() % 5) {
                case 0: {
                    Bytes bytes(size);
                    for (std::byte& v : bytes) v = static_cast<std::byte>(random());
                    a.session.put(b.id, offset, bytes);
                    std::copy(bytes.begin(), bytes.end(), model.begin() + offset);
                    break;
                }
                case 1: {
                    Asked& one = asked.emplace_back();
                    one.got.resize(size);
                    one.expected.assign(model.begin() + offset, model.begin() + offset + size);
                    one.request = a.session.get(b.id, offset, one.got);
                    break;
                }
                case 2: {
                    asked.push_back({0, at(add.offset)});
                    asked.back().request = a.session.atomic(add);
                    std::memcpy(model.data() + add.offset, &sum, 8);
                    break;
                }
                case 3:
                    a.session.reduce(add);
                    std::memcpy(model.data() + add.offset, &sum, 8);
                    break;
                default:
                    asked.push_back({a.session.drain()});
            }
        }
    }
    const uint64_t last = a.session.drain();
    for (int i = 0; i < 20000; ++i) {
        ASSERT_TRUE(pair.step());
        if (a.session.answer(last)) break;
    }
    EXPECT_EQ(b.memory, model);
}

TEST(Session, DoesEverythingOnceAndInOrder) {
    Pair pair(1, {});
    random_work(pair, 1, 3000);
    EXPECT_EQ(pair.connections, 1);
    EXPECT_EQ(pair.a.session.resent(), 0u);
}

// TLS writes many frames at once, and the peer acknowledges the first while the last go out.
TEST(Session, MayBeAcknowledgedBeforeItsWriterIsThrough) {
    for (uint32_t seed = 1; seed <= 8; ++seed) {
        Pair pair(seed, {.late = 700});
        random_work(pair, seed, 600);
        EXPECT_EQ(pair.connections, 1) << "seed " << seed << ": " << pair.last_cut;
    }
}

struct Named {
    const char* name;
    Faults faults;
    int connections;  // at least
};
class Wire : public testing::TestWithParam<Named> {};
TEST_P(Wire, LosesNothing) {
    for (uint32_t seed = 1; seed <= 8; ++seed) {
        Pair pair(seed, GetParam().faults);
        random_work(pair, seed, 600);
        EXPECT_GE(pair.connections, GetParam().connections) << "seed " << seed;
    }
}
INSTANTIATE_TEST_SUITE_P(
    Session, Wire,
    testing::Values(Named{"drop", {30, 0, 0, 0, 0, 0}, 2}, Named{"twice", {0, 50, 0, 0, 0, 0}, 1},
                    Named{"swap", {0, 0, 30, 0, 0, 0}, 2}, Named{"flip", {0, 0, 0, 30, 0, 0}, 2},
                    Named{"cut", {0, 0, 0, 0, 30, 0}, 2}, Named{"hold", {0, 0, 0, 0, 0, 300}, 1},
                    Named{"all", {10, 20, 10, 10, 10, 100, 300}, 2}),
    [](const auto& info) { return info.param.name; });

TEST(Session, DropsDoubledFramesWithoutANewConnection) {
    Pair pair(3, {0, 100, 0, 0, 0, 0});
    random_work(pair, 3, 500);
    EXPECT_EQ(pair.connections, 1);
    EXPECT_GT(pair.b.session.duplicates(), 10u);
}

TEST(Session, FailsByNameWhenNothingGetsThrough) {
    Pair pair(4, {1000, 0, 0, 0, 0, 0});
    pair.step();
    pair.a.session.put(pair.b.id, 0, Bytes(8));
    int steps = 0;
    while (pair.step() && steps < 20000) ++steps;
    EXPECT_LT(steps, 5300);
    EXPECT_EQ(pair.a.session.failure().rfind("no frame got through for 5.00 s (last: ", 0), 0u)
        << pair.a.session.failure();
}

TEST(Session, AnOperationThatTouchesNothingIsToldByTheNextDrain) {
    Pair pair(5, {});
    pair.step();
    End &a = pair.a, &b = pair.b;
    const auto drained = [&] {
        const uint64_t request = a.session.drain();
        for (int i = 0; i < 100; ++i) {
            pair.step();
            if (auto answer = a.session.answer(request)) return answer->refused;
        }
        return std::string("no answer");
    };
    EXPECT_EQ(drained(), "");
    a.session.put(b.id, 4090, Bytes(7));  // one byte too many
    a.session.put(b.id, 0, Bytes(8));
    for (int i = 0; i < 500; ++i) {  // more than there may be requests: one of them is told
        if (i % 8 == 0) pair.step();
        a.session.put(99, 0, Bytes(1));
    }
    const std::string why = drained();
    EXPECT_NE(why.find("was refused: it reaches outside the window"), why.npos) << why;
    EXPECT_EQ(drained(), "");
    ASSERT_TRUE(b.windows.remove(b.id));
    a.session.put(b.id, 0, Bytes(8));
    EXPECT_NE(drained().find("the window is not registered"), why.npos);
    Bytes into(8);
    const uint64_t get = a.session.get(b.id, 0, into);
    for (int i = 0; i < 10; ++i) pair.step();
    const auto answer = a.session.answer(get);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, Status::no_window);
    EXPECT_EQ(pair.connections, 1);
}

TEST(Windows, ByteExactAndReadOnly) {
    Bytes memory(64), out(8);
    Windows windows(2);
    const uint32_t rw = *windows.add({0, 16, memory.data() + 8, "rw", true, -1, false});
    const uint32_t ro = *windows.add({0, 16, memory.data() + 24, "ro", false, -1, false});
    EXPECT_EQ(windows.add({0, 8, memory.data(), "third", true, -1, false}).error().message(),
              "window 'third': a process registers at most 2");
    EXPECT_EQ(windows.put(rw, 8, Bytes(8)), Status::ok);
    EXPECT_EQ(windows.put(rw, 9, Bytes(8)), Status::outside);
    EXPECT_EQ(windows.put(rw, ~uint64_t{0}, Bytes(8)), Status::outside);
    EXPECT_EQ(windows.put(rw, 17, {}), Status::outside);
    EXPECT_EQ(windows.put(ro, 0, Bytes(1)), Status::read_only);
    EXPECT_EQ(windows.get(ro, 8, out), Status::ok);
    AtomicBody add{0,
                   rw,
                   static_cast<uint8_t>(AtomicOp::add),
                   static_cast<uint8_t>(AtomicType::u32),
                   4,
                   0,
                   4,
                   {5, 0},
                   {}};
    uint64_t old[2];
    EXPECT_EQ(windows.atomic(add, old), Status::ok);
    add.offset = 6;
    EXPECT_EQ(windows.atomic(add, old), Status::misaligned);
    add.offset = 16;
    EXPECT_EQ(windows.atomic(add, old), Status::outside);
    for (int bytes : {0, 1, 2, 8, 16, 255}) {
        add.bytes = static_cast<uint8_t>(bytes);
        EXPECT_EQ(windows.atomic(add, old), Status::no_such_operation) << bytes;
    }
    add.bytes = 4;
    add.op = 0;
    EXPECT_EQ(windows.atomic(add, old), Status::no_such_operation);
    ASSERT_TRUE(windows.remove(rw));
    EXPECT_EQ(windows.put(rw, 0, Bytes(8)), Status::no_window);
    EXPECT_NE(*windows.add({0, 16, memory.data(), "again", true, -1, false}), rw);
}

// A flag of 4 bytes beside a multiple of 8 is never seen half written.
TEST(Windows, WhatIsAlignedIsWrittenAndReadAtOnce) {
    alignas(8) std::array<std::byte, 16> memory{};
    Windows windows(1);
    const uint32_t id = *windows.add({0, 16, memory.data(), "w", true, -1, false});
    for (const size_t bytes : {size_t{2}, size_t{4}, size_t{8}}) {
        const size_t offset = bytes == 8 ? 8 : 4;
        EXPECT_EQ(windows.put(id, offset, Bytes(bytes)), Status::ok);
        std::atomic<bool> stop{false};
        std::thread writer([&] {
            for (uint8_t v = 0; !stop; ++v) {
                const Bytes same(bytes, static_cast<std::byte>(v));
                EXPECT_EQ(windows.put(id, offset, same), Status::ok);
            }
        });
        int mixed = 0;
        for (int i = 0; i < 20000; ++i) {
            Bytes seen(bytes);
            EXPECT_EQ(windows.get(id, offset, seen), Status::ok);
            mixed += std::ranges::count(seen, seen[0]) != static_cast<std::ptrdiff_t>(bytes);
        }
        stop = true;
        writer.join();
        EXPECT_EQ(mixed, 0) << bytes;
    }
}

TEST(Session, TellsWhoWaitsTheAnswerOrThatThereWillBeNone) {
    Pair pair(6, {});
    pair.step();
    End &a = pair.a, &b = pair.b;
    b.memory[5] = std::byte{9};
    std::vector<std::string> told;
    const auto tell = [&](const Session::Answer& answer) { told.push_back(answer.lost); };
    Bytes into(8);
    a.session.when_answered(a.session.get(b.id, 0, into), tell);
    EXPECT_TRUE(a.session.kept_data());
    for (int i = 0; i < 100; ++i) pair.step();
    EXPECT_EQ(told, std::vector<std::string>{""});
    EXPECT_EQ(into[5], std::byte{9});
    // Who was asked has nothing on its way, acknowledged or not, and who looks on has not either.
    EXPECT_FALSE(a.session.kept_data());
    a.session.when_answered(a.session.get(b.id, 0, into, true), tell);
    EXPECT_FALSE(a.session.kept_data());
    a.session.fail("gone");
    EXPECT_EQ(told, (std::vector<std::string>{"", "gone"}));
    EXPECT_FALSE(a.session.kept_data());
}

// What another version, rank, plan or process says in its hello, and what it hears.
TEST(Session, RefusesWhomItDoesNotKnow) {
    Pair pair(6, {});
    pair.step();
    const auto why = [&](auto&& change) {
        message::Hello hello = pair.b.session.hello();
        change(hello);
        const auto checked = pair.a.session.check(hello);
        return checked ? std::string("taken") : checked.error().message();
    };
    EXPECT_EQ(why([](auto&) {}), "taken");
    EXPECT_EQ(why([](auto& h) { h.set_version(0); }),
              "rank 1: speaks version 0 of the link, which is older than any that this process "
              "understands (1)");
    EXPECT_EQ(why([](auto& h) { h.set_version(7), h.set_oldest(5); }),
              "rank 1: understands versions 5 to 7 of the link, which are newer than what this "
              "process speaks (1)");
    EXPECT_EQ(why([](auto& h) { h.set_version(7); }), "taken");  // it understands version 1 too
    EXPECT_EQ(why([](auto& h) { h.set_rank(5); }), "rank 5: answers where rank 1 is expected");
    EXPECT_EQ(why([](auto& h) { h.set_ranks(3); }),
              "rank 1: says that there are 3 ranks, and here there are 2");
    EXPECT_EQ(why([](auto& h) { h.set_job("other"); }).find("rank 1: runs another plan"), 0u);
    EXPECT_EQ(why([](auto& h) { h.set_process(55); }).find("rank 1: is taken by another process"),
              0u);
    EXPECT_EQ(why([](auto& h) { h.set_peer(55); }).find("rank 1: knows another process as rank 0"),
              0u);
    EXPECT_EQ(why([](auto& h) { h.set_received(1000); }),
              "rank 1: has received frames that were never sent");
    EXPECT_EQ(why([](auto& h) { h.set_in_flight_bytes(1); }),
              "rank 1: offers limits that nobody can keep to");
}

// A peer of our own version that breaks the rules: each ends the connection with one line.
TEST(Session, EndsTheConnectionOfWhoBreaksTheRules) {
    const auto why = [](std::initializer_list<Bytes> frames) {
        Pair pair(7, {});
        pair.step();
        FrameParser parser(65536);
        for (Bytes bytes : frames) {
            std::copy(bytes.begin(), bytes.end(), parser.room().begin());
            parser.filled(bytes.size());
            const auto frame = parser.next();
            EXPECT_TRUE(frame && *frame);
            const auto done = pair.a.session.received(**frame, pair.now());
            if (!done) return done.error().message();
        }
        return std::string("taken");
    };
    const auto frame = [](FrameType type, uint64_t number, const auto& body, uint64_t ack = 0) {
        Bytes bytes = make_frame(type, number, std::as_bytes(std::span(&body, 1)));
        seal(bytes, ack);
        return bytes;
    };
    const DrainBody drain{77};
    EXPECT_EQ(why({frame(FrameType::drain, 1, drain)}), "taken");
    EXPECT_EQ(why({frame(FrameType::drain, 2, drain)}),
              "link: frame 2 came where 1 was due: frames were lost or overtaken");
    EXPECT_EQ(why({frame(FrameType::drain, 0, drain)}), "link: a frame has no number");
    EXPECT_EQ(why({frame(FrameType::drain, 1, drain, 9)}),
              "link: frame 9 is acknowledged, which was never sent");
    EXPECT_EQ(why({frame(FrameType::drained, 1, drain)}),
              "link: an answer to what was never asked");
    EXPECT_EQ(why({frame(FrameType::get, 1, drain)}),
              "link: the body of a frame is too short for its type");
    EXPECT_EQ(why({frame(FrameType::get, 1, GetBody{1, 1, 4096, 0})}),
              "link: a get of 4096 bytes: the limit on frames");
    EXPECT_EQ(why({frame(FrameType::control, 1, drain)}), "link: a control message cannot be read");
}

TEST(Session, BoundsTheAnswersThatNobodyTakes) {
    Pair pair(8, {});
    pair.step();
    FrameParser parser(65536);
    Result<void> done;
    uint64_t number = 0;
    while (done && number < 1000) {
        ++number;
        const DrainBody body{number};
        Bytes bytes = make_frame(FrameType::drain, number, std::as_bytes(std::span(&body, 1)));
        seal(bytes, 0);
        std::copy(bytes.begin(), bytes.end(), parser.room().begin());
        parser.filled(bytes.size());
        const auto frame = parser.next();
        done = pair.a.session.received(**frame, pair.now());
    }
    EXPECT_EQ(number, 16u + 32 + 1);
    EXPECT_EQ(done.error().message(),
              "link: more than 16 requests are in flight: the limit on requests");
}

}  // namespace
