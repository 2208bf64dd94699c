// SPDX-License-Identifier: Apache-2.0
// What goes wrong between host processes and the emulator: one line each, and never a hang.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "sdk/host/wire.h"
#include "tests/host/emulator.hpp"

namespace test {
namespace {

const std::string buffers = R"("flag": {"bytes": 64, "kind": "host"}, "seen": {"bytes": 4})";
const std::string args = R"({"buffer": "flag"}, {"i32": 1}, {"buffer": "seen"})";

std::string await_plan(const Folder& folder) {
    return plan_of(folder, "flight", "await", buffers, args);
}
bool says(const Emulator& emulator, const std::string& what) {
    return emulator.output().find(what) != std::string::npos;
}
// The line of a call that has to fail with that status.
std::string refused(sassemu_host_status status, const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "it was not refused";
    return "";
}
std::string refused(const std::string& address, sassemu_host_status status) {
    return refused(status, [&] { Attachment{address}; });
}

// A process that attaches and is gone without a word, while the kernel waits for it.
TEST(HostFault, AKilledProcessLeavesANamedDeadlock) {
    const Folder folder;
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--seed", "3"}, {"--threads", "1"}}) {
        Emulator emulator(folder, await_plan(folder), more);
        int ready[2];
        ASSERT_EQ(::pipe(ready), 0);
        const pid_t child = ::fork();
        if (!child) {
            Attachment host = emulator.attach();
            host["flag"].atomic<uint32_t>(4).store(9);
            [[maybe_unused]] const ssize_t told = ::write(ready[1], "x", 1);
            host["flag"].atomic<uint32_t>(4).wait(SASSEMU_HOST_EQUAL, 1, long_enough);
            ::_exit(0);
        }
        char byte;
        ASSERT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        EXPECT_EQ(emulator.end(), 4) << emulator.output();
        EXPECT_TRUE(says(emulator, "deadlock in kernel 'await'")) << emulator.output();
        EXPECT_TRUE(says(emulator, "host process 1 (pid " + std::to_string(child) +
                                       ") has ended without detaching"))
            << emulator.output();
    }
}

// So does one that detaches; the next one could not come in time.
TEST(HostFault, ADetachedProcessLeavesADeadlock) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder));
    { Attachment host = emulator.attach(); }
    EXPECT_EQ(emulator.end(), 4) << emulator.output();
    EXPECT_TRUE(says(emulator, "deadlock in kernel 'await'")) << emulator.output();
}

TEST(HostFault, AKernelAndAProcessThatWaitForEachOther) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder));
    {
        Attachment host = emulator.attach();
        // As long as this waits with an end it may act.
        EXPECT_FALSE(host["seen"].atomic<uint32_t>().wait(SASSEMU_HOST_EQUAL, 1, 100ms));
        const std::string line = refused(SASSEMU_HOST_ENDED, [&] {
            host["seen"].atomic<uint32_t>().wait(SASSEMU_HOST_EQUAL, 1);
        });
        EXPECT_EQ(line,
                  "the launches have ended (deadlock) and nobody can write what is waited "
                  "for: buffer 'seen' at 0");
        EXPECT_EQ(host.finish(0s), "deadlock");
    }
    EXPECT_EQ(emulator.end(), 4) << emulator.output();
    EXPECT_TRUE(says(emulator, "waits until the value (0) == 1")) << emulator.output();
}

