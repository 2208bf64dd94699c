/* SPDX-License-Identifier: Apache-2.0 */
/* How an access to memory, a fence and an operation on a cache are described: to memory models and
 * to observers alike. What belongs here: the vocabulary. What does not: who is told when (model.h,
 * observer.h). */
#ifndef SASSEMU_MEMORY_H
#define SASSEMU_MEMORY_H

#include <sassemu/abi.h>

SASSEMU_BEGIN

enum sassemu_op { /* what an access does */
                  SASSEMU_LOAD,
                  SASSEMU_STORE,
                  SASSEMU_ATOMIC, /* read-modify-write with a result */
                  SASSEMU_REDUCE, /* read-modify-write without */
                  SASSEMU_PREFETCH
};

enum sassemu_space { /* as the instruction names it */
                     SASSEMU_GLOBAL,
                     SASSEMU_SHARED,
                     SASSEMU_LOCAL,
                     SASSEMU_CONSTANT,
                     SASSEMU_GENERIC,
                     SASSEMU_TEXTURE,
                     SASSEMU_SURFACE,
                     SASSEMU_TENSOR_MEMORY
};
#define SASSEMU_SPACE_BIT(space) (1u << (space))

enum sassemu_proxy { /* PTX ISA, "Proxies" */
                     SASSEMU_VIA_GENERIC,
                     SASSEMU_VIA_CONSTANT,
                     SASSEMU_VIA_TEXTURE, /* texture reads and ld.global.nc */
                     SASSEMU_VIA_SURFACE,
                     SASSEMU_VIA_ASYNC,
                     SASSEMU_VIA_TENSORMAP,
                     SASSEMU_VIA_HOST
};

enum sassemu_ordering {
    SASSEMU_WEAK,
    SASSEMU_RELAXED, /* SASS: STRONG */
    SASSEMU_ACQUIRE,
    SASSEMU_RELEASE,
    SASSEMU_ACQ_REL,
    SASSEMU_SC,
    SASSEMU_VOLATILE,
    SASSEMU_MMIO
};

enum sassemu_scope { /* of instructions; SM and VC exist in SASS only, CLUSTER in PTX only */
                     SASSEMU_LEVEL_NONE,
                     SASSEMU_LEVEL_CTA,
                     SASSEMU_LEVEL_SM,
                     SASSEMU_LEVEL_CLUSTER,
                     SASSEMU_LEVEL_VC,
                     SASSEMU_LEVEL_GPU,
                     SASSEMU_LEVEL_SYS
};

enum sassemu_atomic { /* operator of SASSEMU_ATOMIC and SASSEMU_REDUCE */
                      SASSEMU_ATOMIC_NONE,
                      SASSEMU_ATOMIC_ADD,
                      SASSEMU_ATOMIC_MIN,
                      SASSEMU_ATOMIC_MAX,
                      SASSEMU_ATOMIC_INC,
                      SASSEMU_ATOMIC_DEC,
                      SASSEMU_ATOMIC_AND,
                      SASSEMU_ATOMIC_OR,
                      SASSEMU_ATOMIC_XOR,
                      SASSEMU_ATOMIC_EXCHANGE,
                      SASSEMU_ATOMIC_COMPARE_EXCHANGE,
                      SASSEMU_ATOMIC_SAFE_ADD
};

enum sassemu_access_flags {
    SASSEMU_ACCESS_CACHE_CV = 1u << 0, /* ld.cv, ld.volatile: do not read stale bytes of a cache */
    SASSEMU_ACCESS_SIGN_EXTEND = 1u << 1, /* loads of one and two bytes */
    SASSEMU_ACCESS_LDGSTS = 1u << 2,      /* one of the two halves of a cp.async */
    SASSEMU_ACCESS_ASYNC_AGENT = 1u << 3, /* by an agent on behalf of the warp: see sassemu_async */
    SASSEMU_ACCESS_MATRIX =
        1u << 4, /* LDSM, STSM: a lane names a row of 16 bytes; data goes to other lanes */
    SASSEMU_ACCESS_IMMEDIATE =
        1u << 5 /* models: must not answer PENDING (a loop is looked at for being a spin, say) */
};

