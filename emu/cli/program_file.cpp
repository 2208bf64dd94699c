// SPDX-License-Identifier: Apache-2.0
// See program_file.hpp.
#include "emu/cli/program_file.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace sassemu::cli {
namespace {

constexpr unsigned most_interpreters = 4;  // as the kernel

Error cannot(const std::string& path, std::string why, std::string hint = {}) {
    return make_error(ErrorCode::unsupported, path, "sassemu exec cannot run it: " + std::move(why),
                      std::move(hint));
}

bool executable(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> look_up(const std::string& name) {
    if (name.find('/') != name.npos) {
        if (executable(name)) return name;
        const int error = errno;
        struct stat status {};
        const bool there = ::stat(name.c_str(), &status) == 0;
        return make_error(ErrorCode::usage, name,
                          !there                    ? "there is no such program"
                          : S_ISDIR(status.st_mode) ? "is a folder"
                                                    : std::string("cannot be executed: ") +
                                                          std::strerror(error ? error : EACCES));
    }
    const char* const set = std::getenv("PATH");
    const std::string path = set != nullptr ? set : "/usr/local/bin:/usr/bin:/bin";
    for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find(':', at), path.size());
        const std::string folder = path.substr(at, end - at);
        const std::string file = (folder.empty() ? "." : folder) + "/" + name;
        if (executable(file)) return file;
        at = end + 1;
    }
    return make_error(ErrorCode::usage, name, "there is no such program on PATH");
}

// What the kernel runs under other rights, and the linker therefore under no LD_AUDIT.
Result<void> check_rights(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    const bool user = (status.st_mode & S_ISUID) && status.st_uid != ::geteuid();
    const bool group =
        (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != ::getegid();
    const char* const hint = "run a copy without";
    if (user || group)
        return cannot(path,
                      "it has a set-user-id or set-group-id bit, so the dynamic linker keeps "
                      "to the system's libraries",
                      hint);
    if (::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
        return cannot(path,
                      "it has file capabilities, so the dynamic linker keeps to the system's "
                      "libraries",
                      hint);
    return {};
}

Result<void> check_elf(const std::string& path, std::ifstream& file) {
    Elf64_Ehdr header{};
    file.seekg(0);
    file.read(reinterpret_cast<char*>(&header), sizeof header);
#if defined(__x86_64__)
    constexpr unsigned machine = EM_X86_64;
#else
    constexpr unsigned machine = EM_AARCH64;
#endif
    if (!file || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine)
        return cannot(path, "it is for another machine than this sassemu");
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
        file.read(reinterpret_cast<char*>(&part), sizeof part);
        if (!file) break;
        if (part.p_type != PT_INTERP) continue;
        std::array<char, 256> linker{};
        file.seekg(static_cast<std::streamoff>(part.p_offset));
        file.read(linker.data(),
                  static_cast<std::streamsize>(std::min<size_t>(part.p_filesz, linker.size() - 1)));
        if (std::strstr(linker.data(), "ld-musl") != nullptr)
            return cannot(path, "its C library is musl, whose linker has no LD_AUDIT",
                          "build it against glibc");
        return {};
    }
    return cannot(path, "it is linked statically, so there is no CUDA library to replace",
                  "link it dynamically, with -cudart shared");
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
    SASSEMU_ASSIGN(std::string program, look_up(name));
    std::string path = program;
    for (unsigned depth = 0; depth <= most_interpreters; ++depth) {
        SASSEMU_TRY(check_rights(path));
        std::ifstream file(path, std::ios::binary);
        std::array<char, 512> begin{};
        file.read(begin.data(), begin.size() - 1);
        const std::string_view text(begin.data(), static_cast<size_t>(file.gcount()));
        file.clear();
        // What cannot be read may be executed all the same; then the kernel decides.
        if (text.starts_with(ELFMAG)) {
            SASSEMU_TRY(check_elf(path, file));
            break;
        }
        if (!text.starts_with("#!")) break;
        std::string line(text.substr(2, text.find('\n') - 2));
        const size_t first = line.find_first_not_of(" \t");
        if (first == line.npos) break;
        const size_t end = line.find_first_of(" \t", first);
        path = line.substr(first, end - first);
        if (path.ends_with("/env") && end != line.npos) {
            const size_t word = line.find_first_not_of(" \t", end);
            if (word == line.npos || line[word] == '-') break;
            const auto found = look_up(line.substr(word, line.find_first_of(" \t", word) - word));
            if (!found) break;
            path = *found;
        }
    }
    return program;
}

}  // namespace sassemu::cli
