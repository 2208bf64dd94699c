// SPDX-License-Identifier: Apache-2.0
// Which memory a launch can reach: words that are pointers, that are not, and that nearly are.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "sdk/capture/memory.hpp"
#include "sdk/capture/recorder.hpp"

namespace {

using namespace sassemu::capture;

// Allocations with bytes, and no GPU.
class Allocations : public Driver {
  public:
    std::vector<uint64_t>& at(uint64_t address, uint64_t words, MemoryKind kind = {}) {
        memory_[address] = {std::vector<uint64_t>(words), kind};
        return memory_[address].words;
    }
    void synchronize() override {
        ++synchronized;
        if (broken) throw Broken("CUDA_ERROR_ILLEGAL_ADDRESS");
        if (stuck) throw Stuck("it has not ended");
    }
    uint64_t context() override { return 1; }
    std::optional<Range> range_of(uint64_t address) override {
        ++asked;
        for (const auto& [start, a] : memory_)
            if (address >= start && address - start < 8 * a.words.size())
                return Range{start, 8 * a.words.size(), a.kind};
        return {};
    }
    std::vector<uint64_t> allocations() override {
        std::vector<uint64_t> all;
        for (const auto& [start, a] : memory_) all.insert(all.begin(), start);
        return all;
    }
    bool shared(const Range&) override { return false; }
    void read(const Range& from, std::span<std::byte> out) override {
        for (const auto& [start, a] : memory_)
            if (const uint64_t offset = from.address - start; offset < 8 * a.words.size())
                std::memcpy(out.data(), std::as_bytes(std::span(a.words)).data() + offset,
                            out.size());
    }
    void write(const Range&, std::span<const std::byte>) override {}
    std::optional<Range> variable(const Launch&, const std::string&) override { return {}; }
    std::optional<TextureObject> texture(uint64_t) override { return {}; }
    void launch_again() override { ++launched; }
    Device device() override { return {}; }

    bool broken = false, stuck = false;
    unsigned synchronized = 0, launched = 0, asked = 0;

