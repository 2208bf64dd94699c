// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2 (flash-attn): 64 columns a head, causal, in f16 and without bounds in bf16. Of
// PyTorch it needs what torch/ has.
#include <flash_fwd_launch_template.h>

namespace FLASH_NAMESPACE {
template <class T>
using Traits = Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, T>;
template __global__ void
flash_fwd_kernel<Traits<cutlass::half_t>, false, true, false, false, false, true, false, false>(
    const __grid_constant__ Flash_fwd_params);
template __global__ void
flash_fwd_kernel<Traits<cutlass::bfloat16_t>, false, false, false, false, true, true, false, false>(
    const __grid_constant__ Flash_fwd_params);
}  // namespace FLASH_NAMESPACE
