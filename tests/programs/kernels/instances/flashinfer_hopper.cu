// SPDX-License-Identifier: Apache-2.0
// FlashInfer's attention for Hopper (attention/hopper): wgmma fed by TMA, two consumer warpgroups,
// 128 columns a head, with a causal mask.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>

namespace flashinfer {
using Parameters = SinglePrefillParams<cutlass::half_t, cutlass::half_t, cutlass::half_t>;
using Kernel = AttentionKernelTraits<true, 128, 128, 128, 128, 2, cutlass::half_t, cutlass::half_t,
                                     cutlass::half_t, int32_t, StandardAttention>;
using Mainloop = CollectiveMainloop<Parameters::AdditionalParams, Kernel, true>;
using Epilogue = CollectiveEpilogue<Kernel>;
template __global__ void
PrefillWithKVCacheKernel<Mainloop, Epilogue, Kernel, false, true, SingleTileScheduler>(
    CUTE_GRID_CONSTANT Mainloop::Params const, CUTE_GRID_CONSTANT Epilogue::Params const,
    CUTE_GRID_CONSTANT SingleTileScheduler::Params const);
}  // namespace flashinfer
