// SPDX-License-Identifier: Apache-2.0
// The API of the host and of streams (nvshmem.h): a thread for each PE, directly and by the proxy.
#include <array>
#include <numeric>
#include <thread>

#include "emu/nvshmem/host.hpp"
#include "tests/nvshmem/pes.hpp"

namespace sassemu::nvshmem {
namespace {

constexpr int pes = 3, count = 10;

class Host : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        GpuOptions gpu;
        gpu.threads = 2;
        DeviceProfile small = *device_profile("h200");
        small.sms = 1;
        machine_ = std::move(Machine::create(gpu, std::vector<DeviceProfile>(pes, small))).value();
    }
    // `body` by a thread for each PE, between init and finalize.
    template <class F>
    void on_all(F body) {
        Options options = proxied(pes, 3);
        options.proxy = GetParam();
        std::vector<std::thread> threads;
        for (int pe = 0; pe < pes; ++pe)
            threads.emplace_back([&, pe] {
                use(*machine_, static_cast<uint32_t>(pe), options);
                nvshmem_init();
                ASSERT_NE(current(), nullptr) << take_error();
                body(pe, (pe + 1) % pes, (pe + pes - 1) % pes);
                EXPECT_EQ(take_error(), "");
                nvshmem_finalize();
                EXPECT_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
            });
        for (std::thread& thread : threads) thread.join();
    }
    template <class T>
    static T* array(int many = count) {
        return static_cast<T*>(nvshmem_calloc(static_cast<size_t>(many), sizeof(T)));
    }
    // What the PE itself has there.
    template <class T>
    static std::vector<T> own(const T* at, int many = count) {
        std::vector<T> values(static_cast<size_t>(many));
        nvshmem_getmem(values.data(), at, values.size() * sizeof(T), nvshmem_my_pe());
        return values;
    }
    static std::vector<int> from(int first, int many = count) {
        std::vector<int> values(static_cast<size_t>(many));
        std::iota(values.begin(), values.end(), first);
        return values;
    }

    std::unique_ptr<Machine> machine_;
};

TEST_P(Host, WhoAndWhere) {
    on_all([&](int me, int next, int) {
        EXPECT_EQ(nvshmem_my_pe(), me);
        EXPECT_EQ(nvshmem_n_pes(), pes);
        EXPECT_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_SHARED), me);
        EXPECT_EQ(nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE), pes);
        EXPECT_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID), -1);
        EXPECT_EQ(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, next, NVSHMEM_TEAM_SHARED), next);
        int* const a = array<int>();
        void* const b = nvshmem_align(4096, 100);
        EXPECT_EQ(
            (reinterpret_cast<uint64_t>(b) - current()->heap(static_cast<uint32_t>(me))) % 4096,
            0u);
        EXPECT_EQ(nvshmem_ptr(a, me), a);
        EXPECT_EQ(nvshmem_ptr(a, next) == nullptr, GetParam());
        nvshmem_free(b);
        EXPECT_EQ(nvshmem_align(4096, 100), b) << "freed room is used again";
    });
}

