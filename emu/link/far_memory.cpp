// SPDX-License-Identifier: Apache-2.0
// See far_memory.hpp.
#include "emu/link/far_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/base/lend_thread.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu::link {

namespace {

// Between two looks at what is watched: the first ones soon, since flags are often set at once.
constexpr std::chrono::microseconds soon{50}, seldom{1000};

}  // namespace

FarWindows::~FarWindows() { leave(); }

void FarWindows::leave() {
    {
        const std::lock_guard guard(watching_);
        end_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard guard(leaving_);
    machine_ = nullptr;
}

void FarWindows::lose(uint32_t rank) {
    if (const auto found = posted_.find(rank); found != posted_.end()) found->second.lost = true;
    news();
}

void FarWindows::news() {
    const std::lock_guard guard(leaving_);
    if (machine_) machine_->news();
}

void FarWindows::add(uint32_t rank, const Link::RemoteWindow& window, OutsideMemory::Given given) {
    places_[window.window.address] = {window.window.address + window.window.bytes, rank, window.id,
                                      std::move(given)};
    posted_[rank];
}

Result<void> FarWindows::start() {
    thread_ = lend_thread([this] { renew_all(); });
    if (thread_.joinable()) return {};
    return Error{ErrorCode::system, "link", "the host has no thread for memory of other ranks", ""};
}

void FarWindows::begin(OutsideMemory& machine) {
    machine_ = &machine;
    known_ = true;
}

bool FarWindows::holds(uint32_t gpu, uint64_t address, uint64_t bytes) const {
    if (!known_) return false;
    const auto behind = places_.upper_bound(address);
    if (behind == places_.begin()) return false;
    const Place& at = std::prev(behind)->second;
    return address < at.end && bytes <= at.end - address &&
           (gpu == by_host || (gpu < at.given.gpus.size() && at.given.gpus[gpu]));
}

// ---- posted

Result<void> FarWindows::put(uint64_t address, std::span<const std::byte> bytes) {
    const auto& [begin, at] = place(address);
    const Result<void> sent = link_.put(at.rank, at.window, address - begin, bytes);
    ++posted_.at(at.rank).all;  // not before it is on its way: a drain of others would count it
    return sent;
}

AtomicRequest FarWindows::request(uint64_t address, const Change& what) const {
    const auto& [begin, at] = place(address);
    AtomicRequest asked{at.window, what.bytes, address - begin, what.op, what.type, {}, {}};
    std::copy_n(what.operand, 2, asked.operand);
    std::copy_n(what.swap, 2, asked.swap);
    return asked;
}

Result<void> FarWindows::reduce(uint64_t address, const Change& what) {
    const uint32_t rank = place(address).second.rank;
    const Result<void> sent = link_.reduce(rank, request(address, what));
    ++posted_.at(rank).all;
    return sent;
}

Result<void> FarWindows::drain(const std::set<uint32_t>& ranks) {
    Result<void> first;
    for (auto& [rank, posted] : posted_) {
        const uint64_t all = posted.all;
        if (posted.drained >= all) continue;
        const Result<void> drained = link_.drain(rank);
        if (!drained) {
            if (first && ranks.contains(rank)) first = drained;
            continue;
        }
        uint64_t before = posted.drained;
        while (before < all && !posted.drained.compare_exchange_weak(before, all)) {
        }
    }
    return first;
}

// ---- answered

// Whoever waits for it looks again.
FarMemory::Then FarWindows::told(Then then) {
    return [this, then = std::move(then)](const std::string& lost) {
        then(lost);
        news();
    };
}

namespace {

std::string why(const Session::Answer& answer) {
    if (answer.status == Status::ok) return answer.lost;
    return "the operation was refused: " + std::string(status_text(answer.status));
}

}  // namespace

void FarWindows::get(uint64_t address, std::span<std::byte> into, Then then) {
    const auto& [begin, at] = place(address);
    link_.get_later(
        at.rank, at.window, address - begin, into,
        [then = told(std::move(then))](const Session::Answer& answer) { then(why(answer)); });
}

void FarWindows::atomic(uint64_t address, const Change& what, uint64_t old[2], Then then) {
    link_.atomic_later(place(address).second.rank, request(address, what),
                       [old, then = told(std::move(then))](const Session::Answer& answer) {
                           std::copy_n(answer.old, 2, old);
                           then(why(answer));
                       });
}

// ---- watched

// With the mutex, so that no older bytes come after newer ones.
Result<void> FarWindows::renew(Watched& one) {
    const auto& [begin, at] = place(one.address);
    std::byte now[most_watched];
    Posted& rank = posted_.at(at.rank);
    const Result<void> looked =
        rank.lost
            ? Error{ErrorCode::system, "rank " + std::to_string(at.rank), "is lost", ""}
            : link_.look(at.rank, at.window, one.address - begin, std::span(now).first(one.bytes));
    if (!looked) {
        // Who waits for it looks itself, and gets a fault.
        rank.lost = true;
        std::memcpy(now, one.copy, one.bytes);
        if (!std::exchange(one.spoilt, true)) now[0] = ~now[0];
    }
    bool changed = false;
    for (uint32_t i = 0; i < one.bytes; ++i) {
        changed |= host::load<uint8_t>(one.copy + i) != static_cast<uint8_t>(now[i]);
        host::store(one.copy + i, static_cast<uint8_t>(now[i]));
    }
    if (changed) news();
    return looked;
}

Result<const std::byte*> FarWindows::watch(uint64_t address, uint32_t bytes) {
    const std::lock_guard guard(watching_);
    auto found = std::ranges::find_if(
        watched_, [&](const Watched& one) { return one.address == address && one.bytes == bytes; });
    if (found == watched_.end() && watched_.size() == most_watches)
        return Error{ErrorCode::limit, "watched memory of other ranks",
                     "more than " + std::to_string(most_watches) + " places", ""};
    if (found == watched_.end()) {
        any_watched_ = true;
        watched_.push_back({address, bytes, false, {}});
        found = std::prev(watched_.end());
        changed_.notify_all();
    }
    SASSEMU_TRY(renew(*found));
    return static_cast<const std::byte*>(found->copy);
}

bool FarWindows::seen(uint64_t address, std::span<std::byte> into) {
    const std::unique_lock lock(watching_, std::try_to_lock);
    if (!lock) return false;
    for (const Watched& one : watched_) {
        if (address < one.address || address + into.size() > one.address + one.bytes) continue;
        for (size_t i = 0; i < into.size(); ++i)
            into[i] =
                static_cast<std::byte>(host::load<uint8_t>(one.copy + (address - one.address) + i));
        return true;
    }
    return false;
}

// A thread of its own: it waits for answers, which nobody who runs something has to.
void FarWindows::renew_all() {
    std::unique_lock lock(watching_);
    auto pause = soon;
    while (!end_) {
        if (watched_.empty()) {
            changed_.wait(lock, [&] { return end_ || !watched_.empty(); });
            pause = soon;
            continue;
        }
        lock.unlock();
        const OutsideMemory::Progress before = machine_->progress();
        lock.lock();
        // Nobody waits for what lies with a rank that is lost: who touches it gets a fault.
        for (Watched& one : watched_) (void)renew(one);
        if (changed_.wait_for(lock, pause, [&] { return end_.load(); })) return;
        lock.unlock();
        // A look that had begun before the copies were new does not count.
        OutsideMemory::Progress now = machine_->progress();
        const uint64_t looks = now.looks;
        const auto same = [&] { return now.parked && before.parked && now.epoch == before.epoch; };
        while (!end_ && same() && now.looks < looks + 2) {
            std::this_thread::sleep_for(soon);
            now = machine_->progress();
        }
        if (same()) ++rounds_;
        pause = same() ? std::min(2 * pause, seldom) : soon;
        lock.lock();
    }
}

Link::Progress FarWindows::progress() const {
    const OutsideMemory::Progress now = machine_->progress();
    return {now.parked, now.epoch, any_watched_ ? rounds_.load() : now.looks};
}

}  // namespace sassemu::link
