// SPDX-License-Identifier: Apache-2.0
// Barriers in machine code, and what else is neither a value, a branch nor an access. See
// sass_turn.hpp.
#include <algorithm>
#include <bit>

#include "emu/explore/graph/sass_turn.hpp"
#include "emu/machine/mbarrier.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace index = sass_register;

Step SassTurn::other() {
    if (unknown_) return wait_or_guess(*unknown_, 0);
    if (i_.insn.id == SASSDEC_ID_B2R) {
        for (const uint32_t r : i_.writes) {
            const bool count = code_.registers()[r] < index::predicate;
            reg(r) = reg(
                static_cast<uint32_t>(code_.number_of(count ? index::reduced : index::reduced_of)));
        }
        return Step::past;
    }
    const uint32_t exists = sass_.lanes_of_warp(thread_);
    if (i_.warp && std::popcount(exists) > 1)
        return beyond(
            "is not explored: it exchanges values between the threads of "
            "a warp; use one thread a "
            "warp");
    if (i_.meets) return warpsync(exists);
    const SassEffects e = run();
    switch (e.call) {
        case SassEffects::Call::none:
            if (std::ranges::any_of(e.accesses, [](const sassemu::Access& a) {
                    return a.proxy == Proxy::tensormap;
                }))
                return async(e);
            if (i_.insn.groups &
                (SASSDEC_GROUP_TENSOR | SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_ASYNC))
                return beyond("is not explored");
            write(input_reads_ | guard_reads_);
            if (i_.elects)
                for (const uint32_t r : i_.writes)
                    reg(r) = s_.constant(elected(code_.registers()[r], lane_, exists));
            return Step::past;
        case SassEffects::Call::warpsync: {
            const bool some =
                i_.insn.id == SASSDEC_ID_WARPSYNC || i_.insn.id == SASSDEC_ID_WARPSYNCCOLLECTIVE;
            return warpsync(some ? e.lanes & exists : exists);
        }
        case SassEffects::Call::barrier:
            return barrier(e.barrier);
        case SassEffects::Call::cluster_arrive: {
            const bool releases = i_.ptx_known && i_.intent.kind == IntentKind::barrier &&
                                  i_.intent.ordering == Ordering::release;
            return perform(
                op::ClusterArrive{releases ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED});
        }
        case SassEffects::Call::cluster_wait:
            return perform(op::ClusterWait{});
        case SassEffects::Call::mbarrier:
        case SassEffects::Call::mbarrier_test:
            return mbarrier(e);
        case SassEffects::Call::grid_wait:
            if (!sass_.overlaps(at_.launch)) return Step::past;
            self_.status = ThreadStatus::at_grid_wait;
            return Step::stop;
        case SassEffects::Call::product:
            return product(e);
        case SassEffects::Call::product_wait:
            return product_wait(e.left);
        case SassEffects::Call::product_fence:
            return product_fence();
        case SassEffects::Call::tensor_granules:
        case SassEffects::Call::tensor_access:
        case SassEffects::Call::tensor_work:
        case SassEffects::Call::tensor_commit:
            return tensor(e);
        case SassEffects::Call::exit:
            self_.status = ThreadStatus::ended;
            return Step::stop;
        case SassEffects::Call::fault:
            return fault(e);
        default:
            return async(e);
    }
}

Step SassTurn::barrier(const BarrierRequest& r) {
    op::Barrier o;
    o.waits = r.op != BarrierOp::arrive;
    if (!o.waits) o.order = SASSEMU_ORDER_RELEASE;
    o.number = uint64_t{r.id};
    if (r.threads) o.count = uint64_t{r.threads};
    o.reduction = r.op == BarrierOp::reduce_popc  ? Reduction::count
                  : r.op == BarrierOp::reduce_and ? Reduction::all
                  : r.op == BarrierOp::reduce_or  ? Reduction::any
                                                  : Reduction::none;
    if (o.reduction != Reduction::none) {
        o.to = Register{static_cast<uint32_t>(code_.number_of(index::reduced))};
        o.predicate = uint64_t{r.predicate >> lane_ & 1};
    }
    o.aligned = i_.ptx_known && i_.intent.kind == IntentKind::barrier && i_.intent.aligned;
    return perform(o);
}

