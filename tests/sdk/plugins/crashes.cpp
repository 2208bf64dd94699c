// SPDX-License-Identifier: Apache-2.0
// A plugin that fails in the way, and in the callback, that its options name.
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <sassemu/plugin.hpp>

namespace {

// Deeper than any stack; no tail call.
[[gnu::noinline]] int use_up_the_stack(volatile int* depth) {
    volatile char room[4096];
    if (*depth < 0) return 0;
    room[0] = static_cast<char>(*depth);
    *depth = *depth + 1;
    return use_up_the_stack(depth) + room[0];
}

struct Crashes : sassemu::Plugin {
    static constexpr auto name = "crashes", summary = "fails on purpose";
    static constexpr sassemu_option options[] = {
        {"how", "segv|bus|fpe|ill|abort|stack|exit|int", "what it does"},
        {"where", "CALLBACK", "in which callback"},
    };
    static constexpr auto threading = SASSEMU_FREE;
    explicit Crashes(const sassemu::Start& start)
        : Plugin(start), how(start.value("how")), where(start.value("where", "access")) {
        at("create");
    }
    ~Crashes() { at("destroy"); }
    uint32_t select(sassemu_insn) {
        at("select");
        return where == "before" || where == "after" ? SASSEMU_BEFORE | SASSEMU_AFTER : 0;
    }
    void before(sassemu_warp, sassemu_insn, uint32_t) { at("before"); }
    void after(sassemu_warp, sassemu_insn, uint32_t) { at("after"); }
    void access(const sassemu_access&) { at("access"); }
    void launch_begin(sassemu_launch) { at("launch_begin"); }
    void cta_end(sassemu_cta) { at("cta_end"); }
    void allocate(const sassemu_allocation&) { at("allocate"); }
    void finish() { at("finish"); }

    void at(std::string_view here) const {
        if (here != where) return;
        volatile uintptr_t nowhere = 8;
        if (how == "segv") *reinterpret_cast<volatile int*>(nowhere) = 1;
        if (how == "bus") std::raise(SIGBUS);
        if (how == "fpe") std::raise(SIGFPE);
        if (how == "ill") __builtin_trap();
        if (how == "abort") std::abort();
        if (how == "exit") std::exit(0);
        if (how == "int") throw 1;
        int depth = 0;
        if (how == "stack" && use_up_the_stack(&depth)) return;
    }
    const std::string how, where;
};

}  // namespace

SASSEMU_PLUGIN(Crashes)
