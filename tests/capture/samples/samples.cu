// SPDX-License-Identifier: Apache-2.0
// Launches of every kind that libsassemu_capture.so takes, small ones. record captures them on a GPU (sm_90); the capsules replay in
// the tests.
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                      \
    if (const cudaError_t e = (call)) {                                                  \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                  \
        std::exit(1);                                                                    \
    }

__constant__ float factors[4] = {0.5f, 2, -1, 3};
__device__ unsigned counted;
__device__ const float* table;

// A variable that points to memory which no parameter names; a sum in global memory.
extern "C" __global__ void saxpy(float* y, const float* x, float a, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = a * x[i] * factors[i % 4] + y[i] + table[i % 64];
    if (y[i] > 0) atomicAdd(&counted, 1u);
}

// Pointers in memory: a list.
struct Node {
    Node* next;
    uint32_t value;
};
extern "C" __global__ void walk(Node** heads, uint32_t* sums) {
    uint32_t sum = 0;
    for (const Node* n = heads[threadIdx.x]; n; n = n->next) sum = sum * 31 + n->value;
    sums[threadIdx.x] = sum;
}

// Distributed shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) rotate(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t mine[64];
    cg::cluster_group cluster = cg::this_cluster();
    mine[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x] * 3;
    cluster.sync();
    const uint32_t* other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % 4);
    out[blockIdx.x * 64 + threadIdx.x] = other[63 - threadIdx.x];
    cluster.sync();
}

// A bulk copy that an mbarrier waits for; dynamic shared memory.
extern "C" __global__ void bulk(const uint32_t* in, uint32_t* out) {
    extern __shared__ __align__(128) uint32_t to[];
    __shared__ __align__(8) uint64_t bar;
    const auto at = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(at(&bar)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(at(to)),
                     "l"(in + blockIdx.x * 256), "r"(at(&bar))
                     : "memory");
    }
    __syncthreads();
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra again;}" ::"r"(at(&bar)) : "memory");
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 4; ++i) sum += to[threadIdx.x * 4 + i] ^ i;
    out[blockIdx.x * 64 + threadIdx.x] = __reduce_add_sync(~0u, sum) + sum;
}

extern "C" __global__ void filter(cudaTextureObject_t from, cudaSurfaceObject_t to, float* out) {
    const uint32_t x = threadIdx.x, y = threadIdx.y;
    const float v = tex2D<float>(from, x * 0.9f + 0.3f, y * 1.1f - 0.2f);
    out[y * 16 + x] = v;
    surf2Dwrite(static_cast<unsigned char>(v), to, x, y);
}

extern "C" __global__ void steps(uint32_t* values, uint32_t n) {
    const cg::grid_group grid = cg::this_grid();
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    for (uint32_t step = 1; step < n; step *= 2) {
        const uint32_t other = i >= step ? values[i - step] : 0;
        grid.sync();
        values[i] += other;
        grid.sync();
    }
}

extern "C" __global__ void twice(uint32_t* values) { values[threadIdx.x] *= 2; }
extern "C" __global__ void reversed(const uint32_t* in, uint32_t* out) { out[threadIdx.x] = in[63 - threadIdx.x]; }

template <class T>
T* device(const std::vector<T>& values) {
    T* p;
    CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T>
std::vector<T> numbers(size_t count, uint32_t seed) {
    std::vector<T> v(count);
    for (T& x : v) x = static_cast<T>((seed = seed * 1664525 + 1013904223) >> 8) / 3;
    return v;
}

int main() {
    float *y = device(numbers<float>(300, 1)), *x = device(numbers<float>(300, 2)), *values = device(numbers<float>(64, 3));
    CHECK(cudaMemcpyToSymbol(table, &values, sizeof values));
    saxpy<<<3, 128>>>(y, x, -1.25f, 300);

    std::vector<Node*> heads;
    for (uint32_t i = 0; i < 32; ++i) {
        Node* next = nullptr;
        for (uint32_t k = 0; k < i % 4; ++k) next = device(std::vector<Node>{{next, i * 7 + k}});
        heads.push_back(next);
    }
    uint32_t* sums = device(std::vector<uint32_t>(32));
    walk<<<1, 32>>>(device(heads), sums);

    uint32_t *in = device(numbers<uint32_t>(512, 4)), *out = device(std::vector<uint32_t>(512));
    rotate<<<8, 64>>>(in, out);
    bulk<<<2, 64, 4096>>>(in, out);

    cudaArray_t image, target;
    const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>(), floats = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&image, &floats, 16, 16));
    CHECK(cudaMallocArray(&target, &bytes, 16, 16, cudaArraySurfaceLoadStore));
    const auto texels = numbers<float>(256, 5);
    CHECK(cudaMemcpy2DToArray(image, 0, 0, texels.data(), 64, 64, 16, cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = image;
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    resource.res.array.array = target;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    filter<<<1, dim3(16, 16)>>>(texture, surface, y);

    uint32_t n = 512;
    void* arguments[] = {&in, &n};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(steps), dim3(4), dim3(128), arguments, 0, nullptr));

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    twice<<<1, 64, 0, stream>>>(in);
    reversed<<<1, 64, 0, stream>>>(in, out);
    twice<<<1, 64, 0, stream>>>(out);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t ready;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaDeviceSynchronize());
}
