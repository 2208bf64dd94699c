/* SPDX-License-Identifier: Apache-2.0
 *
 * What an instruction does to memory, to order and to the course of threads, of a decoded word:
 * which operands are addresses and which are data, how wide, how ordered, in what scope. The words
 * of this vocabulary are those that `sem` lines of the .isa files use (decoder/isa/README.md); the
 * generator reads them from this header, so a name stands here only. Needs no more than a decoded
 * instruction. */
#ifndef SASSDEC_EFFECTS_H
#define SASSDEC_EFFECTS_H
#include "sassdec/sassdec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of effect; everything that only makes values of values has none. */
typedef enum sassdec_kind {
    SASSDEC_KIND_NONE,
    SASSDEC_KIND_LOAD,
    SASSDEC_KIND_STORE,
    SASSDEC_KIND_ATOMIC,      /* read-modify-write with a result */
    SASSDEC_KIND_REDUCE,      /* read-modify-write without */
    SASSDEC_KIND_FENCE,       /* orders accesses */
    SASSDEC_KIND_CACHE,       /* acts on a cache */
    SASSDEC_KIND_BARRIER,     /* threads of a CTA, cluster or grid wait for each other */
    SASSDEC_KIND_MBARRIER,    /* acts on a barrier object in shared memory */
    SASSDEC_KIND_ASYNC,       /* begins, groups or waits for work that others do */
    SASSDEC_KIND_CONVERGENCE, /* decides which lanes run together */
    SASSDEC_KIND_CONTROL      /* decides where threads go on, or what they own */
} sassdec_kind;

/* What exactly, within the kind. */
typedef enum sassdec_action {
    SASSDEC_ACTION_PLAIN,
    /* load, store: 8x8 matrices, each lane names one row of 16 bytes */
    SASSDEC_ACTION_MATRIX,
    /* fence */
    SASSDEC_ACTION_PROXY,  /* between the generic proxy and `proxy`, both ways */
    SASSDEC_ACTION_COPIES, /* waits for bulk copies as well */
    SASSDEC_ACTION_ERROR,  /* reports errors of what came before */
    /* cache */
    SASSDEC_ACTION_INVALIDATE,
    SASSDEC_ACTION_INVALIDATE_ALL,
    SASSDEC_ACTION_INVALIDATE_ALL_PRIVATE,
    SASSDEC_ACTION_WRITE_BACK,
    SASSDEC_ACTION_WRITE_BACK_ALL,
    SASSDEC_ACTION_RESET,
    SASSDEC_ACTION_PREFETCH, /* async as well */
    SASSDEC_ACTION_OTHER,
    /* barrier, mbarrier */
    SASSDEC_ACTION_SYNC, /* arrives and waits */
    SASSDEC_ACTION_ARRIVE,
    SASSDEC_ACTION_WAIT,   /* async as well: until at most so many groups are left */
    SASSDEC_ACTION_REDUCE, /* sync with a vote or a count; async: a reduction in memory */
    SASSDEC_ACTION_SCAN,
    SASSDEC_ACTION_RESULT, /* reads what the last reduction gave */
    SASSDEC_ACTION_INIT,
    SASSDEC_ACTION_TEST,
    SASSDEC_ACTION_LOAD,
    SASSDEC_ACTION_SWAP,
    SASSDEC_ACTION_ARRIVE_LATER, /* when the copies that were issued before are done */
    SASSDEC_ACTION_LAUNCH,       /* lets the dependent grid begin */
    /* async */
    SASSDEC_ACTION_COPY,
    SASSDEC_ACTION_STORE,
    SASSDEC_ACTION_MULTIPLY,
    SASSDEC_ACTION_SHIFT,
    SASSDEC_ACTION_COMMIT, /* ends a group, or tells an mbarrier when it is done */
    SASSDEC_ACTION_BEGIN,  /* registers may be handed to the work that follows */
    SASSDEC_ACTION_FLUSH,
    SASSDEC_ACTION_WORK, /* asks for another CTA's identity */
    /* convergence */
    SASSDEC_ACTION_MARK,  /* names lanes that will meet */
    SASSDEC_ACTION_MEET,  /* waits for lanes that were named */
    SASSDEC_ACTION_LEAVE, /* will not come */
    SASSDEC_ACTION_WARP,  /* all lanes named by this instruction meet here */
    SASSDEC_ACTION_COLLECTIVE,
    SASSDEC_ACTION_YIELD,
    SASSDEC_ACTION_STATE, /* reads or writes the state behind it */
    /* control */
    SASSDEC_ACTION_BRANCH,
    SASSDEC_ACTION_CALL,
    SASSDEC_ACTION_RETURN,
    SASSDEC_ACTION_EXIT,
    SASSDEC_ACTION_ALLOCATE /* registers or tensor memory */
} sassdec_action;

