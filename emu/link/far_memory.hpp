// SPDX-License-Identifier: Apache-2.0
// The memory of other ranks by messages (FarMemory of machine/outside.hpp). What belongs here:
// which address is whose window, what this rank has posted, and the copies that waits look at.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "emu/link/link.hpp"
#include "emu/machine/outside.hpp"

namespace sassemu::link {

class FarWindows final : public FarMemory {
  public:
    explicit FarWindows(Link& link) : link_(link) {}
    ~FarWindows() override;

    // A window of another rank, whose it is, and which GPUs of this one may touch it. Before
    // begin().
    void add(uint32_t rank, const Link::RemoteWindow& window, OutsideMemory::Given given);
    // Before the ranks meet: one that lacks what it takes is not there for the others.
    [[nodiscard]] Result<void> start();
    // From now on what is watched is renewed.
    void begin(OutsideMemory& machine);
    // The machine goes.
    void leave();
    // A rank is lost: who waits for its memory looks again.
    void lose(uint32_t rank);
    // How far this process is, with all that it watches elsewhere: see Link::Progress.
    Link::Progress progress() const;

    bool holds(uint32_t gpu, uint64_t address, uint64_t bytes) const override;
    Result<void> put(uint64_t address, std::span<const std::byte> bytes) override;
    Result<void> reduce(uint64_t address, const Change& what) override;
    Result<void> drain(const std::set<uint32_t>& ranks) override;
    uint32_t rank_of(uint64_t address) const override { return place(address).second.rank; }
    void get(uint64_t address, std::span<std::byte> into, Then then) override;
    void atomic(uint64_t address, const Change& what, uint64_t old[2], Then then) override;
    Result<const std::byte*> watch(uint64_t address, uint32_t bytes) override;
    bool gone(uint64_t address) const override {
        return posted_.at(place(address).second.rank).lost;
    }
    int32_t home(uint64_t address) const override { return place(address).second.given.home; }
    bool seen(uint64_t address, std::span<std::byte> into) override;

  private:
    static constexpr size_t most_watches = 1024;
    struct Place {
        uint64_t end = 0;
        uint32_t rank = 0, window = 0;
        OutsideMemory::Given given;
    };
    // What was posted to a rank: all of it, and what the last drain that has ended covered.
    struct Posted {
        std::atomic<uint64_t> all{0}, drained{0};
        std::atomic<bool> lost{false};
    };
    struct Watched {
        uint64_t address;
        uint32_t bytes;
        bool spoilt;  // its rank is lost, and the copy says so
        alignas(8) std::byte copy[most_watched];
    };

    // The place that holds the address, which is in one.
    const std::pair<const uint64_t, Place>& place(uint64_t address) const {
        return *std::prev(places_.upper_bound(address));
    }
    AtomicRequest request(uint64_t address, const Change& what) const;
    Then told(Then then);
    void news();
    Result<void> renew(Watched& one);
    void renew_all();

    Link& link_;
    std::mutex leaving_;                // and what follows
    OutsideMemory* machine_ = nullptr;  // null: it is gone
    std::map<uint64_t, Place> places_;  // by address; does not change after begin()
    std::atomic<bool> known_{false};  // that is: before, requests of ranks that have begun may come
    std::map<uint32_t, Posted> posted_;
    std::mutex watching_;  // and what follows
    std::condition_variable changed_;
    std::deque<Watched> watched_;
    std::atomic<bool> any_watched_{false}, end_{false};
    std::atomic<uint64_t> rounds_{0};  // how often all that is watched, and all that waits, was
                                       // looked at without anything having run
    std::thread thread_;
};

}  // namespace sassemu::link
