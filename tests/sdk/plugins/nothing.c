/* SPDX-License-Identifier: Apache-2.0 */
/* A memory model that does nothing: what every access pays for being asked about. */
#include <sassemu/plugin.h>

static int32_t issue(void* self, const sassemu_access* access) {
    ++*(uint64_t*)self;
    (void)access;
    return SASSEMU_DONE;
}
static void* create(const sassemu_host* host, sassemu_session session,
                    const sassemu_setting* settings, size_t count, char* error,
                    size_t error_bytes) {
    static uint64_t accesses;
    (void)host, (void)session, (void)settings, (void)count, (void)error, (void)error_bytes;
    return &accesses;
}
static void destroy(void* self) { (void)self; }

static const sassemu_memory_model model = {.size = sizeof model, .spaces = ~0u, .issue = issue};
static const sassemu_plugin plugin = {.size = sizeof plugin,
                                      .abi = SASSEMU_ABI_VERSION,
                                      .name = "nothing",
                                      .summary = "does nothing",
                                      .threading = SASSEMU_SERIAL,
                                      .create = create,
                                      .destroy = destroy,
                                      .model = &model};

const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
