// SPDX-License-Identifier: Apache-2.0
// Who runs next, who waits, and when nobody can.
#include "emu/schedule/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "emu/base/lend_thread.hpp"

namespace sassemu {

namespace {

// A host may write through a pointer of its own: those who wait look again so often.
constexpr auto look_again = std::chrono::milliseconds(2);
constexpr auto look_outside = std::chrono::microseconds(200);
// One turn in so many is given regardless of priorities: who has a low one makes progress too.
constexpr uint64_t fair_turn = 4;

std::string indented(const std::string& lines) {
    std::string text = "    ";
    for (size_t i = 0; i < lines.size(); ++i) {
        text += lines[i];
        if (lines[i] == '\n' && i + 1 < lines.size()) text += "    ";
    }
    return text;
}

}  // namespace

Scheduler::~Scheduler() {
    {
        Lock lock(mutex_);
        for (const TaskRef& task : in_flight_)
            task->work->end(LaunchStatus::interrupted, "the machine is gone");
        door_->closed = true;
        changed_.notify_all();
        while (helping_) changed_.wait_for(lock, look_again);
    }
    for (Call& call : calls_) call.thread.join();
    if (keeper_.joinable()) keeper_.join();
}

// ---- the order of tasks
// ------------------------------------------------------------------------------------------------

void Scheduler::add(const TaskRef& task, const std::vector<TaskRef>& after,
                    const TaskRef& overlaps) {
    const auto is_before = [&](const TaskRef& before) {
        if (before->state == Task::State::done) {
            if (before->failure && !*before->failure) task->failure = before->failure;
            return false;
        }
        before->next.push_back(task);
        return true;
    };
    for (const TaskRef& before : after)
        if (before) task->waiting += is_before(before);
    if (overlaps && overlaps->state != Task::State::done) {
        task->overlaps = overlaps;
        overlaps->overlapped_by = task;
        ++task->waiting;
    } else if (overlaps) {
        is_before(overlaps);
    }
    ++queued_;
    if (!task->waiting) {
        task->state = Task::State::ready;
        ready_.push_back(task);
        begin_ready();
    }
}

void Scheduler::begin_ready() {
    for (size_t i = 0; i < ready_.size();) {
        const TaskRef task = ready_[i];
        if (!task->failure && task->work && !task->work->begin()) {
            ++i;
            continue;
        }
        ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
        if (task->failure) {
            LaunchResult none;
            none.status = LaunchStatus::not_run;
            none.message = "a launch before it failed";
            done(task, std::move(none));
            i = 0;
        } else if (!task->work) {
            done(task, {});
            i = 0;
        } else {
            task->state = Task::State::in_flight;
            in_flight_.push_back(task);
            wanted_ += task->work->most_workers();
            if (background_) changed_.notify_all();
        }
    }
    ask_for_help(threads_);
}

void Scheduler::add_beside(std::unique_ptr<Work> work) {
    const Lock lock(mutex_);
    beside_.push_back(std::move(work));
}

void Scheduler::remove_beside(const Work* work) {
    Lock lock(mutex_);
    while (!work->over()) changed_.wait_for(lock, look_again);
    std::erase_if(beside_, [&](const auto& one) { return one.get() == work; });
}

// Its work is over.
void Scheduler::complete(TaskRef task) {
    std::erase(in_flight_, task);
    wanted_ -= task->work->most_workers();
    task->result = task->work->finish();
    const uint32_t there = workers_.lent() + 1;
    LaunchStats& stats = task->result.stats;
    if (workers_.short_of_threads() && stats.threads > there) {
        if (task->result.status == LaunchStatus::ok)
            task->result.message = std::to_string(there) + " threads ran, not " +
                                   std::to_string(stats.threads) + ": the host gives no more";
        stats.threads = there;
    }
    // In the order of its stream nothing ends before what is before it.
    if (task->overlaps && task->overlaps->state != Task::State::done)
        task->state = Task::State::ended;
    else
        done(task, std::move(task->result));
    begin_ready();
}

void Scheduler::done(const TaskRef& task, LaunchResult result) {
    task->result = std::move(result);
    task->state = Task::State::done;
    task->done_as = ++done_;
    task->work.reset();
    task->overlaps.reset();
    --queued_;
    const bool failed = task->result.status != LaunchStatus::ok;
    if (failed && !task->failure) task->failure = std::make_shared<bool>(false);
    const auto let = [&](const TaskRef& next) {
        if (failed) next->failure = task->failure;
        if (--next->waiting) return;
        next->state = Task::State::ready;
        ready_.push_back(next);
    };
    for (const TaskRef& next : std::exchange(task->next, {})) let(next);
    if (const TaskRef other = task->overlapped_by.lock()) {
        if (other->state == Task::State::queued) {
            let(other);
        } else if (other->state == Task::State::ended) {
            LaunchResult its = std::move(other->result);
            if (failed) {
                other->failure = task->failure;
                its.status = LaunchStatus::not_run;
                its.message = "a launch before it failed";
            }
            done(other, std::move(its));
        } else if (failed && other->work) {
            other->failure = task->failure;
            other->work->end(LaunchStatus::not_run, "a launch before it failed");
        }
    }
    ++epoch_;
    if (sleepers_) changed_.notify_all();
}

// ---- turns
// -------------------------------------------------------------------------------------------------------

bool Scheduler::take(Turn& turn) {
    for (;;) {
        const size_t tasks = in_flight_.size(), count = tasks + beside_.size();
        size_t first = 0;
        if (count > 1)
            first =
                (turns_ + chooser_.pick(ChoicePoint::launch, static_cast<uint32_t>(count))) % count;
        order_.resize(count);
        for (size_t k = 0; k < count; ++k) order_[k] = (first + k) % count;
        if (count > 1 && turns_ % fair_turn)
            std::ranges::stable_sort(
                order_, {}, [&](size_t i) { return i < tasks ? in_flight_[i]->priority : 0; });
        bool changed = false;
        for (const size_t i : order_) {
            if (i >= tasks) {
                turn.work = beside_[i - tasks].get();
                if (!turn.work->take(turn)) continue;
                ++turns_;
                return true;
            }
            const TaskRef& task = in_flight_[i];
            if (task->work->take(turn)) {
                turn.work = task->work.get();
                ++turns_;
                return true;
            }
            if (task->work->over()) {
                complete(task);
                changed = true;
                break;
            }
            const TaskRef behind = task->work->lets_in() ? task->overlapped_by.lock() : TaskRef();
            if (behind && behind->state == Task::State::queued && behind->waiting == 1) {
                behind->waiting = 0;
                behind->state = Task::State::ready;
                ready_.push_back(behind);
                begin_ready();
                changed = true;
                break;
            }
        }
        if (!changed) return false;
    }
}

// A turn that was taken.
void Scheduler::run(Lock& lock, Turn& turn) {
    lock.unlock();
    turn.work->run(turn);
    lock.lock();
    turn.work->put(turn);
    time_ += turn.issued;
    ++epoch_;
}

// Ends what is in flight, if it has to end; and once nothing is, those who wait on the host.
bool Scheduler::ends() {
    const Stops::Why why = stops_.look();
    if (why == Stops::Why::nothing) return false;
    for (const TaskRef& task : in_flight_) {
        if (task->work->over()) continue;
        task->work->check_limits();
        task->work->end(stops_.status(why), stops_.text(why, task->what));
    }
    if (!in_flight_.empty() || !ready_.empty()) return true;
    deadlock_ = stops_.text(why, "what the host waits for");
    for (HostWait* wait : waits_) wait->hopeless = true;
    return true;
}

// A turn, if there is one.
bool Scheduler::run_one(Lock& lock) {
    Turn turn;
    if (running_ >= threads_ || !take(turn)) return false;
    const bool calls = turn.work->waits_for_others();
    if (calls && run_call(turn)) return true;
    ++(calls ? calling_ : running_);
    ask_for_help(1);  // and who comes does so too: soon there are enough
    run(lock, turn);
    --(calls ? calling_ : running_);
    if (sleepers_) changed_.notify_all();
    return true;
}

// False: there is no thread for it.
bool Scheduler::run_call(const Turn& turn) {
    if (alone_) return false;
    for (auto call = calls_.begin(); call != calls_.end();) {
        if (call->ended) call->thread.join();
        call = call->ended ? calls_.erase(call) : std::next(call);
    }
    try {
        calls_.emplace_back();
    } catch (const std::bad_alloc&) {
        return false;
    }
    Call& call = calls_.back();
    ++calling_;
    call.thread = lend_thread([this, &call, turn] {
        Lock lock(mutex_);
        Turn its = turn;
        run(lock, its);
        --calling_;
        call.ended = true;
        changed_.notify_all();
    });
    if (call.thread.joinable()) return true;
    calls_.pop_back();
    --calling_;
    return false;
}

// One turn, or a while of waiting for one.
void Scheduler::work(Lock& lock) {
    const uint64_t before = epoch_;
    const bool ending = ends();
    if (ending && in_flight_.empty() && ready_.empty()) return;
    if (run_one(lock)) return;
    if (epoch_ != before) return;  // something has ended: perhaps what the host waits for
    if (!ending && !running_ && !calling_) {
        if (settle(false)) return;
        if (!host_may_act()) {
            if (!outside_) return give_up();
            if (std::exchange(idle_epoch_, epoch_.load()) != epoch_) looks_ = 0;
            ++looks_;
        }
    }
    for (const TaskRef& task : in_flight_)
        if (!running_) task->work->check_limits();
    const uint64_t seen = epoch_;
    ++sleepers_;
    changed_.wait_for(lock, outside_acts() ? look_outside : std::chrono::microseconds(look_again),
                      [&] { return epoch_ != seen || door_->closed; });
    --sleepers_;
}

// While the host acts itself, who is beside the tasks may go on holding things back.
bool Scheduler::settle(bool host_acts) {
    bool any = false;
    for (const TaskRef& task : in_flight_) any |= task->work->settle() || task->work->over();
    for (const auto& work : beside_) any |= !host_acts && work->settle();
    if (any) return true;
    // Nothing can run: time goes on to where somebody's sleep ends.
    uint64_t next = 0;
    for (const HostWait* wait : waits_)
        if (wait->until > time_ && (!next || wait->until < next)) next = wait->until;
    if (next) time_ = next;
    return next;
}

bool Scheduler::outside_acts() const {
    return outside_ ||
           std::ranges::any_of(beside_, [](const auto& work) { return work->may_act(); });
}

bool Scheduler::host_may_act() const {
    return waits_.empty() || !std::ranges::includes(waiting_, attached_) ||
           std::ranges::any_of(waits_, [](const HostWait* wait) { return wait->met(); }) ||
           std::ranges::any_of(beside_, [](const auto& work) { return work->may_act(); });
}

// Nothing will ever run again.
void Scheduler::give_up() {
    deadlock_ = deadlock_report();
    for (const TaskRef& task : in_flight_) task->work->end(LaunchStatus::deadlock, deadlock_);
    for (HostWait* wait : waits_) wait->hopeless = true;
    while (!in_flight_.empty()) {
        const auto over =
            std::ranges::find_if(in_flight_, [](const TaskRef& t) { return t->work->over(); });
        if (over == in_flight_.end()) break;
        complete(*over);
    }
    ++epoch_;
    changed_.notify_all();
}

std::string Scheduler::deadlock_report() const {
    const bool host_too =
        std::ranges::any_of(waits_, [](const HostWait* w) { return w->names_itself; });
    std::string beside;
    for (const auto& work : beside_) beside += work->waits();
    if (in_flight_.size() == 1 && !host_too && beside.empty()) return in_flight_[0]->work->waits();
    std::string text = "deadlock: nothing that is in flight can go on\n";
    for (const TaskRef& task : in_flight_)
        text += "  " + task->what + ":\n" + indented(task->work->waits());
    for (const HostWait* wait : waits_) text += "  the host waits " + wait->what + "\n";
    if (!beside.empty()) text += "  " + beside;
    if (const size_t behind = queued_ - in_flight_.size())
        text += "  " + std::to_string(behind) + " more wait behind them\n";
    return text;
}

// ---- who works
// ---------------------------------------------------------------------------------------------------------

bool Scheduler::wait(Lock& lock, HostWait wait) {
    waits_.push_back(&wait);
    ++drivers_;
    waiting_.insert(std::this_thread::get_id());
    begin_ready();
    while (!wait.met() && !wait.hopeless) work(lock);
    waiting_.erase(std::this_thread::get_id());
    --drivers_;
    std::erase(waits_, &wait);
    if (background_) changed_.notify_all();
    return !wait.hopeless || wait.met();
}

void Scheduler::turn(Lock& lock) {
    Turn none;
    if (!alone_ || running_ || (in_flight_.empty() && beside_.empty())) return;
    // One of those that can go on, and where none can nothing happens.
    const uint64_t before = turns_;
    while (!running_ && turns_ == before) {
        const uint64_t seen = epoch_;
        if (Turn turn; take(turn)) {
            ++running_;
            run(lock, turn);
            --running_;
        } else if (!settle(true) && epoch_ == seen) {
            return;
        }
    }
}

void Scheduler::touched(Lock&) {
    ++epoch_;
    if (sleepers_) changed_.notify_all();
}

void Scheduler::attach() {
    const Lock lock(mutex_);
    attached_.insert(std::this_thread::get_id());
}

void Scheduler::detach() {
    const Lock lock(mutex_);
    attached_.erase(std::this_thread::get_id());
    ++epoch_;
    changed_.notify_all();
}

void Scheduler::run_in_background() {
    if (alone_) return;
    background_ = true;
    if (!keeper_.joinable()) keeper_ = lend_thread([this] { keep(); });
    ask_for_help(threads_);
}

// What a host thread does that waits, while none does.
void Scheduler::keep() {
    Lock lock(mutex_);
    while (!door_->closed) {
        if (in_flight_.empty() || drivers_)
            changed_.wait(lock);
        else
            work(lock);
    }
}

// No more than can be of use. What cannot be had is done without.
void Scheduler::ask_for_help(uint32_t most) {
    if (alone_ || !(background_ || drivers_)) return;
    const uint32_t own = drivers_ || keeper_.joinable() ? 1 : 0;
    for (; most && useful() > own + asked_ + helping_; --most) {
        const auto come = [this, door = door_] {
            Lock lock(door->mutex);
            if (!door->closed) help(lock);
        };
        try {
            if (spawn_)
                spawn_(come);
            else if (!workers_.spawn(come))
                return;
        } catch (const std::exception&) {
            return;
        }
        ++asked_;
    }
}

// With the lock, on a thread that is lent.
void Scheduler::help(Lock& lock) {
    --asked_;
    ++helping_;
    while (!door_->closed && (background_ || drivers_ || running_)) {
        if (ends() && in_flight_.empty() && ready_.empty()) break;
        if (!run_one(lock)) break;
    }
    --helping_;
}

}  // namespace sassemu
