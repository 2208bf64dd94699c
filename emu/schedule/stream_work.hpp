// SPDX-License-Identifier: Apache-2.0
// What is in streams besides grids: copies, values waited for and written, calls of the host's.
#pragma once

#include <functional>
#include <memory>

#include "emu/machine.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/schedule/work.hpp"

namespace sassemu {

class Hooks;
class OutsideAgent;
struct Client;

// `host`: what the host reaches. All addresses have been found good; what is freed before their
// turn comes is a fault. `gpu`: whose stream it is.
std::unique_ptr<Work> copy_work(AddressSpace& host, Hooks* hooks, uint32_t gpu, uint64_t to,
                                uint64_t from, uint64_t bytes);
std::unique_ptr<Work> write_value_work(AddressSpace& host, Hooks* hooks, uint32_t gpu,
                                       uint64_t address, uint32_t bytes, uint64_t value);
std::unique_ptr<Work> wait_value_work(AddressSpace& host, Hooks* hooks, uint32_t gpu,
                                      const ValueCondition& condition);
// Not before `ready`, where there is one; `what` completes "waits ...".
std::unique_ptr<Work> call_work(std::function<void()> function, std::function<bool()> ready = {},
                                std::string what = {});
// `outside`: the same, if it works for processes outside.
std::unique_ptr<Work> agent_work(MachineAgent& agent, OutsideAgent* outside = nullptr);

// Whether the condition holds now, as the client sees memory; what it waits for, for reports.
Result<bool> holds(AddressSpace& host, const ValueCondition& condition, Hooks* hooks,
                   const Client& who);
std::string text_of(AddressSpace& host, const ValueCondition& condition);

}  // namespace sassemu
