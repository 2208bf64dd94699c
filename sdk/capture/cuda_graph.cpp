// SPDX-License-Identifier: Apache-2.0
// See cuda_graph.hpp.
#include "cuda_graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "cuda_driver.hpp"

namespace sassemu::capture {

CUfunction function_of(CUfunction f) {
    CUmodule module = nullptr;
    if (cuFuncGetModule(&module, f) == CUDA_SUCCESS) return f;
    CUfunction real = nullptr;
    check(cuKernelGetFunction(&real, reinterpret_cast<CUkernel>(f)), "its function");
    return real;
}

Launch launch_of(CUfunction f, const CUlaunchConfig& config, void** params, void** extra) {
    Launch launch;
    const char* name = nullptr;
    check(cuFuncGetName(&name, f), "its name");
    launch.kernel = name;
    launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
    launch.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
    launch.dynamic_shared = config.sharedMemBytes;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const CUlaunchAttribute& a = config.attrs[i];
        if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            launch.cluster = {a.value.clusterDim.x, a.value.clusterDim.y, a.value.clusterDim.z};
        if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.cooperative = a.value.cooperative;
        if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            launch.programmatic = a.value.programmaticStreamSerializationAllowed;
    }
    CUmodule module = nullptr;
    check(cuFuncGetModule(&module, f), "its module");
    launch.module = reinterpret_cast<uint64_t>(module);
    size_t offset = 0, bytes = 0;
    for (size_t i = 0; cuFuncGetParamInfo(f, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
        launch.parameters.resize(std::max(launch.parameters.size(), offset + bytes));
        if (params) std::memcpy(launch.parameters.data() + offset, params[i], bytes);
    }
    if (params || !extra) return launch;
    for (void** e = extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e != CU_LAUNCH_PARAM_BUFFER_POINTER) continue;
        size_t size = launch.parameters.size();
        for (void** s = extra; *s != CU_LAUNCH_PARAM_END; s += 2)
            if (*s == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(s[1]);
        std::memcpy(launch.parameters.data(), e[1], std::min(size, launch.parameters.size()));
    }
    return launch;
}

namespace {

Launch kernel_of(const CUDA_KERNEL_NODE_PARAMS& p) {
    CUlaunchConfig config{};
    config.gridDimX = p.gridDimX, config.gridDimY = p.gridDimY, config.gridDimZ = p.gridDimZ;
    config.blockDimX = p.blockDimX, config.blockDimY = p.blockDimY;
    config.blockDimZ = p.blockDimZ, config.sharedMemBytes = p.sharedMemBytes;
    const CUfunction f = function_of(p.func ? p.func : reinterpret_cast<CUfunction>(p.kern));
    return launch_of(f, config, p.kernelParams, p.extra);
}

Move copy_of(const CUDA_MEMCPY3D& c) {
    Move move;
    move.width = c.WidthInBytes;
    move.height = std::max<size_t>(c.Height, 1);
    move.depth = std::max<size_t>(c.Depth, 1);
    move.to_row = c.dstPitch ? c.dstPitch : c.WidthInBytes;
    move.from_row = c.srcPitch ? c.srcPitch : c.WidthInBytes;
    move.to_slice = move.to_row * (c.dstHeight ? c.dstHeight : move.height);
    move.from_slice = move.from_row * (c.srcHeight ? c.srcHeight : move.height);
    move.to = (c.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(c.dstHost)
                                                     : c.dstDevice) +
              c.dstXInBytes + c.dstY * move.to_row + c.dstZ * move.to_slice;
    move.from = (c.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(c.srcHost)
                                                       : c.srcDevice) +
                c.srcXInBytes + c.srcY * move.from_row + c.srcZ * move.from_slice;
    return move;
}

void set(CudaGraphNode& node, const CUDA_MEMCPY3D& c) {
    const bool array =
        c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY;
    node.node.kind = array ? GraphNode::Kind::other : GraphNode::Kind::move;
    if (array)
        node.node.what = "a copy of a CUDA array";
    else
        node.launch.move = copy_of(c);
}

// One row of what is set; every row is that.
void set(CudaGraphNode& node, const CUDA_MEMSET_NODE_PARAMS& p) {
    node.node.kind = GraphNode::Kind::move;
    Move& move = node.launch.move.emplace();
    move.to = p.dst;
    move.width = p.width * p.elementSize;
    move.height = std::max<size_t>(p.height, 1);
    move.to_row = p.height > 1 ? p.pitch : move.width;
    move.bytes.resize(move.width);
    for (size_t i = 0; i < move.width; ++i)
        move.bytes[i] = static_cast<std::byte>(p.value >> 8 * (i % p.elementSize));
}

const char* name_of(CUgraphNodeType type) {
    switch (type) {
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return "a conditional node (how often its body ran, the driver does not tell)";
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
            return "a node for a semaphore of another API";
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            return "a node that stores or waits for values";
        default:
            return "a node of a type that is not known";
    }
}

void describe(CudaGraphNode& to, CUgraphNodeType type) {
    using Kind = GraphNode::Kind;
    switch (type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            CUDA_KERNEL_NODE_PARAMS p{};
            check(cuGraphKernelNodeGetParams(to.handle, &p), "a kernel of a graph");
            to.launch = kernel_of(p);
            CUlaunchAttributeValue value{};
            if (cuGraphKernelNodeGetAttribute(to.handle, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                              &value) == CUDA_SUCCESS &&
                value.clusterDim.x)
                to.launch.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
            if (cuGraphKernelNodeGetAttribute(to.handle, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
                CUDA_SUCCESS)
                to.launch.cooperative = value.cooperative;
            return;
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            CUDA_MEMCPY3D p{};
            check(cuGraphMemcpyNodeGetParams(to.handle, &p), "a copy of a graph");
            return set(to, p);
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            CUDA_MEMSET_NODE_PARAMS p{};
            check(cuGraphMemsetNodeGetParams(to.handle, &p), "a fill of a graph");
            return set(to, p);
        }
        case CU_GRAPH_NODE_TYPE_HOST:
            to.node.kind = Kind::host;
            return;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
            CUDA_MEM_ALLOC_NODE_PARAMS p{};
            check(cuGraphMemAllocNodeGetParams(to.handle, &p), "an allocation of a graph");
            to.node.kind = Kind::empty;
            to.scratch = Range{p.dptr, p.bytesize};
            return;
        }
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            to.node.kind = Kind::empty;
            return;
        default:
            to.node.kind = Kind::other;
            to.node.what = name_of(type);
    }
}

// Adds the nodes of a graph, which all need `before` too. A graph within one stands between two
// empty nodes, of which the second has its handle.
void add(std::deque<CudaGraphNode>& to, CUgraph graph, const std::vector<size_t>& before) {
    size_t count = 0;
    check(cuGraphGetNodes(graph, nullptr, &count), "a graph");
    std::vector<CUgraphNode> handles(count);
    check(cuGraphGetNodes(graph, handles.data(), &count), "a graph");
    std::map<CUgraphNode, std::pair<size_t, size_t>> places;  // its first and its last
    for (const CUgraphNode handle : handles) {
        CUgraphNodeType type{};
        check(cuGraphNodeGetType(handle, &type), "a graph");
        const size_t first = to.size();
        to.push_back({});
        to.back().node.needs = before;
        if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraph child = nullptr;
            check(cuGraphChildGraphNodeGetGraph(handle, &child), "a graph");
            to.back().node.kind = GraphNode::Kind::empty;
            add(to, child, {first});
            GraphNode end{GraphNode::Kind::empty, {}, {}};
            for (size_t i = first; i < to.size(); ++i) end.needs.push_back(i);
            to.push_back({});
            to.back().node = std::move(end);
        }
        to.back().handle = handle;
        if (type != CU_GRAPH_NODE_TYPE_GRAPH) describe(to.back(), type);
        places[handle] = {first, to.size() - 1};
    }
    for (const auto& [handle, place] : places) {
        size_t needs = 0;
        check(cuGraphNodeGetDependencies(handle, nullptr, nullptr, &needs), "a graph");
        std::vector<CUgraphNode> of(needs);
        std::vector<CUgraphEdgeData> edges(needs);
        if (needs)
            check(cuGraphNodeGetDependencies(handle, of.data(), edges.data(), &needs), "a graph");
        for (const CUgraphNode node : of)
            to[place.first].node.needs.push_back(places.at(node).second);
    }
}

}  // namespace

