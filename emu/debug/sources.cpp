// SPDX-License-Identifier: Apache-2.0
// See sources.hpp.
#include "emu/debug/sources.hpp"

#include <sstream>

#include "emu/base/input_file.hpp"

namespace sassemu::debug {
namespace {

constexpr size_t most_of_a_file = 64 << 20;  // bytes

}  // namespace

Result<void> Sources::add_directory(const std::string& directory) {
    files_.clear();  // what was not found may be there
    return add_source_folder(directory);
}

const Sources::File& Sources::of(const std::string& file) {
    const auto [at, is_new] = files_.try_emplace(file);
    if (!is_new) return at->second;
    auto read = read_source(file, most_of_a_file);
    if (!read) return at->second;
    at->second.path = std::move(read->path);
    std::istringstream in(std::move(read->text));
    for (std::string text; std::getline(in, text);) {
        if (!text.empty() && text.back() == '\r') text.pop_back();
        at->second.lines.push_back(std::move(text));
    }
    return at->second;
}

std::optional<std::string> Sources::line(const std::string& file, uint32_t number) {
    const std::vector<std::string>& lines = of(file).lines;
    if (!number || number > lines.size()) return std::nullopt;
    return lines[number - 1];
}

}  // namespace sassemu::debug
