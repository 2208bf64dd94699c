// SPDX-License-Identifier: Apache-2.0
// Barriers: bar, barrier.cluster and mbarrier. docs/litmus.md, sections 2 and 3.
#include <algorithm>

#include "emu/explore/graph/turn.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {
namespace {

void pair_all(State& s, const BarrierInstance& b) {
    for (const auto& from : b.arrivals)
        for (const auto& to : b.arrivals)
            if (to.waits && to.event != from.event) s.pairing.push_back({from.event, to.event});
}

}  // namespace

Step Turn::perform(const op::Barrier& o) {
    const uint32_t number = value(o.number), count = o.count ? value(*o.count) : 0;
    for (const uint32_t v : {number, count})
        if (!s_.evaluate(v, p_)) return wait_for_value(v);
    const uint64_t id = *s_.evaluate(number, p_);
    if (id > 15) {
        s_.error = me_.id + ": " + where() + ": barrier numbers go from 0 to 15";
        return Step::stop;
    }
    self_.control |= s_.values[number].reads | s_.values[count].reads;
    const uint32_t e =
        add_ordered(SASSEMU_EVENT_ARRIVE | (o.waits ? uint32_t{SASSEMU_EVENT_WAIT} : 0u), o.order,
                    SASSEMU_SCOPE_CTA);
    const uint64_t instance = o.instance >= 0
                                  ? (uint64_t{1} << 32) + static_cast<uint64_t>(o.instance)
                                  : self_.barriers[id]++;
    const std::array<uint64_t, 3> key = {static_cast<uint64_t>(me_.cta), id, instance};
    BarrierInstance& b = s_.barriers[key];
    arrive(b, o, e);
    b.counted |= o.count.has_value();
    if (o.count) {
        b.needed = *s_.evaluate(count, p_);
    } else if (me_.sass) {
        b.live_only = true;
        b.needed = 0;
    } else if (!test_.corpus()) {
        b.needed = 0;
        for (const Thread& other : test_.threads)
            if (other.kind == ThreadKind::thread && other.cta == me_.cta) b.needed += other.lanes;
    }
    if (test_.corpus()) {
        // The corpora's dialect: without a count nobody waits, and the operations of one instance
        // meet. With a count, the choice of who meets whom is made when all have arrived
        // (explorer).
        if (!b.counted) {
            for (const auto& other : b.arrivals) {
                if (other.event == e) continue;
                if (o.waits) s_.pairing.push_back({other.event, e});
                if (other.waits) s_.pairing.push_back({e, other.event});
            }
        }
        b.complete = !b.counted || b.lanes >= b.needed;
    } else if (b.live_only) {
        // Complete when all that live have come: barrier_passed() looks.
    } else if (b.lanes > b.needed) {
        if (s_.undefined.empty()) s_.undefined = "barrier count";
    } else if (b.lanes == b.needed) {
        b.complete = true;
        pair_all(s_, b);
    }
    return o.waits ? wait_at(key, o.to) : Step::past;
}

// Notes the arrival; what does not fit to those before has no meaning.
void Turn::arrive(BarrierInstance& b, const op::Barrier& o, uint32_t e) {
    uint32_t predicate = 0;
    if (o.reduction != Reduction::none) {
        predicate = s_.arithmetic(o.negated ? Arithmetic::equal : Arithmetic::not_equal,
                                  value(o.predicate), 0);
        s_.events[e].data |= s_.values[predicate].reads;
    }
    const uint32_t lanes = test_.corpus() ? 1 : me_.lanes;
    const int32_t aligned = o.aligned ? event(e).source : -1;
    for (const auto& other : b.arrivals) {
        if ((aligned < 0 && other.aligned < 0) || event(other.event).source == event(e).source)
            continue;
        if (test_.sass->thread(other.thread).thread / 32 ==
                test_.sass->thread(thread_).thread / 32 &&
            s_.undefined.empty())
            s_.undefined = "diverged barrier";
    }
    b.arrivals.push_back({e, thread_, lanes, predicate, o.waits, aligned});
    b.lanes += lanes;
    if (b.arrivals.size() == 1) b.reduction = o.reduction;
    // PTX ISA 9.7.13: bar.red does not meet bar.sync, bar.arrive or another reduction.
    if (b.reduction != o.reduction && s_.undefined.empty()) s_.undefined = "barrier mix";
}

