// SPDX-License-Identifier: Apache-2.0
// The crash report of in_plugin.hpp. Everything that the signal handler calls neither allocates nor
// locks: the heap may be what the plugin broke.
#include "emu/plugin/in_plugin.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

thread_local const InPlugin* InPlugin::innermost_ = nullptr;

namespace {

constexpr int plugin_crashed = 7;  // exit code
constexpr size_t stack_bytes = 64 << 10;

struct Crash {
    int number;
    const char* what;
};
constexpr Crash crashes[] = {{SIGSEGV, "SIGSEGV, a bad address"},
                             {SIGBUS, "SIGBUS, a bad address"},
                             {SIGFPE, "SIGFPE, an arithmetic error"},
                             {SIGILL, "SIGILL, an illegal instruction"},
                             {SIGABRT, "SIGABRT: it aborted"}};

// What a signal handler may touch: globals.
struct sigaction previous[std::size(crashes)];
std::atomic<bool> installed{false}, reporting{false};
thread_local bool reporting_here = false;

// One line, cut off where it gets too long.
class Line {
  public:
    void add(const char* text) {
        for (; *text && used_ < sizeof text_ - 2; ++text)
            text_[used_++] = static_cast<unsigned char>(*text) < ' ' ? '?' : *text;
    }
    void add_hex(uint64_t value) {
        add("0x");
        int shift = 60;
        while (shift > 0 && !(value >> shift)) shift -= 4;
        for (; shift >= 0; shift -= 4) {
            const char digit[2] = {"0123456789abcdef"[value >> shift & 15], 0};
            add(digit);
        }
    }
    void write() {
        text_[used_++] = '\n';
        if (::write(STDERR_FILENO, text_, used_) < 0) return;  // nothing is left to tell it to
    }

  private:
    char text_[1024];
    size_t used_ = 0;
};

void add_place(Line& line, const HookedInstruction& at) {
    const CodeImage& image = *at.image;
    const uint64_t offset = uint64_t{at.index} * 16;
    const Function* f = image.module() ? image.module()->function_at(offset) : nullptr;
    const uint64_t pc = image.section_offset(offset);
    if (f) {
        line.add(" in '");
        line.add(f->name.c_str());
        line.add("'");
    }
    line.add(", pc ");
    line.add_hex(pc);
    if (offset + 16 > image.words().size()) return;
    uint64_t word[2];
    std::memcpy(word, image.words().data() + offset, sizeof word);
    sassdec_insn instruction;
    char text[512];
    if (sassdec_decode(sassdec_arch_from_name(image.options().arch.c_str()), word, pc,
                       &instruction) != SASSDEC_OK ||
        sassdec_format(&instruction, nullptr, text, sizeof text) < 0)
        return;
    line.add(": ");
    line.add(text);
}

[[noreturn]] void report(const InPlugin& in, const char* what) {
    // Another thread reports already, and ends the process. The same one: the report crashed too.
    if (reporting.exchange(true))
        for (;;) {
            if (reporting_here) _exit(plugin_crashed);
            pause();
        }
    reporting_here = true;
    Line line;
    line.add("sassemu: plugin '");
    line.add(in.plugin);
    line.add("' ");
    line.add(what);
    line.add(" in its callback ");
    line.add(in.callback);
    if (const HookedLaunch* launch = in.hooks ? in.hooks->last_launch.load() : nullptr) {
        line.add(", kernel '");
        line.add(launch->info.kernel);
        line.add("'");
    }
    if (in.at) add_place(line, instruction(in.at));
    line.add("; it is the plugin that has to be mended: run without it, or under a debugger");
    line.write();
    _exit(plugin_crashed);
}

void on_crash(int number, siginfo_t* info, void*) {
    size_t i = 0;
    while (crashes[i].number != number) ++i;
    if (const InPlugin* in = InPlugin::innermost()) {
        char what[64] = "crashed (";
        std::strcat(what, crashes[i].what);
        std::strcat(what, ")");
        report(*in, what);
    }
    // Not a plugin's: the instruction runs again, and is the previous handler's.
    sigaction(number, &previous[i], nullptr);
    if (info->si_code <= 0) raise(number);  // somebody sent it
}

}  // namespace

void name_plugin_crashes() {
    if (installed.exchange(true)) return;
    prepare_crash_stack();
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < std::size(crashes); ++i)
        sigaction(crashes[i].number, &action, &previous[i]);
    // Threads that call exit() at the same time take one registration each, and who finds none left
    // ends the process without a word.
    for (int threads = 0; threads < 64; ++threads)
        std::atexit([] {
            if (const InPlugin* in = InPlugin::innermost()) report(*in, "called exit()");
        });
}

void prepare_crash_stack() {
    struct Stack {
        std::unique_ptr<std::byte[]> bytes;
        ~Stack() {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            if (bytes) sigaltstack(&none, nullptr);
        }
    };
    static thread_local Stack own;
    if (own.bytes || !installed.load(std::memory_order_relaxed)) return;
    own.bytes.reset(new (std::nothrow) std::byte[stack_bytes]);
    stack_t stack{};
    stack.ss_sp = own.bytes.get();
    stack.ss_size = stack_bytes;
    if (own.bytes)
        sigaltstack(&stack, nullptr);  // without one: a crash is named unless it is the
                                       // stack that ran out
}

}  // namespace sassemu
