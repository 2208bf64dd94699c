// The choosers of chooser.hpp.
#include "emu/schedule/chooser.hpp"

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
    uint32_t pick(ChoicePoint, uint32_t count) override {
        const uint64_t r = mix(seed_ + 0x9e3779b97f4a7c15u * ++number_);
        return static_cast<uint32_t>((r >> 32) * count >> 32);
    }

  private:
    uint64_t seed_, number_ = 0;
};

class Recording : public Chooser {
  public:
    Recording(std::unique_ptr<Chooser> inner, ChoiceLog& log)
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
    return std::make_unique<Seeded>(seed);
}
std::unique_ptr<Chooser> make_recording_chooser(std::unique_ptr<Chooser> inner, ChoiceLog& log) {
    return std::make_unique<Recording>(std::move(inner), log);
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
