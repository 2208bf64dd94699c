// SPDX-License-Identifier: Apache-2.0
// mbarrier objects: whose arrivals a phase gathers, who learns of it, and the rules of the object
// itself.
#include "checker.hpp"

namespace check_sync {

Mbarrier& Checker::mbarrier_at(uint64_t owner, uint32_t address) {
    Mbarrier& b = mbarriers_[{owner, address}];
    if (!b.id) b.id = next_mbarrier_++;
    return b;
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
        const Rule rule = !m.known ? (here ? for_shared : executed) : for_init;
        const bool known = !others || g.now[rule].covers(who, others, b.init_epoch);
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
    found(Kind::mbarrier_protocol, true,
          {b.init_warp * 4, b.init_lanes, b.init_epoch, b.init_insn & 0xffffff, 0}, true, t);
}

void Checker::mbarrier(const sassemu_sync& s) {
    Mbarrier& b = mbarrier_at(s.owner, s.address);
    const uint32_t insn = meanings_.number(s.insn);
    const Meaning& m = meanings_[insn];
    Warp* w = s.warp ? &warp_of(s.warp) : nullptr;
    if (w) remote(*w, s.owner);
    switch (s.kind) {
        case SASSEMU_SYNC_MBARRIER_INIT: {
            b = {};
            b.id = next_mbarrier_++;
            b.init_warp = w->id;
            b.init_lanes = s.lanes & -s.lanes;
            b.init_epoch = w->epoch;
            w->used = true;
            b.init_insn = insn;
            break;
        }
        case SASSEMU_SYNC_MBARRIER_ARRIVE: {
            const bool over = s.phase != s.phase_after;
            // Lanes that arrive at one object are told as one change, by the first of them.
            const uint32_t lanes = w && !s.agent && s.arrivals > 1 ? w->issued : s.lanes;
            if (s.agent) {
                if (const auto copy = copies_.find(s.agent); copy != copies_.end())
                    reported(s, copy->second, b);
            } else if (w) {
                initialised(b, *w, lanes, insn, s.owner, s.address);
                if (s.expect > 0) b.expect_insn = insn;
                if (s.arrivals &&
                    m.does(SASSEMU_EFFECT_MBARRIER,
                           SASSEMU_ACTION_ARRIVE_LATER)) {  // its LDGSTS have been performed when
                                                            // they were issued
                    Copy now;
                    now.warp = w;
                    now.lanes = lanes;
                    now.insn = insn;
                    now.by = order_.issue(*w, lanes);
                    await_copies(now);
                    reported(s, now, b);
                } else if (s.arrivals) {
                    Release how{s.owner == w->place.cta, gpu};  // the chip: in order within an SM
                    if (m.is(SASSEMU_INTENT_MBARRIER)) how = m.release(SASSEMU_LEVEL_CTA);
                    if (!how.releases && !m.known) how.reach = gpu;
                    order_.release(*w, lanes, how, insn, b.arriving);
                    order_.next(*w);
                }
            }
            b.transactions = s.transactions;
            if (!over) break;
            order_.move(b.arriving, b.over);
            ++b.phases;
            b.brought = false;
            break;
        }
        case SASSEMU_SYNC_MBARRIER_TEST:
            initialised(b, *w, s.lanes, insn, s.owner, s.address);
            if (s.passed && b.phases > 1) {
                Acquire how{false, cluster, true};
                if (m.is(SASSEMU_INTENT_MBARRIER)) how = m.acquire(SASSEMU_LEVEL_CTA);
                order_.acquire(*w, s.passed, how, b.over, insn);
                order_.know(*w, s.passed, {b.id, 1, b.phases - 1}, how);
                order_.merge(*w);
            }
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
        Finding& f = findings_[{Kind::mbarrier_protocol, true, b.expect_insn, 0}];
        if (f.count++) continue;
        f.kind = Kind::mbarrier_protocol;
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
