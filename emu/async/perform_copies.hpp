// The agents at work: a copy is checked, performed and reported when it is issued (the eager order).
#pragma once

#include "emu/machine/services.hpp"

namespace sassemu::async {

// Both follow the Handler convention: op + 1, or nullptr after a fault of the launch.
const Op* bulk_copy(Warp&, const Op*, uint32_t lanes, const BulkCopy&);
const Op* tensor_copy(Warp&, const Op*, uint32_t lanes, const TensorCopy&);

}  // namespace sassemu::async
