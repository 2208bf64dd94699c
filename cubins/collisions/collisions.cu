// Lanes of one warp that store to the same place: whose value stays? Every width, in global, shared and generic memory, strong
// stores too; atomics, whose order shows in what they return, and sums of floats, in which it shows as well. A CTA is a case: all
// lanes to one place, to few places side by side or far apart, to any of many; all lanes or some.
#include <cstdint>

// Where a lane of the case stores, in units of its width; negative: it does not.
__device__ int place_of(const uint32_t* x, uint32_t width) {
    const uint32_t lane = threadIdx.x, kind = blockIdx.x & 3, some = blockIdx.x >> 2 & 1, *mine = x + blockIdx.x * 64;
    if (some && mine[32 + lane] & 1) return -1;
    const uint32_t many = 2u + (mine[63] >> 8) % 15, pick = mine[mine[lane] % many], room = 2048 / width;
    return kind == 0 ? 0 : kind == 1 ? pick % (128 / width) : kind == 2 ? pick % 16 * (128 / width) : pick % room;
}

template <class T>
__device__ T value() {
    T v;
    for (uint32_t i = 0; i < sizeof v; ++i) reinterpret_cast<uint8_t*>(&v)[i] = threadIdx.x + 1;
    return v;
}

template <class T>
__device__ void global(const uint32_t* x, void* out) {
    const int at = place_of(x, sizeof(T));
    if (at >= 0) reinterpret_cast<T*>(static_cast<char*>(out) + blockIdx.x * 2048)[at] = value<T>();
}
template <class T>
__device__ void shared(const uint32_t* x, void* out) {
    __shared__ alignas(128) uint32_t s[512];
    const int at = place_of(x, sizeof(T));
    for (uint32_t i = threadIdx.x; i < 512; i += 32) s[i] = 0;
    __syncthreads();
    if (at >= 0) reinterpret_cast<T*>(s)[at] = value<T>();
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 512; i += 32) static_cast<uint32_t*>(out)[blockIdx.x * 512 + i] = s[i];
}

#define KERNELS(bytes, type)                                                                                      \
    extern "C" __global__ void global_##bytes(const uint32_t* x, void* out) { global<type>(x, out); }             \
    extern "C" __global__ void shared_##bytes(const uint32_t* x, void* out) { shared<type>(x, out); }
KERNELS(1, uint8_t)
KERNELS(2, uint16_t)
KERNELS(4, uint32_t)
KERNELS(8, uint2)
KERNELS(16, uint4)

// Through a generic address, into shared memory in every other case.
extern "C" __global__ void generic_8(const uint32_t* x, uint2* out) {
    __shared__ uint2 s[256];
    const int at = place_of(x, 8);
    for (uint32_t i = threadIdx.x; i < 256; i += 32) s[i] = make_uint2(0, 0);
    __syncthreads();
    uint2* const to = blockIdx.x >> 3 & 1 ? s : out + blockIdx.x * 256;
    if (at >= 0) to[at] = value<uint2>();
    __syncthreads();
    if (to == s)
        for (uint32_t i = threadIdx.x; i < 256; i += 32) out[blockIdx.x * 256 + i] = s[i];
}
extern "C" __global__ void strong_8(const uint32_t* x, uint64_t* out) {
    const int at = place_of(x, 8);
    const uint2 v = value<uint2>();
    if (at >= 0)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(out + blockIdx.x * 256 + at), "l"(uint64_t{v.y} << 32 | v.x) : "memory");
}

extern "C" __global__ void exchange(const uint32_t* x, uint32_t* out, uint32_t* found) {
    const int at = place_of(x, 4);
    if (at >= 0) found[blockIdx.x * 32 + threadIdx.x] = atomicExch(out + blockIdx.x * 512 + at, threadIdx.x + 1);
}
extern "C" __global__ void exchange_shared(const uint32_t* x, uint32_t* out, uint32_t* found) {
    __shared__ uint32_t s[512];
    const int at = place_of(x, 4);
    for (uint32_t i = threadIdx.x; i < 512; i += 32) s[i] = 0;
    __syncthreads();
    if (at >= 0) found[blockIdx.x * 32 + threadIdx.x] = atomicExch(s + at, threadIdx.x + 1);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 512; i += 32) out[blockIdx.x * 512 + i] = s[i];
}
// Of sizes that differ so much that each order has a sum of its own.
extern "C" __global__ void add(const uint32_t* x, float* out) {
    const int at = place_of(x, 4);
    const uint32_t bits = x[blockIdx.x * 64 + threadIdx.x];
    if (at >= 0) atomicAdd(out + blockIdx.x * 512 + at, __uint_as_float(0x3f000000u + (bits & 0x07ffffffu) | bits & 0x80000000u));
}
