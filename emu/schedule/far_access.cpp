// SPDX-License-Identifier: Apache-2.0
// The engine's side of memory that only messages reach: loads are asked for and waited for by
// whoever uses their registers, stores and reductions are posted, atomics are waited for at once,
// since handlers go on with what they give.
#include "emu/schedule/far_access.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "emu/machine/lane_bits.hpp"
#include "emu/memory/perform.hpp"
#include "emu/memory/store_order.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// A path that has asked so often in a quantum gives way: a loop that waits in every iteration is
// soon found to spin.
constexpr uint64_t costs_of_far_load = 256;

// Who touches the memory: a multicast object reaches its members, whoever else may.
uint32_t who_of(const Access& a, uint32_t gpu) { return a.through ? FarMemory::by_host : gpu; }

// Asks for the lanes' bytes: those side by side together, the same ones once.
std::shared_ptr<FarLoad> ask(FarMemory& far, uint32_t gpu, const Access& a, uint32_t lanes) {
    auto load = std::make_shared<FarLoad>();
    uint64_t begin = 0;
    uint32_t bytes = 0, first = 0;  // of a run
    const auto send = [&] {
        if (!bytes) return;
        ++load->left;
        far.get(begin, std::span(load->bytes + first, bytes),
                [load](const std::string& lost) { load->answered(lost); });
        first += (bytes + 7) / 8 * 8;
    };
    for_lanes(lanes, [&](uint32_t lane) {
        const uint64_t address = a.address[lane];
        if (bytes && address >= begin && address + a.bytes <= begin + bytes) {
            load->at[lane] = static_cast<uint16_t>(first + (address - begin));
            return;
        }
        if (!bytes || address != begin + bytes ||
            !far.holds(who_of(a, gpu), begin, bytes + a.bytes)) {
            send();
            begin = address;
            bytes = 0;
        }
        load->at[lane] = static_cast<uint16_t>(first + bytes);
        bytes += a.bytes;
    });
    send();
    load->answered({});
    return load;
}

// Words of a lane's bytes where deliver() wants them.
void to_values(const Access& a, uint32_t lanes, const FarLoad& load, uint32_t values[4 * 32]) {
    for_lanes(lanes, [&](uint32_t lane) {
        uint32_t words[4] = {};
        std::memcpy(words, load.bytes + load.at[lane], a.bytes);
        for (uint32_t k = 0; k < 4; ++k) values[k * 32 + lane] = words[k];
    });
}

void from_rows(Warp& w, uint32_t row, uint32_t bytes, uint32_t lane, void* to) {
    uint32_t words[4] = {};
    for (uint32_t k = 0; k < (bytes + 3) / 4; ++k) words[k] = w.row(row)[k * 32 + lane];
    std::memcpy(to, words, bytes);
}

FarMemory::Change change_of(Warp& w, const Access& a, uint32_t lane) {
    FarMemory::Change change{a.atomic, a.type, a.bytes, {}, {}};
    from_rows(w, a.source[0], a.bytes, lane, change.operand);
    if (a.atomic == AtomicOp::cas) from_rows(w, a.source[1], a.bytes, lane, change.swap);
    return change;
}

bool changes(const FarMemory::Change& c, const uint64_t old[2]) {
    if (c.bytes == 16)
        return c.op != AtomicOp::cas || (old[0] == c.operand[0] && old[1] == c.operand[1]);
    return atomic_result(c.op, c.type, old[0], c.operand[0], c.swap[0]) != old[0];
}

}  // namespace

void FarLoad::answered(const std::string& why) {
    if (!why.empty()) {
        const std::lock_guard guard(mutex);
        lost = why;
    }
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_all();
}

void FarLoad::wait() const {
    while (const uint32_t now = left.load(std::memory_order_acquire)) left.wait(now);
}

// ---- waited for, of outside.hpp

Result<void> FarMemory::read(uint64_t address, std::span<std::byte> into) {
    constexpr size_t most = 4096 - 64;  // in a frame of any size
    while (!into.empty()) {
        const auto part = into.first(std::min(into.size(), most));
        const auto load = std::make_shared<FarLoad>();
        get(address, part, [load](const std::string& lost) { load->answered(lost); });
        load->wait();
        if (!load->lost.empty()) return Error{ErrorCode::system, "", load->lost, ""};
        address += part.size();
        into = into.subspan(part.size());
    }
    return {};
}

Result<void> FarMemory::change(uint64_t address, const Change& what, uint64_t old[2]) {
    const auto load = std::make_shared<FarLoad>();
    atomic(address, what, old, [load](const std::string& lost) { load->answered(lost); });
    load->wait();
    if (load->lost.empty()) return {};
    return Error{ErrorCode::system, "", load->lost, ""};
}

// ---- the engine

uint32_t Engine::far_lanes(const Access& a) const {
    if (a.space != AccessSpace::global && a.space != AccessSpace::generic) return 0;
    uint32_t lanes = 0;
    for_lanes(a.lanes, [&](uint32_t lane) {
        if (a.address[lane] % a.bytes == 0 &&
            settings_.far->holds(who_of(a, settings_.gpu), a.address[lane], a.bytes))
            lanes |= 1u << lane;
    });
    return lanes;
}

const Op* Engine::lost(Warp& w, const Op* op, uint32_t lanes, uint64_t address,
                       const std::string& why) {
    return fault(w, op, lanes, FaultKind::use_after_free,
                 "the memory cannot be reached: " + why + ": " + launch_.space->describe(address),
                 true, address);
}

void Engine::posts(uint64_t address) {
    const std::lock_guard guard(far_mutex_);
    far_posted_.insert(settings_.far->rank_of(address));
}

