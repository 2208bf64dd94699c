// Choosers: fixed order, seeds, recording and replay.
#include "emu/schedule/chooser.hpp"

#include <gtest/gtest.h>

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
