// SPDX-License-Identifier: Apache-2.0
// cuFFT: lengths of all small primes and some large, one to three dimensions, batches, strides, both precisions, real and complex.
#include <cufft.h>

#include <array>

#include "check.hpp"

int main() {
    void* in = device<float>(1 << 18, 2);
    void* out = device<float>(1 << 18, 3);
    for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 24, 25, 27, 31, 32, 35, 36, 45, 48, 49, 60, 64, 77, 81, 97, 100, 121, 125, 128, 169, 210, 243, 256, 289, 343, 361, 500, 512, 625, 729, 1000, 1024, 1009, 1331,
                        2048, 2187, 2401, 3125, 4096, 6561, 8192})
        for (const auto type : {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D}) {
            if (n > 2500 && type > CUFFT_C2C) continue;
            cufftHandle plan;
            if (cufftPlan1d(&plan, n, type, n < 300 ? 3 : 1)) continue;
            CHECK(type == CUFFT_C2C   ? cufftExecC2C(plan, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out), n % 2 ? CUFFT_FORWARD : CUFFT_INVERSE)
                  : type == CUFFT_R2C ? cufftExecR2C(plan, static_cast<float*>(in), static_cast<cufftComplex*>(out))
                  : type == CUFFT_C2R ? cufftExecC2R(plan, static_cast<cufftComplex*>(in), static_cast<float*>(out))
                  : type == CUFFT_Z2Z ? cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleComplex*>(out), CUFFT_FORWARD)
                  : type == CUFFT_D2Z ? cufftExecD2Z(plan, static_cast<double*>(in), static_cast<cufftDoubleComplex*>(out))
                                      : cufftExecZ2D(plan, static_cast<cufftDoubleComplex*>(in), static_cast<double*>(out)));
            CHECK(cudaDeviceSynchronize());
            CHECK(cufftDestroy(plan));
        }
    for (const int rank : {2, 3})
        for (const std::array<int, 3>& size : {std::array{8, 8, 8}, {16, 12, 10}, {9, 15, 7}, {32, 32, 4}})
            for (const auto type : {CUFFT_C2C, CUFFT_R2C, CUFFT_Z2Z}) {
                cufftHandle plan;
                int n[3] = {size[0], size[1], size[2]}, embedded[3] = {n[0], n[1], n[2] + 3};
                for (int* layout : {static_cast<int*>(nullptr), embedded}) {
                    if (cufftPlanMany(&plan, rank, n, layout, 2, 4000, layout, 1, 4000, type, 2)) continue;
                    if (type == CUFFT_C2C) cufftExecC2C(plan, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out), CUFFT_INVERSE);
                    if (type == CUFFT_R2C) cufftExecR2C(plan, static_cast<float*>(in), static_cast<cufftComplex*>(out));
                    if (type == CUFFT_Z2Z) cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleComplex*>(out), CUFFT_FORWARD);
                    CHECK(cudaDeviceSynchronize());
                    cufftDestroy(plan);
                }
            }
}