TEST_P(Host, PutGetAndAtomics) {
    on_all([&](int me, int next, int before) {
        int* const a = array<int>();
        int* const b = array<int>();
        const std::vector<int> mine = from(100 * me);
        nvshmem_int_put(a, mine.data(), count, next);
        nvshmem_barrier_all();
        EXPECT_EQ(own(a), from(100 * before));
        std::vector<int> got(count);
        nvshmem_int_get(got.data(), a, count, next);
        EXPECT_EQ(got, mine);
        nvshmem_int_get_nbi(b, a, count, next);
        nvshmem_quiet();
        EXPECT_EQ(own(b), mine);
        nvshmem_barrier_all();
        nvshmem_put32_nbi(b, a, 4, next);
        nvshmem_int_iput(b + 4, mine.data(), 2, 3, 3, next);
        nvshmem_int_p(b + 9, 77, next);
        nvshmem_barrier_all();
        const int* x = mine.data();
        const int y = 100 * before, z = 100 * ((before + pes - 1) % pes);
        (void)x;
        EXPECT_EQ(own(b), (std::vector<int>{z, z + 1, z + 2, z + 3, y, own(b)[5], y + 3, own(b)[7],
                                            y + 6, 77}));
        EXPECT_EQ(nvshmem_int_g(b + 9, next), 77);
        std::array<int, 3> strided{};
        nvshmem_int_iget(strided.data(), a, 1, 4, 3, me);
        EXPECT_EQ(strided, (std::array<int, 3>{y, y + 4, y + 8}));
        nvshmem_barrier_all();

        uint64_t* const word = array<uint64_t>();
        nvshmem_uint64_atomic_add(word, 5, next);
        EXPECT_EQ(nvshmem_uint64_atomic_fetch_add(word, 2, next), 5u);
        EXPECT_EQ(nvshmem_uint64_atomic_compare_swap(word, 7, 9, next), 7u);
        EXPECT_EQ(nvshmem_uint64_atomic_compare_swap(word, 7, 11, next), 9u);
        EXPECT_EQ(nvshmem_uint64_atomic_fetch_or(word, 4, next), 9u);
        EXPECT_EQ(nvshmem_uint64_atomic_swap(word, 1, next), 13u);
        uint64_t fetched = 0;
        nvshmem_uint64_atomic_fetch_xor_nbi(&fetched, word, 3, next);
        nvshmem_quiet();
        EXPECT_EQ(fetched, 1u);
        EXPECT_EQ(nvshmem_uint64_atomic_fetch(word, next), 2u);
        nvshmem_barrier_all();
        double* const real = array<double>();
        nvshmem_double_atomic_set(real, 1.5, next);
        EXPECT_EQ(nvshmem_double_atomic_swap(real, 2.5, next), 1.5);
    });
}

TEST_P(Host, SignalsAndWaits) {
    on_all([&](int me, int next, int before) {
        int* const a = array<int>();
        uint64_t* const signal = array<uint64_t>();
        const std::vector<int> mine = from(me);
        nvshmem_int_put_signal(a, mine.data(), count, signal, 4, NVSHMEM_SIGNAL_ADD, next);
        EXPECT_EQ(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 4), 4u);
        EXPECT_EQ(own(a), from(before));
        nvshmem_barrier_all();
        EXPECT_EQ(nvshmem_int_test_any(a, count, nullptr, NVSHMEM_CMP_GT, 1000), SIZE_MAX);
        for (int i = count; i-- > 0;) nvshmem_int_p(a + i, 50 + i, next);
        nvshmem_int_wait_until_all(a, count, nullptr, NVSHMEM_CMP_GE, 50);
        const std::array<int, count> status{1};
        EXPECT_EQ(nvshmem_int_wait_until_any(a, count, status.data(), NVSHMEM_CMP_GE, 50), 1u);
        std::array<size_t, count> indices{};
        EXPECT_EQ(
            nvshmem_int_test_some(a, count, indices.data(), status.data(), NVSHMEM_CMP_GT, 57), 2u);
        EXPECT_EQ(indices[0], 8u);
        EXPECT_EQ(nvshmem_int_test_all(a, count, nullptr, NVSHMEM_CMP_EQ, 50), 0);
        EXPECT_EQ(nvshmem_int_wait_until_any(a, 0, nullptr, NVSHMEM_CMP_EQ, 5), SIZE_MAX);
    });
}

TEST_P(Host, Collectives) {
    on_all([&](int me, int, int) {
        int* const source = array<int>(count * pes);
        int* const out = array<int>(count * pes);
        nvshmem_int_put(source, from(100 * me, count * pes).data(), count * pes, me);
        EXPECT_EQ(nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, out, source, count, 2), 0);
        EXPECT_EQ(own(out), from(200));
        nvshmem_barrier_all();
        EXPECT_EQ(nvshmem_int_fcollect(NVSHMEM_TEAM_WORLD, out, source, count), 0);
        for (int pe = 0; pe < pes; ++pe) EXPECT_EQ(own(out + pe * count), from(100 * pe));
        nvshmem_barrier_all();
        EXPECT_EQ(nvshmem_int_alltoall(NVSHMEM_TEAM_WORLD, out, source, count), 0);
        for (int pe = 0; pe < pes; ++pe)
            EXPECT_EQ(own(out + pe * count), from(100 * pe + me * count));
        nvshmem_barrier_all();
        EXPECT_EQ(nvshmem_int_max_reduce(NVSHMEM_TEAM_WORLD, out, source, count), 0);
        EXPECT_EQ(own(out), from(200));
        // In place, too.
        EXPECT_EQ(nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, source, source, count), 0);
        std::vector<int> sum = from(0);
        for (int& v : sum) v = 3 * v + 300;
        EXPECT_EQ(own(source), sum);
    });
}

