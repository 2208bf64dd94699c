// SPDX-License-Identifier: Apache-2.0
// See graph.hpp.
#include "graph.hpp"

#include <algorithm>

namespace sassemu::capture {

std::vector<size_t> order_of(std::span<const GraphNode> nodes) {
    std::vector<size_t> order;
    std::vector<bool> placed(nodes.size());
    for (size_t before = SIZE_MAX; order.size() != before;) {
        before = order.size();
        for (size_t i = 0; i < nodes.size(); ++i) {
            if (placed[i] ||
                !std::ranges::all_of(nodes[i].needs, [&](size_t of) { return placed[of]; }))
                continue;
            placed[i] = true;
            order.push_back(i);
        }
    }
    return order;
}

std::string refusal_of(std::span<const GraphNode> nodes) {
    const auto other = std::ranges::find(nodes, GraphNode::Kind::other, &GraphNode::kind);
    return other == nodes.end() ? "" : "its graph has " + other->what;
}

}  // namespace sassemu::capture
