// SPDX-License-Identifier: Apache-2.0
// Kernels of flashinfer/sampling.cuh.
#include <flashinfer/sampling.cuh>

namespace flashinfer::sampling {
template __global__ void OnlineSoftmaxFusedKernel<1024, 4, float, true>(float*, float*, float*,
                                                                        float, uint32_t);
template __global__ void
SamplingFromProbKernel<1024, BLOCK_SCAN_WARP_SCANS, BLOCK_REDUCE_WARP_REDUCTIONS, 4, true>(
    float*, int32_t*, bool*, int32_t*, uint32_t, uint64_t*, uint64_t, uint64_t*, uint64_t, uint32_t,
    uint32_t);
template __global__ void
TopKSamplingFromProbKernel<1024, BLOCK_SCAN_WARP_SCANS, BLOCK_REDUCE_WARP_REDUCTIONS, 4, true>(
    float*, int32_t*, bool*, int32_t*, int32_t*, uint32_t, uint32_t, uint64_t*, uint64_t, uint64_t*,
    uint64_t, uint32_t, uint32_t);
template __global__ void TopPRenormProbKernel<1024, BLOCK_REDUCE_WARP_REDUCTIONS, 4>(float*, float*,
                                                                                     float*, float,
                                                                                     uint32_t);
}  // namespace flashinfer::sampling
