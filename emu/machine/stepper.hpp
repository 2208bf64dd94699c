// SPDX-License-Identifier: Apache-2.0
// Who follows a run instruction by instruction and may halt it anywhere: a debugger. What belongs
// here: what the engine tells it. A run without one has none of this; with one, launches have one
// worker (GpuOptions::deterministic) and recorders see nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emu/gpu.hpp"

namespace sassemu {

class CodeImage;
struct Cta;
struct Launch;
struct Op;
struct Warp;

class Stepper {
  public:
    virtual ~Stepper() = default;

    // Warp instructions of the whole run that have begun, those included whose guard was false in
    // all lanes: a deterministic run comes to the same place with the same number.
    uint64_t position = 0;
    uint64_t halt_at = 0;  // before() is called from this position on

    enum Mark : uint8_t { call_before = 1, call_after = 2 };
    // One for each operation of the code. Asked again when a path gets its turn, and after every
    // call of before() and after().
    virtual const uint8_t* marks(const CodeImage& code) = 0;
    // `op` is next; the path's pc says so. Whoever halts the run does it in here.
    virtual void before(Warp& warp, const Op* op) = 0;
    // `op` is over; the path may have gone elsewhere, or wait.
    virtual void after(Warp& warp, const Op* op) = 0;
    // A path goes on; others, and agents, may have worked since the last call.
    virtual void turn(Warp& warp) = 0;

    virtual void module_placed(const std::shared_ptr<const Module>& module, uint32_t gpu) = 0;
    virtual void launch_begin(Launch& launch, const std::string& kernel, uint32_t gpu) = 0;
    // It ends with anything but `ok`; its CTAs are as they were. `warp`: of a fault, else null.
    virtual void launch_fails(Launch& launch, LaunchStatus status, const std::string& what,
                              Warp* warp, const Op* op, uint32_t lanes) = 0;
    virtual void launch_end(Launch& launch) = 0;
    virtual void cta_begin(Cta& cta) = 0;
    virtual void cta_end(Cta& cta) = 0;
};

}  // namespace sassemu
