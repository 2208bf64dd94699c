// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all. Nothing else belongs here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "emu/base/result.hpp"
#include "emu/plan/byte_source.hpp"

namespace sassemu::plan {

// Writes a temporary file beside `path` and renames it. On any error `path` is as it was, and no
// temporary file stays. A file that is replaced keeps its mode, and its owner where the system lets
// it; a symbolic link stays, and its target is what is replaced or made. A device or a FIFO that
// somebody reads is written to in place: there is nothing to keep whole. Anything else that is no
// regular file is an error. "/dev/fd/N" is the descriptor of this process, written to as it is; if
// that fails, its file is left empty.
// Stretches of zeros that need not be read become holes of a regular file.
Result<void> write_file_atomically(const std::string& path, ByteSource& bytes);
inline Result<void> write_file_atomically(const std::string& path,
                                          std::span<const std::byte> bytes) {
    SpanSource source(bytes);
    return write_file_atomically(path, source);
}
inline Result<void> write_file_atomically(const std::string& path, std::string_view text) {
    return write_file_atomically(path, std::as_bytes(std::span(text)));
}

// Removes the temporary files of writes that are under way. For a signal handler that ends the
// process next: async-signal-safe.
void remove_temporary_files() noexcept;

// The same in two steps, for a process that later may open and rename nothing: the temporary file
// here, which the caller writes to as "/dev/fd/N", renames and otherwise removes.
struct Replacement {
    int descriptor;
    std::string temporary, target;
};
Result<Replacement> open_replacement(const std::string& path);

}  // namespace sassemu::plan
