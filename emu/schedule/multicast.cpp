// SPDX-License-Identifier: Apache-2.0
// Accesses to multicast objects: what goes to an address of one goes to each member, as an access
// to memory there, in the order of the members.
#include "emu/memory/multicast.hpp"

#include <array>
#include <bit>

#include "emu/machine/lane_bits.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

const Multicast* object_at(const Warp& w, const Access& a, uint32_t lane) {
    if (a.through || (a.space != AccessSpace::global && a.space != AccessSpace::generic))
        return nullptr;
    return multicast_of(w.cta->launch->space->find(a.address[lane]), a.address[lane]);
}

// Of `lanes` those that name the same object as the first.
uint32_t together(const Warp& w, const Access& a, uint32_t lanes, const Multicast* object) {
    uint32_t same = 0;
    for_lanes(lanes, [&](uint32_t lane) {
        if (object_at(w, a, lane) == object) same |= 1u << lane;
    });
    return same;
}

Access at_member(const Access& a, uint32_t lanes, const Multicast& object,
                 const Multicast::Member& member) {
    Access to = a;
    to.lanes = lanes;
    to.through = member.space;
    for_lanes(lanes, [&](uint32_t lane) {
        to.address[lane] = a.address[lane] - object.address + member.address;
    });
    return to;
}

// f(lanes, first lane, object or null) for the lanes that reach one object, and for those that
// reach none, until one answers null; op + 1 at the end.
template <class F>
const Op* each_object(const Warp& w, const Op* op, const Access& a, F&& f) {
    for (uint32_t left = a.lanes; left;) {
        const auto first = static_cast<uint32_t>(std::countr_zero(left));
        const Multicast* const object = object_at(w, a, first);
        const uint32_t lanes = together(w, a, left, object);
        left &= ~lanes;
        if (!f(lanes, first, object)) return nullptr;
    }
    return op + 1;
}

}  // namespace

bool Engine::is_multicast(const Warp& w, const Access& a, uint32_t lane) {
    return object_at(w, a, lane) != nullptr;
}

const Op* Engine::access_member(Warp& w, const Op* op, const Access& a) {
    return launch_.hooks ? launch_.hooks->access_member(w, op, a) : services(w).access(w, op, a);
}

const Op* Engine::access_multicast(Warp& w, const Op* op, const Access& a) {
    const Services& port = services(w);
    return each_object(w, op, a, [&](uint32_t lanes, uint32_t first, const Multicast* object) {
        if (!object) {
            Access others = a;
            others.lanes = lanes;
            return port.access(w, op, others) != nullptr;
        }
        if (a.op != AccessOp::store && a.op != AccessOp::reduce)
            return fault(w, op, lanes, FaultKind::other,
                         "a multicast object takes multimem.st, multimem.red and "
                         "multimem.ld_reduce only: " +
                             launch_.space->describe(a.address[first]),
                         true, a.address[first]) != nullptr;
        for (const Multicast::Member& member : object->members)
            if (!access_member(w, op, at_member(a, lanes, *object, member))) return false;
        return true;
    });
}

const Op* Engine::load_reduce(Warp& w, const Op* op, const Access& a, const LoadReduce& how) {
    return each_object(w, op, a, [&](uint32_t lanes, uint32_t first, const Multicast* object) {
        if (!object)
            return fault(w, op, lanes, FaultKind::other,
                         "LDGMC (multimem.ld_reduce) reads multicast objects only: " +
                             launch_.space->describe(a.address[first]),
                         true, a.address[first]) != nullptr;
        // Word k of a lane at [32 * k + lane], for each member.
        std::vector<std::array<uint32_t, 4 * 32>> held(object->members.size());
        for (size_t m = 0; m < held.size(); ++m) {
            Access load = at_member(a, lanes, *object, object->members[m]);
            load.destination = sink_row;
            if (!access_member(w, op, load)) return false;
            if (w.in_flight) drain(w);
            std::memcpy(held[m].data(), w.row(sink_row), sizeof held[m]);
        }
        for_lanes(lanes, [&](uint32_t lane) {
            std::vector<std::array<uint32_t, 4>> words(held.size());
            std::vector<const uint32_t*> members;
            for (size_t m = 0; m < held.size(); ++m) {
                for (uint32_t k = 0; k < 4; ++k) words[m][k] = held[m][32 * k + lane];
                members.push_back(words[m].data());
            }
            uint32_t result[4] = {};
            combine(how, members, a.bytes, result);
            for (uint32_t k = 0; k < a.bytes / 4u; ++k)
                w.row(a.destination)[32 * k + lane] = result[k];
        });
        return true;
    });
}

}  // namespace sassemu
