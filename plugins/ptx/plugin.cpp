// SPDX-License-Identifier: Apache-2.0
// The PTX models as a plugin: the entry and nothing else.
#include <sassemu/consistency.h>
#include <sassemu/plugin.h>

#include "models.hpp"

namespace {

int nothing;  // the role has its own state (SassemuConsistencyModel::create)

const sassemu_plugin plugin = {sizeof(sassemu_plugin),
                               SASSEMU_ABI_VERSION,
                               "ptx",
                               "the PTX memory consistency model, for litmus exploration",
                               nullptr,
                               SASSEMU_FREE,
                               0,
                               [](const sassemu_host*, sassemu_session, const sassemu_setting*,
                                  size_t, char*, size_t) -> void* { return &nothing; },
                               [](void*) {},
                               nullptr,
                               nullptr,
                               nullptr,
                               sassemu::ptx::consistency_models,
                               nullptr};

}  // namespace

SASSEMU_EXPORT const sassemu_plugin* sassemu_plugin_entry(void) { return &plugin; }
