// SPDX-License-Identifier: Apache-2.0
// HGMMA, QGMMA, IGMMA, BGMMA and WARPGROUP: how the operands of wgmma lie in registers. What it
// does is async/'s: warpgroup_work.cpp (when), warpgroup_core.cpp (what). MATRIX.md has the rules.
#include "emu/isa/warpgroup.hpp"

#include "emu/isa/matrix_fragment.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

using async::WarpgroupForm;
using async::WarpgroupMultiply;
using async::WarpgroupType;

// d, c, e: rows; a: row, or offset of the descriptors of A and B; b: the latter, where a is a row;
// f: predicate of the addition; m: WarpgroupForm.
static_assert(sizeof(WarpgroupForm) <= sizeof(Op::m));

const Op* multiply(const Op* op, Warp& w, uint32_t) {
    WarpgroupMultiply m;
    std::memcpy(&m.form, op->m, sizeof m.form);
    const uint32_t* descriptors = w.uniform + op->b / 4;
    m.a = descriptors[0] | uint64_t{descriptors[1]} << 32;
    m.b = descriptors[2] | uint64_t{descriptors[3]} << 32;
    m.a_rows = op->a;
    m.metadata = op->e;
    m.d = op->d;
    m.c = op->c;
    m.accumulate = accumulates(op, w);
    return services(w).warpgroup_multiply(w, op, m);
}
// k[0]: groups that may be left.
const Op* wait(const Op* op, Warp& w, uint32_t) {
    return services(w).warpgroup_wait(w, op, op->k[0]);
}
// Whatever lanes execute them, it is the warp that does (MATRIX.md).
const Op* arrive_in_group(const Op* op, Warp& w, uint32_t) {
    return services(w).warpgroup_arrive(w, op);
}
const Op* meet_group(const Op* op, Warp& w, uint32_t) { return services(w).warpgroup_meet(w, op); }
const Op* divergent(const Op* op, Warp& w, uint32_t mask) {
    return services(w).fault(w, op, mask, FaultKind::other,
                             "wgmma by some lanes of a warp: all of a warpgroup have to execute it",
                             false, 0);
}

// Bits of the modifiers of a descriptor, of A and B or of B alone.
constexpr uint32_t transposes_a = 1, transposes_b = 2, negates_b = 4, negates_a = 8;

// N by the shape, where it fits the elements. In the order of the enumerators: N of 8, 16, ... 256
// with k of 16, 8, 32 and 64, then N of 8, 16, 24, 32, 48, ... 256 with k of 256.
uint16_t columns(Lower& x, const WarpgroupForm& f, typed::WgmmaShape shape) {
    static constexpr uint16_t k[] = {16, 8, 32, 64, 256};
    const auto code = static_cast<uint16_t>(shape);
    if (code >= 146 || k[code / 32] != f.k()) {
        x.reject("wgmma with a shape that its elements do not have");
        return 8;
    }
    const uint16_t i = code % 32;
    return static_cast<uint16_t>(code >= 128 && i > 3 ? 16 * (i - 1) : 8 * (i + 1));
}

template <class T>
void emit(Lower& x, const T& i, WarpgroupForm& f) {
    constexpr bool registers = requires { i.a; }
    , sparse = requires { i.e; };
    f.in_registers = registers;
    f.sparse = sparse;
    f.n = columns(x, f, i.shape);
    if (i.gsb != typed::GsbName::gsb0 && i.gsb != typed::GsbName::NONE)
        return x.reject("wgmma with an invalid scoreboard");
    f.signals = i.gsb == typed::GsbName::gsb0;
    f.empty = i.d.index == SASSDEC_RZ;
    const uint32_t count = f.empty ? 1 : f.registers();
    x.op.d = x.destination_row(i.d.index, count);
    const bool adds = i.c.index != SASSDEC_RZ;
    x.op.c = adds ? x.source_row(i.c.index, count) : x.op.d;
    set_accumulates(x, i.pa);
    if (!adds) x.op.f = Lower::uniform_predicate(7) | 0x100u;
    if constexpr (registers) {
        x.op.a = x.source_row(i.a.index, 4);
        x.op.b = x.uniform_source(i.b.base, 4);
    } else {
        x.op.b = x.uniform_source(i.ab.base, 4);
    }
    if constexpr (sparse) {
        f.spread = i.regoffset;
        f.selector = static_cast<uint8_t>(i.selector.imm);
        if (f.selector > 1 || (f.selector && f.bits == 8))
            return x.reject("wgmma with an invalid sparsity selector");
        x.op.e = x.source_row(i.e.index);
    }
    static_assert(std::is_trivially_copyable_v<WarpgroupForm>);
    std::memcpy(x.op.m, &f, sizeof f);
    x.handlers(divergent, multiply);
}

template <class T>
void floats(Lower& x, const T& i, WarpgroupForm& f, uint32_t modifiers) {
    f.half = i.acc == typed::MmaAcc::F16;
    f.negates = ((modifiers & negates_a) != 0) != ((modifiers & negates_b) != 0);
    f.transposed_a = modifiers & transposes_a;
    f.transposed_b = modifiers & transposes_b;
    emit(x, i, f);
}

