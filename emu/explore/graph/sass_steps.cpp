// SPDX-License-Identifier: Apache-2.0
// The step machine's instructions in machine code. Registers hold values that may still be open;
// whatever an instruction computes is computed by the emulator's own handler once its inputs are
// known (sass/lane.hpp). What belongs here: which events an instruction makes and what each depends
// on. Barriers are in sass_barriers.cpp.
#include <algorithm>

#include "emu/explore/graph/sass_steps.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace reg = sass_register;

namespace {

constexpr uint32_t most_guesses = 256;

uint32_t order_of(Ordering o) {
    constexpr uint32_t orders[] = {
        SASSEMU_ORDER_WEAK,    SASSEMU_ORDER_RELAXED, SASSEMU_ORDER_ACQUIRE,  SASSEMU_ORDER_RELEASE,
        SASSEMU_ORDER_ACQ_REL, SASSEMU_ORDER_SC,      SASSEMU_ORDER_VOLATILE, SASSEMU_ORDER_MMIO};
    return orders[static_cast<size_t>(o)];
}

}  // namespace

uint32_t scope_of(MemScope s) {
    switch (s) {
        case MemScope::none:
            return SASSEMU_SCOPE_NONE;
        case MemScope::cta:
        case MemScope::sm:
            return SASSEMU_SCOPE_CTA;
        case MemScope::cluster:
            return SASSEMU_SCOPE_CLUSTER;
        case MemScope::vc:
        case MemScope::gpu:
            return SASSEMU_SCOPE_GPU;
        case MemScope::sys:
            return SASSEMU_SCOPE_SYS;
    }
    return SASSEMU_SCOPE_SYS;
}

Machine::Step Machine::sass(State& s, uint32_t thread, int32_t outcome) const {
    const SassProgram& p = *test_.sass;
    const SassCode& code = p.code(p.thread(thread).launch);
    ThreadState& t = s.threads[thread];
    const uint32_t pc = t.pc;
    Sass at{thread, pc,    p, code, code.at(std::min(pc, code.count() - 1)), {}, {}, {},
            true,   false, 0, {}};
    if (pc >= code.count() || !at.i.decodes)
        return sass_refuse(s, at, "is no instruction: execution ran off the code");
    const bool head = code.loop_head(pc);
    if (head) t.visits.push_back({pc, static_cast<uint32_t>(s.events.size()), t.registers});
    const size_t before = s.events.size();
    const Step step = sass_instruction(s, at, outcome);
    // A guarded instruction is there because of its guard.
    for (size_t e = before; e < s.events.size(); ++e) s.events[e].control |= at.guard_reads;
    ThreadState& after = s.threads[thread];
    if (head && step != Step::done && s.events.size() == before && !after.visits.empty())
        after.visits.pop_back();
    if (step == Step::done) after.guessed_guard = -1, after.guessed_place = -1, after.guesses = 0;
    return step;
}

Machine::Step Machine::sass_refuse(State& s, Sass& at, const std::string& why) const {
    s.error = test_.threads[at.thread].id + ": " + at.code.place(at.pc) + ": '" +
              at.code.text(at.pc) + "' " + why;
    return Step::stop;
}

// Until the value is known; or, where `guesses` of it are possible, until the search puts it off.
Machine::Step Machine::sass_wait(State& s, Sass& at, uint32_t value, uint32_t guesses) const {
    ThreadState& t = s.threads[at.thread];
    t.status = ThreadStatus::needs_value;
    t.needs = value;
    t.guesses = guesses;
    return Step::stop;
}

