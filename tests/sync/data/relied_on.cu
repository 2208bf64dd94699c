// SPDX-License-Identifier: Apache-2.0
// What shipping code relies on beyond the letter of PTX, and what looks like it: see
// tests/sync/relied_test.py. Blocks of 64 threads.

extern "C" __global__ void one_value(int* out) {
    __shared__ int found;
    found = out[0] + 1;
    __syncthreads();
    out[threadIdx.x] = found;
}
extern "C" __global__ void several_values(int* out) {
    __shared__ int found;
    found = out[0] + threadIdx.x / 32;
    __syncthreads();
    out[threadIdx.x] = found;
}
extern "C" __global__ void exits(int* out) {
    __shared__ int from[64];
    from[threadIdx.x] = threadIdx.x;
    if (threadIdx.x >= 32) return;
    __syncthreads();
    out[threadIdx.x] = from[threadIdx.x ^ 32];
}
extern "C" __global__ void exits_alone(int* out) {
    __shared__ int from[64];
    from[threadIdx.x] = threadIdx.x;
    if (threadIdx.x >= 32) return;
    __syncwarp();
    out[threadIdx.x] = from[threadIdx.x ^ 32];
}
extern "C" __global__ void lanes(int* out) {
    if (threadIdx.x < 32) out[0] = threadIdx.x;
}
