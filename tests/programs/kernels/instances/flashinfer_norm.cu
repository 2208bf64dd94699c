// SPDX-License-Identifier: Apache-2.0
// Kernels of flashinfer/norm.cuh.
#include <flashinfer/norm.cuh>

namespace flashinfer::norm {
template __global__ void RMSNormKernel<8>(half*, half*, half*, uint32_t, uint32_t, uint32_t, float,
                                          float);
template __global__ void FusedAddRMSNormKernel<8>(nv_bfloat16*, nv_bfloat16*, nv_bfloat16*,
                                                  uint32_t, uint32_t, uint32_t, float, float);
template __global__ void RMSNormQuantKernel<8>(half*, half*, __nv_fp8_e4m3*, uint32_t, uint32_t,
                                               uint32_t, float, float*, float);
template __global__ void QKRMSNormKernel<8>(nv_bfloat16*, nv_bfloat16*, nv_bfloat16*, uint32_t,
                                            uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                            uint32_t, float, float);
template __global__ void generalLayerNorm<nv_bfloat162, float2, int8_t, true, false>(
    nv_bfloat162 const*, float2 const*, float2 const*, nv_bfloat162*, float const, int, int,
    float const*, float const*, float*, float*, int8_t*, bool);
}  // namespace flashinfer::norm
