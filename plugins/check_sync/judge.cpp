// SPDX-License-Identifier: Apache-2.0
// Whether two accesses that meet in a byte are in order, and which link is missing where they are
// not. What belongs here: that judgement. Which accesses meet is found in cells.cpp, the words for
// a finding are in report.cpp.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

Reach reach_in(const Stamp& s) { return static_cast<Reach>(s.flags / stamp_reach % reaches); }

}  // namespace

// Whether all of an earlier access is in order, by the letter too where that counts. What was found
// is kept: a warp asks the same of every cell that another warp has written.
bool Checker::knows(const Stamp& s, const Touch& t) {
    const Group& g = *t.group;
    const uint64_t version = g.version << 2 | uint64_t{t.shared} << 1 | t.by_letter;
    Known& k = t.warp->known[(s.who / 4 + s.who % 4 * 5) % t.warp->known.size()];
    const auto aided = [&](bool yes) {  // by the last barrier
        if (yes && g.met) order_.need(g.met, level_between(s.who, *t.warp));
        return true;
    };
    if (k.version == version && k.entry.who == s.who && s.epoch <= k.entry.epoch &&
        !(s.lanes & ~k.entry.lanes))
        return s.epoch <= k.unaided || aided(true);
    const View& proper = g.now[t.shared ? for_shared : for_global];
    const View& letter = g.now[by_letter];
    const bool one = !t.by_letter || letter.same(proper);
    const Entry* by = proper.find(s.who, s.lanes, s.epoch);
    const Entry* other = one || !by ? by : letter.find(s.who, s.lanes, s.epoch);
    if (!by || !other) {
        if (!by && !proper.covers(s.who, s.lanes, s.epoch)) return false;
        if (!one && !letter.covers(s.who, s.lanes, s.epoch)) return false;
        return aided(!g.now[without_meeting].covers(s.who, s.lanes, s.epoch));
    }
    k = {version, {s.who, by->lanes & other->lanes, std::min(by->epoch, other->epoch)}, 0};
    if (const Entry* alone = g.now[without_meeting].find(s.who, k.entry.lanes, 0))
        k.unaided = alone->epoch;
    return s.epoch <= k.unaided || aided(!g.now[without_meeting].covers(s.who, s.lanes, s.epoch));
}

// How far a barrier must reach that orders these two.
Order::Level Checker::level_between(Component who, const Warp& w) const {
    if (who >= first_mbarrier || who / 4 == w.id)
        return who >= first_mbarrier ? Order::level_cta : Order::level_warp;
    const ThreadName& name = names_[who / 4];
    return w.place.apart(name.place()) == cta ? Order::level_cta : Order::level_cluster;
}

// The fence that has shown a generic access to the async proxy: the first one behind it in its own
// thread, else the last of the thread that copies.
void Checker::shown_by_fence(const Stamp& earlier, const Touch& t) {
    const auto mark = [&](const ProxyFence& f) {
        order_.proxy_used[f.insn] = 0;
        return true;
    };
    const auto in_thread = [&](uint32_t warp, uint32_t lanes, uint32_t epoch) {
        if (warp >= proxy_fences_.size()) return false;
        for (const ProxyFence& f : proxy_fences_[warp])
            if (f.epoch >= epoch && !(lanes & ~f.lanes) && (t.shared ? f.shared : f.global))
                return mark(f);
        return false;
    };
    if (in_thread(earlier.who / 4, earlier.lanes, earlier.epoch)) return;
    for (const uint32_t warp : {earlier.who / 4, t.warp->id})
        if (warp < proxy_fences_.size())
            for (const ProxyFence& f : proxy_fences_[warp]) mark(f);
}

// Whether a flag has told one CTA of another.
bool Checker::has_heard(uint64_t reader, uint64_t writer) const {
    const auto at = gathered_.find(reader);
    if (at == gathered_.end()) return false;
    const std::vector<Entry>& seen = at->second.seen.entries();
    return std::any_of(seen.begin(), seen.end(), [&](const Entry& e) {
        return e.who < first_mbarrier && names_[e.who / 4].cta == writer;
    });
}

