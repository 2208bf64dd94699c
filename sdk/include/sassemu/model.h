/* SPDX-License-Identifier: Apache-2.0 */
/* The role of an operational memory model: it is asked about every access and decides when it
 * happens and what a load returns. What belongs here: that role. A model that judges finished
 * executions instead is in consistency.h.
 *
 * The engine owns the bytes: one copy of every allocation and of every block of shared memory. A
 * model keeps beside them what its machine keeps: pending stores, stale copies in caches, queues of
 * links. */
#ifndef SASSEMU_MODEL_H
#define SASSEMU_MODEL_H

#include <sassemu/host.h>
#include <sassemu/sync.h>

SASSEMU_BEGIN

/* Answers of issue(), fence() and cache(). */
enum sassemu_answer {
    SASSEMU_DONE,     /* the engine does it now, on its own bytes */
    SASSEMU_SUPPLIED, /* the model has done it: a load has its values (host->supply), the engine
                         stores nothing */
    SASSEMU_PENDING,  /* loads only: complete() will follow. The path runs on until it touches the
                         result */
    SASSEMU_RETRY, /* not now: the path gives way and the instruction is issued again. fence(): the
                      wait */
    SASSEMU_FAULT  /* the model has called host->fault */
};

enum sassemu_model_flags {
    SASSEMU_MODEL_DEFERS =
        1u << 0 /* may answer PENDING. Without it nobody pays for watching registers */
};

typedef struct sassemu_memory_model {
    uint32_t size;
    uint32_t flags;  /* enum sassemu_model_flags */
    uint32_t spaces; /* SASSEMU_SPACE_BIT set: accesses to others are not shown, the engine performs
                      * them. Generic accesses are shown when GENERIC, or the space where they end,
                      * is in the set */
    uint32_t reserved;

    /* One call per access of a warp. Atomics and reductions are performed on the engine's bytes,
     * which is what makes them atomic: DONE or RETRY. Texture reads come texel by texel with lanes
     * = 1, and are IMMEDIATE; so is the load of an LDGSTS, whose store to shared memory is the
     * engine's. */
    int32_t (*issue)(void* self, const sassemu_access*);
    /* A fence of `lanes`. DONE: what the model must wait for is over. RETRY: ask again. NULL:
     * nothing to do. */
    int32_t (*fence)(void* self, const sassemu_fence*);
    int32_t (*cache)(void* self, const sassemu_cache_op*);
    /* Barriers, mbarriers, warps that join, exits. NULL: not told. */
    void (*sync)(void* self, const sassemu_sync*);
    /* Between two slices of a CTA: complete what is due. `idle`: nothing in the launch can run on,
     * so something must happen if the model holds anything. Returns how much it still holds (of all
     * CTAs): 0 and nothing runnable is a deadlock. NULL: the model holds nothing, ever. */
    uint64_t (*step)(void* self, sassemu_cta, uint32_t idle);

    void (*launch_begin)(void* self, sassemu_launch);
    /* All warps have ended (or the launch has failed): bytes that the model holds back must be
     * written now. */
    void (*launch_end)(void* self, sassemu_launch);
    void (*cta_begin)(void* self, sassemu_cta);
    void (*cta_end)(void* self, sassemu_cta);
    /* The host reads or writes device memory between launches. */
    void (*host_access)(void* self, uint64_t address, uint64_t bytes, uint32_t is_write);
} sassemu_memory_model;

SASSEMU_END

#endif
