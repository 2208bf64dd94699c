// SPDX-License-Identifier: Apache-2.0
// One reduction per CTA (reduce_cases.hpp), and a hash of what it left.
#include <cstdint>

#include "kernels.hpp"
#include "reduce_cases.hpp"

namespace {

using tensor_cases::Launch;

constexpr uint32_t words = reduce_cases::most_bytes / 4, region_words = reduce_cases::region / 4,
                   bulk_words = reduce_cases::bulk_bytes / 4;

// Word `at` of operands of a type (as tensor maps number them): anything; of like size; about the
// smallest numbers; special ones.
__device__ uint32_t operand(uint32_t at, uint32_t salt, uint32_t type, uint32_t flavour) {
    const uint32_t h = mix(at, salt * 0x51ED270Bu + type);
    if (flavour == 0) return h;
    constexpr uint32_t f32[] = {0, 0x80000000, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x3f800000, 0xbf800000, 0x3f800001, 0x807fffff};
    constexpr uint16_t f16[] = {0, 0x8000, 1, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x3c00, 0xbc00, 0x3c01, 0x83ff};
    constexpr uint16_t bf16[] = {0, 0x8000, 1, 0x7f, 0x80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0x3f80, 0xbf80, 0x3f81, 0x807f};
    constexpr uint32_t f64[] = {0, 0x80000000, 0, 0x000fffff, 0x00100000, 0x7fefffff, 0xffefffff, 0x7ff00000,
                                0xfff00000, 0x7ff80000, 0xfff80001, 0x7ff00001, 0x3ff00000, 0xbff00000, 0x3ff00000, 0x800fffff};
    constexpr uint32_t integers[] = {0, 1, 2, 3, 0xffffffff, 0xfffffffe, 0x7fffffff, 0x80000000};
    const bool high = at & 1;
    switch (type) {
        case 6:
            return flavour == 1   ? (h & 0x8fff8fffu) | 0x30003000u
                   : flavour == 2 ? h & 0x87ff87ffu
                                  : f16[h & 15] | uint32_t{f16[h >> 8 & 15]} << 16;
        case 9:
            return flavour == 1   ? (h & 0x83ff83ffu) | 0x3c003c00u
                   : flavour == 2 ? h & 0x80ff80ffu
                                  : bf16[h & 15] | uint32_t{bf16[h >> 8 & 15]} << 16;
        case 8:
            if (!high) return flavour == 3 ? (h & 3 ? 0 : h & 4 ? 1 : 0xffffffffu) : h;
            return flavour == 1 ? (h & 0x803fffffu) | 0x3fc00000u : flavour == 2 ? h & 0x801fffffu : f64[h & 15];
        case 7:
        case 10:
        case 11:
        case 12:
            return flavour == 1 ? (h & 0x83ffffffu) | 0x3c000000u : flavour == 2 ? h & 0x80ffffffu : f32[h & 15];
        default:
            return flavour == 1 ? h & 0x8000000fu : flavour == 2 ? h & 3 : integers[h & 7];
    }
}

#define BOX(op, mode, rank, coordinates, ...)                                                                    \
    asm volatile("cp.reduce.async.bulk.tensor." rank ".global.shared::cta." op "." mode ".bulk_group [%0," coordinates "],[%1];" ::"l"(c.map), "r"(from), __VA_ARGS__ : "memory")
#define BY_RANK(op, mode)                                                                                        \
    switch (c.rank) {                                                                                            \
        case 3: BOX(op, mode, "3d", "{%2,%3,%4}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2])); break;               \
        case 4: BOX(op, mode, "4d", "{%2,%3,%4,%5}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3])); break; \
        case 5: BOX(op, mode, "5d", "{%2,%3,%4,%5,%6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4])); break; \
    }
#define BY_OP(what)                      \
    switch (c.op) {                      \
        case 0: what("add"); break;      \
        case 1: what("min"); break;      \
        case 2: what("max"); break;      \
        case 3: what("inc"); break;      \
        case 4: what("dec"); break;      \
        case 5: what("and"); break;      \
        case 6: what("or"); break;       \
        default: what("xor"); break;     \
    }
#define COLUMN(op) BY_RANK(op, "im2col_no_offs")
#define TILE(op)                                                                                       \
    if (c.rank == 1) BOX(op, "tile", "1d", "{%2}", "r"(c.at[0]));                                       \
    else if (c.rank == 2) BOX(op, "tile", "2d", "{%2,%3}", "r"(c.at[0]), "r"(c.at[1]));                  \
    else BY_RANK(op, "tile")

__device__ void reduce_box(const Launch& c, uint32_t from) { BY_OP(TILE) }
__device__ void reduce_column(const Launch& c, uint32_t from) { BY_OP(COLUMN) }

// The box against the tensor of CTA i, which lies in regions[i].
template <class Reduce>
__device__ void reduce_tensor(const Launch* cases, uint32_t* hashes, uint32_t* regions, Reduce&& reduce) {
    __shared__ alignas(1024) uint32_t box[words];
    __shared__ uint32_t hash;
    const Launch& c = cases[blockIdx.x];
    uint32_t* region = regions + uint64_t{blockIdx.x} * region_words;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) box[i] = operand(i, 1, c.type, c.flavour);
    for (uint32_t i = threadIdx.x; i < region_words; i += blockDim.x) region[i] = operand(i, 2, c.type, c.flavour);
    if (threadIdx.x == 0) hash = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        reduce(c, shared_address(box));
        finish_group();
    }
    __syncthreads();
    hash_region(region, region_words, &hash);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = hash;
}