// bar.warp.sync: a barrier of these lanes, which orders memory among them.
Step SassTurn::warpsync(uint32_t lanes) {
    if (std::popcount(lanes) <= 1) return Step::past;
    const uint64_t number = 16 + (uint64_t{at_.thread / 32} << 32 | lanes);
    const uint32_t e = add_ordered(SASSEMU_EVENT_ARRIVE | SASSEMU_EVENT_WAIT, SASSEMU_ORDER_ACQ_REL,
                                   SASSEMU_SCOPE_CTA);
    const std::array<uint64_t, 3> key = {static_cast<uint64_t>(me_.cta), number,
                                         self_.barriers[number]++};
    BarrierInstance& b = s_.barriers[key];
    b.arrivals.push_back({e, thread_, 1, 0, true});
    ++b.lanes;
    b.live_only = true;
    b.needed = lanes;  // which lanes; see all_live_are_here()
    return wait_at(key, {});
}

// The mbarrier object at a shared address of the cluster.
bool SassTurn::object(uint32_t address, Place& out) {
    if (sass_.mbarrier(test_, thread_, address, out)) return true;
    // One that is new: the search begins again, and knows it.
    if (!sass_.grew())
        refuse(
            "names no mbarrier: no 8 bytes of the shared memory of a CTA of the "
            "cluster");
    return false;
}

Step SassTurn::mbarrier(const SassEffects& e) {
    const bool initialises = i_.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_INIT),
               waits = i_.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST);
    if (!initialises && !waits && e.call != SassEffects::Call::mbarrier)
        return beyond("is not explored");
    if (e.change.counters)
        return beyond("is not explored: the objects of sm_80 are ordinary words");
    if (waits && i_.insists) outcome_ = 1;
    if (waits && outcome_ < 0) return Step::fork;
    op::MbarrierOperation o;
    if (!object(e.address, o.at)) return Step::stop;
    o.order = waits ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELEASE;
    o.scope = SASSEMU_SCOPE_CTA;
    if (i_.ptx_known && i_.intent.kind == IntentKind::mbarrier) {
        if (i_.intent.ordering == Ordering::relaxed) o.order = SASSEMU_ORDER_RELAXED;
        if (const uint32_t scope = scope_of(i_.intent.scope)) o.scope = scope;
    }
    if (initialises) {
        o.amount = uint64_t{Mbarrier::decode(e.object).pending};
        write(input_reads_);
        return perform(op::MbarrierInit{o});
    }
    if (waits) {
        // Shown an object in phase 0: true says that it asked for the end of phase 1.
        bool over = false;
        const SassLane& lane = sass_.lane(thread_);
        for (const uint32_t r : i_.writes) over |= lane.get(code_.registers()[r]) != 0;
        o.amount = uint64_t{!e.waited && over};
        MbarrierEvent& wait = add_mbarrier(MbarrierEvent::Kind::wait, SASSEMU_EVENT_WAIT, o);
        wait.result = outcome_ == 1;
        wait.insists = i_.insists;
        if (!i_.writes.empty()) reg(i_.writes[0]) = result_of(wait);
        return Step::past;
    }
    const bool expects = e.change.expect > 0;
    if (e.change.arrivals && expects && e.change.arrivals != 1)
        return beyond("is not explored: several arrivals with bytes");
    // The token says in which phase it arrived: a participant arrives once in each.
    uint32_t before = 0;
    for (const MbarrierEvent& other : s_.mbarriers)
        before += other.kind == MbarrierEvent::Kind::arrive &&
                  event(other.event).thread == static_cast<int32_t>(thread_) &&
                  other.location == test_.names[o.at.name].location;
    for (const uint32_t r : i_.writes) reg(r) = s_.constant((before & 1) << 31);
    o.amount = static_cast<uint64_t>(std::abs(e.change.expect));
    if (!e.change.arrivals) return perform(op::MbarrierTransaction{o, e.change.expect < 0});
    if (!expects) o.amount = uint64_t{e.change.arrivals};
    return perform(op::MbarrierArrive{o, e.change.drops != 0, false, expects});
}

}  // namespace sassemu::explore
