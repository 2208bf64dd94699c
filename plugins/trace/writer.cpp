// SPDX-License-Identifier: Apache-2.0
// See writer.hpp.
#include "writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "frames.hpp"

namespace tracing {

using namespace sassemu::trace;

namespace {

constexpr size_t most_waiting = 4;  // chunks
constexpr size_t most_done = 32;    // blocks whose turn has not come

// Beside the file that will be, since there is where the room is; else where temporary files go.
int open_spool(const std::string& path) {
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) folder = ".";
    int file = -1;
    if (folder != "/dev" && folder != "/dev/fd")
        file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno == ENOENT && folder != "/dev")) return file;
    const char* const set = std::getenv("TMPDIR");
    std::string name = std::string(set && *set ? set : "/tmp") + "/sassemu-trace.XXXXXX";
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) ::unlink(name.c_str());
    return file;
}

}  // namespace

Writer::Writer(const std::string& path, int level, unsigned threads)
    : level_(level), file_(open_spool(path)) {
    if (file_ < 0)
        throw std::invalid_argument("option 'file': cannot write beside '" + path +
                                    "': " + std::strerror(errno));
    write(first_frame());
    try {
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // The host has no thread to give: submit() does what is left.
    }
}

Writer::~Writer() {
    {
        const std::lock_guard guard(mutex_);
        stop_ = true;
        waiting_.clear();
    }
    some_.notify_all();
    for (std::thread& t : threads_) t.join();
    if (file_ >= 0) ::close(file_);
}

void Writer::fail(const std::string& what) {
    if (error_.empty()) error_ = what;
}

std::string Writer::error() {
    const std::lock_guard guard(mutex_);
    return error_;
}

void Writer::write(const std::string& bytes) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::write(file_, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw std::system_error(errno, std::generic_category());
        done += static_cast<size_t>(n);
    }
    written_ += bytes.size();
}

void Writer::submit(Job job, About about) {
    std::unique_lock lock(mutex_);
    index_.add_size(0);
    index_.add_launch(about.launch);
    index_.add_cta(about.cta);
    index_.add_records(about.records);
    waiting_.push_back({submitted_++, std::move(job)});
    if (waiting_.size() > most_waiting || threads_.empty()) {
        Task own = std::move(waiting_.front());
        waiting_.pop_front();
        perform(std::move(own), lock);
    } else {
        some_.notify_one();
    }
}

// Called and left with the lock held.
void Writer::perform(Task task, std::unique_lock<std::mutex>& lock) {
    std::string bytes, wrong = error_;
    lock.unlock();
    try {
        // Contexts are large and are used again.
        static thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(
            ZSTD_createCCtx(), ZSTD_freeCCtx);
        Trace one;
        if (wrong.empty()) {
            task.job(one);
            bytes = compressed(one.SerializeAsString(), level_, context.get());
        }
    } catch (const std::exception& e) {
        wrong = e.what();
    }
    lock.lock();
    if (!wrong.empty()) fail(wrong);
    // The oldest block is always with a thread that does not wait here, so this ends.
    less_.wait(lock, [&] { return done_.size() < most_done || task.number == next_; });
    done_.emplace(task.number, std::move(bytes));
    if (writing_) return;
    writing_ = true;
    while (!done_.empty() && done_.begin()->first == next_) {
        const std::string ready = std::move(done_.begin()->second);
        done_.erase(done_.begin());
        index_.set_size(static_cast<int>(next_), ready.size());
        lock.unlock();
        std::string problem;
        try {
            write(ready);
        } catch (const std::exception& e) {
            problem = e.what();
        }
        lock.lock();
        if (!problem.empty()) fail(problem);
        ++next_;
        less_.notify_all();
    }
    writing_ = false;
}

void Writer::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        some_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        Task task = std::move(waiting_.front());
        waiting_.pop_front();
        perform(std::move(task), lock);
    }
}

bool Writer::finish(const std::function<void(const void*, uint64_t)>& use) {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
        Task own = std::move(waiting_.front());
        waiting_.pop_front();
        perform(std::move(own), lock);
    }
    less_.wait(lock, [&] { return next_ == submitted_; });
    if (!error_.empty()) return false;
    try {
        write(last_frame(index_, written_));
    } catch (const std::exception& e) {
        fail(e.what());
        return false;
    }
    void* const bytes = ::mmap(nullptr, written_, PROT_READ, MAP_PRIVATE, file_, 0);
    if (bytes == MAP_FAILED) {
        fail(std::strerror(errno));
        return false;
    }
    use(bytes, written_);
    ::munmap(bytes, written_);
    return true;
}

}  // namespace tracing
