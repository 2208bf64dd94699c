// SPDX-License-Identifier: Apache-2.0
// Lines of source files, by the names that the compiler recorded. Which of them may be read at all
// says emu/base/input_file.hpp. Nothing else belongs here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::debug {

class Sources {
  public:
    // They may lie there too; the last is looked into first. Errors: no such folder.
    Result<void> add_directory(const std::string& directory);
    // The path of a file that exists and may be read; empty: there is none.
    const std::string& find(const std::string& file) { return of(file).path; }
    // From 1; none: no such file or line.
    std::optional<std::string> line(const std::string& file, uint32_t number);

  private:
    struct File {
        std::string path;
        std::vector<std::string> lines;
    };
    const File& of(const std::string& file);

    std::map<std::string, File> files_;
};

}  // namespace sassemu::debug
