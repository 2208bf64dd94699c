// SPDX-License-Identifier: Apache-2.0
// cuSOLVER: factorisations, eigenvalues and singular values, of each type, single and in batches.
#include <cusolverDn.h>

#include "check.hpp"

cusolverDnHandle_t handle;
cusolverDnParams_t params;
char* work;
int* info;

template <class F>
void all(cudaDataType type, cudaDataType real, int parts) {
    for (const int n : {6, 24, 33, 65}) {
        F *a = device<F>(n * n * parts, n), *b = device<F>(n * n * parts, n + 1), *w = device<F>(n * 2, 3);
        const auto symmetric = [&] {  // of a large diagonal
            std::vector<F> values(n * n * parts);
            const auto random = numbers<F>(n * n, 9);
            for (int i = 0; i < n; ++i)
                for (int k = 0; k < n; ++k) values[(i * n + k) * parts] = i == k ? n + 3 : random[std::min(i, k) * n + std::max(i, k)] * F(0.1);
            CHECK(cudaMemcpy(a, values.data(), values.size() * sizeof(F), cudaMemcpyHostToDevice));
        };
        int64_t* pivots = device<int64_t>(n);
        std::vector<char> host(16 << 20);
        constexpr size_t size = 16 << 20;
        for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
            symmetric();
            cusolverDnXpotrf(handle, params, fill, n, type, a, n, type, work, size, host.data(), size, info);
            cusolverDnXpotrs(handle, params, fill, n, 3, type, a, n, type, b, n, info);
            symmetric();
            cusolverDnXsyevd(handle, params, CUSOLVER_EIG_MODE_VECTOR, fill, n, type, a, n, real, w, type, work, size, host.data(), size, info);
            cusolverDnXtrtri(handle, fill, CUBLAS_DIAG_UNIT, n, type, b, n, work, size, host.data(), size, info);
        }
        symmetric();
        cusolverDnXgetrf(handle, params, n, n, type, a, n, pivots, type, work, size, host.data(), size, info);
        for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T}) cusolverDnXgetrs(handle, params, op, n, 3, type, a, n, pivots, type, b, n, info);
        cusolverDnXgeqrf(handle, params, n, n / 2, type, b, n, type, w, type, work, size, host.data(), size, info);
        symmetric();
        cusolverDnXgesvd(handle, params, 'A', 'A', n, n, type, a, n, real, w, type, b, n, type, device<F>(n * n * parts), n, type, work, size, host.data(), size, info);
        double error = 0;
        symmetric();
        cusolverDnXgesvdp(handle, params, CUSOLVER_EIG_MODE_VECTOR, 1, n, n, type, a, n, real, w, type, b, n, type, device<F>(n * n * parts), n, type, work, size, host.data(), size, info, &error);
        CHECK(cudaDeviceSynchronize());
        cudaFree(a), cudaFree(b), cudaFree(w), cudaFree(pivots);
    }
}

void batches() {
    constexpr int n = 12, count = 5;
    auto *a = device<float>(n * n * count, 3), *w = device<float>(n * count), *v = device<float>(n * n * count);
    syevjInfo_t jacobi;
    gesvdjInfo_t jacobi2;
    CHECK(cusolverDnCreateSyevjInfo(&jacobi));
    CHECK(cusolverDnCreateGesvdjInfo(&jacobi2));
    const int size = 4 << 20;
    auto* const space = reinterpret_cast<float*>(work);
    cusolverDnSsyevjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, a, n, w, space, size, info, jacobi, count);
    cusolverDnSgesvdjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, n, n, a, n, w, v, n, device<float>(n * n * count), n, space, size, info, jacobi2, count);
    cusolverDnSsyevj(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 40, device<float>(1600), 40, w, space, size, info, jacobi);
    cusolverDnSgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 40, 30, device<float>(1600), 40, w, device<float>(1600), 40, device<float>(1600), 40, space, size, info, jacobi2);
    cusolverDnSgesvdaStridedBatched(handle, CUSOLVER_EIG_MODE_VECTOR, 8, n, n, a, n, n * n, w, n, v, n, n * n, device<float>(n * n * count), n, n * n, space, size, info, nullptr, count);
    float* arrays[count];
    for (int i = 0; i < count; ++i) arrays[i] = a + i * n * n;
    float** on_device;
    CHECK(cudaMalloc(&on_device, sizeof arrays));
    CHECK(cudaMemcpy(on_device, arrays, sizeof arrays, cudaMemcpyHostToDevice));
    cusolverDnSpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, n, on_device, n, info, count);
    cusolverDnSpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, n, 1, on_device, n, on_device, n, info, count);
    cusolverDnSgebrd(handle, 33, 33, device<float>(33 * 33), 33, w, v, v + 64, v + 128, space, size, info);
    cusolverDnSsytrd(handle, CUBLAS_FILL_MODE_LOWER, 33, device<float>(33 * 33), 33, w, v, v + 64, space, size, info);
    cusolverDnSsytrf(handle, CUBLAS_FILL_MODE_LOWER, 33, device<float>(33 * 33), 33, device<int>(64), space, size, info);
    cusolverDnSormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 33, 5, 20, device<float>(33 * 33), 33, v, device<float>(33 * 5), 33, space, size, info);
    cusolverDnSorgqr(handle, 33, 20, 20, device<float>(33 * 33), 33, v, space, size, info);
    CHECK(cudaDeviceSynchronize());
}

int main() {
    CHECK(cusolverDnCreate(&handle));
    CHECK(cusolverDnCreateParams(&params));
    CHECK(cudaMalloc(&work, 16 << 20));
    CHECK(cudaMalloc(&info, 4096));
    all<float>(CUDA_R_32F, CUDA_R_32F, 1);
    all<double>(CUDA_R_64F, CUDA_R_64F, 1);
    all<float>(CUDA_C_32F, CUDA_R_32F, 2);
    all<double>(CUDA_C_64F, CUDA_R_64F, 2);
    batches();
}
