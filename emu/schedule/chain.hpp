// SPDX-License-Identifier: Apache-2.0
// Launches of one stream of which each may begin before the one before it has ended (programmatic
// dependent launch). PTX ISA, "griddepcontrol": launch_dependents lets the next begin once every
// CTA has executed it or has ended; wait holds until the launch before has ended and its writes are
// seen.
//
// One launch of the chain has turns at a time, whatever else is in flight. It gives way when its
// paths have come to one of the two and nothing else of it can run. Under the lazy order the
// youngest launch that can run is next, so that one which does not wait reads what the launch
// before has not written yet; under the random order the Chooser picks.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/schedule/chooser.hpp"

namespace sassemu {

// All but holds() and waits() with the scheduler's lock.
class Chain {
  public:
    // One launch, as its engine sees it.
    class Link {
      public:
        // Paths stop at launch_dependents: somebody depends on this launch, and has not been let
        // in.
        bool holds() const { return after_ && !triggered_; }
        // Paths stop at wait.
        bool waits() const { return before_ && !before_->ended_; }
        bool triggered() const { return triggered_; }
        void enter() { begun_ = can_go_on_ = true; }
        // Whether this one is to run now.
        bool has_turn();
        void ran() { chain_.passes_ = 0; }
        // Others run. `triggered`: the next may begin; `can_go_on`: not all paths wait for the
        // launch before.
        void give_way(bool triggered, bool can_go_on);
        // It is blocked, perhaps by another one of the chain. False: all have had their turn since.
        bool pass();
        void leave();

      private:
        friend class Chain;
        Link(Chain& chain, Link* before) : chain_(chain), before_(before) {}
        bool able() const;
        Chain& chain_;
        const Link* const before_;
        std::atomic<bool> after_{false}, triggered_{false}, ended_{false};
        bool begun_ = false, can_go_on_ = false;
    };

    Chain(AgentOrder order, Chooser& chooser) : order_(order), chooser_(chooser) {}
    Link* add();

  private:
    void choose(const Link* other_than);

    const AgentOrder order_;
    Chooser& chooser_;
    std::vector<std::unique_ptr<Link>> links_;
    Link* current_ = nullptr;
    size_t passes_ = 0;
};

}  // namespace sassemu
