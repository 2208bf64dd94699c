// SPDX-License-Identifier: Apache-2.0
// The `weak` machine by hand: in how many ways a load can be performed says what may still be
// found, so each link of an order shows as a way less.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "machine.hpp"

namespace weak {
namespace {

class Bytes : public Memory {
  public:
    bool read(uint64_t address, uint8_t* to, unsigned bytes) override {
        for (unsigned k = 0; k < bytes; ++k) to[k] = all_[address + k];
        return true;
    }
    void write(uint64_t address, const uint8_t* from, unsigned bytes) override {
        for (unsigned k = 0; k < bytes; ++k) all_[address + k] = from[k];
    }

  private:
    std::map<uint64_t, uint8_t> all_;
};

constexpr uint64_t x = 0x1000, y = 0x2000, near = shared_space | 0x3000;
constexpr Order weak_one{}, relaxed_gpu{true, false, false, false, gpu},
    acquire_gpu{true, true, false, false, gpu}, release_gpu{true, false, true, false, gpu},
    release_cta{true, false, true, false, cta}, acquire_cta{true, true, false, false, cta},
    sc_gpu{true, true, true, true, gpu};

// Threads 1 and 2 are in CTAs of their own, 3 is beside 1.
struct Program {
    Bytes memory;
    Machine machine;
    static Who who(Thread t) { return {t, {t == 3 ? 1 : t, static_cast<uint32_t>(t), 0, false}}; }
    static Access at(Thread t, uint64_t address, Order o) {
        return {who(t), address, 4, Via::generic, o};
    }
    void store(Thread t, uint64_t address, uint32_t value, Order o = weak_one) {
        uint8_t bytes[4];
        std::memcpy(bytes, &value, 4);
        machine.store(memory, at(t, address, o), bytes);
    }
    unsigned ways(Thread t, uint64_t address) const {
        return machine.ways(at(t, address, weak_one));
    }
    uint32_t load(Thread t, uint64_t address, Order o = weak_one, unsigned way = 0) {
        uint8_t bytes[4];
        uint32_t value = 0;
        machine.load(memory, at(t, address, o), way, bytes);
        std::memcpy(&value, bytes, 4);
        return value;
    }
    void fence(Thread t, Order o) {
        Fence f;
        f.order = o;
        machine.fence(who(t), f);
    }
};

TEST(WeakMachine, AStoreWaitsForEachObserver) {
    Program r;
    r.store(1, x, 1);
    r.store(1, x, 2);
    EXPECT_EQ(r.ways(1, x), 1u);  // its own
    EXPECT_EQ(r.ways(2, x), 3u);
    EXPECT_EQ(r.load(2, x, weak_one, 2), 0u);
    EXPECT_EQ(r.load(2, x, weak_one, 1), 1u);
    EXPECT_EQ(r.ways(2, x), 2u);  // never back
    EXPECT_EQ(r.ways(3, x), 3u);
}

TEST(WeakMachine, AMessageNeedsBothEndsAndTheirScope) {
    const auto left = [](Order out, Order in, Thread reader) {
        Program r;
        r.store(1, x, 1);
        r.store(1, y, 1, out);
        r.load(reader, y, in);
        return r.ways(reader, x);
    };
    EXPECT_EQ(left(release_gpu, acquire_gpu, 2), 1u);
    EXPECT_EQ(left(relaxed_gpu, acquire_gpu, 2), 2u);
    EXPECT_EQ(left(release_gpu, relaxed_gpu, 2), 2u);
    EXPECT_EQ(left(release_cta, acquire_gpu, 2), 2u);
    EXPECT_EQ(left(release_gpu, acquire_cta, 2), 2u);
    EXPECT_EQ(left(release_cta, acquire_cta, 3), 1u);
}

TEST(WeakMachine, FencesStandForTheAccessesBesideThem) {
    Program r;
    r.store(1, x, 1);
    r.fence(1, release_gpu);
    r.store(1, y, 1, relaxed_gpu);
    r.load(2, y, relaxed_gpu);
    EXPECT_EQ(r.ways(2, x), 2u);
    r.fence(2, acquire_gpu);
    EXPECT_EQ(r.ways(2, x), 1u);
}

TEST(WeakMachine, WhoKnowsOfAReadingFindsNothingOlder) {
    Program r;
    r.store(1, x, 1, relaxed_gpu);
    r.load(2, x, relaxed_gpu);
    r.store(2, y, 1, release_gpu);
    EXPECT_EQ(r.ways(3, x), 2u);
    r.load(3, y, acquire_gpu);
    EXPECT_EQ(r.ways(3, x), 1u);
}

TEST(WeakMachine, AtomicsCarryOnWhatTheyRead) {
    Program r;
    r.store(1, x, 1);
    r.store(1, y, 1, release_gpu);
    r.machine.before_change(r.memory, Program::at(2, y, relaxed_gpu), true);
    r.load(3, y, acquire_gpu);
    EXPECT_EQ(r.ways(3, x), 1u);
    EXPECT_EQ(r.ways(2, x), 2u);
}

TEST(WeakMachine, FencesScHaveOneOrder) {
    Program r;
    r.store(1, x, 1, relaxed_gpu);
    r.fence(1, sc_gpu);
    r.store(2, y, 1, relaxed_gpu);
    EXPECT_EQ(r.ways(2, x), 2u);
    r.fence(2, sc_gpu);
    EXPECT_EQ(r.ways(2, x), 1u);
    EXPECT_EQ(r.ways(1, y), 2u);
}

TEST(WeakMachine, AWaitTakesWhatItsPhaseHasGathered) {
    Program r;
    r.store(1, x, 1);
    r.machine.arrive(Program::who(1), 7, 0, release_gpu);
    r.store(1, x, 2);
    r.machine.arrive(Program::who(1), 7, 1, release_gpu);
    r.machine.wait(Program::who(2), 7, 0, acquire_gpu);
    EXPECT_EQ(r.ways(2, x), 2u);
    r.machine.wait(Program::who(2), 7, 1, acquire_gpu);
    EXPECT_EQ(r.ways(2, x), 1u);
}

TEST(WeakMachine, ACopySeesWhatAProxyFenceHasShown) {
    Program r;
    const auto ways = [&](Thread agent) {
        return r.machine.ways({{agent, Program::who(1).place}, near, 4, Via::async, weak_one});
    };
    r.store(1, near, 1);
    r.machine.issue(Program::who(1), 100);
    EXPECT_EQ(ways(100), 2u);
    Fence f;
    f.to_async = true;
    f.shared = false;  // fence.proxy.async.global
    r.machine.fence(Program::who(1), f);
    r.machine.issue(Program::who(1), 101);
    EXPECT_EQ(ways(101), 2u);
    f.shared = true;
    r.machine.fence(Program::who(1), f);
    r.machine.issue(Program::who(1), 102);
    EXPECT_EQ(ways(102), 1u);
}

TEST(WeakMachine, ACopysBytesAreSeenOnceItIsObserved) {
    Program r;
    r.machine.issue(Program::who(1), 100);
    const uint8_t value[4] = {1};
    r.machine.store(r.memory, {{100, Program::who(1).place}, near, 4, Via::async, weak_one}, value);
    EXPECT_EQ(r.ways(1, near), 2u);
    r.machine.observe(Program::who(1), 100);
    EXPECT_EQ(r.ways(1, near), 1u);
}

TEST(WeakMachine, ACopyComesInFrontOfAStoreThatItDoesNotKnow) {
    Program r;
    r.store(1, near, 1);
    r.machine.issue(Program::who(1), 100);
    const Access copy{{100, Program::who(1).place}, near, 4, Via::async, weak_one};
    const uint8_t value[4] = {2};
    ASSERT_EQ(r.machine.ways_to_store(copy), 2u);
    r.machine.store(r.memory, copy, value, 1);
    EXPECT_EQ(r.load(1, near), 1u);  // its store has come last
    r.machine.observe(Program::who(3), 100);
    ASSERT_EQ(r.ways(3, near), 2u);
    EXPECT_EQ(r.load(3, near, weak_one, 1), 2u);
    EXPECT_EQ(r.ways(2, near), 3u);
    EXPECT_EQ(r.load(2, near, weak_one, 2), 0u);
}

TEST(WeakMachine, AtomicsWhoseScopesDoNotReachMissEachOther) {
    const auto add = [](Order scope) {
        Program r;
        const auto at = [&](Thread t) { return Program::at(t, x, scope); };
        r.machine.before_change(r.memory, at(1), true);
        r.store(1, x, 1, scope);
        const unsigned ways = r.machine.ways_to_modify(at(2));
        r.machine.before_change(r.memory, at(2), true, false, ways - 1);
        uint32_t found = 0;
        r.memory.read(x, reinterpret_cast<uint8_t*>(&found), 4);
        return found;
    };
    EXPECT_EQ(add(relaxed_gpu), 1u);
    EXPECT_EQ(add({true, false, false, false, cta}), 0u);
}

TEST(WeakMachine, AnObjectIsKnownByWhatOrdersItsInitialisation) {
    const auto left = [](bool fenced) {
        Program r;
        r.store(1, near + 64, 1);
        Access object = Program::at(1, near, weak_one);
        object.via = Via::object;
        r.machine.before_change(r.memory, object, false);
        Fence f;
        f.order = release_gpu;
        f.inits_alone = true;
        if (fenced) r.machine.fence(Program::who(1), f);
        r.machine.arrive(Program::who(1), 7, 0, relaxed_gpu);
        r.machine.wait(Program::who(2), 7, 0, acquire_gpu);
        object.who = Program::who(2);
        return std::pair(r.machine.ways(object), r.ways(2, near + 64));
    };
    EXPECT_EQ(left(false), std::pair(2u, 2u));
    EXPECT_EQ(left(true), std::pair(1u, 2u));
}

TEST(WeakMachine, StatesThatBehaveAlikeHaveOneKey) {
    const std::vector<Who> all{Program::who(1), Program::who(2)};
    Program a{{}, Machine(all)}, b{{}, Machine(all)};
    a.store(1, x, 1);
    a.store(2, y, 1);
    b.store(2, y, 1);
    b.store(1, x, 1);
    EXPECT_EQ(a.machine.key(), b.machine.key());
    a.load(2, x);
    EXPECT_NE(a.machine.key(), b.machine.key());
}

// Ways are counted before the operation begins, which may tell what other processes have released.
TEST(WeakMachine, WhatOthersLearnAsTheyBeginLeavesThemFewerWays) {
    const Order sc_sys{true, true, true, true, sys}, acquire_sys{true, true, false, false, sys};
    const Who host{9, {9, 9, 0, true}};
    for (const bool fenced : {false, true}) {
        Program r;
        r.store(1, x, 1);
        if (fenced) {
            r.machine.begins(Program::who(1), sc_sys);
            r.fence(1, sc_sys);
            r.machine.ends(Program::who(1), sc_sys);
        }
        const Access load{host, x, 4, Via::generic, acquire_sys};
        ASSERT_EQ(r.machine.ways(load), 2u);
        r.machine.begins(host, acquire_sys);
        uint8_t value[4];
        r.machine.load(r.memory, load, 1, value);
        EXPECT_EQ(value[0], fenced ? 1 : 0);

        r.store(1, y, 1);
        if (fenced) {
            r.fence(1, sc_sys);
            r.machine.ends(Program::who(1), sc_sys);
        }
        const Access change{host, y, 4, Via::generic, acquire_sys};
        ASSERT_EQ(r.machine.ways_to_modify(change), 2u);
        r.machine.begins(host, acquire_sys);
        r.machine.before_change(r.memory, change, true, false, 1);
        r.memory.read(y, value, 4);
        EXPECT_EQ(value[0], fenced ? 1 : 0);
    }
}

// Thread 1 reads `near`, stores what it finds to x and arrives; thread 3 of its CTA waits for that
// and has an agent write to `near`.
class LateRead : public ::testing::Test {
  protected:
    enum What {
        nothing,
        fence_of_reader,
        fence_of_writer,
        look,
        copy_overwritten,
        place_overwritten
    };
    static constexpr Thread agent = 100;
    Program r;
    Access by(Thread t, uint64_t address) const {
        return {{t, Program::who(3).place},
                address,
                4,
                t == agent ? Via::async : Via::generic,
                weak_one};
    }
    void proxy_fence(Thread t) {
        Fence f;
        f.to_async = true;
        r.machine.fence(Program::who(t), f);
    }
    void read(What what, bool stored = true) {
        r.store(1, near, 1);
        r.load(1, near);
        r.machine.leave_open(Program::at(1, near, weak_one), 7);
        if (stored) copy(0);
        if (what == fence_of_reader) proxy_fence(1);
        if (what == look) r.load(2, x);
        if (what == copy_overwritten) r.store(1, x, 9);
        r.machine.arrive(Program::who(1), 5, 0, release_cta);
        r.machine.wait(Program::who(3), 5, 0, acquire_cta);
        if (what == place_overwritten) r.store(3, near, 9);
        if (what == fence_of_writer) proxy_fence(3);
        r.machine.issue(Program::who(3), agent);
    }
    void copy(unsigned way) {
        r.store(1, x, 1);
        r.machine.pass_on(r.memory, Program::at(1, x, weak_one), 7, way);
    }
    unsigned ways() const { return r.machine.ways_to_store(by(agent, near)); }
    void write(unsigned way) {
        const uint8_t value[4] = {2, 0, 0, 0};
        r.machine.store(r.memory, by(agent, near), value, way);
    }
    unsigned found() { return r.load(1, x); }
};

TEST_F(LateRead, FindsTheWriteThatNoProxyFenceOrders) {
    // In front of what the async proxy does not know (the first store), newest, and late.
    read(nothing);
    ASSERT_EQ(ways(), 3u);
    write(2);
    EXPECT_EQ(found(), 2u);
    EXPECT_EQ(r.ways(1, near), 1u);  // it has been seen
}
TEST_F(LateRead, NeedNotBeLate) {
    read(nothing);
    write(0);
    EXPECT_EQ(found(), 1u);
    EXPECT_EQ(ways(), 1u);
}
TEST_F(LateRead, AProxyFenceOfTheReaderOrders) {
    read(fence_of_reader);
    EXPECT_EQ(ways(), 1u);
}
TEST_F(LateRead, AProxyFenceOfTheWriterOrders) {
    read(fence_of_writer);
    EXPECT_EQ(ways(), 1u);
}
TEST_F(LateRead, WhoHasLookedHasSeenIt) {
    read(look);
    EXPECT_EQ(ways(), 2u);
}
TEST_F(LateRead, IsOverWhereItsCopyOrItsPlaceIsOverwritten) {
    read(copy_overwritten);
    EXPECT_EQ(ways(), 2u);
    SetUp();
    r = Program();
    read(place_overwritten);
    EXPECT_EQ(ways(), 3u);  // in front of two stores
}
TEST_F(LateRead, NobodySeesTheCopyWithoutBeingShown) {
    read(nothing);
    EXPECT_FALSE(r.machine.plain(Program::at(3, x, weak_one), 4, 1));
    r.load(3, x);
    EXPECT_TRUE(r.machine.plain(Program::at(3, x, weak_one), 4, 1));
}
TEST_F(LateRead, MayBeStoredAfterTheWrite) {
    for (const unsigned way : {0u, 1u}) {
        r = Program();
        read(nothing, false);
        ASSERT_EQ(ways(), 3u);
        write(2);
        ASSERT_EQ(r.machine.ways_to_pass_on(7), 2u);
        copy(way);
        EXPECT_EQ(found(), 1u + way);
    }
}
TEST_F(LateRead, IsPerformedOnceForAllItsBytes) {
    r.store(1, near, 1);
    r.store(1, near + 4, 1);
    Access wide = Program::at(1, near, weak_one), to = Program::at(1, x, weak_one);
    wide.bytes = to.bytes = 8;
    r.machine.leave_open(wide, 7);
    r.store(1, x, 1);
    r.store(1, x + 4, 1);
    r.machine.pass_on(r.memory, to, 7, 0);
    r.machine.issue(Program::who(3), agent);
    Access half = by(agent, near + 4);
    const uint8_t value[4] = {2, 0, 0, 0};
    r.machine.store(r.memory, half, value, r.machine.ways_to_store(half) - 1);
    EXPECT_EQ(r.load(1, x), 1u);  // each byte of its own write
    EXPECT_EQ(r.load(1, x + 4), 2u);
    EXPECT_EQ(r.machine.ways_to_store(by(agent, near)), 1u);  // it has found what it has found
}

}  // namespace
}  // namespace weak
