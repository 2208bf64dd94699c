// __constant__ and __device__ variables: initialisers, values that the plan overwrites, indices that differ between lanes,
// doubles and structs in constant memory, and a __device__ array that the kernel writes back.
struct Entry {
    short key;
    unsigned char shift;
    double weight;
};
__constant__ Entry entries[6] = {{3, 1, 0.5}, {-9, 4, 1.25}, {77, 7, -3.0}, {-1000, 2, 8.125}, {0, 0, 1e10}, {12345, 5, -0.001}};
__constant__ int given[64];
__constant__ float curve[16] = {0, 0.1f, 0.2f, 0.4f, 0.7f, 1.1f, 1.6f, 2.2f, 2.9f, 3.7f, 4.6f, 5.6f, 6.7f, 7.9f, 9.2f, 10.6f};
__device__ int state[64] = {1, 2, 3, 5, 8, 13, 21, 34};
__device__ const char text[] = "a string in global memory";
__device__ int* alias = &state[32];

extern "C" __global__ void constant_table(const int* x, int* out, double* weighted, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned v = static_cast<unsigned>(x[i]);
    const Entry& e = entries[v % 6u];
    weighted[i] = fma(e.weight, static_cast<double>(e.key), static_cast<double>(curve[v >> 28]));
    int sum = given[v & 63u] + given[5] + (e.key << e.shift);
    for (int k = 0; k < 4; ++k) sum = sum * 17 + given[(v >> (6 * k)) & 63u];
    out[i] = sum + text[v % 25u] + state[v & 7u];
    if (i < 32) alias[i] = sum;
}
