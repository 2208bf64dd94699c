// Indirect calls: a table of functions in constant memory, one in global memory that a kernel fills, and a pointer passed down.
typedef int (*Operation)(int, int);

__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int blend(int a, int b) { return (a & 0x0f0f0f0f) | (b & ~0x0f0f0f0f); }
__device__ __noinline__ int spread(int a, int b) { return __popc(a) * 1000 + __clz(b | 1); }

__constant__ Operation table[5] = {add, subtract, multiply, blend, spread};
__device__ Operation chosen[4];

extern "C" __global__ void choose(const int* which) { chosen[threadIdx.x] = table[which[threadIdx.x]]; }

__device__ __noinline__ int fold(Operation f, const int* x, int n) {
    int v = x[0];
    for (int i = 1; i < n; ++i) v = f(v, x[i]);
    return v;
}

extern "C" __global__ void function_pointers(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int a = x[i], b = x[(i + 1) % n];
    out[3 * i] = table[static_cast<unsigned>(a) % 5u](a, b);
    out[3 * i + 1] = chosen[i & 3](b, a);
    out[3 * i + 2] = fold(chosen[(i >> 2) & 3], x + (i & ~31) % (n - 8), 8);
}
