// SPDX-License-Identifier: Apache-2.0
// Who is at a driven machine besides the warps of this process: the host, streams, and other
// processes, which also have some of the memory. See driven_machine.hpp.
#include <cstring>

#include "emu/machine/launch_host.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/driving.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

using namespace driving;

// ---- the host and streams

sassemu_operation DrivenMachine::of_client(const Client& who, sassemu_operation_kind kind,
                                           uint64_t address, uint64_t bytes) const {
    sassemu_operation o = operation(kind);
    o.ordering = kind == SASSEMU_OPERATION_FENCE   ? SASSEMU_SC
                 : !scoped()                       ? SASSEMU_RELAXED
                 : kind == SASSEMU_OPERATION_LOAD  ? SASSEMU_ACQUIRE
                 : kind == SASSEMU_OPERATION_STORE ? SASSEMU_RELEASE
                                                   : SASSEMU_ACQ_REL;
    o.scope = SASSEMU_LEVEL_SYS;
    o.address = address;
    o.bytes = static_cast<uint8_t>(bytes);
    o.from.thread = o.from.cta = ~uint64_t{0} - (who.kind == SASSEMU_AGENT_HOST ? 0 : 1 + who.gpu);
    o.from.kind = who.kind;
    o.from.gpu = who.gpu;
    return o;
}

bool DrivenMachine::client_reads(const Client& who, uint64_t address, void* to, uint64_t bytes) {
    const AtMachine at_machine(this, who.outside);
    if (!scoped() && !machine_.held(self_, state_)) return false;
    outside_ = who.outside;
    in_pieces(address, bytes, [&](uint64_t at, uint64_t count) {
        perform(of_client(who, SASSEMU_OPERATION_LOAD, address + at, count),
                static_cast<uint8_t*>(to) + at);
    });
    outside_ = false;
    return true;
}

bool DrivenMachine::client_writes(const Client& who, uint64_t address, const void* from,
                                  uint64_t bytes) {
    const AtMachine at_machine(this, who.outside);
    // Others may be at the machine right after it.
    if (!scoped() && !who.outside && !machine_.held(self_, state_)) return false;
    in_pieces(address, bytes, [&](uint64_t at, uint64_t count) {
        uint8_t value[most_bytes];
        std::memcpy(value, static_cast<const uint8_t*>(from) + at, count);
        perform(of_client(who, SASSEMU_OPERATION_STORE, address + at, count), value);
    });
    client_fence(who);
    return true;
}

void DrivenMachine::client_changes(const Client& who, uint64_t address, uint32_t bytes,
                                   const std::function<void()>& act) {
    const AtMachine at_machine(this, who.outside);
    perform(of_client(who, SASSEMU_OPERATION_ATOMIC, address, bytes), nullptr);
    act();
    client_fence(who);
}

void DrivenMachine::client_fence(const Client& who) {
    perform(of_client(who, SASSEMU_OPERATION_FENCE, 0, 0), nullptr);
}

// ---- memory of which other processes have some

void DrivenMachine::reach_by(FarMemory* far) {
    if (far_) return;
    far_ = std::make_unique<FarBytes>(
        *far,
        [this](uint64_t address, std::span<const std::byte> bytes) {
            return host.write(session, address, bytes.data(), bytes.size()) == 0;
        },
        [this](uint64_t launch, const std::string& why) { lost(launch, why); });
    bytes_.elsewhere = [](void* m, uint64_t address) {
        return int32_t{static_cast<DrivenMachine*>(m)->far_->elsewhere(address)};
    };
}

bool DrivenMachine::read(uint64_t address, void* to, uint32_t bytes) const {
    const std::span into(static_cast<std::byte*>(to), bytes);
    const bool there = far_ && far_->elsewhere(address)
                           ? far_->read(address, into)
                           : host.read(session, address, to, bytes) == 0;
    if (there && far_) far_->overlay(address, into);
    return there;
}

bool DrivenMachine::write(uint64_t address, const void* from, uint32_t bytes) const {
    const std::span all(static_cast<const std::byte*>(from), bytes);
    if (far_ && far_->write(writing_, address, all)) {
        host.wake(session);
        return true;
    }
    return host.write(session, address, from, bytes) == 0;
}

// What the launch has written, or waits for, lies with a process that is gone.
void DrivenMachine::lost(uint64_t launch, const std::string& why) const {
    for (const Launch& one : launches_)
        if (one.id == launch)
            sassemu::launch(one.handle)
                ->host->end(LaunchStatus::fault, "memory of another rank is lost: " + why);
}

// What the access reads lies with a process that is gone: one status for all such.
void DrivenMachine::lost(const sassemu_access& a, uint32_t lanes, const std::string& why) {
    Warp& w = *warp(a.warp);
    const HookedInstruction& i = instruction(a.insn);
    launch_host(w).fault(w, i.image->ops() + i.index, lanes, FaultKind::use_after_free,
                         "memory of another rank is lost: " + why, false, 0);
}

// What loads may find elsewhere, behind what the machine has on its way there; why not.
std::string DrivenMachine::fetch(const Who& who, sassemu_operation what, const uint64_t* address,
                                 uint32_t lanes) {
    if (!far_) return "";
    uint32_t far = 0;
    for_lanes(scoped() ? lanes : 0, [&](unsigned lane) {
        if (!far_->elsewhere(address[lane])) return;
        far |= 1u << lane;
        what.address = address[lane];
        what.from = of(who, lane);
        make_way(what);
    });
    if (far) far_->settle();
    return far_->fetch(address, lanes, what.bytes);
}

bool DrivenMachine::tells_others(const sassemu_operation& o) const {
    const bool releases =
        o.ordering == SASSEMU_RELEASE || o.ordering == SASSEMU_ACQ_REL || o.ordering == SASSEMU_SC;
    return far_ && scoped() && o.from.kind == SASSEMU_AGENT_WARP && releases &&
           o.scope == SASSEMU_LEVEL_SYS;
}

}  // namespace sassemu
