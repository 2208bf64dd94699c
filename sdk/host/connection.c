/* SPDX-License-Identifier: Apache-2.0 */
/* An attachment's socket: one request and its answer at a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

static _Thread_local char error_line[512];

const char* sassemu_host_error(void) { return error_line; }

int sassemu_wire_fail(int status, const char* format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error_line, sizeof error_line, format, args);
    va_end(args);
    return status;
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int sassemu_wire_ended(sassemu_attachment* a) {
    if (a->socket >= 0) close(a->socket);
    a->socket = -1;
    if (!a->farewell[0]) snprintf(a->farewell, sizeof a->farewell, "the emulator has ended");
    return sassemu_wire_fail(SASSEMU_HOST_GONE, "%s", a->farewell);
}

/* All of it, the descriptor with the first byte. */
static int send_all(int socket, const void* data, size_t bytes, int descriptor) {
    const char* at = data;
    while (bytes) {
        struct iovec piece = {(void*)(uintptr_t)at, bytes};
        struct msghdr message = {0};
        char control[CMSG_SPACE(sizeof(int))] = {0};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        if (descriptor >= 0) {
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            struct cmsghdr* head = CMSG_FIRSTHDR(&message);
            head->cmsg_level = SOL_SOCKET;
            head->cmsg_type = SCM_RIGHTS;
            head->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
        }
        const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return -1;
        descriptor = -1;
        at += sent;
        bytes -= (size_t)sent;
    }
    return 0;
}

/* descriptor: where one that comes along is put; NULL: nowhere. */
static int receive_all(int socket, void* data, size_t bytes, int* descriptor) {
    char* at = data;
    while (bytes) {
        struct iovec piece = {at, bytes};
        struct msghdr message = {0};
        char control[CMSG_SPACE(sizeof(int))];
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = descriptor ? control : NULL;
        message.msg_controllen = descriptor ? sizeof control : 0;
        const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        struct cmsghdr* head = descriptor ? CMSG_FIRSTHDR(&message) : NULL;
        if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
        at += got;
        bytes -= (size_t)got;
    }
    return 0;
}

int sassemu_wire_ask(sassemu_attachment* a, sassemu_wire_request* request, const void* payload,
                     int descriptor, sassemu_wire_answer* answer, void* to, size_t room,
                     size_t* got, int* received) {
    sassemu_wire_answer own;
    if (!answer) answer = &own;
    if (a->socket < 0) return sassemu_wire_fail(SASSEMU_HOST_GONE, "%s", a->farewell);
    /* What was stored through mapped memory comes first. */
    atomic_thread_fence(memory_order_seq_cst);
    int sent = send_all(a->socket, request, sizeof *request, descriptor);
    if (!sent && request->payload) sent = send_all(a->socket, payload, request->payload, -1);
    /* An emulator that has ended has said farewell, which lies in the socket. */
    int come = receive_all(a->socket, answer, sizeof *answer, received);
    if (come && sent) come = receive_all(a->socket, answer, sizeof *answer, received);
    if (come) return sassemu_wire_ended(a);
    if (answer->status != SASSEMU_HOST_OK) {
        char why[sizeof error_line] = "";
        if (answer->payload < sizeof why && receive_all(a->socket, why, answer->payload, NULL) == 0)
            why[answer->payload] = 0;
        else
            return sassemu_wire_ended(a);
        if (answer->status == SASSEMU_HOST_GONE) {
            snprintf(a->farewell, sizeof a->farewell, "%s", why);
            return sassemu_wire_ended(a);
        }
        return sassemu_wire_fail(answer->status, "%s", why);
    }
    if (answer->payload > room) return sassemu_wire_ended(a);
    if (answer->payload && receive_all(a->socket, to, answer->payload, NULL))
        return sassemu_wire_ended(a);
    if (got) *got = answer->payload;
    atomic_thread_fence(memory_order_seq_cst);
    return SASSEMU_HOST_OK;
}

int sassemu_wire_greet(sassemu_attachment* a, uint32_t hold) {
    sassemu_wire_hello hello = {.version = SASSEMU_WIRE_VERSION,
                                .flags = hold ? SASSEMU_WIRE_HOLD : 0};
    memcpy(hello.magic, SASSEMU_WIRE_MAGIC, sizeof hello.magic);
    sassemu_wire_welcome welcome;
    /* A refusal may have come before the hello was read. */
    (void)send_all(a->socket, &hello, sizeof hello, -1);
    if (receive_all(a->socket, &welcome, sizeof welcome, NULL))
        return sassemu_wire_fail(SASSEMU_HOST_GONE,
                                 "the emulator has ended, or takes nobody any more");
    if (memcmp(welcome.magic, SASSEMU_WIRE_MAGIC, sizeof welcome.magic) != 0)
        return sassemu_wire_fail(SASSEMU_HOST_REFUSED,
                                 "who listens there is no emulator that takes hosts");
    if (welcome.status != SASSEMU_HOST_OK) {
        char why[sizeof error_line] = "";
        if (welcome.payload < sizeof why) (void)receive_all(a->socket, why, welcome.payload, NULL);
        return sassemu_wire_fail(welcome.status, "%s", why[0] ? why : "refused");
    }
    a->shared = welcome.flags & SASSEMU_WIRE_SHARED;
    return SASSEMU_HOST_OK;
}

int sassemu_wire_dial(const char* path, int64_t patience, int* to) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof at.sun_path)
        return sassemu_wire_fail(SASSEMU_HOST_USAGE,
                                 "address 'unix:%.120s': a socket's path has 1 to %zu bytes", path,
                                 sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path));
    const int64_t end = now() + patience;
    for (;;) {
        const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made < 0)
            return sassemu_wire_fail(SASSEMU_HOST_SYSTEM, "no socket: %s", strerror(errno));
        if (!connect(made, (const struct sockaddr*)&at, sizeof at)) {
            *to = made;
            return SASSEMU_HOST_OK;
        }
        const int why = errno;
        close(made);
        const int absent = why == ENOENT || why == ECONNREFUSED || why == EAGAIN;
        if (!absent || now() >= end)
            return sassemu_wire_fail(SASSEMU_HOST_GONE, "address 'unix:%s': %s%s", path,
                                     strerror(why), absent ? "; no emulator listens there" : "");
        const struct timespec moment = {0, 2000000};
        nanosleep(&moment, NULL);
    }
}
