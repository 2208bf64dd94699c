// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes -> a litmus test, as a line of JSONL or (when they begin with "//")
// as a .sass file; what can be read is explored for a moment. Build: cmake --preset fuzz && cmake
// --build --preset fuzz Run:   litmus_fuzz -max_len=4000 -max_total_time=600 corpus/ tests/litmus/
// tests/explore/data/
#include <cstdint>
#include <string>

#include "emu/explore/operational.hpp"
#include "emu/explore/sass_front.hpp"
#include "emu/explore/witness.hpp"

namespace sassemu::explore {
namespace {

int explore_bytes(const std::uint8_t* data, std::size_t size) {
    std::string text(reinterpret_cast<const char*>(data), size);
    const bool sass = text.starts_with("//");
    if (!sass) text = text.substr(0, text.find('\n'));  // one test a line
    auto test = sass ? read_sass_test(text, "input.sass") : read_test(text);
    if (!test) {
        if (test.error().message().empty()) __builtin_trap();
        return 0;
    }
    const Limits limits{.seconds = 0.05, .executions = 200};
    if (test->model == "nvshmem" || test->model == "caches") {
        const auto report = test->model == "caches" ? explore_caches(*test, limits)
                                                    : explore_deliveries(*test, limits);
        if (!report && report.error().message().empty()) __builtin_trap();
        return 0;
    }
    static const auto judge = Judge::open("ptx", "");
    const auto report = explore(*test, **judge, limits);
    if (report && report->witness)
        if (witness_text(*test, *report).empty() || witness_graphviz(*test, *report).empty())
            __builtin_trap();
    return 0;
}

}  // namespace
}  // namespace sassemu::explore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return sassemu::explore::explore_bytes(data, size);
}
