// SPDX-License-Identifier: Apache-2.0
// What nvshmem_fence and nvshmem_quiet order, operation by operation, for kernels, the host and
// streams: with the call no seed shows the wrong value, without it (and where the call does not
// cover the operation) some seed does. Each test has its twin in that, so a proxy that ignored a
// rule, or one that delivered all in order, would fail here.
#include <array>
#include <set>

#include "tests/nvshmem/pes.hpp"

namespace sassemu::nvshmem {
namespace {

enum Kind { store, put, put_nbi, amo, amo_nbi, get_nbi, fetched_nbi, kinds };
constexpr const char* kind_names[] = {
    "store", "put", "put_nbi", "amo", "amo_nbi", "get_nbi", "value fetched by a nbi amo"};
enum Sync { nothing, fence, quiet, syncs };
constexpr const char* sync_names[] = {"nothing", "fence", "quiet"};
constexpr uint64_t seeds = 40;

// The table of the specification.
bool covers(int sync, int kind) {
    return sync == quiet || (sync == fence && kind != get_nbi && kind != fetched_nbi);
}

class Order : public testing::Test {
  protected:
    void make(uint32_t pes, uint64_t seed, bool infiniband = false) {
        Options options = proxied(pes, seed);
        options.infiniband = infiniband;
        p_.emplace(options);
        data_ = p_->allocate(64);
        flag_ = p_->allocate(64);
        out_ = p_->allocate(64);
    }
    void clear() {
        for (uint32_t pe = 0; pe < p_->pes(); ++pe) {
            const std::array<uint64_t, 8> none{}, data{0, 7};
            p_->write(pe, flag_, none.data(), 64);
            p_->write(pe, out_, none.data(), 64);
            p_->write(pe, data_, data.data(), 64);
        }
    }
    // By kernels; what was seen, which is to be 7 (for the value that an atomic fetches: 100).
    uint64_t cell(int kind, int sync, uint32_t told, int fencer) {
        clear();
        const uint64_t hundred = 100;
        if (kind == fetched_nbi) p_->write(1, data_, &hundred, 8);
        for (uint32_t pe = 0; pe < p_->pes(); ++pe)
            p_->launch(pe, "cell", 32,
                       Params() << kind << sync << p_->at(pe, data_) << p_->at(pe, flag_)
                                << p_->at(pe, out_) << static_cast<int>(told) << fencer);
        p_->end();
        const bool fetches = kind == get_nbi || kind == fetched_nbi;
        return p_->value<uint64_t>(fetches ? 0 : told, out_);
    }
    static uint64_t wanted(int kind) { return kind == fetched_nbi ? 100 : 7; }
    // `wrong` runs of `seeds` showed the wrong value.
    static void judge(bool covered, uint64_t wrong, const std::string& what) {
        if (covered)
            EXPECT_EQ(wrong, 0u) << what;
        else
            EXPECT_GT(wrong, 0u) << what << ": no seed shows it";
    }

    std::optional<Pes> p_;
    uint64_t data_ = 0, flag_ = 0, out_ = 0;
};

TEST_F(Order, OfWhatAKernelDoes) {
    uint64_t wrong[kinds][syncs]{};
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(2, seed);
        for (int kind = 0; kind < kinds; ++kind)
            for (int sync = 0; sync < syncs; ++sync)
                wrong[kind][sync] += cell(kind, sync, 1, 0) != wanted(kind);
    }
    for (int kind = 0; kind < kinds; ++kind)
        for (int sync = 0; sync < syncs; ++sync)
            judge(covers(sync, kind), wrong[kind][sync],
                  std::string(kind_names[kind]) + " and " + sync_names[sync]);
}

// Fence orders what goes to one PE, and completes nothing: another PE may be told too early.
TEST_F(Order, OfAFenceIsForEachPeAlone) {
    uint64_t wrong[syncs]{};
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(3, seed);
        for (int sync = 0; sync < syncs; ++sync) wrong[sync] += cell(put_nbi, sync, 2, 0) != 7;
    }
    judge(false, wrong[fence], "another PE is told behind a fence");
    judge(true, wrong[quiet], "another PE is told behind a quiet");
}

TEST_F(Order, IsForTheCallingThread) {
    uint64_t wrong[syncs]{};
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(2, seed);
        for (int sync = 0; sync < syncs; ++sync) wrong[sync] += cell(put_nbi, sync, 1, 1) != 7;
    }
    judge(false, wrong[fence], "a fence of another thread");
    judge(false, wrong[quiet], "a quiet of another thread");
}

