// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs whose parameters the runtime describes otherwise than the driver.
#include "emu/runtime/copies.hpp"
#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

Error context_of(CUcontext& context) { return SASSEMU_CU(cuCtxGetCurrent)(&context); }

Error driver_node(const KernelNode* n, CUDA_KERNEL_NODE_PARAMS& out) {
    if (n == nullptr) return invalid_value;
    out = {};
    if (const Error error = function_of(n->func, out.func)) return error;
    out.gridDimX = n->gridDim.x;
    out.gridDimY = n->gridDim.y;
    out.gridDimZ = n->gridDim.z;
    out.blockDimX = n->blockDim.x;
    out.blockDimY = n->blockDim.y;
    out.blockDimZ = n->blockDim.z;
    out.sharedMemBytes = n->sharedMemBytes;
    out.kernelParams = n->kernelParams;
    out.extra = n->extra;
    return success;
}

Error driver_copy(const Copy3D* c, CUDA_MEMCPY3D& out) {
    return c != nullptr ? copy_of(*c, out) : static_cast<Error>(invalid_value);
}

CUDA_MEMCPY3D flat(void* to, const void* from, size_t bytes) {
    return copy_of({nullptr, to, bytes}, {nullptr, from, bytes}, bytes, 1, 1);
}

// The other way round; what lies where is not told apart any more.
Error runtime_copy(const CUDA_MEMCPY3D& c, Copy3D& out) {
    constexpr int on_host = 1;
    size_t to_texel = 1, from_texel = 1;
    if (c.dstArray != nullptr)
        if (const Error error = texel_bytes(c.dstArray, to_texel)) return error;
    if (c.srcArray != nullptr)
        if (const Error error = texel_bytes(c.srcArray, from_texel)) return error;
    const auto pointer = [](int type, CUdeviceptr device, const void* host) {
        return type == on_host ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
    };
    out = {};
    out.srcArray = c.srcArray;
    out.dstArray = c.dstArray;
    out.srcPos = {c.srcXInBytes / from_texel, c.srcY, c.srcZ};
    out.dstPos = {c.dstXInBytes / to_texel, c.dstY, c.dstZ};
    if (c.srcArray == nullptr)
        out.srcPtr = {pointer(c.srcMemoryType, c.srcDevice, c.srcHost), c.srcPitch, c.srcPitch,
                      c.srcHeight};
    if (c.dstArray == nullptr)
        out.dstPtr = {pointer(c.dstMemoryType, c.dstDevice, c.dstHost), c.dstPitch, c.dstPitch,
                      c.dstHeight};
    out.extent = {c.WidthInBytes / (c.dstArray != nullptr ? to_texel : from_texel), c.Height,
                  c.Depth};
    out.kind = 4;  // by what the pointers are
    return success;
}

Error add_copy(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
               const CUDA_MEMCPY3D& c) {
    CUcontext context = nullptr;
    if (const Error error = context_of(context)) return error;
    return SASSEMU_CU(cuGraphAddMemcpyNode)(node, graph, before, count, &c, context);
}

Error set_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& c) {
    CUcontext context = nullptr;
    if (const Error error = context_of(context)) return error;
    return SASSEMU_CU(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, context);
}

Error to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                CUDA_MEMCPY3D& out) {
    void* to = nullptr;
    if (const Error error = in_symbol(symbol, offset, bytes, to)) return error;
    out = flat(to, from, bytes);
    return success;
}

Error from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, CUDA_MEMCPY3D& out) {
    void* from = nullptr;
    if (const Error error = in_symbol(symbol, offset, bytes, from)) return error;
    out = flat(to, from, bytes);
    return success;
}

