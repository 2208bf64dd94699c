// SPDX-License-Identifier: Apache-2.0
// One warp accesses memory in given patterns, in every form of access that has a cost of its own: what the profiler
// counts of each instruction is compared with what a chip counts (tests/profile/nsight.py).
// archs: sm_90
#include <cstdint>

constexpr unsigned sites = 32, units = 1024, none = 0xffff;

// What an access is given: `e`, the unit of memory that this lane accesses, and where that lies.
struct At {
    uint32_t e, lane, shared;
    const uint8_t* in;
    uint8_t* out;
};

__device__ uint32_t mixed(uint32_t e) { return e * 0x9e3779b9u + 1; }

// PTX under a predicate: lanes with no unit do not take part.
#define IF_ANY "{\n.reg .pred p;\nsetp.ne.u32 p, %"
#define THEN ", 0xffff;\n@p "
#define END ";\n}"

#define OP(NAME) struct NAME { static __device__ uint32_t go(const At& a)

#define LOAD(NAME, SPACE, ADDRESS, CONSTRAINT, SIZE, TYPE)                                                            \
    OP(NAME) {                                                                                                        \
        uint32_t v = 0;                                                                                               \
        asm volatile(IF_ANY "2" THEN "ld." SPACE "." TYPE " %0, [%1]" END                                              \
                     : "+r"(v) : CONSTRAINT(ADDRESS + a.e * SIZE), "r"(a.e) : "memory");                               \
        return v;                                                                                                     \
    } };
#define LOAD8(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                       \
    OP(NAME) {                                                                                                        \
        uint32_t v = 0, w = 0;                                                                                        \
        asm volatile(IF_ANY "3" THEN "ld." SPACE ".v2.u32 {%0, %1}, [%2]" END                                          \
                     : "+r"(v), "+r"(w) : CONSTRAINT(ADDRESS + a.e * 8), "r"(a.e) : "memory");                         \
        return v ^ w;                                                                                                 \
    } };
#define LOAD16(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                      \
    OP(NAME) {                                                                                                        \
        uint32_t v = 0, w = 0, x = 0, y = 0;                                                                          \
        asm volatile(IF_ANY "5" THEN "ld." SPACE ".v4.u32 {%0, %1, %2, %3}, [%4]" END                                  \
                     : "+r"(v), "+r"(w), "+r"(x), "+r"(y) : CONSTRAINT(ADDRESS + a.e * 16), "r"(a.e) : "memory");      \
        return v ^ w ^ x ^ y;                                                                                         \
    } };
#define STORE(NAME, SPACE, ADDRESS, CONSTRAINT, SIZE, TYPE)                                                           \
    OP(NAME) {                                                                                                        \
        asm volatile(IF_ANY "2" THEN "st." SPACE "." TYPE " [%0], %1" END                                              \
                     :: CONSTRAINT(ADDRESS + a.e * SIZE), "r"(mixed(a.e)), "r"(a.e) : "memory");                       \
        return 0;                                                                                                     \
    } };
#define STORE8(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                      \
    OP(NAME) {                                                                                                        \
        asm volatile(IF_ANY "2" THEN "st." SPACE ".v2.u32 [%0], {%1, %2}" END                                          \
                     :: CONSTRAINT(ADDRESS + a.e * 8), "r"(mixed(a.e)), "r"(a.e) : "memory");                          \
        return 0;                                                                                                     \
    } };
#define STORE16(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                     \
    OP(NAME) {                                                                                                        \
        asm volatile(IF_ANY "2" THEN "st." SPACE ".v4.u32 [%0], {%1, %2, %1, %2}" END                                  \
                     :: CONSTRAINT(ADDRESS + a.e * 16), "r"(mixed(a.e)), "r"(a.e) : "memory");                         \
        return 0;                                                                                                     \
    } };

LOAD(shared_load1, "shared", a.shared, "r", 1, "u8")
LOAD(shared_load2, "shared", a.shared, "r", 2, "u16")
LOAD(shared_load4, "shared", a.shared, "r", 4, "u32")
LOAD8(shared_load8, "shared", a.shared, "r")
LOAD16(shared_load16, "shared", a.shared, "r")
STORE(shared_store1, "shared", a.shared, "r", 1, "u8")
STORE(shared_store2, "shared", a.shared, "r", 2, "u16")
STORE(shared_store4, "shared", a.shared, "r", 4, "u32")
STORE8(shared_store8, "shared", a.shared, "r")
STORE16(shared_store16, "shared", a.shared, "r")
LOAD(global_load1, "global", a.in, "l", 1, "u8")
LOAD(global_load2, "global", a.in, "l", 2, "u16")
LOAD(global_load4, "global", a.in, "l", 4, "u32")
LOAD8(global_load8, "global", a.in, "l")
LOAD16(global_load16, "global", a.in, "l")
LOAD16(global_constant16, "global.nc", a.in, "l")
STORE(global_store1, "global", a.out, "l", 1, "u8")
STORE(global_store4, "global", a.out, "l", 4, "u32")
STORE8(global_store8, "global", a.out, "l")
STORE16(global_store16, "global", a.out, "l")

