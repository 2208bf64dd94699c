/* SPDX-License-Identifier: Apache-2.0 */
/* The role of an observer: tracers, profilers, checkers. It is told, in the order in which things
 * happen, and changes nothing unless it writes registers. What belongs here: that role.
 *
 * Every member may be NULL: then nobody pays for it. The order of events is the order in which the
 * engine performs them; a model that defers loads shows them when they are performed. */
#ifndef SASSEMU_OBSERVER_H
#define SASSEMU_OBSERVER_H

#include <sassemu/host.h>
#include <sassemu/records.h>
#include <sassemu/sync.h>

SASSEMU_BEGIN

enum sassemu_select {
    SASSEMU_BEFORE = 1u << 0,
    SASSEMU_AFTER = 1u << 1,
    /* Since 1.6: it is in what records() gets; with its accesses; with their values too; also where
     * its guard is false in all lanes. The last three say nothing without the first. */
    SASSEMU_RECORD = 1u << 2,
    SASSEMU_RECORD_ACCESSES = 1u << 3,
    SASSEMU_RECORD_VALUES = 1u << 4,
    SASSEMU_RECORD_SKIPPED = 1u << 5,
    /* Since 1.13, and nothing without the first. It ends its block, which comes before it does
     * anything: registers are as it finds them. */
    SASSEMU_RECORD_LAST = 1u << 6
};

typedef struct sassemu_fault_info {
    uint32_t size;
    uint32_t lanes;
    const char* kind; /* "out-of-bounds", as in plans */
    const char* what;
    sassemu_warp warp;
    sassemu_insn insn;
    uint64_t address;
    uint32_t has_address;
} sassemu_fault_info;

/* A block of the device heap (since 1.7): what malloc() gave a lane, or free() takes back. */
typedef struct sassemu_heap_block {
    uint32_t size;
    uint32_t is_release;
    uint64_t address, bytes; /* bytes: of a release 0 */
    sassemu_warp warp;
    uint32_t lane;
    uint32_t reserved;
} sassemu_heap_block;

typedef struct sassemu_observer {
    uint32_t size;
    uint32_t spaces; /* SASSEMU_SPACE_BIT set: access events of others are left out; 0: all. Generic
                        as in model.h */

    void (*module_load)(void* self, sassemu_module);
    void (*launch_begin)(void* self, sassemu_launch);
    void (*launch_end)(void* self, sassemu_launch,
                       const char* status); /* "ok", "fault", "deadlock", ... */
    void (*cta_begin)(void* self, sassemu_cta);
    void (*cta_end)(void* self, sassemu_cta);

    /* Which instructions are shown: a set of sassemu_select, asked once per instruction before it
     * can run, in the order of the code. */
    uint32_t (*select)(void* self, sassemu_insn);
    /* `lanes` are those that execute it (guard and active mask). `after` comes when the instruction
     * is over and the path goes on behind it or at its target; not for one that ends or blocks the
     * path. */
    void (*before)(void* self, sassemu_warp, sassemu_insn, uint32_t lanes);
    void (*after)(void* self, sassemu_warp, sassemu_insn, uint32_t lanes);

    /* Accesses of warps. `access_issue`: before it is performed (memory has its old bytes).
     * `access`: performed. */
    void (*access_issue)(void* self, const sassemu_access*);
    void (*access)(void* self, const sassemu_access*);
    void (*fence)(void* self, const sassemu_fence*);
    void (*cache)(void* self, const sassemu_cache_op*);
    void (*sync)(void* self, const sassemu_sync*);
    void (*async)(void* self, const sassemu_async*);
    /* Bit per enum sassemu_sync_kind: kinds that are left out. SCOREBOARD is the dear one. */
    uint64_t sync_ignored;

    /* The host: what exists, and which bytes have a value. `bytes` of a module's variables count as
     * written. */
    void (*allocate)(void* self, const sassemu_allocation*);
    void (*release)(void* self, const sassemu_allocation*);
    void (*host_access)(void* self, uint64_t address, uint64_t bytes, uint32_t is_write);

    void (*fault)(void* self, const sassemu_fault_info*);
    /* After the last launch: the place for reports. */
    void (*finish)(void* self);

    /* Since 1.6. A block of what select() asked to be recorded. It comes when enough is there,
     * before the worker goes on with another CTA, and before any other callback of this observer
     * for what a CTA does: so whatever is told later has happened after all that was recorded
     * before. The instruction that runs during such a callback is recorded by then. One that a
     * memory model puts off (SASSEMU_RETRY) may be there once for each attempt. */
    void (*records)(void* self, const sassemu_records*);
    /* How often each instruction of the module ran in this launch; before launch_end. */
    void (*counts)(void* self, sassemu_launch, const sassemu_counts*);

    /* Since 1.7. A release comes before it is known whether the block exists. */
    void (*heap)(void* self, const sassemu_heap_block*);

    /* Since 1.8. What host_access is told, and who it was. */
    void (*client)(void* self, const sassemu_client_access*);

    /* Since 1.9. What happens inside of the memory model, where it tells. */
    void (*model)(void* self, const sassemu_model_event*);
} sassemu_observer;

SASSEMU_END

#endif
