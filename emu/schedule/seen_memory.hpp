// SPDX-License-Identifier: Apache-2.0
// Accesses of the host and of other processes to memory of this one, as a memory model sees them:
// the model that has the memory performs them.
#pragma once

#include "emu/machine/outside.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/host_values.hpp"
#include "emu/schedule/scheduler.hpp"

namespace sassemu {

// An atomic of a type and size that exist, aligned; `at`: where the bytes are. Null: no plugins.
inline void update_seen(Hooks* hooks, const Client& who, uint64_t address, std::byte* at,
                        const FarMemory::Change& what, uint64_t old[2]) {
    const auto act = [&] {
        bool changed = false;
        const host::Wide was =
            update_at(at, what.op, what.type, what.bytes, {what.operand[0], what.operand[1]},
                      {what.swap[0], what.swap[1]}, changed);
        old[0] = was.lo;
        old[1] = was.hi;
    };
    if (hooks)
        hooks->client_changes(who, address, what.bytes, act);
    else
        act();
}

// Of other processes: in no turn of the scheduler's, since whoever has one may wait for them.
class SeenByModel final : public SeenMemory {
  public:
    SeenByModel(AddressSpace& space, Hooks& hooks, Scheduler& scheduler)
        : space_(space), hooks_(hooks), scheduler_(scheduler) {}

    void read(uint64_t address, std::span<std::byte> into) override {
        if (!hooks_.client_reads(who, address, into.data(), into.size()))
            take_bytes(into, bytes(address));
    }
    void write(uint64_t address, std::span<const std::byte> from) override {
        if (!hooks_.client_writes(who, address, from.data(), from.size()))
            put_bytes(bytes(address), from);
        told();
    }
    void update(uint64_t address, const FarMemory::Change& what, uint64_t old[2]) override {
        update_seen(&hooks_, who, address, bytes(address), what, old);
        told();
    }

  private:
    static constexpr Client who{SASSEMU_AGENT_HOST, 0, true};
    std::byte* bytes(uint64_t address) const {
        const Extent& e = space_.find(address);
        return e.host + (address - e.lo);
    }
    // Who waits for it looks again.
    void told() {
        hooks_.changed();
        scheduler_.news();
    }

    AddressSpace& space_;
    Hooks& hooks_;
    Scheduler& scheduler_;
};

}  // namespace sassemu