typedef enum sassdec_space {
    SASSDEC_SPACE_NONE,
    SASSDEC_SPACE_GLOBAL,
    SASSDEC_SPACE_SHARED, /* of the own CTA */
    SASSDEC_SPACE_LOCAL,
    SASSDEC_SPACE_CONSTANT,
    SASSDEC_SPACE_GENERIC,
    SASSDEC_SPACE_TEXTURE,
    SASSDEC_SPACE_SURFACE,
    SASSDEC_SPACE_TENSOR,  /* tensor memory */
    SASSDEC_SPACE_CLUSTER, /* shared memory of any CTA of the cluster */
    SASSDEC_SPACE_GRAPHICS /* attributes and the like */
} sassdec_space;

typedef enum sassdec_order {
    SASSDEC_ORDER_WEAK,
    SASSDEC_ORDER_RELAXED, /* SASS: STRONG */
    SASSDEC_ORDER_ACQUIRE,
    SASSDEC_ORDER_RELEASE,
    SASSDEC_ORDER_ACQ_REL,
    SASSDEC_ORDER_SC,
    SASSDEC_ORDER_VOLATILE,
    SASSDEC_ORDER_MMIO
} sassdec_order;

typedef enum sassdec_scope {
    SASSDEC_SCOPE_NONE,
    SASSDEC_SCOPE_CTA,
    SASSDEC_SCOPE_SM,
    SASSDEC_SCOPE_CLUSTER,
    SASSDEC_SCOPE_VC,
    SASSDEC_SCOPE_GPU,
    SASSDEC_SCOPE_SYS
} sassdec_scope;

typedef enum sassdec_proxy {
    SASSDEC_PROXY_GENERIC,
    SASSDEC_PROXY_CONSTANT,
    SASSDEC_PROXY_TEXTURE, /* ld.global.nc too */
    SASSDEC_PROXY_SURFACE,
    SASSDEC_PROXY_ASYNC,
    SASSDEC_PROXY_TENSORMAP
} sassdec_proxy;

/* Operator of atomics and reductions. */
typedef enum sassdec_operator {
    SASSDEC_OPERATOR_NONE,
    SASSDEC_OPERATOR_ADD,
    SASSDEC_OPERATOR_MIN,
    SASSDEC_OPERATOR_MAX,
    SASSDEC_OPERATOR_INC,
    SASSDEC_OPERATOR_DEC,
    SASSDEC_OPERATOR_AND,
    SASSDEC_OPERATOR_OR,
    SASSDEC_OPERATOR_XOR,
    SASSDEC_OPERATOR_EXCHANGE,
    SASSDEC_OPERATOR_COMPARE_EXCHANGE,
    SASSDEC_OPERATOR_SAFE_ADD
} sassdec_operator;

/* Type of one element. Loads and stores have widths and a sign; atomics have types. */
typedef enum sassdec_type {
    SASSDEC_TYPE_NONE,
    SASSDEC_TYPE_U8,
    SASSDEC_TYPE_S8,
    SASSDEC_TYPE_U16,
    SASSDEC_TYPE_S16,
    SASSDEC_TYPE_B32,
    SASSDEC_TYPE_B64,
    SASSDEC_TYPE_B128,
    SASSDEC_TYPE_U32,
    SASSDEC_TYPE_S32,
    SASSDEC_TYPE_U64,
    SASSDEC_TYPE_S64,
    SASSDEC_TYPE_F16X2,
    SASSDEC_TYPE_BF16X2,
    SASSDEC_TYPE_F32,
    SASSDEC_TYPE_F32_FTZ, /* subnormals become zero */
    SASSDEC_TYPE_F64
} sassdec_type;

/* What caches are asked to do with the line. */
typedef enum sassdec_policy {
    SASSDEC_POLICY_NONE, /* the instruction has no such field */
    SASSDEC_POLICY_FIRST,
    SASSDEC_POLICY_NORMAL,
    SASSDEC_POLICY_LAST,
    SASSDEC_POLICY_LAST_USE,
    SASSDEC_POLICY_UNCHANGED,
    SASSDEC_POLICY_NO_ALLOCATE
} sassdec_policy;

