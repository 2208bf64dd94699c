// SPDX-License-Identifier: Apache-2.0
// A chunk as a message, which takes its events. Nothing else belongs here.
#pragma once

#include "chunk.hpp"

namespace tracing {

void encode(Chunk& chunk, bool values, bool registers, sassemu::trace::Records& to);

}  // namespace tracing
