// SPDX-License-Identifier: Apache-2.0
// Graphs with nodes of every kind: kernels, copies (packed, of rows, from and to the host), fills, host functions, graphs in graphs,
// memory of their own, conditional ones; changed after they were made.
#include "check.hpp"

__global__ void add(float* to, const float* from, float k, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = to[i] * 0.5f + from[n - 1 - i] * k;
}
__global__ void integers(unsigned* v, unsigned k) { v[threadIdx.x] = v[threadIdx.x] * 1664525 + k; }
__global__ void count(int* n, cudaGraphConditionalHandle handle) {
    if (threadIdx.x == 0) cudaGraphSetConditional(handle, --*n > 0);
}
struct Kernel {
    float *to, *from;
    float k;
    int n;
    void* arguments[4] = {&to, &from, &k, &n};
    cudaKernelNodeParams params() {
        cudaKernelNodeParams p{};
        p.func = reinterpret_cast<void*>(add);
        p.gridDim = dim3((n + 127) / 128);
        p.blockDim = dim3(128);
        p.kernelParams = arguments;
        return p;
    }
};

void launch(cudaGraph_t graph, int times = 2) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
}

void built() {
    constexpr int n = 1000;
    float *a = device<float>(n, 2), *b = device<float>(n, 3), *c = device<float>(n, 4);
    auto host = numbers<float>(n, 5);
    float* pinned;
    CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
    for (int i = 0; i < n; ++i) pinned[i] = host[i] * 2;
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first, copy, fill, host_copy, pinned_copy, back, second, wide;
    Kernel one{a, b, 1.5f, n}, two{b, a, -0.25f, n};
    auto p = one.params(), q = two.params();
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &first, 1, c, a, n * sizeof(float), cudaMemcpyDeviceToDevice));
    cudaMemsetParams set{};
    set.dst = b;
    set.elementSize = 2;
    set.value = 0x3c01;
    set.width = 10;
    set.height = 4;
    set.pitch = 256;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &first, 1, &set));
    CHECK(cudaGraphAddMemcpyNode1D(&host_copy, graph, &fill, 1, b + 500, host.data(), 100 * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemcpyNode1D(&pinned_copy, graph, &fill, 1, b + 700, pinned, 100 * sizeof(float), cudaMemcpyHostToDevice));
    cudaMemcpy3DParms rows{};
    rows.srcPtr = make_cudaPitchedPtr(c, 128, 16, 8);
    rows.dstPtr = make_cudaPitchedPtr(b + 200, 64, 16, 8);
    rows.extent = make_cudaExtent(48, 4, 2);
    rows.kind = cudaMemcpyDeviceToDevice;
    const cudaGraphNode_t before[] = {copy, host_copy, pinned_copy};
    CHECK(cudaGraphAddMemcpyNode(&wide, graph, before, 3, &rows));
    CHECK(cudaGraphAddKernelNode(&second, graph, &wide, 1, &q));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &second, 1, host.data(), b, 100 * sizeof(float), cudaMemcpyDeviceToHost));
    launch(graph);

    // Changed after it was made.
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    Kernel other{c, a, 3, n};
    auto r = other.params();
    CHECK(cudaGraphExecKernelNodeSetParams(exec, second, &r));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, c, b, 40, cudaMemcpyDeviceToDevice));
    set.value = 0x4000;
    CHECK(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
    CHECK(cudaGraphNodeSetEnabled(exec, pinned_copy, 0));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
}

void recorded(bool host_function) {
    unsigned *v = device<unsigned>(64, 7), *w = device<unsigned>(64, 8);
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    integers<<<1, 64, 0, stream>>>(v, 5);
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    CHECK(cudaMemsetAsync(w, 0x55, 128, side));
    integers<<<1, 64, 0, side>>>(w, 9);
    CHECK(cudaEventRecord(join, side));
    unsigned* own;
    CHECK(cudaMallocAsync(&own, 256, stream));
    CHECK(cudaMemcpyAsync(own, v, 256, cudaMemcpyDeviceToDevice, stream));
    integers<<<1, 64, 0, stream>>>(own, 1);
    CHECK(cudaMemcpyAsync(v, own, 256, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(own, stream));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    if (host_function) CHECK(cudaLaunchHostFunc(stream, [](void*) {}, nullptr));
    integers<<<1, 64, 0, stream>>>(w, 11);
    CHECK(cudaStreamEndCapture(stream, &graph));
    launch(graph, 1);

    cudaGraph_t outer;
    cudaGraphNode_t child, after;
    CHECK(cudaGraphCreate(&outer, 0));
    void* arguments[] = {&w, &v};
    unsigned k = 3;
    arguments[1] = &k;
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(integers);
    p.gridDim = dim3(1);
    p.blockDim = dim3(64);
    p.kernelParams = arguments;
    cudaGraph_t inner;
    CHECK(cudaGraphCreate(&inner, 0));
    cudaGraphNode_t x, y;
    CHECK(cudaGraphAddKernelNode(&x, inner, nullptr, 0, &p));
    k = 4;
    CHECK(cudaGraphAddKernelNode(&y, inner, &x, 1, &p));
    CHECK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
    CHECK(cudaGraphAddKernelNode(&after, outer, &child, 1, &p));
    launch(outer);
}

void conditional() {
    int* n = nullptr;
    const int times = 3;
    CHECK(cudaMalloc(&n, 4));
    CHECK(cudaMemcpy(n, &times, 4, cudaMemcpyHostToDevice));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
    cudaGraph_t body = p.conditional.phGraph_out[0];
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    count<<<1, 32, 0, stream>>>(n, handle);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    launch(graph, 1);
}

int main() {
    built();
    recorded(false);
    recorded(true);
    conditional();
}