// Memory of a process goes while a kernel spins on it: taken back, detached, killed.
TEST(HostFault, MemoryThatGoesWhileInUse) {
    const Folder folder;
    const uint64_t at = uint64_t{1} << 44;
    for (const bool killed : {false, true}) {
        Emulator emulator(folder, plan_of(folder, "flight", "await", buffers,
                                          "{\"u64\": " + std::to_string(at) +
                                              "}, {\"i32\": 7}, {\"buffer\": \"seen\"}"));
        const pid_t child = ::fork();
        if (!child) {
            Attachment host = emulator.attach(true);
            const Buffer mine = host.add_memory("mine", 64, at);
            mine.store(1u);
            host.begin();
            // The kernel has begun when it has read the flag; nothing tells, and it need not.
            if (killed) ::kill(::getpid(), SIGKILL);
            host.remove_memory(mine);
            const bool told = host.finish(long_enough) != "ok";
            ::_exit(told ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(killed || status == 0);
        EXPECT_EQ(emulator.end(), 3) << emulator.output();
        EXPECT_TRUE(says(emulator, "use-after-free")) << emulator.output();
        EXPECT_TRUE(says(emulator, "mine of host process 1")) << emulator.output();
    }
}

TEST(HostFault, OutsideOfItsBounds) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder));
    Attachment host = emulator.attach(true);
    const Buffer seen = host["seen"];
    EXPECT_EQ(refused(SASSEMU_HOST_OUTSIDE, [&] { seen.store(1u, 4); }),
              "buffer 'seen': 4 bytes at 4 are outside: it has 4");
    EXPECT_EQ(refused(SASSEMU_HOST_OUTSIDE, [&] { (void)seen.load<uint32_t>(~uint64_t{3}); }),
              "buffer 'seen': 4 bytes at 18446744073709551612 are outside: it has 4");
    EXPECT_NE(
        refused(SASSEMU_HOST_OUTSIDE, [&] { host["flag"].copy_from(seen, 5); }).find("'seen'"),
        std::string::npos);
    refused(SASSEMU_HOST_OUTSIDE, [&] { seen.atomic<uint64_t>().fetch_add(1); });
    refused(SASSEMU_HOST_OUTSIDE, [&] { seen.atomic<uint64_t>().wait(SASSEMU_HOST_EQUAL, 1, 0s); });
    refused(SASSEMU_HOST_USAGE, [&] { seen.store(1u, 2); });
    uint32_t value = 0;
    EXPECT_EQ(sassemu_host_load(host.get(), 99, 0, &value, 4), SASSEMU_HOST_OUTSIDE);
    EXPECT_STREQ(sassemu_host_error(), "buffer 99: does not exist");
    EXPECT_EQ(sassemu_host_unregister(host.get(), seen.id()), SASSEMU_HOST_USAGE);
    EXPECT_EQ(sassemu_host_load(nullptr, 1, 0, &value, 4), SASSEMU_HOST_USAGE);
    refused(SASSEMU_HOST_USAGE, [&] { host.add_memory("odd", 64, 4097); });
    refused(SASSEMU_HOST_USAGE, [&] { host.add_memory("", 64); });
    refused(SASSEMU_HOST_OUTSIDE, [&] { host.add_memory("there", 64, seen.address() & ~4095ull); });
    for (int n = 0; n < 256; ++n) (void)host.add_memory("many", 64);
    EXPECT_NE(
        refused(SASSEMU_HOST_REFUSED, [&] { host.add_memory("many", 64); }).find("at most 256"),
        std::string::npos);
    seen.store(3u);
    EXPECT_EQ(seen.load<uint32_t>(), 3u);  // it is still attached
}

TEST(HostFault, OneTooMany) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder));
    Attachment host = emulator.attach();
    EXPECT_EQ(refused(emulator.address(), SASSEMU_HOST_REFUSED),
              "1 host processes are attached already: the limit (--clients)");
    host["flag"].atomic<uint32_t>().store(1);
    EXPECT_EQ(host.finish(long_enough), "ok");
}

// By hand: what no library sends.
class Raw {
  public:
    explicit Raw(const std::string& address) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::strcpy(at.sun_path, address.c_str() + 5);
        socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    }
    ~Raw() { ::close(socket_); }
    template <class T>
    void send(const T& what) {
        (void)::send(socket_, &what, sizeof what, MSG_NOSIGNAL);
    }
    // All until the other side ends.
    std::string rest() {
        std::string all;
        char piece[4096];
        for (ssize_t got; (got = ::read(socket_, piece, sizeof piece)) > 0;)
            all.append(piece, static_cast<size_t>(got));
        return all;
    }

  private:
    int socket_;
};
sassemu_wire_hello hello(uint32_t version) {
    sassemu_wire_hello one{};
    std::memcpy(one.magic, SASSEMU_WIRE_MAGIC, sizeof one.magic);
    one.version = version;
    return one;
}

TEST(HostFault, StrangersAndOtherVersions) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder));
    Attachment host = emulator.attach(true);
    {
        Raw old(emulator.address());
        old.send(hello(7));
        EXPECT_NE(old.rest().find("the emulator speaks version 1 of the host protocol, and the "
                                  "library 7"),
                  std::string::npos);
        Raw stranger(emulator.address());
        stranger.send("GET / HTTP/1.1\r\n\r\n");
        EXPECT_EQ(stranger.rest(), "");
    }
    { Raw silent(emulator.address()); }
    host["flag"].atomic<uint32_t>().store(1);
    host.begin();
    EXPECT_EQ(host.finish(long_enough), "ok");
}

TEST(HostFault, RequestsThatAreNone) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder), {"--clients", "4"});
    Attachment host = emulator.attach(true);
    for (uint32_t what : {0u, 77u, uint32_t{SASSEMU_WIRE_READ}, uint32_t{SASSEMU_WIRE_ATOMIC},
                          uint32_t{SASSEMU_WIRE_REGISTER}, uint32_t{SASSEMU_WIRE_WAIT}}) {
        sassemu_wire_request request{};
        request.what = what;
        request.window = 1;
        request.bytes = ~uint64_t{0};
        request.op = request.type = 0xffffff01u;
        Raw raw(emulator.address());
        raw.send(hello(SASSEMU_WIRE_VERSION));
        raw.send(request);
        request.payload = 0xffffffffu;
        raw.send(request);  // and this one ends it
        EXPECT_NE(raw.rest().find("at most 1 MiB"), std::string::npos) << what;
    }
    host["flag"].atomic<uint32_t>().store(1);
    host.begin();
    EXPECT_EQ(host.finish(long_enough), "ok");
}

