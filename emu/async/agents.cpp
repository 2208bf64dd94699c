// SPDX-License-Identifier: Apache-2.0
// The queue of the agents: what must follow what, and when something is performed.
#include "emu/async/agents.hpp"

#include <bit>
#include <utility>

#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

bool to_global(const Agents::Work& work) {
    if (const auto* bulk = std::get_if<BulkCopy>(&work)) return bulk->to_global;
    if (const auto* tensor = std::get_if<TensorCopy>(&work)) return tensor->store;
    return false;
}

bool arrive(Warp& w, const Op* op, uint32_t lanes, const Arrival& a, uint64_t id) {
    const events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_LDGSTS, id);
    return services(w).mbarrier(w, op, static_cast<uint32_t>(std::countr_zero(lanes)), a.mbarrier,
                                a.change);
}

}  // namespace

const Op* Agents::perform_now(Warp& w, const Op* op, uint32_t lanes, const Work& work,
                              const Issued& issued) {
    if (const auto* c = std::get_if<LaneCopy>(&work)) {
        if (!issued.id) return lane_copy(w, op, lanes, *c);
        const events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_LDGSTS, issued.id);
        if (!lane_copy(w, op, lanes, *c)) return nullptr;
        w.cta->launch->hooks->copied(w, op, lanes, *c, issued);
        return op + 1;
    }
    if (const auto* c = std::get_if<LaneStore>(&work))
        return lane_store(w, op, lanes, *c, issued.id);
    if (const auto* c = std::get_if<BulkCopy>(&work)) return bulk_copy(w, op, lanes, *c, issued.id);
    if (const auto* c = std::get_if<TensorCopy>(&work))
        return tensor_copy(w, op, lanes, *c, issued.id);
    if (const auto* r = std::get_if<WorkRequest>(&work))
        return take_work(w, op, lanes, *r, issued.id, takes_any());
    if (const auto* t = std::get_if<TensorWork>(&work))
        return tensor_work(w, op, lanes, *t, issued.id, matrix_sums_);
    if (const auto* t = std::get_if<TensorCommit>(&work))
        return commit_tensor(w, op, lanes, *t, issued.id);
    if (const auto* t = std::get_if<WarpgroupWork>(&work)) {
        if (!room_) room_ = std::make_unique<lanes::WarpgroupProduct>();
        return warpgroup_work(w, op, lanes, *t, issued.id, *room_, warpgroup_sums_);
    }
    if (const auto* a = std::get_if<Arrival>(&work))
        return arrive(w, op, lanes, *a, issued.id) ? op + 1 : nullptr;
    return op + 1;  // the end of a group, which only counts
}

Issued Agents::announce(Warp& w, const Op* op, uint32_t lanes, const Work& work) {
    if (Issued& told = w.cta->cluster->told; told.id) return std::exchange(told, {});
    Issued issued;
    if (const auto* c = std::get_if<LaneStore>(&work))
        issued.id = async::announce(w, op, lanes, *c);
    if (const auto* c = std::get_if<BulkCopy>(&work)) issued.id = async::announce(w, op, lanes, *c);
    if (const auto* c = std::get_if<TensorCopy>(&work))
        issued.id = async::announce(w, op, lanes, *c);
    if (const auto* r = std::get_if<WorkRequest>(&work))
        issued.id = async::announce(w, op, lanes, *r);
    if (const auto* t = std::get_if<TensorWork>(&work))
        issued.id = async::announce(w, op, lanes, *t);
    if (const auto* t = std::get_if<TensorCommit>(&work))
        issued.id = async::announce(w, op, lanes, *t);
    if (const auto* t = std::get_if<WarpgroupWork>(&work))
        issued.id = async::announce(w, op, lanes, *t);
    if (std::holds_alternative<LaneCopy>(work))
        issued.id =
            events::AsyncIssue(w, op, lanes, SASSEMU_AGENT_LDGSTS, SASSEMU_GROUP_LDGSTS).id();
    if (const auto* a = std::get_if<Arrival>(&work))
        issued.id = events::AsyncIssue(w, op, lanes, SASSEMU_AGENT_LDGSTS, -1, a->mbarrier).id();
    return issued;
}

namespace {

// cta_group::2 shares the tensor cores of two CTAs.
bool same_core(const Warp& later, const Warp& earlier, bool pair) {
    const Cta &a = *later.cta, &b = *earlier.cta;
    return &a == &b || (pair && a.cluster == b.cluster && (a.rank ^ b.rank) == 1);
}

}  // namespace

