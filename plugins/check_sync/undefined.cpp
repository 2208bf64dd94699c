// SPDX-License-Identifier: Apache-2.0
// See undefined.hpp.
#include "undefined.hpp"

namespace check_sync {

// Its marks begin here, whatever it has loaded so far.
void Undefined::loads(const sassemu_access& a, uint32_t lane, uint32_t offset, uint32_t bytes,
                      Origin from) {
    const sassemu_warp_info warp = info(a.warp);
    if (!ctas_.contains(warp.cta)) cta_begin(warp.cta);
    learn(host.insn_module(a.insn));
    const uint32_t marked = ((bytes < 32 ? 1u << bytes : 0) - 1) << offset;
    bring(ctas_.at(warp.cta).warps[warp.index], instruction(a.insn), a.flags, a.bytes, lane, marked,
          from);
}

void Undefined::learn(sassemu_module m) {
    const auto [at, fresh] = codes_.try_emplace(m);
    for (uint64_t k = 0; fresh && k < host.module_code_bytes(m); k += 16)
        if (const sassemu_insn insn = host.module_insn(m, k)) at->second.add(*this, insn, doubt_);
}

void Undefined::launch_end(sassemu_launch l) {
    std::erase_if(ctas_, [&](const auto& entry) { return entry.second.launch == l; });
    launch_ = nullptr;
}

void Undefined::records(const sassemu_records& r) {
    if (!ctas_.contains(r.cta)) return;
    learn(r.module);
    Follower::records(r);
}

// What others read of shared memory is gone to where nobody follows it.
void Undefined::async(const sassemu_async& a) {
    if (ctas_.empty()) return;
    if (a.step == SASSEMU_ASYNC_READ && a.at.space == SASSEMU_SHARED && a.warp) {
        enter(info(a.warp).cta);
        if (follow::Cta* const owner = by_linear(a.at.owner)) {
            uint64_t at = a.at.address;
            for (uint64_t n; (n = owner->shared.next(at, a.at.address + a.bytes)); at += n)
                used_(owner->shared.origin(at), a.insn, "an asynchronous operation reads it");
        }
    } else if (a.step == SASSEMU_ASYNC_WRITE || a.step == SASSEMU_ASYNC_COMPLETE) {
        Follower::async(a);
    }
}

// What decides which way is taken is seen where the ways do something that is, or nobody can tell
// what they do. Else it is on, in what they do not leave alike.
bool Undefined::decides(const follow::Step& s, uint32_t row, uint32_t lanes, bool condition) {
    const bool ways = row >= follow::predicate_rows && Ways::are_followed(*this, s.i.insn);
    follow::each_lane(lanes, [&](uint32_t lane) {
        follow::Join join;
        join.origin = origin(s, row, lane);
        if (told_.contains(join.origin)) return;
        if (ways && ways_.follow(s, codes_.at(host.insn_module(s.i.insn)), row, lane, join)) {
            s.warp.joins.push_back(std::move(join));
            return;
        }
        told_.insert(join.origin);
        used_(join.origin, s.i.insn,
              condition ? "it decides what is executed" : "it is a part of an address");
    });
    return true;  // it was said, or the value is known up to where the ways meet
}

void Undefined::leaves(const follow::Step& s, uint32_t row, uint32_t lane,
                       const follow::Place& to) {
    if (to.shadow && (to.shadow == &s.cta.shared || to.shadow == &s.warp.local)) return;
    used_(origin(s, row, lane), s.i.insn, "it goes where others see it");
}

}  // namespace check_sync
