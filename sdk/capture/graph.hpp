// SPDX-License-Identifier: Apache-2.0
// What of a CUDA graph decides whether and how it is captured: kernels in an order that it allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sassemu::capture {

struct GraphNode {
    enum class Kind : uint8_t { kernel, empty, other } kind = Kind::kernel;
    std::vector<size_t> needs;  // the nodes that it depends on
};

// Each behind those that it depends on.
std::vector<size_t> order_of(std::span<const GraphNode> nodes);
// Why the graph is not captured; empty: it is. `updated`: its executable one was changed after it
// was made, and CUDA does not tell how.
std::string refusal_of(std::span<const GraphNode> nodes, bool updated);

}  // namespace sassemu::capture
