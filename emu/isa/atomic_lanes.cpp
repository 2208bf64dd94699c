// SPDX-License-Identifier: Apache-2.0
// Atomics of the inlined flat model: lanes in ascending order, each a host atomic on global memory;
// on shared memory plain steps, because one worker runs a CTA at a time. When all lanes name one
// word, the warp's operations are chained in a register and land together in one host atomic.
#include <bit>

#include "emu/isa/atomic_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// Operators as types: `apply(old, operand, swap)` is the value that is left in memory.
template <AtomicOp O>
struct Integer {
    template <class T, bool Signed>
    static SASSEMU_INLINE T apply(T old, T v, T swap) {
        using S = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
        if constexpr (O == AtomicOp::add) return old + v;
        if constexpr (O == AtomicOp::min)
            return Signed ? (static_cast<S>(v) < static_cast<S>(old) ? v : old) : v < old ? v : old;
        if constexpr (O == AtomicOp::max)
            return Signed ? (static_cast<S>(v) > static_cast<S>(old) ? v : old) : v > old ? v : old;
        // PTX ISA, "atom": inc wraps to 0 at v, dec wraps to v at 0 or above v.
        if constexpr (O == AtomicOp::inc) return old >= v ? T{0} : old + 1;
        if constexpr (O == AtomicOp::dec) return old == 0 || old > v ? v : old - 1;
        if constexpr (O == AtomicOp::and_) return old & v;
        if constexpr (O == AtomicOp::or_) return old | v;
        if constexpr (O == AtomicOp::xor_) return old ^ v;
        if constexpr (O == AtomicOp::exch) return v;
        if constexpr (O == AtomicOp::cas) return old == v ? swap : old;
        if constexpr (O == AtomicOp::none) return old + 1;  // POPC.INC
        return old;
    }
};

template <AtomicOp O, class T_, bool Signed>
struct IntegerStep {
    using T = T_;
    static SASSEMU_INLINE T apply(const Op*, T old, T v, T swap) {
        return Integer<O>::template apply<T, Signed>(old, v, swap);
    }
};

// Sums of ordinary numbers; everything special goes to the one definition in memory/perform.cpp.
struct AddF32 {
    using T = uint32_t;
    static SASSEMU_INLINE bool normal(uint32_t v) { return (v >> 23 & 255) - 1u < 254u; }
    static SASSEMU_INLINE T apply(const Op*, T old, T v, T) {
        if (normal(old) && normal(v)) {
            const uint32_t sum =
                std::bit_cast<uint32_t>(std::bit_cast<float>(old) + std::bit_cast<float>(v));
            if (normal(sum)) return sum;
        }
        return static_cast<T>(atomic_result(AtomicOp::add, AtomicType::f32, old, v, 0));
    }
};
struct AddF64 {
    using T = uint64_t;
    static SASSEMU_INLINE T apply(const Op*, T old, T v, T) {
        const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(v);
        if (sum == sum) return std::bit_cast<uint64_t>(sum);
        return atomic_result(AtomicOp::add, AtomicType::f64, old, v, 0);
    }
};
struct Packed {
    using T = uint32_t;
    static SASSEMU_INLINE T apply(const Op* op, T old, T v, T) {
        return static_cast<T>(atomic_result(atomic_op(op), atomic_type(op), old, v, 0));
    }
};

template <class T>
SASSEMU_INLINE T value(const uint32_t* row, uint32_t lane) {
    if constexpr (sizeof(T) == 4) return row[lane];
    return row[lane] | static_cast<uint64_t>(row[lane + 32]) << 32;
}
template <class T>
SASSEMU_INLINE void give(uint32_t* row, uint32_t lane, T v) {
    row[lane] = static_cast<uint32_t>(v);
    if constexpr (sizeof(T) == 8) row[lane + 32] = static_cast<uint32_t>(v >> 32);
}

template <class Step>
SASSEMU_INLINE typename Step::T global_step(const Op* op, std::byte* at, typename Step::T v,
                                            typename Step::T swap, bool& changed) {
    using T = typename Step::T;
    T* p = reinterpret_cast<T*>(at);
    if constexpr (std::is_same_v<Step, IntegerStep<AtomicOp::add, T, false>>) {
        changed = v != 0;
        return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
    }
    if constexpr (std::is_same_v<Step, IntegerStep<AtomicOp::exch, T, false>>) {
        const T old = __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
        changed = old != v;
        return old;
    }
    T old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
    for (;;) {
        const T next = Step::apply(op, old, v, swap);
        // An operation that leaves the value alone is a read of it.
        if (next == old ||
            __atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            changed = next != old;
            return old;
        }
    }
}

// All lanes of the mask on one word: the chain is computed on a copy and swapped in at once.
template <class Step>
void chain(const Op* op, Warp& w, uint32_t mask, std::byte* at) {
    using T = typename Step::T;
    T* p = reinterpret_cast<T*>(at);
    const uint32_t* v = w.row(op->e);
    const uint32_t* s = w.row(op->f);
    T old[32];
    T first = __atomic_load_n(p, __ATOMIC_ACQUIRE);
    for (;;) {
        T now = first;
        for (uint32_t m = mask; m; m &= m - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(m));
            old[lane] = now;
            now = Step::apply(op, now, value<T>(v, lane), value<T>(s, lane));
        }
        if (now == first) break;
        if (__atomic_compare_exchange_n(p, &first, now, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            ++w.effects;
            break;
        }
    }
    if (op->d == sink_row) return;
    uint32_t* d = w.row(op->d);
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        give<T>(d, lane, old[lane]);
    }
}

