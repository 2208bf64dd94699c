// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: commands of the debugger's console, right ones and others, on a running
// program. Each ends with what it says or an error of one line. Run: console_fuzz -max_len=400
// corpus/
#include "debugged.hpp"
#include "emu/debug/console.hpp"

using namespace sassemu;
using namespace sassemu::debug;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ::alarm(120);  // a command that does not end
    fuzz::Choices choices(data, size);
    auto session = fuzz::start({});
    if (!session) std::abort();
    Sources sources;
    Console console(**session, sources, [](std::string_view) {});
    console.greet();
    for (int commands = 0; choices.any() && !console.quits() && commands < 24; ++commands) {
        const std::string line = fuzz::command_of(choices);
        (void)Console::completions(line);
        if (const auto done = console.execute(line);
            !done && Console::error_text(done.error()).empty())
            std::abort();
    }
    return 0;
}
