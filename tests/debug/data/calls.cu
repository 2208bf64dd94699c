// Calls to follow back: a leaf, a function with a frame that calls it twice, once from an inlined one, and a recursion.
__device__ __noinline__ int leaf(int v, const int* of) {
    int sum = v;
    for (int k = 0; k < 3; ++k) sum += of[k] * v;
    return sum;
}
__device__ __forceinline__ int twice(int v, const int* of) {
    return 2 * leaf(v + 1, of);
}
__device__ __noinline__ int middle(int v, const int* of) {
    int table[8];
    for (int k = 0; k < 8; ++k) table[k] = of[k] + v;
    int a = twice(v, table);
    int b = leaf(a, of);
    return a + b + table[v & 7];
}
__device__ __noinline__ int down(int n, const int* of) {
    if (n <= 0) return leaf(n, of);
    return n + down(n - 1, of);
}
extern "C" __global__ void calls(const int* in, int* out, int n) {
    int i = threadIdx.x;
    int m = middle(i & 7, in);
    int d = down(i & 3, in);
    if (i < n) out[i] = m + d;
}
