// SPDX-License-Identifier: Apache-2.0
// Several things in flight (emu/machine.hpp): grids of streams and GPUs, copies and the host make
// progress beside each other, streams keep their order, and what can never end is named.
#include "emu/machine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace sassemu {
namespace {

class Machines : public ::testing::Test {
  protected:
    void start(uint32_t gpus, GpuOptions options = {}) {
        auto profile = device_profile("h200");
        ASSERT_TRUE(profile);
        auto machine = Machine::create(std::move(options),
                                       std::vector<DeviceProfile>(gpus, std::move(*profile)));
        ASSERT_TRUE(machine) << machine.error().message();
        machine_ = std::move(*machine);
        Limits limits;
        limits.max_warp_instructions = 100'000'000;
        limits.seconds = 120;
        machine_->set_limits(limits);
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/cubins/flight/sm_90.cubin");
        ASSERT_TRUE(module) << module.error().message();
        module_ = std::make_shared<const Module>(std::move(*module));
    }
    uint64_t host_words(std::vector<uint32_t> words) {
        const auto at = machine_->allocate_host(words.size() * 4, "host words");
        EXPECT_TRUE(at) << at.error().message();
        EXPECT_TRUE(machine_->write(*at, std::as_bytes(std::span(words))));
        return *at;
    }
    uint64_t device_words(uint32_t gpu, std::vector<uint32_t> words, const char* name = "words") {
        const auto at = (*machine_->gpu(gpu))->allocate(words.size() * 4, name);
        EXPECT_TRUE(at) << at.error().message();
        EXPECT_TRUE(machine_->write(*at, std::as_bytes(std::span(words))));
        return *at;
    }
    std::vector<uint32_t> words(uint64_t at, size_t count) {
        std::vector<uint32_t> out(count);
        EXPECT_TRUE(machine_->read(at, std::as_writable_bytes(std::span(out))));
        return out;
    }
    void write(uint64_t at, uint32_t value) {
        EXPECT_TRUE(machine_->write(at, std::as_bytes(std::span(&value, 1))));
    }
    StreamId stream(uint32_t gpu, const char* name, int32_t priority = 0, bool free = true) {
        return *machine_->create_stream(gpu, {name, priority, free});
    }
    template <class... T>
    LaunchRequest request(uint32_t gpu, const char* kernel, Dim3 grid, T... arguments) {
        if (!ids_.contains(gpu)) ids_[gpu] = *(*machine_->gpu(gpu))->load(module_);
        LaunchRequest r;
        r.module = ids_[gpu];
        r.kernel = kernel;
        r.grid = grid;
        r.block = {32, 1, 1};
        const auto put = [&](auto v) {
            r.params.resize((r.params.size() + sizeof v - 1) / sizeof v * sizeof v);
            const auto* bytes = reinterpret_cast<const std::byte*>(&v);
            r.params.insert(r.params.end(), bytes, bytes + sizeof v);
        };
        (put(arguments), ...);
        return r;
    }
    template <class... T>
    OperationId launch(StreamId to, const char* kernel, Dim3 grid, T... arguments) {
        const auto id = machine_->launch(to, request(to.gpu, kernel, grid, arguments...));
        EXPECT_TRUE(id) << id.error().message();
        return id ? *id : 0;
    }
    LaunchResult end_of(OperationId id) {
        auto done = machine_->result(id);
        EXPECT_TRUE(done) << done.error().message();
        return done ? done->result : LaunchResult{};
    }
    void expect_ok(OperationId id) {
        const LaunchResult r = end_of(id);
        EXPECT_EQ(r.status, LaunchStatus::ok) << r.message << (r.fault ? r.fault->report() : "");
    }
    // Every kind of run: workers beside the host, one logical scheduler, and that with seeds.
    static std::vector<GpuOptions> kinds() {
        std::vector<GpuOptions> all(5);
        all[0].threads = 1;
        all[1].threads = 3;
        all[2].deterministic = true;
        all[3].seed = 7;
        all[4].seed = uint64_t{3} << 56 | 11;  // starving (schedules.hpp)
        return all;
    }

