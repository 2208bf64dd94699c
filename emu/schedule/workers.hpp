// SPDX-License-Identifier: Apache-2.0
// The threads that run launches: as many as were asked for, also where the host has fewer cores,
// and fewer where it gives no more. What they run is engine.cpp's. Why not oneTBB's threads: a
// worker that cannot start the next one ends the process (docs/robustness.md, "Threads").
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sassemu {

class Workers {
  public:
    Workers() = default;
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    ~Workers();

    // Runs `work` here and on up to `count` - 1 more threads at once, which stay for the next time;
    // returns how many took part. `work` throws nothing, and the first to end it ends it for those
    // that have not begun. Several launches may ask at a time.
    uint32_t run(uint32_t count, const std::function<void()>& work);

  private:
    struct Job {
        const std::function<void()>* work;
        uint32_t seats;   // for threads that have not come yet
        uint32_t inside;  // threads at work
    };
    void serve();
    Job* open_job();

    std::mutex mutex_;
    std::condition_variable wake_, left_;
    std::vector<Job*> jobs_;
    std::vector<std::thread> threads_;
    size_t taken_ = 0;  // threads that have a job, or a seat in one
    bool end_ = false;
};

}  // namespace sassemu
