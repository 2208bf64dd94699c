// SPDX-License-Identifier: Apache-2.0
// Graphs as they were instantiated, with what was changed in them since: kept apart from the
// program's, which may change or end.
#pragma once

#include <cuda.h>

#include <deque>
#include <optional>
#include <unordered_map>

#include "driver.hpp"
#include "graph.hpp"

namespace sassemu::capture {

// A kernel of a library (CUkernel) is accepted wherever a function is.
CUfunction function_of(CUfunction f);
// All but the image. Throws Failure.
Launch launch_of(CUfunction f, const CUlaunchConfig& config, void** params, void** extra);

struct CudaGraphNode {
    CUgraphNode handle = nullptr;  // in the program's graph
    GraphNode node;
    Launch launch;  // a kernel, or a move
    std::optional<Range> scratch;
    bool enabled = true;
};

class CudaGraphs {
  public:
    void made(CUgraphExec exec, CUgraph graph);
    void gone(CUgraphExec exec) { graphs_.erase(exec); }
    // Null: not seen being made.
    const std::deque<CudaGraphNode>* find(CUgraphExec exec) const;

    void set_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);
    void set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to);
    void set_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& to);
    void set_fill(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& to);
    void set_child(CUgraphExec exec, CUgraphNode node, CUgraph to);
    void set_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& to);

  private:
    CudaGraphNode* node(CUgraphExec exec, CUgraphNode node);

    std::unordered_map<CUgraphExec, std::deque<CudaGraphNode>> graphs_;
};

}  // namespace sassemu::capture
