// SPDX-License-Identifier: Apache-2.0
// PTX of CTA pairs (cta_group::2) and cp.async that the kernels here share.
#pragma once
#include "tensor.h"

// D s32, A and B u8, N 32, M 256: 128 rows in each CTA, 16 rows of B in each
constexpr uint32_t pair_shape = 2u << 4 | 4u << 17 | 16u << 24;
#define PAIR_ALLOC(to) TENSOR_ALLOC_FOR("2", to)
#define PAIR_FREE(at) TENSOR_FREE_FOR("2", at)
#define PAIR_MMA(d, a, b) TENSOR_PRODUCT("2", "ne", "%1", "l", d, a, b, pair_shape)
#define PAIR_COMMIT(bar)                                                                       \
    ASM("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster" \
        ".b64 [%0], %1;" ::"r"(address(&bar)),                                                 \
        "h"(static_cast<uint16_t>(3)))
// 128 rows of 16 bytes to the lanes of tensor memory, in both CTAs.
#define PAIR_COPY(to, from)                                     \
    ASM("tcgen05.cp.cta_group::2.128x128b [%0], %1;" ::"r"(to), \
        "l"((address(from) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46))
#define CP_ASYNC(to, from) \
    ASM("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from))
