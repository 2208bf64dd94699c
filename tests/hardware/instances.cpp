// SPDX-License-Identifier: Apache-2.0
// Writes candidate instruction words for the hardware comparison: what our own sm_90 cubins
// contain, and every opcode of the decoder with random fields, each varied bit by bit and kept when
// it decodes and computes on registers, predicates and bank 0 only. Operands are moved into the
// registers that a slot loads and stores (slots.py). Not here: which candidates a foreign
// disassembler accepts (instances), how they run (slots.py, record.py).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "emu/module/module.hpp"
#include "sassdec/sassdec.h"

namespace {

using namespace sassemu;
using Random = std::mt19937_64;

constexpr uint32_t forbidden =
    SASSDEC_GROUP_BRANCH | SASSDEC_GROUP_CALL | SASSDEC_GROUP_RETURN | SASSDEC_GROUP_EXIT |
    SASSDEC_GROUP_BARRIER | SASSDEC_GROUP_CONVERGENCE | SASSDEC_GROUP_MEMORY | SASSDEC_GROUP_ASYNC |
    SASSDEC_GROUP_FENCE | SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_CACHE;

// What a slot holds still or cannot see: clocks, special registers, code addresses, scoreboards.
const std::set<std::string> excluded = {
    "S2R",          "S2UR",          "CS2R",        "NOP",         "BPT",      "LEPC",
    "ULEPC",        "PMTRIG",        "YIELD",       "NANOSLEEP",   "WARPSYNC", "DEPBAR",
    "LDC",          "ULDC",          "BMOV",        "B2R",         "R2B",      "SETCTAID",
    "WARPGROUP",    "HGMMA",         "IGMMA",       "BGMMA",       "QGMMA",    "USETMAXREG",
    "PREEXIT",      "ACQBULK",       "GETLMEMBASE", "SETLMEMBASE", "AL2P",     "SPMETADATA",
    "WARPGROUPSET", "ENDCOLLECTIVE", "USETSHMSZ",   "ISBERD",      "OUT",      "PIXLD",
    "IPA",          "VILD",          "KILL",        "RTT",         "IDE",      "JMXU",
    "BRXU",         "CGAERRBAR",     "ERRBAR",      "LDTRAM",      "RPCMOV",   "VOTE_VTG",
    "UCGABAR_WAIT", "UCGABAR_ARV"};

struct Bits {
    uint64_t w[2] = {0, 0};
    uint64_t get(unsigned at, unsigned n) const {
        const uint64_t low = w[at / 64] >> at % 64;
        return low & ((uint64_t{1} << n) - 1);
    }
    void set(unsigned at, unsigned n, uint64_t value) {
        const uint64_t mask = ((uint64_t{1} << n) - 1) << at % 64;
        w[at / 64] = (w[at / 64] & ~mask) | (value << at % 64 & mask);
    }
    auto operator<=>(const Bits&) const = default;
};

bool decode(const Bits& b, sassdec_insn& insn) {
    return sassdec_decode(SASSDEC_SM_90, b.w, 0, &insn) == SASSDEC_OK;
}

std::string base_name(const sassdec_insn& insn) {
    const std::string name = sassdec_mnemonic(&insn);
    return name.substr(0, name.find('.'));
}

bool wanted(const sassdec_insn& insn) {
    if ((insn.groups & forbidden) != 0 || excluded.count(base_name(insn))) return false;
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        const sassdec_operand& o = insn.operand[i];
        if (o.kind == SASSDEC_OP_MEM || o.kind == SASSDEC_OP_LABEL ||
            o.kind == SASSDEC_OP_BARRIER || o.kind == SASSDEC_OP_SCOREBOARD ||
            o.kind == SASSDEC_OP_SB_LIST)
            return false;
        // Bindless and indexed constants would read wherever a random register points.
        if (o.kind == SASSDEC_OP_CONST && (o.flags & (SASSDEC_HAS_REG | SASSDEC_HAS_UREG)))
            return false;
    }
    return true;
}

