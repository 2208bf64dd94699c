// SPDX-License-Identifier: Apache-2.0
// Bytes of global memory that one thread or copy alone accesses, or that nobody writes, on a
// machine with caches. Whatever its caches and queues do, a thread finds there what it stored
// itself, and nobody else sees when: so an access goes to memory at once, and no other step need be
// tried before it.
//
// A cache keeps sectors: a load brings all of one along, and what others find in it later depends
// on when that was. So a load is of that kind where all of its sector is, and a store of bytes that
// are loaded, too; a store of others touches no other byte.
//
// Which bytes these are is found out as the search goes: all that have been seen so far count as
// such. Where that turns out to be wrong the search begins again, with what is known by then. What
// it has found before that holds: on the way to an end that it came to, each access had been met.
// One that is never surprised has left out nothing: the first access that belies it would have been
// enabled, and met, behind the same steps of the others.
//
// Several may look at once, each for itself; what they meet and take counts from the next round on,
// for all of them (adopt_news()).
// What belongs here: no state is changed, and no step is taken.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emu/explore/machines/threads_ahead.hpp"

namespace sassemu::explore {

class OwnBytes {
  public:
    static constexpr uint64_t sector_bytes = 32;

    // Whether each of the test's accesses of global memory is by machine code of one GPU.
    static bool fits(const Test& test);

    // What is seen of a state: loads and copies under way, and what a thread does next.
    void meet_under_way(const MachineState& s);
    void meet(uint32_t thread, const Ahead& next);

    // Whether it is about such bytes alone; then it counts as taken. `fenced`: whether it is known
    // that what it stores is fenced before others look.
    template <class Fenced>
    bool take(uint32_t thread, const Ahead& next, Fenced&& fenced) {
        if (!next.moved || next.does.empty()) return false;
        if (take(next, false) || (take(next, true) && fenced())) return true;
        refuse(thread, next);
        return false;
    }
    bool take(uint32_t thread, const MemoryOperation& load);  // under way
    bool take(const CopyAgent& a);                            // of what it does in global memory

    // ---- rounds
    void adopt_news(const OwnBytes& of);
    void end_round();  // all news have been adopted: whether what was taken is right

    bool surprised() const { return surprised_; }
    void begin() {
        surprised_ = false;
        for (auto& [number, sector] : sectors_) sector.taken = {};
    }

  private:
    // `copy`: not through a cache.
    enum class Use : uint8_t { load, store, give, copied_from, copied_to, other };
    static constexpr size_t uses = 5;  // that may be taken
    static bool writes(Use use) { return use != Use::load && use != Use::copied_from; }
    struct Sector {
        std::array<uint64_t, sector_bytes> who{}, writer{};  // 0: nobody yet
        uint32_t shared = 0, written = 0, loaded = 0, other = 0;
        uint32_t writers = 0;  // has several
        std::array<uint32_t, uses> taken{};
        uint32_t met() const { return other | (shared & written); }
        bool own(Use use, uint32_t bytes) const;
        bool knows(uint64_t by, uint32_t bytes, Use use) const;  // nothing new in that
    };

    // Whose access it is of which bytes of a sector.
    struct Piece {
        uint64_t sector = 0, who = 0;
        uint32_t bytes = 0;
        Use use = Use::other;
    };

    static Use use_of(const MemoryOperation& o);
    template <class Act>
    static void each_sector(uint64_t address, uint64_t bytes, Act&& act);
    template <class Act>
    static void each_access(const CopyAgent& a, Act&& act);
    static void add(Sector& to, const Piece& met);
    void meet(uint64_t who, uint64_t address, uint64_t bytes, Use use);
    bool own(uint64_t address, uint64_t bytes, Use use) const;
    void mark(uint64_t address, uint64_t bytes, Use use);
    bool take(const Ahead& next, bool give);
    void refuse(uint32_t thread, const Ahead& next);

    std::unordered_map<uint64_t, Sector> sectors_;
    std::unordered_set<uint64_t> changed_;  // in the round
    bool surprised_ = false;
    struct {
        std::vector<Piece> met, taken;
    } news_;
};

}  // namespace sassemu::explore
