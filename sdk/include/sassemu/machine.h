/* SPDX-License-Identifier: Apache-2.0 */
/* The role of an operational memory model that is a machine: a state, the steps that it can take by
 * itself, and what an operation of a thread does to it. `sassemu run --model` drives it by a
 * policy, `sassemu litmus --model` visits every state that it can reach: one machine answers both.
 * What belongs here: that role (since ABI 1.4). model.h is for models that want to see the
 * emulator's own accesses, and can therefore run but not be explored.
 *
 * The bytes of memory are the driver's, one copy of each; a state keeps what the machine has beside
 * them: stores on their way, copies in caches, queues of links. Local memory never gets here, nor
 * does shared memory unless the machine is scoped: the pipeline of an SM is in order.
 *
 * A driver performs the operations of a thread in program order, except for loads of a machine that
 * says SASSEMU_MACHINE_LATE_LOADS: such a load may be performed after what follows it, but after
 * its thread's earlier loads of its bytes, and before the thread's next operation of another kind
 * that is about one of its bytes, the next FENCE, CACHE or MEET of its thread, and anything that
 * needs its value.
 *
 * A machine that says SASSEMU_MACHINE_SCOPED (since ABI 1.9) knows what PTX orders: it is shown
 * shared memory, barriers and asynchronous operations as well, and accesses and fences with the
 * order and scope of their PTX where the code keeps it (-lineinfo), else with those that
 * docs/litmus.md, section 9, reads out of the words. Then loads that acquire are not late, and
 * neither passes a late load an operation that releases, ARRIVE, WAIT, ISSUE or OBSERVE.
 *
 * A machine that says SASSEMU_MACHINE_SYMMETRIC (since ABI 1.5) has memory of which every GPU owns
 * a copy, and understands what a library of one-sided operations does to it (NVSHMEM: a GPU is a
 * PE). `sassemu litmus` shows it these operations; `sassemu run` no more than others. */
#ifndef SASSEMU_MACHINE_H
#define SASSEMU_MACHINE_H

#include <sassemu/memory.h>

SASSEMU_BEGIN

/* Who performs an operation, and where it runs. */
typedef struct sassemu_place {
    uint64_t thread; /* unique in the run, as is the CTA */
    uint64_t cta;
    uint32_t sm, gpu; /* the SM is one of that GPU's */
    uint32_t kind; /* SASSEMU_AGENT_WARP, COPY_ENGINE or HOST; the others have no `cta` and `sm` */
    uint32_t cluster; /* since 1.9, of scoped machines: its number, unique in the run */
} sassemu_place;

/* The bytes of shared memory, for scoped machines: this, the CTA's number above bit 24, the offset
 * below. */
#define SASSEMU_MACHINE_SHARED (UINT64_C(1) << 63)
/* Of `flags`: the bytes are an mbarrier object. A LOAD asks what a thread finds there before it
 * arrives or tests, an ATOMIC initialises the object. */
#define SASSEMU_MACHINE_OBJECT (1u << 31)

enum sassemu_operation_kind {
    SASSEMU_OPERATION_LOAD,
    SASSEMU_OPERATION_STORE,
    SASSEMU_OPERATION_ATOMIC, /* the driver reads and writes the bytes right after it; WEAK, of a
                               * scoped machine: it only writes them */
    SASSEMU_OPERATION_FENCE,
    SASSEMU_OPERATION_CACHE,
    SASSEMU_OPERATION_MEET, /* the thread arrives at a barrier of its CTA, or warp, or at an
                             * mbarrier
                             */
    /* Of a symmetric machine. */
    SASSEMU_OPERATION_COPY,   /* reads `bytes` at `other`, writes them at `address` */
    SASSEMU_OPERATION_REDUCE, /* adds to the bytes at `address`, and does not wait for it */
    SASSEMU_OPERATION_ORDER,  /* keeps the order of what the thread sends to each GPU */
    SASSEMU_OPERATION_QUIET,  /* waits for what the thread has sent, and for what it fetches */
    /* Of a scoped machine. `address` names a barrier of any kind, `other` one of its phases, from
     * 0. */
    SASSEMU_OPERATION_ARRIVE,  /* RELEASE, or RELAXED: then fences before it release */
    SASSEMU_OPERATION_WAIT,    /* goes on because phase `other` is over: ACQUIRE, or RELAXED */
    SASSEMU_OPERATION_ISSUE,   /* starts an asynchronous operation, whose accesses and arrivals are
                                * those of the thread `other` */
    SASSEMU_OPERATION_OBSERVE, /* has seen that the asynchronous operation `other` is over */
    /* Since 1.13, of a machine that says SASSEMU_MACHINE_LATE_READS. */
    SASSEMU_OPERATION_LEAVE_OPEN, /* the thread has just read these bytes of shared memory, and
                                   * nothing but a store of the value uses it: `other` is the
                                   * read's name, which no other has */
    SASSEMU_OPERATION_PASS_ON     /* that store: it has just put all that the read `other` found, or
                                   * its first `bytes`, at `address` */
};