/* One access of one warp. What costs time to find out is asked for (host.h): addresses, locations,
 * values, who. */
typedef struct sassemu_access {
    uint32_t size;
    uint8_t op, space, proxy, ordering, scope; /* the enums above */
    uint8_t atomic;                            /* enum sassemu_atomic */
    uint8_t cache;                             /* cache policy as encoded */
    uint8_t bytes;                             /* per lane: 1, 2, 4, 8, 16, 32, 64 */
    uint32_t lanes;                            /* never 0 */
    uint32_t flags;                            /* enum sassemu_access_flags */
    uint64_t sequence;                         /* per CTA, counting from 1 */
    uint64_t token;                            /* names the access for complete() */
    sassemu_warp warp;
    sassemu_insn insn;
} sassemu_access;

/* Where a lane's bytes are, generic addresses resolved. */
typedef struct sassemu_location {
    uint64_t address; /* global: device address; shared: offset in the CTA's block; local: offset in
                       * the stack; constant: offset in the bank. Bank 3, the __constant__
                       * variables, is device memory: SASSEMU_GLOBAL since 1.2. Tensor memory
                       * (since 1.3): lane * 2048 + column * 4 */
    uint32_t space;   /* never SASSEMU_GENERIC */
    uint32_t owner;   /* shared, tensor memory: the linear index of the CTA that owns the block;
                         constant (since 1.2): the bank; else 0 */
} sassemu_location;

enum sassemu_agent_kind {
    SASSEMU_AGENT_WARP,
    SASSEMU_AGENT_TMA, /* bulk and tensor copies, st.async */
    SASSEMU_AGENT_TENSOR,
    SASSEMU_AGENT_LDGSTS,
    SASSEMU_AGENT_LINK,
    SASSEMU_AGENT_COPY_ENGINE,
    SASSEMU_AGENT_HOST
};

/* Who accesses. */
typedef struct sassemu_agent {
    uint32_t size;
    uint32_t kind;
    uint32_t gpu, sm, cluster_rank;
    uint32_t warp;         /* index in the CTA */
    uint32_t path;         /* of the warp: lanes that run together */
    uint64_t cluster, cta; /* linear indices in the grid */
    uint64_t launch;       /* counts from 1 */
    uint64_t id;           /* asynchronous agents: number of the operation, as in sassemu_async */
    uint64_t pc;           /* bytes in the function's section */
} sassemu_agent;

/* In place of a GPU's number: the host (since 1.8). */
#define SASSEMU_OF_HOST (-1)

/* An access of somebody who runs beside the kernels (since 1.8): the host, or a GPU's front end and
 * copy engines, which do what is in its streams. The host's are in order, and of system scope: an
 * acquire where they read, a release where they write. */
typedef struct sassemu_client_access {
    uint32_t size;
    uint8_t op;     /* enum sassemu_op: LOAD, STORE, ATOMIC */
    uint8_t waited; /* of a LOAD: until the bytes had the value that they have; with no bytes: for
                     * work in streams, and what has ended by now is over for whoever waited */
    uint8_t reserved[2];
    uint32_t kind; /* SASSEMU_AGENT_HOST, SASSEMU_AGENT_COPY_ENGINE */
    uint32_t gpu;  /* of a copy engine */
    uint64_t address, bytes;
} sassemu_client_access;

/* What happens inside of a memory model (since 1.9): it tells by host.model_event(), and observers
 * that have `model` are told. */
enum sassemu_model_event_kind {
    SASSEMU_MODEL_MOVED,  /* what an operation has stored is one step further, seen by `where` */
    SASSEMU_MODEL_EVICTED /* a copy of the bytes is gone from `where` */
};
typedef struct sassemu_model_event {
    uint32_t size;
    uint32_t kind;
    const char* where; /* who sees it now, "its SM"; which cache, "a cache of its SM": valid in the
                          call */
    uint64_t address;
    uint32_t bytes;
    uint32_t gpu;
    /* Whose operation it is: sassemu_place.thread of a warp's lane; `client` is
     * SASSEMU_AGENT_COPY_ENGINE or HOST where it is no warp's. */
    uint64_t thread;
    uint32_t client;
    /* For observers, of a warp's: the model leaves them 0. `launch` 0: nobody's. */
    uint32_t warp, lane;
    uint32_t reserved;
    uint64_t launch, cta;
} sassemu_model_event;

