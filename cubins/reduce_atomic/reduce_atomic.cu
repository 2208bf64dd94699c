// Reductions by atomics without return value (RED) on global memory after a partial sum in shared memory (ATOMS).
// Integer operations and floats that are small whole numbers: the result does not depend on the order.
extern "C" __global__ void reduce_atomic(const int* x, int* isum, unsigned long long* wide, int* lo, int* hi, float* fsum,
                                         double* dsum, int n) {
    __shared__ int part;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int v = x[i];
        atomicAdd(&part, v);
        atomicAdd(wide, static_cast<unsigned long long>(v) * 0x100000001ull);
        atomicMin(lo, v);
        atomicMax(hi, v);
        atomicAdd(fsum, static_cast<float>(v & 15));
        atomicAdd(dsum, static_cast<double>(v >> 4));
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(isum, part);
}
