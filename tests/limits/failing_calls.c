// SPDX-License-Identifier: Apache-2.0
// Preloaded: the allocation FAIL_AT fails (and with FAIL_ON all after it), or the write()
// FAIL_WRITE finds the disk full; SHORT_WRITES makes every write() of more than one byte a short
// one. Without FAIL_AT the number of allocations is written to descriptor 9 at the end. No thread
// is made from the FAIL_THREAD-th on; THREADS_TO is a file that gets a byte for each that was asked
// for, 't' where libtbb asked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static atomic_long allocations, writes, threads;
static long fail_at, fail_write, fail_thread;
static const char* threads_to;
static int fail_on, short_writes, started;

// Counts from main() on: before it nobody can catch what a library's initialisers throw.
static int (*program)(int, char**, char**);
static int begin(int count, char** arguments, char** environment) {
    const char* text = getenv("FAIL_AT");
    fail_at = text ? atol(text) : 0;
    text = getenv("FAIL_WRITE");
    fail_write = text ? atol(text) : 0;
    text = getenv("FAIL_THREAD");
    fail_thread = text ? atol(text) : 0;
    threads_to = getenv("THREADS_TO");
    fail_on = getenv("FAIL_ON") != NULL;
    short_writes = getenv("SHORT_WRITES") != NULL;
    started = 1;
    return program(count, arguments, environment);
}

int __libc_start_main(int (*own)(int, char**, char**), int count, char** arguments,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void* end) {
    typedef int start(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
                      void (*)(void), void*);
    program = own;
    start* const next = (start*)dlsym(RTLD_NEXT, "__libc_start_main");
    return next(begin, count, arguments, init, fini, rtld_fini, end);
}

__attribute__((destructor)) static void end(void) {
    char text[32];
    const int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&allocations));
    if (!fail_at) (void)!syscall(SYS_write, 9, text, size);
}

static int by_tbb(const void* code) {
    Dl_info info;
    return dladdr(code, &info) && info.dli_fname && strstr(info.dli_fname, "libtbb");
}

// libtbb looks for its allocator when it is first used. In a thread that has no memory for
// dlopen()'s own error glibc 2.36 ends in a signal (_dlerror_run): nothing of ours can help that.
static __thread int in_tbbs_dlopen;
void* dlopen(const char* file, int mode) {
    typedef void* open(const char*, int);
    open* const next = (open*)dlsym(RTLD_NEXT, "dlopen");
    const int tbbs = by_tbb(__builtin_return_address(0));
    in_tbbs_dlopen += tbbs;
    void* const library = next(file, mode);
    in_tbbs_dlopen -= tbbs;
    return library;
}

static int fails(void) {
    if (!started || in_tbbs_dlopen) return 0;
    const long n = atomic_fetch_add(&allocations, 1) + 1;
    if (!fail_at || (fail_on ? n < fail_at : n != fail_at)) return 0;
    errno = ENOMEM;
    return 1;
}

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* at, size_t size) { return fails() ? NULL : __libc_realloc(at, size); }
void* memalign(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
    if (fails()) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

ssize_t write(int file, const void* bytes, size_t size) {
    if (file > 2 && fail_write && atomic_fetch_add(&writes, 1) + 1 == fail_write) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, short_writes && size > 1 ? (size + 1) / 2 : size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
    typedef int create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    create* const next = (create*)dlsym(RTLD_NEXT, "pthread_create");
    if (threads_to) {
        const char* const who = by_tbb((void*)start) ? "t" : "o";
        const int file = open(threads_to, O_WRONLY | O_APPEND | O_CLOEXEC);
        (void)!syscall(SYS_write, file, who, 1);
        close(file);
    }
    if (fail_thread && atomic_fetch_add(&threads, 1) + 1 >= fail_thread) return EAGAIN;
    return next(thread, attributes, start, argument);
}
