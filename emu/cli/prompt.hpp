// SPDX-License-Identifier: Apache-2.0
// Lines that a user types at the debugger's prompt. On a terminal they can be edited, called up
// again and completed, where libedit was there to build with. What does not belong here: what a
// line means.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sassemu::cli {

class Prompt {
  public:
    // What may stand in place of the last word of what has been typed so far.
    using Complete = std::function<std::vector<std::string>(const std::string& typed)>;
    // Ctrl-C is told by a byte at `interrupts`, the end of a pipe: one that comes between two reads
    // would be missed otherwise.
    Prompt(bool terminal, Complete complete, int interrupts);
    ~Prompt();
    Prompt(const Prompt&) = delete;
    // The next line of standard input; false: there is none. After Ctrl-C the line is empty.
    bool read(std::string& line);

  private:
    struct Editor;
    bool read_plainly(std::string& line);
    // A byte of standard input: 1; 0: it is at its end; -1: Ctrl-C.
    int read_byte(char& c) const;
    void drain() const;

    const bool terminal_;
    const int interrupts_;
    std::unique_ptr<Editor> editor_;
};

}  // namespace sassemu::cli
