// SPDX-License-Identifier: Apache-2.0
// From chunks to the file: blocks are encoded and compressed on several threads and written in the
// order in which they were handed over, so the bytes do not depend on which thread was faster.
// What does not belong here: what is recorded.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sassemu/trace.pb.h>

namespace tracing {

// What is under way is kept in a file without a name until the trace is whole; throws
// std::invalid_argument where no such file can be made.
class Writer {
  public:
    // Makes a block; runs on any thread.
    using Job = std::function<void(sassemu::trace::Trace&)>;
    struct About {  // for the index
        uint64_t launch = 0, cta = 0, records = 0;
    };
    Writer(const std::string& path, int level, unsigned threads);
    ~Writer();
    // With so many jobs waiting the caller does one itself: that bounds memory.
    void submit(Job job, About about);
    // After the last: the whole file's bytes, mapped, for one call. False: an error, see error().
    bool finish(const std::function<void(const void*, uint64_t)>& use);
    // The first thing that went wrong, or "".
    std::string error();

  private:
    struct Task {
        uint64_t number;
        Job job;
    };
    void work();
    void perform(Task task, std::unique_lock<std::mutex>& lock);
    void write(const std::string& bytes);
    void fail(const std::string& what);

    const int level_;
    int file_ = -1;
    uint64_t written_ = 0;
    std::string error_;
    std::mutex mutex_;
    std::condition_variable some_, less_;
    std::deque<Task> waiting_;
    std::map<uint64_t, std::string> done_;  // compressed, and not yet its turn
    uint64_t submitted_ = 0, next_ = 0;
    bool stop_ = false, writing_ = false;
    sassemu::trace::Index index_;
    std::vector<std::thread> threads_;
};

}  // namespace tracing
