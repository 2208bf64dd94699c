// SPDX-License-Identifier: Apache-2.0
// See workers.hpp. An arena makes a thread of its own for what enters it when its slots are taken
// (task_arena::enqueue, and execute() of a thread that finds no slot): so every thread that enters
// has a slot counted for it, and nothing is enqueued.
#include "emu/base/workers.hpp"

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/base/lend_thread.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sassemu {

namespace {

// TBB hands tasks over, and ThreadSanitizer does not see how: libtbb is not built with it. One
// place for all, since a task cannot be asked for its own before it is taken over.
#if defined(__SANITIZE_THREAD__)
char handed;
void hands_over() { __tsan_release(&handed); }
void takes_over() { __tsan_acquire(&handed); }
#else
void hands_over() {}
void takes_over() {}
#endif

// What a task is made of: its end gives back the memory too.
template <class F>
struct Handed {
    explicit Handed(F task) : perform(std::move(task)) {}
    Handed(Handed&&) = default;
    ~Handed() { hands_over(); }
    void operator()() const {
        takes_over();
        perform();
    }
    F perform;
};

// A slot costs some hundred bytes of an arena; more threads than this are of no use anywhere.
constexpr uint32_t most_threads = 1024;

// One that several threads may wait for, and that no context of a task which adds to it outlives.
class Group : private tbb::task_group_context, public tbb::task_group {
  public:
    Group()
        : tbb::task_group_context(isolated, default_traits | concurrent_wait),
          tbb::task_group(static_cast<tbb::task_group_context&>(*this)) {}
    // In the arena. TBB counts a task before it has memory for it, and leaves it counted.
    template <class F>
    void add(F&& task) {
        takes_over();
        tbb::task_handle made = counted(Handed<std::decay_t<F>>(std::forward<F>(task)));
        hands_over();
        try {
            run(std::move(made));
        } catch (...) {
            m_wait_ctx.release();
            throw;
        }
    }
    void finish() {
        wait();
        takes_over();
    }
    // Nobody who waits returns before it is gone.
    [[nodiscard]] tbb::task_handle held() {
        return counted([] {});
    }

  private:
    template <class F>
    tbb::task_handle counted(F&& task) {
        try {
            return defer(std::forward<F>(task));
        } catch (...) {
            m_wait_ctx.release();
            throw;
        }
    }
};

}  // namespace

struct Workers::State {
    explicit State(uint32_t most)
        : threads(std::clamp(most, 1u, most_threads)),
          // Those that are lent, one that calls run(), one that brings a job from outside.
          slots(threads + 1) {}
    ~State() { delete arena.load(); }

    const uint32_t threads, slots;
    std::atomic<tbb::task_arena*> arena{nullptr};
    Group jobs;  // in the arena; a run() holds it, so that lent threads stay

    std::mutex from_outside;  // one thread at a time calls run(), or brings a job
    std::mutex entering;
    std::mutex mutex;  // of all below
    std::condition_variable come, gone;
    std::vector<std::thread> lent;
    std::deque<Job> brought;         // that nobody has taken into the arena yet
    uint32_t unended = 0;            // jobs
    uint32_t inside_it = 0;          // jobs in the arena, and runs
    uint32_t asleep = 0, woken = 0;  // threads outside of it
    bool refused = false, fewer = false, end = false;
    std::atomic<bool> wanting{true};  // there may be a thread to wake or to lend
    // Who has been in the arena can go there again: what may fail is done.
    std::atomic<uint64_t> entered{0};  // by lent threads

    // The state whose arena this thread is in.
    static thread_local State* current;
    struct Inside {
        explicit Inside(State* state) : before(std::exchange(current, state)) {}
        Inside(const Inside&) = delete;
        ~Inside() { current = before; }
        State* const before;
    };

    void serve();
    bool help();
    void ended();
    bool take_in(Job& job);
    tbb::task_arena& arena_made();
    template <class F>
    void enter(F&& work) {
        arena_made().execute([&] {
            const Inside here(this);
            work();
        });
    }
};

thread_local Workers::State* Workers::State::current = nullptr;

// TBB waits without end for what it has begun to set up and could not: after a failure it is not
// asked again, and no two threads ask at once.
tbb::task_arena& Workers::State::arena_made() {
    if (tbb::task_arena* const there = arena.load(std::memory_order_acquire)) return *there;
    static std::mutex making;
    static bool failed = false;
    const std::lock_guard lock(making);
    if (failed) throw std::bad_alloc();
    if (!arena) {
        auto made = std::make_unique<tbb::task_arena>(static_cast<int>(slots), slots);
        failed = true;
        made->initialize();
        failed = false;
        arena.store(made.release(), std::memory_order_release);
    }
    return *arena;
}

// A lent thread: in the arena while there is work in it, and without a slot while there is none.
void Workers::State::serve() {
    std::unique_lock lock(mutex);
    bool able = true;  // to enter
    const auto something = [&] { return !brought.empty() || (able && inside_it); };
    for (;;) {
        if (!something()) {
            if (end) return;
            ++asleep;
            wanting = true;
            come.wait(lock);
            --asleep;
            woken -= woken > 0;
            continue;
        }
        Job job;
        if (!brought.empty()) {
            job = std::move(brought.front());
            brought.pop_front();
        }
        lock.unlock();
        try {
            if (able)
                enter([&] {
                    ++entered;
                    if (job && take_in(job)) job = nullptr;
                    if (!job) jobs.finish();
                });
        } catch (...) {
            able = false;  // no memory to take part: it does what it is brought
        }
        if (job) {
            job();
            ended();
        }
        lock.lock();
    }
}

// In the arena: the job becomes a task. False: there is no memory.
bool Workers::State::take_in(Job& job) {
    {
        const std::lock_guard lock(mutex);
        ++inside_it;
    }
    try {
        jobs.add([this, job] {
            job();
            {
                const std::lock_guard lock(mutex);
                --inside_it;
            }
            ended();
        });
        return true;
    } catch (...) {
        const std::lock_guard lock(mutex);
        --inside_it;
        return false;
    }
}

void Workers::State::ended() {
    const std::lock_guard lock(mutex);
    if (--unended) return;
    refused = false;  // ask again with the next
    wanting = true;
    gone.notify_all();
}

// One more thread for what has come, with the lock. False: all that there are know of it, or will
// when they have time.
bool Workers::State::help() {
    if (woken < asleep) {
        ++woken;
        come.notify_one();
        return true;
    }
    wanting = false;
    if (refused || lent.size() + 1 >= threads) return false;
    refused = fewer = true;
    try {
        lent.reserve(lent.size() + 1);
    } catch (const std::bad_alloc&) {
        return false;
    }
    std::thread thread = lend_thread([this] { serve(); });
    if (!thread.joinable()) return false;
    lent.push_back(std::move(thread));
    refused = fewer = false;
    wanting = true;
    return true;
}

// ---- jobs

Workers::Workers(uint32_t threads) : state_(std::make_unique<State>(threads)) {}

Workers::~Workers() {
    std::unique_lock lock(state_->mutex);
    state_->gone.wait(lock, [&] { return !state_->unended; });
    state_->end = true;
    state_->come.notify_all();
    lock.unlock();
    for (std::thread& thread : state_->lent) thread.join();
}

uint32_t Workers::threads() const { return state_->threads; }

uint32_t Workers::lent() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<uint32_t>(state_->lent.size());
}

