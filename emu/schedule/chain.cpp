// SPDX-License-Identifier: Apache-2.0
// Who runs in a chain of launches, and what griddepcontrol does in one.
#include "emu/schedule/chain.hpp"

#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

Chain::Link* Chain::add() {
    Link* const before = links_.empty() ? nullptr : links_.back().get();
    if (before) before->after_ = true;
    links_.emplace_back(new Link(*this, before));
    return links_.back().get();
}

bool Chain::Link::able() const { return begun_ && !ended_ && (!waits() || can_go_on_); }

void Chain::choose(const Link* other_than) {
    std::vector<Link*> able;
    for (const auto& link : links_)
        if (link.get() != other_than && link->able()) able.push_back(link.get());
    current_ = able.empty() ? nullptr
               : order_ == AgentOrder::random
                   ? able[chooser_.pick(ChoicePoint::launch, static_cast<uint32_t>(able.size()))]
                   : able.back();
}

bool Chain::Link::has_turn() {
    if (!chain_.current_) chain_.choose(nullptr);
    return chain_.current_ == this;
}

void Chain::Link::give_way(bool triggered, bool can_go_on) {
    if (triggered) triggered_ = true;
    can_go_on_ = can_go_on;
    chain_.current_ = nullptr;
}

bool Chain::Link::pass() {
    if (chain_.current_ != this || chain_.passes_ == chain_.links_.size()) return false;
    ++chain_.passes_;
    chain_.choose(this);
    if (chain_.current_) return true;
    chain_.current_ = this;
    return false;
}

void Chain::Link::leave() {
    ended_ = true;
    if (chain_.current_ == this) chain_.current_ = nullptr;
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

template <class F>
void Engine::each_path(F&& act) {
    for (const auto& slot : slots_)
        for (uint32_t r = 0; r < slot->cluster.size && !slot->fresh; ++r) {
            Cta& cta = *slot->cluster.cta[r];
            for (uint32_t i = 0; i < cta.warp_count && cta.live_threads; ++i)
                for (uint32_t k = 0; k < cta.warps[i].paths_used; ++k)
                    act(cta, cta.warps[i].paths[k]);
        }
}

// While nothing of it runs.
void Engine::give_way_to_chain() {
    bool triggered = !unclaimed(), can_go_on = false;
    for (const auto& slot : slots_) triggered &= !slot->fresh;
    each_path([&](Cta& cta, Path& p) {
        triggered &= cta.triggered;
        can_go_on |= p.state == PathState::at_trigger;
    });
    printed().flush();
    left_ = std::chrono::steady_clock::now();
    away_ = true;
    settings_.link->give_way(triggered, can_go_on);
}

void Engine::come_back() {
    away_ = false;
    const auto away = std::chrono::steady_clock::now() - left_;  // the time of others
    started_ += away;
    if (settings_.seconds > 0) deadline_ += away;
    held_ = 0;
    each_path([&](Cta&, Path& p) {
        if (p.state == PathState::at_grid_wait && settings_.link->waits())
            ++held_;
        else if (p.state == PathState::at_trigger || p.state == PathState::at_grid_wait)
            p.state = PathState::runnable;
    });
}

}  // namespace sassemu