/* One operation of one thread. Members that its kind does not have are 0. */
typedef struct sassemu_operation {
    uint32_t size;
    uint8_t kind;                                /* enum sassemu_operation_kind */
    uint8_t proxy;                               /* enum sassemu_proxy; of a fence: from */
    uint8_t ordering, scope;                     /* enums sassemu_ordering, sassemu_scope */
    uint8_t to_proxy;                            /* of a fence; equal to `proxy`: no proxy fence */
    uint8_t invalidate_data, invalidate_texture; /* of a fence, in one step with it */
    uint8_t cache, action;                       /* enums sassemu_cache, sassemu_cache_action */
    uint8_t has_address;                         /* of a cache operation */
    uint8_t bytes;                               /* of an access: 1 to 16 */
    uint8_t reserved;
    uint32_t flags;   /* SASSEMU_ACCESS_CACHE_CV, SASSEMU_MACHINE_OBJECT */
    uint64_t address; /* device address */
    sassemu_place from;
    /* Since ABI 1.5; 0 where the machine is not symmetric. */
    uint64_t other; /* of COPY: the source; of REDUCE with `gets`: where the old value goes */
    uint32_t gpu, other_gpu; /* whose copies `address` and `other` are in */
    uint8_t gets;            /* of COPY: the source is the remote side; of REDUCE: see `other` */
    uint8_t early; /* of COPY: does not wait (nbi); of LOAD: not for the thread's own operations; of
                    * a scoped machine's ATOMIC: what it does is not seen apart from the one before
                    * it, of the same bytes */
    /* Since 1.9. Of a FENCE; the first 0 where the machine is not scoped: */
    uint8_t restriction; /* enum sassemu_intent_restrict */
    uint8_t spaces;      /* of a proxy fence: SASSEMU_SPACE_BIT set; 0: all */
    uint8_t both_ways;   /* of a proxy fence */
    uint8_t atomic; /* enum sassemu_atomic, of an ATOMIC of a scoped machine that reads and writes:
                     * the machine may put an older value there before. NONE: not known */
    uint8_t unused[2];
} sassemu_operation;

/* The bytes of memory. Both answer -1, and do nothing, where a byte is not allocated. */
typedef struct sassemu_bytes {
    uint32_t size;
    void* memory; /* handed to the functions */
    int32_t (*read)(void* memory, uint64_t address, void* to, uint32_t bytes);
    int32_t (*write)(void* memory, uint64_t address, const void* from, uint32_t bytes);
    /* Since 1.8. Whose memory the byte is in: a GPU's number, SASSEMU_OF_HOST, or
     * SASSEMU_OF_NOBODY where that is not known. NULL: there is one GPU, and nobody else. */
    int32_t (*home)(void* memory, uint64_t address);
    /* Since 1.11. Whether another process has the byte (ranks of a plan). What is written there is
     * seen by everybody else at once, so a machine with several stations in front of that writes
     * when a store has come to the last. Of such bytes a LOAD can read the 128 aligned ones around
     * its address, and nobody else any: to them they are as if not allocated. NULL: never. */
    int32_t (*elsewhere)(void* memory, uint64_t address);
} sassemu_bytes;

