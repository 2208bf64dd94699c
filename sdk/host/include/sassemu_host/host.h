/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a process of its own: attaches to `sassemu run PLAN --listen unix:PATH` and works on
 * the plan's memory while its kernels run. What belongs here: what such a process may ask for.
 * Link libsassemu_host; nothing of the emulator is needed. host.hpp is the same for C++20.
 *
 * Every access is made by the emulator in its scheduler's order and is one of the host, of system
 * scope: the memory model and plugins see it as such. Each is ordered after those before it, and
 * before those behind it, for all GPUs; behind each write there is a fence of system scope.
 *
 * Units: sizes and offsets are bytes, times nanoseconds of the wall clock. Values are in the byte
 * order of the machine.
 *
 * Errors: functions return a status, SASSEMU_HOST_OK (0) if all is well; sassemu_host_error() is
 * then one line that says what and where. No function changes what its arguments point to if it
 * fails, but for reads and copies of several pieces, which may have been made in part.
 *
 * Threads: any may call. Calls of one attachment are made one after the other, so a wait keeps the
 * others waiting; a thread that has to act meanwhile attaches for itself. sassemu_host_detach() is
 * the last call of all. */
#ifndef SASSEMU_HOST_PROCESS_H
#define SASSEMU_HOST_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sassemu_attachment sassemu_attachment;

typedef enum sassemu_host_status {
    SASSEMU_HOST_OK = 0,
    SASSEMU_HOST_USAGE = 1, /* an argument that cannot be: size, alignment, address, name */
    SASSEMU_HOST_REFUSED =
        2, /* the emulator will not: a limit, another version, memory not shared */
    SASSEMU_HOST_OUTSIDE = 3, /* not in the buffer, or the buffer is no more */
    SASSEMU_HOST_TIMEOUT = 4, /* of a wait: the time is over and the condition does not hold */
    SASSEMU_HOST_ENDED = 5,   /* the launches have ended, so what is waited for cannot come */
    SASSEMU_HOST_GONE = 6,    /* the emulator is not there (any more) */
    SASSEMU_HOST_SYSTEM = 7   /* this process's system refused: memory, sockets */
} sassemu_host_status;

/* Why the last call of this thread that failed did so: one line. Good until the thread's next. */
const char* sassemu_host_error(void);

#define SASSEMU_HOST_FOREVER ((int64_t)-1)

typedef struct sassemu_host_options {
    uint32_t size; /* sizeof this struct */
    /* Not 0: launches that have not begun wait for sassemu_host_begin() of this attachment, or its
     * end. So memory can be filled and registered before. */
    uint32_t hold;
    int64_t patience; /* so long attaching is tried again while nobody listens at the address */
} sassemu_host_options;

/* address: "unix:PATH", as the emulator's --listen. options: NULL is no hold and no patience.
 * REFUSED: another version, or too many are attached (--clients). */
int sassemu_host_attach(const char* address, const sassemu_host_options* options,
                        sassemu_attachment** attachment);
/* Ends what is in `attachment` (NULL: nothing). Memory that it registered is taken back: a kernel
 * that goes on using it gets a fault. Pointers to mapped memory are no longer good. */
void sassemu_host_detach(sassemu_attachment* attachment);
/* Launches need not wait for this one any more. */
int sassemu_host_begin(sassemu_attachment* attachment);

/* ---- buffers: those of the plan, and memory that was registered. */

typedef enum sassemu_host_kind {
    SASSEMU_HOST_DEVICE = 0,
    SASSEMU_HOST_PINNED = 1, /* the plan's kind "host" */
    SASSEMU_HOST_MANAGED = 2,
    SASSEMU_HOST_PEER = 3,
    SASSEMU_HOST_SYMMETRIC = 4, /* NVSHMEM's: each PE has one, `gpu` says whose */
    SASSEMU_HOST_REGISTERED = 5
} sassemu_host_kind;

typedef struct sassemu_host_buffer {
    uint32_t id;      /* what the functions below take; never given twice */
    uint32_t kind;    /* sassemu_host_kind */
    uint32_t gpu;     /* whose memory it is; of the host's: 0 */
    uint32_t shared;  /* not 0: sassemu_host_map() gives its memory */
    uint64_t address; /* as kernels know it */
    uint64_t bytes;
    const char* name; /* as the plan has it; good until detaching */
} sassemu_host_buffer;

/* All buffers at the time of attaching, in the order of the plan: *list has *count of them, good
 * until detaching. */
int sassemu_host_buffers(sassemu_attachment* attachment, const sassemu_host_buffer** list,
                         size_t* count);
/* The first one of that name. OUTSIDE: there is none. */
int sassemu_host_find(sassemu_attachment* attachment, const char* name,
                      sassemu_host_buffer* buffer);

/* Where the buffer's own bytes are in this process, for plain loads and stores (atomic ones where
 * kernels run). Only under the flat model without plugins: the others have to see each access, and
 * this is REFUSED. What is stored there is ordered before the next call. */
int sassemu_host_map(sassemu_attachment* attachment, uint32_t buffer, void** pointer);

