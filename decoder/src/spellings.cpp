// SPDX-License-Identifier: Apache-2.0
// Older spellings that the assembler reads: those of the SPA 5.0 page "MEMBAR : Memory Barrier". No
// word of sm_75 or later has a bit for a fused invalidate, so .IVALL* stands for several words.
// What the words mean is not told here.
#include "spellings.hpp"

#include <cstring>

#include "scan.hpp"
#include "text.hpp"

namespace sassdec {
namespace {

struct Spelling {
    const char *name, *modifier, *now;
};
constexpr Spelling spellings[] = {
    {"MEMBAR", ".GL", ".GPU"},
    {"CCTL", ".D", ""},  // the data cache is the one that has no name today
};

// Words that go in front of MEMBAR, by its last modifier.
struct Fused {
    const char* modifier;
    const char* before[2];
};
constexpr Fused fused[] = {
    {".IVALLD", {"CCTL.IVALL", nullptr}},
    {".IVALLT", {"CCTLT.IVALL", nullptr}},
    {".IVALLTD", {"CCTLT.IVALL", "CCTL.IVALL"}},
};

bool same(const char* a, const char* p, std::size_t n) {
    return std::strlen(a) == n && !std::memcmp(a, p, n);
}

std::size_t part(const char* p) {  // length of a name or of one modifier with its dot
    std::size_t n = *p == '.';
    while (scan::is_word(p[n])) ++n;
    return n;
}

}  // namespace

bool may_be_older(const char* mnemonic) {
    return scan::word(mnemonic, "MEMBAR") || scan::word(mnemonic, "CCTL");
}

int respell(const char* line, const char* mnemonic, char* out, std::size_t size) {
    Text now(out, size);
    const std::size_t name = part(mnemonic);
    const Fused* words = nullptr;
    const char* p = mnemonic + name;
    for (std::size_t n; *p == '.'; p += n) {
        n = part(p);
        if (n == 1) break;
        if (same("MEMBAR", mnemonic, name))
            for (const Fused& f : fused)
                if (same(f.modifier, p, n)) words = &f;
    }
    int count = 1;
    for (int i = 0; words && i < 2 && words->before[i]; ++i, ++count) {
        now.put(line, static_cast<std::size_t>(mnemonic - line));  // the guard
        now.put(words->before[i]);
        now.put('\n');
    }
    now.put(line, static_cast<std::size_t>(mnemonic - line));
    now.put(mnemonic, name);
    for (p = mnemonic + name; *p == '.';) {
        const std::size_t n = part(p);
        if (n == 1) break;
        const char* text = nullptr;
        for (const Spelling& s : spellings)
            if (same(s.name, mnemonic, name) && same(s.modifier, p, n)) text = s.now;
        if (words && same(words->modifier, p, n)) text = "";
        if (text)
            now.put(text);
        else
            now.put(p, n);
        p += n;
    }
    now.put(p);
    return now.finish() < 0 ? -1 : count;
}

}  // namespace sassdec
