/* SPDX-License-Identifier: Apache-2.0 */
// The `consistency` role of a memory model: judges an execution graph. What belongs here: the graph
// as a model sees it, the verdict, and the function table that a plugin fills. What does not: how
// graphs come about (the explorer's business) and what an operational model implements (machine.h).
//
// C11 and C++20. Every struct starts with its size in bytes as the writer knew it; a reader looks
// at no field beyond it, and fields are only ever appended. Enumerators keep their numbers for
// ever.
//
// A graph grows while it is explored: judge() is asked about partial graphs too, and its answer
// "inconsistent" cuts off every graph that contains the one judged. A model therefore has to be
// monotone: events and edges that are added later may make a graph inconsistent, never consistent.
// Where two events must be ordered and nothing orders them yet (two morally strong writes to one
// location, two fence.sc), the model does not guess: it reports the pair as open, and the explorer
// asks again once with either order in `chosen`.
#ifndef SASSEMU_CONSISTENCY_H
#define SASSEMU_CONSISTENCY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SASSEMU_CONSISTENCY_ABI 1u  // the major version; another number is refused when loaded

// What an event is. A read-modify-write is a read and a write joined by an `rmw` edge. bar.sync is
// one event with ARRIVE|WAIT.
enum SassemuEventKind {
    SASSEMU_EVENT_READ = 1,
    SASSEMU_EVENT_WRITE = 2,
    SASSEMU_EVENT_FENCE = 4,  // fence, membar
    SASSEMU_EVENT_PROXY_FENCE =
        8,                      // fence.proxy and what implies one (may be combined with others)
    SASSEMU_EVENT_ARRIVE = 16,  // an arrival at a barrier: bar, barrier.cluster, mbarrier
    SASSEMU_EVENT_WAIT = 32,    // a wait that was let through
    SASSEMU_EVENT_ISSUE = 64,   // starts an asynchronous agent (`spawn` edges lead to its events)
    SASSEMU_EVENT_COMPLETE = 128,  // waits for an agent or a group (`completion` edges lead here)
    SASSEMU_EVENT_INIT = 256       // with WRITE: the initial value of a location, before everything
};

enum SassemuOrder {
    SASSEMU_ORDER_WEAK = 0,
    SASSEMU_ORDER_RELAXED = 1,
    SASSEMU_ORDER_ACQUIRE = 2,
    SASSEMU_ORDER_RELEASE = 3,
    SASSEMU_ORDER_ACQ_REL = 4,
    SASSEMU_ORDER_SC = 5,
    SASSEMU_ORDER_VOLATILE = 6,  // relaxed at system scope, and not merged with its like
    SASSEMU_ORDER_MMIO = 7
};

enum SassemuScope {
    SASSEMU_SCOPE_NONE = 0,  // weak accesses
    SASSEMU_SCOPE_CTA = 1,
    SASSEMU_SCOPE_CLUSTER = 2,
    SASSEMU_SCOPE_GPU = 3,
    SASSEMU_SCOPE_SYS = 4
};

enum SassemuProxy {
    SASSEMU_PROXY_GENERIC = 0,
    SASSEMU_PROXY_ASYNC = 1,
    SASSEMU_PROXY_ALIAS = 2,  // of a fence only: between virtual addresses of one location
    SASSEMU_PROXY_TENSORMAP = 3,
    SASSEMU_PROXY_TEXTURE = 4,
    SASSEMU_PROXY_SURFACE = 5,
    SASSEMU_PROXY_CONSTANT = 6,
    SASSEMU_PROXY_TENSOR = 7  // tensor memory, as tcgen05 reaches it
};

// The state space of an object, as bits.
enum SassemuSpace {
    SASSEMU_SPACE_GLOBAL = 1,
    SASSEMU_SPACE_SHARED_CTA = 2,      // shared memory of the accessing thread's own CTA
    SASSEMU_SPACE_SHARED_CLUSTER = 4,  // shared memory of any CTA of the cluster (own CTA's too)
    SASSEMU_SPACE_TENSOR = 8,
    SASSEMU_SPACE_CONSTANT = 16
};

