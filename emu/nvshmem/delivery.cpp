// SPDX-License-Identifier: Apache-2.0
// See delivery.hpp.
#include "emu/nvshmem/delivery.hpp"

#include <algorithm>
#include <cstring>

namespace sassemu::nvshmem {
namespace {

constexpr uint64_t slot_bytes = sizeof(sassemu_nvshmem_request);

uint64_t turn_of(const sassemu_nvshmem_request& r) {
    return __atomic_load_n(&r.turn, __ATOMIC_ACQUIRE);
}

}  // namespace

Delivery::Delivery(Machine& machine, std::vector<Place> places, uint32_t ring_slots,
                   Options options)
    : machine_(machine),
      places_(std::move(places)),
      slots_(ring_slots),
      options_(options),
      tickets_(places_.size()),
      random_(options.seed) {
    for (uint32_t pe = 0; pe < places_.size(); ++pe) {
        const uint64_t bytes = sizeof(sassemu_nvshmem_ring) + slots_ * slot_bytes;
        const auto at = machine_.host_pointer(places_[pe].ring, bytes);
        rings_.push_back(at ? reinterpret_cast<sassemu_nvshmem_ring*>(*at) : nullptr);
        for (uint64_t i = 0; at && i < slots_; ++i) slot(pe, i)->turn = i;
    }
    machine_.add_agent(*this);
}
Delivery::~Delivery() { machine_.remove_agent(*this); }

sassemu_nvshmem_request* Delivery::slot(uint32_t pe, uint64_t ticket) const {
    return reinterpret_cast<sassemu_nvshmem_request*>(rings_[pe] + 1) + ticket % slots_;
}

uint64_t Delivery::random(uint64_t below) {
    random_ += 0x9e3779b97f4a7c15u;  // splitmix64 (Steele, Lea, Flood 2014)
    uint64_t x = random_;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

void Delivery::note(const Result<void>& result) {
    const std::lock_guard lock(mutex_);
    if (!result && failed_) failed_ = result;
}
Result<void> Delivery::failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
}

// ---- what is asked for

bool Delivery::asked(uint32_t pe) const {
    const uint64_t ticket = __atomic_load_n(&tickets_[pe], __ATOMIC_RELAXED);
    return turn_of(*slot(pe, ticket)) == ticket + 1;
}

void Delivery::take_requests() {
    const std::lock_guard lock(taking_);
    for (uint32_t pe = 0; pe < rings_.size(); ++pe) take(pe);
}

void Delivery::take(uint32_t pe) {
    while (asked(pe)) {
        const uint64_t ticket = tickets_[pe];
        const Result<void> taken = take(pe, ticket);
        if (!taken) {
            note(taken);
            sassemu_nvshmem_request* const at = slot(pe, ticket);
            const uint64_t next = at->answer == SASSEMU_NVSHMEM_NONE ? slots_ : 2;
            __atomic_store_n(&at->turn, ticket + next, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&tickets_[pe], ticket + 1, __ATOMIC_RELAXED);
    }
}

Result<void> Delivery::take(uint32_t pe, uint64_t ticket) {
    sassemu_nvshmem_request* const at = slot(pe, ticket);
    const sassemu_nvshmem_request r = *at;
    const auto where = reinterpret_cast<uint64_t>(at);
    const auto free = [&] { __atomic_store_n(&at->turn, ticket + slots_, __ATOMIC_RELEASE); };
    const Issuer from{pe, Issuer::Side::device, r.grid, r.cta, r.first_thread, r.threads};
    if (r.operation == SASSEMU_NVSHMEM_FENCE || r.operation == SASSEMU_NVSHMEM_MET) {
        r.operation == SASSEMU_NVSHMEM_FENCE ? fence(from) : met(pe);
        free();
        return {};
    }
    if (r.operation == SASSEMU_NVSHMEM_QUIET) {
        {
            const std::lock_guard lock(mutex_);
            waiters_.push_back({from, number_, where});
        }
        answer_waiters();
        return {};
    }
    Transfer t;
    t.operation = r.operation;
    t.from = from;
    t.to = static_cast<uint32_t>(r.pe);
    t.remote = r.remote;
    t.bytes = r.operation <= SASSEMU_NVSHMEM_GET ? r.bytes : r.width;
    t.local.address = r.local;
    t.nbi = r.answer == SASSEMU_NVSHMEM_NONE && r.local;
    t.value = r.value;
    t.compare = r.compare;
    t.fetches = r.fetches;
    if (r.operation == SASSEMU_NVSHMEM_PUT && !r.local) {
        const auto* value = reinterpret_cast<const std::byte*>(&r.value);
        t.data.assign(value, value + std::min<uint64_t>(r.bytes, sizeof r.value));
        t.stage = Transfer::Stage::read;
    }
    if (r.answer == SASSEMU_NVSHMEM_COMPLETE)
        t.done = [this, where](uint64_t value) { answer(where, value); };
    Transfer signal;
    if (r.signal_operation) {
        signal.operation = r.signal_operation;
        signal.from = from;
        signal.to = t.to;
        signal.remote = r.signal;
        signal.bytes = 8;
        signal.value = r.signal_value;
    }
    SASSEMU_TRY(r.signal_operation ? issue(std::move(t), std::move(signal)) : issue(std::move(t)));
    if (r.answer == SASSEMU_NVSHMEM_TAKEN) answer(where, 0);
    if (r.answer == SASSEMU_NVSHMEM_NONE) free();
    return {};
}

void Delivery::answer(uint64_t slot, uint64_t result) {
    auto* at = reinterpret_cast<sassemu_nvshmem_request*>(slot);
    const uint64_t turn = at->turn;
    __atomic_store_n(&at->result, result, __ATOMIC_RELAXED);
    __atomic_store_n(&at->turn, turn + 1, __ATOMIC_RELEASE);
}

// ---- what is on its way

// With _mutex. A put may arrive in two pieces.
void Delivery::add(Transfer t, std::vector<Held>& to) {
    if (options_.order == AgentOrder::random && random(2) == 0)
        hold_ = static_cast<uint32_t>(random(8));
    const bool divides = options_.order == AgentOrder::random &&
                         t.operation == SASSEMU_NVSHMEM_PUT && t.bytes > 8 && !t.done &&
                         t.stage == Transfer::Stage::read && random(4) == 0;
    if (divides) {
        const uint64_t first = 1 + random((t.bytes - 1) / 8) * 8 + 7;
        Transfer rest = t;
        const auto middle = t.data.begin() + static_cast<std::ptrdiff_t>(first);
        rest.data.assign(middle, t.data.end());
        t.data.erase(middle, t.data.end());
        rest.remote += first;
        rest.bytes -= first;
        t.bytes = first;
        to.push_back(std::make_shared<Transfer>(std::move(rest)));
    }
    to.push_back(std::make_shared<Transfer>(std::move(t)));
}

Result<void> Delivery::check(const Transfer& t) const {
    if (t.to < places_.size()) return {};
    return Error{ErrorCode::input, "nvshmem",
                 "there is no PE " + std::to_string(t.to) + ": the last one is " +
                     std::to_string(places_.size() - 1),
                 ""};
}
Result<void> Delivery::issue(Transfer t) {
    SASSEMU_TRY(check(t));
    if (t.operation == SASSEMU_NVSHMEM_PUT && !t.nbi && t.stage == Transfer::Stage::issued)
        SASSEMU_TRY(read_source(t));
    const std::lock_guard lock(mutex_);
    t.number = ++number_;
    add(std::move(t), flying_);
    return {};
}
Result<void> Delivery::issue(Transfer t, Transfer signal) {
    SASSEMU_TRY(check(t));
    if (!t.nbi) SASSEMU_TRY(read_source(t));
    const std::lock_guard lock(mutex_);
    signal.behind = t.number = ++number_;
    signal.number = ++number_;
    add(std::move(t), flying_);
    flying_.push_back(std::make_shared<Transfer>(std::move(signal)));
    return {};
}
void Delivery::fence(const Issuer& from) {
    const std::lock_guard lock(mutex_);
    for (const Held& t : flying_) t->fences += t->from.overlaps(from);
}
void Delivery::met(uint32_t pe) {
    const std::lock_guard lock(mutex_);
    std::erase_if(spreads_, [&](const Spread& s) { return s.viewer == pe; });
}

bool Delivery::quiet_by(const Issuer& from, uint64_t last) const {
    return std::ranges::none_of(flying_, [&](const Held& t) {
        if (t->number > last) return false;
        if (from.side == Issuer::Side::stream) return t->from.pe == from.pe && t->from.on_gpu();
        return t->from.overlaps(from);
    });
}
std::function<bool()> Delivery::quiet(const Issuer& from) {
    if (from.side == Issuer::Side::stream) take_requests();
    const std::lock_guard lock(mutex_);
    return [this, from, last = number_] {
        const std::lock_guard inner(mutex_);
        return quiet_by(from, last);
    };
}
std::function<bool()> Delivery::all_done() {
    return [this] {
        const std::lock_guard lock(mutex_);
        return flying_.empty();
    };
}
void Delivery::answer_waiters() {
    std::vector<uint64_t> slots;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(waiters_, [&](const Waiter& w) {
            if (!quiet_by(w.from, w.last)) return false;
            slots.push_back(w.slot);
            return true;
        });
    }
    for (const uint64_t at : slots) answer(at, 0);
}

// Rules (a) and (b). A get that somebody waits for sees what its thread has sent there.
bool Delivery::may_arrive(size_t index) const {
    const Transfer& t = *flying_[index];
    for (size_t i = 0; i < index; ++i) {
        const Transfer& e = *flying_[i];
        if (t.behind && e.number == t.behind) return false;
        if (e.is_get() || e.to != t.to || !e.from.overlaps(t.from)) continue;
        const bool same =
            e.remote < t.remote + t.bytes && t.remote < e.remote + e.bytes && e.number != t.number;
        if (t.is_get() ? same && !t.nbi : same || e.fences > t.fences) return false;
    }
    return true;
}

// ---- steps

bool Delivery::ready() {
    for (uint32_t pe = 0; pe < rings_.size(); ++pe)
        if (asked(pe)) return true;
    const std::lock_guard lock(mutex_);
    if (flying_.empty()) return false;
    if (options_.order == AgentOrder::lazy) return forced_;
    if (!hold_) return true;
    --hold_;
    return false;
}
bool Delivery::settle() {
    const std::lock_guard lock(mutex_);
    hold_ = 0;
    forced_ = !flying_.empty();
    return forced_;
}

Delivery::Held Delivery::choose() {
    const std::lock_guard lock(mutex_);
    std::vector<size_t> can;
    if (hold_) return nullptr;
    for (size_t i = 0; i < flying_.size(); ++i) {
        if (!may_arrive(i)) continue;
        can.push_back(i);
        if (options_.order == AgentOrder::eager) break;
    }
    if (can.empty()) return nullptr;
    size_t which = can.front();
    if (options_.order == AgentOrder::lazy) {
        if (!forced_) return nullptr;
        forced_ = false;
        which = can.back();
    } else if (options_.order == AgentOrder::random) {
        which = can[random(can.size())];
        if (random(3) == 0) hold_ = static_cast<uint32_t>(random(8));
    }
    flying_[which]->moving = true;
    return flying_[which];
}

void Delivery::step() noexcept {
    try {
        take_requests();
        const Held t = choose();
        if (!t) return;
        bool over = true;
        const Result<void> moved = move(*t, over);
        note(moved);
        if (!moved && t->done) t->done(0);  // who waits for it goes on
        {
            const std::lock_guard lock(mutex_);
            t->moving = false;
            if (over || !moved) std::erase(flying_, t);
            spread_on();
        }
        answer_waiters();
    } catch (const std::bad_alloc&) {
        note(Error{ErrorCode::system, "nvshmem", "the host has no memory left", ""});
    }
}

// One step of a transfer: reading, arriving, and the way back of what was fetched.
Result<void> Delivery::move(Transfer& t, bool& over) {
    const bool at_once = options_.order == AgentOrder::eager || !t.nbi;
    if (t.operation == SASSEMU_NVSHMEM_PUT) {
        if (t.stage == Transfer::Stage::issued) {
            SASSEMU_TRY(read_source(t));
            if (!at_once) {
                over = false;
                return {};
            }
        }
        SASSEMU_TRY(write(t));
        if (t.done) t.done(0);
        return {};
    }
    if (t.is_get()) {
        if (t.stage == Transfer::Stage::issued) {
            SASSEMU_TRY(read(t, t.data));
            t.stage = Transfer::Stage::read;
            if (!at_once) {
                over = false;
                return {};
            }
        }
        if (!t.local.nowhere()) SASSEMU_TRY(to_local(t, t.data));
        uint64_t value = 0;
        std::memcpy(&value, t.data.data(), std::min<size_t>(t.data.size(), sizeof value));
        if (t.done) t.done(value);
        return {};
    }
    SASSEMU_ASSIGN(const uint64_t old, change(t));
    if (t.done) t.done(old);
    if (!t.fetches || t.local.nowhere()) return {};
    // The value is on its way back: no fence orders it.
    const auto* bytes = reinterpret_cast<const std::byte*>(&old);
    const std::lock_guard lock(mutex_);
    t.data.assign(bytes, bytes + t.bytes);
    t.operation = SASSEMU_NVSHMEM_GET;
    t.stage = Transfer::Stage::read;
    over = false;
    return {};
}

// ---- memory

Result<void> Delivery::read_source(Transfer& t) {
    std::vector<std::byte> data(t.bytes);
    if (t.local.host)
        std::memcpy(data.data(), t.local.host, t.bytes);
    else
        for (uint64_t at = 0; at < t.bytes; at += piece)
            SASSEMU_TRY(machine_.read(
                t.local.address + at,
                std::span(data).subspan(at, std::min<uint64_t>(piece, t.bytes - at))));
    t.data = std::move(data);
    t.stage = Transfer::Stage::read;
    return {};
}
Result<void> Delivery::to_local(const Transfer& t, std::span<const std::byte> bytes) {
    if (!t.local.host) return machine_.write(t.local.address, bytes);
    std::memcpy(t.local.host, bytes.data(), bytes.size());
    return {};
}

Result<void> Delivery::write(const Transfer& t) {
    const uint64_t at = places_[t.to].heap + t.remote;
    std::vector<std::byte> before;
    if (options_.infiniband) SASSEMU_TRY(read(t, before));
    SASSEMU_TRY(machine_.write(at, t.data));
    if (options_.infiniband) spread(t, std::move(before));
    return {};
}

Result<uint64_t> Delivery::change(Machine& machine, uint64_t address, const Transfer& t) {
    static constexpr HostAtomic operations[] = {HostAtomic::add,      HostAtomic::bit_and,
                                                HostAtomic::bit_or,   HostAtomic::bit_xor,
                                                HostAtomic::exchange, HostAtomic::compare};
    const uint32_t which = t.operation - SASSEMU_NVSHMEM_ADD;
    if (which >= std::size(operations))
        return Error{ErrorCode::input, "nvshmem", "no such operation", ""};
    return machine.atomic(address, static_cast<uint32_t>(t.bytes), operations[which], t.value,
                          t.compare);
}
Result<uint64_t> Delivery::change(const Transfer& t) {
    std::vector<std::byte> before;
    if (options_.infiniband) SASSEMU_TRY(read(t, before));
    auto old = change(machine_, places_[t.to].heap + t.remote, t);
    if (old && options_.infiniband) spread(t, std::move(before));
    return old;
}

// As the issuer's PE sees it.
Result<void> Delivery::read(const Transfer& t, std::vector<std::byte>& to) {
    to.resize(t.bytes);
    SASSEMU_TRY(machine_.read(places_[t.to].heap + t.remote, to));
    const std::lock_guard lock(mutex_);
    for (size_t i = spreads_.size(); i-- > 0;) {
        const Spread& s = spreads_[i];
        if (s.owner != t.to || s.viewer != t.from.pe || !t.is_get()) continue;
        for (uint64_t k = 0; k < s.before.size(); ++k)
            if (const uint64_t at = s.offset + k - t.remote; at < t.bytes) to[at] = s.before[k];
    }
    return {};
}

// ---- InfiniBand: who sees what was written

void Delivery::spread(const Transfer& t, std::vector<std::byte> before) {
    const std::lock_guard lock(mutex_);
    for (uint32_t viewer = 0; viewer < places_.size(); ++viewer)
        if (viewer != t.to) spreads_.push_back({viewer, t.to, t.remote, before});
}
// With mutex_. Some see more from now on: each location in the order of its writes.
void Delivery::spread_on() {
    if (spreads_.empty()) return;
    if (options_.order == AgentOrder::eager) return spreads_.clear();
    // Those of long ago are seen.
    constexpr size_t most = 4096;
    if (spreads_.size() > most)
        spreads_.erase(spreads_.begin(),
                       spreads_.begin() + static_cast<std::ptrdiff_t>(spreads_.size() - most));
    if (options_.order == AgentOrder::lazy) return;
    for (size_t i = 0; i < spreads_.size();) {
        const Spread& s = spreads_[i];
        const bool first =
            std::none_of(spreads_.begin(), spreads_.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const Spread& e) {
                             return e.viewer == s.viewer && e.owner == s.owner &&
                                    e.offset < s.offset + s.before.size() &&
                                    s.offset < e.offset + e.before.size();
                         });
        if (first && random(8) == 0)
            spreads_.erase(spreads_.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

}  // namespace sassemu::nvshmem
