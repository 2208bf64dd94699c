// PTX that the patterns in cubins/sync share. Macros, so that an instruction has the line of its
// use. LINK(x): what follows runs unless the build leaves link x out (-DWITHOUT=x).
#pragma once
#include <cstdint>

#define LINK(x) if constexpr (WITHOUT != x)
#define ASM(...) asm volatile(__VA_ARGS__ : "memory")

__device__ inline uint32_t address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline uint32_t remote(const void* p, uint32_t rank) {
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address(p)), "r"(rank));
    return r;
}
__device__ inline uint32_t cluster_rank() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

#define MBAR_INIT(bar, n) ASM("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&bar)), "r"(n))
#define MBAR_ARRIVE(sem, bar) \
    ASM("mbarrier.arrive." sem ".shared::cta.b64 _, [%0];" ::"r"(address(&bar)))
#define MBAR_ARRIVE_REMOTE(sem, at) \
    ASM("mbarrier.arrive." sem ".shared::cluster.b64 _, [%0];" ::"r"(at))
#define MBAR_EXPECT(bar, bytes) \
    ASM("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&bar)), "r"(bytes))
#define MBAR_WAIT(sem, bar, parity)                                            \
    ASM("{.reg .pred p;\nagain: mbarrier.try_wait.parity" sem                  \
        ".shared::cta.b64 p, [%0], %1;\n@!p bra again;}" ::"r"(address(&bar)), \
        "r"(parity))
#define MBAR_POLL(bar, parity)                                                 \
    ASM("{.reg .pred p;\nagain: mbarrier.test_wait.parity.shared::cta.b64 p, " \
        "[%0], %1;\n@!p bra again;}" ::"r"(address(&bar)),                     \
        "r"(parity))
#define ST_REMOTE(at, v) ASM("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(v))
#define ST_ASYNC(at, v, bar)                                                                   \
    ASM("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at), \
        "r"(v), "r"(bar))
#define LD(op, to, at) asm volatile("ld." op " %0, [%1];" : "=r"(to) : "l"(at) : "memory")
#define LD_REMOTE(to, at) \
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(to) : "r"(at) : "memory")
#define ST(op, at, v) ASM("st." op " [%0], %1;" ::"l"(at), "r"(v))
#define CLUSTER_SYNC ASM("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::)

struct alignas(64) TensorMap {
    uint8_t bytes[128];
};
#define BULK_LOAD(to, from, n, bar)                                                          \
    ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, " \
        "[%3];" ::"r"(address(to)),                                                          \
        "l"(from), "r"(n), "r"(address(&bar)))
#define BULK_STORE(to, from, n)                                                  \
    ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), \
        "r"(address(from)), "r"(n))
#define BULK_COMMIT ASM("cp.async.bulk.commit_group;" ::)
#define TMA_LOAD(to, map, x, y, bar)                                                              \
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], " \
        "[%1, {%2, %3}], [%4];" ::"r"(address(to)),                                               \
        "l"(&map), "r"(x), "r"(y), "r"(address(&bar)))
#define TMA_STORE(map, x, y, from)                                                                \
    ASM("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"( \
            &map),                                                                                \
        "r"(x), "r"(y), "r"(address(from)))
