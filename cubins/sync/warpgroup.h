// PTX of warpgroup kernels (sm_90a) that the patterns wgmma_* and the kernels of cubins/ share:
// wgmma, multicast tensor copies, registers that move between warpgroups. Macros, as in sync.h.
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
#define OF_64(C, d) OF_32(C, d), OF_16(C, d, 32), OF_16(C, d, 48)
#define FIRST_32                                                                                 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24," \
    "%25,%26,%27,%28,%29,%30,%31"
#define NAMES_32 "{" FIRST_32 "}"
#define NAMES_64                                                                    \
    "{" FIRST_32                                                                    \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50," \
    "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"

// d (registers `of`, C: "+f" or "+r") = [add: d +] a x b; `tail`: the scales and transposes that
// the form has. pa, pb, pp: the numbers of the operands behind d.
#define WGMMA(form, names, of, pa, pb, pp, tail, a, b, add)                                      \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, " pp ", 0;\nwgmma.mma_async.sync.aligned." form \
                 " " names ", " pa ", " pb ", p" tail ";}"                                       \
                 : of                                                                            \
                 : "l"(a), "l"(b), "r"(add)                                                      \
                 : "memory")
// 64 columns are 32 registers of a thread.
#define WGMMA_64(form, C, tail, d, a, b, add) \
    WGMMA(form, NAMES_32, OF_32(C, d), "%32", "%33", "%34", tail, a, b, add)
#define WGMMA_128(form, C, tail, d, a, b, add) \
    WGMMA(form, NAMES_64, OF_64(C, d), "%64", "%65", "%66", tail, a, b, add)
// d (4 registers) of 64 x 32 and 8 x 32 unsigned bytes.
#define WGMMA_8(d, a, b, add)                                                                     \
    WGMMA("m64n8k32.s32.u8.u8", "{%0, %1, %2, %3}", OF_4("+r", d, 0), "%4", "%5", "%6", "", a, b, \
          add)
// A sparse, with its metadata.
#define WGMMA_SPARSE_64(form, C, tail, d, a, b, e, add)                                          \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %34, 0;\nwgmma.mma_async.sp.sync.aligned." form \
                 " " NAMES_32 ", %32, %33, %35, 0, p" tail ";}"                                  \
                 : OF_32(C, d)                                                                   \
                 : "l"(a), "l"(b), "r"(add), "r"(e)                                              \
                 : "memory")
// A in four registers from a[i].
#define WGMMA_OF(form, names, of, pa, pb, pp, tail, a, i, b, add)                                \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, " pp ", 0;\nwgmma.mma_async.sync.aligned." form \
                 " " names ", {" pa "}, " pb ", p" tail ";}"                                     \
                 : of                                                                            \
                 : OF_4("r", a, i), "l"(b), "r"(add)                                             \
                 : "memory")
#define WGMMA_OF_64(form, C, tail, d, a, i, b, add) \
    WGMMA_OF(form, NAMES_32, OF_32(C, d), "%32,%33,%34,%35", "%36", "%37", tail, a, i, b, add)
#define WGMMA_OF_128(form, C, tail, d, a, i, b, add) \
    WGMMA_OF(form, NAMES_64, OF_64(C, d), "%64,%65,%66,%67", "%68", "%69", tail, a, i, b, add)

__device__ inline uint32_t half_of_row(uint32_t row, uint32_t half) {
    return row / 8 * 16 + half * 8 + row % 8;
}  // in units of 16 bytes

#define TMA_MULTICAST(to, map, x, y, bar, ctas)                                             \
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes." \
        "multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(address(to)),            \
        "l"(&map), "r"(x), "r"(y), "r"(address(&bar)), "h"(ctas))
#define TMA_ADD(map, x, y, from)                                                                 \
    ASM("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], " \
        "[%3];" ::"l"(&map),                                                                     \
        "r"(x), "r"(y), "r"(address(from)))
#define BULK_ADD(to, from, n)                                                                   \
    ASM("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to), \
        "r"(address(from)), "r"(n))
#define BULK_WAIT ASM("cp.async.bulk.wait_group 0;" ::)
#define BULK_WAIT_READ ASM("cp.async.bulk.wait_group.read 0;" ::)
#define PROXY_FENCE ASM("fence.proxy.async.shared::cta;" ::)
#define BAR_SYNC(number, threads) ASM("bar.sync %0, %1;" ::"r"(number), "n"(threads))
#define BAR_ARRIVE(number, threads) ASM("bar.arrive %0, %1;" ::"r"(number), "n"(threads))
#define FEWER_REGISTERS(n) ASM("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define MORE_REGISTERS(n) ASM("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
