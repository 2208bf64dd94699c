// SPDX-License-Identifier: Apache-2.0
// Barriers and mbarrier objects: that their own rules are kept. Asynchronous copies: what they do
// to the definedness of memory.
#include <algorithm>

#include "checker.hpp"

namespace check_mem {

Cta* Checker::by_linear(uint64_t linear) {
    for (auto& [handle, c] : ctas_)
        if (c.linear == linear && c.launch == launch_) return &c;
    return nullptr;
}

void Checker::sync(const sassemu_sync& s) {
    Cta* const in = enter(s.cta);
    if (s.kind >= SASSEMU_SYNC_MBARRIER_INIT) return mbarrier(s);
    if (!in) return;
    Cta& c = *in;
    if (s.kind == SASSEMU_SYNC_BARRIER_COMPLETE) {
        std::erase_if(c.waiting, [&](const Cta::Waiting& w) { return w.id == s.id; });
        return;
    }
    const sassemu_warp_info w = info(s.warp);
    if (s.kind == SASSEMU_SYNC_WARP) {
        auto& meeting = c.warps[w.index].meeting;
        for (auto& [insn, lanes] : meeting) lanes &= ~s.lanes;
        std::erase_if(meeting, [](const auto& m) { return !m.second; });
        return;
    }
    if (s.waits) c.waiting.push_back({s.id, s.insn, w.index, s.lanes});
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
    const auto known = owner->mbarriers.find(s.address);
    std::string what;
    const std::string object =
        "the mbarrier object at " + findings::hex(s.address) + " of shared memory";
    switch (s.kind) {
        case SASSEMU_SYNC_MBARRIER_INIT:
            if (known != owner->mbarriers.end())
                what = object + " is initialised again, and was not invalidated";
            owner->mbarriers[s.address] = s.insn;
            owner->shared.define(s.address, 8);
            break;
        case SASSEMU_SYNC_MBARRIER_INVALIDATE:
            if (known == owner->mbarriers.end())
                what = object + " is invalidated, and was never initialised";
            else
                owner->mbarriers.erase(known);
            break;
        default:
            // Before sm_90 an object is initialised by a store.
            if (std::string_view(host.insn_opcode(s.insn)).find("SYNCS") == std::string_view::npos
                    ? owner->shared.undefined(s.address, 8)
                    : known == owner->mbarriers.end())
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

// What is read by a copy: its undefined bytes, born here if nobody knows where.
void Checker::take(Flow& f, Place p, uint64_t address, uint64_t bytes, const char* space,
                   sassemu_insn insn) {
    const uint64_t begin = p.at, end = p.at + bytes;
    for (uint64_t n; (n = p.shadow->next(p.at, end)); p.at += n) {
        Origin from = p.shadow->origin(p.at);
        if (!from) {
            char key[64];
            std::snprintf(key, sizeof key, "%p async", static_cast<const void*>(insn));
            from = birth(key,
                         space + findings::hex(address + (p.at - begin)) +
                             ", which nothing has written, and which is copied",
                         "", insn);
        }
        f.undefined.push_back({f.bytes + (p.at - begin), n, from});
    }
    f.bytes += bytes;
}

// Bytes keep their definedness on the way where as many are written as were read just before.
void Checker::give(Flow& f, Place p, uint64_t bytes, sassemu_insn insn) {
    p.shadow->define(p.at, bytes);
    if (f.bytes == bytes)
        for (const Flow::Part& part : f.undefined) {
            p.shadow->undefine(p.at + part.at, part.bytes, part.origin);
            if (!births_[part.origin].stored) births_[part.origin].stored = insn;
        }
    f = {};
}

void Checker::async(const sassemu_async& a) {
    if (a.step == SASSEMU_ASYNC_COMPLETE) flows_.erase(a.id);
    if (a.step != SASSEMU_ASYNC_READ && a.step != SASSEMU_ASYNC_WRITE) return;
    Place p;
    if (a.warp) enter(info(a.warp).cta);
    const bool shared = a.at.space == SASSEMU_SHARED;
    if (shared) {
        if (Cta* const owner = by_linear(a.at.owner)) p = {&owner->shared, a.at.address};
    } else if (a.at.space == SASSEMU_GLOBAL) {
        if (Extent* const e = extent(a.at.address))
            p = {&e->shadow, a.at.address - last_extent_.first};
    }
    if (!p.shadow || a.proxy == SASSEMU_VIA_TENSORMAP) return;
    if (a.step == SASSEMU_ASYNC_READ)
        take(flows_[a.id], p, a.at.address, a.bytes,
             shared ? "shared memory at " : "global memory at ", a.insn);
    else if (a.op != SASSEMU_REDUCE)
        give(flows_[a.id], p, a.bytes, a.insn);
}

}  // namespace check_mem
