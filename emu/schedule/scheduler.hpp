// SPDX-License-Identifier: Apache-2.0
// All that is in flight on the GPUs of a machine: grids, copies, waits for values, calls. One lock,
// one queue: workers take a turn of any of them, so that each makes progress whatever the others
// do. What waits for what is a graph of tasks; streams and events are made of it (machine.cpp).
//
// A host thread that waits works meanwhile, and asks for help: tasks of emu/base/workers.hpp, or of
// the program's own threads. Each takes turns for as long as there are some. Who goes to sleep
// until something can go on, and says when nothing ever will, is the host thread that waits, or
// while none does and work is in flight, the keeper.
//
// Whatever one turn wrote is seen by the next turn of the same grid, by what comes behind it and by
// a host thread that has waited for it: all of them pass through the lock.
//
// `alone`: one logical scheduler. Then nothing runs but while a host thread waits or touches
// memory, on that thread, so that the order of turns depends on what the host does and on the
// Chooser only.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emu/base/workers.hpp"
#include "emu/machine/outside.hpp"
#include "emu/schedule/chooser.hpp"
#include "emu/schedule/stops.hpp"
#include "emu/schedule/work.hpp"

namespace sassemu {

struct Task {
    std::string what;            // "launch 3 ('k') on GPU 0, stream 1"
    std::unique_ptr<Work> work;  // null: nothing to do but to be in the order
    int32_t priority = 0;        // the lower, the earlier
    enum class State : uint8_t { queued, ready, in_flight, ended, done } state = State::queued;
    LaunchResult result;   // once it is done
    uint64_t done_as = 0;  // counts the tasks of the machine that are done, from 1
    // Of one that failed, or was given up for one that did: whether the host knows. Until then what
    // comes behind it is given up too.
    std::shared_ptr<bool> failure;

  private:
    friend class Scheduler;
    uint32_t waiting = 0;  // tasks before it that are not done
    std::vector<std::shared_ptr<Task>> next;
    std::shared_ptr<Task> overlaps;  // it may begin before this one ends, and ends after it
    std::weak_ptr<Task> overlapped_by;
};
using TaskRef = std::shared_ptr<Task>;

class Scheduler {
  public:
    using Lock = std::unique_lock<std::mutex>;
    // Runs a job some time on another thread; empty: workers of its own.
    using Spawn = std::function<void(std::function<void()>)>;
    Scheduler(Chooser& chooser, const Stops& stops, uint32_t threads, bool alone, Spawn spawn = {})
        : chooser_(chooser),
          stops_(stops),
          threads_(alone ? 1 : threads),
          alone_(alone),
          spawn_(std::move(spawn)),
          workers_(spawn_ ? 1 : threads_) {}
    Scheduler(const Scheduler&) = delete;
    ~Scheduler();

    Lock lock() { return Lock(mutex_); }

    // Behind all of `after`. `overlaps` is one before it that may let it begin earlier.
    void add(const TaskRef& task, const std::vector<TaskRef>& after, const TaskRef& overlaps = {});
    // Takes turns with all that is in flight, and is no part of it: nothing waits for its end.
    void add_beside(std::unique_ptr<Work> work);
    void remove_beside(const Work* work);
    // What is in flight goes on also while no host thread waits.
    void run_in_background();

    // The host thread waits, and works meanwhile. False: it would wait for ever; deadlock() says
    // why. `what` completes "the host waits ...".
    struct HostWait {
        std::string what;
        std::function<bool()> met;  // asked with the lock
        uint64_t until = 0;         // virtual time, see time(); 0: does not end by that
        bool names_itself = true;   // in reports, also where nothing else is in flight
        bool hopeless = false;
    };
    bool wait(Lock& lock, HostWait wait);
    const std::string& deadlock() const { return deadlock_; }
    // The host is about to touch memory: with one logical scheduler the others have a turn.
    void turn(Lock& lock);
    // Bytes have changed: who waits for some looks again.
    void touched(Lock&);
    // Host threads that may act: only when all of them wait can there be a deadlock. Threads that
    // never attach count while they wait.
    void attach();
    void detach();

    // Somebody outside may change memory: then nothing is a deadlock. Any thread, with whatever
    // lock, as the next two.
    void outside_may_act(bool may) {
        outside_ = may;
        news();
    }
    // Something has come that work may wait for.
    void news() noexcept {
        ++epoch_;
        changed_.notify_all();  // who is just about to wait looks again soon
    }
    OutsideMemory::Progress progress() {
        // Who has the lock does something, and may wait for the link.
        const Lock lock(mutex_, std::try_to_lock);
        if (!lock) return {false, epoch_, 0};
        return {idle_epoch_ == epoch_ && looks_ > 0, epoch_, looks_};
    }

    bool idle() const { return in_flight_.empty() && ready_.empty(); }
    bool empty() const { return !queued_; }
    bool alone() const { return alone_; }
    // Nanoseconds: one for a warp instruction that was issued, and what was slept while nothing
    // could run.
    uint64_t time() const { return time_; }

  private:
    bool take(Turn& turn);
    void work(Lock& lock);
    bool run_one(Lock& lock);
    void run(Lock& lock, Turn& turn);
    bool run_call(const Turn& turn);
    bool ends();
    void ask_for_help(uint32_t most);
    void help(Lock& lock);
    void keep();
    uint32_t useful() const { return std::min(wanted_, threads_); }
    bool settle(bool host_acts);
    bool host_may_act() const;
    bool outside_acts() const;
    void begin_ready();
    void complete(TaskRef task);
    void done(const TaskRef& task, LaunchResult result);
    void give_up();
    std::string deadlock_report() const;

    // Help that is asked for may come when nobody is there any more.
    struct Door {
        std::mutex mutex;
        bool closed = false;
    };
    // A call that waits for others has a thread of its own.
    struct Call {
        std::thread thread;
        bool ended = false;
    };

    Chooser& chooser_;
    const Stops& stops_;
    const uint32_t threads_;
    const bool alone_;
    const std::shared_ptr<Door> door_ = std::make_shared<Door>();
    std::mutex& mutex_ = door_->mutex;
    std::condition_variable changed_;
    std::vector<TaskRef> in_flight_, ready_;
    std::vector<std::unique_ptr<Work>> beside_;
    std::vector<size_t> order_;
    std::vector<HostWait*> waits_;
    std::set<std::thread::id> attached_, waiting_;
    std::list<Call> calls_;
    std::thread keeper_;
    std::string deadlock_;
    uint32_t running_ = 0, calling_ = 0, drivers_ = 0, sleepers_ = 0, wanted_ = 0, queued_ = 0;
    uint32_t asked_ = 0, helping_ = 0;  // help that is to come, and that is there
    uint64_t turns_ = 0, time_ = 0, done_ = 0;
    std::atomic<uint64_t> epoch_{0};
    uint64_t idle_epoch_ = 0, looks_ = 0;  // nothing could go on, in which epoch and how often
    std::atomic<bool> outside_{false};
    bool background_ = false;
    const Spawn spawn_;
    Workers workers_;  // last: its threads use what is above
};

}  // namespace sassemu
