// SPDX-License-Identifier: Apache-2.0
// What every instruction family is written with: the lowering context, operand access and the usual
// shapes of handlers. Included once per host level; everything lives in that level's namespace.
//
// To add an instruction: an entry in decoder/isa/, an overload `void lower(Lower&, const
// typed::Xyz&)` in the family's file (declared in families.hpp) and a handler beside it.
#pragma once

#include <bit>
#include <cstring>

#include "emu/isa/level.hpp"
#include "emu/lanes/lanes.hpp"
#include "emu/machine/services.hpp"
#include "sassdec/typed.hpp"

#define SASSEMU_ISA_NS SASSEMU_LANES_CAT(isa_, SASSEMU_LEVEL)

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace typed = sassdec::typed;
using L::MatrixColumns;
using L::MatrixFormat;
using L::MatrixResult;
using L::MatrixRule;
using L::MatrixTile;
using L::V32;
using L::V64;

// A source operand after lowering: a register row or a scalar, with its float modifiers.
struct Operand {
    uint32_t at = 0;
    bool scalar = false;
    uint32_t modifier = 0;  // see apply_modifier
};

// |x| and -x on the sign bit of 32-bit lanes. Bit 0: clear the sign; bit 31: flip it.
constexpr uint32_t modifier_abs = 1, modifier_neg = 0x80000000u;

// Lowering of one instruction. Family code fills `op` through it.
class Lower {
  public:
    explicit Lower(const LowerRequest& request) : r_(request), op(*request.op) {}

    const sassdec_insn& instruction() const { return *r_.instruction; }
    bool reference() const { return r_.lowering == Lowering::reference; }
    // Memory goes through the port instead of the inlined flat model.
    bool through_port() const { return r_.lowering != Lowering::plain; }
    bool late_copies() const { return r_.late_copies; }
    bool modelled() const { return r_.modelled; }
    uint32_t sm() const { return r_.sm; }
    uint64_t offset() const { return r_.offset; }
    uint64_t section_begin() const { return r_.section_begin; }
    uint64_t section_end() const { return r_.section_end; }

    // Row offsets. `count` consecutive registers must exist (RZ stands for any number of zeros);
    // a register beyond the kernel's is an illegal instruction.
    uint32_t source_row(unsigned index, unsigned count = 1) {
        if (index == SASSDEC_RZ) return zero_row;
        check_register(index, count);
        return register_row(index);
    }
    uint32_t destination_row(unsigned index, unsigned count = 1) {
        if (index == SASSDEC_RZ) return sink_row;
        check_register(index, count);
        return register_row(index);
    }
    // Offsets into Warp::uniform, in bytes.
    uint32_t uniform_source(unsigned index, unsigned count = 1) {
        if (index == SASSDEC_URZ) return uniform_zero;
        if (index + count > uniform_registers) reject("uniform register out of range");
        return index * 4;
    }
    uint32_t uniform_destination(unsigned index, unsigned count = 1) {
        if (index == SASSDEC_URZ) return uniform_sink;
        if (index + count > uniform_registers) reject("uniform register out of range");
        return index * 4;
    }
    // Indices into Warp::p.
    static uint8_t predicate(unsigned index) { return static_cast<uint8_t>(index); }
    static uint8_t uniform_predicate(unsigned index) { return static_cast<uint8_t>(8 + index); }

    uint32_t immediate(uint64_t value) {
        return scalar_operand(Base::immediate, r_.pool->add(value));
    }
    uint32_t uniform_scalar(unsigned index, unsigned count = 1) {
        return scalar_operand(Base::uniform, uniform_source(index, count));
    }
    // c[bank][offset] with `bytes` bytes. Past the end of a bank there are zeros, as for LDC
    // (measured on an H200).
    uint32_t constant(unsigned bank, uint32_t offset, uint32_t bytes);

    // Any source. 64-bit operands are row pairs, or 8 bytes of scalar; an f64 immediate holds the
    // upper word. Float modifiers are returned, not applied.
    Operand source(const typed::Src& s, unsigned words = 1);

