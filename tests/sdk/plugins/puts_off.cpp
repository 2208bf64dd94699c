// SPDX-License-Identifier: Apache-2.0
// A memory model that puts off every access twice.
#include <sassemu/plugin.hpp>

namespace {

struct PutsOff : sassemu::Plugin {
    static constexpr auto name = "puts_off", summary = "every access at the third attempt";
    using Plugin::Plugin;
    int issue(const sassemu_access&) { return ++attempts % 3 ? SASSEMU_RETRY : SASSEMU_DONE; }
    uint32_t attempts = 0;
};

}  // namespace

SASSEMU_PLUGIN(PutsOff)
