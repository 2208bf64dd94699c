// SPDX-License-Identifier: Apache-2.0
// cuBLAS: its three levels for each type, shapes that are no multiples of tiles, batches, mixed types, triangular and symmetric forms.
#include <cublas_v2.h>
#include <cuComplex.h>

#include "check.hpp"

cublasHandle_t handle;
constexpr int n = 70;
float* floats;
template <class T>
T* some(int k) { return reinterpret_cast<T*>(floats) + k * 6000; }

#define FOR_FORMS(T, P)                                                                                                          \
    void level_1_##P(T a) {                                                                                                      \
        T *x = some<T>(0), *y = some<T>(1);                                                                                      \
        CHECK(cublas##P##axpy(handle, n, &a, x, 1, y, 2));                                                                       \
        CHECK(cublas##P##scal(handle, n, &a, x, 1));                                                                             \
        CHECK(cublas##P##copy(handle, n, x, 1, y, 3));                                                                           \
        CHECK(cublas##P##swap(handle, n, x, 1, y, 1));                                                                           \
        for (const auto u : {CUBLAS_OP_N, CUBLAS_OP_T}) {                                                                        \
            T *A = some<T>(2), b = a;                                                                                            \
            for (const int m : {33, 128, 70}) {                                                                                  \
                CHECK(cublas##P##gemv(handle, u, m, n, &a, A, 130, x, 1, &b, y, 1));                                             \
                CHECK(cublas##P##gbmv(handle, u, m, n, 3, 2, &a, A, 130, x, 1, &b, y, 1));                                       \
                for (const auto w : {CUBLAS_OP_N, CUBLAS_OP_T})                                                                  \
                    for (const int k : {5, 64, 130})                                                                             \
                        CHECK(cublas##P##gemm(handle, u, w, m, n, k, &a, A, 140, some<T>(5), 140, &b, some<T>(9), 140));         \
                CHECK(cublas##P##gemmStridedBatched(handle, u, u, m, 24, 40, &a, A, 130, 999, some<T>(5), 130, 777, &b,          \
                                                    some<T>(9), 130, 3333, 3));                                                  \
            }                                                                                                                    \
            for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {                                           \
                CHECK(cublas##P##trmv(handle, fill, u, CUBLAS_DIAG_UNIT, n, A, n, x, 1));                                        \
                CHECK(cublas##P##trsv(handle, fill, u, CUBLAS_DIAG_UNIT, n, A, n, x, 1));                                        \
                CHECK(cublas##P##tbmv(handle, fill, u, CUBLAS_DIAG_NON_UNIT, n, 3, A, n, x, 1));                                 \
                CHECK(cublas##P##tpmv(handle, fill, u, CUBLAS_DIAG_UNIT, n, A, x, 1));                                           \
                CHECK(cublas##P##syrk(handle, fill, u, n, 40, &a, A, 80, &b, some<T>(5), 80));                                   \
                CHECK(cublas##P##syr2k(handle, fill, u, n, 40, &a, A, 80, some<T>(5), 80, &b, some<T>(9), 80));                  \
                for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {                                                  \
                    CHECK(cublas##P##trsm(handle, side, fill, u, CUBLAS_DIAG_UNIT, 48, 40, &a, A, 80, some<T>(5), 80));          \
                    CHECK(cublas##P##trmm(handle, side, fill, u, CUBLAS_DIAG_UNIT, 48, 40, &a, A, 80, some<T>(5), 80,            \
                                          some<T>(9), 80));                                                                      \
                    CHECK(cublas##P##symm(handle, side, fill, 48, 40, &a, A, 80, some<T>(5), 80, &b, some<T>(9), 80));           \
                }                                                                                                                \
            }                                                                                                                    \
            CHECK(cublas##P##geam(handle, u, CUBLAS_OP_N, 48, 48, &a, A, 80, &b, some<T>(5), 80, some<T>(9), 80));               \
            CHECK(cublas##P##dgmm(handle, CUBLAS_SIDE_LEFT, 48, 40, A, 80, x, 1, some<T>(9), 80));                               \
        }                                                                                                                        \
        CHECK(cudaDeviceSynchronize());                                                                                          \
    }
FOR_FORMS(float, S)
FOR_FORMS(double, D)
FOR_FORMS(cuComplex, C)
FOR_FORMS(cuDoubleComplex, Z)

void real() {
    float* x = some<float>(0);
    float r, c = 0.6f, s = 0.8f;
    int i;
    CHECK(cublasSdot(handle, n, x, 1, some<float>(1), 1, &r));
    CHECK(cublasSnrm2(handle, n, x, 1, &r));
    CHECK(cublasSasum(handle, n, x, 2, &r));
    CHECK(cublasIsamax(handle, n, x, 1, &i));
    CHECK(cublasIsamin(handle, n, x, 1, &i));
    CHECK(cublasSrot(handle, n, x, 1, some<float>(1), 1, &c, &s));
    CHECK(cublasSger(handle, 40, n, &c, x, 1, some<float>(1), 1, some<float>(2), 80));
    CHECK(cublasSsyr(handle, CUBLAS_FILL_MODE_LOWER, n, &c, x, 1, some<float>(2), n));
    CHECK(cublasSspr2(handle, CUBLAS_FILL_MODE_UPPER, n, &c, x, 1, some<float>(1), 1, some<float>(2)));
    CHECK(cublasSsymv(handle, CUBLAS_FILL_MODE_LOWER, n, &c, some<float>(2), n, x, 1, &s, some<float>(1), 1));
    double d;
    CHECK(cublasDdot(handle, n, some<double>(0), 1, some<double>(1), 1, &d));
    CHECK(cublasDnrm2(handle, n, some<double>(0), 1, &d));
    CHECK(cublasIdamax(handle, n, some<double>(0), 1, &i));
    cuComplex z;
    CHECK(cublasCdotc(handle, n, some<cuComplex>(0), 1, some<cuComplex>(1), 1, &z));
    CHECK(cublasScnrm2(handle, n, some<cuComplex>(0), 1, &r));
}

void mixed() {
    struct Types {
        cudaDataType_t a, c;
        cublasComputeType_t compute;
        cudaDataType_t scale;
    };
    for (const Types t : {Types{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F}, {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
                          {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F}, {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
                          {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}, {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I},
                          {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F}, {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F},
                          {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F}, {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
                          {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_C_32F}, {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, CUDA_C_64F}})
        for (const int m : {8, 64, 136, 256})
            for (const auto u : {CUBLAS_OP_N, CUBLAS_OP_T})
                for (const int k : {16, 128, 512}) {
                    const double wide[2] = {t.scale == CUDA_R_64F || t.scale == CUDA_C_64F ? 1 : 0, 0};
                    const float one[2] = {1, 0};
                    const int whole = 1;
                    const unsigned short half = 0x3c00;
                    const void* scale = wide[0] ? static_cast<const void*>(wide) : t.scale == CUDA_R_32I ? &whole : t.scale == CUDA_R_16F ? static_cast<const void*>(&half) : one;
                    cublasGemmEx(handle, u, CUBLAS_OP_N, m, 48, k, scale, some<float>(0), t.a, 512, some<float>(20), t.a, 512, scale, some<float>(40), t.c, 512, t.compute, CUBLAS_GEMM_DEFAULT);
                    cublasGemmStridedBatchedEx(handle, u, CUBLAS_OP_T, m, 32, 32, scale, some<float>(0), t.a, 256, 8192, some<float>(20), t.a, 256, 8192, scale, some<float>(40), t.c, 256, 8192, 2, t.compute,
                                               CUBLAS_GEMM_DEFAULT);
                }
}

int main() {
    floats = device<float>(1 << 19, 3);
    CHECK(cublasCreate(&handle));
    level_1_S(0.5f);
    level_1_D(0.25);
    level_1_C(make_cuComplex(0.5f, -0.25f));
    level_1_Z(make_cuDoubleComplex(0.5, 0.125));
    real();
    CHECK(cudaMemset(floats, 0x3c, 1 << 20));
    mixed();
    CHECK(cudaDeviceSynchronize());
}
