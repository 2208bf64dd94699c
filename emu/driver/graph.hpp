// SPDX-License-Identifier: Apache-2.0
// Operations of streams as values, and graphs of them: what a stream does at once, or a capture
// notes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "emu/driver/cuda_types.h"
#include "emu/machine.hpp"

namespace sassemu::driver {

struct Function;
struct Event;
struct Graph;

struct LaunchOperation {
    std::shared_ptr<Function> function;
    LaunchRequest request;
    std::vector<std::byte> given;  // parameters, for those who ask a node
};
struct HostOperation {
    CUhostFn function = nullptr;
    void* user = nullptr;
};
struct ValueOperation {
    bool waits = false;
    ValueCondition condition;
};
struct EventOperation {
    std::shared_ptr<Event> event;
    bool waits = false;
};
struct FreeOperation {
    uint64_t address = 0;
};
struct ChildOperation {
    std::shared_ptr<Graph> graph;
};
using Operation = std::variant<std::monostate, LaunchOperation, BoxCopy, RowFill, HostOperation,
                               ValueOperation, EventOperation, FreeOperation, ChildOperation>;

struct Node {
    CUgraphNode handle = nullptr;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    Operation operation;
    std::vector<CUgraphNode> after;  // depends on these
    std::weak_ptr<Graph> graph;
    CUDA_MEMCPY3D copy{};  // of a copy, as it was given
};
struct Graph {
    CUgraph handle = nullptr;
    std::mutex mutex;
    std::vector<std::shared_ptr<Node>> nodes;
};
struct GraphExec {
    std::mutex mutex;
    std::vector<std::shared_ptr<Node>> nodes;  // copies, in an order that runs
    std::vector<CUgraphNode> of;               // which node of the graph each one is
    uint64_t flags = 0;
};
// What is put into some streams goes into a graph.
struct Capture {
    std::shared_ptr<Graph> graph;
    CUstreamCaptureMode mode = 0;
    uint64_t id = 0;
    bool invalid = false;
    bool into_own = true;  // the graph was made for it
};

}  // namespace sassemu::driver