#define SASSEMU_OF_NOBODY (-2)

enum sassemu_machine_flags {
    SASSEMU_MACHINE_LATE_LOADS = 1u << 0,
    SASSEMU_MACHINE_SYMMETRIC = 1u << 1,
    SASSEMU_MACHINE_SCOPED = 1u << 2,
    /* Since 1.11. A scoped machine that knows `elsewhere`; others run in one process only. All
     * accesses of other processes here are those of the host. */
    SASSEMU_MACHINE_APART = 1u << 3,
    /* Since 1.13. A scoped machine that lets a read of shared memory find what is written after it
     * and has no order with it, as long as nobody has seen what became of the value. It is told of
     * reads whose value is stored on and used for nothing else (LEAVE_OPEN, PASS_ON), where the
     * code has asynchronous writes to shared memory, and changes the bytes of the copy itself. */
    SASSEMU_MACHINE_LATE_READS = 1u << 4
};

/* `self` is what the plugin's create() returned. It may be used by several threads at once, with
 * states of their own: it does not change. A state is used by one thread at a time, not always by
 * the one that made it; what a copy has in common with others must bear that. */
typedef struct sassemu_machine {
    uint32_t size;
    uint32_t flags;  /* enum sassemu_machine_flags */
    uint32_t spaces; /* SASSEMU_SPACE_BIT set of what it wants to be asked about: GLOBAL, and
                      * TEXTURE, CONSTANT where it has caches for them */
    uint32_t reserved;

    /* A state in which nothing has happened. `places`: everybody who will perform operations, or
     * NULL where that is not known. NULL: out of memory. */
    void* (*start)(void* self, const sassemu_place* places, size_t count);
    void* (*copy)(void* self, const void* state);
    void (*drop)(void* self, void* state);

    /* In how many ways the operation can be performed now; 0: a step has to come first. What a
     * machine would do if it were free comes first: a hit in a cache before a miss. A scoped
     * machine has the newest value first and the oldest last; of a STORE of the async proxy, in
     * front of how many stores it comes that are there already, and after these, since 1.13, that
     * reads which have been left open find it; of PASS_ON the value that was read before the one
     * that has come since. NULL: always in one. */
    uint32_t (*ways)(void* self, const void* state, const sassemu_bytes*, const sassemu_operation*);
    /* Performs it in one of these ways, counting from 0. LOAD fills the `bytes` at value, STORE
     * and REDUCE take them from there; others get NULL. */
    void (*perform)(void* self, void* state, const sassemu_bytes*, const sassemu_operation*,
                    uint32_t way, void* value);

    /* How many steps it can take by itself, in the order in which what they move was issued. There
     * may always be one (a prefetch, say): drivers go on until what they wait for is there. Writes
     * whose operation each belongs to (sassemu_place.thread), of the first `room`. */
    uint32_t (*steps)(void* self, const void* state, uint64_t* threads, uint32_t room);
    void (*take)(void* self, void* state, const sassemu_bytes*, uint32_t step);

    /* What is on its way. 0: a launch may end here. */
    uint64_t (*held)(void* self, const void* state);
    /* A launch begins: what does not outlive the one before (caches) is gone. NULL: nothing. */
    void (*launch)(void* self, void* state);
    /* Nobody in the launch can go on, and nothing is held: gives up what it could keep for ever
     * (copies that differ from memory), and answers how much that is; with `count_only` it only
     * counts. NULL: nothing. */
    uint64_t (*settle)(void* self, void* state, const sassemu_bytes*, uint32_t count_only);
    /* The state as bytes, equal for states that behave alike. Writes at most `room` bytes and
     * answers how many it has. */
    size_t (*key)(void* self, const void* state, void* to, size_t room);
    /* Since 1.9. Whether threads `thread` to `thread` + 31, those of `lanes`, find nothing but
     * memory's own values in the `bytes` at the operation's address, and leave no trace: then a
     * driver need not show their loads. NULL: never. */
    int32_t (*plain)(void* self, const void* state, const sassemu_operation*, uint64_t bytes,
                     uint32_t lanes);
} sassemu_machine;

SASSEMU_END

#endif
