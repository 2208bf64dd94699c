/* SPDX-License-Identifier: Apache-2.0 */
/* How often each opcode is executed, by warp instructions. In C11, without any wrapper: what a
 * plugin is at its barest.
 *
 *   sassemu run plan.json --plugin ./opcode_histogram.so:top=10 */
#include <sassemu/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_opcodes = 1024 };

struct histogram {
    const sassemu_host* host;
    sassemu_session session;
    long top;
    size_t used;
    struct entry {
        const char* opcode; /* lives as long as its module */
        uint64_t warps, threads;
    } entry[most_opcodes];
};

static void* create(const sassemu_host* host, sassemu_session session,
                    const sassemu_setting* settings, size_t count, char* error,
                    size_t error_bytes) {
    struct histogram* h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->host = host;
    h->session = session;
    h->top = 20;
    for (size_t i = 0; i < count; ++i) {
        h->top = strtol(settings[i].value, NULL, 10); /* there is one option */
        if (h->top > 0) continue;
        snprintf(error, error_bytes, "option 'top': '%s' is no positive number", settings[i].value);
        free(h);
        return NULL;
    }
    return h;
}
static void destroy(void* self) { free(self); }

static uint32_t select_all(void* self, sassemu_insn insn) {
    (void)self;
    (void)insn;
    return SASSEMU_BEFORE;
}

static void before(void* self, sassemu_warp warp, sassemu_insn insn, uint32_t lanes) {
    struct histogram* h = self;
    const char* opcode = h->host->insn_opcode(insn);
    size_t i = 0;
    (void)warp;
    while (i < h->used && strcmp(h->entry[i].opcode, opcode) != 0) ++i;
    if (i == most_opcodes) return;
    if (i == h->used) h->entry[h->used++].opcode = opcode;
    h->entry[i].warps += 1;
    h->entry[i].threads += (uint64_t)__builtin_popcount(lanes);
}

static int by_count(const void* a, const void* b) {
    const struct entry *x = a, *y = b;
    return x->warps != y->warps ? (x->warps < y->warps ? 1 : -1) : strcmp(x->opcode, y->opcode);
}

static void finish(void* self) {
    struct histogram* h = self;
    char line[160];
    qsort(h->entry, h->used, sizeof h->entry[0], by_count);
    for (size_t i = 0; i < h->used && i < (size_t)h->top; ++i) {
        snprintf(line, sizeof line, "%12llu warps %14llu threads  %s\n",
                 (unsigned long long)h->entry[i].warps, (unsigned long long)h->entry[i].threads,
                 h->entry[i].opcode);
        h->host->print(h->session, line);
    }
}

static const sassemu_option options[] = {{"top", "N", "so many lines (20)"}, {NULL, NULL, NULL}};
static const sassemu_observer observer = {
    .size = sizeof observer, .select = select_all, .before = before, .finish = finish};
static const sassemu_plugin plugin = {.size = sizeof plugin,
                                      .abi = SASSEMU_ABI_VERSION,
                                      .name = "opcode_histogram",
                                      .summary = "how often each opcode is executed",
                                      .options = options,
                                      .threading = SASSEMU_SERIAL,
                                      .create = create,
                                      .destroy = destroy,
                                      .observer = &observer};

const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
