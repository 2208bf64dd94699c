// SPDX-License-Identifier: Apache-2.0
// Refuses an option's value, and otherwise finds something in every launch; answers badly as a
// model if asked to.
#include <sassemu/plugin.hpp>

struct Refuses : sassemu::Plugin {
    static constexpr auto name = "refuses", summary = "for tests";
    static constexpr sassemu_option options[] = {{"limit", "N", "a number"},
                                                 {"answer", "N", "as a model"}};
    static constexpr bool defers = true;
    explicit Refuses(const sassemu::Start& s) : Plugin(s), answer(s.number("answer", 0)) {
        s.number("limit", 1);
    }
    int issue(const sassemu_access& a) {
        if (answer == 4 || answer == 5)
            host.fault(session, a.warp, a.insn, a.lanes, "the test refuses");
        return static_cast<int>(answer);
    }
    void fault(const sassemu_fault_info& f) {
        if (answer == 5) host.fault(session, f.warp, f.insn, f.lanes, "and once more");
    }
    void launch_begin(sassemu_launch) {}
    void finish() {
        if (answer) return;
        sassemu_finding f{};
        f.size = sizeof f;
        f.severity = SASSEMU_WARNING;
        f.kind = "test";
        f.message = "a finding";
        f.count = 3;
        host.report(session, &f);
    }
    uint64_t answer;
};
SASSEMU_PLUGIN(Refuses)
