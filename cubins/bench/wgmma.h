// wgmma of 128 columns: 64 registers of a thread. The rest is the patterns'.
#pragma once
#include "../sync/warpgroup.h"

#define OF_64(C, d) OF_16(C, d, 0), OF_16(C, d, 16), OF_16(C, d, 32), OF_16(C, d, 48)
#define NAMES_64                                                                                   \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"  \
    "%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
// d = [add: d +] a x b; `tail`: the scales and transposes that the form has.
#define WGMMA_128(form, C, tail, d, a, b, add)                                                \
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p, %66, 0;\nwgmma.mma_async.sync.aligned." form \
                 " " NAMES_64 ", %64, %65, p" tail ";}"                                       \
                 : OF_64(C, d)                                                                \
                 : "l"(a), "l"(b), "r"(add)                                                   \
                 : "memory")
// d = d + a x b, A in four registers from a[i].
#define WGMMA_OF_128(form, C, tail, d, a, i, b)                    \
    asm volatile("wgmma.mma_async.sync.aligned." form " " NAMES_64 \
                 ", {%64,%65,%66,%67}, %68, 1" tail ";"            \
                 : OF_64(C, d)                                     \
                 : OF_4("r", a, i), "l"(b)                         \
                 : "memory")
