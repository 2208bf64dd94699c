// SPDX-License-Identifier: Apache-2.0
// See isa_description.hpp. The generator has checked the files at build time; an error here means
// that the format has grown and this reader has not.
#include "emu/cli/isa_description.hpp"

#include "sassdec/architectures.hpp"

namespace sassemu::cli {
namespace {

constexpr int most_macro_depth = 8;

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A comment begins with '#' at the start of a line or after a blank, outside quotes.
std::string_view without_comment(std::string_view line) {
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"') quoted = !quoted;
        if (line[i] == '#' && !quoted && (i == 0 || line[i - 1] == ' ')) return line.substr(0, i);
    }
    return line;
}

std::string_view next_word(std::string_view& text) {
    text = trimmed(text);
    const size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : trimmed(text.substr(end));
    return word;
}

Error bad(std::string_view what) {
    return make_error(ErrorCode::internal, "ISA description", std::string(what));
}

}  // namespace

Result<IsaDescription> IsaDescription::read(sassdec_arch family) {
    IsaDescription description(family);
    const Families all = (1u << SASSDEC_ARCH_COUNT) - 1;
    Families before = 0;
    for (const sassdec_arch family : sassdec::family_order) {
        const std::string name = sassdec_arch_name(family);
        description.sets_[name] = 1u << family;
        description.sets_[name + "+"] = all & ~before;
        description.sets_[name + "-"] = before |= 1u << family;
    }
    // Sets and macros that all files share stand in common.isa, so it comes first.
    for (const bool common : {true, false}) {
        for (size_t i = 0; i < isa_file_count; ++i) {
            if ((std::string_view(isa_files[i].name) == "common.isa") != common) continue;
            SASSEMU_TRY(description.read_file(isa_files[i]));
        }
    }
    std::erase_if(description.entries_, [&](const IsaEntry& entry) {
        return description.absent_.contains(entry.mnemonic) ||
               description.absent_.contains(entry.mnemonic.substr(0, entry.mnemonic.find('.')));
    });
    // A macro may stand below its first use, so macros are spelled out last.
    for (IsaEntry& entry : description.entries_) {
        std::vector<std::string> lines;
        SASSEMU_TRY(description.expand(entry.lines, lines, 0));
        entry.lines = std::move(lines);
    }
    return description;
}

Result<IsaDescription::Families> IsaDescription::families(std::string_view names) const {
    Families plus = 0, minus = 0;
    bool only_removals = true;
    while (!(names = trimmed(names)).empty()) {
        std::string_view name = next_word(names);
        const bool removed = name.starts_with('!');
        if (removed) name.remove_prefix(1);
        const auto found = sets_.find(name);
        if (found == sets_.end()) return bad("unknown set '" + std::string(name) + "'");
        (removed ? minus : plus) |= found->second;
        only_removals = only_removals && removed;
    }
    if (only_removals) plus = ~0u;
    return plus & ~minus;
}

Result<bool> IsaDescription::applies(std::string_view& line) const {
    if (!line.starts_with('[')) return true;
    const size_t end = line.find(']');
    if (end == std::string_view::npos) return bad("a set without ']'");
    SASSEMU_ASSIGN(const Families among, families(line.substr(1, end - 1)));
    line = trimmed(line.substr(end + 1));
    return (among & family_) != 0;
}

Result<void> IsaDescription::read_file(const IsaFile& file) {
    std::vector<std::string>* block = nullptr;
    std::vector<std::string> elsewhere;  // an entry of other architectures
    std::string_view rest = file.text;
    while (!rest.empty()) {
        const size_t end = rest.find('\n');
        std::string_view line = without_comment(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        if (trimmed(line).empty()) continue;
        if (line.front() == ' ' || line.front() == '\t') {
            if (block == nullptr) return bad(std::string(file.name) + ": a line without an entry");
            block->emplace_back(trimmed(line));
            continue;
        }
        line = trimmed(line);
        SASSEMU_ASSIGN(const bool here, applies(line));
        const std::string text(line);
        const std::string_view keyword = next_word(line);
        block = nullptr;
        if (keyword == "set") {
            const size_t equals = line.find('=');
            if (equals == std::string_view::npos) return bad("a set without '='");
            SASSEMU_ASSIGN(sets_[std::string(trimmed(line.substr(0, equals)))],
                           families(line.substr(equals + 1)));
        } else if (keyword == "enum") {
            const std::string_view name = trimmed(line.substr(0, line.find(':')));
            if (here) enums_[std::string(name.substr(0, name.find(' ')))] = text;
        } else if (keyword == "absent") {
            while (here && !(line = trimmed(line)).empty()) absent_.emplace(next_word(line));
        } else if (keyword == "macro") {
            block = &macros_[std::string(line)];
        } else if (keyword == "insn") {
            block = &elsewhere;
            if (here) {
                entries_.push_back({std::string(next_word(line)), text, {}});
                block = &entries_.back().lines;
            }
        }
        // Other lines in column 0 are facts for the tables (latencies, say), and no entry's text.
    }
    return {};
}

Result<void> IsaDescription::expand(const std::vector<std::string>& lines,
                                    std::vector<std::string>& out, int depth) const {
    if (depth > most_macro_depth) return bad("macros nested too deeply");
    for (const std::string& written : lines) {
        std::string_view line = written;
        SASSEMU_ASSIGN(const bool here, applies(line));
        if (!here) continue;
        if (!line.starts_with("use ")) {
            out.emplace_back(line);
            continue;
        }
        next_word(line);
        while (!line.empty()) {
            const std::string_view name = next_word(line);
            const auto macro = macros_.find(name);
            if (macro == macros_.end()) return bad("unknown macro '" + std::string(name) + "'");
            SASSEMU_TRY(expand(macro->second, out, depth + 1));
        }
    }
    return {};
}

const std::string* IsaDescription::enumeration(const std::string& name) const {
    const auto found = enums_.find(name);
    return found == enums_.end() ? nullptr : &found->second;
}

}  // namespace sassemu::cli
