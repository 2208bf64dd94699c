// SPDX-License-Identifier: Apache-2.0
// PTX of CTA pairs (cta_group::2) and cp.async that the kernels here share.
#pragma once
#include "tensor.h"

// D s32, A and B u8, N 32, M 256: 128 rows in each CTA, 16 rows of B in each
constexpr uint32_t pair_shape = 2u << 4 | 4u << 17 | 16u << 24;
#define PAIR_ALLOC(to)                                                                    \
    ASM("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"             \
        "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(address(&to)), \
        "n"(columns))
#define PAIR_FREE(at) \
    ASM("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(at), "n"(columns))
#define PAIR_MMA(d, a, b)                                                                        \
    ASM("{.reg .pred p;\nsetp.ne.u32 p, 0, 0;\ntcgen05.mma.cta_group::2.kind::i8 [%0], %1, %2, " \
        "%3, p;}" ::"r"(d),                                                                      \
        "l"(a), "l"(b), "r"(pair_shape))
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
