// SPDX-License-Identifier: Apache-2.0
// The line loops of `disasm --words` and `asm --words`; see words.hpp.
#include "words.hpp"

#include <cstdint>

namespace sassdec {
namespace {

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Parses hex digits up to a blank or the end; returns how many, or -1 on another character.
int parse_hex(const char*& p, std::uint64_t (&v)[2]) {
    int n = 0;
    v[0] = v[1] = 0;
    for (; *p && *p != '\t' && *p != ' ' && *p != '\r' && *p != '\n'; ++p, ++n) {
        const int d = digit(*p);
        if (d < 0) return -1;
        v[1] = v[1] << 4 | v[0] >> 60;
        v[0] = v[0] << 4 | static_cast<std::uint64_t>(d);
    }
    return n;
}

void skip_blanks(const char*& p) {
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') ++p;
}

bool parse_line(const char* p, std::uint64_t (&word)[2], std::uint64_t& pc) {
    skip_blanks(p);
    if (p[0] == '0' && p[1] == 'x') p += 2;
    if (parse_hex(p, word) != 32) return false;
    skip_blanks(p);
    if (p[0] == '0' && p[1] == 'x') p += 2;
    std::uint64_t at[2];
    if (parse_hex(p, at) < 0) return false;
    pc = at[0];
    skip_blanks(p);
    return *p == 0;
}

// One line without its end; an overlong one is cut, and is one line all the same.
bool read_line(std::FILE* in, char (&line)[1024]) {
    if (!std::fgets(line, sizeof line, in)) return false;
    char* end = line;
    while (*end && *end != '\n') ++end;
    if (!*end)
        for (int c = std::fgetc(in); c != EOF && c != '\n'; c = std::fgetc(in)) {
        }
    *end = 0;
    return true;
}

}  // namespace

void disassemble_words(sassdec_arch arch, bool exact, std::FILE* in, std::FILE* out) {
    char line[1024], text[1024];
    while (read_line(in, line)) {
        std::uint64_t word[2], pc = 0;
        if (!parse_line(line, word, pc)) {
            std::fputs("<undecodable: expected 32 hex digits and an optional address>\n", out);
            continue;
        }
        sassdec_insn insn;
        sassdec_decode(arch, word, pc, &insn);
        if (!exact || sassdec_format_exact(&insn, text, sizeof text) < 0)
            sassdec_format(&insn, nullptr, text, sizeof text);
        std::fputs(text, out);
        std::fputc('\n', out);
    }
}

void assemble_words(sassdec_arch arch, std::FILE* in, std::FILE* out) {
    char line[1024];
    while (read_line(in, line)) {
        char* tab = line;
        while (*tab && *tab != '\t') ++tab;
        std::uint64_t at[2] = {0, 0}, word[2];
        if (*tab) {
            *tab = 0;
            const char* p = tab + 1;
            skip_blanks(p);
            if (p[0] == '0' && p[1] == 'x') p += 2;
            const int digits = parse_hex(p, at);
            skip_blanks(p);
            if (digits < 0 || digits > 16 || *p) {
                std::fputs("<error: expected a text and an address in hex>\n", out);
                continue;
            }
        }
        sassdec_asm_error error;
        const sassdec_status status = sassdec_assemble(arch, line, at[0], nullptr, word, &error);
        if (status == SASSDEC_OK)
            std::fprintf(out, "%016llx%016llx\n", static_cast<unsigned long long>(word[1]),
                         static_cast<unsigned long long>(word[0]));
        else if (status == SASSDEC_E_TWO_WORDS)
            std::fputs("<error: two words>\n", out);
        else
            std::fprintf(out, "<error: column %u: %s>\n", error.column, error.reason);
    }
}

}  // namespace sassdec