Error driver_params(const NodeParams* n, CUgraphNodeParams& out) {
    if (n == nullptr) return invalid_value;
    out = {};
    out.type = n->type;
    CUcontext context = nullptr;
    if (const Error error = context_of(context)) return error;
    switch (n->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return driver_node(&n->kernel, out.kernel);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            out.memcpy.copyCtx = context;
            return copy_of(n->memcpy.copyParams, out.memcpy.copyParams);
        case CU_GRAPH_NODE_TYPE_MEMSET:
            out.memset.dst = n->memset.dst;
            out.memset.pitch = n->memset.pitch;
            out.memset.value = n->memset.value;
            out.memset.elementSize = n->memset.elementSize;
            out.memset.width = n->memset.width;
            out.memset.height = n->memset.height;
            out.memset.ctx = context;
            return success;
        case CU_GRAPH_NODE_TYPE_HOST:
            out.host.fn = n->host.fn;
            out.host.userData = n->host.userData;
            return success;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            out.graph.graph = n->graph.graph;
            out.graph.ownership = n->graph.ownership;
            return success;
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return success;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            out.eventWait.event = n->event.event;
            return success;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            out.eventRecord.event = n->event.event;
            return success;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            out.alloc = n->alloc;
            return success;
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            out.free.dptr = n->free.dptr;
            return success;
        default:
            return missing("a node of this kind (cudaGraphAddNode: semaphores, conditions)");
    }
}

// What the driver fills in.
void take_back(const CUgraphNodeParams& from, NodeParams& to) {
    if (to.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) to.alloc.dptr = from.alloc.dptr;
}

}  // namespace

// ---- kernels

Error cudaGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             size_t count, const KernelNode* n) {
    CUDA_KERNEL_NODE_PARAMS p{};
    if (const Error error = driver_node(n, p)) return error;
    return SASSEMU_CU(cuGraphAddKernelNode_v2)(node, graph, before, count, &p);
}

Error cudaGraphKernelNodeGetParams(CUgraphNode node, KernelNode* out) {
    if (out == nullptr) return invalid_value;
    CUDA_KERNEL_NODE_PARAMS p{};
    if (const Error error = SASSEMU_CU(cuGraphKernelNodeGetParams_v2)(node, &p)) return error;
    out->func = symbol_of(p.func, p.kern);
    out->gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ};
    out->blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ};
    out->sharedMemBytes = p.sharedMemBytes;
    out->kernelParams = p.kernelParams;
    out->extra = p.extra;
    return success;
}

Error cudaGraphKernelNodeSetParams(CUgraphNode node, const KernelNode* n) {
    CUDA_KERNEL_NODE_PARAMS p{};
    if (const Error error = driver_node(n, p)) return error;
    return SASSEMU_CU(cuGraphKernelNodeSetParams_v2)(node, &p);
}

Error cudaGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const KernelNode* n) {
    CUDA_KERNEL_NODE_PARAMS p{};
    if (const Error error = driver_node(n, p)) return error;
    return SASSEMU_CU(cuGraphExecKernelNodeSetParams_v2)(exec, node, &p);
}

// Until CUDA 13 the source came first.
Error cudaGraphKernelNodeCopyAttributes_abi12(CUgraphNode from, CUgraphNode to) {
    return SASSEMU_CU(cuGraphKernelNodeCopyAttributes)(to, from);
}

// ---- copies

