// SPDX-License-Identifier: Apache-2.0
// See evidence.hpp.
#include "emu/evidence/evidence.hpp"

#include <algorithm>
#include <iterator>

#include "emu/evidence/rows.hpp"

namespace sassemu {

namespace {

// Cuts the first part off: what stands before the next dot.
std::string_view next_part(std::string_view& parts) {
    const size_t dot = parts.find('.');
    const std::string_view part = parts.substr(0, dot);
    parts = dot == parts.npos ? std::string_view() : parts.substr(dot + 1);
    return part;
}

// Whether every part of the pattern is among the modifiers.
bool fits(std::string_view pattern, std::string_view modifiers) {
    while (!pattern.empty()) {
        std::string_view wanted = next_part(pattern);
        const bool begins = wanted.ends_with('*');
        if (begins) wanted.remove_suffix(1);
        bool found = false;
        for (std::string_view rest = modifiers; !rest.empty() && !found;) {
            const std::string_view part = next_part(rest);
            found = begins ? part.starts_with(wanted) : part == wanted;
        }
        if (!found) return false;
    }
    return true;
}

}  // namespace

const char* evidence_name(EvidenceClass kind) {
    static const char* const names[evidence_classes] = {"none", "measured", "vectors",
                                                        "specification", "assumed"};
    return names[static_cast<size_t>(kind)];
}

Evidence evidence_of(sassdec_arch family, std::string_view name) {
    if (family >= SASSDEC_ARCH_COUNT) return {};
    const std::string_view mnemonic = next_part(name);
    const auto [first, last] = std::equal_range(
        evidence_patterns, evidence_patterns + evidence_pattern_count,
        EvidencePattern{mnemonic, {}, 0, 0},
        [](const EvidencePattern& a, const EvidencePattern& b) { return a.mnemonic < b.mnemonic; });
    Evidence best;
    uint32_t parts = 0;
    for (const EvidencePattern* p = first; p != last; ++p) {
        const Evidence& at = evidence_rows[p->row][family];
        if (at.kind == EvidenceClass::none || !fits(p->modifiers, name)) continue;
        if (best.kind != EvidenceClass::none &&
            (p->parts < parts || (p->parts == parts && at.kind <= best.kind)))
            continue;
        best = at;
        parts = p->parts;
    }
    return best;
}

Evidence evidence_of(const sassdec_insn& instruction) {
    char text[512];
    sassdec_format(&instruction, nullptr, text, sizeof text);
    std::string_view name = text;
    if (name.starts_with('@')) name.remove_prefix(std::min(name.find(' ') + 1, name.size()));
    return evidence_of(static_cast<sassdec_arch>(instruction.arch), name.substr(0, name.find(' ')));
}

}  // namespace sassemu
