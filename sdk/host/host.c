/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of host.h: arguments that are checked here, requests that are put together. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define fail sassemu_wire_fail
#define ask sassemu_wire_ask

static int locked(sassemu_attachment* a, sassemu_wire_request* request, const void* payload,
                  sassemu_wire_answer* answer, void* to, size_t room, size_t* got) {
    if (!a) return fail(SASSEMU_HOST_USAGE, "there is no attachment");
    pthread_mutex_lock(&a->mutex);
    const int status = ask(a, request, payload, -1, answer, to, room, got, NULL);
    pthread_mutex_unlock(&a->mutex);
    return status;
}

/* ---- attaching */

static window* add(sassemu_attachment* a, const sassemu_host_buffer* about, const char* name,
                   size_t name_bytes) {
    window* grown = realloc(a->windows, (a->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    a->windows = grown;
    window* w = &grown[a->count];
    *w = (window){.about = *about, .name = strndup(name, name_bytes)};
    if (!w->name) return NULL;
    w->about.name = w->name;
    ++a->count;
    return w;
}

static int fetch_list(sassemu_attachment* a) {
    char* list = malloc(SASSEMU_WIRE_PIECE);
    int status = list ? SASSEMU_HOST_OK : fail(SASSEMU_HOST_SYSTEM, "no memory");
    size_t got = 1;
    while (status == SASSEMU_HOST_OK && got) {
        sassemu_wire_request request = {.what = SASSEMU_WIRE_LIST, .offset = a->count};
        status = ask(a, &request, NULL, -1, NULL, list, SASSEMU_WIRE_PIECE, &got, NULL);
        for (size_t at = 0; status == SASSEMU_HOST_OK && at < got;) {
            sassemu_wire_window w = {0};
            if (got - at >= sizeof w) memcpy(&w, list + at, sizeof w);
            at += sizeof w;
            if (at > got || w.name_bytes > got - at) {
                status = sassemu_wire_ended(a);
                break;
            }
            const sassemu_host_buffer about = {w.id,      w.kind,  w.gpu, w.shared,
                                               w.address, w.bytes, NULL};
            if (!add(a, &about, list + at, w.name_bytes))
                status = fail(SASSEMU_HOST_SYSTEM, "no memory");
            at += w.name_bytes;
        }
    }
    free(list);
    if (status != SASSEMU_HOST_OK) return status;
    a->listed = a->count;
    a->list = calloc(a->count ? a->count : 1, sizeof *a->list);
    if (!a->list) return fail(SASSEMU_HOST_SYSTEM, "no memory");
    for (size_t i = 0; i < a->count; ++i) a->list[i] = a->windows[i].about;
    return SASSEMU_HOST_OK;
}

static void destroy(sassemu_attachment* a) {
    if (a->socket >= 0) close(a->socket);
    for (size_t i = 0; i < a->count; ++i) {
        if (a->windows[i].mapping) munmap(a->windows[i].mapping, a->windows[i].mapped);
        free(a->windows[i].name);
    }
    free(a->windows);
    free(a->list);
    free(a->outcome);
    pthread_mutex_destroy(&a->mutex);
    free(a);
}

int sassemu_host_attach(const char* address, const sassemu_host_options* options,
                        sassemu_attachment** attachment) {
    if (!address || !attachment)
        return fail(SASSEMU_HOST_USAGE, "no address, or nowhere to attach");
    if (strncmp(address, "unix:", 5) != 0)
        return fail(SASSEMU_HOST_USAGE, "address '%.200s': is none of an emulator's; unix:PATH",
                    address);
    if (options && options->size < sizeof *options)
        return fail(SASSEMU_HOST_USAGE, "options: `size` is %u", options->size);
    sassemu_attachment* a = calloc(1, sizeof *a);
    if (!a) return fail(SASSEMU_HOST_SYSTEM, "no memory");
    pthread_mutex_init(&a->mutex, NULL);
    a->socket = -1;
    int status = sassemu_wire_dial(address + 5, options ? options->patience : 0, &a->socket);
    if (status == SASSEMU_HOST_OK) status = sassemu_wire_greet(a, options ? options->hold : 0);
    if (status == SASSEMU_HOST_OK) status = fetch_list(a);
    if (status != SASSEMU_HOST_OK) {
        destroy(a);
        return status;
    }
    *attachment = a;
    return SASSEMU_HOST_OK;
}

void sassemu_host_detach(sassemu_attachment* a) {
    if (!a) return;
    sassemu_wire_request request = {.what = SASSEMU_WIRE_DETACH};
    pthread_mutex_lock(&a->mutex);
    if (a->socket >= 0) (void)ask(a, &request, NULL, -1, NULL, NULL, 0, NULL, NULL);
    pthread_mutex_unlock(&a->mutex);
    destroy(a);
}

int sassemu_host_begin(sassemu_attachment* a) {
    sassemu_wire_request request = {.what = SASSEMU_WIRE_BEGIN};
    return locked(a, &request, NULL, NULL, NULL, 0, NULL);
}

/* ---- buffers */

int sassemu_host_buffers(sassemu_attachment* a, const sassemu_host_buffer** list, size_t* count) {
    if (!a || !list || !count)
        return fail(SASSEMU_HOST_USAGE, "there is no attachment or no place");
    *list = a->list;
    *count = a->listed;
    return SASSEMU_HOST_OK;
}

int sassemu_host_find(sassemu_attachment* a, const char* name, sassemu_host_buffer* buffer) {
    if (!a || !name || !buffer)
        return fail(SASSEMU_HOST_USAGE, "there is no attachment or no name");
    int status = SASSEMU_HOST_OUTSIDE;
    pthread_mutex_lock(&a->mutex);
    for (size_t i = 0; i < a->count && status != SASSEMU_HOST_OK; ++i) {
        if (strcmp(a->windows[i].name, name) != 0) continue;
        *buffer = a->windows[i].about;
        status = SASSEMU_HOST_OK;
    }
    pthread_mutex_unlock(&a->mutex);
    return status == SASSEMU_HOST_OK ? status : fail(status, "there is no buffer '%.200s'", name);
}

static window* find(sassemu_attachment* a, uint32_t id) {
    for (size_t i = 0; i < a->count; ++i)
        if (a->windows[i].about.id == id) return &a->windows[i];
    return NULL;
}

static int map_descriptor(window* w, int descriptor, size_t front) {
    const size_t bytes = (front + w->about.bytes + page_bytes - 1) / page_bytes * page_bytes;
    void* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED)
        return fail(SASSEMU_HOST_SYSTEM, "buffer '%s' cannot be mapped: %s", w->name,
                    strerror(errno));
    w->mapping = at;
    w->mapped = bytes;
    w->front = front;
    return SASSEMU_HOST_OK;
}

int sassemu_host_map(sassemu_attachment* a, uint32_t buffer, void** pointer) {
    if (!a || !pointer) return fail(SASSEMU_HOST_USAGE, "there is no attachment or no place");
    pthread_mutex_lock(&a->mutex);
    window* w = find(a, buffer);
    int status = w ? SASSEMU_HOST_OK : fail(SASSEMU_HOST_OUTSIDE, "there is no buffer %u", buffer);
    if (w && !w->mapping) {
        sassemu_wire_request request = {.what = SASSEMU_WIRE_MAP, .window = buffer};
        sassemu_wire_answer answer;
        int descriptor = -1;
        status = ask(a, &request, NULL, -1, &answer, NULL, 0, NULL, &descriptor);
        if (status == SASSEMU_HOST_OK) status = map_descriptor(w, descriptor, answer.value[0]);
        if (descriptor >= 0) close(descriptor);
    }
    if (status == SASSEMU_HOST_OK) *pointer = (char*)w->mapping + w->front;
    pthread_mutex_unlock(&a->mutex);
    return status;
}

/* New memory that nobody can make smaller. */
static int make_memory(uint64_t bytes, int* descriptor) {
    const int made = memfd_create("sassemu host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const uint64_t pages = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (made < 0 || ftruncate(made, (off_t)pages) ||
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        const int why = errno;
        if (made >= 0) close(made);
        return fail(SASSEMU_HOST_SYSTEM, "no memory to register: %s", strerror(why));
    }
    *descriptor = made;
    return SASSEMU_HOST_OK;
}

static int register_locked(sassemu_attachment* a, const char* name, uint64_t bytes,
                           uint64_t address, sassemu_host_buffer* buffer, void** pointer) {
    int memory = -1;
    int status = a->shared ? make_memory(bytes, &memory) : SASSEMU_HOST_OK;
    sassemu_wire_request request = {.what = SASSEMU_WIRE_REGISTER,
                                    .payload = (uint32_t)strlen(name),
                                    .offset = address,
                                    .bytes = bytes};
    sassemu_wire_answer answer;
    if (status == SASSEMU_HOST_OK)
        status = ask(a, &request, name, memory, &answer, NULL, 0, NULL, NULL);
    if (status == SASSEMU_HOST_OK) {
        const sassemu_host_buffer about = {(uint32_t)answer.value[0],
                                           SASSEMU_HOST_REGISTERED,
                                           0,
                                           a->shared,
                                           answer.value[1],
                                           bytes,
                                           NULL};
        window* w = add(a, &about, name, strlen(name));
        if (!w) status = fail(SASSEMU_HOST_SYSTEM, "no memory");
        if (w && memory >= 0) status = map_descriptor(w, memory, 0);
        if (status != SASSEMU_HOST_OK) {
            char why[512];
            strncpy(why, sassemu_host_error(), sizeof why - 1);
            why[sizeof why - 1] = 0;
            sassemu_wire_request back = {.what = SASSEMU_WIRE_UNREGISTER, .window = about.id};
            (void)ask(a, &back, NULL, -1, NULL, NULL, 0, NULL, NULL);
            (void)fail(status, "%s", why);
        } else {
            *buffer = w->about;
            if (pointer) *pointer = w->mapping;
        }
    }
    if (memory >= 0) close(memory);
    return status;
}

int sassemu_host_register(sassemu_attachment* a, const char* name, uint64_t bytes, uint64_t address,
                          sassemu_host_buffer* buffer, void** pointer) {
    if (!a || !name || !buffer)
        return fail(SASSEMU_HOST_USAGE, "there is no attachment or no name");
    if (!name[0] || strlen(name) > 255)
        return fail(SASSEMU_HOST_USAGE, "a name of registered memory has 1 to 255 bytes");
    if (!bytes || bytes > UINT64_C(1) << 40 || address % page_bytes)
        return fail(SASSEMU_HOST_USAGE,
                    "memory '%s': 1 to 2^40 bytes are registered, at a multiple of 4096", name);
    pthread_mutex_lock(&a->mutex);
    const int status = register_locked(a, name, bytes, address, buffer, pointer);
    pthread_mutex_unlock(&a->mutex);
    return status;
}

int sassemu_host_unregister(sassemu_attachment* a, uint32_t buffer) {
    if (!a) return fail(SASSEMU_HOST_USAGE, "there is no attachment");
    sassemu_wire_request request = {.what = SASSEMU_WIRE_UNREGISTER, .window = buffer};
    pthread_mutex_lock(&a->mutex);
    const int status = ask(a, &request, NULL, -1, NULL, NULL, 0, NULL, NULL);
    window* w = find(a, buffer);
    if (status == SASSEMU_HOST_OK && w && w->mapping) {
        munmap(w->mapping, w->mapped);
        w->mapping = NULL;
    }
    pthread_mutex_unlock(&a->mutex);
    return status;
}

/* ---- accesses */

static int is_size(uint32_t bytes, uint32_t most) {
    return bytes && bytes <= most && !(bytes & (bytes - 1));
}

static int bad_value(const char* what, uint64_t offset, uint32_t bytes, uint32_t most) {
    if (is_size(bytes, most) && offset % bytes == 0) return 0;
    return fail(SASSEMU_HOST_USAGE,
                "%s of %u bytes at offset %llu: 1, 2, 4, ... %u bytes, aligned to their size", what,
                bytes, (unsigned long long)offset, most);
}

int sassemu_host_load(sassemu_attachment* a, uint32_t buffer, uint64_t offset, void* value,
                      uint32_t bytes) {
    if (bad_value("load", offset, bytes, 16)) return SASSEMU_HOST_USAGE;
    return sassemu_host_read(a, buffer, offset, value, bytes);
}

int sassemu_host_store(sassemu_attachment* a, uint32_t buffer, uint64_t offset, const void* value,
                       uint32_t bytes) {
    if (bad_value("store", offset, bytes, 16)) return SASSEMU_HOST_USAGE;
    return sassemu_host_write(a, buffer, offset, value, bytes);
}

int sassemu_host_ring(sassemu_attachment* a, uint32_t buffer, uint64_t offset, uint64_t value,
                      uint32_t bytes) {
    if (bad_value("doorbell", offset, bytes, 8)) return SASSEMU_HOST_USAGE;
    sassemu_wire_request request = {.what = SASSEMU_WIRE_VALUE,
                                    .window = buffer,
                                    .offset = offset,
                                    .bytes = bytes,
                                    .operand = {value, 0}};
    return locked(a, &request, NULL, NULL, NULL, 0, NULL);
}

static uint64_t piece_of(uint64_t left) {
    return left < SASSEMU_WIRE_PIECE ? left : SASSEMU_WIRE_PIECE;
}

int sassemu_host_read(sassemu_attachment* a, uint32_t buffer, uint64_t offset, void* to,
                      uint64_t bytes) {
    int status = SASSEMU_HOST_OK;
    uint64_t at = 0;
    do {
        const uint64_t piece = piece_of(bytes - at);
        sassemu_wire_request request = {
            .what = SASSEMU_WIRE_READ, .window = buffer, .offset = offset + at, .bytes = piece};
        size_t got = 0;
        status = locked(a, &request, NULL, NULL, (char*)to + at, piece, &got);
        if (status == SASSEMU_HOST_OK && got != piece)
            status = fail(SASSEMU_HOST_GONE, "the emulator's answer is not whole");
        at += piece;
    } while (status == SASSEMU_HOST_OK && at < bytes);
    return status;
}

int sassemu_host_write(sassemu_attachment* a, uint32_t buffer, uint64_t offset, const void* from,
                       uint64_t bytes) {
    int status = SASSEMU_HOST_OK;
    uint64_t at = 0;
    do {
        const uint64_t piece = piece_of(bytes - at);
        sassemu_wire_request request = {.what = SASSEMU_WIRE_WRITE,
                                        .payload = (uint32_t)piece,
                                        .window = buffer,
                                        .offset = offset + at,
                                        .bytes = piece};
        status = locked(a, &request, (const char*)from + at, NULL, NULL, 0, NULL);
        at += piece;
    } while (status == SASSEMU_HOST_OK && at < bytes);
    return status;
}

int sassemu_host_copy(sassemu_attachment* a, uint32_t to, uint64_t to_offset, uint32_t from,
                      uint64_t from_offset, uint64_t bytes) {
    int status = SASSEMU_HOST_OK;
    uint64_t at = 0;
    do {
        const uint64_t piece = piece_of(bytes - at);
        sassemu_wire_request request = {.what = SASSEMU_WIRE_COPY,
                                        .window = to,
                                        .from_window = from,
                                        .offset = to_offset + at,
                                        .from_offset = from_offset + at,
                                        .bytes = piece};
        status = locked(a, &request, NULL, NULL, NULL, 0, NULL);
        at += piece;
    } while (status == SASSEMU_HOST_OK && at < bytes);
    return status;
}

int sassemu_host_atomic(sassemu_attachment* a, uint32_t buffer, uint64_t offset,
                        sassemu_host_operator op, sassemu_host_type type, uint32_t bytes,
                        const void* operand, const void* swap, void* old) {
    if (!is_size(bytes, 16) || offset % bytes || !operand || (op == SASSEMU_HOST_COMPARE) != !!swap)
        return fail(SASSEMU_HOST_USAGE,
                    "atomic of %u bytes at offset %llu: 2, 4, 8 or 16 bytes, aligned, with an "
                    "operand, and a swap for COMPARE only",
                    bytes, (unsigned long long)offset);
    sassemu_wire_request request = {.what = SASSEMU_WIRE_ATOMIC,
                                    .window = buffer,
                                    .offset = offset,
                                    .bytes = bytes,
                                    .op = (uint32_t)op,
                                    .type = (uint32_t)type};
    memcpy(request.operand, operand, bytes);
    if (swap) memcpy(request.swap, swap, bytes);
    sassemu_wire_answer answer;
    const int status = locked(a, &request, NULL, &answer, NULL, 0, NULL);
    if (status == SASSEMU_HOST_OK && old) memcpy(old, answer.value, bytes);
    return status;
}

int sassemu_host_wait(sassemu_attachment* a, uint32_t buffer, uint64_t offset, uint32_t bytes,
                      sassemu_host_test test, uint64_t value, int64_t timeout) {
    if ((bytes != 4 && bytes != 8) || offset % bytes || (uint32_t)test > SASSEMU_HOST_NOT_EQUAL)
        return fail(
            SASSEMU_HOST_USAGE,
            "wait for %u bytes at offset %llu: 4 or 8 bytes, aligned, one of the five tests", bytes,
            (unsigned long long)offset);
    sassemu_wire_request request = {.what = SASSEMU_WIRE_WAIT,
                                    .window = buffer,
                                    .offset = offset,
                                    .bytes = bytes,
                                    .op = (uint32_t)test,
                                    .operand = {value, 0},
                                    .timeout = timeout};
    return locked(a, &request, NULL, NULL, NULL, 0, NULL);
}

int sassemu_host_finish(sassemu_attachment* a, int64_t timeout, const char** outcome) {
    if (!a) return fail(SASSEMU_HOST_USAGE, "there is no attachment");
    sassemu_wire_request request = {.what = SASSEMU_WIRE_FINISH, .timeout = timeout};
    char text[512];
    size_t got = 0;
    pthread_mutex_lock(&a->mutex);
    int status = ask(a, &request, NULL, -1, NULL, text, sizeof text, &got, NULL);
    if (status == SASSEMU_HOST_OK && !a->outcome) a->outcome = strndup(text, got);
    if (status == SASSEMU_HOST_OK && !a->outcome) status = fail(SASSEMU_HOST_SYSTEM, "no memory");
    if (status == SASSEMU_HOST_OK && outcome) *outcome = a->outcome;
    pthread_mutex_unlock(&a->mutex);
    return status;
}
