// SPDX-License-Identifier: Apache-2.0
// Accesses to multicast objects: what goes to an address of one goes to each member, observers are
// told of it there, and the model performs it there.
#include "emu/memory/multicast.hpp"

#include "emu/machine/lane_bits.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/machine/services.hpp"
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

const Op* Hooks::access_member(Warp& w, const Op* op, const Access& a) {
    if (!model_ || !(model_spaces_ & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL)))
        return services(w).access(w, op, a);
    AccessCall call;
    const HookedInstruction& i = w.instructions[op - w.ops];
    call.shown = i.access;
    sassemu_access& shown = call.shown;
    shown.size = sizeof shown;
    shown.insn = handle(&i);
    shown.op = static_cast<uint8_t>(a.op);
    shown.space = SASSEMU_GLOBAL;
    shown.atomic = static_cast<uint8_t>(a.atomic);
    shown.bytes = a.bytes;
    shown.flags |= SASSEMU_ACCESS_IMMEDIATE;
    shown.lanes = a.lanes;
    shown.sequence = ++w.cta->sequence;
    shown.warp = handle(&w);
    call.op = op;
    call.w = &w;
    call.known = AccessCall::Known::good;
    call.located = call.rows = true;
    call.values = call.compare = call.results = nullptr;
    const bool load = a.op == AccessOp::load;
    call.row = load ? a.destination : a.source[0];
    call.destination = load ? w.row(call.row) : nullptr;
    if (!load) call.values = w.row(call.row);
    for_lanes(a.lanes, [&](uint32_t lane) {
        call.address[lane] = a.address[lane];
        call.location[lane] = {a.address[lane], SASSEMU_GLOBAL, 0};
    });
    // Not put off: other members have been reached already.
    constexpr int most_tries = 4096;
    int32_t answer = SASSEMU_RETRY;
    for (int n = 0; n < most_tries && answer == SASSEMU_RETRY && w.stop != Stop::faulted; ++n)
        answer = ask_model("issue", handle(&i), model_table_->issue, &call.shown);
    if (w.stop == Stop::faulted) return nullptr;
    if (answer == SASSEMU_DONE) return services(w).access(w, op, a);
    if (answer != SASSEMU_SUPPLIED || (load && call.supplied != a.lanes))
        return launch_host(w).fault(
            w, op, a.lanes, FaultKind::other,
            "the memory model '" + model_->name + "' refuses an access to a multicast object",
            false, 0);
    if (load) {
        call.values = w.row(call.row);
        watch_supplied(call);
    } else {
        ++w.effects;
    }
    return op + 1;
}

}  // namespace sassemu
