// SPDX-License-Identifier: Apache-2.0
// The step machine's barriers in machine code, and what else is neither a value, a branch nor an
// access. See sass_steps.cpp.
#include <algorithm>
#include <bit>

#include "emu/explore/graph/sass_steps.hpp"
#include "emu/machine/mbarrier.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace reg = sass_register;

uint32_t elected(uint32_t index, uint32_t lane, uint32_t exists) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(exists));
    const bool predicate =
        (index >= reg::predicate && index < reg::uniform) || index >= reg::uniform_predicate;
    return predicate ? lane == leader : leader;
}

Machine::Step Machine::sass_other(State& s, Sass& at, int32_t outcome) const {
    using Call = SassEffects::Call;
    ThreadState& t = s.threads[at.thread];
    const SassInstruction& i = at.i;
    if (!at.known) return sass_wait(s, at, at.unknown, 0);
    SassLane& lane = at.p.lane(at.thread);
    if (i.insn.id == SASSDEC_ID_B2R) {
        for (const uint32_t r : i.writes) {
            const bool count = at.code.registers()[r] < reg::predicate;
            t.registers[r] = t.registers[static_cast<size_t>(
                at.code.number_of(count ? reg::reduced : reg::reduced_of))];
        }
        ++t.pc;
        return Step::done;
    }
    const SassThread& self = at.p.thread(at.thread);
    const uint32_t threads = static_cast<uint32_t>(at.p.launch(self.launch).launch.block.count());
    const uint32_t exists = low_lanes(std::min(32u, threads - self.thread / 32 * 32));
    if (i.warp && std::popcount(exists) > 1)
        return sass_refuse(s, at,
                           "is not explored: it exchanges values between the threads of a warp; "
                           "use one thread a warp");
    if (i.meets) return sass_warpsync(s, at, exists);
    const SassEffects e = at.run(lane);
    switch (e.call) {
        case Call::none:
            if (std::ranges::any_of(e.accesses,
                                    [](const Access& a) { return a.proxy == Proxy::tensormap; }))
                return sass_async(s, at, e);
            if (i.insn.groups &
                (SASSDEC_GROUP_TENSOR | SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_ASYNC))
                return sass_refuse(s, at, "is not explored");
            sass_write(s, at, lane, at.input_reads | at.guard_reads);
            if (i.elects)
                for (const uint32_t r : i.writes)
                    t.registers[r] =
                        s.constant(elected(at.code.registers()[r], lane.lane(), exists));
            break;
        case Call::warpsync:
            return sass_warpsync(
                s, at,
                i.insn.id == SASSDEC_ID_WARPSYNC || i.insn.id == SASSDEC_ID_WARPSYNCCOLLECTIVE
                    ? e.lanes & exists
                    : exists);
        case Call::barrier:
            return sass_barrier(s, at, e.barrier);
        case Call::cluster_arrive:
        case Call::cluster_wait: {
            Instruction op;
            const bool arrives = e.call == Call::cluster_arrive;
            op.op = arrives ? explore::Op::cluster_arrive : explore::Op::cluster_wait;
            op.arrives = arrives;
            op.waits = !arrives;
            op.scope = SASSEMU_SCOPE_CLUSTER;
            op.order = !arrives ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED;
            if (arrives && i.ptx_known && i.intent.kind == IntentKind::barrier &&
                i.intent.ordering == Ordering::release)
                op.order = SASSEMU_ORDER_RELEASE;
            op.text = at.code.text(at.pc);
            t.current = std::make_shared<Instruction>(op);
            return cluster(s, at.thread, *t.current);
        }
        case Call::mbarrier:
        case Call::mbarrier_test:
            return sass_mbarrier(s, at, e, outcome);
        case Call::exit:
            t.status = ThreadStatus::ended;
            return Step::stop;
        case Call::fault:
            return sass_refuse(s, at, std::string("faults: ") + e.problem);
        default:
            return sass_async(s, at, e);
    }
    ++s.threads[at.thread].pc;
    return Step::done;
}

Machine::Step Machine::sass_barrier(State& s, Sass& at, const BarrierRequest& r) const {
    Instruction op;
    op.op = explore::Op::barrier;
    op.order = SASSEMU_ORDER_ACQ_REL;
    op.scope = SASSEMU_SCOPE_CTA;
    op.arrives = true;
    op.waits = r.op != BarrierOp::arrive;
    if (!op.waits) op.order = SASSEMU_ORDER_RELEASE;
    const auto number = [](uint64_t v) {
        Operand o;
        o.kind = Operand::Kind::value;
        o.value = v;
        return o;
    };
    op.b = number(r.id);
    if (r.threads) op.c = number(r.threads);
    op.reduction = r.op == BarrierOp::reduce_popc  ? Reduction::count
                   : r.op == BarrierOp::reduce_and ? Reduction::all
                   : r.op == BarrierOp::reduce_or  ? Reduction::any
                                                   : Reduction::none;
    if (op.reduction != Reduction::none) {
        op.a.kind = Operand::Kind::reg;
        op.a.reg = static_cast<uint32_t>(at.code.number_of(reg::reduced));
        op.d = number(r.predicate >> (at.p.thread(at.thread).thread % 32) & 1);
    }
    op.aligned = at.i.ptx_known && at.i.intent.kind == IntentKind::barrier && at.i.intent.aligned;
    op.text = at.code.text(at.pc);
    ThreadState& t = s.threads[at.thread];
    t.current = std::make_shared<Instruction>(op);
    const auto current = t.current;
    return barrier(s, at.thread, *current);
}

