// Loader test data: what a kernel may ask of a launch.
struct Huge {
    int words[2000];
};
struct __attribute__((packed)) Packed {
    char c;
    int* p;
};
__device__ int target[4];
__device__ Packed packed = {1, &target[2]};
__managed__ int managed = 5;
extern "C" __global__ void huge(__grid_constant__ const Huge h, char c, int* out) {
    *out = h.words[out[1]] + c + managed + *packed.p;
}
extern "C" __global__ void __launch_bounds__(256) barriers(int* out) {
    __shared__ int data[40];
    data[threadIdx.x] = out[1];
    asm volatile("bar.sync 7, 64;");
    out[0] = data[threadIdx.x ^ 1];
}
extern "C" __global__ void branches(int* out) {
    int x = out[1];
    switch (out[0]) {
        case 0: x += 5; break;
        case 1: x *= 7; break;
        case 2: x = __popc(x); break;
        case 3: x = __brev(x); break;
        case 4: x ^= out[9]; break;
        case 5: x <<= 3; break;
        case 6: x = __clz(x); break;
    }
    out[blockIdx.z] = __shfl_xor_sync(__match_any_sync(~0u, x), x, 3);
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(4, 2, 1) cluster(int* out) { *out = 1; }
extern "C" __global__ void __launch_bounds__(64, 1, 8) ranked(int* out) { *out = 2; }
#endif
