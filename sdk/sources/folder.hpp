// SPDX-License-Identifier: Apache-2.0
// Folders that files are kept inside of: those that a command reads (--root), and sources, whose
// names stand in modules (--directory). Neither `..` nor an absolute path nor a symbolic link on
// the way leads out; the kernel sees to that while it opens (openat2), so nobody can exchange a
// link in between. For the emulator and its plugins; not installed.
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sassemu::sources {

// The current folder has no links in its name, so `..` in front of a relative path can be undone.
inline std::filesystem::path absolute(const std::filesystem::path& path, std::error_code& error) {
    if (path.is_absolute()) return path;
    std::filesystem::path whole = std::filesystem::current_path(error);
    auto at = path.begin();
    for (; at != path.end() && (*at == ".." || *at == "."); ++at)
        if (*at == "..") whole = whole.parent_path();
    for (; at != path.end(); ++at) whole /= *at;
    return whole;
}

class Folder {
  public:
    // None, and why.
    static std::optional<Folder> open(const std::string& name, std::string& why) {
        Folder folder;
        folder.name_ = name;
        folder.descriptor_ = ::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        why = folder.descriptor_ < 0 ? std::strerror(errno) : "";
        if (!why.empty()) return std::nullopt;
        const int probe = folder.open_beneath(".", O_PATH);
        if (probe < 0) {
            why = std::string("this kernel cannot keep to it: ") + std::strerror(errno);
            return std::nullopt;
        }
        ::close(probe);
        std::error_code error;
        folder.given_ = absolute(name, error).lexically_normal();
        folder.real_ = std::filesystem::canonical(name, error);
        if (!error) return folder;
        why = error.message();
        return std::nullopt;
    }
    const std::string& name() const { return name_; }
    std::string path_of(const std::filesystem::path& rest) const {
        return (given_ / rest).string();
    }

    // What follows the folder's name in that of the file, however both are spelled, `..` included;
    // empty: it is not inside.
    std::filesystem::path below(const std::filesystem::path& whole) const {
        std::filesystem::path rest;
        for (const std::filesystem::path& spelling : {whole, whole.lexically_normal()})
            for (const std::filesystem::path& folder : {given_, real_})
                if (rest.empty()) rest = behind(spelling, folder);
        return rest;
    }
    // A descriptor, or -1 and errno.
    int open_beneath(const std::filesystem::path& rest, uint64_t flags) const {
        struct open_how how {};
        how.flags = flags | O_CLOEXEC;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
        for (;;) {
            const auto opened = static_cast<int>(
                ::syscall(SYS_openat2, descriptor_, rest.c_str(), &how, sizeof how));
            if (opened >= 0 || errno != EAGAIN) return opened;  // EAGAIN: a rename was under way
        }
    }

  private:
    static std::filesystem::path behind(const std::filesystem::path& path,
                                        const std::filesystem::path& folder) {
        auto at = path.begin();
        for (const std::filesystem::path& name : folder) {
            if (name.empty()) continue;  // a slash at the end
            if (at == path.end() || *at != name) return {};
            ++at;
        }
        std::filesystem::path rest;
        for (; at != path.end(); ++at) rest /= *at;
        return rest.empty() ? std::filesystem::path(".") : rest;
    }

    int descriptor_ = -1;  // as long as the process lives
    std::string name_;
    std::filesystem::path given_, real_;  // absolute; a path may be spelled either way
};

struct File {
    std::string path, text;  // its beginning, where it is longer than was asked for
};

// A regular file: no device and no pipe, which might wait for somebody.
inline std::optional<File> read_below(const Folder& folder, const std::filesystem::path& rest,
                                      size_t most) {
    if (rest.empty()) return std::nullopt;
    const int file = folder.open_beneath(rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return std::nullopt;
    struct stat about;
    std::string text;
    size_t done = 0;
    bool good = !::fstat(file, &about) && S_ISREG(about.st_mode);
    if (good) text.resize(std::min<uint64_t>(static_cast<uint64_t>(about.st_size), most));
    for (ssize_t got = 1; good && done < text.size() && got > 0; done += static_cast<size_t>(got)) {
        got = ::read(file, text.data() + done, text.size() - done);
        if (got < 0) good = false, got = 0;
    }
    ::close(file);
    if (!good) return std::nullopt;
    text.resize(done);
    return File{folder.path_of(rest), std::move(text)};
}

// A source file under the name that a module has for it: the file itself where it lies in one of
// the folders, else the end of its name there. The last folder counts first.
inline std::optional<File> read_source(const std::vector<Folder>& folders, const std::string& name,
                                       size_t most) {
    if (name.empty() || name.find('\0') != name.npos) return std::nullopt;
    const std::filesystem::path path = name;
    if (path.is_absolute())
        for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
            if (auto found = read_below(*folder, folder->below(path), most)) return found;
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
        for (const std::filesystem::path& rest : {path.relative_path(), path.filename()})
            if (auto found = read_below(*folder, rest, most)) return found;
    return std::nullopt;
}

}  // namespace sassemu::sources
