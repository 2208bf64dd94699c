// SPDX-License-Identifier: Apache-2.0
// Fences: by the text where it is kept, else by the words that they become (MEMBAR, CCTL.IVALL,
// FENCE.VIEW.ASYNC). What each adds to what threads know is in order.cpp.
#include "checker.hpp"

namespace check_sync {

// As the text has it.
void Checker::stated_fence(Warp& w, uint32_t lanes, const Meaning& m, uint32_t insn) {
    Weaker as{.without_sc = m.intent.ordering != SASSEMU_SC,
              .release_only = !Meaning::acquires(m.intent.ordering),
              .reach = reach_of(m.intent.scope)};
    if (weaken(insn, as)) return;
    const bool sc = !as.without_sc && as.reach >= gpu;
    if (!as.release_only) order_.acquire_fence(w, lanes, as.reach, m.restriction(), insn);
    if (sc) order_.sc_acquire(w, lanes, as.reach);
    if (m.nvshmem_fence)
        nvshmem_fence(w, lanes, insn);
    else if (Meaning::releases(m.intent.ordering))
        order_.release_fence(w, lanes, as.reach, m.restriction(), insn);
    if (sc) order_.sc_release(w, lanes, as.reach, insn);
}

void Checker::fence(const sassemu_fence& f) {
    if (trial_) trial_->fence(f);
    Warp& w = warp_of(f.warp);
    running(w, f.warp);
    guarded(w, f.lanes, true);
    const uint32_t insn = meanings_.number(f.insn);
    const Meaning& m = meanings_[insn];
    const bool proxy = f.from_proxy != f.to_proxy;
    if (f.spaces == SASSEMU_SPACE_BIT(SASSEMU_TENSOR_MEMORY))
        return order_.tensor_done(w, f.lanes, Tensor::store);
    if (m.known) {
        if (m.is(SASSEMU_INTENT_PROXY_FENCE) && proxy && !m.says("tensormap") && !m.says("alias")) {
            const uint32_t named = m.intent.spaces;
            proxy_fence(w, f.lanes, insn, !named || named & SASSEMU_SPACE_BIT(SASSEMU_SHARED),
                        !named || named & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL));
        } else if (m.says("tensormap")) {
            order_.tensormap_release(w, f.lanes);
        } else if (m.is(SASSEMU_INTENT_FENCE) && !proxy) {
            stated_fence(w, f.lanes, m, insn);
        }
        return;
    }
    if (!proxy) {
        Weaker as{.without_sc = f.ordering != SASSEMU_SC, .reach = reach_of(f.scope)};
        if (weaken(insn, as)) return;
        if (m.nvshmem_fence)
            nvshmem_fence(w, f.lanes, insn);
        else
            order_.release_fence(w, f.lanes, as.reach, Order::everything, insn);
        w.membar = insn;
        w.membar_reach = as.reach;
        // fence.proxy.tensormap release is the same word.
        if (w.membar_reach >= gpu) order_.tensormap_release(w, f.lanes);
        w.membar_sc = !as.without_sc && w.membar_reach >= gpu;
        if (w.membar_sc) order_.sc_release(w, f.lanes, w.membar_reach, insn);
        return;
    }
    const bool after_membar = w.membar;
    if (after_membar) {
        order_.release_used.erase(w.membar);  // a part of this fence
        order_.release_fence(w, f.lanes, cluster, Order::shared_memory, insn);
    }
    // fence.proxy.async of all spaces is MEMBAR.GPU with the fence for shared memory.
    const bool all = !f.spaces || (after_membar && w.membar_reach >= gpu);
    proxy_fence(w, f.lanes, insn, all || f.spaces & SASSEMU_SPACE_BIT(SASSEMU_SHARED),
                all || f.spaces & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL));
}

void Checker::cache(const sassemu_cache_op& c) {
    if (trial_) trial_->cache(c);
    if (c.action != SASSEMU_CACHE_INVALIDATE_ALL &&
        c.action != SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE)
        return;
    if (c.cache != SASSEMU_CACHE_DATA && c.cache != SASSEMU_CACHE_UNIFIED) return;
    Warp& w = warp_of(c.warp);
    running(w, c.warp);
    guarded(w, c.lanes, true);
    const uint32_t insn = meanings_.number(c.insn);
    const Meaning& m = meanings_[insn];
    Weaker as{.reach = m.known ? reach_of(m.intent.scope) : sys};
    if (weaken(insn, as) || as.release_only) return;
    if (!m.known) {
        order_.acquire_fence(w, c.lanes, as.reach, Order::everything, insn);
        // MEMBAR and CCTL.IVALL are one fence: what it acquires, it releases.
        if (w.membar) {
            if (w.membar_sc) order_.sc_acquire(w, c.lanes, w.membar_reach);
            if (meanings_[w.membar].nvshmem_fence)
                nvshmem_fence(w, c.lanes, w.membar);
            else
                order_.release_fence(w, c.lanes, w.membar_reach, Order::everything, w.membar);
            if (w.membar_sc) order_.sc_release(w, c.lanes, w.membar_reach, w.membar);
        }
    } else if (m.is(SASSEMU_INTENT_FENCE) && Meaning::acquires(m.intent.ordering))
        order_.acquire_fence(w, c.lanes, as.reach, m.restriction(), insn);
}

void Checker::proxy_fence(Warp& w, uint32_t lanes, uint32_t insn, bool shared, bool global) {
    if (Weaker as; weaken(insn, as)) return;
    order_.proxy_used.try_emplace(insn, -1);
    if (proxy_fences_.size() <= w.id) proxy_fences_.resize(names_.size());
    std::vector<ProxyFence>& all = proxy_fences_[w.id];
    if (all.size() == most_proxy_fences) {
        order_.proxy_used[all.front().insn] = 0;
        all.erase(all.begin());
    }
    all.push_back({w.done(), lanes, insn, shared, global});
    order_.proxy_fence(w, lanes, shared, global);
    w.guarded = w.groups.size() > 1;  // what each lane has shown is shown for all
}

}  // namespace check_sync
