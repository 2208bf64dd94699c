// SPDX-License-Identifier: Apache-2.0
// See machine_state.hpp.
#include "emu/explore/machines/machine_state.hpp"

#include <algorithm>
#include <cstring>

#include "emu/memory/perform.hpp"

namespace sassemu::explore {

namespace {

// Members of a multicast object, in any order: integers.
void join(std::vector<uint64_t>& registers, const MemoryOperation& o,
          const std::array<uint8_t, 16>& value) {
    uint64_t now = 0, found = 0;
    const auto word = [&](size_t k) -> uint64_t* {
        return o.to[k] < 0 ? nullptr : &registers[static_cast<size_t>(o.to[k])];
    };
    for (size_t k = 0; k < 2; ++k)
        if (word(k)) now |= (*word(k) & 0xffffffff) << 32 * k;
    std::memcpy(&found, value.data(), o.what.bytes);
    now = atomic_result(o.atomic, o.type, now, found, 0);
    for (size_t k = 0; k < 2; ++k)
        if (word(k)) *word(k) = now >> 32 * k & 0xffffffff;
}

}  // namespace

void put_result(std::vector<uint64_t>& registers, const MemoryOperation& o,
                const std::array<uint8_t, 16>& value) {
    if (o.joins) return join(registers, o, value);
    for (size_t k = 0; k < o.to.size(); ++k) {
        if (o.to[k] < 0) continue;
        uint64_t v = 0;
        std::memcpy(
            &v, value.data() + 4 * k,
            o.whole ? std::min<size_t>(8, o.what.bytes) : std::min<size_t>(4, o.what.bytes));
        if (o.sign) v = extended(static_cast<uint32_t>(v), true, o.what.bytes);
        registers[static_cast<size_t>(o.to[k])] = v;
    }
}

StateMemory::StateMemory(const Test& test, const TestMemory& memory, const SassFetch* fetch)
    : memory_(memory), fetch_(fetch) {
    bytes_.size = sizeof bytes_;
    bytes_.memory = &reached_;
    bytes_.read = [](void* m, uint64_t address, void* to, uint32_t count) {
        const std::byte* const at = static_cast<const Reached*>(m)->find(address, count);
        if (!at) return -1;
        std::memcpy(to, at, count);
        return 0;
    };
    bytes_.write = [](void* m, uint64_t address, const void* from, uint32_t count) {
        std::byte* const at = static_cast<const Reached*>(m)->find(address, count);
        if (!at) return -1;
        std::memcpy(at, from, count);
        return 0;
    };
    if (std::ranges::any_of(test.locations,
                            [](const Location& l) { return l.home != SASSEMU_OF_NOBODY; }))
        bytes_.home = [](void* m, uint64_t address) {
            return static_cast<const Reached*>(m)->self->memory_.home(address);
        };
}

std::byte* StateMemory::Reached::find(uint64_t address, uint32_t count) const {
    if (self->fetch_ && address & SASSEMU_MACHINE_SHARED)
        return self->fetch_->shared_bytes(state->sass, address, count);
    const uint64_t found = self->memory_.find(address, count);
    return found == self->memory_.size()
               ? nullptr
               : reinterpret_cast<std::byte*>(state->memory.data()) + found;
}

std::array<uint8_t, 16> StateMemory::perform(MachineState& s, const MemoryOperation& o,
                                             uint32_t way) const {
    std::array<uint8_t, 16> value = o.value;
    const sassemu_bytes& memory = of(s);
    s.machine.perform(memory, o.what, way, o.has_value() ? value.data() : nullptr);
    if (!o.is(SASSEMU_OPERATION_ATOMIC)) return value;
    uint64_t old = 0, operand = 0;
    std::memcpy(&operand, value.data(), 8);
    memory.read(memory.memory, o.what.address, &old, o.what.bytes);
    uint64_t now = old;
    for (uint32_t k = 0; k < o.arrivals; ++k) now = CounterMbarrier::arrive(now);
    if (!o.arrivals) now = atomic_result(o.atomic, o.type, old, operand, o.swap);
    memory.write(memory.memory, o.what.address, &now, o.what.bytes);
    std::memcpy(value.data(), &old, 8);
    return value;
}

void StateMemory::access(MachineState& s, uint32_t thread, const MemoryOperation& o) const {
    const sassemu_bytes& memory = of(s);
    std::array<uint8_t, 16> value = o.value;
    if (o.is(SASSEMU_OPERATION_STORE)) {
        memory.write(memory.memory, o.what.address, value.data(), o.what.bytes);
    } else {
        memory.read(memory.memory, o.what.address, value.data(), o.what.bytes);
        put_result(s.threads[thread].registers, o, value);
    }
}

}  // namespace sassemu::explore
