// SPDX-License-Identifier: Apache-2.0
// The run loops of emu/isa/run.hpp once more, for those who look at every instruction: the limit of
// instructions when it is near, plugins that record, and a debugger.
#include <bit>

#include "emu/machine/stepper.hpp"
#include "emu/plugin/recording.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// Taken at once near the limit, where every instruction is counted.
constexpr uint64_t small_grant = 256;

// The path waits: the instruction touches what a load in flight will write.
bool waits_for_load(Warp& w, const RegisterSets& s) {
    if (!w.in_flight) return false;
    uint64_t hit = 0;
    for (int i = 0; i < 4; ++i) hit |= w.pending[i] & (s.reads[i] | s.writes[i]);
    if (!hit) return false;
    w.path().state = PathState::in_flight;
    w.stop = Stop::pending;
    return true;
}

}  // namespace

template <bool limited, bool recorded>
void Engine::run_stepwise(Warp& w, Turn& worker) {
    w.chained = 0;
    const RegisterSets* sets = settings_.checked ? launch_.code->register_sets() : nullptr;
    if constexpr (recorded) worker.recording->turn(w);
    for (const Op* op = w.path().pc; op;) {
        const uint32_t active = w.active, mask = active & (w.p[op->guard] ^ op->guard_xor);
        if (mask == 0) [[unlikely]] {
            ++w.guard_false;
            if constexpr (recorded) worker.recording->skips(op, active);
            ++op;
            continue;
        }
        if (sets && waits_for_load(w, sets[op - launch_.code->ops()])) {
            w.path().pc = op;
            break;
        }
        if constexpr (limited) {
            if (!worker.granted && !grant(worker, small_grant) && !grant(worker, 1)) {
                w.path().pc = op;
                w.stop = Stop::pending;  // it goes on here, with the quantum that it has
                worker.refused = true;
                break;
            }
            --worker.granted;
        }
        ++w.issued;
        if constexpr (recorded)
            worker.recording->executes(op, mask, active);  // and its thread instructions
        else
            w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
        op = op->fn[mask == ~0u](op, w, mask);
    }
    if constexpr (recorded) worker.recording->close();
    if constexpr (limited) {
        settings_.limit->granted.fetch_sub(worker.granted);
        worker.granted = 0;
    }
}

template void Engine::run_stepwise<true, false>(Warp&, Turn&);

void Engine::run_followed(Warp& w) {
    Stepper& stepper = *settings_.stepper;
    const Op* const first = launch_.code->ops();
    w.chained = 0;
    const RegisterSets* sets = settings_.checked ? launch_.code->register_sets() : nullptr;
    stepper.turn(w);
    const uint8_t* marks = stepper.marks(*launch_.code);
    for (const Op* op = w.path().pc; op;) {
        const uint32_t mask = w.active & (w.p[op->guard] ^ op->guard_xor);
        if (sets && mask && waits_for_load(w, sets[op - first])) {
            w.path().pc = op;
            return;
        }
        const uint8_t mark = marks[op - first];
        if (stepper.position >= stepper.halt_at || mark & Stepper::call_before) [[unlikely]] {
            w.path().pc = op;
            stepper.before(w, op);
            marks = stepper.marks(*launch_.code);
        }
        ++stepper.position;
        const Op* const done = op;
        if (mask == 0) {
            ++w.guard_false;
            ++op;
        } else {
            ++w.issued;
            w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
            op = op->fn[mask == ~0u](op, w, mask);
        }
        if (marks[done - first] & Stepper::call_after) [[unlikely]] {
            if (op) w.path().pc = op;
            stepper.after(w, done);
            marks = stepper.marks(*launch_.code);
        }
    }
}

void Engine::run_recorded(Warp& w, Turn& worker) {
    if (settings_.limit)
        run_stepwise<true, true>(w, worker);
    else
        run_stepwise<false, true>(w, worker);
}

}  // namespace sassemu
