// sassdec-words: prints the text of instruction words, the smallest complete user of the library.
#include <cstdio>
#include <cstring>

#include "words.hpp"

int main(int argc, char** argv) {
    const char* arch = nullptr;
    const char* file = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--arch") && i + 1 < argc)
            arch = argv[++i];
        else if (!std::strcmp(argv[i], "--words") && i + 1 < argc)
            file = argv[++i];
        else if (std::strcmp(argv[i], "disasm"))
            arch = nullptr, i = argc;
    }
    const sassdec_arch family = sassdec_arch_from_name(arch);
    if (!file || family == SASSDEC_ARCH_UNKNOWN) {
        std::fputs("usage: sassdec-words disasm --arch sm_90a --words FILE|-\n", stderr);
        return 2;
    }
    std::FILE* in = std::strcmp(file, "-") ? std::fopen(file, "r") : stdin;
    if (!in) {
        std::perror(file);
        return 2;
    }
    sassdec::disassemble_words(family, in, stdout);
    if (in != stdin) std::fclose(in);
    return 0;
}
