// SPDX-License-Identifier: Apache-2.0
// The choosers of chooser.hpp.
#include "emu/schedule/chooser.hpp"

#include <array>

#include "emu/schedule/schedules.hpp"

namespace sassemu {

namespace {

class Fixed : public Chooser {
    uint32_t pick(ChoicePoint, uint32_t) override { return 0; }
};

// SplitMix64 (Steele, Lea, Flood 2014): a good hash of a counter, so that choice n does not depend
// on how earlier choices were consumed.
uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class Seeded : public Chooser {
  public:
    explicit Seeded(uint64_t seed) : seed_(seed) {}
    uint32_t pick(ChoicePoint point, uint32_t count) override {
        if (point == ChoicePoint::next_warp) return 0;  // round robin, as ever
        const uint64_t r = mix(seed_ + 0x9e3779b97f4a7c15u * ++number_);
        return static_cast<uint32_t>((r >> 32) * count >> 32);
    }

  private:
    uint64_t seed_, number_ = 0;
};

// The schedules of schedules.hpp. The engine asks for warps by `next_warp`: 0 is the usual order, k
// warp k - 1.
class Scheduled : public Chooser {
  public:
    explicit Scheduled(uint64_t seed) : seed_(seed), schedule_(schedule_of(seed)) {
        last_.fill(~0u);
    }
    uint32_t pick(ChoicePoint point, uint32_t count) override {
        const uint64_t r = mix(seed_ + 0x9e3779b97f4a7c15u * ++number_);
        const auto any = static_cast<uint32_t>((r >> 32) * count >> 32);
        if (point == ChoicePoint::agent) return any;
        const auto where = static_cast<size_t>(point);
        switch (schedule_) {
            case Schedule::priorities:
                if (r % changes == 0) ++order_;
                return best(count, point == ChoicePoint::next_warp ? number_ % 4 : 0);
            case Schedule::starving: {
                const auto victim = static_cast<uint32_t>(mix(seed_ + where) % count);
                return any == victim && count > 1
                           ? (any + 1 + static_cast<uint32_t>(r % (count - 1))) % count
                           : any;
            }
            case Schedule::bursts:
                if (r % changes == 0 || last_[where] >= count) last_[where] = any;
                return last_[where];
            default:
                return any;
        }
    }

  private:
    static constexpr uint64_t changes = 32;  // one in so many choices
    // The one of that rank (counted from 0) by the present order.
    uint32_t best(uint32_t count, uint64_t rank) const {
        uint32_t chosen = 0;
        uint64_t below = ~uint64_t{0};
        for (uint64_t k = 0; k <= rank && k < count; ++k) {
            uint64_t highest = 0;
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t priority = mix(seed_ ^ order_ << 32 ^ i) >> 1;
                if (priority >= below || priority < highest) continue;
                highest = priority;
                chosen = i;
            }
            below = highest;
        }
        return chosen;
    }
    uint64_t seed_, number_ = 0, order_ = 0;
    Schedule schedule_;
    std::array<uint32_t, static_cast<size_t>(ChoicePoint::count)> last_;
};

class RecordingChooser : public Chooser {
  public:
    RecordingChooser(std::unique_ptr<Chooser> inner, ChoiceLog& log)
        : inner_(std::move(inner)), log_(log) {}
    uint32_t pick(ChoicePoint point, uint32_t count) override {
        const uint32_t chosen = inner_->pick(point, count);
        log_.entries.push_back({point, count, chosen});
        return chosen;
    }

  private:
    std::unique_ptr<Chooser> inner_;
    ChoiceLog& log_;
};

}  // namespace

std::unique_ptr<Chooser> make_fixed_chooser() { return std::make_unique<Fixed>(); }
std::unique_ptr<Chooser> make_seeded_chooser(uint64_t seed) {
    if (schedule_of(seed) != Schedule::usual) return std::make_unique<Scheduled>(seed);
    return std::make_unique<Seeded>(seed);
}
std::unique_ptr<Chooser> make_recording_chooser(std::unique_ptr<Chooser> inner, ChoiceLog& log) {
    return std::make_unique<RecordingChooser>(std::move(inner), log);
}

ReplayChooser::ReplayChooser(ChoiceLog log)
    : log_(std::move(log)), valid_(log_.version == ChoiceLog::current_version) {}

uint32_t ReplayChooser::pick(ChoicePoint point, uint32_t count) {
    if (!valid_ || next_ >= log_.entries.size()) return 0;
    const auto& entry = log_.entries[next_++];
    if (entry.point != point || entry.count != count || entry.chosen >= count) {
        valid_ = false;
        return 0;
    }
    return entry.chosen;
}

}  // namespace sassemu
