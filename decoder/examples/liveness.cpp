// SPDX-License-Identifier: Apache-2.0
// Which registers does a line of SASS read and write? Assembles each line of stdin and asks. Usage:
// liveness ARCH < FILE
#include <cstdio>
#include <iostream>

#include "sassdec/sassdec.hpp"

static void print(const char* what, const sassdec_regset& set) {
    std::printf("  %s:", what);
    for (unsigned i = 0; i < 255; ++i)
        if (set.r[i / 64] >> i % 64 & 1) std::printf(" R%u", i);
    for (unsigned i = 0; i < 255; ++i)
        if (set.ur[i / 64] >> i % 64 & 1) std::printf(" UR%u", i);
    for (unsigned i = 0; i < 7; ++i)
        if (set.p >> i & 1) std::printf(" P%u", i);
    for (unsigned i = 0; i < 7; ++i)
        if (set.up >> i & 1) std::printf(" UP%u", i);
    std::printf("\n");
}

int main(int argc, char** argv) {
    const sassdec_arch arch = argc == 2 ? sassdec_arch_from_name(argv[1]) : SASSDEC_ARCH_UNKNOWN;
    if (arch == SASSDEC_ARCH_UNKNOWN) {
        std::fputs("usage: liveness ARCH < FILE\n", stderr);
        return 2;
    }
    int failed = 0;
    for (std::string line; std::getline(std::cin, line);) {
        const sassdec::Assembly made = sassdec::assemble(arch, line);
        if (!made) {
            std::printf("%s\n  column %u: %s\n", line.c_str(), made.error.column,
                        made.error.reason);
            failed = 1;
            continue;
        }
        const sassdec::Instruction insn(arch, made.word);
        std::printf("%s\n", insn.text().c_str());
        print("reads", insn.registers().read);
        print("writes", insn.registers().written);
    }
    return failed;
}
