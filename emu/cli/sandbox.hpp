// SPDX-License-Identifier: Apache-2.0
// --sandbox: what a run may still do once everything is loaded. Belongs here: the rules that the
// kernel is given, and the output files, which are opened before. Does not belong here: which files
// those are and when a run is loaded (run_command.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::cli {

// From seal() on this process may compute, use the memory, threads and clocks it has, and read and
// write what is open: its standard streams, its outputs, and what plugins opened when they were
// made. It opens, makes, renames and deletes no file, has no sockets, starts no program or process,
// signals nobody else and makes no memory executable; refused calls fail with EPERM.
class Sandbox {
  public:
    // Before modules and plugins are loaded. Errors: the kernel has no Landlock or no seccomp
    // filters.
    static Result<std::unique_ptr<Sandbox>> create();
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    ~Sandbox();

    // A file that the run may write. Returns the name by which write_file_atomically() reaches it.
    // It appears under `path` at finish(), if it was written.
    Result<std::string> open_output(const std::string& path);
    // After the last open_output(), before anything is loaded: makes the process that will rename.
    Result<void> start();
    // An error leaves the process as it was or partly shut in: it must not go on.
    Result<void> seal();
    // Puts the outputs in their places. Those that are empty were not written, and their paths stay
    // as they are.
    Result<void> finish();

  private:
    struct Output {
        int descriptor;
        std::string temporary, target, path;
    };
    Sandbox() = default;

    std::vector<Output> outputs_;
    std::vector<int> inherited_;  // descriptors that the caller left open
    int keeper_ = -1;             // the socket of the process that may rename
    int process_ = -1;
};

}  // namespace sassemu::cli
