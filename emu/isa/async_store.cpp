// SPDX-License-Identifier: Apache-2.0
// STAS and REDAS: stores and reductions in the shared memory of a CTA of the cluster, which report
// their bytes to an mbarrier there (PTX ISA, "st.async", "red.async"). An agent performs them
// (async/agents.hpp). USTGR and UREDGR, the same of global memory.
//
// The base pair of STAS and REDAS holds the address of the data and, in its upper register, that of
// the mbarrier object; both are shared addresses of the cluster.
#include "emu/isa/async_store.hpp"

#include "emu/isa/memory_access.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// a, c, m[0]: address; b: that of the object; d: the data; k[0]: bytes; k[1]: AtomicOp, none to
// store; k[2]: AtomicType.
const Op* store(const Op* op, Warp& w, uint32_t mask) {
    LaneStore s;
    s.bytes = op->k[0];
    s.atomic = static_cast<AtomicOp>(op->k[1]);
    s.type = static_cast<AtomicType>(op->k[2]);
    const uint32_t* object = w.row(op->b);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        s.to[lane] = w.row(op->a)[lane] + w.scalar32(op->c) + op->m[0];
        s.mbarrier[lane] = object[lane];
        if ((s.to[lane] ^ s.mbarrier[lane]) >> 24)
            return services(w).fault(
                w, op, 1u << lane, FaultKind::cluster,
                "the data and its mbarrier lie in different CTAs of the cluster", true, s.to[lane]);
        for (uint32_t i = 0; i < s.bytes / 4; ++i)
            s.data[lane][i] = w.row(op->d + i * row_bytes)[lane];
    }
    return services(w).lane_store(w, op, mask, s);
}

void address(Lower& x, const typed::Mem& mem, typed::AddressExt ext) {
    if (ext != typed::AddressExt::B64) return x.gap("a 32-bit address");
    x.op.a = x.source_row(mem.base, 2);
    x.op.b = mem.base == SASSDEC_RZ ? zero_row : x.op.a + row_bytes;
    x.op.c = x.uniform_scalar(mem.has_ureg ? mem.ureg : SASSDEC_URZ);
    x.op.m[0] = static_cast<uint32_t>(mem.offset);
}

// One store or reduction of a warp, behind all that its lanes have done before, in its own scope:
// compiled code fences the CTA alone before it, where sm_120 has a fence of the scope and a store.
// e: the data; m[2] AtomicOp, none to store; m[3] AtomicType.
const Op* release(const Op* op, Warp& w, uint32_t mask) {
    Access a = as<MemoryPayload>(*op).access(w, mask & (0u - mask));
    a.op = op->m[2] ? AccessOp::reduce : AccessOp::store;
    a.space = AccessSpace::global;
    a.ordering = Ordering::release;
    a.atomic = static_cast<AtomicOp>(op->m[2]);
    a.type = static_cast<AtomicType>(op->m[3]);
    a.bytes = static_cast<uint8_t>(width_bytes(static_cast<Width>(op->k[0])));
    // The sink rows are read by nobody: the operand may lie in the last of them.
    a.source[0] = a.source[1] = sink_row + 2 * row_bytes;
    a.destination = sink_row;
    for (uint32_t k = 0; k < 2; ++k)
        L::store(w.row(a.source[0] + k * row_bytes), L::splat(w.uniform[op->e / 4 + k]));
    host::fence();
    return services(w).access(w, op, a);
}
template <class T>
void release_of(Lower& x, const T& i, Width width, AtomicOp reduce, AtomicType type) {
    if (x.modelled()) return x.gap("st.async and red.async of global memory under a memory model");
    describe(x);
    if (!far_operand(x, i.addr, true, false)) return;
    x.op.e = x.uniform_source(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    x.op.m[2] = static_cast<uint32_t>(reduce);
    x.op.m[3] = static_cast<uint32_t>(type);
    x.handler(release);
}

}  // namespace

void lower(Lower& x, const typed::Ustgr& i) {
    Width width;
    if (!width_of(x, event_of(x.instruction()), width)) return;
    release_of(x, i, width, AtomicOp::none, AtomicType::u32);
}
void lower(Lower& x, const typed::Uredgr& i) {
    static constexpr AtomicType types[] = {AtomicType::u32, AtomicType::s32, AtomicType::u64};
    if (i.op != 0) return x.reject("UREDGR with an invalid operation");
    if (i.type >= std::size(types)) return x.reject("UREDGR of an invalid type");
    release_of(x, i, i.type == 2 ? Width::b64 : Width::b32, AtomicOp::add, types[i.type]);
}

void lower(Lower& x, const typed::Stas& i) {
    uint8_t words;
    switch (i.size) {
        case typed::MemSize::B32:
            words = 1;
            break;
        case typed::MemSize::B64:
            words = 2;
            break;
        case typed::MemSize::B128:
            words = 4;
            break;
        default:
            return x.reject("STAS of an invalid size");
    }
    address(x, i.addr, i.ext);
    x.op.d = x.source_row(i.data.index, words);
    x.op.k[0] = static_cast<uint8_t>(words * 4);
    x.handler(store);
}

void lower(Lower& x, const typed::Redas& i) {
    using T = typed::AtomType;
    AtomicType type;
    switch (i.type) {
        case T::U32:
            type = AtomicType::u32;
            break;
        case T::S32:
            type = AtomicType::s32;
            break;
        case T::U64:
            type = AtomicType::u64;
            break;
        default:
            return x.reject("REDAS of an invalid type");
    }
    const bool wide = type == AtomicType::u64;
    static constexpr AtomicOp operations[] = {AtomicOp::add, AtomicOp::min, AtomicOp::max,
                                              AtomicOp::inc, AtomicOp::dec, AtomicOp::and_,
                                              AtomicOp::or_, AtomicOp::xor_};
    if (i.op >= std::size(operations)) return x.reject("REDAS with an invalid operation");
    address(x, i.addr, i.ext);
    x.op.d = x.source_row(i.data.index, wide ? 2 : 1);
    x.op.k[0] = wide ? 8 : 4;
    x.op.k[1] = static_cast<uint8_t>(operations[i.op]);
    x.op.k[2] = static_cast<uint8_t>(type);
    x.handler(store);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
