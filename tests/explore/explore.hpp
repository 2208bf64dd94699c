// SPDX-License-Identifier: Apache-2.0
// What the tests of the explorer share: one litmus test from a line of JSON to its report.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/ptx/read_test.hpp"

namespace sassemu::explore {

inline Report explored(const std::string& line, const std::string& model = {},
                       const std::string& options = {}, const Sampling& sampling = {}) {
    auto test = read_test(line);
    EXPECT_TRUE(test) << test.error().message() << "\n" << line;
    if (!test) return {};
    std::string name = model.empty() ? test->model : model;
    if (name.ends_with("-liveness")) name = name.starts_with("ptx75") ? "ptx75-proxy" : "ptx60";
    auto judge = Judge::open(name, options);
    EXPECT_TRUE(judge) << judge.error().message();
    if (!judge) return {};
    auto report = explore(*test, **judge, {.seconds = 20}, sampling);
    EXPECT_TRUE(report) << report.error().message();
    return report ? std::move(report).value() : Report{};
}

// {{"P0", cta, {ops}}, ...} as a test of model `ptx`.
struct Column {
    int cta, gpu;
    std::vector<std::string> ops;
};
inline nlohmann::json test_of(const std::vector<Column>& columns, const std::string& condition) {
    nlohmann::json out{{"name", "t"}, {"model", "ptx"}, {"condition", condition}};
    int i = 0;
    for (const Column& c : columns)
        out["threads"].push_back(
            {{"id", "P" + std::to_string(i++)}, {"cta", c.cta}, {"gpu", c.gpu}, {"ops", c.ops}});
    return out;
}

inline std::vector<nlohmann::json> own_tests(const std::string& file) {
    std::ifstream in(std::string(SASSEMU_SOURCE_DIR) + "/tests/litmus/" + file);
    std::vector<nlohmann::json> out;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) out.push_back(nlohmann::json::parse(line));
    EXPECT_FALSE(out.empty()) << file;
    return out;
}

}  // namespace sassemu::explore