Step Turn::wait_at(const std::array<uint64_t, 3>& barrier, std::optional<Register> reduced_to) {
    self_.waits_at = barrier;
    self_.reduced_to = reduced_to;
    self_.status = ThreadStatus::at_barrier;
    if (!barrier_passed()) return Step::stop;
    self_.status = ThreadStatus::running;
    return Step::moved;
}

// Of machine code a warp arrives as a whole: with the lanes of it that have ended.
uint64_t Turn::lanes_here(const BarrierInstance& b) const {
    uint64_t lanes = b.lanes;
    for (uint32_t o = 0; o < s_.threads.size(); ++o) {
        if (!test_.threads[o].sass || s_.threads[o].status != ThreadStatus::ended) continue;
        bool beside = false, among = false;
        for (const auto& a : b.arrivals) {
            among |= a.thread == o;
            beside |= test_.threads[a.thread].cta == test_.threads[o].cta &&
                      test_.sass->thread(a.thread).thread / 32 == test_.sass->thread(o).thread / 32;
        }
        if (beside && !among) lanes += test_.threads[o].lanes;
    }
    return lanes;
}

// Of machine code: all threads that live, of the CTA or (b.needed) of these lanes of the warp.
bool Turn::all_live_are_here(const BarrierInstance& b) const {
    for (uint32_t o = 0; o < s_.threads.size(); ++o) {
        if (!test_.threads[o].sass || test_.threads[o].cta != me_.cta) continue;
        const uint32_t self = test_.sass->thread(thread_).thread,
                       other = test_.sass->thread(o).thread;
        if (b.needed && (self / 32 != other / 32 || !(b.needed >> other % 32 & 1))) continue;
        const bool here =
            std::ranges::any_of(b.arrivals, [&](const auto& a) { return a.thread == o; });
        if (!here && s_.threads[o].status != ThreadStatus::ended) return false;
    }
    return true;
}

bool Turn::barrier_passed() {
    BarrierInstance& b = s_.barriers[self_.waits_at];
    if (!b.complete &&
        (b.live_only ? all_live_are_here(b) : b.counted && me_.sass && lanes_here(b) >= b.needed)) {
        b.complete = true;
        pair_all(s_, b);
    }
    if (!b.complete) return false;
    for (const auto& a : b.arrivals)
        if (a.thread == thread_) self_.control.set(a.event);
    if (self_.reduced_to) {
        uint32_t sum = 0, lanes = 0;
        for (const auto& a : b.arrivals) {
            // Of machine code a thread is one, although a warp's last may count for more lanes.
            const uint32_t count = me_.sass ? 1 : a.lanes;
            sum = s_.arithmetic(Arithmetic::add, sum,
                                s_.arithmetic(Arithmetic::mul, a.predicate, s_.constant(count)));
            lanes += count;
        }
        if (b.reduction == Reduction::all)
            sum = s_.arithmetic(Arithmetic::equal, sum, s_.constant(lanes));
        if (b.reduction == Reduction::any) sum = s_.arithmetic(Arithmetic::not_equal, sum, 0);
        set(*self_.reduced_to, sum);
        // B2R shows the count, and as a predicate what the reduction says.
        if (me_.sass)
            if (const int32_t r = test_.sass->code(test_.sass->thread(thread_).launch)
                                      .number_of(sass_register::reduced_of);
                r >= 0)
                set({static_cast<uint32_t>(r)}, s_.arithmetic(Arithmetic::not_equal, sum, 0));
    }
    ++self_.pc;
    return true;
}

