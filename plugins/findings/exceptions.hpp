// SPDX-License-Identifier: Apache-2.0
// What a report leaves out: suppression files and baselines. What belongs here: reading them, and
// whether a finding is meant.
//
// A suppression file has a pattern a line: KIND [KEY=GLOB]..., where KIND is a glob too ('*': any)
// and KEY one of tool, kernel, function, file, line, pc (hexadecimal, 0x90), sass. A pattern is met
// when one of the finding's places meets all its keys. '#' begins a comment; a value with blanks is
// put in double quotes.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace findings {

enum class Excuse : uint8_t { none, suppressed, baseline };

class Exceptions {
  public:
    // File names; empty: none. Throws std::invalid_argument with file, line and reason.
    Exceptions(std::string tool, const std::string& suppressions, const std::string& baseline);
    // A finding as it is in a JSON report.
    Excuse of(const nlohmann::ordered_json& finding) const;

  private:
    struct Pattern {
        std::string kind;
        std::vector<std::pair<std::string, std::string>> keys;
    };
    void read_suppressions(const std::string& file);
    void read_baseline(const std::string& file);

    std::string tool_;
    std::vector<Pattern> patterns_;
    std::set<std::string> known_;
};

}  // namespace findings
