// Generic pointers that are chosen at run time: to constants, parameters, shared, local and global memory; kept in memory from one kernel to
// the next; and 64-bit atomics and mbarriers by such a pointer.
typedef unsigned long long u64;

struct Entry {
    double weight;
    int key[3];
};
__constant__ int first[16] = {11, 22, 33, 44, 55, 66, 77, 88, 99, 111, 122, 133, 144, 155, 166, 177};
__constant__ Entry entries[4] = {{0.5, {1, 2, 3}}, {-2.25, {40, 50, 60}}, {1e10, {-7, -8, -9}}, {3.0, {100, 1000, 10000}}};
__constant__ int given[64];
__device__ const int* kept[32];

struct Parameters {
    int value[32];
};

// which: what the pointers are.
extern "C" __global__ void read(const int* in, int* out, double* weights, const __grid_constant__ Parameters p, int which) {
    __shared__ int near[32];
    const int i = threadIdx.x;
    int mine[8];
    for (int k = 0; k < 8; ++k) mine[(k + i) & 7] = i * 100 + k;
    near[i] = i * i;
    __syncthreads();
    const int* const of[6] = {first, given, in, p.value, near, mine};
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum = sum * 31 + of[(which >> k) % 6][(i + k) & 7];
    out[i] = sum;
    const Entry* const e = which & 1 ? &entries[i & 3] : reinterpret_cast<const Entry*>(in);
    weights[i] = e->weight * e->key[i % 3];
    kept[i] = i & 1 ? &given[i] : i & 2 ? &first[i & 15] : &in[i];
}

extern "C" __global__ void read_kept(int* out) { out[threadIdx.x] = *kept[threadIdx.x ^ 5]; }

// Every thread changes words of shared or of global memory: sums, and who found a lock free.
extern "C" __global__ void change(const unsigned* in, u64* far, u64* out, int which) {
    __shared__ u64 near[8];
    const int i = threadIdx.x;
    if (i < 8) near[i] = far[8 * blockIdx.x + i] = i == 1 ? 5 : 0;
    __syncthreads();
    u64* const words = (which >> (i & 1)) & 1 ? near : far + 8 * blockIdx.x;
    const u64 v = in[i] * 0x9e3779b97f4a7c15ull;
    u64 old = words[0], seen;
    do {
        seen = old;
        old = atomicCAS(&words[0], seen, seen + v);
    } while (old != seen);
    if (atomicCAS(&words[1], 5ull, 0x123456789abcdefull + i) == 5) atomicAdd(&words[2], 1ull);
    atomicXor(&words[3], atomicExch(&words[4], 0x100000001ull * (i + 1)));
    atomicAdd(&words[5], v);
    atomicMax(&words[6], v);
    atomicAdd(reinterpret_cast<unsigned*>(&words[7]), 3u);
    atomicMin(reinterpret_cast<int*>(&words[7]) + 1, static_cast<int>(in[i]));
    __syncthreads();
    u64* const to = out + 16 * blockIdx.x;
    if (i) return;
    const u64* const both[2] = {near, far + 8 * blockIdx.x};
    for (int k = 0; k < 16; ++k) {
        const u64* const w = both[k / 8];
        // What is left in word 4 depends on the order: together with word 3 it does not. Nor does whose lock word 1 is matter.
        to[k] = k % 8 == 1 ? w[1] >> 32 : k % 8 == 3 ? w[3] ^ w[4] : k % 8 == 4 ? 0 : w[k % 8];
    }
}

#if __CUDA_ARCH__ >= 800
__device__ bool over(u64* b, u64 token) {
    unsigned yes;
    asm volatile("{.reg .pred p; mbarrier.test_wait.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(yes) : "l"(b), "l"(token) : "memory");
    return yes;
}
__device__ u64 arrive(u64* b) {
    u64 token;
    asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(token) : "l"(b) : "memory");
    return token;
}

// Phases of an mbarrier that a generic pointer names: all arrive; half of them leave; those that stay count twice.
extern "C" __global__ void meet(int* out, int which) {
    __shared__ u64 barriers[4];
    __shared__ int turn[3][64];
    const int i = threadIdx.x, n = blockDim.x;
    u64* const b = &barriers[which & 3];
    if (i == 0) asm volatile("mbarrier.init.b64 [%0], %1;" ::"l"(b), "r"(n) : "memory");
    __syncthreads();
    turn[0][i] = i;
    u64 token = arrive(b);
    while (!over(b, token)) {}
    turn[1][i] = turn[0][n - 1 - i] * 3;
    if (i < n / 2)
        asm volatile("mbarrier.arrive_drop.b64 %0, [%1];" : "=l"(token) : "l"(b) : "memory");
    else
        token = arrive(b);
    while (!over(b, token)) {}
    turn[2][i] = turn[1][(i + 7) % n] + 1;
    __syncthreads();
    // Half of what is expected, without an end of the phase; then the other half.
    if (i >= n / 2 && i % 2) asm volatile("mbarrier.arrive.noComplete.b64 %0, [%1], 1;" : "=l"(token) : "l"(b) : "memory");
    __syncthreads();
    if (i >= n / 2 && i % 2 == 0) token = arrive(b);
    while (i >= n / 2 && !over(b, token)) {}
    __syncthreads();
    unsigned parity;
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(parity) : "l"(b) : "memory");
    out[i] = turn[2][n - 1 - i] * 2 + parity;
}
#else
extern "C" __global__ void meet(int* out, int) {
    const int i = threadIdx.x, n = blockDim.x;
    out[i] = ((n - 1 - (n - 1 - i + 7) % n) * 3 + 1) * 2 + 1;
}
#endif
