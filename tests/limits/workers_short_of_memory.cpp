// SPDX-License-Identifier: Apache-2.0
// Runs and jobs on workers while allocations fail (failing_calls.c): 0: all was done, 2: an
// allocation that failed came out where it may. Anything else is a fault of workers.cpp.
#include <atomic>
#include <new>
#include <thread>

#include "emu/base/workers.hpp"

using sassemu::Workers;

namespace {

void grow(Workers::Tasks& tasks, std::atomic<int>& leaves, int depth) {
    if (!depth) {
        ++leaves;
        return;
    }
    for (int i = 0; i < 3; ++i)
        tasks.spawn([&tasks, &leaves, depth] { grow(tasks, leaves, depth - 1); });
}

int work(Workers& workers) {
    std::atomic<int> leaves{0}, jobs{0};
    int taken = 0;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 20; ++i) taken += workers.spawn([&jobs] { ++jobs; });
        workers.run([&](Workers::Tasks& tasks) { grow(tasks, leaves, 5); });
        for (int i = 0; i < 20; ++i) taken += workers.spawn([&jobs] { ++jobs; });
    }
    while (jobs < taken) std::this_thread::yield();
    return leaves == 2 * 243 ? 0 : 3;
}

}  // namespace

int main() {
    try {
        Workers workers(4);
        return work(workers);
    } catch (const std::bad_alloc&) {
        return 2;
    }
}