void CudaGraphs::made(CUgraphExec exec, CUgraph graph) {
    graphs_.erase(exec);
    std::deque<CudaGraphNode> nodes;
    add(nodes, graph, {});
    graphs_[exec] = std::move(nodes);
}

const std::deque<CudaGraphNode>* CudaGraphs::find(CUgraphExec exec) const {
    const auto found = graphs_.find(exec);
    return found == graphs_.end() ? nullptr : &found->second;
}

CudaGraphNode* CudaGraphs::node(CUgraphExec exec, CUgraphNode node) {
    const auto graph = graphs_.find(exec);
    if (graph == graphs_.end()) return nullptr;
    const auto found = std::ranges::find(graph->second, node, &CudaGraphNode::handle);
    return found == graph->second.end() ? nullptr : &*found;
}

void CudaGraphs::set_enabled(CUgraphExec exec, CUgraphNode node, bool enabled) {
    if (CudaGraphNode* const n = this->node(exec, node)) n->enabled = enabled;
}
void CudaGraphs::set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to) {
    CudaGraphNode* const n = this->node(exec, node);
    if (!n) return;
    const Launch before = n->launch;
    n->launch = kernel_of(to);
    n->launch.cluster = before.cluster;
    n->launch.cooperative = before.cooperative;
}
void CudaGraphs::set_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& to) {
    if (CudaGraphNode* const n = this->node(exec, node)) set(*n, to);
}
void CudaGraphs::set_fill(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& to) {
    if (CudaGraphNode* const n = this->node(exec, node)) set(*n, to);
}
// The new one has the same nodes: what they do changes, and their places stay.
void CudaGraphs::set_child(CUgraphExec exec, CUgraphNode node, CUgraph to) {
    const auto graph = graphs_.find(exec);
    if (graph == graphs_.end()) return;
    std::deque<CudaGraphNode>& nodes = graph->second;
    const auto end = std::ranges::find(nodes, node, &CudaGraphNode::handle);
    if (end == nodes.end()) return;
    const size_t first = end->node.needs.front(), last = static_cast<size_t>(end - nodes.begin());
    std::deque<CudaGraphNode> changed(nodes.begin(),
                                      nodes.begin() + static_cast<ptrdiff_t>(first) + 1);
    add(changed, to, {first});
    if (changed.size() != last) {
        end->node.kind = GraphNode::Kind::other;
        end->node.what = "a graph within it that became another after it was made";
        return;
    }
    for (size_t i = first + 1; i < last; ++i) {
        changed[i].handle = nodes[i].handle;  // later changes name those of the first
        nodes[i] = std::move(changed[i]);
    }
}
void CudaGraphs::set_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& to) {
    switch (to.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            CUDA_KERNEL_NODE_PARAMS p{};
            static_assert(sizeof p == sizeof to.kernel);
            std::memcpy(&p, &to.kernel, sizeof p);
            return set_kernel(exec, node, p);
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return set_copy(exec, node, to.memcpy.copyParams);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS p{to.memset.dst,   to.memset.pitch,
                                            to.memset.value, to.memset.elementSize,
                                            to.memset.width, to.memset.height};
            return set_fill(exec, node, p);
        }
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return set_child(exec, node, to.graph.graph);
        default:
            return;
    }
}

}  // namespace sassemu::capture