// Operands whose register number sits in bits [at+n-1:at]: those that follow when the field
// changes.
std::vector<unsigned> operands_in(const Bits& word, unsigned at, unsigned n, uint8_t file,
                                  uint64_t one, uint64_t two) {
    Bits first = word, second = word;
    first.set(at, n, one);
    second.set(at, n, two);
    sassdec_insn a, b;
    std::vector<unsigned> out;
    if (!decode(first, a) || !decode(second, b) || a.operand_count != b.operand_count) return out;
    for (unsigned i = 0; i < a.operand_count; ++i)
        if (a.operand[i].kind == b.operand[i].kind && a.operand[i].file == file &&
            b.operand[i].file == file && a.operand[i].index != b.operand[i].index &&
            (a.operand[i].kind == SASSDEC_OP_REG || a.operand[i].kind == SASSDEC_OP_PRED))
            out.push_back(i);
    return out;
}

uint32_t immediate(Random& random) {
    static constexpr uint32_t special[] = {
        0,          1,          2,          31,         32,         33,         63,
        64,         0xffffffff, 0x7fffffff, 0x80000000, 0x80000001, 0x3f800000, 0xbf800000,
        0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0x00000010, 0x007fffff, 0x00800000,
        0x3c003c00, 0x7c01fc00, 0x3ff00000, 0x7ff00000, 0x3f803f80, 0x55555555, 0x00003210};
    switch (random() % 4) {
        case 0:
            return special[random() % std::size(special)];
        case 1:
            return random() % 256;
        case 2:
            return 0x3e000000 + random() % 0x04000000;
        default:
            return random();
    }
}

// Moves every operand into what a slot loads: R0..R199, UR4..UR50, any predicate, bank 0 data.
// False when that leaves no valid word.
bool settle(Bits& word, Random& random) {
    sassdec_insn insn;
    if (!decode(word, insn)) return false;
    const unsigned spots[] = {16, 24, 32, 64};
    std::vector<std::pair<unsigned, unsigned>> taken;  // first and width of written registers
    for (unsigned at : spots) {
        const auto hit = operands_in(word, at, 8, SASSDEC_R, 16, 32);
        if (hit.empty()) continue;
        unsigned width = 1;
        bool writes = false;
        for (unsigned i : hit) {
            width = std::max<unsigned>(width, insn.operand[i].width);
            writes |= (insn.operand[i].access & SASSDEC_WRITE) != 0;
        }
        const unsigned align = width == 1 ? 1 : width == 2 ? 2 : width <= 4 ? 4 : 8;
        unsigned index = random() % (200 / align - (width > 8 ? 2 : 1)) * align;
        const uint64_t luck = random() % 100;
        if (luck < (writes ? 1 : 3)) index = 255;
        if (luck > 90 && !writes && word.get(16, 8) < 200 && word.get(16, 8) % align == 0)
            index = word.get(16, 8);
        if (index != 255 && index + width > 200) index = 0;
        word.set(at, 8, index);
    }
    for (unsigned at : spots) {
        const auto hit = operands_in(word, at, 6, SASSDEC_UR, 16, 32);
        if (hit.empty()) continue;
        unsigned width = 1;
        for (unsigned i : hit) width = std::max<unsigned>(width, insn.operand[i].width);
        const unsigned align = width == 1 ? 1 : width == 2 ? 2 : 4;
        unsigned index = 4 + random() % (44 / align) * align;
        if (random() % 100 < 3) index = 63;
        word.set(at, 6, index);
    }
    unsigned written = 7;
    for (unsigned at : {12u, 68u, 77u, 81u, 84u, 87u}) {
        auto hit = operands_in(word, at, 3, SASSDEC_P, 1, 2);
        const auto uniform = operands_in(word, at, 3, SASSDEC_UP, 1, 2);
        hit.insert(hit.end(), uniform.begin(), uniform.end());
        if (at == 12) {
            const uint64_t guard = random() % 10 ? 7 : random() % 7;
            word.set(12, 4, guard | (guard != 7 && random() % 2 ? 8 : 0));
            continue;
        }
        if (hit.empty()) continue;
        uint64_t index = random() % 4 ? random() % 7 : 7;
        if (insn.operand[hit[0]].access & SASSDEC_WRITE) {
            if (index == written)
                index = (index + 1) % 7;  // two results in one are nobody's promise
            if (index != 7) written = index;
        }
        word.set(at, 3, index);
    }
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        const sassdec_operand& o = insn.operand[i];
        if (o.kind == SASSDEC_OP_CONST) {
            word.set(54, 5, 0);
            word.set(38, 16, 0x220 + random() % 64 * 16);
        } else if ((o.kind == SASSDEC_OP_IMM || o.kind == SASSDEC_OP_FIMM) && random() % 2) {
            Bits other = word;
            other.set(32, 32, ~word.get(32, 32) & 0xffffffff);
            sassdec_insn changed;
            if (decode(other, changed) && changed.operand_count == insn.operand_count &&
                changed.operand[i].imm != o.imm && word.get(9, 3) != 1)
                word.set(32, 32, immediate(random));
        }
    }
    if (!decode(word, insn) || !wanted(insn)) return false;
    // Whatever the fields above missed must not leave the slot's registers.
    sassdec_regset read, write;
    sassdec_registers(&insn, &read, &write);
    for (unsigned r = 200; r < 256; ++r)
        if ((read.r[r / 64] | write.r[r / 64]) >> r % 64 & 1) return false;
    for (unsigned r = 0; r < 256; ++r)
        if (((read.ur[r / 64] | write.ur[r / 64]) >> r % 64 & 1) && (r < 4 || r > 51)) return false;
    return true;
}

