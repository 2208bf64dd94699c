// SPDX-License-Identifier: Apache-2.0
// mbarrier objects: whose arrivals a phase gathers, who learns of it, and the rules of the object
// itself.
#include <bit>

#include "checker.hpp"

namespace check_sync {

Mbarrier& Checker::mbarrier_at(uint64_t owner, uint32_t address) {
    Mbarrier& b = mbarriers_[{owner, address}];
    if (!b.id) b.id = std::exchange(next_mbarrier_, next_mbarrier_ + 2);
    return b;
}

void Checker::initialise(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn) {
    b = {};
    b.id = std::exchange(next_mbarrier_, next_mbarrier_ + 2);
    b.init_warp = w.id;
    b.init_lanes = lanes & -lanes;
    b.init_epoch = w.epoch;
    w.used = true;
    b.init_insn = insn;
}

void Checker::arrive(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner) {
    const Meaning& m = meanings_[insn];
    Release how{owner == w.place.cta, gpu};  // the chip: in order within an SM
    if (m.is(SASSEMU_INTENT_MBARRIER)) how = m.release(SASSEMU_LEVEL_CTA);
    if (!how.releases && !m.known) how.reach = gpu;
    order_.release(w, lanes, how, insn, b.arriving);
    if (owner != w.place.cta) order_.lets_go(w, lanes, b.arriving.let_go);
    order_.next(w);
}

// An arrival in a phase that follows one with bytes, by threads that do not know that this is over.
// Where the bytes come later it is one more than that phase has room for.
void Checker::may_be_early(const Mbarrier& b, const Warp& w, uint32_t lanes, uint32_t insn) {
    if (!b.counted || knows(w, lanes, {b.id, 1, b.phases - 1})) return;
    breaks_rule(FindingKind::mbarrier_protocol, w, lanes, insn, "arrives at an mbarrier",
                "nothing says that the phase before is over: while it waits for bytes, this is an "
                "arrival more than it expects",
                "wait for that phase before the arrival, or for a thread that has waited for it");
}

// Lanes that have found the phase over, or on counters of which the phases before are.
void Checker::test(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn) {
    const Meaning& m = meanings_[insn];
    if (!lanes || b.phases <= 1) return;
    Acquire how{false, cluster, true};
    if (m.is(SASSEMU_INTENT_MBARRIER)) how = m.acquire(SASSEMU_LEVEL_CTA);
    order_.acquire(w, lanes, how, b.over, insn);
    order_.know(w, lanes, {b.id, 1, b.phases - 1}, how);
    order_.know(w, lanes, {b.stored(), 1, b.phases - 1}, how, !b.from_afar || how.reach != cta);
    order_.merge(w);
}

// An object that no instruction of its own has initialised: the stores that did were taken for
// data, and so was who has looked at it since.
void Checker::adopt(Mbarrier& b, uint64_t owner, uint32_t address) {
    if (b.init_insn) return;
    counters_.insert(address);
    if (Block* block = shadow_.shared(owner)) {
        const uint32_t cell = shadow_.cell(*block, address, 8);
        if (cell == block->cells() || block->write[cell] <= settled) return;
        const Stamp& s = shadow_.stamps[block->write[cell]];
        b.init_warp = s.who / 4;
        b.init_lanes = 1u << block->writer[cell];
        b.init_epoch = s.epoch;
        b.init_insn = s.insn;
    }
    std::vector<Finding> kept;
    for (auto at = findings_.begin(); at != findings_.end();) {
        Finding& f = at->second;
        const bool here = f.shared && f.owner == owner && f.second.address / 8 * 8 == address;
        if (here && f.first.insn == b.init_insn) kept.push_back(std::move(f));
        at = here ? findings_.erase(at) : std::next(at);
    }
    for (Finding& f : kept) {
        f.kind = FindingKind::mbarrier_protocol;
        f.missing = "the initialisation of the mbarrier is not ordered before its use";
        findings_[{f.kind, f.common, f.first.insn, f.second.insn}] = std::move(f);
    }
}

// Lanes whose access is to such an object.
uint32_t Checker::use_counters(Warp& w, const sassemu_access& a, uint32_t insn,
                               const sassemu_location* at) {
    const Meaning& m = meanings_[insn];
    uint32_t all = 0;
    for (uint32_t left = a.lanes; left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        const sassemu_location& l = at[lane];
        const auto address = static_cast<uint32_t>(l.address) / 8 * 8;
        if (l.space != SASSEMU_SHARED || a.bytes < 4) continue;
        if (m.says("mbarrier.init")) counters_.insert(address);
        if (!counters_.contains(address)) continue;
        const uint32_t one = 1u << lane;
        all |= one;
        Mbarrier& b = mbarrier_at(l.owner, address);
        if (a.op == SASSEMU_STORE) {
            initialise(b, w, one, insn);
            continue;
        }
        initialised(b, w, one, insn, l.owner, address);
        if (a.op == SASSEMU_LOAD)
            test(b, w, one, insn);
        else if (!m.says("cp.async"))
            arrive(b, w, one, insn, l.owner);
    }
    return all;
}

// Whether its initialisation is ordered before what these lanes do to it.
void Checker::initialised(const Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner,
                          uint32_t address) {
    if (!b.init_insn) return;
    const Meaning& m = meanings_[insn];
    const ThreadName& name = names_[b.init_warp];
    const bool here = name.cta == w.place.cta;
    bool ordered = true;
    order_.each(w, lanes, [&](Group& g) {
        const Component who = b.init_warp * 4;
        const uint32_t others = w.id == b.init_warp ? b.init_lanes & ~g.lanes : b.init_lanes;
        const Rule rule = m.known || here ? for_init : executed;
        const bool known =
            !others || g.now[rule].covers(who, others, b.init_epoch) ||
            (!m.known && here && g.now[for_shared].covers(who, others, b.init_epoch));
        if (known && others && g.met && !g.now[without_meeting].covers(who, others, b.init_epoch))
            order_.need(g.met, level_between(who, w));
        ordered &= known || (w.id == b.init_warp &&
                             w.classes[__builtin_ctz(g.lanes)] == w.classes[__builtin_ctz(others)]);
    });
    if (ordered) return;
    Touch t{};
    t.warp = &w;
    t.lane = static_cast<uint32_t>(__builtin_ctz(lanes));
    for (Group& g : w.groups)
        if (g.lanes >> t.lane & 1) t.group = &g;
    t.shared = true;
    t.owner = owner;
    t.address = address;
    t.bytes = 8;
    t.stamp = {w.threads(), 1u << t.lane, w.epoch, insn & 0xffffff, 0};
    t.id = settled;
    found(FindingKind::mbarrier_protocol, true,
          {b.init_warp * 4, b.init_lanes, b.init_epoch, b.init_insn & 0xffffff, 0}, true, t);
}

void Checker::mbarrier(const sassemu_sync& s) {
    Mbarrier& b = mbarrier_at(s.owner, s.address);
    const uint32_t insn = meanings_.number(s.insn);
    const Meaning& m = meanings_[insn];
    Warp* w = s.warp ? &warp_of(s.warp) : nullptr;
    if (w && !s.agent) allocates_pair(*w, s.lanes, m);
    if (w && !s.agent) remote(*w, s.lanes, insn, s.owner);
    switch (s.kind) {
        case SASSEMU_SYNC_MBARRIER_INIT:
            initialise(b, *w, s.lanes, insn);
            break;
        case SASSEMU_SYNC_MBARRIER_ARRIVE: {
            const bool over = s.phase != s.phase_after;
            // Lanes that arrive at one object are told as one change, by the first of them.
            const bool several = s.arrivals > 1 || s.expect < -1;
            const uint32_t lanes = w && !s.agent && several ? w->issued : s.lanes;
            adopt(b, s.owner, s.address);
            if (s.agent) {
                if (const auto copy = copies_.find(s.agent); copy != copies_.end())
                    reported(s, copy->second, b);
            } else if (w) {
                initialised(b, *w, lanes, insn, s.owner, s.address);
                if (s.expect > 0) b.expect_insn = insn;
                if (m.does(SASSEMU_EFFECT_MBARRIER, SASSEMU_ACTION_ARRIVE_LATER)) {
                    // Its LDGSTS have been performed when they were issued.
                    Copy now;
                    now.warp = w;
                    now.lanes = lanes;
                    now.insn = insn;
                    now.by = order_.issue(*w, lanes);
                    await_copies(now);
                    reported(s, now, b);
                } else if (s.arrivals) {
                    may_be_early(b, *w, lanes, insn);
                    arrive(b, *w, lanes, insn, s.owner);
                }
            }
            b.transactions = s.transactions;
            b.counts |= s.expect != 0;
            if (!over) break;
            order_.move(b.arriving, b.over);
            ++b.phases;
            b.brought = false;
            b.counted = std::exchange(b.counts, false);
            break;
        }
        case SASSEMU_SYNC_MBARRIER_TEST:
            initialised(b, *w, s.lanes, insn, s.owner, s.address);
            test(b, *w, s.passed, insn);
            break;
        case SASSEMU_SYNC_MBARRIER_INVALIDATE:
            mbarriers_.erase({s.owner, s.address});
            break;
        default:
            break;
    }
}

// Bytes that were expected and never came, or came and were never expected.
void Checker::report_transactions(bool waited_for) {
    for (auto& [key, b] : mbarriers_) {
        // No thread waits at the end: a phase without any arrival may never have been meant to
        // complete.
        if (!b.transactions || !b.expect_insn || !(waited_for || b.brought)) continue;
        Finding& f = findings_[{FindingKind::mbarrier_protocol, true, b.expect_insn, 0}];
        if (f.count++) continue;
        f.kind = FindingKind::mbarrier_protocol;
        f.launch = launch_;
        f.seed = host.seed(session);
        f.kernel = kernel_;
        f.first.insn = b.expect_insn;
        f.first.action = "states the bytes to come";
        f.first.space = "shared";
        f.first.address = key.second;
        f.first.bytes = 8;
        f.first.thread = "mbarrier of CTA " + std::to_string(key.first);
        f.missing =
            "the transaction count ends at " + std::to_string(b.transactions) + ", not at 0";
        f.repair = "expect as many bytes as the copies of the phase bring";
    }
}

}  // namespace check_sync
