// SPDX-License-Identifier: Apache-2.0
// A kernel of a .sass file between its two passes: what its lines say, and what its words become.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/sass/assembled.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::sass {

constexpr uint32_t most_registers = 255;

struct Statement {
    unsigned line = 0, column = 0;  // of the text's first character
    std::string text;               // one instruction
    size_t written = 0;             // length of what the file has for it
    bool fused = false;             // one with the next
    bool bits = false;              // the text is 32 hex digits
};

struct PendingKernel {
    AssembledKernel kernel;
    unsigned line = 0;
    std::vector<Statement> statements;
    std::map<std::string, uint64_t, std::less<>> labels;
    std::map<std::string, unsigned, std::less<>> label_lines;
    std::map<std::string, uint32_t, std::less<>> parameters;  // the named ones' offsets
    bool fuse_next = false;
};

// What is wrong with the file, up to a number that a reader can use.
class Complaints {
  public:
    explicit Complaints(std::vector<Diagnostic>& out) : out_(out) {}
    void add(unsigned line, unsigned column, std::string what, std::string hint = {}) {
        if (!full()) out_.push_back({line, std::max(column, 1U), std::move(what), std::move(hint)});
    }
    bool none() const { return out_.empty(); }
    bool full() const { return out_.size() >= 20; }

  private:
    std::vector<Diagnostic>& out_;
};

// Decimal or 0x; nothing else.
std::optional<uint32_t> number(std::string_view text);

// The second pass: words, and what follows from them (registers, barriers, exits).
void assemble(PendingKernel& pending, const Arch& target, sassdec_arch arch, Complaints& out);

}  // namespace sassemu::sass
