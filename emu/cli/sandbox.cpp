// SPDX-License-Identifier: Apache-2.0
// See sandbox.hpp. The kernel's interfaces are called directly: the filter is a list of numbers
// with five conditions, and for Landlock there is no library.
//
// An output is written to a temporary file and renamed, as outside of the sandbox. A sealed process
// cannot rename, so one that was forked before does: the keeper. It does nothing else, knows the
// names from before, and when the run is gone it removes what was not renamed.
#include "emu/cli/sandbox.hpp"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emu/plan/atomic_file.hpp"

namespace sassemu::cli {
namespace {

Error refused(const std::string& what) {
    return make_error(ErrorCode::system, "--sandbox", what + ": " + std::strerror(errno),
                      "nothing was run");
}

// ---- Landlock: no file, no network, no signals and no abstract sockets beyond this process

// As linux/landlock.h has them; the headers of a build host may be older than its kernel.
struct LandlockRules {
    uint64_t files, network, scoped;
};
constexpr uint32_t ask_version = 1;

int landlock_version() {
    return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, size_t{0}, ask_version));
}

// Everything that this version can forbid, with no exception.
bool forbid_files_and_network() {
    const int version = landlock_version();
    LandlockRules rules{};
    const unsigned file_rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    rules.files = (uint64_t{1} << file_rights) - 1;
    rules.network = version >= 4 ? 3 : 0;
    rules.scoped = version >= 6 ? 3 : 0;
    const size_t known = version >= 6 ? 24 : version >= 4 ? 16 : 8;  // bytes of the struct
    const auto rule_set = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, known, 0u));
    if (rule_set < 0) return false;
    const bool done = syscall(SYS_landlock_restrict_self, rule_set, 0u) == 0;
    ::close(rule_set);
    return done;
}

// ---- seccomp: a list of what is allowed, for all threads

#if defined(__x86_64__)
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

// What neither opens nor reaches anything.
constexpr int allowed[] = {
    // open files
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_fstat,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,

    SYS_close,
    // memory that is there
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_membarrier,
    // threads of this process
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_getpid,
    SYS_exit,
    SYS_exit_group,
    SYS_sched_yield,
    SYS_getcpu,
    SYS_wait4,
    // signals to itself
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    // clocks, chance, measures
    SYS_clock_getres,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_times,
#ifdef SYS_pause
    SYS_pause,
    SYS_time,
#endif
};

class Filter {
  public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        add(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
        answer(SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
        for (const int number : allowed) {
            add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1);
            answer(SECCOMP_RET_ALLOW);
        }
        // A C library that cannot look into its arguments is told to use clone().
        add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
        answer(SECCOMP_RET_ERRNO | ENOSYS);
        // Threads, no processes; memory without code; limits are asked for, not set; signals for
        // this process; the flags of open files; where the calling thread runs, and no other;
        // clocks that all have, none of another process.
        if_bits(SYS_clone, 0, CLONE_THREAD, true);
        if_bits(SYS_mmap, 2, PROT_EXEC, false);
        if_bits(SYS_mprotect, 2, PROT_EXEC, false);
        if_low_word(SYS_tgkill, 0, {static_cast<uint32_t>(::getpid())});
        if_low_word(SYS_fcntl, 1, {F_GETFD, F_GETFL});
        if_null_of(SYS_prlimit64, 2, {0, static_cast<uint32_t>(::getpid())});
        const std::vector<uint32_t> caller{0}, own{0, static_cast<uint32_t>(::getpid())};
        if_low_word(SYS_sched_setaffinity, 0, caller);
        if_low_word(SYS_sched_getaffinity, 0, own);
        const std::vector<uint32_t> clocks{
            CLOCK_REALTIME,          CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
            CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
            CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME,      CLOCK_TAI};
        if_low_word(SYS_clock_gettime, 0, clocks);
        if_low_word(SYS_clock_nanosleep, 0, clocks);
        answer(SECCOMP_RET_ERRNO | EPERM);
    }
    // For all threads there are.
    bool install() {
        sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
               0;
    }

  private:
    void add(unsigned code, uint32_t value, unsigned yes, unsigned no) {
        code_.push_back({static_cast<uint16_t>(code), static_cast<uint8_t>(yes),
                         static_cast<uint8_t>(no), value});
    }
    void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset), 0, 0); }
    void answer(uint32_t what) { add(BPF_RET | BPF_K, what, 0, 0); }
    // The halves of an argument; both architectures are little endian.
    static size_t low(unsigned argument) { return offsetof(seccomp_data, args) + 8 * argument; }

    // A call of this number runs `body`, which ends in an answer; others skip it. `length`: of the
    // body.
    void begin(long number, unsigned length) {
        load(offsetof(seccomp_data, nr));
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, length);
    }
    void if_bits(long number, unsigned argument, uint32_t bits, bool set) {
        begin(number, 4);
        load(low(argument));
        add(BPF_JMP | BPF_JSET | BPF_K, bits, set ? 0 : 1, set ? 1 : 0);
        answer(SECCOMP_RET_ALLOW);
        answer(SECCOMP_RET_ERRNO | EPERM);
    }
    void if_low_word(long number, unsigned argument, const std::vector<uint32_t>& values) {
        begin(number, static_cast<unsigned>(2 * values.size() + 2));
        load(low(argument));
        for (const uint32_t value : values) {
            add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
            answer(SECCOMP_RET_ALLOW);
        }
        answer(SECCOMP_RET_ERRNO | EPERM);
    }
    // Of one of these processes.
    void if_null_of(long number, unsigned argument, const std::vector<uint32_t>& processes) {
        const auto choices = static_cast<unsigned>(2 * processes.size());
        begin(number, choices + 6);
        load(low(argument));
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, choices + 3);
        load(low(argument) + 4);
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, choices + 1);
        load(low(0));
        for (const uint32_t process : processes) {
            add(BPF_JMP | BPF_JEQ | BPF_K, process, 0, 1);
            answer(SECCOMP_RET_ALLOW);
        }
        answer(SECCOMP_RET_ERRNO | EPERM);
    }

    std::vector<sock_filter> code_;
};