Machine::Step Machine::sass_instruction(State& s, Sass& at, int32_t outcome) const {
    using Kind = SassInstruction::Kind;
    const SassInstruction& i = at.i;
    ThreadState& t = s.threads[at.thread];
    bool on = true;
    if (i.guard >= 0) {
        const uint32_t guard = t.registers[static_cast<size_t>(i.guard)];
        at.guard_reads = s.values[guard].reads;
        if (const auto known = s.evaluate(guard, p_)) {
            on = (*known != 0) != i.guard_negated;
        } else if (i.kind == Kind::plain) {
            at.open_guard = true;
        } else if (t.guessed_guard >= 0) {
            on = t.guessed_guard != 0;
        } else if (outcome >= 0) {
            on = outcome != 0;
            s.assumptions.push_back({guard, on != i.guard_negated});
            t.guessed_guard = static_cast<int8_t>(outcome);
            outcome = -1;
        } else {
            return sass_wait(s, at, guard, i.kind == Kind::control ? 0 : 2);
        }
    }
    if (!on) {
        if (i.kind == Kind::control) t.control |= at.guard_reads;
        for (const uint32_t r : i.writes)
            t.registers[r] = s.depending(t.registers[r], at.guard_reads);
        ++t.pc;
        return Step::done;
    }
    if (!i.refused.empty()) return sass_refuse(s, at, i.refused);
    for (const Instruction& o : i.orders) fence(s, at.thread, o);
    at.in.resize(i.reads.size());
    for (size_t k = 0; k < i.reads.size(); ++k) {
        const uint32_t v = t.registers[i.reads[k]];
        if (i.data[k]) continue;
        at.input_reads |= s.values[v].reads;
        if (const auto known = s.evaluate(v, p_))
            at.in[k] = static_cast<uint32_t>(*known);
        else if (at.known)
            at.known = false, at.unknown = v;
    }
    switch (i.kind) {
        case Kind::plain:
            return sass_plain(s, at);
        case Kind::control:
            return sass_control(s, at);
        case Kind::access:
            return sass_access(s, at, outcome);
        case Kind::order:
            ++t.pc;
            return Step::done;
        case Kind::other:
            return sass_other(s, at, outcome);
    }
    return Step::stop;
}

// Runs the handler; registers whose values are open hold 0.
const SassEffects& Machine::Sass::run(SassLane& lane) const {
    for (size_t k = 0; k < in.size(); ++k)
        lane.set(code.registers()[i.reads[k]], static_cast<uint32_t>(in[k]));
    lane.set_object(0);
    return lane.run(p.op(p.thread(thread).launch, pc));
}

// What the handler left in the registers that it writes.
void Machine::sass_write(State& s, Sass& at, const SassLane& lane, const Events& reads) const {
    ThreadState& t = s.threads[at.thread];
    for (const uint32_t r : at.i.writes)
        if (at.code.registers()[r] < reg::reduced)
            t.registers[r] = s.constant(lane.get(at.code.registers()[r]), reads);
}

Machine::Step Machine::sass_plain(State& s, Sass& at) const {
    ThreadState& t = s.threads[at.thread];
    const SassInstruction& i = at.i;
    if (at.known && !at.open_guard) {
        SassLane& lane = at.p.lane(at.thread);
        const SassEffects& e = at.run(lane);
        if (e.call == SassEffects::Call::fault)
            return sass_refuse(s, at, std::string("faults: ") + e.problem);
        sass_write(s, at, lane, at.input_reads | at.guard_reads);
    } else if (!i.writes.empty()) {
        auto inputs = std::make_shared<std::vector<uint32_t>>();
        for (const uint32_t r : i.reads) inputs->push_back(t.registers[r]);
        for (const uint32_t r : i.writes) {
            Value v;
            v.kind = Value::Kind::sass;
            v.a = at.code.registers()[r];
            v.b = at.thread;
            v.c = at.pc;
            v.inputs = inputs;
            v.reads = at.input_reads;
            uint32_t now = s.add(std::move(v));
            if (i.guard >= 0) {
                const uint32_t guard = t.registers[static_cast<size_t>(i.guard)];
                now = at.open_guard ? s.select(guard, i.guard_negated ? t.registers[r] : now,
                                               i.guard_negated ? now : t.registers[r])
                                    : s.depending(now, at.guard_reads);
            }
            at.fresh.push_back(now);
        }
        // Only now, since the guard may be among them.
        for (size_t k = 0; k < i.writes.size(); ++k) t.registers[i.writes[k]] = at.fresh[k];
    }
    ++t.pc;
    return Step::done;
}

