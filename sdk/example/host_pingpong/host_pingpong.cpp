// SPDX-License-Identifier: Apache-2.0
// A host process that rings a kernel's doorbell and waits for the answer, and how long that takes:
// by calls, and through memory of the plan that it has mapped. Starts the emulator itself.
//
//   host_pingpong sassemu cubins/flight/pingpong/plan.json 100    (rounds: as the plan's last
//   argument)
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sassemu_host/host.hpp>
#include <string>
#include <vector>

using namespace sassemu::host_process;
using Clock = std::chrono::steady_clock;

namespace {

// The kernel answers request n with three times the value.
double play(Attachment& host, uint32_t rounds, bool mapped) {
    const Buffer value = host["value"], answer = host["answer"];
    const auto bell = host["bell"].atomic<uint32_t>(), done = host["done"].atomic<uint32_t>();
    std::span<uint32_t> at[4];
    if (mapped)
        for (int i = 0; const char* name : {"bell", "value", "answer", "done"})
            at[i++] = host[name].map<uint32_t>();
    std::vector<double> times;
    for (uint32_t n = 1; n <= rounds; ++n) {
        const auto begin = Clock::now();
        uint32_t got = 0;
        if (mapped) {
            at[1][0] = n;
            std::atomic_ref(at[0][0]).store(n, std::memory_order_release);
            while (std::atomic_ref(at[3][0]).load(std::memory_order_acquire) != n) ::usleep(1);
            got = at[2][0];
        } else {
            value.store(n);
            bell.store(n);  // a doorbell: release at system scope
            done.wait(SASSEMU_HOST_EQUAL, n);
            got = answer.load<uint32_t>();
        }
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        if (got != 3 * n) {
            std::fprintf(stderr, "answer %u is %u\n", n, got);
            std::exit(1);
        }
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        std::fprintf(stderr, "usage: %s SASSEMU PLAN ROUNDS\n", words[0]);
        return 2;
    }
    const auto rounds = static_cast<uint32_t>(std::atoi(words[3]));
    for (const bool mapped : {false, true}) {
        const std::string address = "unix:/tmp/host_pingpong." + std::to_string(::getpid());
        const pid_t emulator = ::fork();
        if (emulator == 0) {
            ::execl(words[1], words[1], "run", words[2], "--listen", address.c_str(), nullptr);
            ::_exit(127);
        }
        try {
            Attachment host(address, {.hold = false, .patience = std::chrono::seconds(10)});
            const double time = play(host, rounds, mapped);
            std::printf("%u rounds %s: %.0f us each (median), launches: %s\n", rounds,
                        mapped ? "through mapped memory" : "by calls", time,
                        host.finish().value_or("?").c_str());
            std::fflush(stdout);
        } catch (const Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return 1;
        }
        int status = 0;
        ::waitpid(emulator, &status, 0);
        if (status) return 1;
    }
    return 0;
}
