// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all, written piece by piece. Not installed.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <sassemu/trace.hpp>
#include <utility>

namespace sassemu::trace {

class Output {
  public:
    explicit Output(const std::string& path) : path_(path), target_(path) {
        // What is there and is no regular file (a device, a pipe) is written to in place.
        std::error_code ignored;
        const auto there = std::filesystem::status(path, ignored);
        exists_ = std::filesystem::exists(there);
        replaces_ = !exists_ || std::filesystem::is_regular_file(there);
        if (exists_ && replaces_) target_ = std::filesystem::canonical(path, ignored).string();
        const int file = replaces_ ? open_beside() : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (file < 0) throw Error(path_ + ": cannot create: " + std::strerror(errno));
        file_ = ::fdopen(file, "w");
        if (!file_) {
            ::close(file);
            throw Error(path_ + ": cannot create: " + std::strerror(errno));
        }
    }
    Output(const Output&) = delete;
    ~Output() {
        if (file_) std::fclose(file_);
        if (!name_.empty()) ::unlink(name_.c_str());
    }
    void write(const std::string& bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
        bytes_ += bytes.size();
    }
    uint64_t bytes() const { return bytes_; }
    // Under its own name, from now on; with the mode of what it replaces.
    void finish() {
        if (std::fflush(file_) != 0) fail();
        if (replaces_) {
            const int file = ::fileno(file_);
            struct stat old {};
            if (exists_ && ::stat(target_.c_str(), &old) == 0 &&
                ::fchmod(file, old.st_mode & 07777) != 0)
                fail();
            if (name_.empty()) {
                const std::string now = temporary_name();
                if (::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(file)).c_str(), AT_FDCWD,
                             now.c_str(), AT_SYMLINK_FOLLOW) != 0)
                    fail();
                name_ = now;
            }
        }
        if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
        if (replaces_ && std::rename(name_.c_str(), target_.c_str()) != 0) fail();
        name_.clear();
    }

  private:
    // Without a name, so that nothing of it stays if the process is ended; where the file system
    // has no such files, with one.
    int open_beside() {
        const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
        const int file =
            ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
        const std::string now = temporary_name();
        const int named = ::open(now.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (named >= 0) name_ = now;
        return named;
    }
    std::string temporary_name() const {
        std::random_device random;
        char text[40];
        std::snprintf(text, sizeof text, ".sassemu-tmp.%08x%08x", random(), random());
        return (std::filesystem::path(target_).parent_path() / text).string();
    }
    [[noreturn]] void fail() const {
        throw Error(path_ + ": cannot write: " + std::strerror(errno));
    }
    std::string path_, target_, name_;  // the name of the file as long as it is under construction
    std::FILE* file_ = nullptr;
    uint64_t bytes_ = 0;
    bool exists_ = false, replaces_ = true;
};

}  // namespace sassemu::trace
