// SPDX-License-Identifier: Apache-2.0
// Kernels of flashinfer/pos_enc.cuh.
#include <flashinfer/pos_enc.cuh>

namespace flashinfer {
template __global__ void BatchQKApplyRotaryPosIdsKernel<false, 128, 8, 16>(
    half*, half*, half*, half*, int32_t*, uint32_t, uint32_t, uint32_t, uint32_t, size_t, size_t,
    size_t, size_t, size_t, size_t, size_t, size_t, float, float, float, float);
template __global__ void BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 64, 8, 8>(
    nv_bfloat16*, nv_bfloat16*, nv_bfloat16*, nv_bfloat16*, float*, int32_t*, uint32_t, uint32_t,
    uint32_t, uint32_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t);
}  // namespace flashinfer