template <class T>
void hgmma(Lower& x, const T& i, uint32_t modifiers) {
    WarpgroupForm f;
    switch (i.type) {
        case typed::HmmaType::F16:
            break;
        case typed::HmmaType::BF16:
            f.a = f.b = WarpgroupType::bf16;
            break;
        case typed::HmmaType::TF32:
            f.a = f.b = WarpgroupType::tf32;
            f.bits = 32;
            break;
        default:
            return x.reject("HGMMA with an invalid type");
    }
    if (i.acc == typed::MmaAcc::F16 && f.a != WarpgroupType::f16)
        return x.reject("HGMMA with an f16 result of another type");
    if (f.bits == 32 && modifiers & (transposes_a | transposes_b))
        return x.reject("HGMMA with a transposed matrix of 32-bit elements");
    floats(x, i, f, modifiers);
}
template <class T>
void qgmma(Lower& x, const T& i, uint32_t modifiers) {
    WarpgroupForm f;
    const auto type = [&](typed::QmmaType t) {
        if (t != typed::QmmaType::E4M3 && t != typed::QmmaType::E5M2)
            x.reject("QGMMA with an invalid type");
        return t == typed::QmmaType::E5M2 ? WarpgroupType::e5m2 : WarpgroupType::e4m3;
    };
    f.a = type(i.atype);
    f.b = type(i.btype);
    f.bits = 8;
    floats(x, i, f, modifiers);
}
template <class T>
void igmma(Lower& x, const T& i) {
    WarpgroupForm f;
    f.bits = 8;
    const auto type = [&](typed::ImmaType t) {
        if (t != typed::ImmaType::U8 && t != typed::ImmaType::S8)
            x.reject("IGMMA with an invalid type");
        return t == typed::ImmaType::S8 ? WarpgroupType::s8 : WarpgroupType::u8;
    };
    f.a = type(i.atype);
    f.b = type(i.btype);
    f.saturates = i.sat;
    emit(x, i, f);
}
template <class T>
void bgmma(Lower& x, const T& i) {
    WarpgroupForm f;
    f.a = f.b = WarpgroupType::bit;
    f.bits = 1;
    if (i.op != 2 || i.reduce != 1) return x.reject("BGMMA of another operation than .AND.POPC");
    emit(x, i, f);
}
// Modifiers where A is in registers: .tnspB is bit 0, .negB bit 1; or .negB alone.
uint32_t of_registers(const typed::Src& a, uint32_t modifiers) {
    return (a.neg ? negates_a : 0) | (modifiers & 1 ? transposes_b : 0) |
           (modifiers & 2 ? negates_b : 0);
}
// .negB is bit 0, .negA bit 1.
uint32_t negations(uint32_t modifiers) {
    return (modifiers & 1 ? negates_b : 0) | (modifiers & 2 ? negates_a : 0);
}

}  // namespace

void lower(Lower& x, const typed::Hgmma& i) { hgmma(x, i, i.amods); }
void lower(Lower& x, const typed::HgmmaSp& i) { hgmma(x, i, i.amods); }
void lower(Lower& x, const typed::HgmmaRs& i) { hgmma(x, i, of_registers(i.a, i.bmods)); }
void lower(Lower& x, const typed::HgmmaSpRs& i) { hgmma(x, i, of_registers(i.a, i.bmods)); }
void lower(Lower& x, const typed::Qgmma& i) { qgmma(x, i, negations(i.amods)); }
void lower(Lower& x, const typed::QgmmaSp& i) { qgmma(x, i, negations(i.amods)); }
void lower(Lower& x, const typed::QgmmaRs& i) { qgmma(x, i, of_registers(i.a, i.bmods * 2u)); }
void lower(Lower& x, const typed::QgmmaSpRs& i) { qgmma(x, i, of_registers(i.a, i.bmods * 2u)); }
void lower(Lower& x, const typed::Igmma& i) { igmma(x, i); }
void lower(Lower& x, const typed::IgmmaSp& i) { igmma(x, i); }
void lower(Lower& x, const typed::IgmmaRs& i) { igmma(x, i); }
void lower(Lower& x, const typed::IgmmaSpRs& i) { igmma(x, i); }
void lower(Lower& x, const typed::Bgmma& i) { bgmma(x, i); }
void lower(Lower& x, const typed::BgmmaRs& i) { bgmma(x, i); }

// wgmma.fence: registers are written in the order of instructions until a wgmma is issued, but
// warps meet by it.
void lower(Lower& x, const typed::WarpgroupArrive&) { x.handler(arrive_in_group); }
void lower(Lower& x, const typed::WarpgroupWait&) { x.handler(meet_group); }
void lower(Lower& x, const typed::WarpgroupDepbar& i) {
    if (i.mode != 1 || i.gsb != typed::GroupBarrier::GSB0)
        return x.reject("WARPGROUP.DEPBAR of another kind than .LE gsb0");
    x.op.k[0] = static_cast<uint8_t>(i.count.imm);
    x.handlers(divergent, wait);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