// What an operation fence (fence.mbarrier_init) is restricted to; 0 is everything.
enum SassemuOperation {
    SASSEMU_OPERATION_ANY = 0,
    SASSEMU_OPERATION_MBARRIER_INIT = 1,
    // Of tcgen05: which rule of the tensor memory an event comes under (PTX ISA 9.7.16.6).
    SASSEMU_OPERATION_TENSOR_LOAD = 2,
    SASSEMU_OPERATION_TENSOR_STORE = 3,
    SASSEMU_OPERATION_TENSOR_MMA = 4,
    SASSEMU_OPERATION_TENSOR_COPY = 5,
    SASSEMU_OPERATION_TENSOR_BEFORE = 6,  // tcgen05.fence::before_thread_sync; a commit is one too
    SASSEMU_OPERATION_TENSOR_AFTER = 7,   // tcgen05.fence::after_thread_sync
    SASSEMU_OPERATION_REDUCTION = 8,      // of the read of a red: part of it, but no read operation
    SASSEMU_OPERATION_TENSOR_SHIFT = 9,
    SASSEMU_OPERATION_TENSOR_COPY_4X256B = 10  // tcgen05.cp.4x256b, which a shift comes before
};

typedef struct SassemuEvent {
    uint32_t kind;         // SassemuEventKind bits; 0: only takes its place in program order
    uint32_t order;        // SassemuOrder
    uint32_t scope;        // SassemuScope
    uint32_t proxy;        // of an access: how it is made
    uint32_t from, to;     // of a proxy fence: the two proxies (GENERIC is one of them)
    uint32_t both_ways;    // of a proxy fence: 1 when it orders `to` before `from` as well
    uint32_t space;        // SassemuSpace bits of the object accessed, as this thread sees it
    uint32_t restriction;  // SassemuSpace bits of what a fence or a release orders; 0: everything
    uint32_t operation;  // of an access: the operation it is; of a fence: what it is restricted to
    int32_t thread;      // the litmus thread that executes it, or that started the agent; -1: INIT
    int32_t agent;       // -1: the thread itself; else the agent's number, unique in the graph
    int32_t index;       // position in program order of the thread, or in the agent's own order
    int32_t cta, cluster, gpu;  // placement, numbered over the whole graph; gpu -1: the host
    uint32_t location;          // a number for the piece of physical memory (an allocation)
    uint32_t alias;             // a number for the virtual address that is used (one per name)
    uint64_t first;             // byte range in the location: [first, first+bytes)
    uint64_t bytes;             // 0: no memory is accessed
    int32_t owner;              // of a shared or tensor memory object: the CTA it lies in; -1: none
    int32_t source;             // which instruction of the thread, for reports
} SassemuEvent;

// An edge between two events, by their numbers in `events`.
typedef struct SassemuEdge {
    uint32_t from, to;
} SassemuEdge;

// A read's source for the bytes [first, first+bytes) of the location.
typedef struct SassemuReadsFrom {
    uint32_t write, read;
    uint64_t first, bytes;
} SassemuReadsFrom;

typedef struct SassemuEdges {
    const SassemuEdge* edges;
    size_t count;
} SassemuEdges;

// How far a graph has grown.
enum SassemuComplete {
    SASSEMU_COMPLETE_NOT = 0,  // it may still grow
    SASSEMU_COMPLETE = 1,
    // Of ask() (since ABI 1.6): it is complete, and nobody wants to know which order of its open
    // pairs makes it consistent. Where the model finds one, nothing is open. Relations are not
    // asked for then.
    SASSEMU_COMPLETE_SOMEHOW = 2
};