Result<void> Engine::drain_far() {
    std::unique_lock lock(far_mutex_);
    const std::set<uint32_t> ranks = far_posted_;
    lock.unlock();
    return settings_.far->drain(ranks);
}

// The iteration that is watched read these bytes as `seen`.
void Engine::watch_far(Warp& w, uint64_t address, uint32_t bytes, const std::byte* seen) {
    if (!w.watch) return;
    const auto copy = settings_.far->watch(address, bytes);
    if (copy) w.watch->note_copy(*copy, bytes, seen);
    w.watch->overflow |= !copy || w.effects != w.watch->effects;
    if (w.watch->overflow) w.watch = nullptr;
}

const Op* Engine::access_far(Warp& w, const Op* op, const Access& a, uint32_t far) {
    if (a.lanes & ~far) perform(w, a, a.lanes & ~far);
    switch (a.op) {
        case AccessOp::load:
            break;
        case AccessOp::store:
            return far_store(w, op, a, far);
        case AccessOp::atomic:
        case AccessOp::reduce:
            return far_atomic(w, op, a, far);
        default:
            return op + 1;
    }
    const auto load = ask(*settings_.far, settings_.gpu, a, far);
    // Nobody looks at rows that are no registers before they are used.
    if (!w.watch && a.destination >= first_register_row * row_bytes) {
        Access sent = a;
        sent.warp = &w;
        const uint64_t token = w.cta->linear << 24 | (++w.cta->sequence & 0xffffff);
        hold(w, op, sent, token);
        InFlight& held = slot(w).in_flight.back();
        held.lanes = far;
        held.far = load;
        w.quantum_end =
            std::max(w.issued, w.quantum_end - std::min(w.quantum_end, costs_of_far_load));
        return op + 1;
    }
    load->wait();
    if (!load->lost.empty()) return lost(w, op, far, a.address[std::countr_zero(far)], load->lost);
    uint32_t values[4 * 32];
    to_values(a, far, *load, values);
    deliver(w.row(a.destination), a.bytes, a.sign, far, values);
    for_lanes(far, [&](uint32_t lane) {
        watch_far(w, a.address[lane], a.bytes, load->bytes + load->at[lane]);
    });
    return op + 1;
}

// Its values are there, or are waited for.
void Engine::end_far_load(CtaSlot& slot, size_t index) {
    const InFlight held = slot.in_flight[index];
    held.far->wait();
    uint32_t values[4 * 32] = {};
    if (held.far->lost.empty()) to_values(held.access, held.lanes, *held.far, values);
    complete_in(slot, held.token, ~0u, values);
    if (!held.far->lost.empty())
        lost(*held.access.warp, held.op, held.lanes,
             held.access.address[std::countr_zero(held.lanes)], held.far->lost);
}

void Engine::complete_far(CtaSlot& slot) {
    for (size_t i = 0; i < slot.in_flight.size();) {
        if (slot.in_flight[i].far && slot.in_flight[i].far->done())
            end_far_load(slot, i);  // erases entry i
        else
            ++i;
    }
}

const Op* Engine::far_store(Warp& w, const Op* op, const Access& a, uint32_t far) {
    ++w.effects;
    std::byte bytes[32 * FarLoad::most_bytes];
    uint64_t begin = 0;
    uint32_t count = 0;
    Result<void> sent;
    const auto send = [&] {
        if (count && sent) sent = put_far(begin, std::span(bytes, count));
        count = 0;
    };
    for_lanes(lanes_that_stay(far, a.bytes, a.address), [&](uint32_t lane) {
        const uint64_t address = a.address[lane];
        if (count && (address != begin + count ||
                      !settings_.far->holds(who_of(a, settings_.gpu), begin, count + a.bytes)))
            send();
        if (!count) begin = address;
        from_rows(w, a.source[0], a.bytes, lane, bytes + count);
        count += a.bytes;
    });
    send();
    if (sent) return op + 1;
    return lost(w, op, far, begin, sent.error().message());
}

const Op* Engine::far_atomic(Warp& w, const Op* op, const Access& a, uint32_t far) {
    if (a.op == AccessOp::reduce) {
        ++w.effects;
        Result<void> sent;
        for_lanes(far, [&](uint32_t lane) {
            posts(a.address[lane]);
            if (sent) sent = settings_.far->reduce(a.address[lane], change_of(w, a, lane));
        });
        if (sent) return op + 1;
        return lost(w, op, far, a.address[std::countr_zero(far)], sent.error().message());
    }
    // All lanes' at once.
    const auto load = std::make_shared<FarLoad>();
    FarMemory::Change change[32];
    for_lanes(far, [&](uint32_t lane) {
        change[lane] = change_of(w, a, lane);
        load->at[lane] = static_cast<uint16_t>(lane * FarLoad::most_bytes);
        ++load->left;
        settings_.far->atomic(a.address[lane], change[lane],
                              reinterpret_cast<uint64_t*>(load->bytes + load->at[lane]),
                              [load](const std::string& lost) { load->answered(lost); });
    });
    load->answered({});
    load->wait();
    if (!load->lost.empty()) return lost(w, op, far, a.address[std::countr_zero(far)], load->lost);
    uint32_t values[4 * 32];
    to_values(a, far, *load, values);
    deliver(w.row(a.destination), a.bytes, false, far, values);
    for_lanes(far, [&](uint32_t lane) {
        uint64_t old[2];
        std::memcpy(old, load->bytes + load->at[lane], sizeof old);
        w.effects += changes(change[lane], old);
    });
    for_lanes(far, [&](uint32_t lane) {
        watch_far(w, a.address[lane], a.bytes, load->bytes + load->at[lane]);
    });
    return op + 1;
}

}  // namespace sassemu
