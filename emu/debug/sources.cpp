// SPDX-License-Identifier: Apache-2.0
// See sources.hpp.
#include "emu/debug/sources.hpp"

#include <filesystem>
#include <fstream>

namespace sassemu::debug {
namespace {

constexpr uintmax_t most_of_a_file = 64 << 20;  // of a file

}  // namespace

std::string Sources::find(const std::string& file) {
    if (file.empty()) return "";
    if (const auto known = found_.find(file); known != found_.end()) return known->second;
    namespace fs = std::filesystem;
    std::error_code error;
    const auto usable = [&](const fs::path& path) {
        return fs::is_regular_file(path, error) && fs::file_size(path, error) <= most_of_a_file;
    };
    fs::path found;
    // As it was recorded; its last parts below the directories; its name there.
    if (usable(file)) found = file;
    for (auto at = directories_.rbegin(); at != directories_.rend() && found.empty(); ++at) {
        const fs::path whole = fs::path(file).relative_path();
        if (usable(*at / whole))
            found = *at / whole;
        else if (usable(*at / whole.filename()))
            found = *at / whole.filename();
    }
    return found_[file] = found.string();
}

std::optional<std::string> Sources::line(const std::string& file, uint32_t number) {
    const std::string path = find(file);
    if (path.empty() || !number) return std::nullopt;
    auto [at, is_new] = lines_.try_emplace(path);
    if (is_new) {
        std::ifstream in(path);
        for (std::string text; std::getline(in, text);) {
            if (!text.empty() && text.back() == '\r') text.pop_back();
            at->second.push_back(std::move(text));
        }
    }
    if (number > at->second.size()) return std::nullopt;
    return at->second[number - 1];
}

}  // namespace sassemu::debug
