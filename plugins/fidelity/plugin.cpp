// SPDX-License-Identifier: Apache-2.0
// See fidelity.hpp: where marks are born, and where they matter.
#include <algorithm>

#include "fidelity.hpp"

namespace fidelity {

uint32_t Fidelity::select(sassemu_insn i) {
    std::string_view text = host.insn_text(i);
    if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    const std::string_view name = text.substr(0, text.find(' '));
    auto known = behaviour_of_.find(name);
    if (known == behaviour_of_.end()) {
        const sassemu_evidence e = evidence(i);
        known = behaviour_of_.emplace(name, static_cast<uint32_t>(behaviours_.size())).first;
        Behaviour b;
        b.name = name;
        b.kind = e.kind;
        b.about = e.behaviour ? e.behaviour : "";
        b.source = e.kind == SASSEMU_EVIDENCE_NONE ? "it is not in the table" : e.source;
        behaviours_.push_back(std::move(b));
    }
    const uint32_t number = known->second;
    Behaviour& b = behaviours_[number];
    b.places.push_back(i);
    follow::Instruction& at = codes_[host.insn_module(i)].add(*this, i, doubt_);
    const uint8_t kind = at.effect.kind, action = at.effect.action;
    b.decides = kind == SASSEMU_EFFECT_BARRIER || kind == SASSEMU_EFFECT_MBARRIER ||
                kind == SASSEMU_EFFECT_CONVERGENCE ||
                (kind == SASSEMU_EFFECT_CONTROL && action >= SASSEMU_ACTION_BRANCH &&
                 action <= SASSEMU_ACTION_EXIT);
    if (b.assumed()) at.makes = set_of({number});
    const uint64_t index = host.insn_code_offset(i) / 16;
    std::vector<uint32_t>& code = code_[host.insn_module(i)];
    if (code.size() <= index) code.resize(index + 1);
    code[index] = number;
    return SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES | SASSEMU_RECORD_SKIPPED;
}

void Fidelity::counts(sassemu_launch, const sassemu_counts& c) {
    const std::vector<uint32_t>& code = code_[c.module];
    for (uint64_t k = 0; k < c.count && c.insn + k < code.size(); ++k) {
        const sassemu_count& n = c.at[k];
        if (!n.issued) continue;
        Behaviour& b = behaviours_[code[c.insn + k]];
        b.executed += n.issued - n.skipped;
        b.threads += n.lanes;
    }
}

Origin Fidelity::set_of(std::vector<uint32_t> behaviours) {
    const auto [at, fresh] =
        set_numbers_.try_emplace(behaviours, static_cast<Origin>(sets_.size()));
    if (fresh) sets_.push_back(std::move(behaviours));
    return at->second;
}

Origin Fidelity::both(Origin a, Origin b) {
    if (a > b) std::swap(a, b);
    const auto [at, fresh] = joined_.try_emplace(uint64_t{a} << 32 | b);
    if (!fresh) return at->second;
    std::vector<uint32_t> all;
    if (sets_.size() < most_sets)
        std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                       std::back_inserter(all));
    else
        for (uint32_t k = 0; k < behaviours_.size(); ++k)
            if (behaviours_[k].assumed()) all.push_back(k);
    return at->second = set_of(std::move(all));
}

// What a tensor core reads of shared memory goes into everything that it makes.
void Fidelity::async(const sassemu_async& a) {
    if (a.step == SASSEMU_ASYNC_READ && a.warp && a.insn && a.at.space == SASSEMU_SHARED) {
        const sassemu_warp_info w = info(a.warp);
        Cta* const c = enter(w.cta);
        Cta* const owner = c ? by_linear(a.at.owner) : nullptr;
        const follow::Instruction& i = instruction(a.insn);
        const bool multiplies =
            i.effect.kind == SASSEMU_EFFECT_ASYNC && i.effect.action == SASSEMU_ACTION_MULTIPLY;
        if (owner && (multiplies || i.writes_tensor)) {
            Origin all = follow::unnamed;
            uint64_t at = a.at.address;
            for (uint64_t n; (n = owner->shared.next(at, a.at.address + a.bytes)); at += n)
                all = join(all, owner->shared.origin(at));
            if (all && i.writes_tensor) {
                c->tensor = join(c->tensor, all);
            } else if (all) {
                const size_t first = w.index / 4 * 4;  // of the warpgroup
                for (size_t k = first; k < std::min(first + 4, c->warps.size()); ++k) {
                    follow::Registers& r = c->warps[k].registers;
                    for (const uint16_t row : i.results) {
                        Origin old = all;
                        follow::each_lane(r.lanes(row), [&](uint32_t lane) {
                            old = join(old, r.origin(row, lane));
                        });
                        r.mark_all(row, ~0u, old);
                    }
                }
            }
        }
    }
    Follower::async(a);
}

void Fidelity::output(const follow::Extent& e, uint64_t at, uint64_t end, bool is_read) {
    for (uint64_t n; (n = e.shadow.next(at, end)); at += n) {
        const auto [found, fresh] = outputs_.try_emplace({e.name, e.shadow.origin(at)});
        Output& o = found->second;
        if (fresh || (is_read && !o.is_read)) o = {at, at, 0, is_read};
        if (is_read != o.is_read || at + n <= o.counted) continue;
        o.bytes += at + n - std::max(at, o.counted);
        o.counted = at + n;
    }
}

void Fidelity::host_access(uint64_t address, uint64_t bytes, uint32_t is_write) {
    follow::Extent* const e = extent(address);
    if (!e || !bytes) return;
    const uint64_t base = last_extent_.first, at = address - base;
    const uint64_t end = std::min(at + bytes, e->end - base);
    if (in_stream_) {
        const Place p{&e->shadow, at};
        if (is_write)
            give(streamed_, p, end - at, nullptr);
        else
            take(streamed_ = follow::Flow{}, p, address, end - at, "", nullptr);
    } else if (is_write) {
        e->shadow.clear(at, end - at);
    } else {
        output(*e, at, end, true);
    }
}

void Fidelity::release(const sassemu_allocation& a) {
    const auto at = extents_.find(a.address);
    if (at != extents_.end() && at->second.name != "device heap")
        output(at->second, 0, at->second.shadow.bytes(), false);
    Follower::release(a);
}

void Fidelity::finish() {
    for (const auto& [base, e] : extents_)
        if (e.name != "device heap") output(e, 0, e.shadow.bytes(), false);
    tell();
}

}  // namespace fidelity

SASSEMU_PLUGIN(fidelity::Fidelity)
