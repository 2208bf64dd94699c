/* SPDX-License-Identifier: Apache-2.0 */
/* Built for ABI 1.1: an observer of asynchronous operations, which is not told of what came later.
 */
#include <sassemu/plugin.h>

#include <stdio.h>

static const sassemu_host* host;
static sassemu_session session;
static uint32_t steps;

static void async(void* self, const sassemu_async* a) {
    (void)self;
    steps |= 1u << a->step;
}
static void finish(void* self) {
    char text[32];
    (void)self;
    snprintf(text, sizeof text, "steps seen: %x\n", steps);
    host->print(session, text);
}
static void* create(const sassemu_host* h, sassemu_session s, const sassemu_setting* settings,
                    size_t count, char* error, size_t error_bytes) {
    (void)settings, (void)count, (void)error, (void)error_bytes;
    host = h;
    session = s;
    return &steps;
}
static void destroy(void* self) { (void)self; }

static const sassemu_observer observer = {
    .size = sizeof observer, .async = async, .finish = finish};
static const sassemu_plugin plugin = {.size = sizeof plugin,
                                      .abi = SASSEMU_ABI_MAJOR << 16 | 1,
                                      .name = "abi_1_1",
                                      .summary = "an observer of 1.1",
                                      .threading = SASSEMU_SERIAL,
                                      .create = create,
                                      .destroy = destroy,
                                      .observer = &observer};

const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
