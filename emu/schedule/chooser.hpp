// SPDX-License-Identifier: Apache-2.0
// The choosers: a fixed one, one with a seed, and those that record and replay the choices of a
// run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emu/machine/chooser.hpp"

namespace sassemu {

// Always 0.
std::unique_ptr<Chooser> make_fixed_chooser();
// Uniform choices, a function of (seed, number of the choice).
std::unique_ptr<Chooser> make_seeded_chooser(uint64_t seed);

// A log of choices: version, then one entry per pick. Replaying a log of another version or of
// another program ends in `valid() == false`, and the fixed order from there on.
struct ChoiceLog {
    static constexpr uint32_t current_version = 1;
    uint32_t version = current_version;
    struct Entry {
        ChoicePoint point;
        uint32_t count, chosen;
    };
    std::vector<Entry> entries;
};
std::unique_ptr<Chooser> make_recording_chooser(std::unique_ptr<Chooser> inner, ChoiceLog& log);

class ReplayChooser : public Chooser {
  public:
    explicit ReplayChooser(ChoiceLog log);
    uint32_t pick(ChoicePoint point, uint32_t count) override;
    bool valid() const { return valid_; }

  private:
    ChoiceLog log_;
    size_t next_ = 0;
    bool valid_;
};

}  // namespace sassemu
