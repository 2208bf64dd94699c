// SPDX-License-Identifier: Apache-2.0
// emu/base/result.hpp
#include "emu/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace sassemu {
namespace {

Result<int> positive(int value) {
    if (value < 0) return make_error(ErrorCode::input, "value", "is negative", "use |x|");
    return value;
}

Result<std::unique_ptr<int>> boxed(int value) {
    SASSEMU_ASSIGN(const int checked, positive(value));
    return std::make_unique<int>(checked + 1);
}

Result<void> both(int a, int b, int& calls) {
    SASSEMU_TRY(positive(a));
    ++calls;
    SASSEMU_TRY(positive(b));
    ++calls;
    return {};
}

TEST(Result, MessageJoinsThePartsThatAreThere) {
    EXPECT_EQ(make_error(ErrorCode::input, "f", "w", "h").message(), "f: w; h");
    EXPECT_EQ(make_error(ErrorCode::input, "f", "w").message(), "f: w");
    EXPECT_EQ(make_error(ErrorCode::input, "", "w", "h").message(), "w; h");
    EXPECT_EQ(make_error(ErrorCode::input, "a\nb", "w\r").message(), "a b: w ");
}

TEST(Result, WithinAddsTheOuterPlaceInFront) {
    const auto result = positive(-1).within("plan.json").within("run");
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message(), "run: plan.json: value: is negative; use |x|");
    EXPECT_EQ(*positive(3).within("plan.json"), 3);
}

TEST(Result, AssignMovesTheValueAndPassesTheError) {
    auto good = boxed(4);
    ASSERT_TRUE(good.ok());
    EXPECT_EQ(**good, 5);
    EXPECT_EQ(boxed(-4).error().where, "value");
}

TEST(Result, TryStopsAtTheFirstError) {
    int calls = 0;
    EXPECT_TRUE(both(1, 2, calls).ok());
    EXPECT_EQ(calls, 2);
    calls = 0;
    EXPECT_FALSE(both(1, -2, calls).ok());
    EXPECT_EQ(calls, 1);
    calls = 0;
    EXPECT_FALSE(both(-1, 2, calls).ok());
    EXPECT_EQ(calls, 0);
}

TEST(Result, MapAndAndThenRunOnlyOnSuccess) {
    EXPECT_EQ(*positive(2).map([](int v) { return v * 10; }), 20);
    EXPECT_FALSE(positive(-2).map([](int v) { return v * 10; }).ok());
    EXPECT_EQ(*positive(2).and_then([](int v) { return positive(v + 1); }), 3);
    EXPECT_FALSE(positive(2).and_then([](int v) { return positive(-v); }).ok());
    EXPECT_EQ(positive(-2).value_or(7), 7);
}

TEST(Result, ExitCodesFollowTheContract) {
    EXPECT_EQ(exit_code(ErrorCode::usage), 2);
    EXPECT_EQ(exit_code(ErrorCode::input), 2);
    EXPECT_EQ(exit_code(ErrorCode::not_found), 2);
    EXPECT_EQ(exit_code(ErrorCode::limit), 4);
    EXPECT_EQ(exit_code(ErrorCode::unsupported), 5);
    EXPECT_EQ(exit_code(ErrorCode::internal), 7);
}

}  // namespace
}  // namespace sassemu