    // The instruction is recognised, but cannot run: executing it is an illegal instruction.
    void reject(const char* why) {
        if (rejection_ == nullptr) rejection_ = why;
    }
    // The instruction is legal, but this form of it has no behaviour here (exit code 5).
    void gap(const char* what) {
        known_gap_ = true;
        reject(what);
    }
    const char* rejection() const { return rejection_; }
    bool known_gap() const { return known_gap_; }

    void handlers(Handler some, Handler all) {
        op.fn[0] = some;
        op.fn[1] = all;
    }
    void handler(Handler h) { handlers(h, h); }

  private:
    void check_register(unsigned index, unsigned count) {
        if (index + count > r_.max_registers)
            reject("a register beyond the kernel's register count");
    }

    const LowerRequest& r_;
    const char* rejection_ = nullptr;
    bool known_gap_ = false;

  public:
    Op& op;
};

// ---- operand access in handlers --------------------------------------------------------------

enum class Source : uint8_t { row, scalar };

template <Source K>
SASSEMU_INLINE V32 read(const Warp& w, uint32_t at) {
    if constexpr (K == Source::row) return L::load(w.row(at));
    return L::splat(w.scalar32(at));
}
template <Source K>
SASSEMU_INLINE V64 read64(const Warp& w, uint32_t at) {
    if constexpr (K == Source::row) return L::load_pair(w.row(at), w.row(at + row_bytes));
    return L::splat64(w.scalar64(at));
}
template <bool All>
SASSEMU_INLINE void write(Warp& w, uint32_t at, V32 v, uint32_t mask) {
    if constexpr (All)
        L::store(w.row(at), v);
    else
        L::store(w.row(at), v, mask);
}
template <bool All>
SASSEMU_INLINE void write64(Warp& w, uint32_t at, V64 v, uint32_t mask) {
    if constexpr (All)
        L::store_pair(w.row(at), w.row(at + row_bytes), v);
    else
        L::store_pair(w.row(at), w.row(at + row_bytes), v, mask);
}
// Predicates: lanes outside `mask` keep their bit; PT stays true.
SASSEMU_INLINE void write_predicate(Warp& w, unsigned index, uint32_t value, uint32_t mask) {
    w.p[index] = (w.p[index] & ~mask) | (value & mask);
    w.p[7] = ~0u;
}
SASSEMU_INLINE V32 apply_modifier(V32 v, uint32_t modifier) {
    const V32 clear = L::splat(~((modifier & 1) << 31));
    return L::xor_(L::and_(v, clear), L::splat(modifier & modifier_neg));
}
// The same for 64-bit lanes.
SASSEMU_INLINE V64 apply_modifier64(V64 v, uint32_t modifier) {
    const uint64_t clear = ~(uint64_t{modifier & 1} << 63);
    return L::xor64(L::and64(v, L::splat64(clear)), L::splat64(uint64_t{modifier >> 31} << 63));
}

// How a handler ends: with the instruction behind its own. Where nobody looks at each instruction
// (Warp::chained) that one runs at once, by a jump: the host learns for every handler what follows
// it, and mispredicts half as often as with one jump for all. Whoever looks gets it returned, as
// does the run loop where the guard is false for all lanes.
//
// `return op + 1` stands where a jump cannot be, because the address of a local was given away
// (tests/house/jumps_test.py finds those), and where the handler is so long that it gains nothing.
SASSEMU_INLINE const Op* go_on(const Op* op, Warp& w) {
    const uint32_t mask = w.active & w.chained & (w.p[op->guard] ^ op->guard_xor);
    if (mask == ~0u) [[likely]] {
        ++w.issued;
        w.thread_instructions += 32;
        return op->fn[1](op, w, mask);
    }
    if (mask == 0) return op;
    ++w.issued;
    w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
    return op->fn[0](op, w, mask);
}
SASSEMU_INLINE const Op* next(const Op* op, Warp& w) { return go_on(op + 1, w); }

// What has no effect here.
inline const Op* nothing(const Op* op, Warp& w, uint32_t) { return next(op, w); }

