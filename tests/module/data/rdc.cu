// Loader test data: two kernels and device functions that are linked later.
__device__ int values[10] = {1, 2, 3};
__device__ int* middle = &values[3];
__constant__ int constants[20] = {5};
typedef int (*function)(int);
__device__ __noinline__ int with_shared(int x) {
    __shared__ int large[33];
    __shared__ double small;
    large[threadIdx.x] = x;
    small = x;
    __syncthreads();
    return large[x & 31] + (int)small + constants[x % 20];
}
__device__ __noinline__ int plain_function(int x) { return x * *middle; }
__device__ function functions[2] = {with_shared, plain_function};
extern __shared__ int dynamic[];
extern "C" __global__ void first(int* out) {
    __shared__ int own[5];
    own[out[1] % 5] = with_shared(out[0]);
    __syncthreads();
    out[0] = own[out[2] % 5] + constants[4] + dynamic[out[3]];
}
extern "C" __global__ void second(int* out) {
    __shared__ double mine[3];
    mine[out[1] % 3] = out[0];
    __syncthreads();
    out[2] = (int)mine[out[3] % 3] + functions[out[4] & 1](out[5]) + values[out[6]];
}
