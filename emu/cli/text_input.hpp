// SPDX-License-Identifier: Apache-2.0
// A text that is read line by line: of a file, or of standard input.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/module/module.hpp"

namespace sassemu::cli {

class TextInput {
  public:
    // `path`: a file, which is read at once (read_file says what it refuses), or "-".
    static Result<TextInput> open(const std::string& path) {
        TextInput input;
        if (path == "-") return input;
        SASSEMU_ASSIGN(input.bytes_, read_file(path));
        input.file_.reset(::fmemopen(input.bytes_.data(), input.bytes_.size(), "r"));
        if (!input.file_) return Error{ErrorCode::system, path, "cannot be read", ""};
        return input;
    }
    std::FILE* stream() const { return file_ ? file_.get() : stdin; }

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::vector<uint8_t> bytes_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace sassemu::cli