// Descriptors that came with the program: those of its own are closed by exec.
Result<std::vector<int>> inherited_descriptors() {
    std::vector<int> found;
    const auto look_at = [&](int number) {
        const int flags = ::fcntl(number, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found.push_back(number);
    };
    DIR* directory = ::opendir("/proc/self/fd");
    if (directory != nullptr) {
        while (const dirent* entry = ::readdir(directory))
            if (const int number = std::atoi(entry->d_name); number > STDERR_FILENO)
                look_at(number);
        ::closedir(directory);
        return found;
    }
    // Nobody tells. Ours are the first that were free; what lies far above came with the program,
    // and without /proc it has no name under which anything here could still want it.
    constexpr int far = 4096;
    const int ours = ::dup(STDERR_FILENO);
    ::close(ours);
    if (ours < 0 || ours >= far || ::close_range(far, ~0u, 0) != 0)
        return make_error(ErrorCode::system, "--sandbox",
                          "without /proc it cannot be told which descriptors the caller left open",
                          "nothing was run");
    for (int number = STDERR_FILENO + 1; number < far; ++number) look_at(number);
    return found;
}

bool send(int to, const void* bytes, size_t count) {
    return ::send(to, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

}  // namespace

Result<std::unique_ptr<Sandbox>> Sandbox::create() {
    if (landlock_version() < 1) return refused("this kernel has no Landlock");
    const uint32_t action = SECCOMP_RET_ERRNO;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) != 0)
        return refused("this kernel has no seccomp filters");
    std::unique_ptr<Sandbox> made(new Sandbox);
    SASSEMU_ASSIGN(made->inherited_, inherited_descriptors());
    return made;
}

Sandbox::~Sandbox() {
    if (keeper_ < 0) {
        for (const Output& output : outputs_) ::unlink(output.temporary.c_str());
        return;
    }
    ::close(keeper_);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<std::string> Sandbox::open_output(const std::string& path) {
    SASSEMU_ASSIGN(const plan::Replacement file, plan::open_replacement(path));
    outputs_.push_back({file.descriptor, file.temporary, file.target, path});
    return "/dev/fd/" + std::to_string(file.descriptor);
}

// The keeper: told a number, it renames that output and answers with errno or 0.
Result<void> Sandbox::start() {
    if (outputs_.empty()) return {};
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return refused("cannot make a socket");
    const pid_t process = ::fork();
    if (process < 0) {
        ::close(ends[0]);
        ::close(ends[1]);
        return refused("cannot start a process");
    }
    if (process != 0) {
        ::close(ends[1]);
        keeper_ = ends[0];
        process_ = process;
        return {};
    }
    // It ends when the run does, whatever ends that.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
    for (int number = 0; number < ends[1]; ++number) ::close(number);
    ::close_range(static_cast<unsigned>(ends[1]) + 1, ~0u, 0);
    uint32_t index;
    while (::recv(ends[1], &index, sizeof index, MSG_WAITALL) == sizeof index) {
        int error = EINVAL;
        if (index < outputs_.size()) {
            Output& output = outputs_[index];
            error = ::rename(output.temporary.c_str(), output.target.c_str()) == 0 ? 0 : errno;
        }
        if (!send(ends[1], &error, sizeof error)) break;
    }
    for (const Output& output : outputs_) ::unlink(output.temporary.c_str());
    ::_exit(0);
}

Result<void> Sandbox::seal() {
    for (const int number : inherited_) ::close(number);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) return refused("cannot open /dev/null");
    // The C library asks on the first write what it writes to, and then may not.
    if (::isatty(STDOUT_FILENO)) std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !forbid_files_and_network())
        return refused("Landlock cannot be used");
    if (!Filter().install()) return refused("seccomp cannot be used");
    return {};
}

Result<void> Sandbox::finish() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
        if (::lseek(outputs_[i].descriptor, 0, SEEK_END) <= 0) continue;
        const auto index = static_cast<uint32_t>(i);
        int error = EPIPE;
        if (::write(keeper_, &index, sizeof index) != sizeof index ||
            ::read(keeper_, &error, sizeof error) != sizeof error)
            error = EPIPE;
        if (error != 0)
            return make_error(ErrorCode::system, outputs_[i].path,
                              std::string("cannot replace: ") + std::strerror(error));
    }
    return {};
}

}  // namespace sassemu::cli

#else

namespace sassemu::cli {

Result<std::unique_ptr<Sandbox>> Sandbox::create() {
    return make_error(ErrorCode::system, "--sandbox", "is for Linux on x86-64 and AArch64",
                      "nothing was run");
}
Sandbox::~Sandbox() = default;
Result<std::string> Sandbox::open_output(const std::string& path) { return path; }
Result<void> Sandbox::start() { return {}; }
Result<void> Sandbox::seal() { return {}; }
Result<void> Sandbox::finish() { return {}; }

}  // namespace sassemu::cli

#endif