/* MEMBAR, FENCE.VIEW.ASYNC and their like. */
typedef struct sassemu_fence {
    uint32_t size;
    uint8_t ordering; /* SASSEMU_SC, SASSEMU_ACQ_REL (SASS: .ALL), SASSEMU_MMIO, SASSEMU_WEAK */
    uint8_t scope;
    uint8_t from_proxy, to_proxy; /* equal: no proxy fence */
    uint8_t both_ways;            /* of a proxy fence */
    uint8_t invalidate_data,
        invalidate_texture;  /* .IVALLD, .IVALLT: one with the barrier, before it is done */
    uint8_t waits_for_async; /* MEMBAR.ASYNC and waits for bulk copies */
    uint32_t spaces;         /* SASSEMU_SPACE_BIT set that it orders; 0: all */
    uint32_t lanes;
    sassemu_warp warp;
    sassemu_insn insn;
} sassemu_fence;

enum sassemu_cache { /* which one CCTL, CCTLT, CCTLL name: .D .U .C .I, T, L */
                     SASSEMU_CACHE_DATA,
                     SASSEMU_CACHE_UNIFIED,
                     SASSEMU_CACHE_CONSTANT,
                     SASSEMU_CACHE_INSTRUCTION,
                     SASSEMU_CACHE_TEXTURE,
                     SASSEMU_CACHE_LOCAL,
                     SASSEMU_CACHE_MBARRIER, /* these two of sassemu_effect only, since 1.4 */
                     SASSEMU_CACHE_TENSORMAP
};
enum sassemu_cache_action {
    SASSEMU_CACHE_INVALIDATE,             /* IV: one line */
    SASSEMU_CACHE_INVALIDATE_ALL,         /* IVALL */
    SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE, /* IVALLP */
    SASSEMU_CACHE_WRITE_BACK,             /* WB */
    SASSEMU_CACHE_WRITE_BACK_ALL,         /* WBALL, WBALLP */
    SASSEMU_CACHE_RESET,                  /* RS, RSLB: a line's state */
    SASSEMU_CACHE_PREFETCH,               /* PF1, PF1.5, PF2, QRY1 */
    SASSEMU_CACHE_OTHER
};

typedef struct sassemu_cache_op {
    uint32_t size;
    uint8_t cache, action;
    uint8_t has_address;
    uint8_t reserved;
    uint32_t lanes;
    sassemu_warp warp;
    sassemu_insn insn;
    const uint64_t* address; /* 32 of them with has_address; device addresses; valid in the call */
} sassemu_cache_op;