bool Workers::short_of_threads() const {
    const std::lock_guard lock(state_->mutex);
    return state_->fewer;
}

bool Workers::spawn(Job job) noexcept {
    State& s = *state_;
    if (s.threads == 1) return false;
    try {
        std::unique_lock lock(s.mutex);
        const bool in_it = State::current == &s && s.entered;
        if (!in_it) s.brought.push_back(job);
        const bool helped = s.help();
        if (s.lent.empty()) {
            if (!in_it) s.brought.pop_back();
            return false;
        }
        ++s.unended;
        if (in_it) {
            lock.unlock();
            if (s.take_in(job)) return true;
            s.ended();
            return false;
        }
        // Where all are in the arena, or on their way to it, some have perhaps no work.
        if (helped || s.brought.empty() || !s.entered) return true;
        Job oldest = std::move(s.brought.front());
        s.brought.pop_front();
        lock.unlock();
        bool there = false;
        try {
            const std::lock_guard one(s.entering);
            s.enter([&] { there = s.take_in(oldest); });
        } catch (...) {  // no memory for that
        }
        lock.lock();
        // The others may have found neither a job nor one in the arena while this one was between.
        if (!there) s.brought.push_front(std::move(oldest));
        if (s.woken < s.asleep) s.help();
        return true;
    } catch (...) {
        return false;
    }
}

// ---- runs

struct Workers::Tasks::State {
    Workers::State* workers = nullptr;  // null: one after the other
    Group group;
    std::vector<Job> left;  // of those
    std::mutex mutex;
    std::exception_ptr error;
    std::atomic<bool> failed{false};

    void perform(const std::function<void()>& what) noexcept {
        if (failed.load(std::memory_order_relaxed)) return;
        try {
            what();
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            failed = true;
        }
    }
    void here(const std::function<void()>& first) {
        perform(first);
        while (!left.empty() && !failed) {
            const Job job = std::move(left.back());
            left.pop_back();
            perform(job);
        }
    }
    // In the arena. While it waits its thread takes no other tasks than these.
    void together(const std::function<void()>& first) {
        tbb::this_task_arena::isolate([&] {
            perform(first);
            group.finish();
        });
    }
};

void Workers::Tasks::spawn(Job job) {
    State& s = state_;
    if (!s.workers) return s.left.push_back(std::move(job));
    s.group.add([&s, job = std::move(job)] { s.perform(job); });
    if (!s.workers->wanting.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(s.workers->mutex);
    s.workers->help();
}

void Workers::run(const std::function<void(Tasks&)>& first) {
    State& s = *state_;
    Tasks::State of_this;
    Tasks tasks(of_this);
    const auto begin = [&] { first(tasks); };
    bool begun = false;
    if (s.threads > 1 && State::current == &s) {
        of_this.workers = &s;
        begun = true;
        of_this.together(begin);
    } else if (s.threads > 1) {
        const std::lock_guard one(s.from_outside);
        try {
            s.enter([&] {
                const tbb::task_handle hold = s.jobs.held();
                begun = true;
                {
                    const std::lock_guard lock(s.mutex);
                    ++s.inside_it;
                    s.refused = false;
                    s.wanting = true;
                }
                of_this.workers = &s;
                of_this.together(begin);
                const std::lock_guard lock(s.mutex);
                --s.inside_it;
            });
        } catch (...) {  // no memory to enter
            if (begun) throw;
        }
    }
    if (!begun) of_this.here(begin);
    if (of_this.error) std::rethrow_exception(of_this.error);
}

void Workers::open_library() noexcept {
    try {
        Workers(2).run([](Tasks&) {});
    } catch (const std::exception&) {  // then it is not used
    }
}

uint32_t Workers::place() const {
    if (State::current != state_.get()) return 0;
    return static_cast<uint32_t>(tbb::this_task_arena::current_thread_index());
}

uint32_t Workers::places() const { return state_->slots; }

}  // namespace sassemu
