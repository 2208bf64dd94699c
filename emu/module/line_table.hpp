// SPDX-License-Identifier: Apache-2.0
// Line tables of a module: code offset -> source line, inlined call chain, PTX line.
// Belongs here: the looked-up form. The reading of .debug_line is in dwarf_line.*.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sassemu {

// A place in a source file. Views live as long as the Module.
struct SourceLocation {
    std::string_view file;      // directory joined, as the compiler recorded it
    std::uint32_t line = 0;     // from 1
    std::uint32_t column = 0;   // from 1; 0 = not recorded
    std::string_view function;  // mangled name of the inlined function this line belongs to;
                                // empty: the kernel or function that holds the pc, or not
                                // recorded (files joined by nvlink)
};

struct LineInfo {
    std::optional<SourceLocation> source;    // innermost
    std::vector<SourceLocation> inlined_at;  // call sites, innermost first; the last is in the
                                             // function that holds the pc
    std::uint32_t ptx_line = 0;              // line of the embedded PTX, from 1; 0 = none
    std::string_view ptx_text;               // that line, when the text is embedded
};

class LineTable {
  public:
    // One row: valid from code_offset to the next row's (or the end of its sequence).
    struct Row {
        std::uint64_t code_offset = 0;
        std::uint32_t file = 0;  // index into files()
        std::uint32_t line = 0;
        std::uint32_t column = 0;
        std::uint32_t context = no_context;   // row index (in rows()) of the inlining call site
        std::uint32_t function = no_context;  // index into names()
        bool end_of_sequence = false;
    };
    static constexpr std::uint32_t no_context = 0xffffffff;

    [[nodiscard]] bool empty() const { return rows_.empty() && ptx_rows_.empty(); }
    [[nodiscard]] bool has_source() const { return !rows_.empty(); }
    [[nodiscard]] bool has_ptx() const { return !ptx_rows_.empty(); }
    // nullopt: neither table covers the offset.
    [[nodiscard]] std::optional<LineInfo> find(std::uint64_t code_offset) const;

    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
    [[nodiscard]] const std::vector<Row>& ptx_rows() const { return ptx_rows_; }
    [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    // The embedded PTX texts, one per translation unit, split into lines (line 1 is entry 0).
    [[nodiscard]] const std::vector<std::vector<std::string_view>>& ptx_texts() const {
        return ptx_texts_;
    }
    // For the loader: takes over rows as read, sorts them and makes them searchable.
    void set_source(std::vector<Row> rows, std::vector<std::string> files,
                    std::vector<std::string> names);
    // PTX rows name a text by Row::file and a line within it.
    void set_ptx(std::vector<Row> rows, std::vector<std::vector<std::string_view>> texts);

  private:
    std::vector<Row> rows_;                 // as read; contexts refer to positions here
    std::vector<std::uint32_t> by_offset_;  // positions in rows_, sorted by code_offset
    std::vector<Row> ptx_rows_;
    std::vector<std::uint32_t> ptx_by_offset_;
    std::vector<std::string> files_;
    std::vector<std::string> names_;
    std::vector<std::vector<std::string_view>> ptx_texts_;
};

}  // namespace sassemu