/* What an instruction is, of the emulator's description of the instruction set (since 1.4). */
enum sassemu_effect_kind {
    SASSEMU_EFFECT_NONE,
    SASSEMU_EFFECT_LOAD,
    SASSEMU_EFFECT_STORE,
    SASSEMU_EFFECT_ATOMIC,
    SASSEMU_EFFECT_REDUCE,
    SASSEMU_EFFECT_FENCE,
    SASSEMU_EFFECT_CACHE,
    SASSEMU_EFFECT_BARRIER,
    SASSEMU_EFFECT_MBARRIER,
    SASSEMU_EFFECT_ASYNC,
    SASSEMU_EFFECT_CONVERGENCE,
    SASSEMU_EFFECT_CONTROL
};
/* What exactly, within the kind. */
enum sassemu_effect_action {
    SASSEMU_ACTION_PLAIN,
    SASSEMU_ACTION_MATRIX,
    SASSEMU_ACTION_PROXY,
    SASSEMU_ACTION_COPIES,
    SASSEMU_ACTION_ERROR,
    SASSEMU_ACTION_INVALIDATE,
    SASSEMU_ACTION_INVALIDATE_ALL,
    SASSEMU_ACTION_INVALIDATE_ALL_PRIVATE,
    SASSEMU_ACTION_WRITE_BACK,
    SASSEMU_ACTION_WRITE_BACK_ALL,
    SASSEMU_ACTION_RESET,
    SASSEMU_ACTION_PREFETCH,
    SASSEMU_ACTION_OTHER,
    SASSEMU_ACTION_SYNC,
    SASSEMU_ACTION_ARRIVE,
    SASSEMU_ACTION_WAIT,
    SASSEMU_ACTION_REDUCE,
    SASSEMU_ACTION_SCAN,
    SASSEMU_ACTION_RESULT,
    SASSEMU_ACTION_INIT,
    SASSEMU_ACTION_TEST,
    SASSEMU_ACTION_LOAD,
    SASSEMU_ACTION_SWAP,
    SASSEMU_ACTION_ARRIVE_LATER,
    SASSEMU_ACTION_LAUNCH,
    SASSEMU_ACTION_COPY,
    SASSEMU_ACTION_STORE,
    SASSEMU_ACTION_MULTIPLY,
    SASSEMU_ACTION_SHIFT,
    SASSEMU_ACTION_COMMIT,
    SASSEMU_ACTION_BEGIN,
    SASSEMU_ACTION_FLUSH,
    SASSEMU_ACTION_WORK,
    SASSEMU_ACTION_MARK,
    SASSEMU_ACTION_MEET,
    SASSEMU_ACTION_LEAVE,
    SASSEMU_ACTION_WARP,
    SASSEMU_ACTION_COLLECTIVE,
    SASSEMU_ACTION_YIELD,
    SASSEMU_ACTION_STATE,
    SASSEMU_ACTION_BRANCH,
    SASSEMU_ACTION_CALL,
    SASSEMU_ACTION_RETURN,
    SASSEMU_ACTION_EXIT,
    SASSEMU_ACTION_ALLOCATE
};
#define SASSEMU_NO_SPACE 255u
typedef struct sassemu_effect {
    uint32_t size;
    uint8_t kind, action; /* the enums above */
    uint8_t space;        /* enum sassemu_space of what it names, or SASSEMU_NO_SPACE */
    uint8_t in_cluster;   /* shared memory of any CTA of the cluster */
    uint8_t ordering, scope, proxy, atomic;
    uint8_t bytes; /* per lane; 0 where operands tell */
    uint8_t cache; /* enum sassemu_cache, of SASSEMU_EFFECT_CACHE; above its last: none of these */
} sassemu_effect;

/* What the author of the PTX wrote, where the cubin tells (-lineinfo keeps the PTX text and its
 * map). */
enum sassemu_intent_class {
    SASSEMU_INTENT_NONE,   /* a PTX instruction that has nothing to do with memory order */
    SASSEMU_INTENT_ACCESS, /* ld, st, atom, red, st.async, ... */
    SASSEMU_INTENT_FENCE,  /* fence, membar */
    SASSEMU_INTENT_PROXY_FENCE,
    SASSEMU_INTENT_BARRIER, /* bar, barrier, barrier.cluster */
    SASSEMU_INTENT_MBARRIER,
    SASSEMU_INTENT_ASYNC /* cp.async*, wgmma, tcgen05 */
};
enum sassemu_intent_restrict { /* sync_restrict and op_restrict of fence */
                               SASSEMU_RESTRICT_NONE,
                               SASSEMU_RESTRICT_SHARED_CTA,
                               SASSEMU_RESTRICT_SHARED_CLUSTER,
                               SASSEMU_RESTRICT_MBARRIER_INIT
};
typedef struct sassemu_intent {
    uint32_t size;
    uint8_t kind; /* enum sassemu_intent_class */
    uint8_t ordering,
        scope; /* defaults of PTX filled in: fence is acq_rel, mbarrier.arrive release.cta */
    uint8_t restriction;                     /* enum sassemu_intent_restrict */
    uint8_t from_proxy, to_proxy, both_ways; /* of proxy fences, as in sassemu_fence */
    uint8_t aligned;    /* bar, barrier: .aligned was stated or is implied (bar) */
    uint32_t spaces;    /* SASSEMU_SPACE_BIT set that the text names; 0: none named */
    uint32_t ptx_line;  /* from 1 */
    const char* opcode; /* "mbarrier.arrive.release.cta.shared::cta.b64" */
    const char* text;   /* the whole line */
} sassemu_intent;

SASSEMU_END

#endif