// ---- handler shapes --------------------------------------------------------------------------
//
// F is a stateless struct with `static V32 apply(V32 a, V32 b, V32 c, const Op&)` (two and one
// operand likewise). Only b or c can be a scalar in any encoding. With Mod the sources pass through
// op->m[0], m[1], m[2] as float modifiers first.

template <class F, Source B, Source C, bool Mod, bool All>
const Op* alu3(const Op* op, Warp& w, uint32_t mask) {
    V32 a = read<Source::row>(w, op->a);
    V32 b = read<B>(w, op->b);
    V32 c = read<C>(w, op->c);
    if constexpr (Mod) {
        a = apply_modifier(a, op->m[0]);
        b = apply_modifier(b, op->m[1]);
        c = apply_modifier(c, op->m[2]);
    }
    write<All>(w, op->d, F::apply(a, b, c, *op), mask);
    return next(op, w);
}
template <class F, Source B, bool Mod, bool All>
const Op* alu2(const Op* op, Warp& w, uint32_t mask) {
    V32 a = read<Source::row>(w, op->a);
    V32 b = read<B>(w, op->b);
    if constexpr (Mod) {
        a = apply_modifier(a, op->m[0]);
        b = apply_modifier(b, op->m[1]);
    }
    write<All>(w, op->d, F::apply(a, b, *op), mask);
    return next(op, w);
}
template <class F, Source B, bool Mod, bool All>
const Op* alu1(const Op* op, Warp& w, uint32_t mask) {
    V32 b = read<B>(w, op->b);
    if constexpr (Mod) b = apply_modifier(b, op->m[1]);
    write<All>(w, op->d, F::apply(b, *op), mask);
    return next(op, w);
}

// Sets the handlers for F by what the operands are; Mod as above.
template <class F, bool Mod>
void choose3(Lower& x, bool scalar_b, bool scalar_c) {
    constexpr Source r = Source::row, s = Source::scalar;
    if (scalar_c)
        x.handlers(alu3<F, r, s, Mod, false>, alu3<F, r, s, Mod, true>);
    else if (scalar_b)
        x.handlers(alu3<F, s, r, Mod, false>, alu3<F, s, r, Mod, true>);
    else
        x.handlers(alu3<F, r, r, Mod, false>, alu3<F, r, r, Mod, true>);
}
template <class F, bool Mod>
void choose2(Lower& x, bool scalar_b) {
    if (scalar_b)
        x.handlers(alu2<F, Source::scalar, Mod, false>, alu2<F, Source::scalar, Mod, true>);
    else
        x.handlers(alu2<F, Source::row, Mod, false>, alu2<F, Source::row, Mod, true>);
}
template <class F, bool Mod>
void choose1(Lower& x, bool scalar_b) {
    if (scalar_b)
        x.handlers(alu1<F, Source::scalar, Mod, false>, alu1<F, Source::scalar, Mod, true>);
    else
        x.handlers(alu1<F, Source::row, Mod, false>, alu1<F, Source::row, Mod, true>);
}

// The same with the sources; `op.d` must be set. op.m[0..2] are used only when an operand has float
// modifiers.
template <class F>
void emit3(Lower& x, const Operand& a, const Operand& b, const Operand& c) {
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    if (a.modifier | b.modifier | c.modifier) {
        x.op.m[0] = a.modifier;
        x.op.m[1] = b.modifier;
        x.op.m[2] = c.modifier;
        choose3<F, true>(x, b.scalar, c.scalar);
    } else {
        choose3<F, false>(x, b.scalar, c.scalar);
    }
}
template <class F>
void emit2(Lower& x, const Operand& a, const Operand& b) {
    x.op.a = a.at;
    x.op.b = b.at;
    if (a.modifier | b.modifier) {
        x.op.m[0] = a.modifier;
        x.op.m[1] = b.modifier;
        choose2<F, true>(x, b.scalar);
    } else {
        choose2<F, false>(x, b.scalar);
    }
}
template <class F>
void emit1(Lower& x, const Operand& b) {
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    b.modifier ? choose1<F, true>(x, b.scalar) : choose1<F, false>(x, b.scalar);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
