// SPDX-License-Identifier: Apache-2.0
// Host processes that attach to the run of a plan: what the run needs of them. What does not belong
// here: how they reach it (emu/link/host_service.hpp).
#pragma once

#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu {
class Machine;
}

namespace sassemu::plan {

class HostProcesses {
  public:
    virtual ~HostProcesses() = default;
    // A buffer that they may use, before it is filled; `gpu`: whose memory it is. `direct`: nobody
    // has to see each access, so its bytes may be had themselves.
    virtual Result<void> add(Machine& machine, const Buffer& buffer, uint32_t gpu, uint64_t address,
                             bool direct) = 0;
    // They are served from here on. Returns when launches may begin.
    virtual Result<void> begin(Machine& machine) = 0;
    // All launches have ended, with this outcome. Returns when no process uses the memory any more;
    // what the report should tell.
    virtual std::vector<std::string> end(const std::string& outcome) = 0;
    // The machine goes: it is not to be touched any more.
    virtual void leave() noexcept = 0;
};

}  // namespace sassemu::plan
