// SPDX-License-Identifier: Apache-2.0
// The ranks of a plan over the link: processes of one host that share the memory of their GPUs.
// What does not belong here: reading and running plans (emu/plan).
#pragma once

#include <memory>

#include "emu/link/link.hpp"
#include "emu/plan/ranks.hpp"

namespace sassemu::link {

// GPU g of `gpus` is of rank g * ranks / gpus. Memory is shared where all addresses are Unix
// sockets and `messages` is false; else accesses to another rank's go as messages. An Error: the
// options, or more ranks than GPUs.
Result<std::unique_ptr<plan::Ranks>> make_ranks(LinkOptions options, uint32_t gpus, bool messages);

}  // namespace sassemu::link