  private:
    struct Allocation {
        std::vector<uint64_t> words;
        MemoryKind kind{};
    };
    std::map<uint64_t, Allocation> memory_;
};

constexpr uint64_t base = 0x7f0000000000;

const Image& image() {
    static const Image none{{}};
    return none;
}

Work launch(std::vector<uint64_t> parameters) {
    Work work;
    Launch& launch = work.launches.emplace_back();
    launch.kernel = "kernel";
    launch.image = &image();
    const auto bytes = std::as_bytes(std::span(parameters));
    launch.parameters.assign(bytes.begin(), bytes.end());
    return work;
}

// start -> bytes
std::map<uint64_t, uint64_t> taken(Driver& driver, const Options& options, const Work& work) {
    Memory memory(driver, options);
    memory.take(work);
    std::map<uint64_t, uint64_t> all;
    for (const Piece& piece : memory.pieces()) {
        EXPECT_EQ(piece.before.size(), piece.scratch ? 0 : piece.range.bytes);
        all[piece.range.address] = piece.range.bytes + piece.rounded;
    }
    return all;
}

using Taken = std::map<uint64_t, uint64_t>;

// The end pointer of a small array, and what stands in padding, say nothing of the words around.
TEST(CaptureMemory, AWordThatIsNoPointerHidesNoAllocation) {
    Allocations driver;
    driver.at(base, 1);         // 8 bytes of 256
    driver.at(base + 256, 10);  // behind them
    driver.at(base + 4096, 4) = {base + 8, base + 16, base + 0xf8, base + 256};
    EXPECT_EQ(taken(driver, {}, launch({base + 4096})),
              (Taken{{base + 256, 80}, {base + 4096, 32}}));
    driver.at(base + 8192, 2) = {base + 255, base};
    EXPECT_EQ(taken(driver, {}, launch({base + 8, base + 8192})),
              (Taken{{base, 8}, {base + 256, 80}, {base + 8192, 16}}));
    // Each word is asked for once.
    driver.asked = 0;
    std::ranges::fill(driver.at(base + 4096, 1000), base + 8);
    taken(driver, {}, launch({base + 4096}));
    EXPECT_EQ(driver.asked, 2u);
}

TEST(CaptureMemory, ParametersNearAnAllocationMeanIt) {
    Allocations driver;
    driver.at(base, 4);
    driver.at(base + (1 << 20), 4);
    const auto one = [&](uint64_t value) { return taken(driver, {}, launch({value})); };
    constexpr uint64_t reach = 65536;
    const Taken first{{base, 32}}, second{{base + (1 << 20), 32}};
    EXPECT_EQ(one(base - 1), first);
    EXPECT_EQ(one(base - reach), first);
    EXPECT_EQ(one(base - reach - 1), Taken{});
    EXPECT_EQ(one(base + 32), first);
    EXPECT_EQ(one(base + 32 + reach), first);
    EXPECT_EQ(one(base + 33 + reach), Taken{});
    EXPECT_EQ(one(base + (1 << 20) - 8), second);
    // Between two that are near, both.
    driver.at(base + 1024, 4);
    EXPECT_EQ(one(base + 900), (Taken{{base, 32}, {base + 1024, 32}}));
    // In memory such words are nothing: there are too many.
    driver.at(base + (2 << 20), 1) = {base - 8};
    EXPECT_EQ(one(base + (2 << 20)), (Taken{{base + (2 << 20), 8}}));
}

TEST(CaptureMemory, OfAnArenaWhatLiesAroundPointersIsTaken) {
    Allocations driver;
    Options options;
    options.max_bytes = 1 << 20;
    options.window = 4096;
    driver.at(base, 1 << 20);  // 8 MiB
    const auto of = [&](std::vector<uint64_t> parameters) {
        return taken(driver, options, launch(std::move(parameters)));
    };
    EXPECT_EQ(of({base + 65536}), (Taken{{base + 65536 - 4096, 8192}}));
    EXPECT_EQ(of({base + 65536 + 4}), (Taken{{base + 65536 - 4096, 8192 + 512}}));
    EXPECT_EQ(of({base}), (Taken{{base, 4096}}));
    EXPECT_EQ(of({base + (8 << 20) - 8}), (Taken{{base + (8 << 20) - 4608, 4608}}));
    // Such that meet are one piece; a parameter within one has as much around it.
    EXPECT_EQ(of({base + 65536, base + 65536 + 8192}), (Taken{{base + 65536 - 4096, 16384}}));
    EXPECT_EQ(of({base + 65536, base + 65536 + 4096 - 512}),
              (Taken{{base + 65536 - 4096, 8192 + 4096 - 512}}));
    EXPECT_EQ(of({base + 65536, base + 262144}),
              (Taken{{base + 65536 - 4096, 8192}, {base + 262144 - 4096, 8192}}));
    EXPECT_EQ(of({base + 65536, base + 65536 + 16384, base + 65536 + 8192}),
              (Taken{{base + 65536 - 4096, 8192 + 16384}}));
    // Pointers in what is taken lead on; while a piece is read for them it may grow.
    driver.at(base, 1 << 20)[65536 / 8] = base + 65536 + 6000;
    EXPECT_EQ(of({base + 65536}), (Taken{{base + 65536 - 4096, 4096 + 6000 + 4096 + 144}}));
    options.max_bytes = 8000;
    EXPECT_THROW(of({base + 65536}), Failure);
}

TEST(CaptureMemory, AllocationsMayEndWhereTheDriversDo) {
    Allocations driver;
    Options options;
    options.round = true;
    driver.at(base, 1);
    driver.at(base + 1024, 64);
    driver.at(base + 2048, 1, MemoryKind::host);
    EXPECT_EQ(taken(driver, options, launch({base, base + 1024, base + 2048})),
              (Taken{{base, 512}, {base + 1024, 512}, {base + 2048, 8}}));
}

TEST(CaptureMemory, AGraphsOwnMemoryIsNotRead) {
    Allocations driver;
    driver.at(base, 1);
    Work work = launch({base, base + 4096});
    work.scratch.push_back({base + 4096, 100});
    Launch& copy = work.launches.emplace_back();
    copy.move = Move{.to = base + 4096, .from = base, .bytes = {}, .width = 8};
    EXPECT_EQ(taken(driver, {}, work), (Taken{{base, 8}, {base + 4096, 100}}));
    copy.move->to = base + 8192;
    EXPECT_THROW(taken(driver, {}, work), Failure);
    copy.move->to = base;
    copy.move->from = 5;
    EXPECT_THROW(taken(driver, {}, work), Failure);
}

class Lines : public testing::Test {
  protected:
    Recorder recorder() {
        return {read_options("count=0,dir=/proc/nowhere"), "a program",
                [this](const std::string& line) { said.push_back(line); }};
    }
    void run(Recorder& recorder, Driver& driver, const std::string& kernel) {
        Work work = launch({});
        work.launches[0].kernel = kernel;
        if (!recorder.wanted(work.launches[0])) return;
        recorder.begin(driver, work);
        recorder.end(driver, true);
    }
    std::vector<std::string> said;
};

TEST_F(Lines, ABrokenContextIsOne) {
    Allocations driver;
    auto recorder = this->recorder();
    driver.broken = true;
    for (int i = 0; i < 5; ++i) run(recorder, driver, "kernel");
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0],
              "launch 0 of kernel is not captured: CUDA_ERROR_ILLEGAL_ADDRESS; the context is "
              "broken, and nothing more of it is captured");
    EXPECT_EQ(driver.synchronized, 1u);
    // Wherever it is noticed.
    EXPECT_TRUE(recorder.is_broken(driver));
    recorder.failed(driver, "another", Broken("its name: CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT_EQ(said.size(), 1u);
}

TEST_F(Lines, AKernelThatDoesNotEndIsOne) {
    Allocations driver;
    auto recorder = this->recorder();
    driver.stuck = true;
    for (int i = 0; i < 5; ++i) run(recorder, driver, "waits");
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("it has not ended; nor are its later launches"), std::string::npos)
        << said[0];
    driver.stuck = false;
    run(recorder, driver, "another");
    ASSERT_EQ(said.size(), 2u);  // it was tried: there is no such directory
    EXPECT_NE(said[1].find("/proc/nowhere"), std::string::npos) << said[1];
}

}  // namespace
