// SPDX-License-Identifier: Apache-2.0
// The policy of a driven machine: which loads wait, when they are performed, and which steps the
// machine takes that nobody asks for. See driven_machine.hpp.
#include <algorithm>
#include <unordered_set>

#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/driving.hpp"

namespace sassemu {

using namespace driving;

uint64_t DrivenMachine::step(sassemu_cta, uint32_t idle) {
    const AtMachine at_machine(this);
    idle_ = idle ? idle_ + 1 : 0;
    // Nothing is held back forever: a path that spins on it keeps the launch from being idle.
    if (++slices_ % 64 == 0) {
        if (!held_.empty()) finish(0, ~0u);
        force_oldest();
    }
    // Nor is a copy kept forever that somebody spins on while others keep the launch busy, or that
    // another process has written to.
    if (slices_ % (far_ ? 64 : 1024) == 0 && machine_.settle &&
        machine_.settle(self_, state_, &bytes_, 0))
        host.wake(session);
    const size_t before = held();
    uint64_t patience = 1;
    switch (settings_.policy) {
        case Policy::eager:
            take_all();
            break;
        case Policy::lazy:
            patience = 2;
            break;
        case Policy::random:
            for (uint32_t n = pick(4); n > 0; --n) tick();
            if (held() != before) return held();
            break;
        case Policy::adversarial:
            tick();
            // It releases late: another thread may still come and read something stale.
            patience = held_.empty() ? 24 : 2;
            break;
    }
    if (idle_ > patience) force();
    const uint64_t left = held();
    // A stale copy is evicted in the end, so a path that spins on it is not stuck for good.
    return left || !idle || !machine_.settle ? left : machine_.settle(self_, state_, &bytes_, 1);
}

bool DrivenMachine::defer(const sassemu_access& a) {
    if (!(machine_.flags & SASSEMU_MACHINE_LATE_LOADS) ||
        a.flags & (SASSEMU_ACCESS_IMMEDIATE | SASSEMU_ACCESS_LDGSTS))
        return false;
    switch (settings_.policy) {
        case Policy::eager:
            return false;
        case Policy::lazy:
            return true;
        case Policy::random:
            return pick(2) != 0;
        case Policy::adversarial:
            return pick(4) != 0;
    }
    return false;
}

// ---- loads that wait

void DrivenMachine::finish(size_t index, uint32_t lanes) {
    Held& h = held_[index];
    lanes &= h.lanes;
    Held now = h;
    h.lanes &= ~lanes;
    if (!h.lanes) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    const Fetched fetched(*this);
    if (const std::string why = fetch(now.who, now.what, now.address, lanes); !why.empty())
        lost(now.who.cta >> cta_bits, why);
    uint32_t rows[4][32] = {};
    for_lanes(lanes, [&](unsigned lane) {
        uint8_t value[most_bytes] = {};
        now.what.address = now.address[lane];
        now.what.from = of(now.who, lane);
        perform(now.what, value);
        put(rows, lane, value, now.what.bytes);
    });
    host.complete(session, now.token, lanes, rows[0]);
}

// In program order: one thread's accesses to the same bytes.
void DrivenMachine::finish_same(const Who& who, const uint64_t* address, uint32_t lanes,
                                unsigned bytes) {
    uint64_t low = ~uint64_t{0}, high = 0;  // of lanes that are one thread
    for_lanes(who.apart ? 0 : lanes, [&](unsigned lane) {
        low = std::min(low, address[lane]);
        high = std::max(high, address[lane] + bytes);
    });
    for (size_t i = 0; i < held_.size();) {
        const Held& h = held_[i];
        uint32_t both = h.who != who ? 0 : who.apart ? h.lanes & lanes : h.lanes;
        for_lanes(both, [&](unsigned lane) {
            const uint64_t first = who.apart ? address[lane] : low,
                           end = who.apart ? first + bytes : high;
            if (h.address[lane] >= end || first >= h.address[lane] + h.what.bytes)
                both &= ~(1u << lane);
        });
        const size_t count = held_.size();
        if (both) finish(i, both);
        if (held_.size() == count) ++i;
    }
}

void DrivenMachine::finish_lanes(const Who& who, uint32_t lanes) {
    if (!who.apart) lanes = ~0u;
    for (size_t i = 0; i < held_.size();) {
        const size_t count = held_.size();
        const Held& h = held_[i];
        if (h.who == who && h.lanes & lanes) finish(i, lanes);
        if (held_.size() == count) ++i;
    }
}

void DrivenMachine::drain(sassemu_warp w) {
    const AtMachine at_machine(this);
    finish_lanes(place(w), ~0u);
}

// ---- what happens by itself

void DrivenMachine::tick() {
    if (settings_.policy == Policy::adversarial) return overtake();
    const auto loads = static_cast<uint32_t>(held_.size());
    const uint32_t all = loads + steps();
    if (!all) return;
    const uint32_t chosen = pick(all);
    if (chosen < loads) {
        const Held& h = held_[chosen];
        const uint32_t some = pick(2) ? h.lanes : h.lanes & 0x55555555u;
        return finish(chosen, some ? some : h.lanes);
    }
    take(chosen - loads);
    for (uint32_t more = pick(3); more > 0 && steps(); --more) take(pick(steps()));
}

// The first operation of each thread is held back; those after it overtake it.
void DrivenMachine::overtake() {
    std::vector<uint64_t> threads;
    for (int bound = 0; bound < 8; ++bound) {
        threads.resize(steps());
        machine_.steps(self_, state_, threads.data(), static_cast<uint32_t>(threads.size()));
        std::unordered_set<uint64_t> seen;
        uint32_t chosen = 0;
        for (uint32_t i = 0; i < threads.size(); ++i)
            if (!seen.insert(threads[i]).second) chosen = i;
        if (!chosen) return;
        take(chosen);
    }
}

// Somebody waits for what is held back.
void DrivenMachine::force() {
    idle_ = 0;
    if (!held_.empty())
        finish(
            settings_.policy == Policy::adversarial ? pick(static_cast<uint32_t>(held_.size())) : 0,
            ~0u);
    else if (steps())
        force_oldest();
    else if (machine_.settle && machine_.settle(self_, state_, &bytes_, 0))
        host.wake(session);  // perhaps it spins on a stale copy: caches have a capacity
}

void DrivenMachine::force_oldest() {
    const uint64_t before = machine_.held(self_, state_);
    for (int bound = 0; bound < 8 && steps() && machine_.held(self_, state_) == before; ++bound)
        take(0);
}

}  // namespace sassemu
