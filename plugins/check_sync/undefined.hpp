// SPDX-License-Identifier: Apache-2.0
// Values that a load brings and nobody has written, on from there: where they go, and where they
// decide something that can be seen. Until then a value has not been read, as memcheck has it: it
// may be loaded, moved and computed with, and branched on. What belongs here: which CTAs are
// followed, and what counts as seen. How marks go is in plugins/follow, what comes of a branch in
// ways.hpp; a CTA costs nothing before its first mark.
#pragma once

#include <functional>
#include <unordered_set>

#include "follow/follower.hpp"
#include "ways.hpp"

namespace check_sync {

using follow::Origin;

class Undefined final : public follow::Follower {
  public:
    // Of an origin that `loads` has been given: the instruction that uses it, and what for.
    using Used = std::function<void(Origin, sassemu_insn, const char*)>;
    Undefined(const sassemu::Start& start, Used used, Ways::Written written)
        : Follower(start, false, follow::Doubt::values),
          used_(std::move(used)),
          ways_(*this, std::move(written)) {}

    // What select() answers for it.
    uint32_t wanted(sassemu_insn insn) const {
        return SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES | SASSEMU_RECORD_SKIPPED |
               (follow::Code::goes_by_values(*this, insn) ? uint32_t{SASSEMU_BEFORE} : 0) |
               (Ways::are_followed(*this, insn) ? uint32_t{SASSEMU_RECORD_LAST} : 0);
    }
    // Of what a lane's load brings, `bytes` from `offset` on are marked.
    void loads(const sassemu_access& a, uint32_t lane, uint32_t offset, uint32_t bytes,
               Origin from);

    void module_load(sassemu_module m) {
        codes_.erase(m);
        ways_.forget();
    }
    void cta_end(sassemu_cta c) { Follower::cta_end(c); }
    void launch_end(sassemu_launch l);
    void records(const sassemu_records& r);
    void async(const sassemu_async& a);

  private:
    void learn(sassemu_module m);
    // Every mark has the origin that it was given.
    Origin born(const follow::Step&, uint32_t, uint32_t) override { return follow::unnamed; }
    Origin born(const follow::Step&, uint32_t, uint32_t, uint64_t, const follow::Place&) override {
        return follow::unnamed;
    }
    Origin born_of_copy(const char*, uint64_t, sassemu_insn) override { return follow::unnamed; }
    Origin both(Origin a, Origin) override { return a; }
    bool decides(const follow::Step& s, uint32_t row, uint32_t lanes, bool condition) override;
    void leaves(const follow::Step& s, uint32_t row, uint32_t lane,
                const follow::Place& to) override;

    const Used used_;
    Ways ways_;
    std::unordered_set<Origin> told_;  // of what has decided
};

}  // namespace check_sync
