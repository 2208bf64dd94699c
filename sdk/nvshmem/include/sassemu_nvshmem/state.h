/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime (emu/nvshmem) and code on the device have in common: the state of a PE, which
 * the runtime writes into a module's variable SASSEMU_NVSHMEM_STATE before its first launch, the
 * words at the front of each heap, and the requests to the proxy. Own layout: NVSHMEM's libraries
 * have another one under another name, so that both can be served. */
#ifndef SASSEMU_NVSHMEM_STATE_H
#define SASSEMU_NVSHMEM_STATE_H

#include <stdint.h>

#define SASSEMU_NVSHMEM_STATE_VERSION 1
#define SASSEMU_NVSHMEM_STATE_NAME "sassemu_nvshmem_state"

/* As nvshmem_team_t: the teams that there are. */
enum sassemu_nvshmem_team {
    SASSEMU_NVSHMEM_WORLD,
    SASSEMU_NVSHMEM_SHARED,
    SASSEMU_NVSHMEM_NODE,
    SASSEMU_NVSHMEM_SAME_PLACE, /* one PE of each node: those with the same number in it */
    SASSEMU_NVSHMEM_TEAMS
};

/* PE i of the team is start + i * stride of the world. */
struct sassemu_nvshmem_team_info {
    int32_t start, stride, size, me;
};

struct sassemu_nvshmem_device_state {
    uint32_t version; /* 0: the runtime has not been here */
    int32_t my_pe, n_pes;
    uint32_t ring_slots; /* a power of two */
    uint64_t heap;       /* of this PE: address and bytes */
    uint64_t heap_bytes;
    uint64_t windows; /* address of n_pes addresses: where this PE reaches the heap of each; 0: by
                         the proxy only */
    uint64_t ring;    /* address of the ring; 0: nobody needs a proxy */
    struct sassemu_nvshmem_team_info team[SASSEMU_NVSHMEM_TEAMS];
};

/* At the front of a heap, one for each team. A PE that comes to its n-th meeting of a team sets
 * `met` to n; in round k it adds 1 to `arrived[k]` of the PE that is 2^k further (dissemination:
 * Hensgen, Finkel, Manber 1988). */
struct sassemu_nvshmem_meeting {
    uint64_t met;
    uint64_t arrived[15];
};
/* Bytes at the front of a heap that are not the user's. */
#define SASSEMU_NVSHMEM_RESERVED 4096

enum sassemu_nvshmem_operation {
    SASSEMU_NVSHMEM_PUT,
    SASSEMU_NVSHMEM_GET,
    SASSEMU_NVSHMEM_ADD, /* atomics, of `width` bytes */
    SASSEMU_NVSHMEM_AND,
    SASSEMU_NVSHMEM_OR,
    SASSEMU_NVSHMEM_XOR,
    SASSEMU_NVSHMEM_SWAP,
    SASSEMU_NVSHMEM_COMPARE,
    SASSEMU_NVSHMEM_FENCE,
    SASSEMU_NVSHMEM_QUIET,
    SASSEMU_NVSHMEM_MET /* the PE has met the others: it sees what has arrived before */
};

/* How a request is answered. */
enum sassemu_nvshmem_answer {
    SASSEMU_NVSHMEM_NONE,    /* not at all */
    SASSEMU_NVSHMEM_TAKEN,   /* as soon as the source has been read */
    SASSEMU_NVSHMEM_COMPLETE /* once it is done */
};

/* A slot of the ring (bounded queue with a turn in each slot: Vyukov 2010). Slot i of n begins with
 * turn i. Who has ticket t writes slot t % n once its turn is t, and sets it to t + 1; the proxy
 * sets it to t + 2 with an answer, and who is last to t + n. */
struct sassemu_nvshmem_request {
    uint64_t turn;
    uint32_t operation, answer;
    int32_t pe;
    uint32_t width;
    uint64_t grid; /* who asks: the launch, the CTA in it, and which of its threads */
    uint32_t cta;
    uint16_t first_thread, threads;
    uint64_t remote; /* bytes from the start of the heap */
    uint64_t local;  /* an address: the source of a put, where a get or a fetched value goes; 0:
                        `value`  is what a put stores, and what was fetched is the answer only */
    uint64_t bytes;
    uint64_t value, compare;
    uint64_t
        signal; /* of a put, the word that is changed behind it: bytes from the start of the heap */
    uint64_t signal_value;
    uint32_t signal_operation; /* ADD or SWAP; 0 (a put): there is none */
    uint32_t fetches;          /* the value that was there is wanted */
    uint64_t result;           /* the answer's */
};
struct sassemu_nvshmem_ring {
    uint64_t tickets; /* the next one */
    uint64_t pad[15];
    /* struct sassemu_nvshmem_request slots[ring_slots] */
};

#endif
