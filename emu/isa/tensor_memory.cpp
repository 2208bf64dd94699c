// SPDX-License-Identifier: Apache-2.0
// LDTM, STTM, UTCATOMSWS, UTC*MMA, UTCCP, UTCSHIFT, UTCBAR: how the operands of tcgen05
// instructions lie in registers. What they do is async/'s: tensor_access.cpp, tensor_work.cpp,
// tensor_core.cpp. What is published, what is read off the compiler and what is assumed:
// TENSOR_MEMORY.md.
#include "emu/isa/tensor_memory.hpp"

#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

using async::GranuleRequest;
using async::TensorLayout;
using async::TensorStatistic;

uint32_t uniform(const Warp& w, uint32_t at) { return w.uniform[at / 4]; }
uint64_t pair(const Warp& w, uint32_t at) {
    return w.uniform[at / 4] | uint64_t{w.uniform[at / 4 + 1]} << 32;
}

// ---- loads and stores

// a, m[0]: address; d: registers; e: their number; k[0]: layout, k[1]: a store, k[2]: halves, or a
// statistic: 1 maximum, 2 magnitudes, 4 NaN; c: its type; b: where it goes.
const Op* access(const Op* op, Warp& w, uint32_t mask) {
    async::TensorAccess access;
    access.layout = static_cast<TensorLayout>(op->k[0]);
    access.store = op->k[1];
    access.statistic.type = static_cast<TensorStatistic::Type>(op->c);
    if (op->c) {
        access.statistic.max = op->k[2] & 1;
        access.statistic.magnitude = op->k[2] & 2;
        access.statistic.nan = op->k[2] & 4;
        access.statistic.to = op->b;
    } else {
        access.halves = op->k[2];
    }
    access.registers = op->e;
    access.first = op->d;
    access.address = uniform(w, op->a) + op->m[0];
    return services(w).tensor_access(w, op, mask, access);
}

// Registers of a lane for each of what the instruction counts; 0: no such layout.
uint32_t set_layout(Lower& x, typed::TmemLayout layout) {
    using T = typed::TmemLayout;
    const auto set = [&](TensorLayout l, uint32_t registers) {
        x.op.k[0] = static_cast<uint8_t>(l);
        return registers;
    };
    switch (layout) {
        case T::DP32B32:
            return set(TensorLayout::x32b32, 1);
        case T::DP16B64:
            return set(TensorLayout::x16b64, 1);
        case T::DP16B128:
            return set(TensorLayout::x16b128, 2);
        case T::DP16B256:
            return set(TensorLayout::x16b256, 4);
        case T::DP16B32_LO:
            return set(TensorLayout::x16b32_low, 1);
        case T::DP16B32_HI:
            return set(TensorLayout::x16b32_high, 1);
    }
    return 0;
}

void address(Lower& x, const typed::Mem& mem) {
    x.op.a = x.uniform_source(mem.base);
    x.op.m[0] = static_cast<uint32_t>(mem.offset);
}

// False: there is no such form.
bool access_of(Lower& x, typed::TmemLayout layout, typed::TmemCount count, bool halves,
               const typed::Mem& mem) {
    const uint32_t each = set_layout(x, layout);
    x.op.e = each << static_cast<uint32_t>(count);
    if (!each || x.op.e > 128) {
        x.reject("tensor memory is loaded and stored in no such layout");
        return false;
    }
    address(x, mem);
    x.op.k[2] = halves;
    x.handler(access);
    return true;
}

// ---- allocation

// a: operand, b: another; d: result; k[0]: GranuleRequest::Kind, k[1]: 1 aligned, 2 of a pair;
// k[2]: uniform predicate.
const Op* granules(const Op* op, Warp& w, uint32_t mask) {
    GranuleRequest request;
    request.kind = static_cast<GranuleRequest::Kind>(op->k[0]);
    request.aligned = op->k[1] & 1;
    request.pair = op->k[1] & 2;
    request.operand = uniform(w, op->a);
    request.next = uniform(w, op->b);
    const Op* next = services(w).tensor_granules(w, op, mask, request);
    if (!next || request.waits) return next;  // of another path
    write_uniform(w, op->d, request.result);
    write_uniform_predicate(w, op->k[2], request.done);
    return next;
}

