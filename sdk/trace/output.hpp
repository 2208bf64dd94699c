// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all, written piece by piece. Not installed.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sassemu/trace.hpp>

namespace sassemu::trace {

class Output {
  public:
    explicit Output(const std::string& path) : path_(path), written_(path) {
        // What is there and is no regular file (a device, a pipe) is written to in place.
        std::error_code ignored;
        const auto there = std::filesystem::status(path, ignored);
        replaces_ = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
        if (replaces_) written_ += ".tmp." + std::to_string(::getpid());
        file_ = std::fopen(written_.c_str(), replaces_ ? "wxe" : "we");
        if (!file_) throw Error(path_ + ": cannot create: " + std::strerror(errno));
    }
    Output(const Output&) = delete;
    ~Output() {
        if (file_) std::fclose(file_);
        if (!done_ && replaces_) ::unlink(written_.c_str());
    }
    void write(const std::string& bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
        bytes_ += bytes.size();
    }
    uint64_t bytes() const { return bytes_; }
    // Under its own name, from now on.
    void finish() {
        std::FILE* const file = file_;
        file_ = nullptr;
        if (std::fclose(file) != 0) fail();
        if (replaces_ && std::rename(written_.c_str(), path_.c_str()) != 0) fail();
        done_ = true;
    }

  private:
    [[noreturn]] void fail() const {
        throw Error(path_ + ": cannot write: " + std::strerror(errno));
    }
    std::string path_, written_;
    std::FILE* file_ = nullptr;
    uint64_t bytes_ = 0;
    bool replaces_ = true, done_ = false;
};

}  // namespace sassemu::trace