struct Candidate {
    Bits word;
    std::string text;
    std::set<std::string> single, pairs;
};

// What a word shows of its instruction: each modifier value, the operand kinds, each sign.
void describe(const sassdec_insn& insn, Candidate& c) {
    std::vector<std::string> facts;
    std::string form;
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        const sassdec_operand& o = insn.operand[i];
        form += static_cast<char>('a' + o.kind * 4 + (o.kind <= 1 ? o.file : 0));
        if (o.flags & (SASSDEC_NEG | SASSDEC_ABS | SASSDEC_INV))
            facts.push_back("s" + std::to_string(i) + "=" + std::to_string(o.flags & 7));
    }
    facts.push_back("f" + form);
    for (unsigned i = 0; i < insn.field_count; ++i) {
        const std::string value = sassdec_field_text(&insn, i);
        facts.push_back(
            "m" + std::to_string(i) + "=" +
            (value.empty() ? std::to_string(std::min<unsigned>(insn.field[i], 16)) : value));
    }
    const std::string name =
        std::string(sassdec_mnemonic(&insn)) + "#" + std::to_string(insn.shape);
    for (const std::string& f : facts) c.single.insert(name + f);
    for (size_t i = 0; i < facts.size(); ++i)
        for (size_t k = i + 1; k < facts.size(); ++k)
            c.pairs.insert(name + facts[i] + "," + facts[k]);
}

std::set<Bits> seeds(const std::string& root) {
    namespace fs = std::filesystem;
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root + "/cubins"))
        if (entry.path().filename() == "sm_90.cubin") files.insert(entry.path());
    std::set<Bits> out;
    for (const fs::path& file : files) {
        auto module = load_module_file(file.string());
        if (!module) continue;
        for (const CodeSection& section : module->code_sections())
            for (size_t at = 0; at + 16 <= section.bytes.size(); at += 16) {
                Bits b;
                std::memcpy(b.w, section.bytes.data() + at, 16);
                b.w[1] &= (uint64_t{1} << 41) - 1;
                out.insert(b);
            }
    }
    return out;
}