void granules_of(Lower& x, GranuleRequest::Kind kind, const typed::Reg& d, const typed::Src& a,
                 bool cta2) {
    x.op.k[0] = kind;
    x.op.k[1] = static_cast<uint8_t>(cta2 << 1);
    x.op.k[2] = 7;  // UPT
    x.op.d = x.uniform_destination(d.index);
    x.op.a = x.uniform_source(a.index);
    x.op.b = uniform_zero;
    x.handler(granules);
}

// ---- the tensor core

// a, b, d: descriptors and address; c: metadata and, behind it, the instruction descriptor; e:
// lanes that are left out, or of .WS the zero-column mask, where m[1], or where the addresses of
// the scales are; f: predicate of the addition; k[0]: TensorKind; k[1]: bits of a MultiplyForm;
// k[2]: scale of D.
enum MultiplyForm : uint8_t {
    a_is_address = 1,
    of_pair = 2,
    weights = 4,
    shifts_a = 8,
    has_scales = 16,
    of_16 = 32
};
const Op* multiply(const Op* op, Warp& w, uint32_t mask) {
    async::Multiply m;
    const uint8_t form = op->k[1];
    m.metadata = uniform(w, op->c);
    m.instruction = uniform(w, op->c + 4);
    m.kind = static_cast<async::TensorKind>(op->k[0]);
    // One opcode for .kind::f16 and .kind::tf32: the format of A tells.
    if (m.kind == async::TensorKind::f16 && (m.instruction >> 7 & 7) == 2)
        m.kind = async::TensorKind::tf32;
    m.pair = form & of_pair;
    m.second = w.cta->rank & 1;
    m.stationary = form & weights;
    m.shifts = form & shifts_a;
    m.block16 = form & of_16;
    m.a_in_tensor_memory = form & a_is_address;
    if (m.a_in_tensor_memory)
        m.a_address = uniform(w, op->a);
    else
        m.a = pair(w, op->a);
    m.b = pair(w, op->b);
    m.d = uniform(w, op->d);
    m.accumulate = predicate_value(w, op->f) & 1;
    if (form & has_scales)
        m.scales_a = uniform(w, op->e), m.scales_b = uniform(w, op->e + 4);
    else if (m.stationary)
        m.zero_columns = pair(w, op->e);
    else if (op->m[1])
        m.disabled_lanes = w.uniform + op->e / 4;
    m.scale_d = op->k[2];
    return services(w).multiply(w, op, mask, m);
}

template <class T>
void multiply_of(Lower& x, const T& i, async::TensorKind kind) {
    uint8_t form = i.cta2 ? of_pair : 0;
    if constexpr (requires { i.ws; }) {
        if (i.ws && i.cta2) return x.reject("a weight-stationary multiplication by two CTAs");
        if (i.ws) form |= weights;
    }
    // A_KEEP is the first bit of the collector's modifiers: fill and use.
    if constexpr (requires { i.ashift; }) {
        if (i.ashift && (static_cast<uint32_t>(i.amods) & 1))
            return x.reject("a multiplication with .ASHIFT that keeps A in the collector");
        if (i.ashift) form |= shifts_a;
    }
    x.op.k[0] = static_cast<uint8_t>(kind);
    if constexpr (requires { i.shift; }) x.op.k[2] = static_cast<uint8_t>(i.shift.imm);
    x.op.b = x.uniform_source(i.b.base, 2);
    x.op.d = x.uniform_source(i.d.base);
    if (i.c.base == SASSDEC_URZ) return x.reject("a multiplication with its descriptor in URZ");
    x.op.c = x.uniform_source(i.c.base, 2);
    if constexpr (requires { i.scales; }) {
        form |= has_scales;
        x.op.e = x.uniform_source(i.scales.base, 2);
    } else {
        x.op.m[1] = i.mask.index != SASSDEC_URZ;
        x.op.e = x.op.m[1] ? x.uniform_source(i.mask.index, i.ws     ? 2
                                                            : i.cta2 ? 8
                                                                     : 4)
                           : uniform_zero;
    }
    if constexpr (requires { i.scale; }) form |= i.scale ? 0 : of_16;  // .4X, .BLOCK16
    x.op.f = predicate_code(i.pa);
    x.op.k[1] |= form;
    x.op.a = x.uniform_source(i.a.base, x.op.k[1] & a_is_address ? 1 : 2);
    x.handler(multiply);
}
template <class T>
void multiply_tensor(Lower& x, const T& i, async::TensorKind kind) {
    x.op.k[1] = a_is_address;
    multiply_of(x, i, kind);
}

