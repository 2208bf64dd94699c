// SPDX-License-Identifier: Apache-2.0
// What a launch finds before it has written it, and what it may wait for: kernels for
// tests/engine/state_test.cpp.
#include <cstdint>
extern "C" {
// Local memory that nobody has written: out[thread] has the bits of all its words. PTX, since the
// compiler knows what it may do with an array that is not initialised.
#define LOCAL_AREA asm volatile(".local .align 16 .b32 area[64];\n\t.reg .u64 base;\n\tmov.u64 base, area;")
#define LOCAL_LOAD(v, i) \
    asm volatile("{ .reg .u64 a; add.u64 a, base, %1; ld.local.u32 %0, [a]; }" : "=r"(v) : "l"(4ll * (i)) : "memory")
#define LOCAL_STORE(v, i) \
    asm volatile("{ .reg .u64 a; add.u64 a, base, %1; st.local.u32 [a], %0; }" : : "r"(v), "l"(4ll * (i)) : "memory")
__global__ void read_local(uint32_t* out, int n) {
    LOCAL_AREA;
    uint32_t bits = 0, v;
    for (int i = 0; i < 64; ++i) { LOCAL_LOAD(v, (i + n) & 63); bits |= v; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = bits;
    // For the next CTA to find: all lanes at the same place, then each at its own.
    for (int i = 0; i < 8; ++i) LOCAL_STORE(0x5a000000u + i, (5 * i + n) & 63);
    if (n & 1) LOCAL_STORE(0x77u, (threadIdx.x * 7 + n) & 63);
}
// The same through generic addresses.
__global__ void read_local_generic(uint32_t* out, int n) {
    LOCAL_AREA;
    volatile uint32_t* a;
    asm volatile("cvta.local.u64 %0, base;" : "=l"(a));
    uint32_t bits = 0;
    for (int i = 0; i < 64; ++i) bits |= a[(i + n) & 63];
    out[blockIdx.x * blockDim.x + threadIdx.x] = bits;
    a[(threadIdx.x * 5 + n) & 63] = 0x99u;
}
__global__ void read_shared(uint32_t* out) {
    extern __shared__ volatile uint32_t s[];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
    s[threadIdx.x] = 0xabcdu;
}
__global__ void use_heap(uint32_t* out, int free_first, int bytes) {
    volatile uint32_t* p = static_cast<uint32_t*>(malloc(bytes));
    uint32_t was = p[1];
    p[1] = 0x1234u;
    p[bytes / 4 - 1] = 5;
    if (free_first) free(const_cast<uint32_t*>(p));
    out[threadIdx.x] = p[1] + was;
    if (!free_first) free(const_cast<uint32_t*>(p));
}
__global__ void past_heap(uint32_t* out, int bytes) {
    volatile uint8_t* p = static_cast<uint8_t*>(malloc(bytes));
    *out = p[bytes];
}
__global__ void heap_turns(uint32_t* out, int rounds, int bytes) {
    uint32_t bad = 0;
    for (int i = 0; i < rounds; ++i) {
        volatile uint32_t* p = static_cast<uint32_t*>(malloc(bytes));
        if (!p) { bad |= 0x80000000u; break; }
        for (int k = 0; k < bytes / 4; ++k) bad |= p[k] != 0;
        for (int k = 0; k < bytes / 4; ++k) p[k] = 0xffffffffu;
        free(const_cast<uint32_t*>(p));
    }
    atomicOr(out, bad);
}
// ---- deadlocks
__global__ void lock_twice_diverged(int* lock) {
    if (threadIdx.x & 1) { while (atomicCAS(lock, 0, 1) != 0) {} }
    else { while (atomicCAS(lock, 0, 1) != 0) {} }
    __threadfence();
}
__global__ void lock_twice_classic(int* lock, int* out) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *out += 1;
            // a second time, and never given back
            while (atomicCAS(lock, 0, 1) != 0) {}
            done = true;
        }
    }
}
__global__ void spin_sleep(int* flag) {
    while (atomicAdd(flag, 0) == 0) __nanosleep(100);
}
__global__ void spin_backoff(int* lock) {
    unsigned ns = 8;
    while (atomicCAS(lock, 0, 1) != 0) { __nanosleep(ns); if (ns < 256) ns *= 2; }
}
__global__ void spin_exchange(int* lock) {
    while (atomicExch(lock, 1) != 0) {}
}
__global__ void spin_store(volatile int* flag, volatile int* here) {
    while (*flag == 0) *here = 7;
}
__global__ void spin_store_shared(volatile int* flag) {
    __shared__ volatile int here;
    while (*flag == 0) here = 7;
}
__global__ void spin_two_sleepers(int* flag) {
    if (threadIdx.x & 1) { while (atomicAdd(flag, 0) == 0) __nanosleep(100); }
    else { while (atomicAdd(flag + 1, 0) == 0) __nanosleep(50); }
}
// ---- the same spins, which another CTA, warp or lane ends
__global__ void ends_sleep(int* flag, int* out) {
    if (blockIdx.x + 1 == gridDim.x) {
        for (volatile int i = 0; i < 20000; ++i) {}
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) __nanosleep(100);
    }
    atomicAdd(out, 1);
}
__global__ void ends_locks(int* lock, int* out) {
    // every lane of every CTA in turn
    bool done = false;
    while (!done) {
        if (atomicExch(lock, 1) == 0) {
            *(volatile int*)out += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        } else __nanosleep(20);
    }
}
__global__ void ends_store(volatile int* flag, volatile int* here, int* out) {
    // CTA 0 stores 7 again and again; CTA 1 clears it three times and waits for it to come back
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) { while (*flag == 0) *here = 7; }
    } else if (threadIdx.x == 0) {
        for (int i = 0; i < 3; ++i) { *here = 0; __threadfence(); while (*here != 7) {} }
        *flag = 1;
        atomicAdd(out, 3);
    }
}
__global__ void clock_spin(long long* out) {
    // ends by itself: must never be called a deadlock
    const long long begin = clock64();
    while (clock64() - begin < 20000) __nanosleep(10);
    *out = 1;
}
__global__ void count(uint32_t* out, int n) {
    uint32_t a = threadIdx.x;
    for (int i = 0; i < n; ++i) a = a * 1664525u + 1013904223u;
    out[threadIdx.x] = a;
}
}
