// Kernels that need something else in flight: another grid, another GPU, a copy or the host.
// nvcc: -lineinfo
// archs: sm_80 sm_90
#include <cuda/atomic>

using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;

// Passes a ball round: player `me` of `players` waits for its turn, adds to the message and hands both on.
extern "C" __global__ void relay(int* ball, unsigned* message, int me, int players, int laps) {
    Flag turn(*ball);
    for (int lap = 0; lap < laps; ++lap) {
        const int mine = lap * players + me;
        if (threadIdx.x == 0)
            while (turn.load(cuda::memory_order_acquire) != mine) {
            }
        __syncthreads();
        message[threadIdx.x] = message[threadIdx.x] * 33u + static_cast<unsigned>(me) + 1u;
        __syncthreads();
        if (threadIdx.x == 0) turn.store(mine + 1, cuda::memory_order_release);
    }
}

// Serves requests: for request n = 1, 2, ... (0 < n <= count) the answer is three times the value.
extern "C" __global__ void serve(int* doorbell, const int* value, int* answer, int* done, int count) {
    for (int n = 1; n <= count; ++n) {
        while (Flag(*doorbell).load(cuda::memory_order_acquire) < n) {
        }
        *answer = *value * 3;
        Flag(*done).store(n, cuda::memory_order_release);
    }
}

// Every CTA writes down that it had its turn.
extern "C" __global__ void sign(int* count, int* book, int who) {
    if (threadIdx.x == 0) book[Flag(*count).fetch_add(1)] = who;
}

// Signs `times` times, with some work in between.
extern "C" __global__ void sign_often(int* count, int* book, int who, int times, int work, float* sink) {
    float x = static_cast<float>(threadIdx.x);
    for (int i = 0; i < times; ++i) {
        for (int k = 0; k < work; ++k) x = x * 0.5f + 1.0f;
        if (threadIdx.x == 0) book[Flag(*count).fetch_add(1)] = who;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void add(const int* a, const int* b, int* sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sum[i] = a[i] + b[i];
}

// Waits until the flag has the value, then stores it.
extern "C" __global__ void await(int* flag, int value, int* seen) {
    while (Flag(*flag).load(cuda::memory_order_acquire) != value) {
    }
    *seen = value;
}

extern "C" __global__ void store(int* to, int value) { *to = value; }
