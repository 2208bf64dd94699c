// SPDX-License-Identifier: Apache-2.0
// What is in streams besides grids: copies, values waited for and written, calls of the host's.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "emu/machine.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/schedule/work.hpp"

namespace sassemu {

class FarMemory;
class Hooks;
class OutsideAgent;
struct Client;

// What the host and streams reach.
struct StreamMemory {
    AddressSpace& host;
    FarMemory* far = nullptr;         // null: all memory is of this process
    const std::byte* copy = nullptr;  // of a far value that is waited for

    FarMemory* far_at(uint64_t address, uint64_t bytes) const;
    // Written there, and all that was posted before it too.
    Result<void> put_far(uint64_t address, std::span<const std::byte> bytes) const;
};

// All addresses have been found good; what is freed before their turn comes is a fault. `gpu`:
// whose stream it is.
std::unique_ptr<Work> copy_work(StreamMemory memory, Hooks* hooks, uint32_t gpu, uint64_t to,
                                uint64_t from, uint64_t bytes);
// Addresses of boxes and fills are looked up in their turn.
std::unique_ptr<Work> box_copy_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                    const BoxCopy& box);
std::unique_ptr<Work> fill_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                const RowFill& rows);
// Says when it is reached.
std::unique_ptr<Work> stamp_work(std::function<uint64_t()> time, std::shared_ptr<EventTime> when);
// The work itself, whose result somebody is told of.
std::unique_ptr<Work> told_work(std::unique_ptr<Work> work,
                                std::function<void(const LaunchResult&)> told);
std::unique_ptr<Work> write_value_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                       uint64_t address, uint32_t bytes, uint64_t value);
std::unique_ptr<Work> wait_value_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                      const ValueCondition& condition);
// Not before `ready`, where there is one; `what` completes "waits ...".
std::unique_ptr<Work> call_work(std::function<void()> function, std::function<bool()> ready = {},
                                std::string what = {});
// `outside`: the same, if it works for processes outside.
std::unique_ptr<Work> agent_work(MachineAgent& agent, OutsideAgent* outside = nullptr);

// Whether the condition holds now, as the client sees memory; what it waits for, for reports.
Result<bool> holds(const StreamMemory& memory, const ValueCondition& condition, Hooks* hooks,
                   const Client& who);
std::string text_of(const StreamMemory& memory, const ValueCondition& condition);

}  // namespace sassemu
