// SPDX-License-Identifier: Apache-2.0
// A plugin that tries, while a kernel runs, what --sandbox forbids, and prints what became of it.
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sassemu/plugin.hpp>
#include <thread>

namespace {

struct Escapes : sassemu::Plugin {
    static constexpr auto name = "escapes", summary = "tries what a sandbox forbids";
    static constexpr sassemu_option options[] = {
        {"folder", "PATH", "where it tries to make files"},
        {"early", "PATH", "a file that it opens when it is made, and writes to at the end"},
    };
    explicit Escapes(const sassemu::Start& start)
        : Plugin(start), folder(start.value("folder")), early(std::string(start.value("early"))) {}

    void launch_begin(sassemu_launch) {
        const std::string made = folder + "/made", there = folder + "/there";
        tell("read", ::open("/etc/passwd", O_RDONLY));
        tell("make", ::open(made.c_str(), O_WRONLY | O_CREAT, 0666));
        tell("truncate", ::truncate(there.c_str(), 0));
        tell("rename", ::rename(there.c_str(), made.c_str()));
        tell("delete", ::unlink(there.c_str()));
        struct stat status;
        tell("look", ::stat("/etc/passwd", &status));
        const int tcp = ::socket(AF_INET, SOCK_STREAM, 0);
        tell("socket", tcp);
        tell("local socket", ::socket(AF_UNIX, SOCK_STREAM, 0));
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        tell("fork", child);
        tell("signal", ::kill(::getppid(), 0));
        tell("code", ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                         ? -1
                         : 0);
        cpu_set_t cpus;
        tell("own affinity", ::sched_getaffinity(0, sizeof cpus, &cpus));
        tell("own affinity set", ::sched_setaffinity(0, sizeof cpus, &cpus));
        tell("affinity", ::sched_setaffinity(parent, sizeof cpus, &cpus));
        tell("affinity of another", ::sched_getaffinity(parent, sizeof cpus, &cpus));
        struct rlimit limit;
        tell("limits of another", ::prlimit(parent, RLIMIT_NOFILE, nullptr, &limit));
        clockid_t clock;
        struct timespec time;
        tell("clock of another",
             ::clock_getcpuclockid(parent, &clock) ? -1 : ::clock_gettime(clock, &time));
        std::thread([&] { tell("read by a thread", ::open("/etc/passwd", O_RDONLY)); }).join();
        tell("inherited", ::fcntl(9, F_GETFD));
        tell("early", early ? 0 : -1);
        early << "written" << std::flush;
        tell("write early", early ? 0 : -1);
    }
    void finish() {
        char* const arguments[] = {const_cast<char*>("true"), nullptr};
        ::execv("/bin/true", arguments);
        tell("exec", -1);
    }
    void tell(const char* what, long result) const {
        print(std::string(what) + ": " + (result < 0 ? std::strerror(errno) : "done") + "\n");
    }
    const pid_t parent = ::getppid();  // which a sandbox does not tell
    const std::string folder;
    std::ofstream early;
};

}  // namespace

SASSEMU_PLUGIN(Escapes)
