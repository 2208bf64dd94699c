// PTX of warpgroup kernels (sm_90a) that the patterns wgmma_* and the kernels of cubins/ share: wgmma, multicast tensor
// copies, registers that move between warpgroups. Macros, as in sync.h.
#pragma once
#include "sync.h"

// A matrix in rows of 128 swizzled bytes, in groups of eight rows.
__device__ inline uint64_t rows_of_128(const void* p) {
    return (address(p) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
           uint64_t{1} << 62;
}
// A matrix of rows of 32 bytes in blocks of 8 rows x 16 bytes, two of them side by side.
__device__ inline uint64_t blocks_of_16(const void* p) {
    return (address(p) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

#define WGMMA_FENCE ASM("wgmma.fence.sync.aligned;" ::)
#define WGMMA_COMMIT ASM("wgmma.commit_group.sync.aligned;" ::)
#define WGMMA_WAIT(n) ASM("wgmma.wait_group.sync.aligned %0;" ::"n"(n))

#define OF_4(C, d, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define OF_16(C, d, i) OF_4(C, d, i), OF_4(C, d, i + 4), OF_4(C, d, i + 8), OF_4(C, d, i + 12)
#define OF_32(C, d) OF_16(C, d, 0), OF_16(C, d, 16)
// 64 columns: 32 registers of a thread.
#define NAMES_32                                                                                 \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24," \
    "%25,%26,%27,%28,%29,%30,%31}"
// d (32 registers, C: "+f" or "+r") = [add: d +] a x b; `tail`: the scales and transposes that the form has.
#define WGMMA_64(form, C, tail, d, a, b, add)                                                      \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %34, 0;\nwgmma.mma_async.sync.aligned." form      \
                 " " NAMES_32 ", %32, %33, p" tail ";}"                                            \
                 : OF_32(C, d)                                                                     \
                 : "l"(a), "l"(b), "r"(add)                                                        \
                 : "memory")
// A sparse, with its metadata.
#define WGMMA_SPARSE_64(form, C, tail, d, a, b, e, add)                                            \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %34, 0;\nwgmma.mma_async.sp.sync.aligned." form   \
                 " " NAMES_32 ", %32, %33, %35, 0, p" tail ";}"                                    \
                 : OF_32(C, d)                                                                     \
                 : "l"(a), "l"(b), "r"(add), "r"(e)                                                \
                 : "memory")
// A in four registers from a[i].
#define WGMMA_OF_64(form, C, tail, d, a, i, b, add)                                                \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %37, 0;\nwgmma.mma_async.sync.aligned." form      \
                 " " NAMES_32 ", {%32,%33,%34,%35}, %36, p" tail ";}"                              \
                 : OF_32(C, d)                                                                     \
                 : OF_4("r", a, i), "l"(b), "r"(add)                                               \
                 : "memory")

// d (4 registers) = [add: d +] a x b, of 64 x 32 and 8 x 32 unsigned bytes.
#define WGMMA_8(d, a, b, add)                                                                      \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n8k32."   \
                 "s32.u8.u8 {%0, %1, %2, %3}, %4, %5, p;}"                                         \
                 : OF_4("+r", d, 0)                                                                \
                 : "l"(a), "l"(b), "r"(add)                                                        \
                 : "memory")
__device__ inline uint32_t half_of_row(uint32_t row, uint32_t half) {
    return row / 8 * 16 + half * 8 + row % 8;
}  // in units of 16 bytes

#define TMA_MULTICAST(to, map, x, y, bar, ctas)                                                    \
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."        \
        "multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(address(to)),                   \
        "l"(&map), "r"(x), "r"(y), "r"(address(&bar)), "h"(ctas))
#define TMA_ADD(map, x, y, from)                                                                   \
    ASM("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], "   \
        "[%3];" ::"l"(&map),                                                                       \
        "r"(x), "r"(y), "r"(address(from)))
#define BULK_ADD(to, from, n)                                                                      \
    ASM("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),    \
        "r"(address(from)), "r"(n))
#define BULK_WAIT ASM("cp.async.bulk.wait_group 0;" ::)
#define BULK_WAIT_READ ASM("cp.async.bulk.wait_group.read 0;" ::)
#define PROXY_FENCE ASM("fence.proxy.async.shared::cta;" ::)
#define BAR_SYNC(number, threads) ASM("bar.sync %0, %1;" ::"r"(number), "n"(threads))
#define BAR_ARRIVE(number, threads) ASM("bar.arrive %0, %1;" ::"r"(number), "n"(threads))
#define FEWER_REGISTERS(n) ASM("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define MORE_REGISTERS(n) ASM("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
