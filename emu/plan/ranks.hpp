// SPDX-License-Identifier: Apache-2.0
// Several processes that run one plan, each the launches of its GPUs: what the run of a plan needs
// of the others. What does not belong here: how they reach each other (emu/link/ranks.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu {
class Machine;
}

namespace sassemu::plan {

class Ranks {
  public:
    virtual ~Ranks() = default;
    // Which rank has a GPU; memory and steps of the host are the first one's.
    virtual uint32_t rank_of(uint32_t gpu) const = 0;
    virtual uint32_t rank() const = 0;
    virtual uint32_t ranks() const = 0;
    bool mine(uint32_t gpu) const { return rank_of(gpu) == rank(); }
    // A buffer, before it is filled: of this rank, which others then reach, or of another.
    virtual Result<void> add(Machine& machine, uint32_t owner, uint64_t address, uint64_t bytes,
                             const std::string& name) = 0;
    // All are there, and their buffers are filled. From here on all memory is that of its owner.
    virtual Result<void> begin(Machine& machine) = 0;
    // All launches of all ranks have ended. An Error: one of them is not there any more.
    virtual Result<void> end() = 0;
    // The machine goes: it is not to be touched any more.
    virtual void leave() = 0;
};

}  // namespace sassemu::plan
