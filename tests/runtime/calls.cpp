// SPDX-License-Identifier: Apache-2.0
// Every function of the runtime, called with nothing and with handles, pointers and numbers that it
// has not given out, by two threads: none crashes. Which was the last is said with `verbose`.
#include "tests/runtime/calls.hpp"

#include <cstdio>
#include <cstring>
#include <thread>

namespace {

void call_all(bool verbose) {
    for (const long number : {1L, -1L, 0x7fffffffL}) {
        for (unsigned i = 0; i < call_count; ++i) {
            // Copies of so many bytes of this process would be its own fault.
            const bool copies = std::strstr(every_call[i].name, "Mem") != nullptr;
            char bytes[4096] = {};
            if (verbose) {
                std::printf("%s %ld\n", every_call[i].name, number);
                std::fflush(stdout);
            }
            every_call[i].with_nothing(bytes, number);
            every_call[i].with_foreign(bytes, copies ? 1 : number);
        }
    }
}

}  // namespace

int main(int argc, char**) {
    std::thread other(call_all, false);
    call_all(argc > 1);
    other.join();
    std::printf("%u functions\n", call_count);
    return 0;
}
