// SPDX-License-Identifier: Apache-2.0
// Arithmetic, branches and accesses of machine code. Barriers are in sass_barriers.cpp. See
// sass_turn.hpp.
#include "emu/explore/graph/sass_turn.hpp"

#include <algorithm>

#include "emu/memory/word_order.hpp"

namespace sassemu::explore {
namespace {

constexpr uint32_t most_guesses = 256;

}  // namespace

Step SassTurn::take() {
    begin();
    if (pc_ >= code_.count() || !i_.decodes)
        return refuse("is no instruction: execution ran off the code");
    const size_t before = s_.events.size();
    const bool head = code_.loop_head(pc_);
    if (head) self_.visits.push_back({pc_, static_cast<uint32_t>(before), self_.registers});
    const Step step = instruction();
    const bool done = step == Step::past || step == Step::moved;
    // A guarded instruction is there because of its guard.
    for (size_t e = before; e < s_.events.size(); ++e) s_.events[e].control |= guard_reads_;
    if (head && !done && s_.events.size() == before && !self_.visits.empty())
        self_.visits.pop_back();
    if (step == Step::past) ++self_.pc;
    if (done) self_.guessed_guard = -1, self_.guessed_place = -1, self_.guesses = 0;
    return step;
}

// Until the value is known; or, where `guesses` of it are possible, until the search puts it off.
Step SassTurn::wait_or_guess(uint32_t value, uint32_t guesses) {
    self_.guesses = guesses;
    return wait_for_value(value);
}

Step SassTurn::instruction() {
    using Kind = SassInstruction::Kind;
    bool on = true;
    if (i_.once && !sass_.leads_warp(thread_)) return Step::past;
    if (i_.guard >= 0) {
        const uint32_t guard = reg(static_cast<uint32_t>(i_.guard));
        guard_reads_ = s_.values[guard].reads;
        if (const auto known = s_.evaluate(guard, p_)) {
            on = (*known != 0) != i_.guard_negated;
        } else if (i_.kind == Kind::plain) {
            open_guard_ = true;
        } else if (self_.guessed_guard >= 0) {
            on = self_.guessed_guard != 0;
        } else if (outcome_ >= 0) {
            on = outcome_ != 0;
            s_.assumptions.push_back({guard, on != i_.guard_negated});
            self_.guessed_guard = static_cast<int8_t>(outcome_);
            outcome_ = -1;
        } else {
            return wait_or_guess(guard, i_.kind == Kind::control ? 0 : 2);
        }
    }
    if (!on) {
        if (i_.kind == Kind::control) self_.control |= guard_reads_;
        for (const uint32_t r : i_.writes) reg(r) = s_.depending(reg(r), guard_reads_);
        return Step::past;
    }
    if (!i_.refused.empty()) return beyond(i_.refused);
    if (meets_products()) return undefined_registers();
    for (const Operation& fence : i_.orders)
        std::visit([&](const auto& kind) { perform(kind); }, fence);
    in_.resize(i_.reads.size());
    for (size_t k = 0; k < i_.reads.size(); ++k) {
        const uint32_t v = reg(i_.reads[k]);
        if (i_.data[k]) continue;
        input_reads_ |= s_.values[v].reads;
        if (const auto known = s_.evaluate(v, p_))
            in_[k] = static_cast<uint32_t>(*known);
        else if (!unknown_)
            unknown_ = v;
    }
    switch (i_.kind) {
        case Kind::plain:
            return plain();
        case Kind::control:
            return control();
        case Kind::access:
            return access();
        case Kind::order:
            return Step::past;
        case Kind::other:
            return other();
    }
    return Step::stop;
}

Step SassTurn::fault(const SassEffects& e) {
    return e.unexplored ? beyond(e.problem) : refuse(std::string("faults: ") + e.problem);
}

void SassTurn::write(const Events& reads) {
    const SassLane& lane = sass_.lane(thread_);
    for (const uint32_t r : i_.writes)
        if (const uint32_t index = code_.registers()[r]; index < sass_register::reduced)
            reg(r) = s_.constant(lane.get(index), reads);
}

// What the instruction makes of its inputs, some of which are open.
Value SassTurn::computed(uint32_t index) const {
    Value v;
    v.kind = Value::Kind::sass;
    v.a = index;
    v.b = thread_;
    v.c = pc_;
    v.reads = input_reads_;
    auto inputs = std::make_shared<std::vector<uint32_t>>();
    for (const uint32_t r : i_.reads) inputs->push_back(self_.registers[r]);
    v.inputs = std::move(inputs);
    return v;
}

Step SassTurn::plain() {
    if (!unknown_ && !open_guard_) {
        const SassEffects& e = run();
        if (e.call == SassEffects::Call::fault) return fault(e);
        self_.triggered |= e.call == SassEffects::Call::launch_dependents;
        write(input_reads_ | guard_reads_);
        return Step::past;
    }
    if (i_.writes.empty()) return Step::past;
    const Value all = computed(0);
    std::vector<uint32_t> fresh;
    for (const uint32_t r : i_.writes) {
        Value v = all;
        v.a = code_.registers()[r];
        uint32_t now = s_.add(std::move(v));
        if (i_.guard >= 0) {
            const uint32_t guard = reg(static_cast<uint32_t>(i_.guard));
            now = !open_guard_       ? s_.depending(now, guard_reads_)
                  : i_.guard_negated ? s_.select(guard, reg(r), now)
                                     : s_.select(guard, now, reg(r));
        }
        fresh.push_back(now);
    }
    // Only now, since the guard may be among them.
    for (size_t k = 0; k < fresh.size(); ++k) reg(i_.writes[k]) = fresh[k];
    return Step::past;
}

Step SassTurn::control() {
    if (unknown_) return wait_or_guess(*unknown_, 0);
    const SassEffects& e = run();
    self_.control |= input_reads_ | guard_reads_;
    if (e.call == SassEffects::Call::exit) {
        self_.status = ThreadStatus::ended;
        return Step::stop;
    }
    if (e.call == SassEffects::Call::fault) return fault(e);
    if (!e.next) return refuse("faults: it leads nowhere");
    write(input_reads_);
    const auto next = static_cast<uint32_t>(e.next - code_.image().ops());
    if (next >= code_.count()) return beyond("calls the driver, which is not explored");
    if (next == pc_ + 1) return Step::past;
    jump(next, code_.live(next));
    return Step::moved;
}

// An access whose address is open waits for it, or goes on with one that the search may put to it:
// what comes behind it in the thread does not depend on its address.
Step SassTurn::guess_address(std::optional<uint64_t>& out) {
    const SassEffects& e = run();
    std::vector<uint64_t> places;
    if (!e.accesses.empty() && e.accesses[0].space != AccessSpace::local) {
        const uint64_t bytes = e.accesses[0].bytes;
        std::vector<std::pair<uint64_t, uint64_t>> ranges;
        if (e.accesses[0].space == AccessSpace::shared)
            ranges.emplace_back(0, sass_.launch(at_.launch).launch.shared_bytes);
        else
            ranges = sass_.ranges();
        for (const auto& [low, high] : ranges)
            for (uint64_t a = low; a + bytes <= high && places.size() <= most_guesses; a += bytes)
                places.push_back(a);
    }
    if (self_.guessed_place < 0) {
        const uint32_t address = s_.add(computed(Value::address));
        if (outcome_ < 0) {
            if (places.size() > most_guesses) s_.unguessed = true, places.clear();
            return wait_or_guess(address, static_cast<uint32_t>(places.size()));
        }
        self_.guessed_place = std::exchange(outcome_, -1);
        s_.assumptions.push_back(
            {s_.arithmetic(Arithmetic::equal, address,
                           s_.constant(places[static_cast<size_t>(self_.guessed_place)])),
             true});
    }
    out = places[static_cast<size_t>(self_.guessed_place)];
    return Step::past;
}

Step SassTurn::access() {
    std::optional<uint64_t> guessed;
    if (unknown_)
        if (const Step step = guess_address(guessed); step != Step::past) return step;
    const SassEffects e = run();
    if (e.call == SassEffects::Call::fault) return fault(e);
    if (std::ranges::any_of(e.accesses, &sassemu::Access::matrices))
        return beyond("is not explored: it moves matrices of a whole warp");
    const bool swaps = std::ranges::any_of(
        e.accesses, [](const sassemu::Access& a) { return a.atomic == AtomicOp::cas; });
    if (swaps && outcome_ < 0) return Step::fork;
    // What is stored, before the registers of the result take its place: they may be the same.
    std::vector<Operands> given(e.accesses.size());
    for (size_t k = 0; k < given.size(); ++k) {
        const sassemu::Access& a = e.accesses[k];
        if (a.op != AccessOp::store && a.op != AccessOp::atomic && a.op != AccessOp::reduce)
            continue;
        given[k][0] = data(a.source[0], a.bytes);
        if (a.atomic == AtomicOp::cas && a.op != AccessOp::store)
            given[k][1] = data(a.source[1], a.bytes);
    }
    // Predicates and the like that the handler knows; what memory gives comes on top.
    write(input_reads_ | guard_reads_);
    const size_t before = s_.events.size();
    for (size_t k = 0; k < given.size(); ++k) {
        const sassemu::Access& a = e.accesses[k];
        const uint64_t address = guessed
                                     ? *guessed + (a.address[lane_] - e.accesses[0].address[lane_])
                                     : a.address[lane_];
        const auto members = sass_.members(address);
        const Step step =
            members ? at_members(a, *members, given[k], e.combine) : memory(a, address, given[k]);
        if (step != Step::past) return step;
    }
    for (size_t k = before; k < s_.events.size(); ++k) s_.events[k].data |= input_reads_;
    return Step::past;
}

// [address, address + bytes): global memory, shared memory of the cluster, or (`own`) of the
// thread's CTA.
bool SassTurn::find(bool near, bool own, uint64_t address, uint64_t bytes, uint64_t alignment,
                    Place& out) {
    const bool found =
        near ? sass_.shared(test_, thread_, static_cast<uint32_t>(address), own, bytes, out)
             : sass_.global(address, bytes, out);
    if (found && address % alignment == 0) return true;
    char what[96];
    std::snprintf(what, sizeof what, "reaches %s0x%llx, where no %s is",
                  near ? "shared memory at " : "", static_cast<unsigned long long>(address),
                  near ? "memory" : "buffer");
    refuse(what);
    return false;
}

// Values of the registers behind a row: of a store or an atomic operation.
uint32_t SassTurn::data(uint32_t row, uint32_t bytes) {
    const auto word = [&](uint32_t k) {
        const int32_t r = sass_.number_of_row(thread_, row, k);
        return r < 0 ? s_.constant(sass_.lane(thread_).row(row + k * row_bytes))
                     : reg(static_cast<uint32_t>(r));
    };
    if (bytes <= 4) return word(0);
    const uint32_t low = s_.join(word(0), 4, word(1));
    return bytes <= 8 ? low : s_.join(low, 8, s_.join(word(2), 4, word(3)));
}

void SassTurn::deliver(const sassemu::Access& a, uint32_t value) {
    for (uint32_t k = 0; 4 * k < a.bytes; ++k)
        if (const int32_t r = sass_.number_of_row(thread_, a.destination, k); r >= 0)
            reg(static_cast<uint32_t>(r)) = s_.depending(
                s_.part(value, 4 * k, std::min<uint32_t>(4, a.bytes), a.sign), guard_reads_);
}

Step SassTurn::memory(const sassemu::Access& a, uint64_t address, const Operands& given) {
    const uint64_t window = a.space == AccessSpace::generic ? address >> 32 : 0;
    if (a.space == AccessSpace::local || window == local_window_high)
        return local(a, static_cast<uint32_t>(address));
    op::Access where;
    if (!located(a, address, where)) return Step::stop;
    if (a.op == AccessOp::load) {
        deliver(a, read(where));
        return Step::past;
    }
    if (a.op == AccessOp::store) {
        const uint32_t e = add_ordered(SASSEMU_EVENT_WRITE, where.order, where.scope);
        place(e, where.at);
        set_value(e, given[0]);
        return Step::past;
    }
    const bool fetches = a.op == AccessOp::atomic, swaps = a.atomic == AtomicOp::cas;
    if (!fetches && a.op != AccessOp::reduce) return Step::past;  // prefetches say nothing
    // Of shared memory without a scope: its CTA's (PTX has no weak atomic operation).
    if (!where.scope) where.scope = SASSEMU_SCOPE_CTA;
    const uint32_t operand = given[0];
    const uint32_t old = atomic(where, {a.atomic}, a.type, fetches, operand, given[1]);
    if (swaps && fetches && SassLane::register_of_row(a.destination) < 0) {
        // A compare-and-swap that reports whether it swapped.
        const uint32_t equal = s_.arithmetic(Arithmetic::equal, old, operand);
        for (const uint32_t r : i_.writes) reg(r) = equal;
    } else if (fetches) {
        deliver(a, old);
    }
    return Step::past;
}

bool SassTurn::located(const sassemu::Access& a, uint64_t address, op::Access& where) {
    const uint64_t window = a.space == AccessSpace::generic ? address >> 32 : 0;
    if (!find(a.space == AccessSpace::shared || window == shared_window_high,
              window != shared_window_high, address, a.bytes, a.bytes, where.at))
        return false;
    const bool intended = i_.ptx_known && i_.intent.kind == IntentKind::access;
    const WordOrder meant = intended ? WordOrder{i_.intent.ordering, i_.intent.scope, a.proxy}
                                     : order_of_access(a.space, a.ordering, a.scope);
    where.order = order_of(meant.ordering);
    if (where.order != SASSEMU_ORDER_WEAK) where.scope = scope_of(meant.scope);
    return true;
}

uint32_t SassTurn::read(const op::Access& where) {
    const uint32_t e = add_ordered(SASSEMU_EVENT_READ, where.order, where.scope);
    place(e, where.at);
    return add_read(e);
}

// A multicast object: an access to memory of each member.
Step SassTurn::at_members(const sassemu::Access& a, const std::vector<uint64_t>& members,
                          const Operands& given, const std::optional<LoadReduce>& combine) {
    if (a.op != AccessOp::store && a.op != AccessOp::reduce && !combine)
        return refuse("reaches a multicast object, which takes multimem instructions only");
    std::optional<uint32_t> all;
    for (const uint64_t member : members) {
        if (!combine) {
            if (const Step step = memory(a, member, given); step != Step::past) return step;
            continue;
        }
        op::Access where;
        if (!located(a, member, where)) return Step::stop;
        const uint32_t value = read(where);
        all = all ? modified({combine->op}, static_cast<AtomicType>(combine->type), a.bytes, *all,
                             value)
                  : value;
    }
    if (all) deliver(a, *all);
    return Step::past;
}

// Memory of the thread alone: values, no events.
Step SassTurn::local(const sassemu::Access& a, uint32_t address) {
    if (a.bytes < 4 || address % 4)
        return beyond("is not explored: less than a word of local memory");
    const bool loads = a.op == AccessOp::load;
    for (uint32_t k = 0; 4 * k < a.bytes; ++k) {
        uint32_t& word = self_.local[address / 4 + k];
        const int32_t r = sass_.number_of_row(thread_, loads ? a.destination : a.source[0], k);
        if (a.op == AccessOp::store)
            word = r < 0 ? 0 : reg(static_cast<uint32_t>(r));
        else if (r >= 0)
            reg(static_cast<uint32_t>(r)) = word;
    }
    return Step::past;
}

}  // namespace sassemu::explore