    std::unique_ptr<Machine> machine_;
    std::shared_ptr<const Module> module_;
    std::map<uint32_t, ModuleId> ids_;
    void again(uint32_t gpus, const GpuOptions& options) {
        machine_.reset();
        ids_.clear();
        start(gpus, options);
    }
};

// What `players` make of a message in `laps` laps (relay() of flight.cu).
uint32_t relayed(uint32_t message, uint32_t players, uint32_t laps) {
    for (uint32_t i = 0; i < players * laps; ++i) message = message * 33 + i % players + 1;
    return message;
}

TEST_F(Machines, GridsOfStreamsSpinOnEachOther) {
    for (const GpuOptions& options : kinds()) {
        again(1, options);
        const uint64_t ball = device_words(0, {0}), message = device_words(0, {5, 6, 7});
        const uint64_t all = device_words(0, std::vector<uint32_t>(32, 5));
        std::vector<OperationId> ids;
        // The last player first: nothing depends on the order of launches.
        for (int me = 2; me >= 0; --me)
            ids.push_back(launch(stream(0, "s"), "relay", {1, 1, 1}, ball, all, me, 3, 20));
        for (const OperationId id : ids) expect_ok(id);
        EXPECT_EQ(words(all, 32), std::vector<uint32_t>(32, relayed(5, 3, 20)));
        EXPECT_EQ(words(ball, 1)[0], 60u);
        (void)message;
    }
}

TEST_F(Machines, GpusSpinOnEachOtherThroughHostAndPeerMemory) {
    for (const GpuOptions& options : kinds()) {
        again(4, options);
        for (uint32_t from = 1; from < 4; ++from) ASSERT_TRUE(machine_->peer_access(from, 0, true));
        const uint64_t ball = host_words({0});
        const uint64_t message = device_words(0, std::vector<uint32_t>(32, 1));
        std::vector<OperationId> ids;
        for (int me = 0; me < 4; ++me)
            ids.push_back(launch({static_cast<uint32_t>(me), 0}, "relay", {1, 1, 1}, ball, message,
                                 me, 4, 10));
        for (const OperationId id : ids) expect_ok(id);
        EXPECT_EQ(words(message, 32), std::vector<uint32_t>(32, relayed(1, 4, 10)));
    }
}

TEST_F(Machines, TheHostRingsADoorbellWhileAKernelRuns) {
    for (const GpuOptions& options : kinds()) {
        again(1, options);
        const uint64_t bell = host_words({0}), value = host_words({0}), answer = host_words({0}),
                       done = host_words({0});
        const OperationId id =
            launch(stream(0, "server"), "serve", {1, 1, 1}, bell, value, answer, done, 5);
        for (uint32_t n = 1; n <= 5; ++n) {
            write(value, n * 100);
            EXPECT_EQ(*machine_->atomic(bell, 4, HostAtomic::add, 1), n - 1);
            const auto waited = machine_->wait_until({done, 4, ValueTest::equal, n});
            ASSERT_TRUE(waited) << waited.error().message();
            EXPECT_EQ(words(answer, 1)[0], n * 300);
        }
        expect_ok(id);
    }
}

// A host that polls by reads only, and one that looks through a pointer of its own.
TEST_F(Machines, TheHostPollsWhatAKernelWrites) {
    for (const GpuOptions& options : kinds()) {
        again(1, options);
        const uint64_t flag = host_words({0}), seen = host_words({0});
        const OperationId id = launch(stream(0, "s"), "await", {1, 1, 1}, flag, 9, seen);
        write(flag, 9);
        while (words(seen, 1)[0] != 9) {
        }
        expect_ok(id);
    }
    again(1, kinds()[1]);
    const uint64_t flag = host_words({0}), seen = host_words({0});
    const OperationId id = launch(stream(0, "s"), "await", {1, 1, 1}, flag, 3, seen);
    auto* at = reinterpret_cast<uint32_t*>(*machine_->host_pointer(flag, 4));
    auto* out = reinterpret_cast<uint32_t*>(*machine_->host_pointer(seen, 4));
    std::atomic_ref(*at).store(3);
    while (std::atomic_ref(*out).load() != 3) std::this_thread::yield();
    expect_ok(id);
}

TEST_F(Machines, CopiesAndValuesOfStreamsEndASpin) {
    for (const GpuOptions& options : kinds()) {
        again(2, options);
        const uint64_t four = host_words({4}), flag = device_words(1, {0});
        const uint64_t seen = device_words(1, {0}), bell = device_words(0, {0});
        const OperationId spins = launch({1, 0}, "await", {1, 1, 1}, flag, 4, seen);
        const StreamId other = stream(0, "copies");
        ASSERT_TRUE(machine_->wait_value(other, {bell, 4, ValueTest::at_least, 2}));
        const auto copy = machine_->copy(other, flag, four, 4);
        ASSERT_TRUE(copy);
        ASSERT_TRUE(machine_->write_value(stream(0, "rings"), bell, 4, 2));
        expect_ok(spins);
        expect_ok(*copy);
        EXPECT_EQ(words(seen, 1)[0], 4u);
    }
}

TEST_F(Machines, StreamsAndEventsKeepTheirOrder) {
    for (const GpuOptions& options : kinds()) {
        again(2, options);
        const uint64_t count = host_words({0}), book = host_words(std::vector<uint32_t>(16, 0));
        const StreamId a = stream(0, "a"), b = stream(1, "b");
        const EventId first = machine_->create_event(), second = machine_->create_event();
        // b's begins before a's is put in, and waits for it all the same.
        launch(a, "sign", {1, 1, 1}, count, book, 1);
        ASSERT_TRUE(machine_->record(first, a));
        ASSERT_TRUE(machine_->wait_event(b, first));
        launch(b, "sign", {1, 1, 1}, count, book, 2);
        launch(b, "sign", {1, 1, 1}, count, book, 3);
        ASSERT_TRUE(machine_->record(second, b));
        ASSERT_TRUE(machine_->wait_event(a, second));
        launch(a, "sign", {1, 1, 1}, count, book, 4);
        ASSERT_TRUE(machine_->synchronize(second));
        EXPECT_TRUE(*machine_->done(first));
        ASSERT_TRUE(machine_->synchronize());
        EXPECT_EQ(words(book, 4), (std::vector<uint32_t>{1, 2, 3, 4}));
    }
}

TEST_F(Machines, TheLegacyStreamWaitsForTheOthersAndTheyForIt) {
    for (const GpuOptions& options : kinds()) {
        again(1, options);
        const uint64_t count = host_words({0}), book = host_words(std::vector<uint32_t>(16, 0));
        const uint64_t go = host_words({0}), seen = host_words({0});
        const StreamId a = stream(0, "a", 0, false), b = stream(0, "b", 0, false);
        const StreamId own = *machine_->thread_stream(0), free = stream(0, "free");
        EXPECT_EQ(own, *machine_->thread_stream(0));
        launch(a, "await", {1, 1, 1}, go, 1, seen);
        launch(a, "sign", {1, 1, 1}, count, book, 1);
        launch({0, 0}, "sign", {1, 1, 1}, count, book, 2);
        launch(b, "sign", {1, 1, 1}, count, book, 3);
        launch(own, "sign", {1, 1, 1}, count, book, 3);
        expect_ok(launch(free, "sign", {1, 1, 1}, count, book, 9));  // waits for none of them
        write(go, 1);
        ASSERT_TRUE(machine_->synchronize());
        EXPECT_EQ(words(book, 5), (std::vector<uint32_t>{9, 1, 2, 3, 3}));
    }
}

TEST_F(Machines, AFunctionOfTheHostsMayWaitForAKernel) {
    again(1, kinds()[0]);  // one worker: it must not be the one that waits
    const uint64_t flag = host_words({0}), seen = host_words({0});
    const StreamId calls = stream(0, "calls");
    std::atomic<bool> called = false;
    auto* at = reinterpret_cast<uint32_t*>(*machine_->host_pointer(seen, 4));
    ASSERT_TRUE(machine_->call(calls, [&] {
        while (std::atomic_ref(*at).load() != 5) std::this_thread::yield();
        called = true;
    }));
    const OperationId id = launch(stream(0, "kernel"), "await", {1, 1, 1}, flag, 5, seen);
    write(flag, 5);
    ASSERT_TRUE(machine_->synchronize());
    EXPECT_TRUE(called);
    expect_ok(id);
}

TEST_F(Machines, PendingCtasOfAHighPriorityGoFirst) {
    GpuOptions options;
    options.deterministic = true;
    again(1, options);
    const uint64_t count = device_words(0, {0}), book = device_words(0, std::vector<uint32_t>(400));
    launch(stream(0, "low", 0), "sign", {200, 1, 1}, count, book, 1);
    launch(stream(0, "high", -5), "sign", {200, 1, 1}, count, book, 2);
    ASSERT_TRUE(machine_->synchronize());
    const auto order = words(book, 400);
    double low = 0, high = 0;
    for (size_t i = 0; i < order.size(); ++i) (order[i] == 1 ? low : high) += double(i) / 200;
    EXPECT_LT(high + 60, low);
    EXPECT_EQ(std::set(order.begin(), order.end()), (std::set<uint32_t>{1, 2}));
}

// One logical scheduler over GPUs and streams: equal seeds make equal runs, others differ.
TEST_F(Machines, ASeedIsARun) {
    const auto run = [&](uint64_t seed) {
        GpuOptions options;
        options.deterministic = true;
        options.seed = seed;
        options.threads = static_cast<uint32_t>(1 + seed % 3);  // changes nothing
        again(3, options);
        const uint64_t count = host_words({0}), book = host_words(std::vector<uint32_t>(90));
        const uint64_t sink = host_words(std::vector<uint32_t>(1024));
        for (uint32_t gpu = 0; gpu < 3; ++gpu)
            for (uint32_t s = 0; s < 2; ++s)
                for (int k = 0; k < 3; ++k)
                    launch(StreamId{gpu, s}.index ? stream(gpu, "s") : StreamId{gpu, 0}, "sign",
                           {5, 1, 1}, count, book, static_cast<int>(gpu * 10 + s));
        (void)sink;
        EXPECT_TRUE(machine_->synchronize());
        return words(book, 90);
    };
    EXPECT_EQ(run(0), run(0));
    std::set<std::vector<uint32_t>> seen{run(0)};
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        const auto one = run(seed);
        EXPECT_EQ(one, run(seed));
        seen.insert(one);
    }
    EXPECT_EQ(seen.size(), 5u);
}