#define RUN(kind, number, name)                                                                                          \
    case number:                                                                                                         \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." name " [%0],[%1],%2;" ::"l"(to), "r"(from), "r"(bytes) : "memory"); \
        break;
__device__ void reduce_run(uint32_t type, uint32_t op, void* to, uint32_t from, uint32_t bytes) {
    using namespace reduce_cases;
    switch (op * 16 + type) {
        RUN(add, 0 + u32, "add.u32") RUN(add, 0 + s32, "add.s32") RUN(add, 0 + u64, "add.u64") RUN(add, 0 + f16, "add.noftz.f16")
        RUN(add, 0 + f32, "add.f32") RUN(add, 0 + f64, "add.f64") RUN(add, 0 + bf16, "add.noftz.bf16")
        RUN(min, 16 + u32, "min.u32") RUN(min, 16 + s32, "min.s32") RUN(min, 16 + u64, "min.u64") RUN(min, 16 + s64, "min.s64")
        RUN(min, 16 + f16, "min.f16") RUN(min, 16 + bf16, "min.bf16")
        RUN(max, 32 + u32, "max.u32") RUN(max, 32 + s32, "max.s32") RUN(max, 32 + u64, "max.u64") RUN(max, 32 + s64, "max.s64")
        RUN(max, 32 + f16, "max.f16") RUN(max, 32 + bf16, "max.bf16")
        RUN(inc, 48 + u32, "inc.u32") RUN(dec, 64 + u32, "dec.u32")
        RUN(and, 80 + u32, "and.b32") RUN(and, 80 + u64, "and.b64") RUN(or, 96 + u32, "or.b32") RUN(or, 96 + u64, "or.b64")
        RUN(xor, 112 + u32, "xor.b32") RUN(xor, 112 + u64, "xor.b64")
    }
}
#undef RUN
#define RUN(kind, number, name)                                                                                          \
    case number:                                                                                                         \
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." name " [%0],[%1],%2,[%3];" ::"r"(to), "r"(from), "r"(bytes), "r"(bar) : "memory"); \
        break;
