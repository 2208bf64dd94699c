/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation events: what orders threads and agents, told to observers that ask for it and to
 * memory models. What belongs here: their vocabulary. A thread is (CTA, warp, lane); an
 * asynchronous operation is named by `id`. */
#ifndef SASSEMU_SYNC_H
#define SASSEMU_SYNC_H

#include <sassemu/memory.h>

SASSEMU_BEGIN

enum sassemu_sync_kind {
    /* CTA barriers 0..15. ARRIVE: `lanes` of the warp arrive; `waits` tells BAR.SYNC and BAR.RED
     * from BAR.ARV. COMPLETE: the phase ends: `participants` has the lanes that arrived and
     * `waiting` those that go on now, per warp of the CTA; no warp. */
    SASSEMU_SYNC_BARRIER_ARRIVE,
    SASSEMU_SYNC_BARRIER_COMPLETE,
    /* The barrier of a cluster. WAIT: the lanes pass it (after COMPLETE). COMPLETE has no warp and
     * no masks: every live thread of the cluster had arrived. */
    SASSEMU_SYNC_CLUSTER_ARRIVE,
    SASSEMU_SYNC_CLUSTER_WAIT,
    SASSEMU_SYNC_CLUSTER_COMPLETE,
    /* WARPSYNC and BSYNC: `lanes` have met and go on (only WARPSYNC orders their memory). */
    SASSEMU_SYNC_WARP,
    /* mbarrier objects: `address` is the offset in the block of CTA `owner`; `arrivals` (threads),
     * `expect` (bytes; those of a completion are negative) and `drops` as one instruction changes
     * them for all its `lanes`; `phase` before and `phase_after`; `pending` arrivals and missing
     * `transactions` after. TEST: test_wait and try_wait of `parity`; `passed` has the lanes that
     * found the phase over. PHASE: the phase ended by the event before. */
    SASSEMU_SYNC_MBARRIER_INIT,
    SASSEMU_SYNC_MBARRIER_ARRIVE, /* also with expect; and expect_tx, complete_tx alone: arrivals 0
                                   */
    SASSEMU_SYNC_MBARRIER_TEST,
    SASSEMU_SYNC_MBARRIER_INVALIDATE,
    SASSEMU_SYNC_MBARRIER_MISUSE, /* the object's rules are broken; a fault follows */
    /* Waits that fences and data flow are made of. SCOREBOARD: the instruction `insn` waits for the
     * scoreboards of `mask`. LOAD_RETURN: lanes of the access `token` have their values. */
    SASSEMU_SYNC_SCOREBOARD,
    SASSEMU_SYNC_LOAD_RETURN,
    /* Groups of asynchronous copies. COMMIT closes the group of the thread (cp.async.commit_group,
     * bulk commit), WAIT goes on when at most `pending` groups are left; `read_only`: it waits for
     * the reading only. */
    SASSEMU_SYNC_GROUP_COMMIT,
    SASSEMU_SYNC_GROUP_WAIT,
    /* Threads end. */
    SASSEMU_SYNC_EXIT,
    /* griddepcontrol: launch_dependents, wait. */
    SASSEMU_SYNC_GRID_LAUNCH,
    SASSEMU_SYNC_GRID_WAIT,
    /* Since 1.10. The barrier of a warpgroup (WARPGROUP.ARRIVE, .WAIT). ARRIVE: the warp's arrival
     * counts, which waits until the other warps have arrived as often as it has; WAIT: it goes on,
     * since they have. Of models, a WAIT orders memory as the wait of a CTA's barrier does. */
    SASSEMU_SYNC_WARPGROUP_ARRIVE,
    SASSEMU_SYNC_WARPGROUP_WAIT
};

enum sassemu_group_kind { SASSEMU_GROUP_LDGSTS, SASSEMU_GROUP_BULK, SASSEMU_GROUP_TENSOR };

