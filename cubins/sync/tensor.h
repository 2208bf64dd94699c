// PTX of the fifth-generation tensor core that the tensor_* patterns share. D (128 x 16 words) = A
// (128 x 32 bytes) x B (16 x 32 bytes, transposed), in unsigned bytes; a thread owns the row of its
// number.
#pragma once
#include "sync.h"

constexpr uint32_t columns =
    32;  // of tensor memory: D in the first 16, A (where it lies there) in 8 behind them
// D s32, A and B u8, N 16, M 128
constexpr uint32_t shape = 2u << 4 | 2u << 17 | 8u << 24;

// A matrix in shared memory: blocks of 8 rows x 16 bytes, two of them side by side, the next 8 rows
// 256 bytes behind.
__device__ inline uint64_t descriptor(const void* p) {
    return (address(p) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32 |
           uint64_t{1} << 46;
}
__device__ inline uint32_t half_row(uint32_t row, uint32_t half) {
    return row / 8 * 16 + half * 8 + row % 8;
}  // in units of 16 bytes

// `group`: "1", or "2" for a pair of CTAs.
#define TENSOR_ALLOC_FOR(group, to)                                                               \
    ASM("tcgen05.alloc.cta_group::" group                                                         \
        ".sync.aligned.shared::cta.b32 [%0], %1;\n"                                               \
        "tcgen05.relinquish_alloc_permit.cta_group::" group ".sync.aligned;" ::"r"(address(&to)), \
        "n"(columns))
#define TENSOR_FREE_FOR(group, at) \
    ASM("tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 %0, %1;" ::"r"(at), "n"(columns))
// `test`: "eq" adds to what D holds, "ne" does not; `of`, A: how the operand a is written, and its
// constraint.
#define TENSOR_PRODUCT(group, test, of, A, d, a, b, shape)                          \
    ASM("{.reg .pred p;\nsetp." test ".u32 p, 0, 0;\ntcgen05.mma.cta_group::" group \
        ".kind::i8 [%0], " of ", %2, %3, p;}" ::"r"(d),                             \
        A(a), "l"(b), "r"(shape))
#define TENSOR_ALLOC(to) TENSOR_ALLOC_FOR("1", to)
#define TENSOR_FREE(at) TENSOR_FREE_FOR("1", at)
#define TENSOR_MMA(d, a, b) TENSOR_PRODUCT("1", "ne", "%1", "l", d, a, b, shape)
#define TENSOR_MMA_ADD(d, a, b) TENSOR_PRODUCT("1", "eq", "%1", "l", d, a, b, shape)
#define TENSOR_MMA_OF(d, a, b) /* A in tensor memory */ \
    TENSOR_PRODUCT("1", "ne", "[%1]", "r", d, a, b, shape)
#define TENSOR_COMMIT(bar)                                                                   \
    ASM("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"( \
        address(&bar)))
#define TENSOR_BEFORE ASM("tcgen05.fence::before_thread_sync;" ::)
#define TENSOR_AFTER ASM("tcgen05.fence::after_thread_sync;" ::)
#define TENSOR_LOAD4(v, at)                                                      \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])                \
                 : "r"(at)                                                       \
                 : "memory")
#define TENSOR_STORE4(at, v)                                                                  \
    ASM("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v[0]), \
        "r"(v[1]), "r"(v[2]), "r"(v[3]))
#define TENSOR_WAIT_LOAD ASM("tcgen05.wait::ld.sync.aligned;" ::)
#define TENSOR_WAIT_STORE ASM("tcgen05.wait::st.sync.aligned;" ::)

// The lanes of tensor memory that the warp reaches.
__device__ inline uint32_t lanes_of_warp() { return (threadIdx.x & 96) << 16; }
