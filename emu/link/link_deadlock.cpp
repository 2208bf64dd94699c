// SPDX-License-Identifier: Apache-2.0
// Deadlocks across ranks. The lowest rank that is there asks all others; each answers when it has
// looked, after the question came, at all that it waits for. If nothing can go on anywhere in two
// rounds, and nobody has done anything between his two answers, then nobody did when the second
// question was asked.
#include <algorithm>

#include "emu/link/link_impl.hpp"

namespace sassemu::link {

// Something of this process is on its way to another, or asked of it.
bool LinkImpl::unanswered() {
    for (auto& peer : peers_) {
        if (!peer) continue;
        const Lock lock(peer->mutex);
        if (peer->session.kept_data()) return true;
    }
    return false;
}

// What this process answers to the question that came as `round`; nothing: it has to look first.
std::optional<message::Progress> LinkImpl::own_progress(uint64_t round) {
    Progress now;
    {
        const std::lock_guard guard(callbacks_);
        if (!progress_) return std::nullopt;
        now = progress_();
    }
    message::Progress answer;
    answer.set_round(round);
    answer.set_epoch(now.epoch);
    if (!now.parked || unanswered()) return answer;
    if (when_asked_.epoch != now.epoch || !when_asked_.parked) {
        when_asked_ = now;
        return std::nullopt;
    }
    // A look that had begun when the question came does not count.
    if (now.looks < when_asked_.looks + 2) return std::nullopt;
    answer.set_parked(true);
    return answer;
}

// Who asks: the lowest rank that is there.
uint32_t LinkImpl::coordinator() {
    for (uint32_t rank = 0; rank < me_.rank; ++rank) {
        const Lock lock(peers_[rank]->mutex);
        if (peers_[rank]->session.failure().empty() && !peers_[rank]->left) return rank;
    }
    return me_.rank;
}

void LinkImpl::look_for_deadlock() {
    if (found_stuck_) return;
    if (const uint32_t asks = coordinator(); asks != me_.rank) {
        if (!asked_) return;
        const auto answer = own_progress(asked_);
        if (!answer) return;
        message::Control message;
        *message.mutable_progress() = *answer;
        asked_ = 0;
        when_asked_ = {};
        const Lock lock(peers_[asks]->mutex);
        if (!peers_[asks]->session.failure().empty()) return;
        peers_[asks]->session.control(message);
        return flush(*peers_[asks]);
    }
    std::vector<message::Progress> all;
    if (round_) {
        const auto mine = own_progress(round_);
        if (!mine) return;
        all.push_back(*mine);
        for (auto& peer : peers_) {
            if (!peer) continue;
            const Lock lock(peer->mutex);
            message::Progress said = peer->said;
            if (peer->left || !peer->session.failure().empty()) {
                said.Clear();
                said.set_round(round_);
                said.set_parked(true);  // it does nothing any more
            }
            if (said.round() != round_) return;
            all.push_back(said);
        }
        bool stuck = before_.size() == all.size();
        for (size_t i = 0; i < all.size(); ++i)
            stuck = stuck && all[i].parked() && before_[i].parked() &&
                    all[i].epoch() == before_[i].epoch();
        if (stuck) {
            message::Control message;
            message.mutable_deadlock();
            tell_all(message);
            return declare_deadlock();
        }
        if (std::ranges::any_of(all, [](const auto& one) { return !one.parked(); })) all.clear();
    } else {
        const std::lock_guard guard(callbacks_);
        if (!progress_ || !progress_().parked) return;
    }
    before_ = std::move(all);
    when_asked_ = {};
    message::Control message;
    message.mutable_progress()->set_ask(true);
    message.mutable_progress()->set_round(++round_);
    tell_all(message);
}

void LinkImpl::declare_deadlock() {
    if (std::exchange(found_stuck_, true)) return;
    const std::lock_guard guard(callbacks_);
    if (stuck_) stuck_();
}

}  // namespace sassemu::link