// A valid word of opcode `code`: random fields, with the bits that the decoder objects to drawn
// again.
bool invent(unsigned code, Random& random, Bits& word) {
    word.w[0] = random();
    word.w[1] = random() & random() & ((uint64_t{1} << 41) - 1);
    word.set(0, 12, code & 0xfff);
    word.set(91, 1, code >> 12);
    word.set(12, 4, 7);
    sassdec_insn insn;
    for (int tries = 0; tries < 60; ++tries) {
        if (decode(word, insn)) return true;
        if (insn.status == SASSDEC_E_OPCODE) return false;
        if (insn.bad_lo == 255 || insn.bad_lo > 104) {
            word.w[1] = random() & random() & random() & ((uint64_t{1} << 41) - 1);
            word.set(91, 1, code >> 12);
            continue;
        }
        for (unsigned bit = std::max<unsigned>(insn.bad_lo, 12);
             bit <= std::min<unsigned>(insn.bad_hi, 104); ++bit)
            if (bit != 91) word.set(bit, 1, random() % 2);
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr,
                     "usage: hardware-instances SOURCE-DIRECTORY WORDS-PER-MNEMONIC SEED\n");
        return 2;
    }
    const size_t per_mnemonic = std::strtoul(argv[2], nullptr, 0);
    Random random(std::strtoull(argv[3], nullptr, 0));
    std::map<std::string, std::vector<Candidate>> groups;
    std::map<std::string, size_t> seen_single;
    std::set<Bits> known;
    auto keep = [&](Bits word) {
        if (!settle(word, random) || !known.insert(word).second) return;
        sassdec_insn insn;
        decode(word, insn);
        auto& group = groups[sassdec_mnemonic(&insn)];
        if (group.size() > 3000) return;
        char text[512];
        sassdec_format(&insn, nullptr, text, sizeof text);
        // Modifier values without a name are nobody's instruction.
        if (std::strstr(text, "INVALID") || std::strstr(text, "???")) return;
        Candidate c;
        c.word = word;
        describe(insn, c);
        c.text = text;
        group.push_back(std::move(c));
    };
    std::vector<Bits> roots;
    std::map<unsigned, size_t> share;  // roots of one opcode
    for (const Bits& b : seeds(argv[1])) {
        sassdec_insn insn;
        if (!decode(b, insn) || !wanted(insn)) continue;
        const unsigned code = b.get(0, 12) | b.get(91, 1) << 12;
        if (share[code]++ < 40) roots.push_back(b);
    }
    for (unsigned code = 0; code < 8192; ++code)
        for (int i = 0, found = 0; i < 400 && found < 60; ++i) {
            Bits b;
            if (!invent(code, random, b)) {
                if (i == 30 && !found) break;
                continue;
            }
            sassdec_insn insn;
            decode(b, insn);
            if (!wanted(insn) && i > 20 && !found) break;
            if (wanted(insn)) roots.push_back(b), ++found;
        }
    for (const Bits& root : roots) {
        keep(root);
        for (int i = 0; i < 24; ++i) {
            Bits b = root;
            for (uint64_t flips = 1 + random() % 5; flips; --flips) {
                const unsigned bit = 12 + random() % 93;
                if (bit != 91) b.w[bit / 64] ^= uint64_t{1} << bit % 64;
            }
            keep(b);
        }
    }
    // Few words that show much: first everything once, then pairs.
    for (auto& [name, group] : groups) {
        std::shuffle(group.begin(), group.end(), random);
        std::set<std::string> single, pairs;
        std::vector<bool> used(group.size());
        size_t chosen = 0;
        auto choose = [&](size_t i) {
            used[i] = true;
            ++chosen;
            single.insert(group[i].single.begin(), group[i].single.end());
            pairs.insert(group[i].pairs.begin(), group[i].pairs.end());
            std::printf("%016llx%016llx\t%s\t%s\n",
                        static_cast<unsigned long long>(group[i].word.w[1]),
                        static_cast<unsigned long long>(group[i].word.w[0]), name.c_str(),
                        group[i].text.c_str());
        };
        for (int pass = 0; pass < 2; ++pass)
            while (chosen < per_mnemonic) {
                size_t best = 0, gain = 0;
                // A sample of the candidates is enough to find a good one.
                for (size_t t = 0; t < std::min<size_t>(group.size(), 150); ++t) {
                    const size_t i = group.size() <= 150 ? t : random() % group.size();
                    if (used[i]) continue;
                    size_t g = 0;
                    const auto& have = pass ? pairs : single;
                    for (const std::string& f : pass ? group[i].pairs : group[i].single)
                        g += !have.count(f);
                    if (g > gain) gain = g, best = i;
                }
                if (!gain) break;
                choose(best);
            }
        for (size_t i = 0; i < group.size() && chosen < 24; ++i)
            if (!used[i]) choose(i);
    }
    return 0;
}
