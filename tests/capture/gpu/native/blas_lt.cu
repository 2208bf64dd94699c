// SPDX-License-Identifier: Apache-2.0
// cuBLASLt: the algorithms that it names for products of each type (also of 8-bit floats), with what it can do at their end.
#include <cublasLt.h>

#include "check.hpp"

int main() {
    cublasLtHandle_t handle;
    CHECK(cublasLtCreate(&handle));
    char *a = reinterpret_cast<char*>(device<float>(1 << 16, 2)), *b = reinterpret_cast<char*>(device<float>(1 << 16, 3)), *c = reinterpret_cast<char*>(device<float>(1 << 16, 4)), *work;
    CHECK(cudaMemset(a, 0x38, 1 << 18));
    CHECK(cudaMemset(b, 0x31, 1 << 18));
    CHECK(cudaMalloc(&work, 8 << 20));
    auto *bias = device<float>(512, 5), *scale = device<float>(1, 6);
    struct Types {
        cudaDataType_t a, b, c;
        cublasComputeType_t compute;
        cudaDataType_t scale;
    };
    constexpr auto f32 = CUBLAS_COMPUTE_32F;
    for (const Types t : {Types{CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, f32, CUDA_R_32F}, {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F, f32, CUDA_R_32F}, {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, f32, CUDA_R_32F},
                          {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, f32, CUDA_R_32F}, {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, f32, CUDA_R_32F}, {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, f32, CUDA_R_32F},
                          {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F}, {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, f32, CUDA_R_32F}, {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}})
        for (const auto epilogue : {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS})
            for (const int m : {64, 144})
                for (const int k : {64, 192}) {
                    constexpr int n = 96;
                    cublasLtMatmulDesc_t what;
                    cublasLtMatrixLayout_t la, lb, lc;
                    CHECK(cublasLtMatmulDescCreate(&what, t.compute, t.scale));
                    const auto transposed = CUBLAS_OP_T;
                    CHECK(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
                    CHECK(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
                    CHECK(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
                    if (t.a == CUDA_R_8F_E4M3) CHECK(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale));
                    CHECK(cublasLtMatrixLayoutCreate(&la, t.a, k, m, k));
                    CHECK(cublasLtMatrixLayoutCreate(&lb, t.b, k, n, k));
                    CHECK(cublasLtMatrixLayoutCreate(&lc, t.c, m, n, m));
                    cublasLtMatmulPreference_t preference;
                    CHECK(cublasLtMatmulPreferenceCreate(&preference));
                    const size_t bytes = 8 << 20;
                    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
                    cublasLtMatmulHeuristicResult_t found[6];
                    int count = 0;
                    if (cublasLtMatmulAlgoGetHeuristic(handle, what, la, lb, lc, lc, preference, 6, found, &count)) continue;
                    const float one = 1, half = 0.5f;
                    const int whole = 1;
                    for (int i = 0; i < count; ++i)
                        cublasLtMatmul(handle, what, t.scale == CUDA_R_32I ? static_cast<const void*>(&whole) : &one, a, la, b, lb, t.scale == CUDA_R_32I ? static_cast<const void*>(&whole) : &half, c, lc, c, lc, &found[i].algo, work,
                                       bytes, nullptr);
                    CHECK(cudaDeviceSynchronize());
                }
}
