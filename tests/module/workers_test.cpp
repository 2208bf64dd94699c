// SPDX-License-Identifier: Apache-2.0
// Workers, where the host gives every thread that is asked for, some, or none. This program's
// pthread_create is what libstdc++ and libtbb call too.
#include "emu/base/workers.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::atomic<int> threads_left{1 << 20}, made_by_tbb{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(start), &info) && info.dli_fname &&
        std::strstr(info.dli_fname, "libtbb"))
        ++made_by_tbb;
    if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const next = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
    return next(thread, attributes, start, argument);
}
constexpr bool may_refuse = true;
#else
constexpr bool may_refuse = false;
#endif

namespace sassemu {
namespace {

using namespace std::chrono_literals;

// A tree of tasks: each adds three, down to `depth`.
void grow(Workers::Tasks& tasks, std::atomic<uint64_t>& leaves, int depth) {
    if (!depth) {
        ++leaves;
        return;
    }
    for (int i = 0; i < 3; ++i)
        tasks.spawn([&tasks, &leaves, depth] { grow(tasks, leaves, depth - 1); });
}

// Everything that workers do, with what there is.
void do_all(Workers& workers) {
    std::atomic<uint64_t> leaves{0}, inner{0}, jobs{0};
    workers.run([&](Workers::Tasks& tasks) { grow(tasks, leaves, 6); });
    EXPECT_EQ(leaves, 729u);
    workers.run([&](Workers::Tasks& tasks) {
        for (int i = 0; i < 20; ++i)
            tasks.spawn([&] { workers.run([&](Workers::Tasks& its) { grow(its, inner, 3); }); });
    });
    EXPECT_EQ(inner, 20u * 27);
    uint64_t taken = 0;
    for (int i = 0; i < 100; ++i) taken += workers.spawn([&] { ++jobs; });
    // Jobs that bring jobs.
    taken += workers.spawn([&] {
        for (int i = 0; i < 50; ++i)
            if (!workers.spawn([&] { ++jobs; })) ++jobs;
        ++jobs;
    });
    EXPECT_TRUE(taken == 101 || taken == 0) << taken;
    while (jobs < (taken ? 151 : 0)) std::this_thread::yield();
    EXPECT_THROW(workers.run([](Workers::Tasks& tasks) {
        for (int i = 0; i < 100; ++i) tasks.spawn([] { throw std::runtime_error("a task's"); });
    }),
                 std::runtime_error);
}

TEST(Workers, DoAllWithEveryNumberOfThreads) {
    threads_left = 1 << 20;
    for (const uint32_t threads : {1, 2, 3, 8, 33}) {
        Workers workers(threads);
        for (int round = 0; round < 3; ++round) do_all(workers);
        EXPECT_LT(workers.lent(), threads);
    }
    EXPECT_EQ(made_by_tbb, 0);
}

TEST(Workers, DoWithoutThreadsThatTheHostDoesNotGive) {
    if (!may_refuse) GTEST_SKIP();
    for (int given = 0; given < 10; ++given)
        for (const uint32_t threads : {2, 8, 16}) {
            threads_left = given;
            Workers workers(threads);
            for (int round = 0; round < 2; ++round) do_all(workers);
            EXPECT_LE(workers.lent(), static_cast<uint32_t>(given));
        }
    threads_left = 1 << 20;
    EXPECT_EQ(made_by_tbb, 0);
}

// Until all are there nobody goes on: so many threads work at once.
TEST(Workers, AllThreadsTakeTasks) {
    threads_left = 1 << 20;
    for (const uint32_t threads : {2, 4, 9}) {
        Workers workers(threads);
        std::mutex mutex;
        std::condition_variable changed;
        std::set<uint32_t> places;
        std::set<std::thread::id> ids;
        uint32_t there = 0;
        workers.run([&](Workers::Tasks& tasks) {
            for (uint32_t i = 0; i < threads; ++i)
                tasks.spawn([&] {
                    std::unique_lock lock(mutex);
                    places.insert(workers.place());
                    ids.insert(std::this_thread::get_id());
                    ++there;
                    changed.notify_all();
                    EXPECT_TRUE(changed.wait_for(lock, 20s, [&] { return there == threads; }));
                });
        });
        EXPECT_EQ(ids.size(), threads);
        EXPECT_EQ(places.size(), threads);
        for (const uint32_t place : places) EXPECT_LT(place, workers.places());
    }
}

TEST(Workers, TasksOfOneThreadAreTakenByOthers) {
    threads_left = 1 << 20;
    Workers workers(4);
    std::atomic<int> elsewhere{0};
    workers.run([&](Workers::Tasks& tasks) {
        const auto here = std::this_thread::get_id();
        for (int i = 0; i < 600; ++i)
            tasks.spawn([&, here] {
                elsewhere += std::this_thread::get_id() != here;
                const auto until = std::chrono::steady_clock::now() + 100us;
                while (std::chrono::steady_clock::now() < until) {
                }
            });
    });
    EXPECT_GT(elsewhere, 100);
}

// A thread that waits for an inner run takes nothing of the outer one on its stack.
TEST(Workers, InnerRunsAreIsolated) {
    threads_left = 1 << 20;
    Workers workers(3);
    static thread_local int depth = 0;
    std::atomic<int> nested{0};
    workers.run([&](Workers::Tasks& tasks) {
        for (int i = 0; i < 200; ++i)
            tasks.spawn([&] {
                nested += depth++;
                std::atomic<uint64_t> leaves{0};
                workers.run([&](Workers::Tasks& its) { grow(its, leaves, 3); });
                EXPECT_EQ(leaves, 27u);
                --depth;
            });
    });
    EXPECT_EQ(nested, 0);
}

TEST(Workers, RunsFromSeveralThreadsHaveTheirTurn) {
    threads_left = 1 << 20;
    Workers workers(3);
    std::vector<std::thread> callers;
    std::atomic<uint64_t> leaves{0};
    for (int i = 0; i < 6; ++i)
        callers.emplace_back([&] {
            for (int round = 0; round < 20; ++round)
                workers.run([&](Workers::Tasks& tasks) { grow(tasks, leaves, 4); });
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(leaves, 6u * 20 * 81);
    EXPECT_EQ(made_by_tbb, 0);
}

// A lent thread that looks while another carries a job into the arena sees none, and has to be
// told. The destructor waits for all of them.
TEST(Workers, QuickJobsFromOutsideAreNotLost) {
    for (int round = 0; round < 3000; ++round) {
        std::atomic<int> ended{0};
        int given = 0;
        {
            Workers workers(2 + round % 3);
            for (int i = 0; i < 6; ++i) given += workers.spawn([&] { ++ended; });
        }
        ASSERT_EQ(ended, given) << round;
    }
}

// What would make TBB start a thread.
TEST(Workers, NeverAskForAThreadOfTbb) {
    std::ifstream file(SASSEMU_SOURCE_DIR "/emu/base/workers.cpp");
    std::string line, code;
    while (std::getline(file, line)) code += line.substr(0, line.find("//")) + "\n";
    EXPECT_NE(code.find("task_arena"), std::string::npos);
    for (const char* name : {"enqueue", "global_control", "parallel_", "flow_graph"})
        EXPECT_EQ(code.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace sassemu