template <class Step>
const Op* far(const Op* op, Warp& w, uint32_t mask) {
    using T = typename Step::T;
    const FarAddress a = far_address<false>(op, w, mask, sizeof(T));
    if (w.watch) [[unlikely]]
        return atomic_port(op, w, mask);
    V32 offset;
    if (!reach<true>(w, a.first, sizeof(T)) || !far_offsets(op, w, mask, a, sizeof(T), offset))
        [[unlikely]]
        return atomic_port(op, w, mask);
    std::byte* host = w.cta->last.host;
    // An extent is never part of a window, so every lane is global.
    if (op->m[3] != 7) write_predicate(w, op->m[3], mask, mask);
    if (a.pattern == Pattern::same) {
        chain<Step>(op, w, mask, host + (a.first - w.cta->last.lo));
        return next(op, w);
    }
    alignas(64) uint32_t at[32];
    L::store(at, offset);
    const uint32_t* v = w.row(op->e);
    const uint32_t* s = w.row(op->f);
    uint32_t* d = w.row(op->d);
    bool any = false;
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        bool changed;
        const T old =
            global_step<Step>(op, host + at[lane], value<T>(v, lane), value<T>(s, lane), changed);
        any |= changed;
        give<T>(d, lane, old);
    }
    w.effects += any;
    return next(op, w);
}

template <class Step>
const Op* near(const Op* op, Warp& w, uint32_t mask) {
    using T = typename Step::T;
    const NearAddress a =
        near_address<false>(as<MemoryPayload>(*op).near(w), mask, sizeof(T), shared_rank_bits(w));
    if (w.watch || !near_inside(a.at, mask, sizeof(T), w.cta->shared_bytes)) [[unlikely]] {
        if constexpr (std::is_same_v<Step, IntegerStep<AtomicOp::none, uint32_t, false>>)
            return popc_inc_port(op, w, mask);
        return atomic_port(op, w, mask);
    }
    alignas(64) uint32_t at[32];
    L::store(at, a.at);
    std::byte* host = w.cta->shared;
    const uint32_t* v = w.row(op->e);
    const uint32_t* s = w.row(op->f);
    uint32_t* d = w.row(op->d);
    const bool reports = (atomic_flags(op) & atomic_reports_swap) != 0;
    bool any = false;
    uint32_t swapped = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        const T operand = value<T>(v, lane);
        const T old = host::load<T>(host + at[lane]);
        const T next = Step::apply(op, old, operand, value<T>(s, lane));
        host::store<T>(host + at[lane], next);
        any |= next != old;
        if (reports) {
            swapped |= static_cast<uint32_t>(old == operand) << lane;
            give<T>(d, lane, old == operand);
        } else {
            give<T>(d, lane, old);
        }
    }
    if (reports && op->m[3] != 7) write_predicate(w, op->m[3], swapped, mask);
    w.effects += any;
    return next(op, w);
}

template <class Step>
void choose(Lower& x, AccessSpace space) {
    if (space == AccessSpace::shared)
        x.handler(near<Step>);
    else
        x.handler(far<Step>);
}

template <class T, bool Signed>
void choose_integer(Lower& x, AtomicOp op, AccessSpace space) {
    switch (op) {
        case AtomicOp::add:
            return choose<IntegerStep<AtomicOp::add, T, false>>(x, space);
        case AtomicOp::min:
            return choose<IntegerStep<AtomicOp::min, T, Signed>>(x, space);
        case AtomicOp::max:
            return choose<IntegerStep<AtomicOp::max, T, Signed>>(x, space);
        case AtomicOp::inc:
            return choose<IntegerStep<AtomicOp::inc, T, false>>(x, space);
        case AtomicOp::dec:
            return choose<IntegerStep<AtomicOp::dec, T, false>>(x, space);
        case AtomicOp::and_:
            return choose<IntegerStep<AtomicOp::and_, T, false>>(x, space);
        case AtomicOp::or_:
            return choose<IntegerStep<AtomicOp::or_, T, false>>(x, space);
        case AtomicOp::xor_:
            return choose<IntegerStep<AtomicOp::xor_, T, false>>(x, space);
        case AtomicOp::exch:
            return choose<IntegerStep<AtomicOp::exch, T, false>>(x, space);
        case AtomicOp::cas:
            return choose<IntegerStep<AtomicOp::cas, T, false>>(x, space);
        case AtomicOp::none:
            return choose<IntegerStep<AtomicOp::none, T, false>>(x, space);
        default:
            return x.handler(atomic_port);
    }
}

}  // namespace

void choose_atomic(Lower& x, AtomicOp op, AtomicType type, AccessSpace space) {
    switch (type) {
        case AtomicType::u32:
            return choose_integer<uint32_t, false>(x, op, space);
        case AtomicType::s32:
            return choose_integer<uint32_t, true>(x, op, space);
        case AtomicType::u64:
            return choose_integer<uint64_t, false>(x, op, space);
        case AtomicType::s64:
            return choose_integer<uint64_t, true>(x, op, space);
        case AtomicType::f32:
            return x.handler(far<AddF32>);
        case AtomicType::f64:
            return x.handler(far<AddF64>);
        case AtomicType::f16x2:
        case AtomicType::f16x2_rn:
        case AtomicType::bf16x2:
            return x.handler(far<Packed>);
        default:
            return x.handler(atomic_port);
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