// Generic addresses of shared and of global memory.
__device__ uint64_t hidden(uint32_t shared) {
    uint64_t generic;
    asm volatile("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(uint64_t{shared}));
    return generic;
}
#define GENERIC(NAME, ADDRESS)                                                                                        \
    OP(NAME) {                                                                                                        \
        const uint64_t at = ADDRESS;                                                                                  \
        uint32_t v = 0, w = 0;                                                                                        \
        asm volatile(IF_ANY "3" THEN "ld.v2.u32 {%0, %1}, [%2]" END : "+r"(v), "+r"(w)                                 \
                     : "l"(at + a.e * 8), "r"(a.e) : "memory");                                                       \
        return v ^ w;                                                                                                 \
    } };
GENERIC(generic_shared8, hidden(a.shared))
GENERIC(generic_global8, reinterpret_cast<uint64_t>(a.in))

// Atomics: with a result, and without.
#define ATOMIC(NAME, WHAT, ADDRESS, CONSTRAINT, SIZE)                                                                 \
    OP(NAME) {                                                                                                        \
        uint32_t v = 0;                                                                                               \
        asm volatile(IF_ANY "3" THEN "atom." WHAT " %0, [%1], %2" END : "+r"(v)                                        \
                     : CONSTRAINT(ADDRESS + a.e * SIZE), "r"(a.lane), "r"(a.e) : "memory");                            \
        return v;                                                                                                     \
    } };
#define REDUCTION(NAME, WHAT, ADDRESS, CONSTRAINT, SIZE)                                                              \
    OP(NAME) {                                                                                                        \
        asm volatile(IF_ANY "2" THEN "red." WHAT " [%0], %1" END                                                       \
                     :: CONSTRAINT(ADDRESS + a.e * SIZE), "r"(a.lane), "r"(a.e) : "memory");                           \
        return 0;                                                                                                     \
    } };
ATOMIC(shared_add, "shared.add.u32", a.shared, "r", 4)
ATOMIC(shared_max, "shared.max.s32", a.shared, "r", 4)
ATOMIC(shared_exchange, "shared.exch.b32", a.shared, "r", 4)
REDUCTION(shared_reduce, "shared.add.u32", a.shared, "r", 4)
OP(shared_count) {
    asm volatile(IF_ANY "1" THEN "red.shared.add.u32 [%0], 1" END :: "r"(a.shared + a.e * 4), "r"(a.e) : "memory");
    return 0;
} };
OP(shared_cas4) {
    uint32_t v = 0;
    asm volatile(IF_ANY "3" THEN "atom.shared.cas.b32 %0, [%1], %2, 7" END : "+r"(v)
                 : "r"(a.shared + a.e * 4), "r"(a.lane), "r"(a.e) : "memory");
    return v;
} };
OP(shared_cas8) {
    uint64_t v = 0;
    asm volatile(IF_ANY "3" THEN "atom.shared.cas.b64 %0, [%1], %2, 7" END : "+l"(v)
                 : "r"(a.shared + a.e * 8), "l"(uint64_t{a.lane}), "r"(a.e) : "memory");
    return static_cast<uint32_t>(v);
} };
OP(shared_exchange8) {
    uint64_t v = 0;
    asm volatile(IF_ANY "3" THEN "atom.shared.exch.b64 %0, [%1], %2" END : "+l"(v)
                 : "r"(a.shared + a.e * 8), "l"(uint64_t{a.lane}), "r"(a.e) : "memory");
    return static_cast<uint32_t>(v);
} };
OP(shared_float) {  // by compare and swap
    asm volatile(IF_ANY "1" THEN "red.shared.add.f32 [%0], 0f3f800000" END :: "r"(a.shared + a.e * 4), "r"(a.e) : "memory");
    return 0;
} };
ATOMIC(global_add, "global.add.u32", a.out, "l", 4)
ATOMIC(global_exchange, "global.exch.b32", a.out, "l", 4)
REDUCTION(global_reduce, "global.add.u32", a.out, "l", 4)
OP(global_reduce8) {
    asm volatile(IF_ANY "2" THEN "red.global.add.u64 [%0], %1" END
                 :: "l"(a.out + a.e * 8), "l"(uint64_t{a.lane}), "r"(a.e) : "memory");
    return 0;
} };
OP(global_reduce16) {
    asm volatile(IF_ANY "1" THEN "red.global.add.v4.f32 [%0], {%2, %2, %2, %2}" END
                 :: "l"(a.out + a.e * 16), "r"(a.e), "f"(1.0f) : "memory");
    return 0;
} };
OP(global_cas8) {
    uint64_t v = 0;
    asm volatile(IF_ANY "3" THEN "atom.global.cas.b64 %0, [%1], %2, 7" END : "+l"(v)
                 : "l"(a.out + a.e * 8), "l"(uint64_t{a.lane}), "r"(a.e) : "memory");
    return static_cast<uint32_t>(v);
} };