typedef struct sassemu_sync {
    uint32_t size;
    uint32_t kind;
    uint32_t lanes;
    uint32_t id;       /* barrier 0..15; group: enum sassemu_group_kind */
    sassemu_warp warp; /* NULL: no thread does it */
    sassemu_cta cta;
    sassemu_insn insn;        /* NULL with warp, and where a function of the driver does it */
    uint32_t expected;        /* barrier: threads; 0: all of the CTA */
    uint8_t waits, reduction; /* reduction: 0 none, 1 popc, 2 and, 3 or */
    uint8_t parity, read_only;
    const uint32_t *participants, *waiting; /* per warp of `cta`; valid in the call */
    uint32_t address, owner_rank;
    uint64_t owner; /* linear index of the CTA with the mbarrier object */
    int64_t arrivals, drops, expect;
    uint32_t phase, phase_after, passed, pending;
    int64_t transactions;
    uint32_t mask;
    uint32_t reserved;
    uint64_t token;
    uint64_t agent; /* mbarrier changes by an asynchronous operation: its id; else 0 */
} sassemu_sync;

/* The life of an asynchronous operation (bulk and tensor copies, st.async, red.async, LDGSTS, a
 * cp.async.mbarrier.arrive that has copies to wait for, tensor units): ISSUE when its instruction
 * is executed, COMPLETE when it has been performed, which is at once unless
 * --agents says otherwise (not told of one that the end of the launch forestalls). READ and WRITE
 * name one range of bytes each, when and in the order in which the bytes are touched. An arrival
 * that reports completion is a SASSEMU_SYNC_MBARRIER_ARRIVE with `agent` set, before COMPLETE.
 * WILL_READ and WILL_WRITE name the same ranges right behind ISSUE, as they are known then: what a
 * tensor copy touches is in its map, which may change before the copy is performed. Only plugins of
 * ABI 1.2 and later are told of them. What an LDGSTS touches is told as accesses: access_issue of
 * both halves behind ISSUE, access of both before COMPLETE. Since 1.3, tcgen05: what the tensor
 * core does (UTC*MMA, UTCCP, UTCSHIFT), with its operands in shared and in tensor memory; UTCBAR,
 * an arrival that follows what its warp gave the tensor core before, without ranges; and LDTM and
 * STTM, each an operation of its own that is over at once, with the lanes of the warp that execute
 * it. All are SASSEMU_AGENT_TENSOR and SASSEMU_VIA_ASYNC. Allocation (UTCATOMSWS) is no such
 * operation. */
enum sassemu_async_step {
    SASSEMU_ASYNC_ISSUE,
    SASSEMU_ASYNC_READ,
    SASSEMU_ASYNC_WRITE,
    SASSEMU_ASYNC_COMPLETE,
    SASSEMU_ASYNC_WILL_READ, /* since 1.2 */
    SASSEMU_ASYNC_WILL_WRITE
};

typedef struct sassemu_async {
    uint32_t size;
    uint32_t step;
    uint32_t agent_kind; /* enum sassemu_agent_kind */
    uint32_t proxy; /* of the data: SASSEMU_VIA_ASYNC, or GENERIC for LDGSTS; TENSORMAP: the read of
                       a map */
    uint64_t id;    /* counts from 1 in the launch */
    uint32_t
        lanes; /* that issued it; ranges of st.async and red.async: the lane whose bytes they are */
    uint32_t op;         /* READ: SASSEMU_LOAD; WRITE: SASSEMU_STORE or SASSEMU_REDUCE */
    sassemu_warp warp;   /* that issued it */
    sassemu_insn insn;   /* NULL: a function of the driver does it */
    sassemu_location at; /* ranges: first byte */
    uint64_t bytes;
    const void* before; /* WRITE: the bytes before they are overwritten; valid in the call */
    const void* data;   /* READ: the bytes; valid in the call */
    /* Since 1.2. How its completion is known: `group` (enum sassemu_group_kind), or -1 and the
     * mbarrier object that is told of it: in ISSUE the one that the instruction names, in ranges
     * the one that their bytes are reported to. Since 1.3 the space of `mbarrier` is not
     * SASSEMU_SHARED where no object is told: tcgen05 but for UTCBAR, of whose objects ISSUE names
     * that of the lowest rank. */
    int32_t group;
    uint32_t reserved;
    sassemu_location mbarrier;
} sassemu_async;

SASSEMU_END

#endif
