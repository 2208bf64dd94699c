// SPDX-License-Identifier: Apache-2.0
// sassdec-words: words to text and back, the smallest complete user of the library.
#include <cstdio>
#include <cstring>

#include "words.hpp"

int main(int argc, char** argv) {
    const char* arch = nullptr;
    const char* file = nullptr;
    bool exact = false, assemble = false;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--arch") && i + 1 < argc)
            arch = argv[++i];
        else if (!std::strcmp(argv[i], "--words") && i + 1 < argc)
            file = argv[++i];
        else if (!std::strcmp(argv[i], "--exact"))
            exact = true;
        else if (!std::strcmp(argv[i], "asm"))
            assemble = true;
        else if (std::strcmp(argv[i], "disasm"))
            arch = nullptr, i = argc;
    }
    const sassdec_arch family = sassdec_arch_from_name(arch);
    if (!file || family == SASSDEC_ARCH_UNKNOWN) {
        std::fputs("usage: sassdec-words disasm|asm --arch sm_90a --words FILE|- [--exact]\n",
                   stderr);
        return 2;
    }
    std::FILE* in = std::strcmp(file, "-") ? std::fopen(file, "r") : stdin;
    if (!in) {
        std::perror(file);
        return 2;
    }
    if (assemble)
        sassdec::assemble_words(family, in, stdout);
    else
        sassdec::disassemble_words(family, exact, in, stdout);
    if (in != stdin) std::fclose(in);
    return 0;
}
