// SPDX-License-Identifier: Apache-2.0
// See output.hpp.
#include "emu/cli/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sassemu::cli {
namespace {

int first_error = 0;  // errno of the first write that failed

void remember(bool good) {
    if (!good && first_error == 0) first_error = errno;
}

}  // namespace

void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest free number is this one. Opened the wrong way round, so that its use fails.
        if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
    }
}

void print(std::string_view text) {
    errno = 0;
    remember(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

Result<void> finish_output() {
    errno = 0;
    remember(std::fflush(stdout) == 0);
    // Some is printed by others, who leave a mark but not the reason.
    if (first_error == 0 && std::ferror(stdout) == 0) return {};
    return make_error(ErrorCode::system, "standard output",
                      std::string("cannot write: ") +
                          (first_error != 0 ? std::strerror(first_error) : "output was lost"));
}

}  // namespace sassemu::cli
