// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of the debugger share: a program to debug, and bytes as choices.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "emu/debug/session.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::debug::fuzz {

// A kernel with variables of every kind, a loop and two CTAs.
inline Result<std::unique_ptr<Session>> start(SessionOptions options) {
    static const plan::Plan plan = [] {
        auto read = plan::read_plan(R"({"arch": "sm_90", "module": ")" SASSEMU_SOURCE_DIR
                                    R"(/tests/debug/data/locals.cubin",
                "buffers": {"in": {"bytes": 512}, "out": {"bytes": 512}},
                "launches": [{"kernel": "locals", "grid": [2, 1, 1], "block": [64, 1, 1],
                    "args": [{"buffer": "in"}, {"buffer": "out"}, {"i32": 128},
                             {"bytes": "0000c03f0000204007000000"}]}]})",
                                    "plan.json", "sm_90", 0);
        if (!read) std::abort();
        return std::move(*read);
    }();
    plan::RunOptions run;
    run.gpu.threads = 1;
    options.checkpoints = 4;
    return Session::start(plan, run, std::move(options));
}

class Choices {
  public:
    Choices(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}
    bool any() const { return left_; }
    std::uint32_t of(std::uint32_t count) {
        if (!left_) return 0;
        --left_;
        return *at_++ % count;
    }
    template <class T, std::size_t N>
    T of(const std::array<T, N>& all) {
        return all[of(N)];
    }
    std::string text(std::uint32_t most) {
        std::string out;
        for (std::uint32_t k = of(most); k; --k) out += static_cast<char>(of(256));
        return out;
    }

  private:
    const std::uint8_t* at_;
    std::size_t left_;
};

// Parts of expressions, places and commands, right and wrong.
inline std::string words_of(Choices& c) {
    static constexpr std::array<const char*, 76> words{"i",
                                                       "n",
                                                       "in",
                                                       "out",
                                                       "total",
                                                       "locals",
                                                       "locals.cu:24",
                                                       "locals.cu",
                                                       "24",
                                                       "0",
                                                       "1",
                                                       "$R5",
                                                       "$R4.64",
                                                       "$R2.f",
                                                       "$P0",
                                                       "$UR4",
                                                       "$pc",
                                                       "$nothing",
                                                       "threadIdx.x",
                                                       "blockIdx",
                                                       "(int *)",
                                                       "(@shared float *)0x400",
                                                       "*",
                                                       "&",
                                                       "-",
                                                       "+",
                                                       "/",
                                                       "%",
                                                       "<<",
                                                       "?",
                                                       ":",
                                                       "==",
                                                       "&&",
                                                       "(",
                                                       ")",
                                                       "[",
                                                       "]",
                                                       "@",
                                                       ".",
                                                       "->",
                                                       "c[0][0x160]",
                                                       "1e400",
                                                       "0x",
                                                       "0xffffffffffffffff",
                                                       "18446744073709551616",
                                                       "-1",
                                                       "1.5f",
                                                       "lane",
                                                       "warp",
                                                       "cta",
                                                       "all",
                                                       "block",
                                                       "thread",
                                                       "kernel",
                                                       "if",
                                                       "on",
                                                       "off",
                                                       "break-on-launch",
                                                       "registers",
                                                       "functions",
                                                       "memory",
                                                       "locals+0x10",
                                                       "*0x10",
                                                       "@0x10",
                                                       "::in",
                                                       "struct",
                                                       "::",
                                                       "#",
                                                       "\xff\xfe",
                                                       "a.b.c",
                                                       "2,1",
                                                       "(1,0,0)",
                                                       "cuda",
                                                       "warps",
                                                       "barriers",
                                                       "9999999999"};
    std::string out;
    for (std::uint32_t k = c.of(6); k; --k) {
        out += c.of(words);
        if (c.of(3)) out += ' ';
    }
    if (!c.of(40)) out += std::string(c.of(256) * 100, "(*-[ "[c.of(5)]);
    if (!c.of(16)) out += c.text(12);
    return out;
}

// A command of the console; those that end it are rare.
inline std::string command_of(Choices& c) {
    static constexpr std::array<const char*, 60> commands{"print",
                                                          "print",
                                                          "print",
                                                          "p/x",
                                                          "p/t",
                                                          "x",
                                                          "x/4f",
                                                          "x/9999999g",
                                                          "x/s",
                                                          "x/zz",
                                                          "display",
                                                          "undisplay",
                                                          "break",
                                                          "break",
                                                          "tbreak",
                                                          "watch",
                                                          "when",
                                                          "condition",
                                                          "ignore",
                                                          "delete",
                                                          "disable",
                                                          "enable",
                                                          "continue",
                                                          "c",
                                                          "step",
                                                          "stepi",
                                                          "next",
                                                          "nexti",
                                                          "finish",
                                                          "until",
                                                          "advance",
                                                          "goto",
                                                          "run",
                                                          "start",
                                                          "reverse-continue",
                                                          "reverse-step",
                                                          "reverse-stepi",
                                                          "reverse-next",
                                                          "cuda",
                                                          "info",
                                                          "info",
                                                          "info cuda",
                                                          "info breakpoints",
                                                          "info locals",
                                                          "info registers",
                                                          "info line",
                                                          "backtrace",
                                                          "frame",
                                                          "up",
                                                          "down",
                                                          "list",
                                                          "disassemble",
                                                          "who",
                                                          "set",
                                                          "set break-on-launch",
                                                          "echo",
                                                          "help",
                                                          "directory /nowhere",
                                                          "bt",
                                                          ""};
    if (!c.of(200)) return "quit";
    if (!c.of(12)) return c.text(40);
    return std::string(c.of(commands)) + " " + words_of(c);
}

}  // namespace sassemu::debug::fuzz
