// SPDX-License-Identifier: Apache-2.0
// Putting operations into streams.
#pragma once

#include "emu/driver/driver.hpp"

namespace sassemu::driver {

// Into the stream; while it is captured, into its graph.
CUresult submit(const std::shared_ptr<Context>& context, Stream& stream, Operation operation,
                CUgraphNodeType type);
// Into the stream, in any case.
CUresult perform(StreamId stream, const Operation& operation);
// A node at the end of the graph.
CUresult add_node(const std::shared_ptr<Graph>& graph, Operation operation, CUgraphNodeType type,
                  std::vector<CUgraphNode> after, CUgraphNode* out);
// Nothing may be waited for while this thread captures globally; CUDA_SUCCESS: it may.
bool capturing(Stream& stream);

// Frees memory of any kind at once.
CUresult free_memory(uint64_t address);

}  // namespace sassemu::driver
