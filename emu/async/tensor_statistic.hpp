// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld.red: what is made of the registers that a lane has loaded from tensor memory.
#pragma once

#include <cstdint>
#include <span>

#include "emu/machine/tensor_requests.hpp"

namespace sassemu::async {

uint32_t statistic(const TensorStatistic&, std::span<const uint32_t> loaded);

}  // namespace sassemu::async
