// SPDX-License-Identifier: Apache-2.0
// The forms of section 7 of docs/litmus.md as operations of a machine.
#include "emu/explore/machines/memory_operation.hpp"

#include <cstring>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {
namespace {

sassemu_operation_kind kind_of(const std::string& form) {
    if (form == "MEMBAR") return SASSEMU_OPERATION_FENCE;
    if (form == "CCTL" || form == "CCTLT") return SASSEMU_OPERATION_CACHE;
    if (form == "ST") return SASSEMU_OPERATION_STORE;
    if (form == "ATOM") return SASSEMU_OPERATION_ATOMIC;
    return SASSEMU_OPERATION_LOAD;  // LD, TLD, PRELOAD
}

}  // namespace

MemoryOperation memory_operation(const Instruction& i, uint64_t value, uint64_t address,
                                 uint8_t bytes) {
    constexpr uint8_t levels[] = {SASSEMU_LEVEL_NONE, SASSEMU_LEVEL_SM, SASSEMU_LEVEL_VC,
                                  SASSEMU_LEVEL_GPU, SASSEMU_LEVEL_SYS};
    MemoryOperation o(kind_of(i.form));
    sassemu_operation& w = o.what;
    w.address = address;
    if (o.accesses()) w.bytes = bytes;
    if (i.form == "TLD") w.proxy = SASSEMU_VIA_TEXTURE;
    if (i.reads_only) w.flags = SASSEMU_ACCESS_CACHE_CV;
    if (o.is(SASSEMU_OPERATION_FENCE)) {
        w.ordering = SASSEMU_SC;
        w.scope = levels[i.scope];
        w.invalidate_data = i.restriction & 1;
        w.invalidate_texture = i.restriction >> 1 & 1;
    }
    if (o.is(SASSEMU_OPERATION_CACHE)) {
        w.cache = i.form == "CCTLT" ? SASSEMU_CACHE_TEXTURE : SASSEMU_CACHE_DATA;
        w.action = i.group ? SASSEMU_CACHE_INVALIDATE : SASSEMU_CACHE_INVALIDATE_ALL;
        w.has_address = i.group;
    }
    if (o.is(SASSEMU_OPERATION_ATOMIC)) {
        o.atomic = i.atomic == AtomicOp::add ? sassemu::AtomicOp::add : sassemu::AtomicOp::exch;
        o.type = bytes == 8 ? AtomicType::u64 : AtomicType::u32;
    }
    std::memcpy(o.value.data(), &value, sizeof value);
    if (i.a.kind == Operand::Kind::reg) o.to[0] = static_cast<int32_t>(i.a.reg);
    o.whole = true;
    return o;
}

}  // namespace sassemu::explore
