// SPDX-License-Identifier: Apache-2.0
// A chunk as a message. Nothing else belongs here.
#pragma once

#include "chunk.hpp"

namespace tracing {

void encode(const Chunk& chunk, bool values, bool registers, sassemu::trace::Records& to);

}  // namespace tracing
