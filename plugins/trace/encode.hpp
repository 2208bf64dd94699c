// SPDX-License-Identifier: Apache-2.0
// A chunk as a message. Nothing else belongs here.
#pragma once

#include <functional>

#include "chunk.hpp"

namespace tracing {

// `id_of`: the number of an instruction in the trace.
using IdOf = std::function<uint32_t(sassemu_insn)>;
void encode(const Chunk& chunk, const IdOf& id_of, bool values, bool registers,
            sassemu::trace::Records& to);

}  // namespace tracing