// Whether nothing is wrong with an earlier access, whichever of its lanes it was.
bool Checker::passes(StampId id, bool wrote, Touch& t) {
    if (id <= settled) return id == settled || (t.write && !(t.stamp.flags & stamp_atomic));
    const Stamp& s = shadow_.stamps[id];
    if (t.stamp.flags & stamp_async && s.flags & stamp_strong)
        return false;  // it may be a word that was seen: cell by cell
    const bool fine = t.stamp.flags & stamp_async ? !check(s, wrote, t)
                                                  : knows(s, t) && !(wrote && sent_only(s, t));
    if (fine && wrote) t.fine_write = id;
    return fine;
}

void Checker::judge(const Stamp& earlier, bool earlier_writes, uint32_t lanes, Touch& t) {
    for (; lanes; lanes &= lanes - 1) {
        if (!(t.stamp.flags & stamp_async)) t.lane = static_cast<uint32_t>(std::countr_zero(lanes));
        if (const auto wrong = check(earlier, earlier_writes, t)) {
            t.relied_on = wrong->relied_on;
            found(wrong->kind, wrong->common, earlier, earlier_writes, t);
            t.relied_on = nullptr;
        }
    }
}

// `earlier` and this touch meet in a byte, and one of them writes it.
std::optional<Checker::Wrong> Checker::check(const Stamp& earlier, bool earlier_writes,
                                             const Touch& t) {
    if (t.tensor) return check_tensor(earlier, earlier_writes, t);
    const Group& g = *t.group;
    const Warp& w = *t.warp;
    const bool by_copy = t.stamp.flags & stamp_async, was_copy = earlier.flags & stamp_async;
    const View& proper = g.now[t.shared ? for_shared : for_global];
    bool common = knows(earlier, t), letter = common;
    if (!common) {
        common = proper.covers(earlier.who, earlier.lanes, earlier.epoch);
        letter = common && (g.now[by_letter].same(proper) ||
                            g.now[by_letter].covers(earlier.who, earlier.lanes, earlier.epoch));
    }
    if (!common && (!earlier_writes || is_async(earlier.who)))
        common = g.now[let_go].covers(earlier.who, earlier.lanes, earlier.epoch);
    const bool same_warp = earlier.who == w.threads();
    if (same_warp && by_copy) {
        const uint32_t others = earlier.lanes & ~(1u << t.lane);  // its own are in program order
        if (!others || proper.covers(earlier.who, others, earlier.epoch)) common = letter = true;
    }
    if (same_warp && !common) {  // lanes that run together are in order
        bool together = true;
        for (uint32_t lanes = earlier.lanes & ~(1u << t.lane); lanes; lanes &= lanes - 1)
            together &= w.classes[__builtin_ctz(lanes)] == w.classes[t.lane];
        common = together;
    }
    if (same_warp && !letter) {
        const uint32_t others = earlier.lanes & ~(1u << t.lane);
        letter = !others || g.now[by_letter].covers(earlier.who, others, earlier.epoch);
    }
    if (!t.by_letter) letter = common;
    if ((!common || !letter) && earlier.flags & stamp_strong && earlier_writes &&
        !flags_[t.shared].empty()) {
        // What a thread has read strongly comes before what it does to the same word.
        const auto flag = flags_[t.shared].find(t.shared ? t.owner << 32 | t.address : t.address);
        if (flag != flags_[t.shared].end() && flag->second.has_read(w.id, t.lane)) return {};
    }
    if (earlier.flags & t.stamp.flags & stamp_atomic && (by_copy || was_copy))
        return {};  // red.async among themselves
    const bool strong_pair = earlier.flags & stamp_strong && t.stamp.flags & stamp_strong;
    if (strong_pair && !by_copy && !was_copy) {
        if (common && letter) return {};
        const ThreadName& name = names_[earlier.who / 4];
        const Reach far = w.place.apart(name.place());
        if (reach_in(earlier) < far || reach_in(t.stamp) < far) {
            return Wrong{FindingKind::scope_too_narrow, true};
        }
        if ((earlier.flags | t.stamp.flags) & stamp_plain)
            return Wrong{FindingKind::data_race, false,
                         "a plain store right behind a fence, to a word that others read as "
                         "volatile"};
        // No race. But where another word has told the reader's CTA of the writer's, order was
        // wanted, unless the word itself says whether it has come: then its value decides where
        // the reader goes.
        if ((earlier.flags | t.stamp.flags) & stamp_atomic || earlier_writes == t.write) return {};
        if (!earlier.insn || !t.stamp.insn) return {};  // the host asks, and goes where it likes
        if (meanings_.steers(earlier_writes ? t.stamp.insn : earlier.insn)) return {};
        if (common) return Wrong{FindingKind::data_race, false};  // lanes that run together
        const auto covers = [&](const View& v) {
            return v.covers(earlier.who, earlier.lanes, earlier.epoch);
        };
        const bool seen = covers(g.now[executed]), told = far != cta && covers(gathered(w));
        const auto heard = [&] {
            return earlier_writes ? has_heard(w.place.cta, name.cta)
                                  : has_heard(name.cta, w.place.cta);
        };
        const bool wanted = earlier_writes ? seen || told || (far == cta ? same_warp : heard())
                                           : far != cta && !seen && !told && heard();
        if (!wanted) return {};
        return Wrong{why(earlier, earlier_writes, t), true};
    }
    if (!common || !letter) {
        return common ? Wrong{why(earlier, earlier_writes, t), false}
                      : out_of_order(earlier, earlier_writes, t);
    }
    if (earlier_writes && on_its_way(earlier, t)) return Wrong{FindingKind::fence_for_quiet, true};
    if (!by_copy || was_copy || t.stamp.flags & stamp_generic) return {};
    // In order among threads. The async proxy needs to be shown what the generic one did.
    const Component who = in_space(earlier.who, t.shared);
    // Pipelines of cp.async in front of wgmma have no fence.
    const bool usual = is_copying(earlier.who) && t.stamp.who >= first_tensor;
    if (!g.now[to_async].covers(who, earlier.lanes, earlier.epoch))
        return Wrong{FindingKind::missing_proxy_fence, earlier_writes && !usual};
    if (!g.now[to_async_strict].covers(who, earlier.lanes, earlier.epoch))
        return Wrong{FindingKind::missing_proxy_fence, false};
    shown_by_fence(earlier, t);
    return {};
}