// a: descriptor; d, m[0]: address; k[0]: TensorShape, k[1]: TensorUnpack, k[2]: 1 a shift, 2 of a
// pair.
const Op* move(const Op* op, Warp& w, uint32_t mask) {
    async::TensorMove m;
    m.shift = op->k[2] & 1;
    m.pair = op->k[2] & 2;
    m.shape = static_cast<async::TensorShape>(op->k[0]);
    m.unpack = static_cast<async::TensorUnpack>(op->k[1]);
    m.from = pair(w, op->a);
    m.to = uniform(w, op->d) + op->m[0];
    return services(w).tensor_move(w, op, mask, m);
}

// UTCBAR. a: address; c: ranks; k[0]: multicast.
const Op* commit(const Op* op, Warp& w, uint32_t mask) {
    async::TensorCommit c;
    c.mbarrier = uniform(w, op->a);
    c.multicast = op->k[0];
    c.ranks = uniform(w, op->c) & 0xffff;
    return services(w).commit_tensor(w, op, mask, c);
}

}  // namespace

void lower(Lower& x, const typed::Ldtm& i) {
    if (!access_of(x, i.layout, i.count, i.pack, i.addr)) return;
    // RZ: the sink has fewer rows than this may write.
    if (i.d.index == SASSDEC_RZ) return x.reject("LDTM to RZ");
    x.op.d = x.destination_row(i.d.index, x.op.e);
}
void lower(Lower& x, const typed::LdtmStat& i) {
    static constexpr TensorStatistic::Type types[] = {TensorStatistic::u32, TensorStatistic::s32,
                                                      TensorStatistic::f32};
    const bool magnitude = i.op & 1;
    if (i.type >= std::size(types)) return x.reject("LDTM.STAT of an invalid type");
    if (types[i.type] != TensorStatistic::f32 && (magnitude || i.nan))
        return x.reject("LDTM.STAT of integers with a modifier of floats");
    if (i.count == typed::TmemCount::X1) return x.reject("LDTM.STAT of one register");
    if (!access_of(x, i.layout, i.count, false, i.addr)) return;
    if (i.d.index == SASSDEC_RZ) return x.reject("LDTM to RZ");
    x.op.d = x.destination_row(i.d.index, x.op.e);
    x.op.b = x.destination_row(i.stat.index);
    x.op.c = types[i.type];
    x.op.k[2] = static_cast<uint8_t>((i.op < 2) | magnitude << 1 | i.nan << 2);
}
void lower(Lower& x, const typed::Sttm& i) {
    if (!access_of(x, i.layout, i.count, i.expand, i.addr)) return;
    x.op.k[1] = true;
    x.op.d = x.source_row(i.data.index, x.op.e);
}

