// SPDX-License-Identifier: Apache-2.0
// See far_bytes.hpp.
#include "emu/plugin/far_bytes.hpp"

#include <algorithm>
#include <condition_variable>

#include "emu/machine/lane_bits.hpp"

namespace sassemu {

namespace {

// Answers to come; the last one wakes who waits for them.
struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    size_t left = 0;
    std::string lost;
};

}  // namespace

void FarBytes::come(bool outside, unsigned depth) {
    mutex_.lock();
    holder_ = std::this_thread::get_id();
    depth_ = depth;
    outside_ = outside;
}

void FarBytes::enter(bool outside) {
    if (holder_.load() == std::this_thread::get_id())
        ++depth_;
    else
        come(outside, 1);
}

void FarBytes::leave() {
    if (depth_ == 1 && !outside_ && !flushing_) flush();
    if (--depth_) return;
    holder_ = std::thread::id();
    mutex_.unlock();
}

template <class F>
void FarBytes::away(F&& act) {
    const unsigned depth = depth_;
    holder_ = std::thread::id();
    mutex_.unlock();
    act();
    come(false, depth);
}

std::string FarBytes::fetch(const uint64_t* address, uint32_t lanes, uint32_t bytes) {
    for_lanes(lanes, [&](uint32_t lane) {
        if (!far_.holds(FarMemory::by_host, address[lane], bytes)) return;
        uint64_t from = address[lane], count = bytes;
        for (uint64_t around = line; around >= 2 * bytes; around /= 2)
            if (const uint64_t at = address[lane] / around * around;
                address[lane] + bytes <= at + around &&
                far_.holds(FarMemory::by_host, at, around)) {
                from = at;
                count = around;
                break;
            }
        if (std::ranges::find(fetched_, from, &Fetched::address) == fetched_.end())
            fetched_.push_back({from, std::vector<std::byte>(count)});
    });
    if (fetched_.empty()) return {};
    const auto answers = std::make_shared<Answers>();
    answers->left = fetched_.size();
    away([&] {
        for (Fetched& one : fetched_)
            far_.get(one.address, one.bytes, [answers](const std::string& lost) {
                const std::lock_guard guard(answers->mutex);
                if (!lost.empty()) answers->lost = lost;
                if (!--answers->left) answers->changed.notify_all();
            });
        std::unique_lock lock(answers->mutex);
        answers->changed.wait(lock, [&] { return !answers->left; });
    });
    return answers->lost;
}

bool FarBytes::read(uint64_t address, std::span<std::byte> into) {
    for (const Fetched& one : fetched_) {
        if (outside_ || address < one.address ||
            address + into.size() > one.address + one.bytes.size())
            continue;
        std::copy_n(one.bytes.begin() + static_cast<std::ptrdiff_t>(address - one.address),
                    into.size(), into.begin());
        return true;
    }
    return far_.seen(address, into);
}

void FarBytes::overlay(uint64_t address, std::span<std::byte> bytes) const {
    if (outside_) return;  // to others nothing has happened before it is written
    for (const Written& one : written_)
        for (size_t i = 0; i < one.bytes.size(); ++i)
            if (const uint64_t at = one.address + i - address; at < bytes.size())
                bytes[at] = one.bytes[i];
}

bool FarBytes::write(uint64_t launch, uint64_t address, std::span<const std::byte> bytes) {
    const bool far = far_.holds(FarMemory::by_host, address, bytes.size());
    if (!far && written_.empty()) return false;
    written_.push_back({launch, address, {bytes.begin(), bytes.end()}, far});
    return true;
}

void FarBytes::settle() {
    while (!written_.empty())
        if (flushing_)
            away([] { std::this_thread::yield(); });
        else
            flush();
    away([&] { (void)far_.drain({}); });  // who loses something is told where it is posted
}

// In order: what is behind a write to another process waits until that has been performed.
void FarBytes::flush() {
    flushing_ = true;
    while (!written_.empty()) {
        if (!written_.front().far) {
            here_(written_.front().address, written_.front().bytes);
            written_.pop_front();
            continue;
        }
        const uint32_t rank = far_.rank_of(written_.front().address);
        std::vector<Written> all;
        for (const Written& one : written_) {
            if (!one.far || far_.rank_of(one.address) != rank) break;
            all.push_back(one);
        }
        Result<void> done;
        away([&] {
            for (const Written& one : all)
                if (done) done = far_.put(one.address, one.bytes);
            if (done) done = far_.drain({rank});
        });
        for (const Written& one : all) {
            if (!done) lost_(one.launch, done.error().message());
            written_.pop_front();
        }
    }
    flushing_ = false;
}

}  // namespace sassemu