TEST_P(Host, Streams) {
    on_all([&](int me, int next, int before) {
        StreamId id = *machine_->create_stream(static_cast<uint32_t>(me), {"s", 0, true});
        const cudaStream_t s = stream_handle(id);
        int* const a = array<int>(count * pes);
        int* const b = array<int>(count * pes);
        uint64_t* const signal = array<uint64_t>();
        nvshmem_int_put(a, from(10 * me, count * pes).data(), count * pes, me);
        nvshmem_barrier_all();
        nvshmemx_int_put_signal_nbi_on_stream(b, a, count, signal, 1, NVSHMEM_SIGNAL_SET, next, s);
        nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_EQ, 1, s);
        nvshmemx_int_get_on_stream(b + count, b, count, me, s);
        nvshmemx_quiet_on_stream(s);
        nvshmemx_int_p_on_stream(b + 2 * count, 5, next, s);
        nvshmemx_barrier_all_on_stream(s);
        ASSERT_TRUE(machine_->synchronize(id));
        EXPECT_EQ(own(b), from(10 * before));
        EXPECT_EQ(own(b + count), from(10 * before));
        EXPECT_EQ(own(b + 2 * count)[0], 5);
        nvshmem_barrier_all();
        nvshmemx_int_fcollect_on_stream(NVSHMEM_TEAM_WORLD, b, a, count, s);
        ASSERT_TRUE(machine_->synchronize(id));
        for (int pe = 0; pe < pes; ++pe) EXPECT_EQ(own(b + pe * count), from(10 * pe));
        nvshmem_barrier_all();
        nvshmemx_int_min_reduce_on_stream(NVSHMEM_TEAM_WORLD, b, a, count, s);
        ASSERT_TRUE(machine_->synchronize(id));
        EXPECT_EQ(own(b), from(0));
        nvshmemx_int_wait_until_on_stream(b, NVSHMEM_CMP_EQ, 0, s);
        ASSERT_TRUE(machine_->synchronize(id));
        nvshmem_barrier_all();
        nvshmemx_int_alltoall_on_stream(NVSHMEM_TEAM_WORLD, b, a, count, s);
        nvshmemx_int_broadcast_on_stream(NVSHMEM_TEAM_WORLD, a, b, count, 1, s);
        ASSERT_TRUE(machine_->synchronize(id));
        EXPECT_EQ(own(a), from(10));
        EXPECT_TRUE(current()->failed());
    });
}

TEST_P(Host, MistakesAreNamed) {
    on_all([&](int me, int, int) {
        int* const a = array<int>();
        const std::vector<int> mine = from(me);
        const auto says = [](const char* what) {
            const std::string error = take_error();
            EXPECT_NE(error.find(what), std::string::npos) << error;
        };
        nvshmem_int_put(a, mine.data(), count, 17);
        says("there is no PE 17");
        nvshmem_int_put(reinterpret_cast<int*>(64), mine.data(), count, 0);
        says("not in the symmetric heap of PE");
        EXPECT_NE(nvshmem_barrier(9), 0);
        says("there is no team 9");
        EXPECT_EQ(nvshmem_malloc(size_t{1} << 50), nullptr);
        says("has no room");
        nvshmem_init();
        says("is initialized already");
    });
    nvshmem_int_g(nullptr, 0);
    EXPECT_NE(take_error().find("is not initialized"), std::string::npos);
}

// Two jobs after each other, by unique ids.
TEST_P(Host, UniqueIds) {
    nvshmemx_uniqueid_t id;
    ASSERT_EQ(nvshmemx_get_uniqueid(&id), 0);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
        threads.emplace_back([&, rank] {
            Options options;
            options.proxy = GetParam();
            use(*machine_, static_cast<uint32_t>(rank), options);
            nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
            EXPECT_NE(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr), 0);
            EXPECT_NE(take_error().find("no unique id"), std::string::npos);
            nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attr);
            ASSERT_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr), 0) << take_error();
            EXPECT_EQ(nvshmem_n_pes(), 2);
            nvshmem_barrier_all();
            nvshmem_finalize();
        });
    for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Delivery, Host, testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "proxy" : "direct");
});

}  // namespace
}  // namespace sassemu::nvshmem
