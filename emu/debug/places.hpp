// SPDX-License-Identifier: Apache-2.0
// Places in the code: what a user writes for one ("saxpy.cu:7", "saxpy+0x70"), and what is shown of
// one. What does not belong here: anything that changes while the program runs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/debug/debug_info.hpp"
#include "emu/debug/frame_info.hpp"
#include "emu/module/line_table.hpp"
#include "emu/module/module.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::debug {

struct CodePlace {
    const Module* module = nullptr;
    uint64_t offset = 0;  // in the code image, bytes
    bool operator==(const CodePlace&) const = default;
};

// A call as the debugger shows it: of the kernel, of a function inlined into it.
struct SourceFrame {
    std::string function, file;  // file: empty, no line is known
    uint32_t line = 0;
    bool operator==(const SourceFrame&) const = default;
};

class Places {
  public:
    // Each module once.
    void add(std::shared_ptr<const Module> module);
    const std::vector<std::shared_ptr<const Module>>& modules() const { return modules_; }
    // Read when it is first asked for.
    const DebugInfo& info(const Module* module) const;
    const FrameInfo& frame_info(const Module* module) const;

    // "FILE:LINE", "LINE" (of the file at `here`), "NAME", "NAME+OFFSET", "*OFFSET" (in the section
    // at `here`), "*NAME+OFFSET"; none: `here`. A line without code is the next one that has some.
    Result<std::vector<CodePlace>> find(std::string_view text, const CodePlace& here) const;

    // Innermost first; one at least.
    std::vector<SourceFrame> frames(const CodePlace& place) const;
    std::string function(const CodePlace& place) const;  // demangled; "?" where none is known
    uint64_t pc(const CodePlace& place) const;           // in its function's section
    std::string name(const CodePlace& place) const;      // "saxpy+0x0070"
    // A number for the place; find() understands it behind an "@".
    uint64_t address(const CodePlace& place) const;
    sassdec_insn decoded(const CodePlace& place) const;
    std::string sass(const CodePlace& place) const;
    // Of the function that holds it, or of its section.
    std::pair<uint64_t, uint64_t> extent(const CodePlace& place) const;

  private:
    void add_inlined(const CodePlace& place, std::vector<SourceFrame>& out) const;
    std::vector<std::shared_ptr<const Module>> modules_;
    mutable std::map<const Module*, DebugInfo> info_;
    mutable std::map<const Module*, FrameInfo> frame_info_;
};

}  // namespace sassemu::debug
