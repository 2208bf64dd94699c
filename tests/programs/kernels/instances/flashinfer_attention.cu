// SPDX-License-Identifier: Apache-2.0
// Attention of flashinfer/attention: one query against a cache (decode), and many (prefill), with a
// causal mask.
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>

namespace flashinfer {
using Attention = DefaultAttention<false, false, false, false>;
using Decode = SingleDecodeParams<half, half, half>;
template __global__ void SingleDecodeWithKVCacheKernel<PosEncodingMode::kNone, 2, 1, 8, 16, 4, 2,
                                                       Attention>(const __grid_constant__ Decode);
using Prefill = SinglePrefillParams<nv_bfloat16, nv_bfloat16, nv_bfloat16>;
using Tiles = KernelTraits<MaskMode::kCausal, 64, 1, 4, 4, 4, 4, 1, PosEncodingMode::kNone,
                           nv_bfloat16, nv_bfloat16, nv_bfloat16, float, int32_t, Attention>;
template __global__ void SinglePrefillWithKVCacheKernel<Tiles>(const __grid_constant__ Prefill);
}  // namespace flashinfer
