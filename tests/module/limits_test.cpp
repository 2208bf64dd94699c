// SPDX-License-Identifier: Apache-2.0
// emu/base/limits.hpp
#include "emu/base/limits.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <future>

namespace sassemu {
namespace {

constexpr std::uint64_t mib = 1 << 20;

// Memory of its own mapping, so that untouched is untouched.
class Mapping {
  public:
    explicit Mapping(std::size_t bytes)
        : bytes_(bytes),
          at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { munmap(at_, bytes_); }
    void touch(std::size_t bytes) { std::memset(at_, 1, bytes); }

  private:
    std::size_t bytes_;
    void* at_;
};

TEST(Budget, WithoutLimitsNothingStops) {
    const Budget budget;
    EXPECT_EQ(budget.poll(), Budget::Stop::none);
    EXPECT_TRUE(budget.check("here").ok());
    EXPECT_TRUE(budget.room_for(UINT64_MAX, "here").ok());
}

TEST(Budget, TheDeadlineStopsAndSaysHowToRaiseIt) {
    Budget budget;
    budget.set_time_limit(1e-9);
    const auto result = budget.check("plan.json");
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(exit_code(result.error().code), 4);
    EXPECT_EQ(result.error().message(),
              "plan.json: the time limit of 1e-09 s is reached; raise --time-limit if it is not "
              "stuck");
    EXPECT_EQ(budget.stopped(), Budget::Stop::time);
    budget.begin_work();
    EXPECT_EQ(budget.ignored(1e6), Budget::Stop::none) << "there is grace";
    EXPECT_EQ(budget.ignored(0), Budget::Stop::time);
}

TEST(Budget, ResultsAreWrittenWithoutADeadline) {
    Budget budget;
    budget.begin_work();
    {
        const Budget::Results results(budget);
        budget.set_time_limit(1e-9);
        EXPECT_TRUE(budget.check("here").ok());
        EXPECT_EQ(budget.ignored(0), Budget::Stop::none);
    }
    EXPECT_EQ(budget.poll(), Budget::Stop::time);
}

TEST(Budget, ResultsAreWrittenOfWorkThatWasStoppedAndNoMoreIsBegun) {
    Budget budget;
    budget.begin_work();
    EXPECT_TRUE(budget.interrupt()) << "it ends in order";
    EXPECT_FALSE(budget.check("work").ok());
    {
        const Budget::Results results(budget);
        EXPECT_TRUE(budget.check("dump").ok());
        const Budget::Results inside(budget);
        EXPECT_EQ(budget.cause(), Budget::Stop::interrupted);
    }
    EXPECT_FALSE(budget.check("more work").ok());
    EXPECT_FALSE(budget.interrupt()) << "the second ends the process";
}

TEST(Budget, AnInterruptWhileResultsAreWrittenCutsThemToo) {
    Budget budget;
    budget.begin_work();
    budget.set_time_limit(1e-9);
    EXPECT_EQ(budget.poll(), Budget::Stop::time);
    const Budget::Results results(budget);
    EXPECT_TRUE(budget.check("dump").ok());
    EXPECT_TRUE(budget.interrupt());
    EXPECT_FALSE(budget.check("dump").ok());
    EXPECT_EQ(budget.cause(), Budget::Stop::interrupted);
}

TEST(Budget, WithNothingToLoseAnInterruptEndsTheProcess) {
    Budget budget;
    EXPECT_FALSE(budget.interrupt());
}

TEST(Budget, CountsMemoryThatIsTouchedNotMapped) {
    Budget budget;
    budget.set_memory_limit(budget.resident() + 160 * mib);
    Mapping memory(std::size_t{1} << 36);
    memory.touch(32 * mib);
    EXPECT_TRUE(budget.check("here").ok());
    memory.touch(180 * mib);
    // Samples are a millisecond apart.
    while (budget.poll() == Budget::Stop::none) continue;
    EXPECT_EQ(budget.stopped(), Budget::Stop::memory);
    EXPECT_EQ(budget.ignored(0), Budget::Stop::memory);
    EXPECT_EQ(exit_code(budget.check("here").error().code), 4);
}

TEST(Budget, RoomIsRefusedBeforeItIsTaken) {
    Budget budget;
    budget.set_memory_limit(budget.resident() + 64 * mib);
    EXPECT_TRUE(budget.room_for(32 * mib, "here").ok());
    for (const std::uint64_t bytes : {65 * mib, std::uint64_t{1} << 40, UINT64_MAX}) {
        const auto refused = budget.room_for(bytes, "a.fatbin: image 3");
        ASSERT_FALSE(refused.ok()) << bytes;
        EXPECT_EQ(exit_code(refused.error().code), 4);
        EXPECT_NE(refused.error().message().find("a.fatbin: image 3: "), std::string::npos);
        EXPECT_NE(refused.error().hint.find("--memory-limit"), std::string::npos);
    }
    EXPECT_EQ(budget.stopped(), Budget::Stop::none) << "smaller work goes on";
}

TEST(Budget, TheFirstReasonStays) {
    Budget budget;
    budget.interrupt();
    budget.set_time_limit(1e-9);
    EXPECT_EQ(budget.poll(), Budget::Stop::interrupted);
    EXPECT_EQ(budget.check("here").error().message(), "here: interrupted");
}

TEST(Budget, OneForTheProcessIsResetToNoLimits) {
    Budget& budget = process_budget();
    budget.set_time_limit(1e-9);
    budget.set_memory_limit(1);
    EXPECT_EQ(process_budget().poll(), Budget::Stop::time);
    budget.reset();
    EXPECT_EQ(budget.poll(), Budget::Stop::none);
    EXPECT_TRUE(budget.room_for(UINT64_MAX, "here").ok());
}

TEST(Budget, TheDefaultIsAShareOfTheMachine) {
    EXPECT_GT(default_memory_limit(), 0U);
    EXPECT_LT(default_memory_limit(), std::uint64_t{1} << 50);
}

TEST(Watchdog, SeesTheDeadlineForThoseWhoOnlyLookAtTheFlag) {
    Budget budget;
    budget.set_time_limit(0.01);
    const Watchdog watchdog(budget, [](Budget::Stop) {});
    while (budget.stopped() == Budget::Stop::none) std::this_thread::yield();
    EXPECT_EQ(budget.stopped(), Budget::Stop::time);
}

TEST(Watchdog, CallsWhenMemoryGrowsOnRegardless) {
    Budget budget;
    budget.set_memory_limit(budget.resident() + 32 * mib);
    std::promise<Budget::Stop> called;
    const Watchdog watchdog(budget, [&](Budget::Stop why) { called.set_value(why); });
    Mapping memory(64 * mib);
    memory.touch(64 * mib);
    EXPECT_EQ(called.get_future().get(), Budget::Stop::memory);
}

}  // namespace
}  // namespace sassemu
