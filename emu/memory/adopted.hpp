// SPDX-License-Identifier: Apache-2.0
// Memory that the program has itself, at its own address, which GPUs reach too.
#pragma once

#include <cstdint>

namespace sassemu {

// A flag of AddressSpace::Options (and of the extent): the bytes are those at the address, they are
// neither made nor given back.
constexpr uint32_t adopted_extent = 0x1000;

}  // namespace sassemu
