// SPDX-License-Identifier: Apache-2.0
// Kernels of flashinfer/quantization.cuh.
#include <flashinfer/quantization.cuh>

namespace flashinfer::quantization {
template __global__ void PackBitsKernel<BitOrder::kBig>(bool*, uint8_t*, int64_t);
template __global__ void SegmentPackBitsKernel<BitOrder::kLittle>(bool*, uint8_t*, int32_t*,
                                                                  int32_t*);
}  // namespace flashinfer::quantization