/* Which cache a cache operation names. */
typedef enum sassdec_cache {
    SASSDEC_CACHE_DATA,
    SASSDEC_CACHE_UNIFIED,
    SASSDEC_CACHE_CONSTANT,
    SASSDEC_CACHE_INSTRUCTION,
    SASSDEC_CACHE_TEXTURE,
    SASSDEC_CACHE_LOCAL,
    SASSDEC_CACHE_MBARRIER,
    SASSDEC_CACHE_TENSORMAP,
    SASSDEC_CACHE_UNKNOWN
} sassdec_cache;

/* Who does asynchronous work. */
typedef enum sassdec_agent {
    SASSDEC_AGENT_NONE,
    SASSDEC_AGENT_LDGSTS, /* cp.async */
    SASSDEC_AGENT_BULK,   /* bulk and tensor copies, st.async, red.async */
    SASSDEC_AGENT_WGMMA,
    SASSDEC_AGENT_TCGEN05,
    SASSDEC_AGENT_SCHEDULER
} sassdec_agent;

/* Which unit sets the latency; instructions of one class take about as long. */
typedef enum sassdec_latency {
    SASSDEC_LATENCY_NONE,
    SASSDEC_LATENCY_FIXED,
    SASSDEC_LATENCY_ALU,
    SASSDEC_LATENCY_FMA,
    SASSDEC_LATENCY_IMAD,
    SASSDEC_LATENCY_FP64,
    SASSDEC_LATENCY_MUFU,
    SASSDEC_LATENCY_XU,
    SASSDEC_LATENCY_CONVERSION,
    SASSDEC_LATENCY_UNIFORM,
    SASSDEC_LATENCY_REDUX,
    SASSDEC_LATENCY_MIO,
    SASSDEC_LATENCY_LSU,
    SASSDEC_LATENCY_TEX,
    SASSDEC_LATENCY_TMA,
    SASSDEC_LATENCY_TENSOR,
    SASSDEC_LATENCY_WGMMA,
    SASSDEC_LATENCY_TCGEN05
} sassdec_latency;

#define SASSDEC_NO_OPERAND 255

typedef struct sassdec_effect {
    uint8_t kind;   /* sassdec_kind */
    uint8_t action; /* sassdec_action */
    uint8_t space; /* sassdec_space that `address` names; fences: the only one ordered, NONE: all */
    uint8_t from;  /* sassdec_space that `source` names */
    uint8_t order; /* sassdec_order */
    uint8_t scope; /* sassdec_scope */
    uint8_t proxy; /* sassdec_proxy */
    uint8_t atomic;   /* sassdec_operator */
    uint8_t type;     /* sassdec_type */
    uint8_t bytes;    /* per lane, all elements together; 0 where operands or descriptors tell */
    uint8_t elements; /* atomics and reductions: each is an operation of its own; else 0 */
    uint8_t policy;   /* sassdec_policy */
    uint8_t cache;    /* sassdec_cache, of KIND_CACHE */
    uint8_t agent;    /* sassdec_agent, of KIND_ASYNC */
    uint8_t latency;  /* sassdec_latency */
    /* Indices into sassdec_insn.operand, or SASSDEC_NO_OPERAND. */
    uint8_t address;   /* what is accessed; of a copy the destination */
    uint8_t source;    /* of a copy */
    uint8_t data;      /* what is stored, or the operand of an atomic */
    uint8_t compare;   /* the expected value of a compare-and-swap */
    uint8_t result;    /* first register that is written */
    uint8_t predicate; /* that switches a load or the reading half of a copy off */
    uint8_t object;    /* the mbarrier that is told, where it has an operand of its own */
} sassdec_effect;

/* Fills *effect; of an undecodable word all zero with no operands. */
void sassdec_effects(const sassdec_insn* insn, sassdec_effect* effect);

/* "load space=global order=relaxed scope=gpu type=b32 bytes=4 address=1 result=0 latency=lsu": the
 * kind (and ".action"), then every other column that is not empty. Zero-terminated. Returns the
 * length, or -1 when it did not fit. */
int sassdec_format_effects(const sassdec_insn* insn, char* out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
