// SPDX-License-Identifier: Apache-2.0
// STAS and REDAS: stores and reductions in the shared memory of a CTA of the cluster, which report
// their bytes to an mbarrier there (PTX ISA, "st.async", "red.async"). An agent performs them
// (async/agents.hpp).
//
// The base pair holds the address of the data and, in its upper register, that of the mbarrier
// object; both are shared addresses of the cluster.
#include "emu/isa/async_store.hpp"

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

}  // namespace

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