// Copies and stores follow nothing. An arrival follows the lane copies of its lanes; the end of a
// group follows the group, and the group before. The tensor core does what its CTA gives it in
// order, and a commit follows what its warp gave. So it does for each warpgroup.
bool Agents::follows(const Job& later, const Job& earlier) const {
    if (const auto* group = std::get_if<WarpgroupWork>(&later.work)) {
        const auto* before = std::get_if<WarpgroupWork>(&earlier.work);
        return before && before->group == group->group && later.warp->cta == earlier.warp->cta;
    }
    if (const auto* work = std::get_if<TensorWork>(&later.work)) {
        const auto* before = std::get_if<TensorWork>(&earlier.work);
        return before && same_core(*later.warp, *earlier.warp, work->pair() || before->pair());
    }
    if (later.warp != earlier.warp) return false;
    if (std::holds_alternative<TensorCommit>(later.work))
        return std::holds_alternative<TensorWork>(earlier.work);
    const bool lane_copies = std::holds_alternative<LaneCopy>(earlier.work);
    if (std::holds_alternative<Arrival>(later.work))
        return lane_copies && (later.lanes & earlier.lanes);
    const auto* group = std::get_if<CopyGroup>(&later.work);
    if (!group) return false;
    if (const auto* before = std::get_if<CopyGroup>(&earlier.work))
        return before->scoreboard == group->scoreboard;
    return group->bulk ? to_global(earlier.work) : lane_copies;
}

bool Agents::ready(size_t index) const {
    for (size_t i = 0; i < index; ++i)
        if (follows(jobs_[index], jobs_[i])) return false;
    return true;
}

bool Agents::perform(size_t index) {
    const Job job = std::move(jobs_[index]);
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
    return perform_now(*job.warp, job.op, job.lanes, job.work, job.issued) != nullptr;
}

// In the order of issue, which every rule above allows.
template <class Which>
bool Agents::perform_all(size_t& end, Which&& which) {
    for (size_t i = 0; i < end;) {
        if (!which(jobs_[i])) {
            ++i;
            continue;
        }
        if (!perform(i)) return false;
        --end;
    }
    return true;
}

const Op* Agents::issue(Warp& w, const Op* op, uint32_t lanes, const Work& work) {
    const Issued issued = w.instructions ? announce(w, op, lanes, work) : Issued{};
    if (eager()) return perform_now(w, op, lanes, work, issued);
    jobs_.push_back({&w, op, lanes, work, issued});
    return turn() ? op + 1 : nullptr;
}

const Op* Agents::wait(Warp& w, const Op* op, uint32_t scoreboard, uint32_t left) {
    if (idle()) return op + 1;
    const auto on_scoreboard = [&](const Job& j) {
        const auto* group = std::get_if<CopyGroup>(&j.work);
        return group && j.warp == &w && group->scoreboard == scoreboard;
    };
    size_t pending = 0;
    for (const Job& j : jobs_) pending += on_scoreboard(j);
    for (; pending > left; --pending) {
        size_t end = 0;
        while (!on_scoreboard(jobs_[end])) ++end;
        if (!perform_all(end, [&](const Job& j) { return follows(jobs_[end], j); })) return nullptr;
        perform(end);
    }
    return turn() ? op + 1 : nullptr;
}

// Of a grid's clusters those that the device begins at once have begun (eager), or none has that
// need not have (lazy).
bool Agents::takes_any() {
    return order_ == AgentOrder::lazy ||
           (order_ == AgentOrder::random && chooser_->pick(ChoicePoint::agent, 2));
}

bool Agents::turn() {
    if (order_ != AgentOrder::random || idle()) return true;
    // One of the copies, or none.
    const uint32_t choice =
        chooser_->pick(ChoicePoint::agent, static_cast<uint32_t>(jobs_.size()) + 1);
    if (choice == 0 || !ready(choice - 1)) return true;
    return perform(choice - 1);
}

bool Agents::act() {
    if (idle()) return false;
    perform(0);
    return true;
}

void Agents::finish(const Cta& cta) {
    size_t end = jobs_.size();
    perform_all(end, [&](const Job& j) { return j.warp->cta == &cta; });
}

}  // namespace sassemu::async
