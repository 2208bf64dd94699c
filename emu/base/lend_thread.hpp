// SPDX-License-Identifier: Apache-2.0
// Threads that mostly wait: for a socket, a clock, a call of the host's. What computes goes to
// workers (workers.hpp). No other place starts a thread (tests/house/threads_test.py).
#pragma once

#include <pthread.h>

#include <csignal>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace sassemu {

// Not joinable: the host has no thread to give, or no memory for one. Who asks says so or does
// without. Signals that others send are for the program's own threads; those of a crash stay.
template <class Thread = std::thread, class F>
[[nodiscard]] Thread lend_thread(F&& work) noexcept {
    sigset_t most, before;
    sigfillset(&most);
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
        sigdelset(&most, crash);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    Thread thread;
    try {
        thread = Thread(std::forward<F>(work));
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace sassemu