typedef struct SassemuGraph {
    size_t size;        // sizeof(SassemuGraph) of the caller
    size_t event_size;  // sizeof(SassemuEvent) of the caller: the stride of `events`
    const SassemuEvent* events;
    size_t event_count;
    const SassemuReadsFrom* reads_from;  // a read may lack some or all bytes while the graph grows
    size_t reads_from_count;
    SassemuEdges address, data, control;  // dependencies: from a read to what depends on it
    SassemuEdges rmw;                     // from the read to the write of one atomic operation
    SassemuEdges pairing;                 // from an arrival to each wait that it let through
    SassemuEdges spawn;                   // from an ISSUE to each event of the agent
    SassemuEdges agent_order;             // between events of one agent: from before to after
    SassemuEdges completion;  // from an agent's event to the COMPLETE that waited for it
    SassemuEdges chosen;      // orders that were open: write -> write, fence -> fence
    int32_t complete;         // SassemuComplete
} SassemuGraph;

#define SASSEMU_GRAPH_TEXT 192

typedef struct SassemuVerdict {
    size_t size;  // sizeof(SassemuVerdict) of the caller
    int32_t consistent;
    // When inconsistent: the axiom's name ("Causality"), the clause it stands for in the
    // specification, and the events of one violation (a cycle, in order).
    char axiom[64];
    char clause[SASSEMU_GRAPH_TEXT];
    uint32_t cycle[16];
    uint32_t cycle_count;
    // When consistent: one pair that must still be ordered, if there is any. Only asked for in
    // complete graphs; a model may leave it out (has_open = 0) in others.
    int32_t has_open;
    SassemuEdge open;
    // When consistent and not null: the caller's event_count * event_count bytes. The model writes
    // 1 at [a * event_count + b] where a is coherence-ordered before b (transitively), else 0.
    uint8_t* coherence;
    uint8_t* causality;  // the same for causality order between memory operations
    // The same for what causality order is made of, between events of any kind: the explorer orders
    // the operations on one mbarrier by it.
    uint8_t* base;
    // When consistent, complete and not null: all pairs that must still be ordered, as many as
    // there is room for; open_count says how many there are. Each is directed such that choosing
    // all of them so makes no circle.
    SassemuEdge* all_open;
    size_t open_room, open_count;
} SassemuVerdict;

typedef struct SassemuConsistencyModel {
    size_t size;   // sizeof(SassemuConsistencyModel) of the plugin
    uint32_t abi;  // SASSEMU_CONSISTENCY_ABI
    const char* name;
    const char* summary;  // one line
    // `options` is "k=v,k=v" or "". On failure returns null and leaves one line in error.
    void* (*create)(const char* options, char* error, size_t error_bytes);
    void (*destroy)(void* model);
    // Called from several threads at once on one model: it keeps no state between calls that
    // matters. Returns 0, or another number when the graph cannot be judged (a bug: exploration
    // stops).
    int (*judge)(void* model, const SassemuGraph* graph, SassemuVerdict* verdict);
    // Since ABI 1.6, and all three may be null: many questions about one graph whose events and
    // edges stay while what its reads take, and `chosen`, change. begin() looks at all else of the
    // graph, and copies it; null: it cannot be judged. ask() is judge() with these; of what it
    // refuses it may leave out `cycle`. One thread at a time asks about one beginning.
    void* (*begin)(void* model, const SassemuGraph* graph);
    int (*ask)(void* begun, const SassemuReadsFrom* reads_from, size_t count, SassemuEdges chosen,
               int32_t complete, SassemuVerdict* verdict);
    void (*end)(void* begun);
} SassemuConsistencyModel;

// What a plugin with this role exports: its models, *count of them.
typedef const SassemuConsistencyModel* (*SassemuConsistencyModels)(size_t* count);
#define SASSEMU_CONSISTENCY_SYMBOL "sassemu_consistency_models"

#ifdef __cplusplus
}
#endif

#endif