// bar.warp.sync: a barrier of these lanes, which orders memory among them.
Machine::Step Machine::sass_warpsync(State& s, Sass& at, uint32_t lanes) const {
    ThreadState& t = s.threads[at.thread];
    if (std::popcount(lanes) <= 1) {
        ++t.pc;
        return Step::done;
    }
    Instruction op;
    op.op = explore::Op::barrier;
    op.order = SASSEMU_ORDER_ACQ_REL;
    op.scope = SASSEMU_SCOPE_CTA;
    op.arrives = op.waits = true;
    op.text = at.code.text(at.pc);
    t.current = std::make_shared<Instruction>(op);
    const uint32_t warp = at.p.thread(at.thread).thread / 32;
    const uint64_t number = 16 + (uint64_t{warp} << 32 | lanes);
    const uint32_t e = add_event(s, at.thread, SASSEMU_EVENT_ARRIVE | SASSEMU_EVENT_WAIT);
    s.events[e].e.order = op.order;
    s.events[e].e.scope = op.scope;
    ThreadState& u = s.threads[at.thread];
    const std::array<uint64_t, 3> key = {static_cast<uint64_t>(test_.threads[at.thread].cta),
                                         number, u.barriers[number]++};
    BarrierInstance& b = s.barriers[key];
    b.arrivals.push_back({e, at.thread, 1, 0, true});
    ++b.lanes;
    b.live_only = true;
    b.needed = lanes;  // which lanes; see barrier_passed()
    u.waits_at = key;
    u.status = ThreadStatus::at_barrier;
    return Step::stop;
}

Machine::Step Machine::sass_mbarrier(State& s, Sass& at, const SassEffects& e,
                                     int32_t outcome) const {
    const SassInstruction& i = at.i;
    const bool initialises = i.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_INIT),
               waits = i.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST);
    if (!initialises && !waits && e.call != SassEffects::Call::mbarrier)
        return sass_refuse(s, at, "is not explored");
    if (e.change.counters)
        return sass_refuse(s, at, "is not explored: the objects of sm_80 are ordinary words");
    if (waits && i.insists) outcome = 1;
    if (waits && outcome < 0) return Step::fork;
    Instruction op;
    if (!sass_object(s, at, e.address, op.b)) return Step::stop;
    SassLane& lane = at.p.lane(at.thread);
    op.text = at.code.text(at.pc);
    op.order = waits ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELEASE;
    op.scope = SASSEMU_SCOPE_CTA;
    if (i.ptx_known && i.intent.kind == IntentKind::mbarrier) {
        if (i.intent.ordering == Ordering::relaxed) op.order = SASSEMU_ORDER_RELAXED;
        op.scope = scope_of(i.intent.scope);
        if (op.scope == SASSEMU_SCOPE_NONE) op.scope = SASSEMU_SCOPE_CTA;
    }
    const auto amount = [&](uint64_t v) {
        op.c.kind = Operand::Kind::value;
        op.c.value = v;
    };
    ThreadState& t = s.threads[at.thread];
    if (initialises) {
        op.op = explore::Op::mbarrier_init;
        amount(Mbarrier::decode(e.object).pending);
        sass_write(s, at, lane, at.input_reads);
    } else if (waits) {
        op.op = explore::Op::mbarrier_wait;
        op.insists = i.insists;
        op.fetches = true;
        op.a.kind = Operand::Kind::reg;
        op.a.reg = i.writes.empty() ? 0 : i.writes[0];
        // Shown an object in phase 0: true says that it asked for the end of phase 1.
        bool over = false;
        for (const uint32_t r : i.writes) over |= lane.get(at.code.registers()[r]) != 0;
        amount(!e.waited && over);
    } else {
        if (e.change.arrivals) {
            op.op = explore::Op::mbarrier_arrive;
            op.drop = e.change.drops != 0;
            op.expects = e.change.expect > 0;
            amount(op.expects ? static_cast<uint64_t>(e.change.expect) : e.change.arrivals);
            if (op.expects && e.change.arrivals != 1)
                return sass_refuse(s, at, "is not explored: several arrivals with bytes");
        } else {
            op.op = e.change.expect >= 0 ? explore::Op::mbarrier_expect
                                         : explore::Op::mbarrier_complete;
            amount(static_cast<uint64_t>(std::abs(e.change.expect)));
        }
        // The token says in which phase it arrived: a participant arrives once in each.
        uint32_t before = 0;
        for (const MbarrierOp& o : s.mbarriers)
            before += o.kind == MbarrierOp::Kind::arrive &&
                      s.events[o.event].e.thread == static_cast<int32_t>(at.thread) &&
                      o.location == test_.names[op.b.name].location;
        for (const uint32_t r : i.writes) t.registers[r] = s.constant((before & 1) << 31);
    }
    const uint32_t unwritten = i.writes.empty() ? 0 : t.registers[op.a.reg];
    mbarrier(s, at.thread, op, outcome);
    ThreadState& u = s.threads[at.thread];
    if (waits && i.writes.empty() && op.a.reg < u.registers.size())
        u.registers[op.a.reg] = unwritten;
    ++u.pc;
    return Step::done;
}

}  // namespace sassemu::explore
