// SPDX-License-Identifier: Apache-2.0
// The kernel of flashinfer/activation.cuh, which takes the activation from whoever instantiates it.
#include <flashinfer/activation.cuh>

__device__ float silu(const float& x) { return x / (1 + __expf(-x)); }
__device__ float gelu(const float& x) {
    return 0.5f * x * (1 + flashinfer::math::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

namespace flashinfer::activation {
template __global__ void act_and_mul_kernel<half, silu, 8>(half*, const half*, int);
template __global__ void act_and_mul_kernel<nv_bfloat16, gelu, 8>(nv_bfloat16*, const nv_bfloat16*,
                                                                  int);
}  // namespace flashinfer::activation
