// SPDX-License-Identifier: Apache-2.0
// wgmma as work of an agent. The four warps of a warpgroup issue it one after the other; the last
// one gives it to the tensor core, and nothing of it is read or written before. Whoever waits for
// it without all having issued it waits for the others (machine/warpgroups.hpp).
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "emu/async/agents.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

// What warps of one warpgroup have to agree on.
bool same(const WarpgroupMultiply& x, const WarpgroupMultiply& y) {
    return x.accumulate == y.accumulate && x.b == y.b && (x.form.in_registers || x.a == y.a);
}

// visit(const sassemu_location&, const Touched&) for what it reads.
template <class Visit>
void each_read(const Cta& cta, const WarpgroupMultiply& m, Visit&& visit) {
    struct Reader {
        const Cta& cta;
        Visit& visit;
    } reader{cta, visit};
    touched(
        m,
        [](void* self, const Touched& t) {
            const Reader& r = *static_cast<Reader*>(self);
            r.visit(
                events::shared_location(r.cta, r.cta.rank << 24 | static_cast<uint32_t>(t.address)),
                t);
        },
        &reader);
}

Warpgroup& group_of(Cta& cta, uint32_t group) { return (*cta.warpgroups)[group]; }

// Why the warp's warpgroup can execute no wgmma; empty: it can.
std::string incomplete(const Warp& w) {
    const uint32_t first = w.index / 4u * 4;
    for (uint32_t i = first; i < first + 4; ++i)
        if (i >= w.cta->warp_count || w.cta->warps[i].live != ~0u)
            return "wgmma by an incomplete warpgroup: of warps " + std::to_string(first) + " to " +
                   std::to_string(first + 3) + ", warp " + std::to_string(i) +
                   (i >= w.cta->warp_count ? " does not exist"
                                           : " has lanes that do not exist or have exited");
    return {};
}

}  // namespace

const Op* Agents::multiply(Warp& w, const Op* op, const WarpgroupMultiply& m) {
    Cta& cta = *w.cta;
    const auto fault = [&](FaultKind kind, std::string what) {
        return launch_host(w).fault(w, op, ~0u, kind, std::move(what), false, 0);
    };
    if (std::string why = incomplete(w); !why.empty()) return fault(FaultKind::other, why);
    if (!cta.warpgroups) cta.warpgroups = std::make_unique<Warpgroups>();
    const uint32_t index = w.index / 4u, me = w.index % 4u;
    Warpgroup& g = group_of(cta, index);
    const auto at = static_cast<size_t>(g.issued[me] - g.done);
    if (at == g.queue.size()) {
        if (const char* why = check(m, cta.shared_bytes))
            return fault(FaultKind::out_of_bounds, why);
        g.queue.push_back({op, m, 0, {}});
    }
    Warpgroup::Issue& issue = g.queue[at];
    if (issue.op != op)
        return fault(
            FaultKind::other,
            "the warps of a warpgroup execute different wgmma: warp " +
                std::to_string(4 * index + static_cast<uint32_t>(std::countr_zero(issue.warps))) +
                " has executed another one in this place");
    if (!same(issue.m, m))
        return fault(
            FaultKind::other,
            "the warps of a warpgroup give a wgmma different matrix descriptors or scale-d");
    if (m.form.sparse && !m.form.empty)
        std::memcpy(issue.metadata[me].data(), w.rows + m.metadata, sizeof issue.metadata[me]);
    issue.warps |= 1u << me;
    ++g.issued[me];
    g.signals[me] += m.form.signals;
    ++w.effects;
    return issue.warps == 15 ? this->issue(w, op, ~0u, WarpgroupWork{index}) : op + 1;
}

bool Agents::reach(Warp& w, uint32_t left) {
    if (!w.cta->warpgroups) return true;
    const uint32_t index = w.index / 4u;
    const Warpgroup& g = group_of(*w.cta, index);
    while (g.pending(w.index % 4u) > left && g.ready()) {
        size_t i = 0;
        const auto its = [&](const Job& j) {
            const auto* work = std::get_if<WarpgroupWork>(&j.work);
            return work && work->group == index && j.warp->cta == w.cta;
        };
        while (!its(jobs_[i])) ++i;
        if (!perform(i)) return false;
    }
    return turn();
}

uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const WarpgroupWork& work) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1);
    for (uint32_t i = 0; i < 4; ++i)
        if (Warp& other = w.cta->warps[4 * work.group + i]; &other != &w) issue.also_by(other);
    // The last of the queue: it has just become complete.
    const Warpgroup& g = group_of(*w.cta, work.group);
    each_read(*w.cta, g.queue[static_cast<size_t>(g.issued[w.index % 4u] - g.done) - 1].m,
              [&](const sassemu_location& at, const Touched& t) { issue.will_read(at, t.bytes); });
    return issue.id();
}

const Op* warpgroup_work(Warp& w, const Op* op, uint32_t lanes, const WarpgroupWork& work,
                         uint64_t id, lanes::WarpgroupProduct& room, lanes::WarpgroupSums sums) {
    Cta& cta = *w.cta;
    Warpgroup& g = group_of(cta, work.group);
    const WarpgroupMultiply m = g.queue.front().m;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    const std::byte* operands = cta.shared;
    std::vector<std::byte> shown;  // to its proxy
    if (agent.may_see_other()) shown.assign(operands, operands + cta.shared_bytes);
    if (agent)
        each_read(cta, m, [&](const sassemu_location& at, const Touched& t) {
            const std::byte* bytes = agent.read(at, cta.shared + t.address, t.bytes);
            if (!shown.empty()) std::copy_n(bytes, t.bytes, shown.data() + t.address);
        });
    if (!shown.empty()) operands = shown.data();
    Warp* const warps = cta.warps + 4 * work.group;
    std::byte* rows[4];
    for (uint32_t i = 0; i < 4; ++i) rows[i] = warps[i].rows;
    multiply(m, operands, rows, g.queue.front().metadata, room, sums);
    g.queue.erase(g.queue.begin());
    ++g.done;
    g.signals_done += m.form.signals;
    for (uint32_t i = 0; i < 4; ++i) {
        ++warps[i].effects;
        for (uint32_t k = 0; k < warps[i].paths_used; ++k) {
            Path& p = warps[i].paths[k];
            if (p.state == PathState::at_warpgroup && g.pending(i) <= p.want)
                p.state = PathState::runnable;
        }
    }
    return op + 1;
}

// The warps of `of` (bit per warp of the warpgroup): "2, 3".
static std::string names(uint32_t warp, uint32_t of) {
    std::string who;
    for (; of; of &= of - 1)
        who += (who.empty() ? "" : ", ") +
               std::to_string(warp / 4 * 4 + static_cast<uint32_t>(std::countr_zero(of)));
    return who;
}

std::string describe_warpgroup(const Cta& cta, uint32_t warp) {
    const Warpgroup& g = (*cta.warpgroups)[warp / 4];
    return "a wgmma that warp " + names(warp, g.queue.empty() ? 0 : ~g.queue.front().warps & 15) +
           " of its warpgroup has not issued";
}

uint32_t missing(const Warp& w) {
    const auto& groups = w.cta->warpgroups;
    if (!groups) return 0;
    const uint32_t first = w.index / 4u * 4;
    uint32_t behind = (*groups)[first / 4].behind(w.index % 4u);
    for (uint32_t i = 0; i < 4; ++i)
        if (first + i >= w.cta->warp_count || !w.cta->warps[first + i].live) behind &= ~(1u << i);
    return behind;
}
std::string describe_missing(const Warp& w) { return names(w.index, missing(w)); }

}  // namespace sassemu::async