TEST_F(Machines, ADeadlockNamesEveryGridAndTheHost) {
    for (const GpuOptions& options : kinds()) {
        again(2, options);
        const uint64_t flag = host_words({0}), seen = host_words({0}), never = host_words({0});
        const OperationId a = launch(stream(0, "left"), "await", {1, 1, 1}, flag, 1, seen);
        const OperationId b = launch(stream(1, "right"), "await", {1, 1, 1}, flag, 2, seen);
        const StreamId third = stream(1, "third");
        const auto c = machine_->wait_value(third, {flag, 4, ValueTest::equal, 7});
        const OperationId behind = launch(third, "store", {1, 1, 1}, flag, 1);
        const auto waited = machine_->wait_until({never, 4, ValueTest::equal, 1});
        ASSERT_FALSE(waited);
        EXPECT_EQ(waited.error().code, ErrorCode::limit);
        const LaunchResult left = end_of(a), right = end_of(b);
        EXPECT_EQ(left.status, LaunchStatus::deadlock) << left.message;
        EXPECT_EQ(right.status, LaunchStatus::deadlock);
        EXPECT_EQ(end_of(*c).status, LaunchStatus::deadlock);
        EXPECT_EQ(end_of(behind).status, LaunchStatus::not_run);
        for (const std::string& text : {left.message, waited.error().what})
            for (const char* part :
                 {"(kernel 'await') on GPU 0, stream 'left'", "on GPU 1, stream 'right'",
                  "wait for a value on GPU 1, stream 'third'", "spins on memory", "flight.cu",
                  "the host waits until", "(0) == 1", "1 more wait behind them"})
                EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
        // The machine goes on.
        const OperationId fine = launch({0, 0}, "store", {1, 1, 1}, flag, 8);
        expect_ok(fine);
        EXPECT_EQ(words(flag, 1)[0], 8u);
    }
}

