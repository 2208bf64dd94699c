// Recursion with real frames: a chain of 200 calls that keeps an array in every frame, two functions that call each other,
// a doubly recursive function, and a quicksort. The plan raises the stack limit.
__device__ __noinline__ unsigned chain(unsigned depth, unsigned v) {
    unsigned kept[12];
    for (int i = 0; i < 12; ++i) kept[i] = v = v * 1664525u + 1013904223u + i;
    if (depth == 0) return v;
    const unsigned below = chain(depth - 1, v ^ depth);
    return below + kept[below % 12] * 3u;
}

__device__ __noinline__ unsigned odd(unsigned n, unsigned v);
__device__ __noinline__ unsigned even(unsigned n, unsigned v) { return n == 0 ? v : odd(n - 1, v * 5u + 1u) ^ n; }
__device__ __noinline__ unsigned odd(unsigned n, unsigned v) { return n == 0 ? ~v : even(n - 1, v + 0x9e3779b9u) + n; }

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ void quicksort(int* a, int low, int high) {
    if (low >= high) return;
    const int pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) ++i;
        while (a[j] > pivot) --j;
        if (i <= j) {
            const int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

extern "C" __global__ void recursion(unsigned* out, int* lists, int depth) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[4 * t + 0] = chain(depth - t % 7, t);
    out[4 * t + 1] = even(t % 50, t);
    out[4 * t + 2] = fibonacci(t % 12);
    quicksort(lists + 32 * t, 0, 31);
    out[4 * t + 3] = static_cast<unsigned>(lists[32 * t + t % 32]);
}
