// SPDX-License-Identifier: Apache-2.0
// Kernels of flashinfer/attention/cascade.cuh.
#include <flashinfer/attention/cascade.cuh>

namespace flashinfer {
template __global__ void MergeStateKernel<8>(half*, float*, half*, float*, half*, float*, uint32_t,
                                             uint32_t);
template __global__ void MergeStatesKernel<8>(nv_bfloat16*, float*, nv_bfloat16*, float*, uint32_t,
                                              uint32_t, uint32_t);
template __global__ void MergeStatesLargeNumIndexSetsKernel<8, 16, 8, 4>(half*, float*, half*,
                                                                         float*, uint32_t,
                                                                         uint32_t);
}  // namespace flashinfer