// As long as a thread that may act does not wait, there is no deadlock.
TEST_F(Machines, AnotherThreadOfTheHostMayEndTheWait) {
    again(1, kinds()[1]);
    const uint64_t flag = host_words({0}), seen = host_words({0});
    std::atomic<bool> attached = false, go = false;
    std::thread other([&] {
        machine_->attach_thread();
        attached = true;
        while (!go) std::this_thread::yield();
        write(flag, 1);
        machine_->detach_thread();
    });
    while (!attached) std::this_thread::yield();
    const OperationId id = launch(stream(0, "s"), "await", {1, 1, 1}, flag, 1, seen);
    std::thread lets([&] { go = true; });
    expect_ok(id);
    other.join();
    lets.join();
}

TEST_F(Machines, PeerAccessIsOffUntilItIsOn) {
    GpuOptions options;
    options.deterministic = true;
    again(2, options);
    const uint64_t theirs = device_words(1, {0}, "theirs");
    const LaunchResult refused = end_of(launch({0, 0}, "store", {1, 1, 1}, theirs, 1));
    ASSERT_EQ(refused.status, LaunchStatus::fault) << refused.message;
    for (const char* part : {"'theirs'", "of GPU 1", "GPU 0 has no peer access"})
        EXPECT_NE(refused.fault->what.find(part), std::string::npos) << refused.fault->what;
    ASSERT_TRUE(machine_->peer_access(0, 1, true));
    expect_ok(launch({0, 0}, "store", {1, 1, 1}, theirs, 2));
    const uint64_t later = device_words(1, {0});  // what is allocated afterwards too
    expect_ok(launch({0, 0}, "store", {1, 1, 1}, later, 3));
    EXPECT_EQ(words(theirs, 1)[0] + words(later, 1)[0], 5u);
    ASSERT_TRUE(machine_->peer_access(0, 1, false));
    EXPECT_EQ(end_of(launch({0, 0}, "store", {1, 1, 1}, theirs, 1)).status, LaunchStatus::fault);
    const auto shared = machine_->allocate_shared(1, 4, "for all");
    ASSERT_TRUE(shared);
    expect_ok(launch({0, 0}, "store", {1, 1, 1}, *shared, 4));
}

