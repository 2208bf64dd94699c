/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest memory model in C11: that the headers need nothing else. */
#include <sassemu/consistency.h>
#include <sassemu/plugin.h>

static int32_t issue(void* self, const sassemu_access* access) {
    (void)self;
    return access->lanes ? SASSEMU_DONE : SASSEMU_RETRY;
}
static const sassemu_memory_model model = {.size = sizeof model, .spaces = ~0u, .issue = issue};
static const sassemu_plugin plugin = {
    .size = sizeof plugin, .abi = SASSEMU_ABI_VERSION, .name = "nothing", .model = &model};

const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