// Rows of matrices: all lanes take part; one without a unit names the first.
#define MATRIX_AT (a.shared + (a.e == none ? 0 : a.e) * 16)
OP(matrix_load1) {
    uint32_t v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(MATRIX_AT) : "memory");
    return v;
} };
OP(matrix_load2) {
    uint32_t v, w;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(MATRIX_AT) : "memory");
    return v ^ w;
} };
#define MATRIX4(NAME, TRANS)                                                                                          \
    OP(NAME) {                                                                                                        \
        uint32_t v, w, x, y;                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0, %1, %2, %3}, [%4];"                       \
                     : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(MATRIX_AT) : "memory");                               \
        return v ^ w ^ x ^ y;                                                                                         \
    } };
MATRIX4(matrix_load4, "")
MATRIX4(matrix_load4_trans, ".trans")
OP(matrix_store1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(MATRIX_AT), "r"(7) : "memory");
    return 0;
} };
OP(matrix_store2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" :: "r"(MATRIX_AT), "r"(7) : "memory");
    return 0;
} };
OP(matrix_store4) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" :: "r"(MATRIX_AT), "r"(7) : "memory");
    return 0;
} };

// Copies from global to shared memory; the pattern is that of one side, the other side is dense, or of both.
#define COPY(NAME, CACHE, SIZE, TO, FROM)                                                                             \
    OP(NAME) {                                                                                                        \
        asm volatile(IF_ANY "2" THEN "cp.async." CACHE ".shared.global [%0], [%1], " #SIZE END                         \
                     :: "r"(a.shared + (TO) * SIZE), "l"(a.in + (FROM) * SIZE), "r"(a.e) : "memory");                  \
        asm volatile("cp.async.wait_all;" ::: "memory");                                                              \
        return 0;                                                                                                     \
    } };
COPY(copy4, "ca", 4, a.e, a.e)
COPY(copy8, "ca", 8, a.e, a.e)
COPY(copy16, "cg", 16, a.e, a.e)
COPY(copy16_cached, "ca", 16, a.e, a.lane)
COPY(copy4_from, "ca", 4, a.lane, a.e)
COPY(copy16_from, "cg", 16, a.lane, a.e)

template <class Op>
__device__ void all(const uint16_t* patterns, const uint8_t* in, uint8_t* out, uint32_t* sums) {
    __shared__ alignas(128) uint8_t held[units * 16];
    const uint32_t lane = threadIdx.x;
    for (unsigned k = lane; k < units * 4; k += 32) reinterpret_cast<uint32_t*>(held)[k] = k;
    __syncwarp();
    uint32_t sum = 0;
#pragma unroll
    for (unsigned site = 0; site < sites; ++site) {
        sum += Op::go({patterns[site * 32 + lane], lane, static_cast<uint32_t>(__cvta_generic_to_shared(held)), in, out});
        __syncwarp();
    }
    sums[lane] = sum;
}

#define KERNEL(NAME)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(32) k_##NAME(const uint16_t* patterns, const uint8_t* in, uint8_t* out, \
                                                              uint32_t* sums) {                                       \
        all<NAME>(patterns, in, out, sums);                                                                           \
    }
KERNEL(shared_load1) KERNEL(shared_load2) KERNEL(shared_load4) KERNEL(shared_load8) KERNEL(shared_load16)
KERNEL(shared_store1) KERNEL(shared_store2) KERNEL(shared_store4) KERNEL(shared_store8) KERNEL(shared_store16)
KERNEL(global_load1) KERNEL(global_load2) KERNEL(global_load4) KERNEL(global_load8) KERNEL(global_load16)
KERNEL(global_constant16) KERNEL(global_store1) KERNEL(global_store4) KERNEL(global_store8) KERNEL(global_store16)
KERNEL(generic_shared8) KERNEL(generic_global8)
KERNEL(shared_add) KERNEL(shared_max) KERNEL(shared_exchange) KERNEL(shared_reduce) KERNEL(shared_count)
KERNEL(shared_cas4) KERNEL(shared_cas8) KERNEL(shared_exchange8) KERNEL(shared_float)
KERNEL(global_add) KERNEL(global_exchange) KERNEL(global_reduce) KERNEL(global_reduce8) KERNEL(global_reduce16)
KERNEL(global_cas8)
KERNEL(matrix_load1) KERNEL(matrix_load2) KERNEL(matrix_load4) KERNEL(matrix_load4_trans)
KERNEL(matrix_store1) KERNEL(matrix_store2) KERNEL(matrix_store4)
KERNEL(copy4) KERNEL(copy8) KERNEL(copy16) KERNEL(copy16_cached) KERNEL(copy4_from) KERNEL(copy16_from)