TEST_F(Order, OfInfiniBandIsForTheTargetAlone) {
    for (const bool infiniband : {false, true}) {
        uint64_t wrong[3]{};
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
            make(3, seed, infiniband);
            clear();
            for (uint32_t pe = 0; pe < 3; ++pe)
                p_->launch(pe, "third", 1,
                           Params() << p_->at(pe, data_) << p_->at(pe, flag_) << p_->at(pe, out_));
            p_->end();
            for (uint32_t pe = 1; pe < 3; ++pe) wrong[pe] += p_->value<uint64_t>(pe, out_) != 7;
        }
        judge(true, wrong[1], "seen at the target");
        judge(!infiniband, wrong[2], infiniband ? "seen by a third PE" : "seen over NVLink");
    }
}

// ---- the host, and streams

Steps steps_of(World& world, const Issuer& from, int kind, uint64_t data, uint64_t* local) {
    const Local here{0, reinterpret_cast<std::byte*>(local)};
    const Remote there{1, data};
    switch (kind) {
        case store:
        case put:
            return world.put(from, there, here, 8, false);
        case put_nbi:
            return world.put(from, there, here, 8, true);
        case amo:
            return world.atomic(from, there, {SASSEMU_NVSHMEM_ADD, 8, 7});
        case get_nbi:
            return world.get(from, {0, reinterpret_cast<std::byte*>(local + 1)}, {1, data + 8}, 8,
                             true);
        default:
            return world.atomic(
                from, there,
                {SASSEMU_NVSHMEM_ADD, 8, 7, 0, {0, reinterpret_cast<std::byte*>(local + 1)}, true});
    }
}

TEST_F(Order, OfWhatTheHostDoes) {
    uint64_t wrong[kinds][syncs]{};
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(2, seed);
        World& world = p_->world();
        const Issuer from{0, Issuer::Side::host, 1};
        for (int kind = 0; kind < kinds; ++kind)
            for (int sync = 0; sync < syncs; ++sync) {
                clear();
                const uint64_t hundred = 100, one = 1;
                if (kind == fetched_nbi) p_->write(1, data_, &hundred, 8);
                uint64_t local[2] = {7, 0}, flag = one, seen = 0;
                const auto run = [&](Steps steps) {
                    const auto done = world.run(std::move(steps));
                    EXPECT_TRUE(done) << done.error().message();
                };
                run(steps_of(world, from, kind, p_->at(0, data_), local));
                if (sync == fence) run(world.fence(from));
                if (sync == quiet) run(world.quiet(from));
                if (kind == get_nbi || kind == fetched_nbi) {
                    seen = local[1];
                } else {
                    run(world.put(from, {1, p_->at(0, flag_)},
                                  {0, reinterpret_cast<std::byte*>(&flag)}, 8, false));
                    const auto word = world.word(p_->at(1, flag_), 8);
                    run(world.wait("for the flag", [word] { return word() == 1; }));
                    seen = p_->value<uint64_t>(1, data_);
                }
                p_->end();
                wrong[kind][sync] += seen != wanted(kind);
            }
    }
    for (int kind = 0; kind < kinds; ++kind)
        for (int sync = 0; sync < syncs; ++sync)
            judge(covers(sync, kind), wrong[kind][sync],
                  std::string("host: ") + kind_names[kind] + " and " + sync_names[sync]);
}

TEST_F(Order, OfWhatAStreamDoes) {
    uint64_t wrong[kinds][syncs]{};
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(2, seed);
        World& world = p_->world();
        const Issuer from{0, Issuer::Side::stream, 0};
        for (int kind = 0; kind < kinds; ++kind)
            for (const int sync : {nothing, quiet}) {
                clear();
                const uint64_t hundred = 100;
                if (kind == fetched_nbi) p_->write(1, data_, &hundred, 8);
                uint64_t local[2] = {7, 0}, flag = 1, seen = 0;
                const auto into = [&](Steps steps) {
                    const auto done = world.put_into({0, 0}, std::move(steps));
                    EXPECT_TRUE(done) << done.error().message();
                };
                into(steps_of(world, from, kind, p_->at(0, data_), local));
                if (sync == quiet) into(world.quiet(from));
                if (kind == get_nbi || kind == fetched_nbi) {
                    ASSERT_TRUE(p_->machine().call({0, 0}, [&] { seen = local[1]; }));
                    ASSERT_TRUE(p_->machine().synchronize());
                } else {
                    into(world.put(from, {1, p_->at(0, flag_)},
                                   {0, reinterpret_cast<std::byte*>(&flag)}, 8, false));
                    const auto word = world.word(p_->at(1, flag_), 8);
                    EXPECT_TRUE(
                        world.run(world.wait("for the flag", [word] { return word() == 1; })));
                    seen = p_->value<uint64_t>(1, data_);
                }
                p_->end();
                wrong[kind][sync] += seen != wanted(kind);
            }
    }
    for (int kind = 0; kind < kinds; ++kind)
        for (const int sync : {nothing, quiet})
            judge(covers(sync, kind), wrong[kind][sync],
                  std::string("stream: ") + kind_names[kind] + " and " + sync_names[sync]);
}