// A kernel spins on memory that the host frees: it gets a fault, the emulator none.
TEST_F(Machines, WhatIsFreedUnderAKernelIsAFault) {
    for (const GpuOptions& options : kinds()) {
        again(1, options);
        const uint64_t flag = device_words(0, {0}, "gone"), seen = host_words({0});
        const OperationId id = launch(stream(0, "s"), "await", {1, 1, 1}, flag, 1, seen);
        for (int i = 0; i < 20; ++i) (void)words(seen, 1);
        ASSERT_TRUE(machine_->release(flag));
        const LaunchResult r = end_of(id);
        ASSERT_EQ(r.status, LaunchStatus::fault) << r.message;
        EXPECT_EQ(r.fault->kind, FaultKind::use_after_free) << r.fault->report();
    }
}

// Allocations come and go while a kernel runs, also in a page that several share.
TEST_F(Machines, TheHostAllocatesAndFreesMeanwhile) {
    again(1, kinds()[1]);
    const uint64_t flag = host_words({0}), seen = host_words({0});
    Gpu& gpu = **machine_->gpu(0);
    const uint64_t base = uint64_t{0x600000000000};
    ASSERT_TRUE(gpu.allocate(16, "neighbour", base));
    const OperationId id = launch(stream(0, "s"), "await", {1, 1, 1}, flag, 1, seen);
    for (int i = 0; i < 200; ++i) {
        const auto one = gpu.allocate(100, "one", base + 1024);
        const auto other = gpu.allocate(1 << 20, "other");
        ASSERT_TRUE(one && other);
        write(*one, 1);
        ASSERT_TRUE(machine_->release(*one));
        ASSERT_TRUE(machine_->release(*other));
        EXPECT_FALSE(machine_->read(*one, {}).ok() && false);
    }
    write(flag, 1);
    expect_ok(id);
}

