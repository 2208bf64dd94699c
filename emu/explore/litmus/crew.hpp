// SPDX-License-Identifier: Apache-2.0
// Threads that explore one test together, round after round. What belongs here: which of them does
// what of a round. What does not: what there is to do, and the order of results, which no number of
// threads may change (the searches see to that).
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "emu/base/workers.hpp"

namespace sassemu::explore {

class Crew {
  public:
    // Without workers the thread that asks does it all.
    explicit Crew(Workers* workers) : workers_(workers) {}
    // Numbers of workers are below this.
    unsigned most() const { return workers_ ? workers_->threads() : 1; }
    // The search: threads that have come stay until it is over.
    void search(const std::function<void()>& all) {
        if (most() == 1) return all();
        workers_->run([&](Workers::Tasks&) { all(); });
    }
    // act(worker, i) for each i; no worker twice at a time. A round. `begins(worker, i)`: whether
    // the worker should rather do this one; others have it where it is late.
    template <class Act, class Begins>
    void each(size_t count, size_t least, const Act& act, const Begins& begins) {
        const size_t parts = std::min<size_t>(most(), count / least);
        if (parts < 2) {
            for (size_t i = 0; i < count; ++i) act(0, i);
            return;
        }
        std::vector<std::atomic_flag> taken(count);
        const auto take_part = [&](unsigned worker) {
            for (const bool own : {true, false})
                for (size_t i = 0; i < count; ++i)
                    if (begins(worker, i) == own && !taken[i].test_and_set()) act(worker, i);
        };
        workers_->run([&](Workers::Tasks& tasks) {
            for (unsigned worker = 1; worker < parts; ++worker)
                tasks.spawn([&, worker] { take_part(worker); });
            take_part(0);
        });
    }

  private:
    Workers* const workers_;
};

}  // namespace sassemu::explore
