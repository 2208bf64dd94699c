// Kernels that go wrong or put the scheduler to work, for tests/engine. Rebuild: ./rebuild
extern "C" {

// Waits for a flag that nobody sets: a pure spin.
__global__ void wait_for_ever(volatile int* flag) {
    while (*flag == 0) {
    }
}
// The same through a failing lock.
__global__ void lock_for_ever(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
}
// Warp 0 waits at barrier 1, warp 1 at barrier 2, each for both.
__global__ void barriers_crossed() {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
}
// Two warps disagree on the thread count of one barrier.
__global__ void barrier_misuse(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = 1;
}
// Counts for ever: never parks, ends by a limit.
__global__ void count_for_ever(unsigned* out) {
    unsigned n = 0;
    for (;;) {
        n = n * 1664525u + 1013904223u;
        if (n == 0x12345678u && out[1] == 77) out[0] = n;
    }
}
// Waits for time to pass.
__global__ void wait_clock(long long* out, long long ticks) {
    const long long begin = clock64();
    long long now = begin;
    while (now - begin < ticks) now = clock64();
    *out = now - begin;
}
// CTA 0 waits for the last CTA of the grid, which must therefore become resident.
__global__ void wait_for_last(volatile int* flag, int* out) {
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
    }
    if (threadIdx.x == 0) atomicAdd(out, 1);
}
// One lane of a warp waits for another.
__global__ void lanes_hand_over(volatile int* cell, int* out) {
    if (threadIdx.x == 0) {
        while (cell[0] == 0) {
        }
        *out = cell[1];
    } else if (threadIdx.x == 17) {
        cell[1] = 42;
        __threadfence();
        cell[0] = 1;
    }
}
__global__ void write_at(int* p, long long index) {
    p[index + threadIdx.x] = 7;
}
__global__ void read_misaligned(const char* p, int* out) {
    *out = *reinterpret_cast<const int*>(p + 1);
}
__device__ int deep(int n) {
    volatile int a[16];
    for (int i = 0; i < 16; ++i) a[i] = n + i;
    return n == 0 ? a[3] : deep(n - 1) + a[n % 16];
}
__global__ void recurse(int* out, int n) { *out = deep(n); }
__global__ void trap_in(int* p) {
    if (p[threadIdx.x] == 3) __trap();
}
__global__ void loop(float* out, int n) {
    float a = threadIdx.x, b = 1.0001f;
    for (int i = 0; i < n; ++i) a = a * b + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
__global__ void nothing() {}
}
