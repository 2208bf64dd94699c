// SPDX-License-Identifier: Apache-2.0
// What agents, plugins and their models ask of whoever runs the launch: the rest of the engine is
// its own. What handlers ask is in services.hpp.
#pragma once

#include <optional>
#include <string>

#include "emu/machine/cta.hpp"
#include "emu/machine/outside.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

class LaunchHost : public PortHost {
  public:
    // Ends the launch with a fault. These three follow the Handler convention (services.hpp).
    virtual const Op* fault(Warp&, const Op*, uint32_t lanes, FaultKind, std::string what,
                            bool has_address, uint64_t address) = 0;
    // Ends the launch: the instruction has no behaviour here, with a reason or without.
    virtual const Op* unsupported(Warp&, const Op*, const std::string& why) = 0;
    // The path executes `op` again once one of these bytes differs.
    virtual const Op* park(Warp&, const Op* op, const std::byte* at, uint32_t bytes) = 0;
    // The slice of the warp's CTA ends soon, and others run first.
    virtual void give_way(Warp&) = 0;
    // The index of a cluster that has not begun, and never will; nothing where there is none.
    // `any`: also one of those that the device begins at once.
    virtual std::optional<uint64_t> take_cluster(bool any) = 0;
    // A load that the model performs later; its destination rows are pending.
    virtual void hold(Warp&, const Op*, const Access&, uint64_t token) = 0;
    // Who has the bytes, if only messages reach them; null: this process, or nobody.
    virtual FarMemory* far(uint64_t address, uint64_t bytes) const = 0;
    // FarMemory::put() there, for this launch.
    virtual Result<void> put_far(uint64_t address, std::span<const std::byte> bytes) = 0;
    virtual Result<void> reduce_far(uint64_t address, const FarMemory::Change& what) = 0;
    // The iteration that is watched (Warp::watch) read these bytes there as `seen`.
    virtual void watch_far(Warp&, uint64_t address, uint32_t bytes, const std::byte* seen) = 0;
    // Ends the launch with a status that is no fault of a warp.
    virtual void end(LaunchStatus status, std::string message) = 0;
    // complete() with the values that a plugin's model gives (null: the bytes as they are). False:
    // no such access.
    virtual bool complete_with(uint64_t token, uint32_t lanes, const uint32_t* values) = 0;
};

inline LaunchHost& launch_host(const Warp& w) { return *w.cta->launch->host; }

}  // namespace sassemu
