// Atomic operations of every type and width, with and without a return value, on global and shared memory.
// Everything recorded is independent of the order in which they happen: sums, extrema, and the xor of what exchanges return.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Cells {
    unsigned add, minimum, maximum, all, some, parity, increment, decrement, swapped, cas;
    int smin, smax;
    unsigned long long add64, min64, max64, all64, some64, parity64, swapped64, cas64;
    long long smin64, smax64;
    float fadd;
    unsigned short half_add, bf16_add;
    double dadd;
    __half2 pair;
    __nv_bfloat162 bpair;
    unsigned checks[12];
    unsigned long long checks64[6];
};

__device__ void one(Cells* c, unsigned v, unsigned rank) {
    const unsigned long long w = static_cast<unsigned long long>(v) * 0x9e3779b97f4a7c15ull;
    atomicAdd(&c->add, v);
    atomicMin(&c->minimum, v);
    atomicMax(&c->maximum, v);
    atomicAnd(&c->all, v | 0xf0f0ff00u);
    atomicOr(&c->some, v & 0x11110f0fu);
    atomicXor(&c->parity, v);
    atomicMin(&c->smin, static_cast<int>(v));
    atomicMax(&c->smax, static_cast<int>(v));
    atomicAdd(&c->add64, w);
    atomicMin(&c->min64, w);
    atomicMax(&c->max64, w);
    atomicAnd(&c->all64, w | 0xff00ff00ff000000ull);
    atomicOr(&c->some64, w & 0x1234567800000fffull);
    atomicXor(&c->parity64, w);
    atomicMin(&c->smin64, static_cast<long long>(w));
    atomicMax(&c->smax64, static_cast<long long>(w));
    atomicAdd(&c->fadd, static_cast<float>(v & 7u));
    atomicAdd(&c->dadd, static_cast<double>(v & 1023u) * 0.125);
    // Few and small whole numbers: exact in half and bfloat16, whatever the order.
    if (rank < 32) {
        atomicAdd(reinterpret_cast<__half*>(&c->half_add), __float2half(static_cast<float>(rank & 3u)));
        atomicAdd(&c->pair, __floats2half2_rn(static_cast<float>(rank & 1u), 2.0f));
        atomicAdd(reinterpret_cast<__nv_bfloat16*>(&c->bf16_add), __float2bfloat16(static_cast<float>(rank & 1u)));
        atomicAdd(&c->bpair, __floats2bfloat162_rn(1.0f, static_cast<float>(rank >> 4)));
    }
    // The set of returned values is fixed: each counter value is returned once.
    atomicXor(&c->checks[0], 0x9e3779b9u * (1u + atomicInc(&c->increment, 99u)));
    atomicXor(&c->checks[1], 0x85ebca6bu * (1u + atomicDec(&c->decrement, 49u)));
    // Every value goes in once and comes out once, except the last, which stays.
    atomicXor(&c->checks[2], atomicExch(&c->swapped, v));
    atomicXor(&c->checks64[0], atomicExch(&c->swapped64, w));
    // Compare-and-swap loops.
    unsigned old = *reinterpret_cast<volatile unsigned*>(&c->cas), seen;
    while ((seen = atomicCAS(&c->cas, old, old + (v & 0xffffu))) != old) old = seen;
    unsigned long long old64 = *reinterpret_cast<volatile unsigned long long*>(&c->cas64), seen64;
    while ((seen64 = atomicCAS(&c->cas64, old64, old64 + (w >> 9))) != old64) old64 = seen64;
    // Returned values of additions in units of one: a permutation of 0..n-1.
    const unsigned ticket = atomicAdd(&c->checks[3], 1u);
    atomicAdd(&c->checks[4], ticket * ticket);
    const unsigned long long ticket64 = atomicAdd(&c->checks64[1], 0x100000000ull);
    atomicAdd(&c->checks64[2], (ticket64 >> 32) * (ticket64 >> 32));
    const float step = atomicAdd(reinterpret_cast<float*>(&c->checks[5]), 1.0f);
    atomicAdd(&c->checks[6], static_cast<unsigned>(step) * 3u);
    const double dstep = atomicAdd(reinterpret_cast<double*>(&c->checks64[3]), 1.0);
    atomicAdd(&c->checks64[4], static_cast<unsigned long long>(dstep) * 5u);
}

__device__ void settle(Cells* c) {
    // What an exchange left behind, joined to what it returned, is the xor of all that went in.
    c->checks[2] ^= c->swapped;
    c->checks64[0] ^= c->swapped64;
    c->swapped = 0;
    c->swapped64 = 0;
}

__device__ void start(Cells* c) {
    unsigned* p = reinterpret_cast<unsigned*>(c);
    for (unsigned i = 0; i < sizeof(Cells) / 4; ++i) p[i] = 0;
    c->minimum = ~0u;
    c->all = ~0u;
    c->min64 = ~0ull;
    c->all64 = ~0ull;
    c->smin = 0x7fffffff;
    c->smax = -0x7fffffff - 1;
    c->smin64 = 0x7fffffffffffffffll;
    c->smax64 = -0x7fffffffffffffffll - 1;
}

extern "C" __global__ void atomics_start(Cells* cells) { start(cells); }

extern "C" __global__ void atomics_global(Cells* cells, const unsigned* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    one(cells, x[i], i);
}

extern "C" __global__ void atomics_settle(Cells* cells) { settle(cells); }

extern "C" __global__ void atomics_shared(Cells* cells, const unsigned* x) {
    __shared__ Cells mine;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) start(&mine);
    __syncthreads();
    one(&mine, x[i], threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        settle(&mine);
        cells[blockIdx.x] = mine;
    }
}

// Generic addresses: the same code reaches shared and global memory, chosen per lane.
extern "C" __global__ void atomics_generic(unsigned* out) {
    __shared__ unsigned mine[3];
    if (threadIdx.x < 3) mine[threadIdx.x] = 0;
    __syncthreads();
    unsigned* p = threadIdx.x % 3 == 0 ? &mine[threadIdx.x & 1] : &out[threadIdx.x & 1];
    atomicAdd(p, threadIdx.x);
    atomicMax(threadIdx.x % 5 == 0 ? &mine[2] : &out[2], threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 3) atomicAdd(&out[3 + threadIdx.x], mine[threadIdx.x] * (blockIdx.x + 1));
}
