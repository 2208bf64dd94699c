// The line loop of `disasm --words`; see words.hpp.
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

}  // namespace

void disassemble_words(sassdec_arch arch, std::FILE* in, std::FILE* out) {
    char line[512], text[1024];
    while (std::fgets(line, sizeof line, in)) {
        bool cut = true;
        for (const char* p = line; *p; ++p) cut = cut && *p != '\n';
        if (cut)  // an overlong line is one line all the same
            for (int c = std::fgetc(in); c != EOF && c != '\n'; c = std::fgetc(in)) {}
        std::uint64_t word[2], pc = 0;
        if (!parse_line(line, word, pc)) {
            std::fputs("<undecodable: expected 32 hex digits and an optional address>\n", out);
            continue;
        }
        sassdec_insn insn;
        sassdec_decode(arch, word, pc, &insn);
        sassdec_format(&insn, nullptr, text, sizeof text);
        std::fputs(text, out);
        std::fputc('\n', out);
    }
}

}  // namespace sassdec
