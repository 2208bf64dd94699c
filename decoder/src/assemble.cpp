// SPDX-License-Identifier: Apache-2.0
// Text -> word: takes guard and mnemonic off a line, tries the forms of that name, and says what
// was wrong when none fits. No instruction is named here: forms are what ../isa says.
#include <cstring>
#include <initializer_list>

#include "match.hpp"
#include "sassdec/sassdec.h"
#include "scan.hpp"
#include "spellings.hpp"
#include "tables.hpp"
#include "text.hpp"

namespace {
using namespace sassdec::tables;
namespace scan = sassdec::scan;
using sassdec::Complaint;

// Compares a mnemonic's first part, of length n, with a name of the index.
int compare(const char* name, const char* at, std::size_t n) {
    const int c = std::strncmp(name, at, n);
    return c ? c : name[n] ? 1 : 0;
}

const RootRow* find_root(const FamilyRow& family, const char* at, std::size_t n) {
    unsigned lo = 0, hi = family.root_count;
    while (lo < hi) {
        const unsigned mid = (lo + hi) / 2;
        const int c = compare(text(family.roots[mid].name), at, n);
        if (c == 0) return &family.roots[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return nullptr;
}

sassdec_status fail(sassdec_asm_error* error, const char* line, const char* at, const char* why,
                    bool quote) {
    if (error) {
        error->column = static_cast<std::uint32_t>(at - line) + 1;
        sassdec::Text t(error->reason, sizeof error->reason);
        t.put(why);
        if (quote) {
            t.put(*at ? ", not '" : ", not the end of the line");
            unsigned n = 0;
            for (const char* p = at; *p && n < 40 && (n == 0 || (!scan::is_blank(*p) && *p != ','));
                 ++p, ++n)
                t.put(*p >= ' ' && *p < 127 ? *p : '?');
            if (*at) t.put('\'');
        }
        t.finish();
    }
    return SASSDEC_E_SYNTAX;
}

sassdec_status unknown_name(sassdec_arch arch, const char* line, const char* at, std::size_t n,
                            sassdec_asm_error* error) {
    if (!error) return SASSDEC_E_SYNTAX;
    char why[160];
    sassdec::Text t(why, sizeof why);
    t.put(sassdec_arch_name(arch));
    t.put(" has no instruction '");
    t.put(at, n < 40 ? n : 40);
    t.put('\'');
    bool first = true;
    for (int other = 0; other < SASSDEC_ARCH_COUNT; ++other)
        if (find_root(families[other], at, n)) {
            t.put(first ? "; it exists on " : " ");
            t.put(sassdec_arch_name(static_cast<sassdec_arch>(other)));
            first = false;
        }
    t.finish();
    return fail(error, line, at, why, false);
}

bool parse_guard(const char*& p, sassdec::Statement& s) {
    s.guard_at = p;
    if (*p != '@') return true;
    ++p;
    s.guard_neg = scan::literal(p, "!");
    s.guard_uniform = *p == 'U';
    unsigned index;
    if (!scan::pred(p, s.guard_uniform, index) || !scan::is_blank(*p)) return false;
    s.guard = static_cast<std::uint8_t>(index);
    s.guard_given = true;
    return true;
}

sassdec_status assemble(sassdec_arch arch, const char* line, std::uint64_t pc,
                        const sassdec_asm_options* opts, std::uint64_t* word,
                        sassdec_asm_error* error, bool older) {
    sassdec::Statement s;
    s.arch = arch;
    s.pc = pc;
    s.options = opts;
    const char* p = scan::skip(line);
    if (!parse_guard(p, s))
        return fail(error, line, p, "expected a guard @P0 to @PT, @UP0 to @UPT or with '!'", true);
    p = scan::skip(p);
    s.mnemonic = p;
    while (scan::is_word(*p)) ++p;
    const std::size_t n = static_cast<std::size_t>(p - s.mnemonic);
    if (n == 0) return fail(error, line, p, "expected an instruction", true);
    if (older && sassdec::may_be_older(s.mnemonic)) {
        char now[1024];
        const int words = sassdec::respell(line, s.mnemonic, now, sizeof now);
        if (words < 0) return fail(error, line, s.mnemonic, "the line is too long", false);
        if (words > 1) {
            fail(error, line, s.mnemonic,
                 "two words: only a file holds such a pair (sassemu asm FILE)", false);
            return SASSDEC_E_TWO_WORDS;
        }
        const sassdec_status status = assemble(arch, now, pc, opts, word, error, false);
        // Columns up to the first change stay, those behind keep their distance from the end.
        std::size_t same = 0;
        while (line[same] && line[same] == now[same]) ++same;
        if (error && status != SASSDEC_OK && error->column > same + 1) {
            const std::size_t behind = std::strlen(now) + 1 - error->column,
                              was = std::strlen(line);
            error->column =
                static_cast<std::uint32_t>(behind < was - same ? was + 1 - behind : same + 1);
        }
        return status;
    }
    const FamilyRow& family = families[arch];
    const RootRow* root = find_root(family, s.mnemonic, n);
    if (!root) return unknown_name(arch, line, s.mnemonic, n, error);
    Complaint complaint;
    for (const bool lenient : {false, true}) {  // as it would be printed, if any form prints it so
        s.lenient = lenient;
        for (unsigned i = 0; i < root->count; ++i) {
            std::uint64_t w[2];
            if (!sassdec::match_form(s, family.named[root->first + i], w, complaint)) continue;
            word[0] = w[0];
            word[1] = w[1];
            return SASSDEC_OK;
        }
    }
    return fail(error, line, complaint.at ? complaint.at : s.mnemonic,
                complaint.why ? complaint.why : "no form fits", !complaint.exact);
}

}  // namespace

extern "C" sassdec_status sassdec_assemble(sassdec_arch arch, const char* line, uint64_t pc,
                                           const sassdec_asm_options* opts, uint64_t word[2],
                                           sassdec_asm_error* error) {
    if (error) {
        error->column = 1;
        error->reason[0] = 0;
    }
    if (!line || !word || static_cast<unsigned>(arch) >= SASSDEC_ARCH_COUNT) {
        if (error) {
            sassdec::Text t(error->reason, sizeof error->reason);
            t.put(line && word ? "no such architecture" : "a null argument");
            t.finish();
        }
        return SASSDEC_E_ARGUMENT;
    }
    return assemble(arch, line, pc, opts, word, error, true);
}

extern "C" int sassdec_expand(const char* line, char* out, size_t size) {
    if (!line || !out) return -1;
    sassdec::Statement s;
    const char* p = scan::skip(line);
    if (parse_guard(p, s)) {
        p = scan::skip(p);
        if (sassdec::may_be_older(p)) return sassdec::respell(line, p, out, size);
    }
    sassdec::Text t(out, size);
    t.put(line);
    return t.finish() < 0 ? -1 : 1;
}
