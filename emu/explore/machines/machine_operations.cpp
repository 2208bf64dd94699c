// SPDX-License-Identifier: Apache-2.0
#include "emu/explore/machines/machine_operations.hpp"

#include <algorithm>
#include <cstring>

namespace sassemu::explore {
namespace {

bool releases(uint32_t order) {
    return order == SASSEMU_ORDER_RELEASE || order == SASSEMU_ORDER_ACQ_REL ||
           order == SASSEMU_ORDER_SC;
}

}  // namespace

sassemu_place MachineOperations::place(uint32_t thread) const {
    const Thread& t = test_.threads[thread];
    sassemu_place p{};
    p.thread = thread;
    p.cta = static_cast<uint64_t>(t.cta);
    p.sm = static_cast<uint32_t>(t.sm);
    p.gpu = static_cast<uint32_t>(std::max(t.gpu, 0));
    p.cluster = static_cast<uint32_t>(t.cluster);
    p.kind = t.kind == ThreadKind::thread        ? SASSEMU_AGENT_WARP
             : t.kind == ThreadKind::copy_engine ? SASSEMU_AGENT_COPY_ENGINE
                                                 : SASSEMU_AGENT_HOST;
    return p;
}

MemoryOperation MachineOperations::system_fence() {
    MemoryOperation fence(SASSEMU_OPERATION_FENCE);
    fence.what.ordering = SASSEMU_SC;
    fence.what.scope = SASSEMU_LEVEL_SYS;
    return fence;
}

MemoryOperation MachineOperations::of_host(sassemu_operation_kind kind, const op::Access& a) const {
    MemoryOperation o(kind);
    const Name& name = test_.names[a.at.name];
    o.what.address = memory_.of(name.location, 0).address + name.offset + a.at.offset;
    o.what.bytes = static_cast<uint8_t>(a.at.bytes ? a.at.bytes : name.bytes - a.at.offset);
    o.what.ordering = SASSEMU_RELAXED;
    o.what.scope = SASSEMU_LEVEL_SYS;
    o.type = o.what.bytes > 4 ? AtomicType::u64 : AtomicType::u32;
    o.whole = o.blocks = true;
    return o;
}

std::vector<MemoryOperation> MachineOperations::of_host(const Runner& r,
                                                        const Operation& what) const {
    std::vector<MemoryOperation> all;
    const auto put = [](uint64_t value, MemoryOperation& o) {
        std::memcpy(o.value.data(), &value, sizeof value);
    };
    if (const auto* load = std::get_if<op::Load>(&what)) {
        all.push_back(of_host(SASSEMU_OPERATION_LOAD, *load));
        all.back().to[0] = static_cast<int32_t>(load->to.number);
    } else if (const auto* store = std::get_if<op::Store>(&what)) {
        if (releases(store->order)) all.push_back(system_fence());
        all.push_back(of_host(SASSEMU_OPERATION_STORE, *store));
        put(value_of(r, store->value), all.back());
    } else if (const auto* atomic = std::get_if<op::Atomic>(&what)) {
        if (releases(atomic->order)) all.push_back(system_fence());
        MemoryOperation& o = all.emplace_back(of_host(SASSEMU_OPERATION_ATOMIC, *atomic));
        const uint64_t value = value_of(r, atomic->value);
        put(atomic->by.negated ? 0 - value : value, o);
        o.atomic = atomic->by.how;
        o.swap = value_of(r, atomic->swap);
        if (atomic->to) o.to[0] = static_cast<int32_t>(atomic->to->number);
    } else if (const auto* fence = std::get_if<op::Fence>(&what)) {
        if (fence->order != SASSEMU_ORDER_ACQUIRE && fence->scope == SASSEMU_SCOPE_SYS)
            all.push_back(system_fence());
    }
    return all;
}

MemoryOperation MachineOperations::of_text(const Runner& r, uint32_t t,
                                           const op::OnMachine& form) const {
    MemoryOperation o(form.what);
    o.what.from = place(t);
    const auto address = [&](const Place& at, uint32_t& gpu) {
        const int32_t pe = at.pe >= 0 ? at.pe : test_.threads[t].gpu;
        if (symmetric_) gpu = static_cast<uint32_t>(pe);
        return memory_.of(test_.names[at.name].location, pe).address;
    };
    if (form.at) {
        const Location& l = test_.locations[test_.names[form.at->name].location];
        o.what.address = address(*form.at, o.what.gpu);
        if (!o.orders(false)) o.what.bytes = static_cast<uint8_t>(std::min<uint64_t>(l.bytes, 8));
    }
    if (form.other) o.what.other = address(*form.other, o.what.other_gpu);
    o.atomic = form.atomic;
    o.type = o.what.bytes > 4 ? AtomicType::u64 : AtomicType::u32;
    const uint64_t value = value_of(r, form.value);
    std::memcpy(o.value.data(), &value, sizeof value);
    if (form.to) o.to[0] = static_cast<int32_t>(form.to->number);
    o.whole = true;
    o.blocks = form.blocks;
    return o;
}

}  // namespace sassemu::explore
