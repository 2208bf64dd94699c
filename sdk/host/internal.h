/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libsassemu_host share: an attachment, and its connection (connection.c). */
#ifndef SASSEMU_HOST_INTERNAL_H
#define SASSEMU_HOST_INTERNAL_H

#include <pthread.h>

#include "sassemu_host/host.h"
#include "wire.h"

enum { page_bytes = 4096 };

typedef struct window {
    sassemu_host_buffer about;
    char* name;
    void* mapping; /* NULL: not mapped */
    size_t mapped; /* bytes of it */
    size_t front;  /* where the buffer begins in it */
} window;

struct sassemu_attachment {
    pthread_mutex_t mutex;
    int socket; /* -1: the connection has ended */
    uint32_t shared;
    window* windows; /* by the order of their ids */
    size_t count, listed;
    sassemu_host_buffer* list; /* the first `listed` of them, as at attaching */
    char* outcome;
    char farewell[512]; /* why it has ended */
};

/* Puts the line of sassemu_host_error(), returns the status. */
__attribute__((format(printf, 2, 3))) int sassemu_wire_fail(int status, const char* format, ...);
/* The connection is no more: GONE. */
int sassemu_wire_ended(sassemu_attachment* a);
/* A socket that is connected to *to; tries again for so many nanoseconds. */
int sassemu_wire_dial(const char* path, int64_t patience, int* to);
int sassemu_wire_greet(sassemu_attachment* a, uint32_t hold);
/* One request with `payload`, and its answer, whose payload goes to `to` (at most `room`; *got of
 * them), a descriptor to *received. With the lock. */
int sassemu_wire_ask(sassemu_attachment* a, sassemu_wire_request* request, const void* payload,
                     int descriptor, sassemu_wire_answer* answer, void* to, size_t room,
                     size_t* got, int* received);

#endif
