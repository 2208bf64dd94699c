// SPDX-License-Identifier: Apache-2.0
// See input_file.hpp.
#include "emu/base/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace sassemu {
namespace {

std::optional<sources::Folder> root;
std::vector<sources::Folder> source_folders;  // the root among them

Result<sources::Folder> folder_of(const char* option, const std::string& name) {
    std::string why;
    if (auto folder = sources::Folder::open(name, why)) return std::move(*folder);
    return make_error(ErrorCode::usage, option + (" " + name), why);
}

}  // namespace

Result<void> keep_inputs_inside(const std::string& folder) {
    if (root && root->name() == folder) return {};
    SASSEMU_ASSIGN(root, folder_of("--root", folder));
    return add_source_folder(folder);
}

Result<void> add_source_folder(const std::string& folder) {
    if (std::ranges::count(source_folders, folder, &sources::Folder::name)) return {};
    SASSEMU_ASSIGN(sources::Folder added, folder_of("--directory", folder));
    source_folders.push_back(std::move(added));
    return {};
}

std::optional<sources::File> read_source(const std::string& name, size_t most) {
    return sources::read_source(source_folders, name, most);
}

Result<int> open_input(const std::string& path) {
    const auto failed = [&](const std::string& what) {
        return make_error(ErrorCode::input, path, what);
    };
    if (!root) {
        const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return opened < 0 ? Result<int>(failed(std::strerror(errno))) : opened;
    }
    const std::string outside = "lies outside of --root " + root->name();
    std::error_code error;
    const std::filesystem::path whole = sources::absolute(path, error);
    if (error) return failed(error.message());
    const std::filesystem::path rest = root->below(whole);
    if (rest.empty()) return failed(outside);
    const int opened = root->open_beneath(rest, O_RDONLY | O_NONBLOCK);
    if (opened >= 0) return opened;
    return failed(errno == EXDEV || errno == ELOOP ? outside : std::strerror(errno));
}

}  // namespace sassemu
