// SPDX-License-Identifier: Apache-2.0
// How a driver function finds its arguments and returns: parameters from R4 on, each aligned to its
// size, those that find no room on the stack that R1 points to; the result in R4; the return
// address in R20, R21 (read off what nvcc 13.0 emits for a call through c[0x4]). What belongs here:
// the call itself. What does not: what the functions do.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

inline uint32_t argument(const Warp& w, uint32_t reg, uint32_t lane) {
    return w.row(register_row(reg))[lane];
}
inline uint64_t argument64(const Warp& w, uint32_t reg, uint32_t lane) {
    return argument(w, reg, lane) | uint64_t{argument(w, reg + 1, lane)} << 32;
}

// What the warp has loaded is there: the arguments, and the last of what free() takes back.
inline void begin_call(Warp& w) {
    ++w.effects;
    if (w.in_flight) engine(w).drain(w);
}

inline const Op* give_back(Warp& w, const Op* op, uint32_t lanes) {
    uint64_t to[32] = {};
    for (uint32_t lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) to[lane] = argument64(w, 20, lane);
    return services(w).jump(w, op, lanes, to);
}

// Lane by lane, as each lane of a call acts for itself; what act() gives but the next operation
// ends the call.
template <class Act>
const Op* each_lane(const Op* op, Warp& w, uint32_t lanes, Act&& act) {
    begin_call(w);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        if (const Op* next = act(lane); next != op + 1) return next;
    }
    return give_back(w, op, lanes);
}

// Bytes of the kernel's memory through generic addresses; false at the first that is not there.
inline bool read_bytes(Warp& w, uint32_t lane, uint64_t address, std::span<std::byte> out) {
    for (size_t i = 0; i < out.size(); ++i) {
        const Landing at = land(w, AccessSpace::generic, address + i, lane, 1, false);
        if (!at.host) return false;
        out[i] = std::byte{host::load<uint8_t>(at.host)};
    }
    return true;
}
inline bool write_bytes(Warp& w, uint32_t lane, uint64_t address,
                        std::span<const std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
        const Landing at = land(w, AccessSpace::generic, address + i, lane, 1, true);
        if (!at.host) return false;
        host::store(at.host, std::to_integer<uint8_t>(bytes[i]));
    }
    return true;
}

// The copies to shared memory that sm_120 leaves to the driver (driver_copies.cpp).
std::vector<DriverFunction> copy_functions();

}  // namespace sassemu
