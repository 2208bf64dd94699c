// SPDX-License-Identifier: Apache-2.0
// A variable in each kind of memory, for what the debugger makes of -G: constants by name, static
// in a function and in a namespace, variables of the module, shared memory of a known and of an
// unknown size, locals, parameters.
__constant__ int table[8];
__constant__ int one;
namespace n {
__constant__ float scale[3];
}
__device__ short counter[4];

__device__ int pick(const int* p, int i) {
    int got = p[i];
    return got + one;
}

extern "C" __global__ void spaces(int* out, const int* in, int k) {
    static __constant__ int inner[2] = {141, 143};
    static __device__ int kept[2] = {5, 6};
    __shared__ int near[32];
    extern __shared__ int more[];
    int mine[4];
    const int* chosen = k ? table : in;
    near[threadIdx.x & 31] = (int)threadIdx.x * 3;
    more[threadIdx.x] = 1000 + (int)threadIdx.x;
    for (int i = 0; i < 4; ++i) mine[i] = i * k + (int)threadIdx.x;
    __syncthreads();
    int sum = pick(chosen, (int)threadIdx.x & 7) + near[(threadIdx.x + 1) & 31] + mine[k & 3];
    sum += inner[k & 1] + kept[k & 1] + more[0];
    counter[threadIdx.x & 3] = (short)sum;
    out[threadIdx.x] = sum + (int)n::scale[k % 3];
}
