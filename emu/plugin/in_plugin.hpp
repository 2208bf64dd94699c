// SPDX-License-Identifier: Apache-2.0
// Whose code a thread runs: a mark around every call of a plugin, so that one that crashes is
// named. What belongs here: the mark and the crash report. What does not: which callbacks there
// are.
#pragma once

#include <string>

#include "sassemu/host.h"

namespace sassemu {

class Hooks;

// This thread is inside of a plugin for as long as this lives. Marks nest: a callback may call the
// host, which may call another callback. Setting one is a handful of stores, one of them
// thread-local.
class InPlugin {
  public:
    // The names live longer than the mark. `hooks` and `at` may be null: no launch, no instruction.
    InPlugin(const std::string& plugin, const char* callback, const Hooks* hooks = nullptr,
             sassemu_insn at = nullptr)
        : plugin(plugin.c_str()), callback(callback), hooks(hooks), at(at), outer_(innermost_) {
        innermost_ = this;
    }
    InPlugin(const InPlugin&) = delete;
    InPlugin& operator=(const InPlugin&) = delete;
    ~InPlugin() { innermost_ = outer_; }

    static const InPlugin* innermost() { return innermost_; }

    const char* const plugin;
    const char* const callback;
    const Hooks* const hooks;
    const sassemu_insn at;

  private:
    const InPlugin* const outer_;
    [[gnu::tls_model("initial-exec")]] static thread_local const InPlugin* innermost_;
};

// Calls a callback of a plugin; `callback` is its name, for the message if it crashes.
template <class R, class... P, class... A>
R call_plugin(const std::string& plugin, const char* callback, const Hooks* hooks, sassemu_insn at,
              R (*function)(void*, P...), void* self, A... args) {
    const InPlugin inside(plugin, callback, hooks, at);
    return function(self, args...);
}

// For programs; libraries leave their host's signals alone. From now on a plugin that ends the
// process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, exit()) does so with one line on standard
// error, which names plugin, callback, kernel, pc and instruction, and with exit code 7. A crash
// outside of plugins goes to whoever handled it before.
void name_plugin_crashes();

// Gives this thread a stack for that report, which a plugin that has used up its own needs. Does
// nothing the second time, and without name_plugin_crashes().
void prepare_crash_stack();

}  // namespace sassemu
