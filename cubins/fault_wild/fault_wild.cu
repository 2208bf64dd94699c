// A store through a pointer that belongs to no allocation.
// nvcc: -lineinfo
__device__ __noinline__ void poke(int* p, int i) { p[i * 1000] = i; }

extern "C" __global__ void fault_wild(int* good, int* wild) {
    good[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (threadIdx.x >= 20) poke(wild, threadIdx.x);
}
