// SPDX-License-Identifier: Apache-2.0
// Lines of source files, by the names that the compiler recorded. Nothing else belongs here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sassemu::debug {

class Sources {
  public:
    // Looked in for files that are not where they were compiled, the last first.
    void add_directory(std::string directory) { directories_.push_back(std::move(directory)); }
    // The path of a file that exists; empty: there is none.
    std::string find(const std::string& file);
    // From 1; none: no such file or line.
    std::optional<std::string> line(const std::string& file, uint32_t number);

  private:
    std::vector<std::string> directories_;
    std::map<std::string, std::string> found_;
    std::map<std::string, std::vector<std::string>> lines_;  // by path
};

}  // namespace sassemu::debug
