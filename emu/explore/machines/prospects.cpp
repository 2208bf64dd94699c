// SPDX-License-Identifier: Apache-2.0
// See prospects.hpp.
#include "emu/explore/machines/prospects.hpp"

#include <algorithm>

namespace sassemu::explore {
namespace {

constexpr uint64_t granule_bytes = 16;
constexpr uint64_t tensor_bit = uint64_t{1} << 59;

uint64_t mixed(uint64_t a, uint64_t b) {
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
    return (a ^ a >> 27) * 0x94d049bb133111ebu;
}

// A fence that takes to all of its GPU what its thread has stored to global memory.
bool drains(const MemoryOperation& o) {
    if (!o.is(SASSEMU_OPERATION_FENCE)) return false;
    if (o.what.proxy != o.what.to_proxy)
        return !o.what.spaces || o.what.spaces & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
    return o.what.scope == SASSEMU_LEVEL_CLUSTER || o.what.scope == SASSEMU_LEVEL_GPU ||
           o.what.scope == SASSEMU_LEVEL_SYS;
}

}  // namespace

Prospects::Prospects(const Test& test) : test_(test) {}

// Of tensor memory a granule is what a warp reaches of eight columns.
template <class Act>
void Prospects::each_cell(const std::vector<Footprint::Range>& ranges, Act&& act) {
    for (const Footprint::Range& r : ranges) {
        if (!r.address || !r.bytes) continue;
        if ((r.address & SASSEMU_MACHINE_SHARED) && (r.address & tensor_bit)) {
            constexpr uint64_t column = 512, warp = 128;
            const uint64_t base = r.address & ~uint64_t{0xffffff};
            for (uint64_t at = r.address & 0xffffff, end = at + r.bytes; at < end;
                 at = at / warp * warp + warp)
                act(Cell{(base | at / (8 * column) << 2 | at % column / warp), 0xffff, r.writes});
            continue;
        }
        for (uint64_t at = r.address, end = at + r.bytes; at < end;) {
            const uint64_t stop = std::min(end, at / granule_bytes * granule_bytes + granule_bytes);
            const auto bytes =
                static_cast<uint16_t>(((1u << (stop - at)) - 1) << at % granule_bytes);
            act(Cell{at / granule_bytes, bytes, r.writes});
            at = stop;
        }
    }
}

bool Prospects::add(std::vector<uint64_t>& to, uint64_t value) {
    if (std::ranges::find(to, value) != to.end()) return false;
    to.push_back(value);
    return true;
}

void Prospects::learn(uint32_t thread, uint32_t pc, std::optional<uint32_t> next,
                      const Footprint& foot, const std::vector<MemoryOperation>& does) {
    uint64_t step = mixed(uint64_t{thread} << 32 | pc, next ? uint64_t{*next} + 1 : 0);
    const auto hash = [&](const std::vector<Footprint::Range>& all) {
        for (const Footprint::Range& r : all)
            step = mixed(mixed(step, r.address), r.bytes << 1 | r.writes);
    };
    std::vector<Footprint::Range> touched = foot.starts;
    for (const MemoryOperation& o : does)
        if (o.what.bytes)
            touched.push_back({o.what.address, o.what.bytes, !o.is(SASSEMU_OPERATION_LOAD)});
    hash(foot.ranges);
    hash(touched);
    const bool opens = foot.barrier || foot.starts_unknown || !foot.starts.empty();
    const uint8_t past =
        static_cast<uint8_t>((opens ? opened : 0) | (std::ranges::any_of(does, drains) ? drained
                                                     : next                            ? not_drained
                                                                                       : 0));
    step = mixed(step, foot.barrier << 2 | foot.starts_unknown << 1 | foot.arrives);
    step = mixed(step, past);
    if (known_.contains(step) || !news_.names.insert(step).second) return;
    Step& out = news_.steps.emplace_back();
    out = {step, thread, pc, next, {}, foot.barrier, foot.arrives, foot.starts_unknown, past};
    const auto remember = [&](const Cell& c) { out.cells.push_back(c); };
    each_cell(foot.ranges, remember);
    each_cell(touched, remember);
}

void Prospects::adopt(const Step& step) {
    if (!known_.insert(step.name).second) return;
    const uint32_t thread = step.thread, pc = step.pc;
    bool grew = false;
    const auto remember = [&](const Cell& c) {
        std::vector<Fact>& all = facts_[c.granule];
        for (Fact& f : all)
            if (f.thread == thread && f.pc == pc && f.writes == c.writes) {
                grew |= (f.bytes | c.bytes) != f.bytes;
                f.bytes |= c.bytes;
                return;
            }
        all.push_back({thread, pc, c.bytes, c.writes});
        grew = true;
    };
    std::ranges::for_each(step.cells, remember);
    if (step.starts_unknown) unknown_.push_back({thread, pc, 0, true}), grew = true;
    Code& code = codes_[launch(thread)];
    if (step.next) {
        std::vector<uint32_t>& to = code.next[pc];
        if (std::ranges::find(to, *step.next) == to.end()) to.push_back(*step.next), grew = true;
    }
    uint8_t& known = code.past[pc];
    grew |= step.past & ~known;
    known |= step.past;
    if (step.barrier) {
        grew |= add(code.barriers[pc], step.barrier);
        if (step.arrives) grew |= arrived_.insert(step.barrier).second;
    }
    if (!grew) return;
    grew_ = true;
    grown_at_ = states_;
    for (auto& reached : code.reached) reached.clear();
}

Prospects::Apart Prospects::apart(uint32_t a, uint32_t b) const {
    if (test_.threads[a].cta != test_.threads[b].cta || launch(a) != launch(b)) return elsewhere;
    return test_.sass->thread(a).thread / 32 == test_.sass->thread(b).thread / 32 ? same_warp
                                                                                  : same_cta;
}

// Whether nobody of the warp, or of the CTA, goes on from the barrier before all have arrived.
bool Prospects::needs_all(uint32_t launch, uint64_t barrier, Apart apart) const {
    if (apart == elsewhere || arrived_.contains(barrier)) return false;
    const uint64_t threads = test_.sass->launch(launch).launch.block.count();
    if (barrier >> 63) {
        const uint64_t first = (barrier >> 32 & 0x1f) * 32;
        const uint32_t exist =
            low_lanes(static_cast<uint32_t>(std::min(uint64_t{32}, threads - first)));
        return apart == same_warp && !(exist & ~static_cast<uint32_t>(barrier));
    }
    const uint64_t wanted = (barrier - 1) >> 8;
    return !wanted || wanted == threads;
}

// A thread that has not started does so behind the end of the other.
bool Prospects::starts_behind(const MachineState& s, uint32_t thread, uint32_t by) const {
    for (uint32_t c = 0; c < test_.threads.size(); ++c) {
        if (test_.threads[c].sass) continue;
        bool joined = false;
        const auto& code = test_.threads[c].code;
        for (size_t pc = s.threads[c].pc; pc < code.size(); ++pc) {
            const auto* join = std::get_if<op::Join>(&code[pc].what);
            joined |= join && join->thread == by && !join->early;
            const auto* launched = std::get_if<op::Launch>(&code[pc].what);
            if (launched && launched->thread == thread) return joined;
        }
    }
    return false;
}

// From where the thread is now, without a step of `by`.
bool Prospects::may_reach(const MachineState& s, uint32_t thread, uint32_t pc, uint32_t by) const {
    const SassState::OfThread& self = s.sass.threads[thread];
    if (self.ended) return false;
    const Apart how = by == nobody ? elsewhere : apart(thread, by);
    if (self.barrier && needs_all(launch(thread), self.barrier, how)) return false;
    if (!self.started && by != nobody && starts_behind(s, thread, by)) return false;
    const auto found = codes_.find(launch(thread));
    if (found == codes_.end()) return false;
    const Code& code = found->second;
    const uint32_t from = s.threads[thread].pc;
    const auto [at, fresh] = code.reached[how].try_emplace(from);
    std::unordered_set<uint32_t>& reached = at->second;
    if (fresh) {
        std::vector<uint32_t> open{from};
        reached.insert(from);
        while (!open.empty()) {
            const uint32_t here = open.back();
            open.pop_back();
            if (const auto met = code.barriers.find(here);
                met != code.barriers.end() &&
                std::ranges::all_of(met->second, [&](uint64_t barrier) {
                    return needs_all(launch(thread), barrier, how);
                }))
                continue;
            const auto next = code.next.find(here);
            if (next == code.next.end()) continue;
            for (const uint32_t to : next->second)
                if (reached.insert(to).second) open.push_back(to);
        }
    }
    return reached.contains(pc);
}

bool Prospects::meet(const MachineState& s, uint32_t by,
                     const std::vector<Footprint::Range>& foot) const {
    for (const Fact& f : unknown_)
        if (f.thread != by && may_reach(s, f.thread, f.pc, by)) return true;
    bool found = false;
    each_cell(foot, [&](const Cell& c) {
        if (found) return;
        const auto at = facts_.find(c.granule);
        if (at == facts_.end()) return;
        found = std::ranges::any_of(at->second, [&](const Fact& f) {
            return f.thread != by && (f.writes || c.writes) && f.bytes & c.bytes &&
                   may_reach(s, f.thread, f.pc, by);
        });
    });
    return found;
}

bool Prospects::drains_first(uint32_t thread, uint32_t pc) const {
    const auto found = codes_.find(launch(thread));
    if (found == codes_.end()) return true;
    const Code& code = found->second;
    std::unordered_set<uint32_t> seen{pc};
    std::vector<uint32_t> open{pc};
    while (!open.empty()) {
        const uint32_t here = open.back();
        open.pop_back();
        const auto past = code.past.find(here);
        if (here == SassFetch::ended_pc || (past != code.past.end() && past->second & opened))
            return false;
        if (past != code.past.end() && past->second == drained) continue;
        const auto next = code.next.find(here);
        if (next == code.next.end()) continue;
        for (const uint32_t to : next->second)
            if (seen.insert(to).second) open.push_back(to);
    }
    return true;
}

void Prospects::choose(uint32_t by, const std::vector<Footprint::Range>& foot) {
    each_cell(foot, [&](const Cell& c) {
        const auto at = chosen_.find(c.granule);
        const auto said = [&](const Fact& f) {
            return f.thread == by && f.writes == c.writes && !(c.bytes & ~f.bytes);
        };
        if (at == chosen_.end() || std::ranges::none_of(at->second, said))
            news_.choices.emplace_back(c, by);
    });
}

void Prospects::adopt_choice(const Cell& c, uint32_t by) {
    std::vector<Fact>& all = chosen_[c.granule];
    const auto same = std::ranges::find_if(
        all, [&](const Fact& f) { return f.thread == by && f.writes == c.writes; });
    if (same == all.end())
        all.push_back({by, 0, c.bytes, c.writes});
    else
        same->bytes |= c.bytes;
}

void Prospects::adopt_news(const Prospects& of) {
    for (const Step& step : of.news_.steps) adopt(step);
    for (const auto& [cell, by] : of.news_.choices) adopt_choice(cell, by);
}

bool Prospects::suspect() const {
    if (!unknown_.empty()) return !chosen_.empty();
    for (const auto& [granule, all] : chosen_) {
        const auto at = facts_.find(granule);
        if (at == facts_.end()) continue;
        for (const Fact& a : all)
            for (const Fact& b : at->second)
                if (a.thread != b.thread && (a.writes || b.writes) && a.bytes & b.bytes)
                    return true;
    }
    return false;
}

bool Prospects::stale(size_t states) {
    constexpr size_t few = 1000;
    states_ = states;
    if (!grew_ || states <= 2 * grown_at_ + few || states < looked_at_ + few) return false;
    looked_at_ = states;
    return suspect();
}

bool Prospects::begin_again() {
    const bool again = grew_ && suspect();
    grew_ = false;
    chosen_.clear();
    grown_at_ = states_ = looked_at_ = 0;
    return again;
}

}  // namespace sassemu::explore
