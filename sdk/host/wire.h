/* SPDX-License-Identifier: Apache-2.0 */
/* What libsassemu_host and the emulator tell each other through the socket: structs as they lie in
 * memory, for both are on one machine. The library sends a hello, then one request at a time; each
 * has one answer. An answer that nobody asked for is the emulator's farewell. */
#ifndef SASSEMU_HOST_WIRE_H
#define SASSEMU_HOST_WIRE_H

#include <stdint.h>

#define SASSEMU_WIRE_MAGIC "SASSHOST"
#define SASSEMU_WIRE_VERSION 1u
#define SASSEMU_WIRE_PIECE (1u << 20) /* bytes of payload, at most */
#define SASSEMU_WIRE_HOLD 1u          /* hello: launches wait for a request `begin` */
#define SASSEMU_WIRE_SHARED 1u        /* welcome: memory may be had */

/* These two are the same in all versions. */
typedef struct sassemu_wire_hello {
    char magic[8];
    uint32_t version, flags;
} sassemu_wire_hello;
typedef struct sassemu_wire_welcome {
    char magic[8];
    uint32_t version, flags;
    int32_t status;   /* sassemu_host_status; not OK: the end of the connection */
    uint32_t payload; /* bytes of text that follow: why */
} sassemu_wire_welcome;

enum {
    SASSEMU_WIRE_LIST =
        1, /* windows from number `offset` on: as many as fit, an empty list is the end */
    SASSEMU_WIRE_BEGIN,
    SASSEMU_WIRE_READ,
    SASSEMU_WIRE_WRITE,
    SASSEMU_WIRE_VALUE, /* a write of one aligned value */
    SASSEMU_WIRE_COPY,  /* from `from_window` */
    SASSEMU_WIRE_ATOMIC,
    SASSEMU_WIRE_WAIT,
    SASSEMU_WIRE_FINISH,
    SASSEMU_WIRE_MAP,      /* the answer has a descriptor */
    SASSEMU_WIRE_REGISTER, /* has one if memory is shared; payload: the name. `offset`: the address
                            */
    SASSEMU_WIRE_UNREGISTER,
    SASSEMU_WIRE_DETACH
};

typedef struct sassemu_wire_request {
    uint32_t what, payload; /* payload: bytes that follow */
    uint32_t window, from_window;
    uint64_t offset, from_offset, bytes;
    uint32_t op, type; /* of an atomic; of a wait op is the test */
    uint64_t operand[2], swap[2];
    int64_t timeout;
} sassemu_wire_request;
typedef struct sassemu_wire_answer {
    int32_t status;    /* sassemu_host_status */
    uint32_t payload;  /* bytes that follow: what was read; not OK: why */
    uint64_t value[2]; /* ATOMIC: what was there. REGISTER: window and address */
} sassemu_wire_answer;

/* Of a list; its name follows. */
typedef struct sassemu_wire_window {
    uint32_t id, kind, gpu, shared;
    uint64_t address, bytes;
    uint32_t name_bytes, zero;
} sassemu_wire_window;

#endif