Step Turn::perform(const op::ClusterArrive& o) {
    const uint32_t e = add_ordered(SASSEMU_EVENT_ARRIVE, o.order, SASSEMU_SCOPE_CLUSTER);
    s_.clusters[{me_.cluster, self_.cluster_arrivals++}].arrivals.push_back(e);
    return Step::past;
}

Step Turn::perform(const op::ClusterWait&) {
    if (self_.cluster_waits >= self_.cluster_arrivals)
        return refuse("waits without having arrived");
    self_.status = ThreadStatus::at_cluster;
    if (!cluster_passed()) return Step::stop;
    self_.status = ThreadStatus::running;
    return Step::moved;
}

// The k-th wait is let through when every thread of the cluster has arrived k times or has ended.
bool Turn::cluster_passed() {
    const uint32_t phase = self_.cluster_waits;
    for (uint32_t o = 0; o < s_.threads.size(); ++o) {
        const Thread& other = test_.threads[o];
        if (other.kind != ThreadKind::thread || other.cluster != me_.cluster) continue;
        if (s_.threads[o].cluster_arrivals <= phase && s_.threads[o].status != ThreadStatus::ended)
            return false;
    }
    const uint32_t e =
        add_ordered(SASSEMU_EVENT_WAIT, SASSEMU_ORDER_ACQUIRE, SASSEMU_SCOPE_CLUSTER);
    for (uint32_t k = 0; k <= phase; ++k)
        for (const uint32_t a : s_.clusters[{me_.cluster, k}].arrivals)
            s_.pairing.push_back({a, e});
    ++self_.cluster_waits;
    self_.control.set(e);
    ++self_.pc;
    return true;
}

// An operation on an object, and its event; of one that is no arrival and no wait the order counts
// for nothing.
MbarrierEvent& Turn::add_mbarrier(MbarrierEvent::Kind kind, uint32_t event_kind,
                                  const op::MbarrierOperation& o) {
    const uint32_t amount = value(o.amount);
    const uint32_t e = add_event(event_kind);
    place(e, o.at);
    event(e).order = event_kind ? o.order : uint32_t{SASSEMU_ORDER_WEAK};
    event(e).scope = o.scope;
    s_.events[e].data |= s_.values[amount].reads;
    if (kind != MbarrierEvent::Kind::wait) self_.first_impure = e + 1;
    MbarrierEvent& out = s_.mbarriers.emplace_back();
    out.kind = kind;
    out.event = e;
    out.location = event(e).location;
    out.amount = amount;
    return out;
}

Step Turn::perform(const op::MbarrierInit& o) {
    const uint32_t e = add_mbarrier(MbarrierEvent::Kind::init, 0, o).event;
    event(e).operation = SASSEMU_OPERATION_MBARRIER_INIT;
    return Step::past;
}

Step Turn::perform(const op::MbarrierArrive& o) {
    MbarrierEvent& e = add_mbarrier(MbarrierEvent::Kind::arrive, SASSEMU_EVENT_ARRIVE, o);
    e.drop = o.drop;
    e.keeps_phase = o.no_complete;
    if (o.expects) e.expected = std::exchange(e.amount, s_.constant(1));
    return Step::past;
}

Step Turn::perform(const op::MbarrierTransaction& o) {
    add_mbarrier(MbarrierEvent::Kind::transaction, 0, o).negative = o.completes;
    return Step::past;
}

Step Turn::perform(const op::MbarrierWait& o) {
    if (o.to && outcome_ < 0) return Step::fork;
    MbarrierEvent& e = add_mbarrier(MbarrierEvent::Kind::wait, SASSEMU_EVENT_WAIT, o);
    e.result = !o.to || outcome_ == 1;
    e.insists = o.insists;
    if (o.to)
        set(*o.to, result_of(e));
    else
        self_.control.set(e.event);
    return Step::past;
}

uint32_t Turn::result_of(const MbarrierEvent& wait) {
    Events reads;
    reads.set(wait.event);
    return s_.constant(wait.result, reads);
}

}  // namespace sassemu::explore
