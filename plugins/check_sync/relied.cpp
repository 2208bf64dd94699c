// SPDX-License-Identifier: Apache-2.0
// Accesses that nothing orders, or a link too few, and that are wrong by the letter only: what
// shipping code relies on besides. What belongs here: when that is so. The judgement before it is
// in judge.cpp, lanes that run together are there too.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

constexpr const char* one_value = "every one of the racing writes stores the same value";

bool is_of(const Stamp& s, const Stamp& of) {
    return s.who == of.who && s.epoch == of.epoch && s.insn == of.insn && s.lanes & of.lanes;
}

}  // namespace

Checker::Wrong Checker::out_of_order(const Stamp& earlier, bool earlier_writes, const Touch& t) {
    const FindingKind kind = why(earlier, earlier_writes, t);
    if (kind == FindingKind::data_race && writes_alike(earlier, earlier_writes, t))
        return {kind, false, one_value};
    if (waited_for(kind, earlier, t))
        return {kind, false,
                "a volatile read, or a write, comes behind a signal that was waited for, also "
                "without a fence"};
    return {kind, true};
}

// Writes by one instruction (in several threads) that race with each other and store the same
// value: what the bytes hold does not depend on which is the last. So neither does what a thread
// reads that comes behind any of them. If a single one of the instruction's races is between
// different values, fold_letter takes all of it back.
bool Checker::writes_alike(const Stamp& earlier, bool earlier_writes, const Touch& t) {
    const auto plain = [](const Stamp& s) {
        return s.insn && s.who < first_mbarrier && !is_copying(s.who) &&
               !(s.flags & (stamp_atomic | stamp_async));
    };
    if (modelled_ || t.tensor || t.copy || !t.access || !plain(earlier) || !plain(t.stamp) ||
        from_other_grid(earlier))
        return false;
    const uint64_t key = t.shared ? uint64_t{1} << 63 | t.owner << 32 | t.address : t.address;
    Stamp self = t.stamp;
    self.lanes = 1u << t.lane;
    const auto known = alike_.find(key);
    if (!t.write) {  // behind another one of them
        if (known == alike_.end() || !is_of(earlier, known->second.back())) return false;
        const View& proper = t.group->now[t.shared ? for_shared : for_global];
        return std::any_of(known->second.begin(), known->second.end(), [&](const Stamp& s) {
            return (s.who == self.who && s.lanes & self.lanes) ||
                   proper.covers(s.who, s.lanes, s.epoch);
        });
    }
    // Before one of them: that read an earlier one, or will have raced with it.
    if (!earlier_writes) return known != alike_.end() && is_of(self, known->second.back());
    // Lanes of the instruction that write there too.
    const sassemu_location* const at = host.locations(t.access);
    const uint32_t bytes = std::min(t.bytes, 4u);
    std::string there;
    bool alike =
        earlier.insn == t.stamp.insn &&
        value_at({t.shared, t.tensor, t.owner, t.address, t.address + bytes, {}, 0, {}}, there);
    Touch lane = t;
    for (uint32_t lanes = t.access->lanes; lanes && alike; lanes &= lanes - 1) {
        lane.lane = static_cast<uint32_t>(std::countr_zero(lanes));
        const sassemu_location &a = at[lane.lane], &b = at[t.lane];
        if (a.address != b.address || a.space != b.space || a.owner != b.owner) continue;
        alike = there == stored_value(lane, bytes);
        self.lanes |= 1u << lane.lane;
    }
    if (!alike) {
        alike_.erase(key);
        return false;
    }
    std::vector<Stamp>& all = alike_[key];
    if (all.empty() || !is_of(earlier, all.back())) all = {earlier};
    all.push_back(self);
    return true;
}

// What is wrong by what is commonly relied on too is told once, unless the letter has a reason of
// its own (lanes of one instruction, or that run together): whether the same two instructions
// are also met in an order that only the letter has something against is the schedule's affair.
void Checker::fold_letter() {
    for (auto at = findings_.begin(); at != findings_.end();) {
        auto [kind, common, first, second] = at->first;
        const auto whole = findings_.find({kind, true, first, second});
        const std::string& own = at->second.relied_on;  // of the finding by the letter
        if (common || whole == findings_.end() || !(own.empty() || own == one_value)) {
            ++at;
            continue;
        }
        whole->second.count += at->second.count;
        at = findings_.erase(at);
    }
}

// The release is there, for the thread that signals or by a fence of each thread before its CTA's
// barrier, and the signal was waited for. An acquire then keeps caches from giving old values, and
// a volatile read asks none; a write is not made before it is known that the thread comes to it.
bool Checker::waited_for(FindingKind kind, const Stamp& earlier, const Touch& t) const {
    if (kind != FindingKind::missing_acquire && kind != FindingKind::no_memory_order) return false;
    if (t.shared || t.tensor || t.copy || !t.access || earlier.who >= first_mbarrier ||
        earlier.flags & stamp_async || t.stamp.flags & stamp_async)
        return false;
    const Meaning& m = meanings_[t.stamp.insn];
    const bool is_volatile =
        m.is(SASSEMU_INTENT_ACCESS)
            ? m.intent.ordering == SASSEMU_VOLATILE
            : t.stamp.flags & stamp_strong && t.stamp.flags / stamp_reach % reaches == sys;
    if (!t.write && !is_volatile) return false;
    const Group& g = *t.group;
    const auto given = [&](Rule r) {
        return g.now[r].covers(earlier.who, earlier.lanes, earlier.epoch);
    };
    if (!given(acquire_given) && !given(sc_seen)) return false;
    return g.to && (meanings_[g.to].is_cta_barrier() || meanings_.steers(g.to));
}

}  // namespace check_sync
