// SPDX-License-Identifier: Apache-2.0
// Who runs in a chain of launches, and what griddepcontrol does in one.
#include "emu/schedule/chain.hpp"

#include <system_error>

#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

Chain::Chain(size_t launches, AgentOrder order, Chooser& chooser)
    : order_(order), chooser_(chooser) {
    for (size_t i = 0; i < launches; ++i) {
        auto link = std::make_unique<Link>();
        link->chain_ = this;
        link->before_ = i ? links_.back().get() : nullptr;
        link->after_ = i + 1 < launches;
        links_.push_back(std::move(link));
    }
}

bool Chain::Link::give_way(bool triggered, bool can_go_on) {
    triggered_ |= triggered;
    can_go_on_ = can_go_on;
    chain_->back_.release();
    go_.acquire();
    return !abandoned_;
}

bool Chain::can_run(const Link& link) const {
    if (link.ended_) return false;
    if (!link.before_ || link.before_->ended_) return true;
    return link.begun_ ? link.can_go_on_ : link.before_->triggered_;
}

// Until the launch gives way or has ended.
void Chain::resume(Link& link, const std::function<bool(size_t, Link&)>& launch, size_t index) {
    if (link.begun_) {
        link.go_.release();
    } else {
        link.begun_ = true;
        try {
            link.thread_ = std::thread([this, &link, &launch, index] {
                link.failed_ = !launch(index, link);
                link.ended_ = true;
                back_.release();
            });
        } catch (const std::system_error&) {
            link.refused_ = link.failed_ = link.ended_ = true;
            return;
        }
    }
    back_.acquire();
}

void Chain::run(const std::function<bool(size_t, Link&)>& launch) {
    size_t count = links_.size();
    for (;;) {
        std::vector<size_t> able;
        for (size_t i = 0; i < count; ++i)
            if (can_run(*links_[i])) able.push_back(i);
        if (able.empty()) break;
        const size_t chosen =
            order_ == AgentOrder::random
                ? able[chooser_.pick(ChoicePoint::launch, static_cast<uint32_t>(able.size()))]
                : able.back();
        resume(*links_[chosen], launch, chosen);
        if (!links_[chosen]->failed_) continue;
        count = chosen;
        for (size_t i = chosen + 1; i < links_.size(); ++i) {
            links_[i]->abandoned_ = true;
            if (links_[i]->begun_ && !links_[i]->ended_) resume(*links_[i], launch, i);
        }
    }
    for (const auto& link : links_)
        if (link->thread_.joinable()) link->thread_.join();
}

namespace paths {

namespace {

const Op* hold(Warp& w, const Op* op, uint32_t lanes, PathState state) {
    if (!leave_behind(w, lanes, op + 1)) return nullptr;
    Path& p = w.path();
    p.pc = op + 1;
    p.state = state;
    engine(w).hold_for_chain();
    return run_other_path(w);
}

}  // namespace

const Op* launch_dependents(Warp& w, const Op* op, uint32_t lanes) {
    w.cta->triggered = true;
    const Chain::Link* link = engine(w).link();
    return link && link->holds() ? hold(w, op, lanes, PathState::at_trigger) : op + 1;
}

const Op* grid_wait(Warp& w, const Op* op, uint32_t lanes) {
    const Chain::Link* link = engine(w).link();
    return link && link->waits() ? hold(w, op, lanes, PathState::at_grid_wait) : op + 1;
}

}  // namespace paths

// Called with the lock, while nothing runs.
void Engine::give_way_to_chain() {
    const auto each_path = [&](auto&& act) {
        for (const auto& slot : slots_)
            for (uint32_t r = 0; r < slot->cluster.size && !slot->fresh; ++r) {
                Cta& cta = *slot->cluster.cta[r];
                for (uint32_t i = 0; i < cta.warp_count && cta.live_threads; ++i)
                    for (uint32_t k = 0; k < cta.warps[i].paths_used; ++k)
                        act(cta, cta.warps[i].paths[k]);
            }
    };
    bool triggered = !unclaimed(), can_go_on = false;
    for (const auto& slot : slots_) triggered &= !slot->fresh;
    each_path([&](Cta& cta, Path& p) {
        triggered &= cta.triggered;
        can_go_on |= p.state == PathState::at_trigger;
    });
    printed().flush();
    const auto left = std::chrono::steady_clock::now();
    const bool goes_on = settings_.link->give_way(triggered, can_go_on);
    const auto away = std::chrono::steady_clock::now() - left;  // the time of others
    started_ += away;
    if (settings_.seconds > 0) deadline_ += away;
    if (!goes_on) return end(LaunchStatus::not_run, "a launch before it failed");
    held_ = 0;
    each_path([&](Cta&, Path& p) {
        if (p.state == PathState::at_grid_wait && settings_.link->waits())
            ++held_;
        else if (p.state == PathState::at_trigger || p.state == PathState::at_grid_wait)
            p.state = PathState::runnable;
    });
}

}  // namespace sassemu
