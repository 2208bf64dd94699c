// SPDX-License-Identifier: Apache-2.0
// See input_file.hpp.
#include "emu/base/input_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sassemu {
namespace {

namespace fs = std::filesystem;

struct Root {
    int descriptor = -1;
    std::string option;
    fs::path given, real;  // absolute; a path may be spelled either way
};
Root root;

int open_beneath(const char* path, uint64_t flags) {
    struct open_how how {};
    how.flags = flags | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (;;) {
        const auto opened =
            static_cast<int>(syscall(SYS_openat2, root.descriptor, path, &how, sizeof how));
        if (opened >= 0 || errno != EAGAIN) return opened;  // EAGAIN: something was being renamed
    }
}

// What follows `folder` in `path`, as it is spelled: `..` is left for the kernel. Empty: it is not
// inside.
fs::path below(const fs::path& path, const fs::path& folder) {
    auto at = path.begin();
    for (const fs::path& name : folder) {
        if (name.empty()) continue;  // a slash at the end
        if (at == path.end() || *at != name) return {};
        ++at;
    }
    fs::path rest;
    for (; at != path.end(); ++at) rest /= *at;
    return rest.empty() ? fs::path(".") : rest;
}

// The current folder has no links in its name, so `..` in front of a relative path can be undone.
fs::path absolute(const fs::path& path, std::error_code& error) {
    if (path.is_absolute()) return path;
    fs::path whole = fs::current_path(error);
    auto at = path.begin();
    for (; at != path.end() && (*at == ".." || *at == "."); ++at)
        if (*at == "..") whole = whole.parent_path();
    for (; at != path.end(); ++at) whole /= *at;
    return whole;
}

}  // namespace

Result<void> keep_inputs_inside(const std::string& folder) {
    const auto failed = [&](const std::string& what) {
        return make_error(ErrorCode::usage, "--root " + folder, what);
    };
    if (root.descriptor >= 0 && root.option == folder) return {};
    root.descriptor = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.descriptor < 0) return failed(std::strerror(errno));
    const int probe = open_beneath(".", O_PATH);
    if (probe < 0)
        return failed(std::string("this kernel cannot keep to it: ") + std::strerror(errno));
    ::close(probe);
    std::error_code error;
    root.option = folder;
    root.given = absolute(folder, error).lexically_normal();
    root.real = fs::canonical(folder, error);
    if (error) return failed(error.message());
    return {};
}

Result<int> open_input(const std::string& path) {
    const auto failed = [&](const std::string& what) {
        return make_error(ErrorCode::input, path, what);
    };
    if (root.descriptor < 0) {
        const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return opened < 0 ? Result<int>(failed(std::strerror(errno))) : opened;
    }
    const std::string outside = "lies outside of --root " + root.option;
    std::error_code error;
    const fs::path whole = absolute(path, error);
    if (error) return failed(error.message());
    fs::path rest;
    for (const fs::path& spelling : {whole, whole.lexically_normal()})
        for (const fs::path& folder : {root.given, root.real})
            if (rest.empty()) rest = below(spelling, folder);
    if (rest.empty()) return failed(outside);
    const int opened = open_beneath(rest.c_str(), O_RDONLY | O_NONBLOCK);
    if (opened >= 0) return opened;
    return failed(errno == EXDEV || errno == ELOOP ? outside : std::strerror(errno));
}

}  // namespace sassemu
