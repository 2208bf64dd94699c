// SPDX-License-Identifier: Apache-2.0
// The ISA description as text, for people: which entries an architecture has, macros spelled out.
// What belongs here: the format's outer layer (decoder/isa/README.md). What does not: decoding,
// which works on tables generated from the same files.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::cli {

struct IsaFile {
    const char* name;
    const char* text;
};
extern const IsaFile isa_files[];
extern const size_t isa_file_count;

struct IsaEntry {
    std::string mnemonic, head;      // "FFMA"; "insn FFMA"
    std::vector<std::string> lines;  // those the architecture has, without the set in front
};

// Everything that one table family has.
class IsaDescription {
  public:
    static Result<IsaDescription> read(sassdec_arch family);
    const std::vector<IsaEntry>& entries() const { return entries_; }
    // "Rounding" -> its line, or nullptr.
    const std::string* enumeration(const std::string& name) const;

  private:
    using Families = unsigned;  // one bit per sassdec_arch

    explicit IsaDescription(sassdec_arch family) : family_(1u << family) {}
    Result<void> read_file(const IsaFile& file);
    Result<Families> families(std::string_view names) const;
    // Cuts "[SETS] " off the front; whether the family is among them.
    Result<bool> applies(std::string_view& line) const;
    Result<void> expand(const std::vector<std::string>& lines, std::vector<std::string>& out,
                        int depth) const;

    Families family_;
    std::map<std::string, Families, std::less<>> sets_;
    std::map<std::string, std::vector<std::string>, std::less<>> macros_;
    std::set<std::string, std::less<>> absent_;
    std::map<std::string, std::string, std::less<>> enums_;
    std::vector<IsaEntry> entries_;
};

}  // namespace sassemu::cli
