// SPDX-License-Identifier: Apache-2.0
// Graphs built by hand or by capture: nodes, dependencies, instances. An instance runs its nodes
// in the stream it is launched in, one after the other in an order that the dependencies allow.
#include <algorithm>
#include <cstring>

#include "emu/driver/image.hpp"
#include "emu/driver/operation.hpp"

namespace sassemu::driver {

CUresult make_launch(const std::shared_ptr<Context>& context, CUfunction handle,
                     const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared,
                     void** parameters, void** extra, LaunchOperation& out);
CUresult box_of(const CUDA_MEMCPY3D& c, BoxCopy& box);

namespace {

CUresult find_graph(CUgraph handle, std::shared_ptr<Graph>& out) {
    out = Driver::get().graphs.find(bits(handle));
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult find_node(CUgraphNode handle, std::shared_ptr<Node>& out) {
    out = Driver::get().nodes.find(bits(handle));
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult find_exec(CUgraphExec handle, std::shared_ptr<GraphExec>& out) {
    out = Driver::get().graph_execs.find(bits(handle));
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// A new node of the graph, behind nodes of it.
CUresult add(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* after, size_t count,
             CUgraphNodeType type, Operation operation) {
    if (!out || (count && !after)) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(graph_handle, graph));
    std::vector<CUgraphNode> nodes;
    for (size_t i = 0; i < count; ++i) {
        std::shared_ptr<Node> node;
        SASSEMU_CUDA(find_node(after[i], node));
        if (node->graph.lock() != graph) return CUDA_ERROR_INVALID_VALUE;
        nodes.push_back(after[i]);
    }
    return add_node(graph, std::move(operation), type, std::move(nodes), out);
}

CUresult kernel_operation(const CUDA_KERNEL_NODE_PARAMS& p, Operation& out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    LaunchOperation launch;
    const CUfunction f = p.func ? p.func : as_handle<CUfunction>(bits(p.kern));
    SASSEMU_CUDA(make_launch(context, f, {p.gridDimX, p.gridDimY, p.gridDimZ},
                             {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes,
                             p.kernelParams, p.extra, launch));
    out = std::move(launch);
    return CUDA_SUCCESS;
}
CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1& p) {
    CUDA_KERNEL_NODE_PARAMS all{};
    std::memcpy(&all, &p, sizeof p);
    return all;
}
CUresult copy_operation(const CUDA_MEMCPY3D& p, Operation& out) {
    BoxCopy box;
    SASSEMU_CUDA(box_of(p, box));
    out = box;
    return CUDA_SUCCESS;
}
CUresult fill_operation(const CUDA_MEMSET_NODE_PARAMS& p, Operation& out) {
    if ((p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) || p.dst % p.elementSize ||
        p.width > (size_t{1} << 40))
        return CUDA_ERROR_INVALID_VALUE;
    out = RowFill{p.dst, p.pitch, p.width * p.elementSize, p.height, p.value, p.elementSize};
    return CUDA_SUCCESS;
}
CUresult host_operation(CUhostFn function, void* user, Operation& out) {
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    out = HostOperation{function, user};
    return CUDA_SUCCESS;
}
CUresult event_operation(CUevent handle, bool waits, Operation& out) {
    auto event = Driver::get().events.find(bits(handle));
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    out = EventOperation{std::move(event), waits};
    return CUDA_SUCCESS;
}
CUresult child_operation(CUgraph handle, Operation& out) {
    std::shared_ptr<Graph> child;
    SASSEMU_CUDA(find_graph(handle, child));
    // The child is what it is now.
    auto copy = std::make_shared<Graph>();
    copy->handle = handle;
    const std::lock_guard guard(child->mutex);
    for (const auto& node : child->nodes) copy->nodes.push_back(std::make_shared<Node>(*node));
    out = ChildOperation{std::move(copy)};
    return CUDA_SUCCESS;
}
CUresult any_operation(const CUgraphNodeParams& p, Operation& out) {
    switch (p.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return kernel_operation(p.kernel, out);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return copy_operation(p.memcpy.copyParams, out);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const auto& m = p.memset;
            return fill_operation({m.dst, m.pitch, m.value, m.elementSize, m.width, m.height}, out);
        }
        case CU_GRAPH_NODE_TYPE_HOST:
            return host_operation(p.host.fn, p.host.userData, out);
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return child_operation(p.graph.graph, out);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            out = std::monostate();
            return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return event_operation(p.eventWait.event, true, out);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return event_operation(p.eventRecord.event, false, out);
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            out = FreeOperation{p.free.dptr};
            return CUDA_SUCCESS;
        default:
            say("a graph node of type " + std::to_string(p.type) +
                " is not there: it returns CUDA_ERROR_NOT_SUPPORTED (docs/driver.md)");
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

// The nodes so that each comes behind what it depends on; false: they wait for each other.
bool ordered(const Graph& graph, std::vector<std::shared_ptr<Node>>& out) {
    std::set<CUgraphNode> done;
    std::vector<std::shared_ptr<Node>> left = graph.nodes;
    while (!left.empty()) {
        const size_t before = left.size();
        std::vector<std::shared_ptr<Node>> still;
        for (auto& node : left) {
            const bool ready =
                std::ranges::all_of(node->after, [&](CUgraphNode n) { return done.contains(n); });
            if (ready) {
                done.insert(node->handle);
                out.push_back(node);
            } else {
                still.push_back(node);
            }
        }
        left.swap(still);
        if (left.size() == before) return false;
    }
    return true;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, uint64_t flags) {
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(handle, graph));
    if (flags & ~uint64_t{15}) return CUDA_ERROR_INVALID_VALUE;
    if (flags & 4) {
        say("graphs that kernels launch are not there");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    auto exec = std::make_shared<GraphExec>();
    exec->flags = flags;
    const std::lock_guard guard(graph->mutex);
    std::vector<std::shared_ptr<Node>> nodes;
    if (!ordered(*graph, nodes)) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : nodes) {
        exec->nodes.push_back(std::make_shared<Node>(*node));
        exec->of.push_back(node->handle);
    }
    *out = as_handle<CUgraphExec>(Driver::get().graph_execs.add(std::move(exec)));
    return CUDA_SUCCESS;
}

// Another operation of the same kind for a node, of an instance or of a graph.
CUresult replace(Node& node, Operation operation) {
    if (node.operation.index() != operation.index()) return CUDA_ERROR_INVALID_VALUE;
    node.operation = std::move(operation);
    return CUDA_SUCCESS;
}
CUresult replace(CUgraphExec exec_handle, CUgraphNode node, Operation operation) {
    std::shared_ptr<GraphExec> exec;
    SASSEMU_CUDA(find_exec(exec_handle, exec));
    const std::lock_guard guard(exec->mutex);
    const auto found = std::ranges::find(exec->of, node);
    if (found == exec->of.end()) return CUDA_ERROR_INVALID_VALUE;
    return replace(*exec->nodes[static_cast<size_t>(found - exec->of.begin())],
                   std::move(operation));
}
CUresult replace(CUgraphNode handle, Operation operation) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    return replace(*node, std::move(operation));
}

template <class T>
CUresult give_list(const std::vector<T>& all, T* out, size_t* count) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (out) {
        for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : T{};
        *count = std::min(*count, all.size());
    } else {
        *count = all.size();
    }
    return CUDA_SUCCESS;
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuGraphCreate(CUgraph* out, unsigned int flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    auto graph = std::make_shared<Graph>();
    graph->handle = as_handle<CUgraph>(Driver::get().graphs.add(graph));
    *out = graph->handle;
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph handle) {
    const auto graph = Driver::get().graphs.take(bits(handle));
    if (!graph) return CUDA_ERROR_INVALID_HANDLE;
    const std::lock_guard guard(graph->mutex);
    for (const auto& node : graph->nodes) Driver::get().nodes.take(bits(node->handle));
    return CUDA_SUCCESS;
}
CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
    std::shared_ptr<Graph> from;
    SASSEMU_CUDA(find_graph(handle, from));
    SASSEMU_CUDA(api::cuGraphCreate(out, 0));
    std::shared_ptr<Graph> to;
    SASSEMU_CUDA(find_graph(*out, to));
    std::vector<std::shared_ptr<Node>> nodes;
    {
        const std::lock_guard guard(from->mutex);
        if (!ordered(*from, nodes)) return CUDA_ERROR_INVALID_VALUE;
    }
    std::map<CUgraphNode, CUgraphNode> copies;
    for (const auto& node : nodes) {
        std::vector<CUgraphNode> after;
        for (const CUgraphNode n : node->after) after.push_back(copies[n]);
        SASSEMU_CUDA(
            add_node(to, node->operation, node->type, std::move(after), &copies[node->handle]));
    }
    return CUDA_SUCCESS;
}

// ---- nodes

CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(kernel_operation(*p, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_KERNEL, std::move(o));
}
CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_KERNEL_NODE_PARAMS all = widened(*p);
    return api::cuGraphAddKernelNode_v2(out, graph, after, count, &all);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(kernel_operation(*p, o));
    return replace(node, std::move(o));
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(kernel_operation(*p, o));
    return replace(exec, node, std::move(o));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                              size_t count, const CUDA_MEMCPY3D* p, CUcontext) {
    Operation o;
    SASSEMU_CUDA(copy_operation(*p, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(o));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(copy_operation(*p, o));
    return replace(node, std::move(o));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* p,
                                        CUcontext) {
    Operation o;
    SASSEMU_CUDA(copy_operation(*p, o));
    return replace(exec, node, std::move(o));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
    Operation o;
    SASSEMU_CUDA(fill_operation(*p, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEMSET, std::move(o));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(fill_operation(*p, o));
    return replace(node, std::move(o));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
    Operation o;
    SASSEMU_CUDA(fill_operation(*p, o));
    return replace(exec, node, std::move(o));
}
CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(host_operation(p->fn, p->userData, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_HOST, std::move(o));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* p) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    const auto* const host = std::get_if<HostOperation>(&node->operation);
    if (!host || !p) return CUDA_ERROR_INVALID_VALUE;
    *p = {host->function, host->user};
    return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(host_operation(p->fn, p->userData, o));
    return replace(node, std::move(o));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    Operation o;
    SASSEMU_CUDA(host_operation(p->fn, p->userData, o));
    return replace(exec, node, std::move(o));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                  size_t count, CUgraph child) {
    Operation o;
    SASSEMU_CUDA(child_operation(child, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_GRAPH, std::move(o));
}
CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                             size_t count) {
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_EMPTY, std::monostate());
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                   size_t count, CUevent event) {
    Operation o;
    SASSEMU_CUDA(event_operation(event, false, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_EVENT_RECORD, std::move(o));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                 size_t count, CUevent event) {
    Operation o;
    SASSEMU_CUDA(event_operation(event, true, o));
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_WAIT_EVENT, std::move(o));
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                               size_t count, CUdeviceptr address) {
    return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEM_FREE, FreeOperation{address});
}
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* p) {
    Operation o;
    SASSEMU_CUDA(any_operation(*p, o));
    return add(out, graph, after, count, p->type, std::move(o));
}
CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                        CUgraphNodeParams* p) {
    return api::cuGraphAddNode_v2(out, graph, after, nullptr, count, p);
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* p) {
    Operation o;
    SASSEMU_CUDA(any_operation(*p, o));
    return replace(node, std::move(o));
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* p) {
    Operation o;
    SASSEMU_CUDA(any_operation(*p, o));
    return replace(exec, node, std::move(o));
}
CUresult cuGraphDestroyNode(CUgraphNode handle) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    Driver::get().nodes.take(bits(handle));
    if (const auto graph = node->graph.lock()) {
        const std::lock_guard guard(graph->mutex);
        std::erase(graph->nodes, node);
        for (const auto& other : graph->nodes) std::erase(other->after, handle);
    }
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    *type = node->type;
    return CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(handle, graph));
    const std::lock_guard guard(graph->mutex);
    std::vector<CUgraphNode> all;
    for (const auto& node : graph->nodes) all.push_back(node->handle);
    return give_list(all, out, count);
}
CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(handle, graph));
    const std::lock_guard guard(graph->mutex);
    std::vector<CUgraphNode> all;
    for (const auto& node : graph->nodes)
        if (node->after.empty()) all.push_back(node->handle);
    return give_list(all, out, count);
}
CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(handle, graph));
    if (!from != !to) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(graph->mutex);
    std::vector<CUgraphNode> begins, ends;
    for (const auto& node : graph->nodes)
        for (const CUgraphNode n : node->after) {
            begins.push_back(n);
            ends.push_back(node->handle);
        }
    size_t room = *count;
    SASSEMU_CUDA(give_list(begins, from, count));
    if (data && from) std::fill(data, data + *count, CUgraphEdgeData{});
    return give_list(ends, to, &room);
}
CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    return api::cuGraphGetEdges_v2(handle, from, to, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data,
                                       size_t* count) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    SASSEMU_CUDA(give_list(node->after, out, count));
    if (data && out) std::fill(data, data + *count, CUgraphEdgeData{});
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode* out, size_t* count) {
    return api::cuGraphNodeGetDependencies_v2(handle, out, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* out,
                                         CUgraphEdgeData* data, size_t* count) {
    std::shared_ptr<Node> node;
    SASSEMU_CUDA(find_node(handle, node));
    std::vector<CUgraphNode> all;
    if (const auto graph = node->graph.lock()) {
        const std::lock_guard guard(graph->mutex);
        for (const auto& other : graph->nodes)
            if (std::ranges::count(other->after, handle)) all.push_back(other->handle);
    }
    SASSEMU_CUDA(give_list(all, out, count));
    if (data && out) std::fill(data, data + *count, CUgraphEdgeData{});
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode* out, size_t* count) {
    return api::cuGraphNodeGetDependentNodes_v2(handle, out, nullptr, count);
}
static CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                             size_t count, bool adds) {
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(handle, graph));
    if (count && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
        std::shared_ptr<Node> one, other;
        SASSEMU_CUDA(find_node(from[i], one));
        SASSEMU_CUDA(find_node(to[i], other));
        if (one->graph.lock() != graph || other->graph.lock() != graph || one == other)
            return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard guard(graph->mutex);
        const bool there = std::ranges::count(other->after, from[i]) != 0;
        if (there == adds) return CUDA_ERROR_INVALID_VALUE;
        if (adds)
            other->after.push_back(from[i]);
        else
            std::erase(other->after, from[i]);
    }
    return CUDA_SUCCESS;
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
    return change_edges(graph, from, to, count, true);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
    return change_edges(graph, from, to, count, true);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
    return change_edges(graph, from, to, count, false);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
    return change_edges(graph, from, to, count, false);
}