// The host's quiet completes nothing of the GPU's; a quiet in the stream does.
TEST_F(Order, IsForTheCallingSide) {
    uint64_t of_host = 0, of_stream = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        make(2, seed);
        World& world = p_->world();
        for (const bool in_stream : {false, true}) {
            clear();
            p_->launch(0, "only_put", 1, Params() << p_->at(0, data_) << p_->at(0, out_));
            if (in_stream) {
                EXPECT_TRUE(world.put_into({0, 0}, world.quiet({0, Issuer::Side::stream, 0})));
            }
            EXPECT_TRUE(p_->machine().synchronize());
            if (!in_stream) {
                EXPECT_TRUE(world.run(world.quiet({0, Issuer::Side::host, 1})));
            }
            const auto word = world.word(p_->at(1, data_), 8);
            (in_stream ? of_stream : of_host) += word() != 7;
            p_->end();
        }
    }
    judge(false, of_host, "the host's quiet for a kernel's put");
    judge(true, of_stream, "a stream's quiet for a kernel's put");
}

// ---- examples of the specification

TEST_F(Order, ExamplesOfTheSpecification) {
    for (uint64_t seed = 0; seed <= seeds; ++seed) {
        Options options = proxied(4, seed);
        options.heap_bytes = 1 << 14;
        if (seed % 3 == 0) options.proxy = false;
        if (seed % 3 == 1) options.node = 2, options.proxy = false;
        Pes p(options);
        const uint64_t a = p.allocate(1024), b = p.allocate(1024), c = p.allocate(1024),
                       d = p.allocate(1024);
        std::array<int64_t, 128> source{};
        for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int64_t>(i) * 3 + 1;
        for (uint32_t pe = 0; pe < 4; ++pe) p.write(pe, c, source.data(), sizeof source);
        for (uint32_t pe = 0; pe < 4; ++pe)
            p.launch(pe, "fence_example", 1,
                     Params() << p.at(pe, a) << p.at(pe, b) << p.at(pe, c) << p.at(pe, d) << 5);
        p.end();
        for (uint32_t pe = 1; pe < 3; ++pe)
            for (uint64_t i = 4; i < 24; ++i)
                EXPECT_EQ(p.value<int64_t>(pe, d + 8 * i), source[i]) << "seed " << seed;
        // With InfiniBand a third PE need not see what is complete.
        if (!options.node) {
            const std::array<std::byte, 64> none{};
            for (uint32_t pe = 0; pe < 4; ++pe) p.write(pe, b, none.data(), 64);
            for (uint32_t pe = 0; pe < 4; ++pe)
                p.launch(pe, "quiet_example", 1,
                         Params() << p.at(pe, a) << p.at(pe, b) << p.at(pe, b + 32));
            p.end();
            EXPECT_EQ(p.value<int>(3, b + 32), 0) << "seed " << seed;
        }
        const uint64_t ready = p.allocate(64);
        const uint64_t root = seed % 4;
        for (uint32_t pe = 0; pe < 4; ++pe)
            p.write(pe, a, source.data() + (pe == root ? 16 : 64), 64);
        for (uint32_t pe = 0; pe < 4; ++pe)
            p.launch(pe, "ring_broadcast", 1,
                     Params() << p.at(pe, a) << 16 << p.at(pe, ready) << static_cast<int>(root));
        p.end();
        for (uint32_t pe = 0; pe < 4; ++pe)
            for (uint64_t i = 0; i < 8; ++i)
                EXPECT_EQ(p.value<int64_t>(pe, a + 8 * i), source[16 + i]) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sassemu::nvshmem
