// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels: those of the engine's tests, and a sort that launches itself.
#include "../../../engine/data/launches.cu"
#include "check.hpp"

__global__ void quicksort(int* v, int n, int depth) {
    if (n <= 16 || depth == 12) {
        for (int i = 1; i < n; ++i)
            for (int k = i; k > 0 && v[k - 1] > v[k]; --k) {
                const int t = v[k];
                v[k] = v[k - 1];
                v[k - 1] = t;
            }
        return;
    }
    int low = 0, high = n - 1;
    const int pivot = v[n / 2];
    while (low <= high) {
        while (v[low] < pivot) ++low;
        while (v[high] > pivot) --high;
        if (low > high) break;
        const int t = v[low];
        v[low++] = v[high];
        v[high--] = t;
    }
    if (high > 0) quicksort<<<1, 1, 0, cudaStreamFireAndForget>>>(v, high + 1, depth + 1);
    if (low < n - 1) quicksort<<<1, 1, 0, cudaStreamFireAndForget>>>(v + low, n - low, depth + 1);
}
__global__ void halves(float* v, int n) {
    if (threadIdx.x < n / 2) v[threadIdx.x] += v[threadIdx.x + n / 2];
    if (threadIdx.x == 0 && n > 2) halves<<<1, n / 4 ? n / 4 : 1, 0, cudaStreamTailLaunch>>>(v, n / 2);
}

int main() {
    int* p = device<int>(4096);
    parent<<<1, 32>>>(p);
    plain<<<1, 32>>>(p);
    CHECK(cudaMemset(p, 0, 16384));
    nested<<<1, 1>>>(p, 3, 1);
    shaper<<<1, 1>>>(p);
    fan<<<4, 8>>>(p);
    streams<<<1, 1>>>(p, p + 64);
    quicksort<<<1, 1>>>(device<int>(500, 5), 500, 0);
    halves<<<1, 256>>>(device<float>(512, 6), 512);
    CHECK(cudaDeviceSynchronize());
}