TEST_F(Machines, AFailureEndsWhatIsBehindItAndNothingElse) {
    GpuOptions options;
    options.deterministic = true;
    again(1, options);
    const uint64_t to = host_words({0, 0});
    const StreamId a = stream(0, "a"), b = stream(0, "b"), c = stream(0, "c");
    const EventId event = machine_->create_event();
    const OperationId bad = launch(a, "store", {1, 1, 1}, uint64_t{16}, 1);
    ASSERT_TRUE(machine_->record(event, a));
    const OperationId behind = launch(a, "store", {1, 1, 1}, to, 1);
    ASSERT_TRUE(machine_->wait_event(b, event));
    const OperationId too = launch(b, "store", {1, 1, 1}, to, 1);
    const OperationId fine = launch(c, "store", {1, 1, 1}, to + 4, 1);
    EXPECT_EQ(end_of(bad).status, LaunchStatus::fault);
    EXPECT_EQ(end_of(behind).status, LaunchStatus::not_run);
    EXPECT_EQ(end_of(too).status, LaunchStatus::not_run);
    expect_ok(fine);
    EXPECT_EQ(words(to, 2), (std::vector<uint32_t>{0, 1}));
}

TEST_F(Machines, ManyGpusAndDifferentOnes) {
    GpuOptions options;
    options.threads = 2;
    std::vector<DeviceProfile> profiles;
    for (const char* name : {"h200", "a100"}) profiles.push_back(*device_profile(name));
    auto mixed = Machine::create(options, profiles);
    ASSERT_TRUE(mixed);
    EXPECT_EQ((*mixed)->gpus(), 2u);
    again(64, options);
    const uint64_t count = host_words({0}), book = host_words(std::vector<uint32_t>(64));
    for (uint32_t gpu = 0; gpu < 64; ++gpu)
        launch({gpu, 0}, "sign", {1, 1, 1}, count, book, static_cast<int>(gpu));
    ASSERT_TRUE(machine_->synchronize());
    const auto all = words(book, 64);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 64u);
    for (const size_t wrong : {size_t{0}, size_t{1025}}) {
        const auto none = Machine::create({}, std::vector<DeviceProfile>(wrong));
        ASSERT_FALSE(none);
        EXPECT_NE(none.error().message().find("1 to 1024"), std::string::npos);
    }
}

TEST_F(Machines, WrongCallsAreRefusedInALine) {
    again(2, kinds()[2]);
    const uint64_t at = host_words({0, 0});
    const auto refused = [](const auto& result, const char* part) {
        ASSERT_FALSE(result.ok());
        EXPECT_NE(result.error().message().find(part), std::string::npos)
            << result.error().message();
        EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
    };
    refused(machine_->gpu(2), "the machine has 2");
    refused(machine_->launch({0, 5}, request(0, "store", {1, 1, 1}, at, 1)), "no stream 5");
    refused(machine_->wait_until({at + 2, 4, ValueTest::equal, 0}), "4 or 8 bytes, aligned");
    refused(machine_->wait_value({0, 0}, {at, 4, ValueTest::not_equal, 0}), "no such test");
    refused(machine_->copy({0, 0}, at, at + 4, 64), "do not fit");
    refused(machine_->atomic(at, 2, HostAtomic::add, 1), "4 or 8 bytes");
    refused(machine_->record(3, {0, 0}), "event 3");
    refused(machine_->result(77), "no operation 77");
}

}  // namespace
}  // namespace sassemu
