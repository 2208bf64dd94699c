// SPDX-License-Identifier: Apache-2.0
// A kernel that launches another, beside one that does not.
__global__ void child(int* p) { p[threadIdx.x] += 1; }
__global__ void parent(int* p) { if (threadIdx.x == 0) child<<<1, 32>>>(p); }
__global__ void plain(int* p) { p[threadIdx.x] *= 2; }
