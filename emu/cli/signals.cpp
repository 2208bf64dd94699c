// SPDX-License-Identifier: Apache-2.0
// See signals.hpp.
#include "emu/cli/signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/plan/atomic_file.hpp"

namespace sassemu::cli {
namespace {

constexpr int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
struct sigaction original[std::size(handled)];

void on_signal(int) {
    const int before = errno;
    if (!process_budget().interrupt()) {
        plan::remove_temporary_files();
        constexpr char line[] = "sassemu: interrupted\n";
        if (::write(STDERR_FILENO, line, sizeof line - 1) < 0) {
        }
        _exit(exit_with::interrupted);
    }
    errno = before;
}

}  // namespace

void handle_signals() {
    (void)process_budget();  // made here: a handler must not make it
    for (size_t i = 0; i < std::size(handled); ++i) sigaction(handled[i], nullptr, &original[i]);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;  // writes go on: a signal that only asks must not cut output off
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction old {};
        sigaction(number, nullptr, &old);
        if (number == SIGHUP && old.sa_handler == SIG_IGN) continue;  // under nohup
        sigaction(number, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

void restore_signals() {
    for (size_t i = 0; i < std::size(handled); ++i) sigaction(handled[i], &original[i], nullptr);
}

bool interrupted() { return process_budget().cause() == Budget::Stop::interrupted; }

}  // namespace sassemu::cli
