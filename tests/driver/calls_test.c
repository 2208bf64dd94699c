/* SPDX-License-Identifier: Apache-2.0 */
/* Every exported function with null, stale and foreign handles and with wrong numbers, before
   cuInit, without a context and with one, by one thread and by four: each returns an error code or
   a success that is one, none crashes. Catches a handle that is used before it is looked up, and a
   null that is written to. */
#include "tests/driver/calls.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static CUcontext context;
static int failures;

static void expect(CUresult got, const char* name) {
    if ((int)got >= 0 && (int)got <= 999) return;
    fprintf(stderr, "%s returned %d\n", name, (int)got);
    ++failures;
}

/* What ends the context or the numbers that others need. */
static int skipped(const char* name) {
    return strstr(name, "PrimaryCtxRe") || strstr(name, "CtxDestroy") ||
           strstr(name, "CtxSynchronize") || strstr(name, "PopCurrent") ||
           strstr(name, "CtxSetCurrent") || strstr(name, "CtxDetach");
}

static void all(uintptr_t foreign, uintptr_t number) {
    for (unsigned i = 0; i < call_count; ++i) {
        if (skipped(every_call[i].name)) continue;
        expect(every_call[i].nulls(foreign, number), every_call[i].name);
        expect(every_call[i].wrong(foreign, number), every_call[i].name);
    }
}

static void* thread(void* seed) {
    cuCtxSetCurrent(context);
    all(0x1234567890abcdefull * (uintptr_t)seed, 77 * (uintptr_t)seed);
    return 0;
}

int main(void) {
    for (unsigned i = 0; i < call_count; ++i) {
        const CUresult early = every_call[i].wrong(0x50, 3);
        if (early == CUDA_SUCCESS && !strstr(every_call[i].name, "cuGet") &&
            !strstr(every_call[i].name, "Version")) {
            fprintf(stderr, "%s succeeded before cuInit\n", every_call[i].name);
            ++failures;
        }
    }
    if (cuInit(0)) return 1;
    all(0x50, 3);
    if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
    CUevent event;
    CUstream stream;
    if (cuEventCreate(&event, 0) || cuEventDestroy_v2(event) || cuStreamCreate(&stream, 0) ||
        cuStreamDestroy_v2(stream))
        return 1;
    /* Stale, of another kind, of nobody, special. */
    const uintptr_t handles[] = {(uintptr_t)event, (uintptr_t)stream, (uintptr_t)context, 1, 2,
                                 0x7fffdeadbee0,   ~(uintptr_t)0};
    const uintptr_t numbers[] = {1, 0, 4096, 0x7fffffff, 0xffffffffffffull, ~(uintptr_t)0};
    for (unsigned h = 0; h < sizeof handles / sizeof *handles; ++h)
        for (unsigned n = 0; n < sizeof numbers / sizeof *numbers; ++n) all(handles[h], numbers[n]);
    if (cuEventQuery(event) != CUDA_ERROR_INVALID_HANDLE ||
        cuStreamQuery(stream) != CUDA_ERROR_INVALID_HANDLE ||
        cuStreamQuery((CUstream)event) != CUDA_ERROR_INVALID_HANDLE) {
        fprintf(stderr, "a stale handle is taken for a good one\n");
        ++failures;
    }
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], 0, thread, (void*)(i + 1));
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    printf("%u functions, %d failures\n", call_count, failures);
    return failures != 0;
}
