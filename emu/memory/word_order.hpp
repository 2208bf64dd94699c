// SPDX-License-Identifier: Apache-2.0
// What a word orders in the words of PTX, when nothing is known of it but the word: the most that
// PTX makes it of, so that no program is taken for less than it is. docs/litmus.md, section 9.
#pragma once

#include <optional>

#include "emu/memory/event.hpp"

namespace sassemu {

struct WordOrder {
    Ordering ordering = Ordering::weak;
    MemScope scope = MemScope::none;
    Proxy to = Proxy::generic;  // of a proxy fence: between this one and the generic, both ways
};

// Whether a word between a MEMBAR and the CCTL.IVALL that belongs to it leaves them together.
inline bool stands_in_fence(const Event& e) {
    return e.is(SASSDEC_KIND_FENCE, SASSDEC_ACTION_ERROR) || e.is(SASSDEC_KIND_NONE);
}

// `invalidates`: the L1 is emptied behind it, as compilers have it done behind a fence.sc and a
// fence.acq_rel of more than a CTA. Without that a MEMBAR.SC acquires nothing.
inline std::optional<WordOrder> order_of_word(const Event& e, bool invalidates) {
    if (e.is(SASSDEC_KIND_FENCE, SASSDEC_ACTION_PROXY))
        return WordOrder{Ordering::weak, MemScope::none, Proxy::async};
    if (e.is(SASSDEC_KIND_FENCE, SASSDEC_ACTION_PLAIN)) {
        const MemScope scope = e.scope == SASSDEC_SCOPE_SYS   ? MemScope::sys
                               : e.scope == SASSDEC_SCOPE_GPU ? MemScope::gpu
                                                              : MemScope::cta;
        const bool near = scope == MemScope::cta;
        const bool sc = e.order == SASSDEC_ORDER_SC && (near || invalidates);
        return WordOrder{sc     ? Ordering::sc
                         : near ? Ordering::acq_rel
                                : Ordering::release,
                         scope, Proxy::generic};
    }
    if (e.acts_on_data() && e.action == SASSDEC_ACTION_INVALIDATE_ALL)
        return WordOrder{Ordering::acquire, MemScope::sys, Proxy::generic};
    return std::nullopt;
}

// What fence.acquire.cta leaves, and a load, an atomic operation or a wait for an mbarrier of sm_80
// that acquires in its CTA. It waits only for what nothing before it has waited for.
constexpr WordOrder order_of_nop{Ordering::acquire, MemScope::cta, Proxy::generic};

// Of an access by the lanes (but of matrices): words for shared memory are the same for every order
// and scope that a load, store or atomic operation itself can have.
inline WordOrder order_of_access(AccessSpace space, Ordering says, MemScope scope) {
    if (space != AccessSpace::shared) return {says, scope, Proxy::generic};
    return {says == Ordering::weak ? Ordering::relaxed : says, MemScope::sys, Proxy::generic};
}

}  // namespace sassemu
