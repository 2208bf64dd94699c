// SPDX-License-Identifier: Apache-2.0
// The pool behind workers.hpp.
#include "emu/schedule/workers.hpp"

#include <algorithm>
#include <new>
#include <system_error>

namespace sassemu {

Workers::~Workers() {
    {
        const std::lock_guard guard(mutex_);
        end_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

uint32_t Workers::run(uint32_t count, const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    jobs_.reserve(jobs_.size() + 1);
    while (threads_.size() - taken_ + 1 < count) {
        try {
            threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {
            break;  // the host has no more threads to give
        } catch (const std::bad_alloc&) {
            break;
        }
    }
    const auto lent =
        static_cast<uint32_t>(std::min<size_t>(std::max(count, 1u) - 1, threads_.size() - taken_));
    Job job{&work, lent, 0};
    taken_ += lent;
    jobs_.push_back(&job);
    lock.unlock();
    wake_.notify_all();
    work();
    lock.lock();
    taken_ -= job.seats;
    std::erase(jobs_, &job);
    left_.wait(lock, [&] { return job.inside == 0; });
    return lent + 1;
}

Workers::Job* Workers::open_job() {
    for (Job* job : jobs_)
        if (job->seats) return job;
    return nullptr;
}

void Workers::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        Job* job = nullptr;
        wake_.wait(lock, [&] { return end_ || (job = open_job()); });
        if (!job) return;
        --job->seats;
        ++job->inside;
        lock.unlock();
        (*job->work)();
        lock.lock();
        --job->inside;
        --taken_;
        left_.notify_all();
    }
}

}  // namespace sassemu
