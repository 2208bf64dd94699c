// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels, beside one that does not.
__global__ void child(int* p) { p[threadIdx.x] += 1; }
__global__ void parent(int* p) { if (threadIdx.x == 0) child<<<1, 32>>>(p); }
__global__ void plain(int* p) { p[threadIdx.x] *= 2; }

// Grids of one stream write down in which order they come: a name has its parent's in front of it.
__global__ void nested(int* log, int depth, int name) {
    log[++log[0]] = name;
    if (depth == 0) return;
    nested<<<1, 1, 0, cudaStreamTailLaunch>>>(log, depth - 1, name * 10 + 9);
    nested<<<1, 1>>>(log, depth - 1, name * 10 + 1);
    nested<<<1, 1>>>(log, depth - 1, name * 10 + 2);
}

// What a launch says of a grid, and parameters of several sizes.
struct Numbers { double a; short b; char c[13]; long long d; };
__global__ void shape(int* out, char one, Numbers n, short two) {
    extern __shared__ int held[];
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    held[threads - 1 - thread] = thread;
    __syncthreads();
    const int cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    out[cta * threads + thread] = held[thread] + 100 * cta + one + int(n.a) + n.b + n.c[12] + int(n.d) + two;
}
__global__ void shaper(int* out) {
    Numbers n{40000.5, 3, {}, -7};
    n.c[12] = 5;
    shape<<<dim3(2, 3, 4), dim3(4, 2, 3), 24 * sizeof(int), cudaStreamFireAndForget>>>(out, 9, n, -2);
}

// Every thread of every CTA launches.
__global__ void square(int* out, int of) { out[threadIdx.x] = of * int(threadIdx.x); }
__global__ void fan(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    square<<<1, 32>>>(out + 32 * i, i);
}

// Streams and events of a kernel.
__global__ void doubled(int* p, int more) { p[threadIdx.x] = 2 * p[threadIdx.x] + more; }
__global__ void streams(int* p, int* errors) {
    cudaStream_t first, second;
    cudaEvent_t event;
    errors[0] = cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    errors[1] = cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    errors[2] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    doubled<<<1, 32, 0, first>>>(p, 1);
    errors[3] = cudaEventRecord(event, first);
    errors[4] = cudaStreamWaitEvent(second, event, 0);
    doubled<<<1, 32, 0, second>>>(p, 5);
    errors[5] = cudaEventDestroy(event);
    errors[6] = cudaStreamDestroy(first) + cudaStreamDestroy(second);
    errors[7] = cudaGetLastError() + cudaPeekAtLastError();
}

// Kernels whose addresses lie in memory.
using Kernel = void (*)(int*);
__global__ void by_one(int* p) { p[threadIdx.x] += 1; }
__global__ void by_ten(int* p) { p[threadIdx.x] += 10; }
__device__ Kernel table[] = {by_one, by_ten};
struct __attribute__((packed)) Packed { char before; Kernel kernel; };
__device__ Packed packed = {1, by_ten};
__global__ void chosen(int* p, int which) {
    table[which]<<<1, 32>>>(p);
    packed.kernel<<<1, 32>>>(p + 32);
}

// By the services that the runtime library itself calls.
extern "C" __device__ void* __cuda_syscall_cnpv2GetParameterBufferV2(void* kernel, dim3 grid, dim3 block, unsigned shared);
extern "C" __device__ int __cuda_syscall_cnpv2LaunchDeviceV2(void* parameters, cudaStream_t stream);
__global__ void linked(int* p) {
    void* const parameters = __cuda_syscall_cnpv2GetParameterBufferV2(reinterpret_cast<void*>(by_ten), dim3(1), dim3(32), 0);
    *static_cast<int**>(parameters) = p;
    p[32] = __cuda_syscall_cnpv2LaunchDeviceV2(parameters, nullptr);
}

// A service that is not there.
extern "C" __device__ int __cuda_syscall_cnpv2GetDevice(int* device);
__global__ void which(int* p) { p[1] = __cuda_syscall_cnpv2GetDevice(p); }

// For ever, and a grid that goes wrong.
__global__ void again(int* p) { again<<<1, 1, 0, cudaStreamTailLaunch>>>(p); }
__global__ void far_away(int* p) { child<<<1, 32>>>(p + (1ll << 40)); }

// Of the runtime library alone.
__global__ void erase(int* p) { cudaMemsetAsync(p, 0, 4, 0); }