/* New memory of this process that kernels of all GPUs reach: `bytes` (1 to 2^40) zeros. address: as
 * kernels are to know it, a multiple of 4096, or 0: the emulator chooses (buffer->address).
 * *pointer: as of sassemu_host_map(), NULL where that would be REFUSED; pointer may be NULL. At
 * most 256 of one attachment. */
int sassemu_host_register(sassemu_attachment* attachment, const char* name, uint64_t bytes,
                          uint64_t address, sassemu_host_buffer* buffer, void** pointer);
/* Kernels that still use it get a fault. Only what this attachment registered. */
int sassemu_host_unregister(sassemu_attachment* attachment, uint32_t buffer);

/* ---- accesses: `offset` from the buffer's beginning. */

/* 1, 2, 4, 8 or 16 bytes, aligned; up to 8 at once, 16 as two of 8. */
int sassemu_host_load(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset, void* value,
                      uint32_t bytes);
int sassemu_host_store(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset,
                       const void* value, uint32_t bytes);
/* A store of 1 to 8 bytes with release at system scope: all that this thread has stored before,
 * also through mapped memory, is seen by who has seen it. */
int sassemu_host_ring(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset,
                      uint64_t value, uint32_t bytes);
/* Any number of bytes at any place, in pieces of at most 1 MiB; kernels run between pieces. */
int sassemu_host_read(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset, void* to,
                      uint64_t bytes);
int sassemu_host_write(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset,
                       const void* from, uint64_t bytes);
/* From buffer to buffer. Not for places that overlap. */
int sassemu_host_copy(sassemu_attachment* attachment, uint32_t to, uint64_t to_offset,
                      uint32_t from, uint64_t from_offset, uint64_t bytes);

typedef enum sassemu_host_operator {
    SASSEMU_HOST_ADD = 1,
    SASSEMU_HOST_MIN = 2,
    SASSEMU_HOST_MAX = 3,
    SASSEMU_HOST_INC = 4, /* old >= operand ? 0 : old + 1 */
    SASSEMU_HOST_DEC = 5, /* old == 0 || old > operand ? operand : old - 1 */
    SASSEMU_HOST_AND = 6,
    SASSEMU_HOST_OR = 7,
    SASSEMU_HOST_XOR = 8,
    SASSEMU_HOST_EXCHANGE = 9,
    SASSEMU_HOST_COMPARE = 10 /* old == operand ? swap : old */
} sassemu_host_operator;
typedef enum sassemu_host_type {
    SASSEMU_HOST_U32 = 0,
    SASSEMU_HOST_S32 = 1,
    SASSEMU_HOST_U64 = 2,
    SASSEMU_HOST_S64 = 3,
    SASSEMU_HOST_F16X2 = 4,
    SASSEMU_HOST_BF16X2 = 5,
    SASSEMU_HOST_F32 = 6,
    SASSEMU_HOST_F64 = 7,
    SASSEMU_HOST_F16X2_RN = 8,
    SASSEMU_HOST_B128 = 9
} sassemu_host_type;

/* An atomic as kernels have them. bytes: 4, 8 or 16 by the type, or 2 for a COMPARE of U32 on 16
 * bits. Integers of 4 and 8 bytes have all operators, F32 and F64 ADD, the pairs of 16-bit numbers
 * ADD, MIN and MAX, B128 EXCHANGE and COMPARE. operand, swap (COMPARE only, else NULL) and old (may
 * be NULL; what was there) have so many bytes. USAGE: there is no such atomic, or the place is not
 * aligned. */
int sassemu_host_atomic(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset,
                        sassemu_host_operator op, sassemu_host_type type, uint32_t bytes,
                        const void* operand, const void* swap, void* old);

/* v the value in memory, w the one that is given. */
typedef enum sassemu_host_test {
    SASSEMU_HOST_AT_LEAST = 0, /* the difference v - w, taken as signed, is not negative */
    SASSEMU_HOST_EQUAL = 1,
    SASSEMU_HOST_ANY_BIT = 2,   /* v & w is not 0 */
    SASSEMU_HOST_CLEAR_BIT = 3, /* ~(v | w) is not 0 */
    SASSEMU_HOST_NOT_EQUAL = 4
} sassemu_host_test;

/* Until the value of 4 or 8 bytes, aligned, passes the test: an acquire of system scope. timeout: 0
 * looks once, SASSEMU_HOST_FOREVER has no end but that of the launches (ENDED). While all attached
 * processes wait without a timeout and have no memory mapped, none of them can act: kernels that
 * wait for them then are a deadlock, which the emulator reports. */
int sassemu_host_wait(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset,
                      uint32_t bytes, sassemu_host_test test, uint64_t value, int64_t timeout);

/* Until all launches of the plan have ended. *outcome (may be NULL): how, one line, as in the run's
 * report: "ok", "deadlock", "fault:out-of-bounds", ...; good until detaching. Memory may be read
 * and written as before until detaching; the emulator compares the plan's results once all have
 * detached. */
int sassemu_host_finish(sassemu_attachment* attachment, int64_t timeout, const char** outcome);

#ifdef __cplusplus
}
#endif

#endif