Error cudaGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             size_t count, const Copy3D* c) {
    CUDA_MEMCPY3D p{};
    if (const Error error = driver_copy(c, p)) return error;
    return add_copy(node, graph, before, count, p);
}
Error cudaGraphAddMemcpyNodeToSymbol(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                     size_t count, const void* symbol, const void* from,
                                     size_t bytes, size_t offset, int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = to_symbol(symbol, from, bytes, offset, p)) return error;
    return add_copy(node, graph, before, count, p);
}
Error cudaGraphAddMemcpyNodeFromSymbol(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                       size_t count, void* to, const void* symbol, size_t bytes,
                                       size_t offset, int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = from_symbol(to, symbol, bytes, offset, p)) return error;
    return add_copy(node, graph, before, count, p);
}
Error cudaGraphAddMemcpyNode1D(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                               size_t count, void* to, const void* from, size_t bytes, int) {
    return add_copy(node, graph, before, count, flat(to, from, bytes));
}
Error cudaGraphMemcpyNodeGetParams(CUgraphNode node, Copy3D* out) {
    if (out == nullptr) return invalid_value;
    CUDA_MEMCPY3D p{};
    if (const Error error = SASSEMU_CU(cuGraphMemcpyNodeGetParams)(node, &p)) return error;
    return runtime_copy(p, *out);
}
Error cudaGraphMemcpyNodeSetParams(CUgraphNode node, const Copy3D* c) {
    CUDA_MEMCPY3D p{};
    if (const Error error = driver_copy(c, p)) return error;
    return SASSEMU_CU(cuGraphMemcpyNodeSetParams)(node, &p);
}
Error cudaGraphMemcpyNodeSetParamsToSymbol(CUgraphNode node, const void* symbol, const void* from,
                                           size_t bytes, size_t offset, int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = to_symbol(symbol, from, bytes, offset, p)) return error;
    return SASSEMU_CU(cuGraphMemcpyNodeSetParams)(node, &p);
}
Error cudaGraphMemcpyNodeSetParamsFromSymbol(CUgraphNode node, void* to, const void* symbol,
                                             size_t bytes, size_t offset, int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = from_symbol(to, symbol, bytes, offset, p)) return error;
    return SASSEMU_CU(cuGraphMemcpyNodeSetParams)(node, &p);
}
Error cudaGraphMemcpyNodeSetParams1D(CUgraphNode node, void* to, const void* from, size_t bytes,
                                     int) {
    const CUDA_MEMCPY3D p = flat(to, from, bytes);
    return SASSEMU_CU(cuGraphMemcpyNodeSetParams)(node, &p);
}
Error cudaGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const Copy3D* c) {
    CUDA_MEMCPY3D p{};
    if (const Error error = driver_copy(c, p)) return error;
    return set_copy(exec, node, p);
}
Error cudaGraphExecMemcpyNodeSetParamsToSymbol(CUgraphExec exec, CUgraphNode node,
                                               const void* symbol, const void* from, size_t bytes,
                                               size_t offset, int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = to_symbol(symbol, from, bytes, offset, p)) return error;
    return set_copy(exec, node, p);
}
Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(CUgraphExec exec, CUgraphNode node, void* to,
                                                 const void* symbol, size_t bytes, size_t offset,
                                                 int) {
    CUDA_MEMCPY3D p{};
    if (const Error error = from_symbol(to, symbol, bytes, offset, p)) return error;
    return set_copy(exec, node, p);
}
Error cudaGraphExecMemcpyNodeSetParams1D(CUgraphExec exec, CUgraphNode node, void* to,
                                         const void* from, size_t bytes, int) {
    return set_copy(exec, node, flat(to, from, bytes));
}

// ---- fills

Error cudaGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             size_t count, const CUDA_MEMSET_NODE_PARAMS* p) {
    if (p == nullptr) return invalid_value;
    CUcontext context = nullptr;
    if (const Error error = context_of(context)) return error;
    return SASSEMU_CU(cuGraphAddMemsetNode)(node, graph, before, count, p, context);
}
Error cudaGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_MEMSET_NODE_PARAMS* p) {
    if (p == nullptr) return invalid_value;
    CUcontext context = nullptr;
    if (const Error error = context_of(context)) return error;
    return SASSEMU_CU(cuGraphExecMemsetNodeSetParams)(exec, node, p, context);
}

// ---- any node

static Error add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                      const CUgraphEdgeData* edges, size_t count, NodeParams* n) {
    CUgraphNodeParams p{};
    if (const Error error = driver_params(n, p)) return error;
    const Error error = SASSEMU_CU(cuGraphAddNode_v2)(node, graph, before, edges, count, &p);
    if (error == success) take_back(p, *n);
    return error;
}
Error cudaGraphAddNode_abi12(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             size_t count, NodeParams* n) {
    return add_node(node, graph, before, nullptr, count, n);
}
Error cudaGraphAddNode_v2_abi12(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                const CUgraphEdgeData* edges, size_t count, NodeParams* n) {
    return add_node(node, graph, before, edges, count, n);
}
Error cudaGraphAddNode_abi13(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             const CUgraphEdgeData* edges, size_t count, NodeParams* n) {
    return add_node(node, graph, before, edges, count, n);
}
Error cudaGraphNodeSetParams(CUgraphNode node, NodeParams* n) {
    CUgraphNodeParams p{};
    if (const Error error = driver_params(n, p)) return error;
    return SASSEMU_CU(cuGraphNodeSetParams)(node, &p);
}
Error cudaGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, NodeParams* n) {
    CUgraphNodeParams p{};
    if (const Error error = driver_params(n, p)) return error;
    return SASSEMU_CU(cuGraphExecNodeSetParams)(exec, node, &p);
}

}  // namespace sassemu::runtime
