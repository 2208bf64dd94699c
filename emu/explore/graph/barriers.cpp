// SPDX-License-Identifier: Apache-2.0
// The step machine's barriers: bar, barrier.cluster and mbarrier. docs/litmus.md, sections 2 and 3.
#include <algorithm>

#include "emu/explore/graph/stepper.hpp"

namespace sassemu::explore {
namespace {

void pair_all(State& s, const BarrierInstance& b) {
    for (const auto& from : b.arrivals)
        for (const auto& to : b.arrivals)
            if (to.waits && to.event != from.event) s.pairing.push_back({from.event, to.event});
}

}  // namespace

Machine::Step Machine::barrier(State& s, uint32_t thread, const Instruction& i) const {
    uint32_t number = constant_or_value(s, thread, i.b);
    const bool counted = i.c.kind != Operand::Kind::none;
    const uint32_t count = counted ? constant_or_value(s, thread, i.c) : 0;
    for (const uint32_t v : {number, count})
        if (!s.evaluate(v, p_)) {
            s.threads[thread].status = ThreadStatus::needs_value;
            s.threads[thread].needs = v;
            return Step::stop;
        }
    const uint64_t id = *s.evaluate(number, p_);
    if (id > 15) {
        s.error = test_.threads[thread].id + ": '" + i.text + "': barrier numbers go from 0 to 15";
        return Step::stop;
    }
    s.threads[thread].control |= s.values[number].reads | s.values[count].reads;
    const uint32_t e =
        add_event(s, thread, SASSEMU_EVENT_ARRIVE | (i.waits ? uint32_t{SASSEMU_EVENT_WAIT} : 0u));
    s.events[e].e.order = i.order;
    s.events[e].e.scope = SASSEMU_SCOPE_CTA;
    ThreadState& t = s.threads[thread];
    const uint64_t instance = i.instance >= 0
                                  ? (uint64_t{1} << 32) + static_cast<uint64_t>(i.instance)
                                  : t.barriers[id]++;
    const std::array<uint64_t, 3> key = {static_cast<uint64_t>(test_.threads[thread].cta), id,
                                         instance};
    BarrierInstance& b = s.barriers[key];
    uint32_t predicate = 0;
    if (i.reduction != Reduction::none) {
        predicate = s.arithmetic(i.negated ? Op::equal : Op::not_equal,
                                 constant_or_value(s, thread, i.d), 0);
        s.events[e].data |= s.values[predicate].reads;
    }
    const uint32_t lanes = test_.corpus() ? 1 : test_.threads[thread].lanes;
    const int32_t aligned = i.aligned ? s.events[e].e.source : -1;
    for (const auto& other : b.arrivals) {
        if ((aligned < 0 && other.aligned < 0) ||
            s.events[other.event].e.source == s.events[e].e.source)
            continue;
        if (test_.sass->thread(other.thread).thread / 32 ==
                test_.sass->thread(thread).thread / 32 &&
            s.undefined.empty())
            s.undefined = "diverged barrier";
    }
    b.arrivals.push_back({e, thread, lanes, predicate, i.waits, aligned});
    b.lanes += lanes;
    if (b.arrivals.size() == 1) b.reduction = i.reduction;
    // PTX ISA 9.7.13: bar.red does not meet bar.sync, bar.arrive or another reduction.
    if (b.reduction != i.reduction && s.undefined.empty()) s.undefined = "barrier mix";
    b.counted |= counted;
    if (counted) {
        b.needed = *s.evaluate(count, p_);
    } else if (test_.threads[thread].sass) {
        b.live_only = true;
        b.needed = 0;
    } else if (!test_.corpus()) {
        b.needed = 0;
        for (const Thread& other : test_.threads)
            if (other.kind == ThreadKind::thread && other.cta == test_.threads[thread].cta)
                b.needed += other.lanes;
    }
    if (test_.corpus()) {
        // The corpora's dialect: without a count nobody waits, and the operations of one instance
        // meet. With a count, the choice of who meets whom is made when all have arrived
        // (explorer).
        if (!b.counted) {
            for (const auto& other : b.arrivals) {
                if (other.event == e) continue;
                if (i.waits) s.pairing.push_back({other.event, e});
                if (other.waits) s.pairing.push_back({e, other.event});
            }
        }
        b.complete = !b.counted || b.lanes >= b.needed;
    } else if (b.live_only) {
        // Complete when all that live have come: barrier_passed() looks.
    } else if (b.lanes > b.needed) {
        if (s.undefined.empty()) s.undefined = "barrier count";
    } else if (b.lanes == b.needed) {
        b.complete = true;
        pair_all(s, b);
    }
    if (!i.waits) {
        ++s.threads[thread].pc;
        return Step::done;
    }
    s.threads[thread].waits_at = key;
    s.threads[thread].status = ThreadStatus::at_barrier;
    if (!barrier_passed(s, thread)) return Step::stop;
    s.threads[thread].status = ThreadStatus::running;
    return Step::done;
}

// Of machine code a warp arrives as a whole: with the lanes of it that have ended.
uint64_t Machine::lanes_here(const State& s, const BarrierInstance& b) const {
    uint64_t lanes = b.lanes;
    for (uint32_t o = 0; o < s.threads.size(); ++o) {
        if (!test_.threads[o].sass || s.threads[o].status != ThreadStatus::ended) continue;
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

bool Machine::barrier_passed(State& s, uint32_t thread) const {
    ThreadState& t = s.threads[thread];
    BarrierInstance& b = s.barriers[t.waits_at];
    // Of machine code: all threads that live, of the CTA or (b.needed) of these lanes of the warp.
    if (b.live_only && !b.complete) {
        for (uint32_t o = 0; o < s.threads.size(); ++o) {
            if (!test_.threads[o].sass || test_.threads[o].cta != test_.threads[thread].cta)
                continue;
            const uint32_t self = test_.sass->thread(thread).thread,
                           other = test_.sass->thread(o).thread;
            if (b.needed && (self / 32 != other / 32 || !(b.needed >> other % 32 & 1))) continue;
            const bool here = std::any_of(b.arrivals.begin(), b.arrivals.end(),
                                          [&](const auto& a) { return a.thread == o; });
            if (!here && s.threads[o].status != ThreadStatus::ended) return false;
        }
        b.complete = true;
        pair_all(s, b);
    }
    if (!b.complete && b.counted && test_.threads[thread].sass && lanes_here(s, b) >= b.needed) {
        b.complete = true;
        pair_all(s, b);
    }
    if (!b.complete) return false;
    const Instruction& i = current(s, thread);
    for (const auto& a : b.arrivals)
        if (a.thread == thread) t.control.set(a.event);
    if (i.reduction != Reduction::none) {
        uint32_t sum = 0, lanes = 0;
        for (const auto& a : b.arrivals) {
            sum =
                s.arithmetic(Op::add, sum, s.arithmetic(Op::mul, a.predicate, s.constant(a.lanes)));
            lanes += a.lanes;
        }
        if (i.reduction == Reduction::all) sum = s.arithmetic(Op::equal, sum, s.constant(lanes));
        if (i.reduction == Reduction::any) sum = s.arithmetic(Op::not_equal, sum, 0);
        t.registers[i.a.reg] = sum;
        // B2R shows the count, and as a predicate what the reduction says.
        if (test_.threads[thread].sass)
            if (const int32_t r = test_.sass->code(test_.sass->thread(thread).launch)
                                      .number_of(sass_register::reduced_of);
                r >= 0)
                t.registers[static_cast<size_t>(r)] = s.arithmetic(Op::not_equal, sum, 0);
    }
    ++t.pc;
    return true;
}

Machine::Step Machine::cluster(State& s, uint32_t thread, const Instruction& i) const {
    ThreadState& t = s.threads[thread];
    const int32_t cluster = test_.threads[thread].cluster;
    if (i.op == Op::cluster_arrive) {
        const uint32_t e = add_event(s, thread, SASSEMU_EVENT_ARRIVE);
        s.events[e].e.order = i.order;
        s.events[e].e.scope = SASSEMU_SCOPE_CLUSTER;
        s.clusters[{cluster, t.cluster_arrivals++}].arrivals.push_back(e);
        ++t.pc;
        return Step::done;
    }
    if (t.cluster_waits >= t.cluster_arrivals) {
        s.error = test_.threads[thread].id + ": '" + i.text + "' waits without having arrived";
        return Step::stop;
    }
    t.status = ThreadStatus::at_barrier;
    if (!cluster_passed(s, thread)) return Step::stop;
    s.threads[thread].status = ThreadStatus::running;
    return Step::done;
}

// The k-th wait is let through when every thread of the cluster has arrived k times or has ended.
bool Machine::cluster_passed(State& s, uint32_t thread) const {
    const int32_t cluster = test_.threads[thread].cluster;
    const uint32_t phase = s.threads[thread].cluster_waits;
    for (uint32_t o = 0; o < s.threads.size(); ++o) {
        const Thread& other = test_.threads[o];
        if (other.kind != ThreadKind::thread || other.cluster != cluster) continue;
        if (s.threads[o].cluster_arrivals <= phase && s.threads[o].status != ThreadStatus::ended)
            return false;
    }
    const uint32_t e = add_event(s, thread, SASSEMU_EVENT_WAIT);
    s.events[e].e.order = SASSEMU_ORDER_ACQUIRE;
    s.events[e].e.scope = SASSEMU_SCOPE_CLUSTER;
    for (uint32_t k = 0; k <= phase; ++k)
        for (const uint32_t a : s.clusters[{cluster, k}].arrivals) s.pairing.push_back({a, e});
    ThreadState& t = s.threads[thread];
    ++t.cluster_waits;
    t.control.set(e);
    ++t.pc;
    return true;
}

void Machine::mbarrier(State& s, uint32_t thread, const Instruction& i, int32_t outcome) const {
    using Kind = MbarrierOp::Kind;
    const bool arrives = i.op == Op::mbarrier_arrive, waits = i.op == Op::mbarrier_wait;
    const uint32_t operand =
        i.c.kind == Operand::Kind::none ? s.constant(1) : constant_or_value(s, thread, i.c);
    const uint32_t e = add_event(s, thread,
                                 arrives ? uint32_t{SASSEMU_EVENT_ARRIVE}
                                 : waits ? uint32_t{SASSEMU_EVENT_WAIT}
                                         : 0u);
    place(s, e, i.b, 0);
    s.events[e].e.order = arrives || waits ? i.order : static_cast<uint32_t>(SASSEMU_ORDER_WEAK);
    s.events[e].e.scope = i.scope;
    s.events[e].data |= s.values[operand].reads;
    MbarrierOp op{Kind::wait, e, s.events[e].e.location};
    op.amount = operand;
    ThreadState& t = s.threads[thread];
    if (waits) {
        op.result = !i.fetches || outcome == 1;
        op.insists = i.insists;
        if (i.fetches) {
            Value v;
            v.constant = op.result;
            v.reads.set(e);
            t.registers[i.a.reg] = s.add(std::move(v));
        } else {
            t.control.set(e);
        }
        s.mbarriers.push_back(op);
        return;
    }
    t.first_impure = e + 1;
    if (i.op == Op::mbarrier_init) {
        s.events[e].e.operation = SASSEMU_OPERATION_MBARRIER_INIT;
        op.kind = Kind::init;
    } else if (arrives) {
        op.kind = Kind::arrive;
        op.drop = i.drop;
        op.keeps_phase = i.no_complete;
        if (i.expects) {
            op.expected = operand;
            op.amount = s.constant(1);
        }
    } else {
        op.kind = Kind::transaction;
        op.negative = i.op == Op::mbarrier_complete;
    }
    s.mbarriers.push_back(op);
}

}  // namespace sassemu::explore