TEST(HostFault, SocketsThatAreThere) {
    const Folder folder;
    const std::string path = folder / "socket";
    {
        Emulator emulator(folder, await_plan(folder));
        Attachment host = emulator.attach();
        struct stat about {};
        ASSERT_EQ(::stat(path.c_str(), &about), 0);
        EXPECT_EQ(about.st_mode & 0777, 0600u);
        const Folder other_folder;
        Emulator other(other_folder, await_plan(folder), {"--listen", emulator.address()});
        EXPECT_EQ(other.end(), 2);
        EXPECT_TRUE(says(other, "another process listens there")) << other.output();
        emulator.signal(SIGKILL);
        // Whoever is attached is told.
        refused(SASSEMU_HOST_GONE,
                [&] { host["seen"].atomic<uint32_t>().wait(SASSEMU_HOST_EQUAL, 1); });
        emulator.end();
    }
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);  // left behind
    {
        Emulator emulator(folder, await_plan(folder));
        Attachment host = emulator.attach();
        host["flag"].atomic<uint32_t>().store(1);
        EXPECT_EQ(host.finish(long_enough), "ok");
        sassemu_host_detach(nullptr);
    }
    ::unlink(path.c_str());
    std::ofstream(path) << "a file";
    Emulator emulator(folder, await_plan(folder));
    EXPECT_EQ(emulator.end(), 2);
    EXPECT_TRUE(says(emulator, "there is a file, and it is no socket")) << emulator.output();
    EXPECT_NE(refused("unix:" + folder / "nothing", SASSEMU_HOST_GONE).find("no emulator listens"),
              std::string::npos);
    refused("tcp:localhost:1", SASSEMU_HOST_USAGE);
    refused("unix:" + std::string(200, 'x'), SASSEMU_HOST_USAGE);
}

TEST(HostFault, NobodyAttaches) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder), {"--patience", "0.2"});
    EXPECT_EQ(emulator.end(), 4) << emulator.output();
    EXPECT_TRUE(says(emulator, "no host process has attached within")) << emulator.output();
    // Launches that wait for nobody end as a deadlock when nobody comes.
    Emulator alone(folder, await_plan(folder), {"--patience", "0.2", "--begin-at-once"});
    EXPECT_EQ(alone.end(), 4) << alone.output();
    EXPECT_TRUE(says(alone, "deadlock in kernel 'await'")) << alone.output();
    Emulator late(folder, await_plan(folder), {"--begin-at-once"});
    {
        Attachment host = late.attach();
        host["flag"].atomic<uint32_t>().store(1);
    }
    EXPECT_EQ(late.end(), 0) << late.output();
}

// One that never detaches: it is told that the run is over, and the run ends.
TEST(HostFault, TheRunEndsWithoutIt) {
    const Folder folder;
    Emulator emulator(folder, await_plan(folder), {"--patience", "0.3"});
    Attachment host = emulator.attach();
    host["flag"].atomic<uint32_t>().store(1);
    EXPECT_EQ(emulator.end(), 0) << emulator.output();
    EXPECT_TRUE(says(emulator, "was still attached when the run ended")) << emulator.output();
    EXPECT_EQ(refused(SASSEMU_HOST_GONE, [&] { (void)host["seen"].load<uint32_t>(); }),
              "the run is over: ok");
    EXPECT_EQ(refused(SASSEMU_HOST_GONE, [&] { (void)host["seen"].load<uint32_t>(); }),
              "the run is over: ok");
}

TEST(HostFault, InterruptsEndIt) {
    const Folder folder;
    for (const bool hold : {true, false}) {
        Emulator emulator(folder, await_plan(folder));
        Attachment host = emulator.attach(hold);
        host["seen"].store(5u);
        emulator.signal(SIGINT);
        EXPECT_EQ(emulator.end(), 130) << emulator.output();
        refused(SASSEMU_HOST_GONE,
                [&] { host["seen"].atomic<uint32_t>().wait(SASSEMU_HOST_EQUAL, 1); });
    }
}

TEST(HostFault, OptionsThatDoNotGoTogether) {
    const Folder folder;
    for (const auto& [more, line] :
         {std::pair<std::vector<std::string>, std::string>{
              {"--deterministic"}, "--deterministic: a host process acts when it likes"},
          {{"--sandbox"}, "--sandbox: host processes need a socket"},
          {{"--ranks", "--rank", "0"}, "--ranks excludes --listen"},
          {{"--listen", "tcp:localhost:7000"}, "host processes attach through a Unix socket"},
          {{"--clients", "0"}, "--clients"}}) {
        Emulator emulator(folder, await_plan(folder), more);
        const int code = emulator.end();
        EXPECT_TRUE(code == 2 || code == 5) << code;
        EXPECT_TRUE(says(emulator, line)) << emulator.output();
        EXPECT_EQ(std::ranges::count(emulator.output(), '\n'), 1) << emulator.output();
    }
}

}  // namespace
}  // namespace test