void lower(Lower& x, const typed::UtcatomswsFind& i) {
    granules_of(x, GranuleRequest::find_and_set, i.d, i.a, i.cta2);
    x.op.k[1] |= i.align;
    x.op.k[2] = i.pd.index;
}
void lower(Lower& x, const typed::UtcatomswsCas& i) {
    granules_of(x, GranuleRequest::compare_and_swap, i.d, i.a, i.cta2);
    x.op.b = x.uniform_source(i.c.index);
    x.op.k[2] = i.pd.index;
}
void lower(Lower& x, const typed::Utcatomsws& i) {
    granules_of(x, i.op ? GranuleRequest::or_ : GranuleRequest::and_, i.d, i.a, i.cta2);
}
// Part of tcgen05.relinquish_alloc_permit: lets CTAs of other launches allocate. A CTA has all of
// its memory here.
void lower(Lower& x, const typed::Uvirtcount&) { x.handler(nothing); }

using Kind = async::TensorKind;
void lower(Lower& x, const typed::Utchmma& i) { multiply_of(x, i, Kind::f16); }
void lower(Lower& x, const typed::UtchmmaTmem& i) { multiply_tensor(x, i, Kind::f16); }
void lower(Lower& x, const typed::Utcqmma& i) { multiply_of(x, i, Kind::f8f6f4); }
void lower(Lower& x, const typed::UtcqmmaTmem& i) { multiply_tensor(x, i, Kind::f8f6f4); }
void lower(Lower& x, const typed::Utcimma& i) { multiply_of(x, i, Kind::i8); }
void lower(Lower& x, const typed::UtcimmaTmem& i) { multiply_tensor(x, i, Kind::i8); }
void lower(Lower& x, const typed::UtcqmmaScaled& i) { multiply_of(x, i, Kind::mxf8f6f4); }
void lower(Lower& x, const typed::UtcqmmaScaledTmem& i) { multiply_tensor(x, i, Kind::mxf8f6f4); }
void lower(Lower& x, const typed::Utcomma& i) { multiply_of(x, i, Kind::mxf4); }
void lower(Lower& x, const typed::UtcommaTmem& i) { multiply_tensor(x, i, Kind::mxf4); }

void lower(Lower& x, const typed::Utccp& i) {
    using S = async::TensorShape;
    static constexpr S none{255};
    static constexpr S shapes[8] = {
        S::x128b256,      none,       S::x4b256, S::x128b128, S::x64b128_02_13,
        S::x64b128_01_23, S::x32b128, none};
    if (i.dst || i.src || shapes[i.layout] == none || i.unpack > 2)
        return x.reject("UTCCP of an invalid kind");
    x.op.k[0] = static_cast<uint8_t>(shapes[i.layout]);
    x.op.k[1] = i.unpack;  // in the order of TensorUnpack
    x.op.k[2] = static_cast<uint8_t>(i.cta2 << 1);
    x.op.a = x.uniform_source(i.a.base, 2);
    x.op.d = x.uniform_source(i.d.base);
    x.op.m[0] = static_cast<uint32_t>(i.d.offset);
    x.handler(move);
}
void lower(Lower& x, const typed::Utcshift& i) {
    if (i.dir != 1) return x.reject("UTCSHIFT of an invalid direction");
    x.op.k[2] = static_cast<uint8_t>(1 | i.cta2 << 1);
    x.op.a = uniform_zero;
    x.op.d = x.uniform_source(i.addr.base);
    x.op.m[0] = static_cast<uint32_t>(i.addr.offset);
    x.handler(move);
}

void lower(Lower& x, const typed::Utcbar& i) {
    // .2CTA: it follows work of the pair, which all is its warp's too.
    if (i.read_a) return x.gap("a commit of the reads of A alone (.MMA_READ_SHM_A)");
    if (i.a0tx || i.wakeup || i.a.index != SASSDEC_URZ)
        return x.gap("a commit with .A0TX, .WAKEUP or a count, which no PTX becomes");
    x.op.a = x.uniform_source(i.addr.base);
    x.op.k[0] = i.multicast;
    x.op.c = i.multicast ? x.uniform_source(i.c.index) : uniform_zero;
    x.handler(commit);
}
// Arrivals are not held back once they are due.
void lower(Lower& x, const typed::UtcbarFlush&) { x.handler(nothing); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
