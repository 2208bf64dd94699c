// SPDX-License-Identifier: Apache-2.0
// One rank of a link, for tests that have a process for each: it exchanges with all others, checks
// that nothing was lost, doubled or changed, and says so; and again for each line of its input.
//
// It ends with its input: so the others do not lose it.
//
//     link_rank RANK ADDRESS,ADDRESS,... KEY-FILE       (of a launcher:) link_rank [PATIENCE in s]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <sstream>

#include "emu/link/launcher.hpp"

using namespace sassemu;
using namespace sassemu::link;

namespace {

constexpr uint64_t slot_bytes = 40'000, counter_bytes = 64;

int say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    return 1;
}

// What a rank puts into the others' windows in a round.
std::vector<std::byte> pattern(uint32_t rank, uint32_t round) {
    std::mt19937 random(round * 1024 + rank);
    std::vector<std::byte> bytes(slot_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

class Rank {
  public:
    Rank(std::unique_ptr<Link> link, uint32_t rank, uint32_t ranks)
        : link_(std::move(link)),
          rank_(rank),
          ranks_(ranks),
          memory_(counter_bytes + ranks * slot_bytes) {}

    Result<void> begin() {
        SASSEMU_TRY(
            link_->add_window({0x1000, memory_.size(), memory_.data(), "w", true, -1, false}));
        return link_->meet();
    }

    Result<void> exchange() {
        const std::vector<std::byte> mine = pattern(rank_, ++round_);
        for (uint32_t to = 0; to < ranks_; ++to) {
            if (to == rank_) continue;
            const uint32_t window = link_->windows(to).front().id;
            SASSEMU_TRY(link_->put(to, window, counter_bytes + rank_ * slot_bytes, mine));
            AtomicRequest add;
            add.window = window;
            add.bytes = 8;
            add.type = AtomicType::u64;
            add.operand[0] = 1;
            SASSEMU_TRY(link_->atomic(to, add));
            add.offset = 8;
            SASSEMU_TRY(link_->reduce(to, add));
            SASSEMU_TRY(link_->drain(to));
            std::vector<std::byte> back(slot_bytes);
            SASSEMU_TRY(link_->get(to, window, counter_bytes + rank_ * slot_bytes, back));
            if (back != mine) return wrong(to, "gives back other bytes than were put there");
        }
        SASSEMU_TRY(link_->meet());
        uint64_t counters[2];
        std::memcpy(counters, memory_.data(), sizeof counters);
        for (const uint64_t counter : counters)
            if (counter != uint64_t{round_} * (ranks_ - 1))
                return wrong(rank_, "has counted " + std::to_string(counter) + " additions");
        for (uint32_t from = 0; from < ranks_; ++from) {
            const auto bytes = pattern(from, round_);
            if (from != rank_ && !std::equal(bytes.begin(), bytes.end(),
                                             memory_.begin() + counter_bytes + from * slot_bytes))
                return wrong(from, "has put other bytes than it should");
        }
        return link_->meet();  // before the next round writes
    }

    // Who can be reached no more. The others still answer.
    std::string lost() const {
        std::string all;
        for (uint32_t other = 0; other < ranks_; ++other)
            if (other != rank_ && !link_->drain(other)) all += " " + std::to_string(other);
        return all;
    }

  private:
    static Error wrong(uint32_t rank, std::string what) {
        return Error{ErrorCode::internal, "rank " + std::to_string(rank), std::move(what), ""};
    }

    const std::unique_ptr<Link> link_;
    const uint32_t rank_, ranks_;
    std::vector<std::byte> memory_;
    uint32_t round_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    LinkOptions options;
    options.job = "link_rank";
    options.limits.heartbeat = std::chrono::milliseconds(100);
    options.limits.silence = std::chrono::milliseconds(1000);
    options.limits.unacknowledged = std::chrono::milliseconds(300);
    options.limits.give_up = std::chrono::milliseconds(8000);
    std::unique_ptr<Launcher> launcher;
    if (argc == 4) {
        options.rank = static_cast<uint32_t>(std::atoi(argv[1]));
        std::istringstream list(argv[2]);
        for (std::string one; std::getline(list, one, ',');) options.addresses.push_back(one);
        options.security.key = argv[3];
    } else {
        auto joined = Launcher::join(std::chrono::seconds(argc == 2 ? std::atoi(argv[1]) : 30));
        if (!joined) return say("error: " + joined.error().message());
        launcher = std::move(*joined);
        const auto introduced = launcher->introduce(options);
        if (!introduced) return say("error: " + introduced.error().message());
    }
    const auto ranks = static_cast<uint32_t>(options.addresses.size());
    const uint32_t me = options.rank;
    const std::string who = "rank " + std::to_string(me) + " of " + std::to_string(ranks) + " at " +
                            options.addresses[me];
    auto link = Link::create(std::move(options));
    if (!link) return say("error: " + link.error().message());
    Rank rank(std::move(*link), me, ranks);
    if (const auto begun = rank.begin(); !begun) return say("error: " + begun.error().message());
    std::string line;
    do {
        const auto exchanged = rank.exchange();
        say(exchanged ? "ok, " + who : "lost" + rank.lost() + ": " + exchanged.error().message());
    } while (std::getline(std::cin, line));
    return 0;
}
