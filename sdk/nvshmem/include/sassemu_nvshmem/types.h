/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of types that functions of the NVSHMEM API exist for, as its documentation has them;
 * each list stands here only. X(NAME, TYPE) makes one family: nvshmem_NAME_put for TYPE. Not for
 * users to include: nvshmem.h does. */
#ifndef SASSEMU_NVSHMEM_TYPES_H
#define SASSEMU_NVSHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Types of 16 bits that CUDA's headers define; where they are not at hand there are no functions
 * for them. */
#if defined(__CUDACC__) || defined(SASSEMU_NVSHMEM_HALVES)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define SASSEMU_NVSHMEM_HALF_TYPES(X) X(half, __half) X(bfloat16, __nv_bfloat16)
#else
#define SASSEMU_NVSHMEM_HALF_TYPES(X)
#endif

/* Fixed widths and sizes, of which several lists are made. */
#define SASSEMU_NVSHMEM_WORDS(X) \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define SASSEMU_NVSHMEM_SMALL(X) \
    X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define SASSEMU_NVSHMEM_SIZES(X) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define SASSEMU_NVSHMEM_UNSIGNED(X) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define SASSEMU_NVSHMEM_SIGNED(X) X(int, int) X(long, long) X(longlong, long long)
#define SASSEMU_NVSHMEM_FLOATS(X) X(float, float) X(double, double)

/* clang-format 14 does not settle on an indentation of these. */
/* clang-format off */
/* put, get, p, g, iput, iget, signals, broadcast, fcollect, alltoall */
#define SASSEMU_NVSHMEM_RMA_TYPES(X)                                                          \
    SASSEMU_NVSHMEM_FLOATS(X)                                                                 \
    SASSEMU_NVSHMEM_SIGNED(X) SASSEMU_NVSHMEM_UNSIGNED(X) SASSEMU_NVSHMEM_WORDS(X)            \
        SASSEMU_NVSHMEM_SMALL(X) SASSEMU_NVSHMEM_SIZES(X) X(char, char) X(schar, signed char) \
            X(short, short) X(uchar, unsigned char) X(ushort, unsigned short)                 \
                SASSEMU_NVSHMEM_HALF_TYPES(X)

/* put8 ... put128: X(NAME, TYPE of that size) */
#define SASSEMU_NVSHMEM_BIT_SIZES(X) \
    X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t) X(128, sassemu_nvshmem_128)

/* wait_until and test */
#define SASSEMU_NVSHMEM_WAIT_TYPES(X)                                                             \
    SASSEMU_NVSHMEM_SIGNED(X)                                                                     \
    SASSEMU_NVSHMEM_UNSIGNED(X) SASSEMU_NVSHMEM_WORDS(X) SASSEMU_NVSHMEM_SIZES(X) X(short, short) \
        X(ushort, unsigned short)

/* inc, add, compare_swap and their fetching forms */
#define SASSEMU_NVSHMEM_AMO_TYPES(X) \
    SASSEMU_NVSHMEM_SIGNED(X)        \
    SASSEMU_NVSHMEM_UNSIGNED(X) SASSEMU_NVSHMEM_WORDS(X) SASSEMU_NVSHMEM_SIZES(X)
/* fetch, set, swap */
#define SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(X) SASSEMU_NVSHMEM_AMO_TYPES(X) SASSEMU_NVSHMEM_FLOATS(X)
/* and, or, xor */
#define SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(X) SASSEMU_NVSHMEM_UNSIGNED(X) SASSEMU_NVSHMEM_WORDS(X)

/* and, or, xor as reductions */
#define SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(X)                                    \
    X(uchar, unsigned char)                                                        \
    X(ushort, unsigned short) SASSEMU_NVSHMEM_UNSIGNED(X) SASSEMU_NVSHMEM_WORDS(X) \
        SASSEMU_NVSHMEM_SMALL(X) X(size, size_t)
/* min, max, sum, prod */
#define SASSEMU_NVSHMEM_REDUCE_TYPES(X)                                                   \
    X(char, char)                                                                         \
    X(schar, signed char) X(short, short) SASSEMU_NVSHMEM_SIGNED(X) X(ptrdiff, ptrdiff_t) \
        SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(X) SASSEMU_NVSHMEM_FLOATS(X)                 \
            SASSEMU_NVSHMEM_HALF_TYPES(X)

/* clang-format on */
/* 128 bits as one element. */
typedef struct
#if defined(__CUDACC__)
    __align__(16)
#else
    __attribute__((aligned(16)))
#endif
{
    uint64_t half[2];
}
sassemu_nvshmem_128;

#endif
