// Relocations of code (-rdc=true): externals, weak and static functions, variables of all spaces, tables, shared memory.
extern __device__ int far_away(int, int);
extern __device__ int counter;
extern __constant__ int outside[8];
__constant__ int coefficients[16] = {1, 2, 3};
__device__ int table[4] = {5, 6, 7, 8};
__device__ double big = 3.5;
static __device__ int hidden;
extern __shared__ int dynamic[];
__device__ __noinline__ int near_by(int a) { return far_away(a, 3) + table[a & 3]; }
template <class T> __device__ __noinline__ T weak_one(T a) { return a * a + T(coefficients[int(a) & 15]); }
static __device__ __noinline__ int local_one(int a) {
    int x[8];
    for (int i = 0; i < 8; i++) x[i] = a * i;
    return x[a & 7] + hidden;
}
typedef int (*function)(int);
__device__ function pointers[2] = {near_by, local_one};
extern "C" __global__ void first(int* p) {
    __shared__ int block[64];
    block[threadIdx.x] = p[threadIdx.x];
    dynamic[threadIdx.x] = counter;
    __syncthreads();
    p[threadIdx.x] = near_by(block[63 - threadIdx.x]) + weak_one(p[0]) + local_one(p[1]) + outside[p[2] & 7];
    atomicAdd(&counter, 1);
    hidden = dynamic[3];
}
extern "C" __global__ void second(int* p, float* f) {
    p[0] = pointers[p[1] & 1](p[2]);
    f[0] = weak_one(f[1]);
    big += f[2];
    f[3] = f[4] / f[5];
    p[5] = (int)(long long)(void*)&table;
}
__global__ void third(int* p) {
    switch (p[0]) {
        case 0: p[1] = far_away(1, 2); break;
        case 1: p[2] = 7; break;
        case 2: p[3] = weak_one(p[9]); break;
        case 3: p[5] = __shfl_xor_sync(p[9], 3, 4); break;
        case 4: atomicAdd(p + 6, 2); break;
        case 5: p[1] = near_by(4); break;
        case 6: p[1] /= p[2]; break;
    }
}
