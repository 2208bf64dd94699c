// SPDX-License-Identifier: Apache-2.0
// DeepGEMM: e4m3 with scales of 128 elements, tiles of 64 x 128, three stages, two CTAs.
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

namespace deep_gemm {
using Map = cute::TmaDescriptor;
template __global__ void
sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, 0, 0, 1, 64, 128, 128, 128, 128, 128, 3, 128, 128,
                        1, false, 2, GemmType::Normal, cutlass::bfloat16_t>(
    float*, int*, uint32_t, uint32_t, uint32_t, const __grid_constant__ Map,
    const __grid_constant__ Map, const __grid_constant__ Map, const __grid_constant__ Map);
}  // namespace deep_gemm
