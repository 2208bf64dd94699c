// SPDX-License-Identifier: Apache-2.0
// Accesses of a host process are events of the memory model, by the host, of system scope.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/host/emulator.hpp"

namespace test {
namespace {

const std::string buffers = R"("data": {"bytes": 4}, "flag": {"bytes": 4, "kind": "host"})";
const std::string args = R"({"buffer": "data"}, {"buffer": "flag"}, {"u32": 7})";

// In how many of the seeds the host sees the flag and not what was sent before it. It waits for
// just that, so every turn of the scheduler is looked at.
int stale(const std::string& kernel, int seeds) {
    int count = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        const Folder folder;
        Emulator emulator(
            folder,
            plan_of(folder, "peers", kernel, R"("both": {"bytes": 8})",
                    R"({"buffer": "both"}, {"buffer": "both", "offset": 4}, {"u32": 7})"),
            {"--model", "caches:policy=adversarial", "--seed", std::to_string(seed), "--clients",
             "2"});
        {
            Attachment first = emulator.attach(true), host = emulator.attach();
            const auto both = host["both"].atomic<uint64_t>();
            std::atomic<bool> ready{false};
            std::thread looks([&] {
                ready = true;
                try {
                    count += both.wait(SASSEMU_HOST_EQUAL, uint64_t{1} << 32, long_enough);
                } catch (const Error& error) {
                    EXPECT_EQ(error.status(), SASSEMU_HOST_ENDED) << error.what();
                }
                EXPECT_EQ(host.finish(long_enough), "ok");
                EXPECT_EQ(both.load(), uint64_t{1} << 32 | 7);  // a kernel's end is a release
            });
            while (!ready) {
            }
            // What the other asked for comes before this.
            for (int i = 0; i < 20; ++i) (void)first["both"].load<uint64_t>();
            first.begin();
            looks.join();
        }
        EXPECT_EQ(emulator.end(), 0) << emulator.output();
    }
    return count;
}

TEST(HostModel, AMissingReleaseIsSeen) {
    EXPECT_GT(stale("BUG_ring", 8), 0);         // data and flag in any order
    EXPECT_GT(stale("BUG_ring_device", 8), 0);  // the fence does not reach the host
    EXPECT_EQ(stale("ring", 8), 0);
    EXPECT_EQ(stale("send", 8), 0);
}

TEST(HostModel, EachAccessHasToBeSeen) {
    const Folder folder;
    Emulator emulator(folder, plan_of(folder, "peers", "ring", buffers, args),
                      {"--model", "caches"});
    Attachment host = emulator.attach(true);
    EXPECT_FALSE(host["data"].shared());
    try {
        (void)host["data"].map();
        FAIL() << "mapped";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SASSEMU_HOST_REFUSED);
        EXPECT_STREQ(error.what(),
                     "buffer 'data': under a memory model or with plugins each access "
                     "has to be seen; load, store, read and write reach it");
    }
}

TEST(HostModel, PluginsSeeTheHost) {
    const Folder folder;
    Emulator emulator(folder, plan_of(folder, "peers", "ring", buffers, args),
                      {"--plugin", SASSEMU_CLIENTS_PLUGIN});
    {
        Attachment host = emulator.attach(true);
        host["data"].store(uint32_t{1});
        (void)host["flag"].atomic<uint32_t>().fetch_or(0);
        host.begin();
        EXPECT_TRUE(host["flag"].atomic<uint32_t>().wait(SASSEMU_HOST_EQUAL, 1, long_enough));
        (void)host["data"].load<uint16_t>(2);
    }
    EXPECT_EQ(emulator.end(), 0) << emulator.output();
    const std::string& all = emulator.output();
    const size_t store = all.find("client op 1 waited 0 bytes 4\n"),
                 atomic = all.find("client op 2 waited 0 bytes 4\n", store),
                 waited = all.find("client op 0 waited 1 bytes 4\n", atomic),
                 load = all.find("client op 0 waited 0 bytes 2\n", waited);
    EXPECT_NE(load, std::string::npos) << all;
}

}  // namespace
}  // namespace test
