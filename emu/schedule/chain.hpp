// SPDX-License-Identifier: Apache-2.0
// Launches of which each may begin before the one before it has ended (programmatic dependent
// launch). PTX ISA, "griddepcontrol": launch_dependents lets the next begin once every CTA has
// executed it or has ended; wait holds until the launch before has ended and its writes are seen.
//
// One launch of the chain runs at a time, on a thread of its own. It gives way when its paths have
// come to one of the two and nothing else of it can run. Under the lazy order the youngest launch
// that can run is next, so that one which does not wait reads what the launch before has not
// written yet; under the random order the Chooser picks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/schedule/chooser.hpp"

namespace sassemu {

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
        // Others run. `triggered`: the next may begin; `can_go_on`: not all paths wait for the
        // launch before. False: a launch before has failed, and this one must end.
        bool give_way(bool triggered, bool can_go_on);

      private:
        friend class Chain;
        Chain* chain_ = nullptr;
        const Link* before_ = nullptr;
        bool after_ = false, begun_ = false, triggered_ = false, can_go_on_ = false, ended_ = false,
             failed_ = false;
        bool abandoned_ = false, refused_ = false;
        std::binary_semaphore go_{0};
        std::thread thread_;
    };

    Chain(size_t launches, AgentOrder order, Chooser& chooser);
    // `launch(index, link)` runs one to its end and says whether it ended well. After one that did
    // not, those before it end, and those behind it are given up or never begun.
    void run(const std::function<bool(size_t, Link&)>& launch);
    // It has not begun, since the host had no thread for it.
    bool refused(size_t index) const { return links_[index]->refused_; }

  private:
    bool can_run(const Link& link) const;
    void resume(Link& link, const std::function<bool(size_t, Link&)>& launch, size_t index);

    const AgentOrder order_;
    Chooser& chooser_;
    std::vector<std::unique_ptr<Link>> links_;
    std::binary_semaphore back_{0};
};

}  // namespace sassemu