__device__ void reduce_near(uint32_t type, uint32_t op, uint32_t to, uint32_t from, uint32_t bytes, uint32_t bar) {
    using namespace reduce_cases;
    switch (op * 16 + type) {
        RUN(add, 0 + u32, "add.u32") RUN(add, 0 + s32, "add.s32") RUN(add, 0 + u64, "add.u64")
        RUN(min, 16 + u32, "min.u32") RUN(min, 16 + s32, "min.s32") RUN(max, 32 + u32, "max.u32") RUN(max, 32 + s32, "max.s32")
        RUN(inc, 48 + u32, "inc.u32") RUN(dec, 64 + u32, "dec.u32")
        RUN(and, 80 + u32, "and.b32") RUN(or, 96 + u32, "or.b32") RUN(xor, 112 + u32, "xor.b32")
    }
}

}  // namespace

extern "C" __global__ void tile_reduce(const Launch* cases, uint32_t* hashes, uint32_t* regions) {
    reduce_tensor(cases, hashes, regions, [](const Launch& c, uint32_t from) { reduce_box(c, from); });
}
extern "C" __global__ void image_reduce(const Launch* cases, uint32_t* hashes, uint32_t* regions) {
    reduce_tensor(cases, hashes, regions, [](const Launch& c, uint32_t from) { reduce_column(c, from); });
}

// A warp per reduction.
extern "C" __global__ void bulk_reduce(const reduce_cases::Bulk* cases, uint32_t* hashes, uint32_t* regions) {
    __shared__ alignas(16) uint32_t source[bulk_words];
    __shared__ uint32_t hash;
    const reduce_cases::Bulk c = cases[blockIdx.x];
    uint32_t* region = regions + uint64_t{blockIdx.x} * bulk_words;
    for (uint32_t i = threadIdx.x; i < bulk_words; i += blockDim.x) {
        source[i] = operand(i, 3, c.type, c.flavour);
        region[i] = operand(i, 4, c.type, c.flavour);
    }
    if (threadIdx.x == 0) hash = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        reduce_run(c.type, c.op, region + c.to * 4, shared_address(source + c.from * 4), c.bytes * 16);
        finish_group();
    }
    __syncthreads();
    hash_region(region, bulk_words, &hash);
    __syncthreads();
    if (threadIdx.x == 0) hashes[blockIdx.x] = hash;
}

// Each CTA of a pair reduces into the memory of the other.
extern "C" __global__ void __cluster_dims__(2, 1, 1) near_reduce(const reduce_cases::Bulk* cases, uint32_t* hashes, uint32_t*) {
    __shared__ alignas(16) uint32_t source[bulk_words];
    __shared__ alignas(16) uint32_t region[bulk_words];
    __shared__ alignas(8) uint64_t bar;
    __shared__ uint32_t hash, done;
    const uint32_t mine = blockIdx.x, others = mine ^ 1;
    {
        const reduce_cases::Bulk c = cases[mine], other = cases[others];
        for (uint32_t i = threadIdx.x; i < bulk_words; i += blockDim.x) {
            source[i] = operand(i, 3, c.type, c.flavour);
            region[i] = operand(i, 4, other.type, other.flavour);
        }
    }
    if (threadIdx.x == 0) {
        hash = done = 0;
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(shared_address(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        const reduce_cases::Bulk c = cases[mine];
        const uint32_t own = shared_address(&bar);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(own), "r"(cases[others].bytes * 16) : "memory");
        uint32_t to, object;
        asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(to) : "r"(shared_address(region + c.to * 4)), "r"(others & 1));
        asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(object) : "r"(own), "r"(others & 1));
        reduce_near(c.type, c.op, to, shared_address(source + c.from * 4), c.bytes * 16, object);
        for (uint32_t tries = 0; tries < 100000 && !done; ++tries)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(own) : "memory");
    }
    __syncthreads();
    hash_region(region, bulk_words, &hash);
    __syncthreads();
    if (threadIdx.x == 0) hashes[mine] = done ? hash : 0xdead0000u;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
