// SPDX-License-Identifier: Apache-2.0
// Which instruction words have a behaviour: reads lines `ARCH<TAB>32 hex digits`, writes `ARCH`,
// the mnemonic with its modifiers, `yes` or the reason why not, and the class of its evidence
// (emu/evidence), separated by tabs; behind "refused: " where the chip would not execute it either.
// What belongs here: asking the lowering. What does not: which words (coverage.py, entries.py).
#include <iostream>

#include "emu/evidence/evidence.hpp"
#include "tests/isa/harness.hpp"

int main() {
    using namespace sassemu;
    const LevelTable* level = test::levels().back();
    ImmediatePool pool;
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const size_t tab = line.find('\t');
        if (tab == std::string::npos || line.size() < tab + 33) {
            std::cerr << "not `ARCH<TAB>32 hex digits`: " << line << "\n";
            return 2;
        }
        const std::string arch = line.substr(0, tab);
        const test::Word word(line.substr(tab + 1, 32).c_str());
        const uint64_t bits[2] = {word.lo, word.hi};
        constexpr uint64_t pc = uint64_t{1} << 40;  // branches stay inside the section
        sassdec_insn insn;
        if (sassdec_decode(sassdec_arch_from_name(arch.c_str()), bits, pc, &insn) != SASSDEC_OK) {
            std::cout << arch << "\t?\tundecodable\tnone\n";
            continue;
        }
        char text[512];
        sassdec_format(&insn, nullptr, text, sizeof text);
        std::string sass = text;
        if (sass[0] == '@') sass.erase(0, sass.find(' ') + 1);
        const std::string name = sass.substr(0, sass.find(' '));
        std::string rejection;
        Op ops[2];
        LowerRequest request;
        request.instruction = &insn;
        request.offset = pc;
        request.section_end = uint64_t{1} << 62;
        request.sm = static_cast<uint32_t>(std::atoi(arch.c_str() + 3));
        request.max_registers = 255;
        request.pool = &pool;
        request.op = ops;
        request.rejection = &rejection;
        bool gap = false;
        request.gap = &gap;
        level->lower(request);
        if (gap && rejection.empty()) rejection = "no behaviour";
        if (!rejection.empty() && !gap) rejection.insert(0, "refused: ");
        std::cout << arch << "\t" << name << "\t" << (rejection.empty() ? "yes" : rejection) << "\t"
                  << evidence_name(evidence_of(insn).kind) << "\n";
    }
    return 0;
}
