// SPDX-License-Identifier: Apache-2.0
// Fences and cache operations of the effects table in the words of the SDK: the parts that the
// instruction alone decides.
#pragma once

#include "emu/memory/event.hpp"
#include "sassemu/memory.h"

namespace sassemu {

inline sassemu_fence shown_fence(const Event& e) {
    sassemu_fence f{};
    f.size = sizeof f;
    f.ordering = e.order;
    f.scope = e.scope;
    f.waits_for_async = e.action == SASSDEC_ACTION_COPIES;
    if (e.action != SASSDEC_ACTION_PROXY) return f;
    // Between the generic and another proxy, for objects in one space.
    f.from_proxy = SASSEMU_VIA_GENERIC;
    f.to_proxy = e.proxy;
    f.both_ways = 1;
    f.spaces = SASSEMU_SPACE_BIT(e.space - SASSDEC_SPACE_GLOBAL);
    return f;
}

inline sassemu_cache_action shown_cache_action(const Event& e) {
    switch (e.action) {
        case SASSDEC_ACTION_INVALIDATE:
            // CCTLT.IVTH: what a header reaches is not known, so everything.
            return e.address == SASSDEC_NO_OPERAND ? SASSEMU_CACHE_INVALIDATE_ALL
                                                   : SASSEMU_CACHE_INVALIDATE;
        case SASSDEC_ACTION_INVALIDATE_ALL:
            return SASSEMU_CACHE_INVALIDATE_ALL;
        case SASSDEC_ACTION_INVALIDATE_ALL_PRIVATE:
            return SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE;
        case SASSDEC_ACTION_WRITE_BACK:
            return SASSEMU_CACHE_WRITE_BACK;
        case SASSDEC_ACTION_WRITE_BACK_ALL:
            return SASSEMU_CACHE_WRITE_BACK_ALL;
        case SASSDEC_ACTION_RESET:
            return SASSEMU_CACHE_RESET;
        case SASSDEC_ACTION_PREFETCH:
            return SASSEMU_CACHE_PREFETCH;
        default:
            return SASSEMU_CACHE_OTHER;
    }
}

inline sassemu_cache_op shown_cache_operation(const Event& e) {
    sassemu_cache_op c{};
    c.size = sizeof c;
    c.cache = e.cache;
    c.action = static_cast<uint8_t>(shown_cache_action(e));
    return c;
}

}  // namespace sassemu
