// SPDX-License-Identifier: Apache-2.0
// Lowering of LDGMC. What its members are, and what combines them, is the engine's
// (schedule/multicast.cpp). An Op is that of a load (memory_access.hpp) with
//   m[2]   AtomicOp | LoadReduceType << 8 | wide << 16
#include "emu/isa/multicast.hpp"

#include "emu/isa/memory_access.hpp"
#include "emu/isa/memory_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

const Op* load_reduce(const Op* op, Warp& w, uint32_t mask) {
    Access a = as<MemoryPayload>(*op).access(w, mask);
    a.op = AccessOp::load;
    a.bytes = static_cast<uint8_t>(width_bytes(static_cast<Width>(op->k[0])));
    const LoadReduce how{static_cast<AtomicOp>(op->m[2] & 255),
                         static_cast<LoadReduceType>(op->m[2] >> 8 & 255), (op->m[2] >> 16) != 0};
    return services(w).load_reduce(w, op, a, how);
}

template <class T>
void load_reduce_of(Lower& x, const T& i, AtomicOp op, LoadReduceType type, uint32_t words,
                    bool wide) {
    describe(x);
    if (!far_operand(x, i.addr, i.e, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    x.op.d = x.destination_row(i.d.index, words);
    x.op.k[0] = static_cast<uint8_t>(words == 1   ? Width::b32
                                     : words == 2 ? Width::b64
                                                  : Width::b128);
    x.op.m[2] = static_cast<uint32_t>(op) | static_cast<uint32_t>(type) << 8 |
                static_cast<uint32_t>(wide) << 16;
    x.handler(load_reduce);
}

}  // namespace

void lower(Lower& x, const typed::Ldgmc& i) {
    using typed::LdgmcOp;
    using typed::LdgmcType;
    const bool wide = i.op == LdgmcOp::F32ADD || i.op == LdgmcOp::HPADD;
    const AtomicOp op = i.op == LdgmcOp::MIN   ? AtomicOp::min
                        : i.op == LdgmcOp::MAX ? AtomicOp::max
                                               : AtomicOp::add;
    const auto number = static_cast<uint32_t>(i.type);
    // Three sizes of each type, one after the other; f64 has two words.
    const auto sized = [&](LoadReduceType type, LdgmcType first) {
        load_reduce_of(x, i, op, type, 1u << (number - static_cast<uint32_t>(first)), wide);
    };
    const auto from = [&](LdgmcType first) {
        return number >= static_cast<uint32_t>(first) && number <= static_cast<uint32_t>(first) + 2;
    };
    const bool number_alone = from(LdgmcType::F32_RN) || i.type == LdgmcType::F64_RN;
    if (number_alone && (wide || op != AtomicOp::add))
        return x.reject("multimem.ld_reduce has .add alone for f32 and f64");
    if (i.type == LdgmcType::F64_RN) return load_reduce_of(x, i, op, LoadReduceType::f64, 2, false);
    if (from(LdgmcType::F16x2_RN)) return sized(LoadReduceType::f16, LdgmcType::F16x2_RN);
    if (from(LdgmcType::BF16x2_RN)) return sized(LoadReduceType::bf16, LdgmcType::BF16x2_RN);
    if (from(LdgmcType::F32_RN)) return sized(LoadReduceType::f32, LdgmcType::F32_RN);
    if (from(LdgmcType::E5M2x4_RN)) return sized(LoadReduceType::e5m2, LdgmcType::E5M2x4_RN);
    if (from(LdgmcType::E4M3x4_RN)) return sized(LoadReduceType::e4m3, LdgmcType::E4M3x4_RN);
    x.reject("LDGMC of an invalid type");
}

void lower(Lower& x, const typed::LdgmcInteger& i) {
    constexpr AtomicOp operators[] = {AtomicOp::add,  AtomicOp::min,  AtomicOp::max,
                                      AtomicOp::none, AtomicOp::none, AtomicOp::and_,
                                      AtomicOp::or_,  AtomicOp::xor_};
    const AtomicOp op = i.op < std::size(operators) ? operators[i.op] : AtomicOp::none;
    if (op == AtomicOp::none || i.type > typed::LdgmcIntegerType::S64)
        return x.reject("LDGMC of an invalid type or operator");
    const auto type = static_cast<LoadReduceType>(i.type);  // the first four are these
    load_reduce_of(x, i, op, type, type < LoadReduceType::u64 ? 1 : 2, false);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