Machine::Step Machine::sass_control(State& s, Sass& at) const {
    ThreadState& t = s.threads[at.thread];
    if (!at.known) return sass_wait(s, at, at.unknown, 0);
    SassLane& lane = at.p.lane(at.thread);
    const SassEffects& e = at.run(lane);
    t.control |= at.input_reads | at.guard_reads;
    if (e.call == SassEffects::Call::exit) {
        t.status = ThreadStatus::ended;
        return Step::stop;
    }
    if (e.call == SassEffects::Call::fault || !e.next)
        return sass_refuse(s, at,
                           std::string("faults: ") + (e.problem ? e.problem : "it leads nowhere"));
    sass_write(s, at, lane, at.input_reads);
    const auto next = static_cast<uint32_t>(e.next - at.code.image().ops());
    if (next >= at.code.count())
        return sass_refuse(s, at, "calls the driver, which is not explored");
    if (next == at.pc + 1)
        ++t.pc;
    else
        jump(s, at.thread, next);
    return Step::done;
}

// An access whose address is open waits for it, or goes on with one that the search may put to it:
// what comes behind it in the thread does not depend on its address.
Machine::Step Machine::sass_access(State& s, Sass& at, int32_t outcome) const {
    ThreadState& t = s.threads[at.thread];
    std::optional<uint64_t> guessed;
    if (!at.known) {
        Value v;
        v.kind = Value::Kind::sass;
        v.a = Value::address;
        v.b = at.thread;
        v.c = at.pc;
        auto inputs = std::make_shared<std::vector<uint32_t>>();
        for (const uint32_t r : at.i.reads) inputs->push_back(t.registers[r]);
        v.inputs = std::move(inputs);
        v.reads = at.input_reads;
        SassLane& lane = at.p.lane(at.thread);
        const SassEffects& e = at.run(lane);
        std::vector<uint64_t> places;
        if (!e.accesses.empty() && e.accesses[0].space != AccessSpace::local) {
            const bool near = e.accesses[0].space == AccessSpace::shared;
            const uint64_t bytes = e.accesses[0].bytes;
            std::vector<std::pair<uint64_t, uint64_t>> ranges;
            if (near)
                ranges.emplace_back(0,
                                    at.p.launch(at.p.thread(at.thread).launch).launch.shared_bytes);
            else
                ranges = at.p.ranges();
            for (const auto& [low, high] : ranges)
                for (uint64_t a = low; a + bytes <= high && places.size() <= most_guesses;
                     a += bytes)
                    places.push_back(a);
        }
        if (t.guessed_place < 0) {
            const uint32_t address = s.add(std::move(v));
            if (outcome < 0) {
                if (places.size() > most_guesses) s.unguessed = true, places.clear();
                return sass_wait(s, at, address, static_cast<uint32_t>(places.size()));
            }
            t.guessed_place = outcome;
            outcome = -1;
            s.assumptions.push_back(
                {s.arithmetic(explore::Op::equal, address,
                              s.constant(places[static_cast<size_t>(t.guessed_place)])),
                 true});
        }
        guessed = places[static_cast<size_t>(t.guessed_place)];
    }
    SassLane& lane = at.p.lane(at.thread);
    const SassEffects e = at.run(lane);
    if (e.call == SassEffects::Call::fault)
        return sass_refuse(s, at, std::string("faults: ") + e.problem);
    for (const Access& a : e.accesses)
        if (a.matrices)
            return sass_refuse(s, at, "is not explored: it moves matrices of a whole warp");
    const bool swaps = std::ranges::any_of(
        e.accesses, [](const Access& a) { return a.atomic == sassemu::AtomicOp::cas; });
    if (swaps && outcome < 0) return Step::fork;
    // Predicates and the like that the handler knows; what memory gives comes on top.
    sass_write(s, at, lane, at.input_reads | at.guard_reads);
    const uint32_t lane_number = lane.lane();
    for (const Access& a : e.accesses) {
        const uint64_t address =
            guessed ? *guessed + (a.address[lane_number] - e.accesses[0].address[lane_number])
                    : a.address[lane_number];
        const Step step = sass_memory(s, at, a, address, outcome);
        if (step != Step::done) return step;
    }
    ++s.threads[at.thread].pc;
    return Step::done;
}

