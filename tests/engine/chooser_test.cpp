// SPDX-License-Identifier: Apache-2.0
// Choosers: fixed order, seeds, recording and replay.
#include "emu/schedule/chooser.hpp"
#include "emu/schedule/schedules.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sassemu {
namespace {

TEST(Chooser, SeedsGiveTheSameChoicesAgainAndDifferFromEachOther) {
    auto a = make_seeded_chooser(7), b = make_seeded_chooser(7), c = make_seeded_chooser(8);
    uint32_t differ = 0;
    bool hit[5] = {};
    for (int i = 0; i < 200; ++i) {
        const uint32_t x = a->pick(ChoicePoint::next_cta, 5);
        ASSERT_LT(x, 5u);
        hit[x] = true;
        EXPECT_EQ(x, b->pick(ChoicePoint::next_cta, 5));
        differ += x != c->pick(ChoicePoint::next_cta, 5);
    }
    for (bool h : hit) EXPECT_TRUE(h);
    EXPECT_GT(differ, 50u);
}

TEST(Chooser, ASeedNamesItsSchedule) {
    constexpr ChoicePoint points[] = {ChoicePoint::branch_side, ChoicePoint::next_cta,
                                      ChoicePoint::next_warp, ChoicePoint::agent,
                                      ChoicePoint::launch};
    EXPECT_EQ(nth_seed(7, 0), 7u);  // the first is as asked
    std::set<std::pair<Schedule, AgentOrder>> pairs;
    EXPECT_EQ(agent_order_of(scheduled_seed(Schedule::bursts, AgentOrder::random, 3)),
              AgentOrder::random);
    for (uint64_t n = 1; n <= 30; ++n) {
        const uint64_t seed = nth_seed(7, n);
        pairs.emplace(schedule_of(seed), agent_order_of(seed));
        const auto one = make_seeded_chooser(seed), again = make_seeded_chooser(seed);
        uint32_t named = 0, changes = 0, last = 0;
        for (uint32_t k = 0; k < 1000; ++k) {
            const ChoicePoint point = points[k % 4];
            const uint32_t count = 1 + k % 7;
            const uint32_t chosen = one->pick(point, count);
            ASSERT_LT(chosen, count);
            ASSERT_EQ(chosen, again->pick(point, count));
            if (point != ChoicePoint::next_warp) continue;
            named += chosen != 0;
            changes += chosen != last;
            last = chosen;
        }
        // Warps are named by schedules other than the usual one.
        EXPECT_EQ(named == 0, schedule_of(seed) == Schedule::usual) << seed;
        EXPECT_EQ(changes == 0, schedule_of(seed) == Schedule::usual) << seed;
    }
    EXPECT_EQ(pairs.size(), 3 * static_cast<size_t>(Schedule::count));
}

TEST(Chooser, AReplayRepeatsARecordingAndNoticesAnotherProgram) {
    ChoiceLog log;
    auto recorder = make_recording_chooser(make_seeded_chooser(3), log);
    std::vector<uint32_t> chosen;
    for (uint32_t n = 2; n < 40; ++n) chosen.push_back(recorder->pick(ChoicePoint::branch_side, n));
    ReplayChooser replay(log);
    for (uint32_t n = 2; n < 40; ++n)
        EXPECT_EQ(replay.pick(ChoicePoint::branch_side, n), chosen[n - 2]);
    EXPECT_TRUE(replay.valid());

    ReplayChooser other(log);
    other.pick(ChoicePoint::next_warp, 2);
    EXPECT_FALSE(other.valid());

    log.version = 99;
    EXPECT_FALSE(ReplayChooser(log).valid());
}

}  // namespace
}  // namespace sassemu
