// SPDX-License-Identifier: Apache-2.0
// Looking up a code offset; see line_table.hpp.
#include "emu/module/line_table.hpp"

#include <algorithm>
#include <numeric>

namespace sassemu {
namespace {

// No real chain of inlined calls is deeper; a malformed table could loop.
constexpr int max_inline_depth = 64;

// Sequences may come in any order; of several rows at one offset the last read is the valid one,
// and the end of one sequence is not to hide the start of the next.
std::vector<std::uint32_t> sorted_positions(const std::vector<LineTable::Row>& rows) {
    std::vector<std::uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
        if (rows[a].code_offset != rows[b].code_offset) {
            return rows[a].code_offset < rows[b].code_offset;
        }
        return rows[a].end_of_sequence && !rows[b].end_of_sequence;
    });
    return order;
}

const LineTable::Row* covering(const std::vector<LineTable::Row>& rows,
                               const std::vector<std::uint32_t>& order, std::uint64_t offset) {
    const auto next = std::ranges::upper_bound(
        order, offset, {}, [&](std::uint32_t position) { return rows[position].code_offset; });
    if (next == order.begin()) return nullptr;
    const LineTable::Row& row = rows[*(next - 1)];
    return row.end_of_sequence ? nullptr : &row;
}

}  // namespace

void LineTable::set_source(std::vector<Row> rows, std::vector<std::string> files,
                           std::vector<std::string> names) {
    rows_ = std::move(rows);
    files_ = std::move(files);
    names_ = std::move(names);
    by_offset_ = sorted_positions(rows_);
}

void LineTable::set_ptx(std::vector<Row> rows, std::vector<std::vector<std::string_view>> texts) {
    ptx_rows_ = std::move(rows);
    ptx_texts_ = std::move(texts);
    ptx_by_offset_ = sorted_positions(ptx_rows_);
}

std::optional<LineInfo> LineTable::find(std::uint64_t code_offset) const {
    LineInfo info;
    bool found = false;
    const auto location = [&](const Row& row) {
        SourceLocation place;
        if (row.file < files_.size()) place.file = files_[row.file];
        place.line = row.line;
        place.column = row.column;
        if (row.function < names_.size()) place.function = names_[row.function];
        return place;
    };
    if (const Row* row = covering(rows_, by_offset_, code_offset)) {
        found = true;
        info.source = location(*row);
        for (int depth = 0; depth < max_inline_depth && row->context < rows_.size(); ++depth) {
            row = &rows_[row->context];
            info.inlined_at.push_back(location(*row));
        }
    }
    if (const Row* row = covering(ptx_rows_, ptx_by_offset_, code_offset)) {
        found = true;
        info.ptx_line = row->line;
        if (row->file < ptx_texts_.size() && row->line >= 1 &&
            row->line <= ptx_texts_[row->file].size()) {
            info.ptx_text = ptx_texts_[row->file][row->line - 1];
        }
    }
    if (!found) return std::nullopt;
    return info;
}

}  // namespace sassemu