FindingKind Checker::why(const Stamp& earlier, bool earlier_writes, const Touch& t) const {
    const Group& g = *t.group;
    const auto knows = [&](Rule r) {
        return g.now[r].covers(earlier.who, earlier.lanes, earlier.epoch);
    };
    if (from_other_grid(earlier) || knows(t.shared ? for_shared : for_global))
        return FindingKind::data_race;  // or by the letter only
    if (!knows(executed)) {
        // A copy that still reads, or that fills again what a copy had filled before.
        const bool still_reads =
            earlier.flags & stamp_async && !earlier_writes && !(t.stamp.flags & stamp_async);
        const bool fills_again = t.stamp.flags & stamp_async && t.write && !earlier_writes &&
                                 t.before.flags & stamp_async;
        const bool filled_again = !t.write && earlier.flags & stamp_async && t.older.who &&
                                  g.now[executed].covers(t.older.who, t.older.lanes, t.older.epoch);
        return still_reads || fills_again || filled_again ? FindingKind::async_reuse
                                                          : FindingKind::data_race;
    }
    if (knows(any_scope)) return FindingKind::scope_too_narrow;
    if (knows(acquire_given)) return FindingKind::missing_acquire;
    if (knows(release_given)) return FindingKind::missing_release;
    return FindingKind::no_memory_order;
}

}  // namespace check_sync
