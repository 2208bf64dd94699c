// SPDX-License-Identifier: Apache-2.0
// Launches: one after the other, all of a launch is ordered before the next. A launch that may
// begin before the one before it has ended (programmatic dependent launch) knows of that only what
// griddepcontrol.wait tells it: that it is over, and what it has waited for itself. Accesses of a
// launch before are all kept as those of one component.
#include "checker.hpp"

namespace check_sync {

void Checker::begin_grid(bool may_overlap) {
    if (!may_overlap) {
        settle_grids();
    } else if (names_.size() > 1) {
        const auto who = static_cast<Component>(names_.size()) * 4;
        names_.push_back({~uint64_t{0}, ~uint64_t{0}, {}, 0, launch_, kernel_});
        shadow_.stamps.gather(grid_.first * 4, who, grid_epoch);
        shadow_.drop_all_shared();
        // Whoever has waited has ended behind what it waited for, so that this launch begins, or at
        // the latest is told of it, behind that as well.
        if (grid_.has_waited) grid_.known = grid_.awaited;
        grid_.awaited = grid_.known;
        grid_.awaited.push_back(who);
        // Without launch_dependents it begins when all CTAs of the one before have ended. By the
        // letter that is no order.
        if (!grid_.triggered) grid_.by_chance.push_back(who);
    }
    grid_.first = static_cast<uint32_t>(names_.size());
    grid_.has_waited = grid_.triggered = false;
    grid_.running = true;
}

// All launches so far are over, and everybody knows.
void Checker::settle_grids() {
    if (grid_.running || names_.size() == 1) return;
    names_.assign(1, ThreadName{});
    shadow_.forget();
    grid_ = {};
}

void Checker::begin_in_grid(Warp& w) {
    for (const Component who : grid_.known) order_.await_grid(w, ~0u, who, true);
    for (const Component who : grid_.by_chance) order_.await_grid(w, ~0u, who, false);
}

void Checker::wait_for_grid(Warp& w, uint32_t lanes) {
    grid_.has_waited = true;
    for (const Component who : grid_.awaited) order_.await_grid(w, lanes, who, true);
    order_.merge(w);
}

}  // namespace check_sync
