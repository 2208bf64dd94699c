// SPDX-License-Identifier: Apache-2.0
// What computes in parallel: tasks in an arena of oneTBB, on threads that are lent to it. TBB
// steals and orders the tasks, and never makes a thread: one that it cannot make ends the process
// (docs/robustness.md, "Threads"). All slots of the arena are reserved for threads of ours, which
// are started one by one, when there is work for them; where the host gives no more, those that
// there are do it all. No header but workers.cpp knows TBB. Threads that only wait are another
// matter: lend_thread.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace sassemu {

class Workers {
  public:
    using Job = std::function<void()>;

    // How many threads may work at a time, the one that calls run() among them. None is started.
    explicit Workers(uint32_t threads);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    // Does not return before all jobs have ended.
    ~Workers();

    uint32_t threads() const;
    // Started so far.
    uint32_t lent() const;

    // The tasks of one run().
    class Tasks {
      public:
        // Any thread that runs one of them may add more. Tasks of one thread run from the newest
        // on; others take the oldest. Throws std::bad_alloc.
        void spawn(Job job);

      private:
        friend class Workers;
        struct State;
        explicit Tasks(State& state) : state_(state) {}
        State& state_;
    };
    // `first`, here, and all tasks that it and they spawn. What one of them throws leaves run():
    // the first of it; tasks that have not begun by then do not. With one thread, or where there is
    // no memory for an arena, all of it happens here, one after the other.
    // A task may call run() again: while it waits, its thread takes tasks of the inner run only.
    // Threads that call it at once from outside have their runs one after the other.
    void run(const std::function<void(Tasks&)>& first);

    // Which of the threads that run tasks this one is: below places(), and no other one's at this
    // time. For memory that a task uses until it ends or calls run().
    uint32_t place() const;
    uint32_t places() const;

    // A job that ends some time, on a lent thread; nobody waits for it but the destructor. It must
    // not throw. False: there is no thread for it, nor memory. From any thread.
    [[nodiscard]] bool spawn(Job job) noexcept;

  private:
    struct State;
    const std::unique_ptr<State> state_;
};

}  // namespace sassemu
