// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes -> a litmus test, as a line of JSONL or (when they begin with "//")
// as a .sass file; what can be read is explored for a moment under every judge and machine. Build:
// cmake --preset fuzz && cmake --build build/fuzz --target litmus_fuzz Run: litmus_fuzz
// -max_len=4000 -max_total_time=600 corpus/ build/fuzz/seeds/litmus
#include <cstdint>
#include <string>

#include "emu/explore/ptx/read_test.hpp"
#include "emu/explore/sass/read_sass.hpp"
#include "every_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sassemu::explore;
    std::string text(reinterpret_cast<const char*>(data), size);
    const bool sass = text.starts_with("//");
    if (!sass) text = text.substr(0, text.find('\n'));  // one test a line
    auto test = sass ? read_sass_test(text, "input.sass") : read_test(text);
    if (test)
        explore_under_every_model(*test);
    else if (test.error().message().empty())
        __builtin_trap();
    return 0;
}
