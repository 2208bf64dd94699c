// SPDX-License-Identifier: Apache-2.0
// Accesses to multicast objects: what goes to an address of one goes to each member, and observers
// are told of it there.
#include "emu/memory/multicast.hpp"

#include "emu/machine/lane_bits.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

const Multicast* Hooks::multicast_of_all(const AccessCall& call) {
    if (call.shown.space != SASSEMU_GLOBAL && call.shown.space != SASSEMU_GENERIC) return nullptr;
    const AddressSpace& space = *call.w->cta->launch->space;
    const Multicast* object = nullptr;
    bool one = true;
    for_lanes(call.shown.lanes, [&](uint32_t lane) {
        const Multicast* const here =
            multicast_of(space.find(call.address[lane]), call.address[lane]);
        one &= here && (!object || here == object);
        object = here;
    });
    return one ? object : nullptr;
}

void Hooks::at_members(AccessCall& call, const Multicast& object,
                       void (Hooks::*tell)(AccessCall&)) {
    uint64_t at = object.address;
    call.located = true;
    call.known = AccessCall::Known::good;
    for (const Multicast::Member& member : object.members) {
        for_lanes(call.shown.lanes, [&](uint32_t lane) {
            call.address[lane] += member.address - at;
            call.location[lane] = {call.address[lane], SASSEMU_GLOBAL, 0};
        });
        at = member.address;
        (this->*tell)(call);
    }
    for_lanes(call.shown.lanes, [&](uint32_t lane) { call.address[lane] += object.address - at; });
}

}  // namespace sassemu