bool Machine::sass_place(State& s, Sass& at, const Access& a, uint64_t address,
                         Operand& out) const {
    const bool window = a.space == AccessSpace::generic && address >> 32 == shared_window_high;
    const bool near = a.space == AccessSpace::shared || window;
    return sass_range(s, at, near, !window, address, a.bytes, a.bytes, out);
}

// [address, address + bytes): global memory, shared memory of the cluster, or (`own`) of the
// thread's CTA.
bool Machine::sass_range(State& s, Sass& at, bool near, bool own, uint64_t address, uint64_t bytes,
                         uint64_t alignment, Operand& out) const {
    SassProgram::Place place;
    const bool found =
        near ? at.p.shared(test_, at.thread, static_cast<uint32_t>(address), own, bytes, place)
             : at.p.global(address, bytes, place);
    if (!found || address % alignment) {
        char where[96];
        std::snprintf(where, sizeof where, "reaches %s0x%llx, where no %s is",
                      near ? "shared memory at " : "", static_cast<unsigned long long>(address),
                      near ? "memory" : "buffer");
        sass_refuse(s, at, where);
        return false;
    }
    out.kind = Operand::Kind::memory;
    out.name = place.name;
    out.offset = place.offset;
    return true;
}

Machine::Step Machine::sass_memory(State& s, Sass& at, const Access& a, uint64_t address,
                                   int32_t outcome) const {
    if (a.space == AccessSpace::local ||
        (a.space == AccessSpace::generic && address >> 32 == local_window_high))
        return sass_local(s, at, a, static_cast<uint32_t>(address));
    Operand where;
    if (!sass_place(s, at, a, address, where)) return Step::stop;
    const bool intended = at.i.ptx_known && at.i.intent.kind == IntentKind::access;
    const uint32_t order = order_of(intended ? at.i.intent.ordering : a.ordering);
    const uint32_t scope = order == SASSEMU_ORDER_WEAK
                               ? static_cast<uint32_t>(SASSEMU_SCOPE_NONE)
                               : scope_of(intended ? at.i.intent.scope : a.scope);
    // Values of the registers behind a row: of a store or an atomic operation.
    const auto data = [&](uint32_t row) {
        const auto word = [&](uint32_t k) {
            const int32_t r = SassLane::register_of_row(row);
            if (r < 0) return s.constant(at.p.lane(at.thread).row(row + k * row_bytes));
            return s.threads[at.thread]
                .registers[static_cast<size_t>(at.code.number_of(static_cast<uint32_t>(r) + k))];
        };
        if (a.bytes <= 4) return word(0);
        const uint32_t low = s.join(word(0), 4, word(1));
        return a.bytes <= 8 ? low : s.join(low, 8, s.join(word(2), 4, word(3)));
    };
    const auto event = [&](uint32_t kind, uint32_t its_order) {
        const uint32_t e = add_event(s, at.thread, kind);
        s.events[e].e.order = its_order;
        s.events[e].e.scope = scope;
        s.events[e].data |= at.input_reads;
        place(s, e, where, a.bytes);
        return e;
    };
    const auto deliver = [&](uint32_t value) {
        const int32_t first = SassLane::register_of_row(a.destination);
        if (first < 0) return;
        for (uint32_t k = 0; 4 * k < a.bytes; ++k) {
            const int32_t r = at.code.number_of(static_cast<uint32_t>(first) + k);
            if (r >= 0)
                s.threads[at.thread].registers[static_cast<size_t>(r)] = s.depending(
                    s.part(value, 4 * k, std::min<uint32_t>(4, a.bytes), a.sign), at.guard_reads);
        }
    };
    switch (a.op) {
        case AccessOp::load: {
            const uint32_t e = event(SASSEMU_EVENT_READ, order);
            deliver(add_read(s, e));
            return Step::done;
        }
        case AccessOp::store:
            set_value(s, event(SASSEMU_EVENT_WRITE, order), data(a.source[0]));
            return Step::done;
        case AccessOp::atomic:
        case AccessOp::reduce:
            break;
        default:
            return Step::done;  // prefetches say nothing
    }
    const bool acquires = order == SASSEMU_ORDER_ACQUIRE || order == SASSEMU_ORDER_ACQ_REL;
    const bool releases = order == SASSEMU_ORDER_RELEASE || order == SASSEMU_ORDER_ACQ_REL;
    const bool fetches = a.op == AccessOp::atomic;
    const bool swaps = a.atomic == sassemu::AtomicOp::cas;
    const uint32_t operand = data(a.source[0]);
    // Of shared memory without a scope: its CTA's (PTX has no weak atomic operation).
    const uint32_t own = scope ? scope : static_cast<uint32_t>(SASSEMU_SCOPE_CTA);
    const uint32_t r = event(SASSEMU_EVENT_READ,
                             acquires && fetches ? SASSEMU_ORDER_ACQUIRE : SASSEMU_ORDER_RELAXED);
    s.events[r].e.scope = own;
    if (!fetches) s.events[r].e.operation = SASSEMU_OPERATION_REDUCTION;
    const uint32_t old = add_read(s, r);
    uint32_t fresh = 0, equal = 0;
    if (swaps) {
        equal = s.arithmetic(explore::Op::equal, old, operand);
        s.assumptions.push_back({equal, outcome == 1});
        fresh = data(a.source[1]);
    } else if (a.atomic == sassemu::AtomicOp::exch) {
        fresh = operand;
    } else {
        Value v;
        v.kind = Value::Kind::sass_atomic;
        v.operation = static_cast<uint8_t>(a.atomic);
        v.type = static_cast<uint8_t>(a.type);
        v.bytes = a.bytes;
        fresh = s.made_of(std::move(v), old, operand);
    }
    if (!swaps || outcome == 1) {
        const uint32_t w =
            event(SASSEMU_EVENT_WRITE, releases ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED);
        s.events[w].e.scope = own;
        set_value(s, w, fresh);
        if (swaps) s.events[w].data |= s.values[operand].reads, s.events[w].data.set(r);
        s.rmw.push_back({r, w});
    }
    if (!fetches) return Step::done;
    if (swaps && SassLane::register_of_row(a.destination) < 0) {
        // A compare-and-swap that reports whether it swapped.
        for (const uint32_t k : at.i.writes) s.threads[at.thread].registers[k] = equal;
        return Step::done;
    }
    deliver(old);
    return Step::done;
}

// Memory of the thread alone: values, no events.
Machine::Step Machine::sass_local(State& s, Sass& at, const Access& a, uint32_t address) const {
    if (a.bytes < 4 || address % 4)
        return sass_refuse(s, at, "is not explored: less than a word of local memory");
    ThreadState& t = s.threads[at.thread];
    const int32_t first =
        SassLane::register_of_row(a.op == AccessOp::load ? a.destination : a.source[0]);
    for (uint32_t k = 0; 4 * k < a.bytes; ++k) {
        uint32_t& word = t.local[address / 4 + k];
        const int32_t r = first < 0 ? -1 : at.code.number_of(static_cast<uint32_t>(first) + k);
        if (a.op == AccessOp::store)
            word = r < 0 ? 0 : t.registers[static_cast<size_t>(r)];
        else if (r >= 0)
            t.registers[static_cast<size_t>(r)] = word;
    }
    return Step::done;
}

}  // namespace sassemu::explore