// ---- instances

CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
    return instantiate(out, graph, flags);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error, char* log,
                               size_t bytes) {
    if (error) *error = nullptr;
    if (log && bytes) *log = 0;
    return instantiate(out, graph, 0);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
    const CUresult why = instantiate(out, graph, p->flags);
    p->hErrNode_out = nullptr;
    p->result_out = why != CUDA_SUCCESS;
    return why;
}
CUresult cuGraphExecGetFlags(CUgraphExec handle, unsigned long long* flags) {
    std::shared_ptr<GraphExec> exec;
    SASSEMU_CUDA(find_exec(handle, exec));
    *flags = exec->flags;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec handle) {
    return Driver::get().graph_execs.take(bits(handle)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(stream_handle, context, stream));
    std::shared_ptr<GraphExec> exec;
    return find_exec(handle, exec);
}
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(stream_handle, context, stream));
    std::shared_ptr<GraphExec> exec;
    SASSEMU_CUDA(find_exec(handle, exec));
    const std::lock_guard guard(exec->mutex);
    for (const auto& node : exec->nodes)
        SASSEMU_CUDA(submit(context, *stream, node->operation, node->type));
    return CUDA_SUCCESS;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo* info) {
    std::shared_ptr<GraphExec> exec;
    SASSEMU_CUDA(find_exec(handle, exec));
    std::shared_ptr<Graph> graph;
    SASSEMU_CUDA(find_graph(graph_handle, graph));
    *info = {};
    const std::lock_guard guard(graph->mutex);
    std::vector<std::shared_ptr<Node>> nodes;
    const std::lock_guard of_exec(exec->mutex);
    const bool same = ordered(*graph, nodes) && nodes.size() == exec->nodes.size();
    if (!same) info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; same && i < nodes.size(); ++i) {
        if (nodes[i]->type == exec->nodes[i]->type) continue;
        info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        info->errorNode = nodes[i]->handle;
        break;
    }
    if (info->result) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (size_t i = 0; i < nodes.size(); ++i) exec->nodes[i]->operation = nodes[i]->operation;
    return CUDA_SUCCESS;
}

}  // namespace sassemu::driver::api
