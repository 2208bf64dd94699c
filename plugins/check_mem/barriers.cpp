// SPDX-License-Identifier: Apache-2.0
// Barriers and mbarrier objects: that their own rules are kept.
#include <algorithm>

#include "checker.hpp"

namespace check_mem {

void Checker::sync(const sassemu_sync& s) {
    Cta* const in = enter(s.cta);
    if (s.kind >= SASSEMU_SYNC_MBARRIER_INIT) return mbarrier(s);
    if (!in) return;
    Cta& c = *in;
    Watched& watched = this->watched(c);
    if (s.kind == SASSEMU_SYNC_BARRIER_COMPLETE) {
        std::erase_if(watched.waiting, [&](const Watched::Waiting& w) { return w.id == s.id; });
        return;
    }
    const sassemu_warp_info w = info(s.warp);
    if (s.kind == SASSEMU_SYNC_WARP) {
        auto& meeting = watched.warps[w.index].meeting;
        for (auto& [insn, lanes] : meeting) lanes &= ~s.lanes;
        std::erase_if(meeting, [](const auto& m) { return !m.second; });
        return;
    }
    if (s.waits) watched.waiting.push_back({s.id, s.insn, w.index, s.lanes});
    // The text says whether all threads of a warp must come together; the word does not.
    sassemu_intent stated;
    if (s.lanes == w.live || !intent(s.insn, stated) || !stated.aligned) return;
    if (Finding* const f = found(Kind::barrier, s.insn)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(s.lanes));
        f->thread = thread_text(c, w.index, lane);
        f->what = "lanes " + findings::hex(s.lanes) + " of the warp arrive at barrier " +
                  std::to_string(s.id) + ", and not lanes " + findings::hex(w.live & ~s.lanes);
    }
}

void Checker::mbarrier(const sassemu_sync& s) {
    Cta* const owner = by_linear(s.owner);
    // What the system has reserved holds objects of its own, by which pairs of CTAs allocate.
    if (!owner || !s.insn || s.address < info_.shared_reserved) return;
    auto& mbarriers = watched(*owner).mbarriers;
    const auto known = mbarriers.find(s.address);
    std::string what;
    const std::string object =
        "the mbarrier object at " + findings::hex(s.address) + " of shared memory";
    switch (s.kind) {
        case SASSEMU_SYNC_MBARRIER_INIT:
            if (known != mbarriers.end())
                what = object + " is initialised again, and was not invalidated";
            mbarriers[s.address] = s.insn;
            owner->shared.clear(s.address, 8);
            break;
        case SASSEMU_SYNC_MBARRIER_INVALIDATE:
            if (known == mbarriers.end())
                what = object + " is invalidated, and was never initialised";
            else
                mbarriers.erase(known);
            break;
        default:
            // Before sm_90 an object is initialised by a store.
            if (std::string_view(host.insn_opcode(s.insn)).find("SYNCS") == std::string_view::npos
                    ? owner->shared.marked(s.address, 8)
                    : known == mbarriers.end())
                what = object + " is used, and was never initialised";
    }
    if (what.empty()) return;
    Finding* const f = found(Kind::mbarrier, s.insn);
    if (!f) return;
    f->what = what;
    if (!s.warp) return;
    const sassemu_warp_info w = info(s.warp);
    if (const Cta* const c = enter(w.cta); c && s.lanes)
        f->thread = thread_text(*c, w.index, static_cast<uint32_t>(std::countr_zero(s.lanes)));
}

}  // namespace check_mem
