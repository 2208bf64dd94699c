// SPDX-License-Identifier: Apache-2.0
// The ranks of a plan over the link: processes of one host that share the memory of their GPUs.
// What does not belong here: reading and running plans (emu/plan).
#pragma once

#include <memory>

#include "emu/link/link.hpp"
#include "emu/plan/ranks.hpp"

namespace sassemu::link {

// GPU g of `gpus` is of rank g * ranks / gpus. An Error: the options, or more ranks than GPUs.
Result<std::unique_ptr<plan::Ranks>> make_ranks(LinkOptions options, uint32_t gpus);

}  // namespace sassemu::link
