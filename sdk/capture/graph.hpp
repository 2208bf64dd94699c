// SPDX-License-Identifier: Apache-2.0
// What of a CUDA graph decides whether and how it is captured: its nodes in an order that it
// allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sassemu::capture {

struct GraphNode {
    enum class Kind : uint8_t { kernel, empty, move, host, other } kind = Kind::kernel;
    std::vector<size_t> needs;  // the nodes that it depends on
    std::string what;           // of an other: "a conditional node"
};

// Each after those that it depends on.
std::vector<size_t> order_of(std::span<const GraphNode> nodes);
// Why the graph is not captured; empty: it is.
std::string refusal_of(std::span<const GraphNode> nodes);

}  // namespace sassemu::capture
