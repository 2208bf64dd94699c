// SPDX-License-Identifier: Apache-2.0
// Reads test vectors: `arch TAB word TAB pc TAB text` (data/).
// Only parsing belongs here.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sassdec/sassdec.h"

// Where the vectors lie: a committed sample, or the whole sets that oracle.py makes.
inline std::string vectors(const std::string& name) {
    const char* whole = std::getenv("SASSDEC_VECTORS");
    return std::string(whole ? whole : SASSEMU_SOURCE_DIR "/tests/decoder/data") + "/" + name +
           ".tsv.gz";
}

struct Row {
    sassdec_arch arch = SASSDEC_ARCH_UNKNOWN;
    std::uint64_t word[2] = {};
    std::uint64_t pc = 0;
    std::string text;
};

inline bool parse_row(const std::string& line, Row& row, const char* arch = nullptr) {
    std::istringstream in(line);
    std::string name, word, pc;
    if (arch)
        name = arch;
    else
        std::getline(in, name, '\t');
    std::getline(in, word, '\t');
    std::getline(in, pc, '\t');
    std::getline(in, row.text);
    row.arch = sassdec_arch_from_name(name.c_str());
    if (word.size() != 32 || row.arch == SASSDEC_ARCH_UNKNOWN) return false;
    row.word[1] = std::stoull(word.substr(0, 16), nullptr, 16);
    row.word[0] = std::stoull(word.substr(16), nullptr, 16);
    row.pc = std::stoull(pc, nullptr, 16);
    return true;
}

inline std::vector<Row> read_rows(const std::string& path) {
    std::vector<Row> rows;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        Row row;
        if (parse_row(line, row)) rows.push_back(row);
    }
    return rows;
}

// Rows of a gzipped file, one after the other; `arch` names the architecture where the rows do not.
template <class Visit>
void for_each_row(const std::string& path, const char* arch, Visit visit) {
    std::FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
    if (!pipe) return;
    char line[1024];
    while (std::fgets(line, sizeof line, pipe)) {
        std::string s(line);
        while (!s.empty() && s.back() == '\n') s.pop_back();
        Row row;
        if (parse_row(s, row, arch)) visit(row);
    }
    pclose(pipe);
}

inline std::string decode_text(const Row& row) {
    sassdec_insn insn;
    sassdec_decode(row.arch, row.word, row.pc, &insn);
    char text[512];
    return sassdec_format(&insn, nullptr, text, sizeof text) < 0 ? "<too long>" : text;
}
