// SPDX-License-Identifier: Apache-2.0
// All roles in one class: that the wrapper finds each member, and that its own headers suffice.
#include <sassemu/consistency.h>
#include <sassemu/plugin.hpp>

namespace {

struct Everything : sassemu::Plugin {
    static constexpr auto name = "everything", summary = "has every role";
    static constexpr sassemu_option options[] = {{"limit", "N", "how many"}};
    static constexpr bool defers = true;
    explicit Everything(const sassemu::Start& s) : Plugin(s), limit(s.number("limit", 3)) {}
    int issue(const sassemu_access& a) {
        return a.op == SASSEMU_LOAD ? SASSEMU_PENDING : SASSEMU_DONE;
    }
    int model_fence(const sassemu_fence&) { return SASSEMU_DONE; }
    int model_cache(const sassemu_cache_op&) { return SASSEMU_DONE; }
    void model_sync(const sassemu_sync&) {}
    uint64_t step(sassemu_cta, uint32_t) { return 0; }
    void launch_begin(sassemu_launch l) { seen += info(l).id; }
    void launch_end(sassemu_launch) {}
    void access(const sassemu_access& a) { seen += a.bytes; }
    void sync(const sassemu_sync& s) { seen += s.kind; }
    bool overrides(sassemu_insn) { return false; }
    int execute(sassemu_warp, sassemu_insn, uint32_t) { return SASSEMU_PASS; }
    void finish() { print(std::to_string(seen) + "\n"); }
    uint64_t limit, seen = 0;
};
using Roles = sassemu::detail::Roles<Everything>;
static_assert(Roles::is_model && Roles::is_semantics);

}  // namespace

SASSEMU_PLUGIN(Everything)
