/* SPDX-License-Identifier: Apache-2.0 */
/* Built for an ABI to come. */
#include <sassemu/plugin.h>

static const sassemu_plugin plugin = {
    .size = sizeof plugin, .abi = (SASSEMU_ABI_MAJOR + 1) << 16, .name = "other_abi"};

const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
