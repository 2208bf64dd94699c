// SPDX-License-Identifier: Apache-2.0
// See stepper.hpp.
#include "emu/explore/graph/stepper.hpp"

#include "emu/explore/graph/sass_turn.hpp"

namespace sassemu::explore {
namespace {

Step take(const Program& p, State& s, uint32_t thread, int32_t outcome) {
    if (p.test.threads[thread].sass) return SassTurn(p, s, thread, outcome).take();
    return Turn(p, s, thread, outcome).take();
}

}  // namespace

Stepper::Fork Stepper::run(State& s) const {
    // A search that ends, or begins again, knowing more, needs nothing of this one.
    const auto ends = [&] {
        return s.bounded || !s.error.empty() || !s.undefined.empty() || budget_.over() ||
               (p_.test.sass && p_.test.sass->grew());
    };
    for (bool moved = true; moved && !ends();) {
        moved = resume_agents(s);
        for (uint32_t t = 0; t < s.threads.size(); ++t) {
            ThreadState& thread = s.threads[t];
            if (thread.status == ThreadStatus::needs_value && s.evaluate(thread.needs, p_))
                thread.status = ThreadStatus::running;
            // What was put off may come from behind this instruction: it goes on with a guess.
            if (thread.status == ThreadStatus::needs_value && thread.guesses &&
                deferred(s, thread.needs))
                return {static_cast<int32_t>(t), thread.guesses};
            while (thread.status == ThreadStatus::running && !ends()) {
                const Step step = take(p_, s, t, -1);
                if (step == Step::fork) return {static_cast<int32_t>(t), 2};
                moved = true;
                if (step == Step::stop) break;
            }
        }
        moved |= wake(s);
    }
    return {};
}

void Stepper::choose(State& s, uint32_t thread, uint32_t outcome) const {
    s.threads[thread].status = ThreadStatus::running;
    take(p_, s, thread, static_cast<int32_t>(outcome));
}

// Perhaps through writes whose own values are open.
bool Stepper::deferred(const State& s, uint32_t value) const {
    Events open = s.values[value].reads, done;
    for (bool more = true; more;) {
        more = false;
        for (const Source& source : s.sources) {
            if (!open[source.read]) continue;
            if (source.write < 0) {
                if (source.seen > 0) return true;
                continue;
            }
            const auto w = static_cast<size_t>(source.write);
            if (done[w]) continue;
            done.set(w);
            open |= s.events[w].data;
            more = true;
        }
    }
    return false;
}

// Lets go on what waited for other threads.
bool Stepper::wake(State& s) const {
    bool woken = false;
    for (uint32_t t = 0; t < s.threads.size(); ++t) {
        const ThreadStatus status = s.threads[t].status;
        Turn turn(p_, s, t);
        if ((status == ThreadStatus::at_barrier && turn.barrier_passed()) ||
            (status == ThreadStatus::at_cluster && turn.cluster_passed()) ||
            (status == ThreadStatus::at_join && turn.joined()) ||
            (status == ThreadStatus::at_grid_wait && turn.grid_over())) {
            s.threads[t].status = ThreadStatus::running;
            woken = true;
        }
    }
    return woken;
}

bool Stepper::resume_agents(State& s) const {
    bool moved = false;
    for (size_t k = 0; k < s.stalled.size();) {
        if (!s.evaluate(s.stalled[k].value, p_)) {
            ++k;
            continue;
        }
        StalledAgent stalled = std::move(s.stalled[k]);
        s.stalled.erase(s.stalled.begin() + static_cast<std::ptrdiff_t>(k));
        Turn(p_, s, stalled.thread).tensor_copy(stalled.copy, stalled.agent, stalled.value);
        s.threads[stalled.thread].status = ThreadStatus::running;
        ++s.threads[stalled.thread].pc;
        moved = true;
    }
    return moved;
}

}  // namespace sassemu::explore
