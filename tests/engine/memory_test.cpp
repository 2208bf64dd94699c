// SPDX-License-Identifier: Apache-2.0
// Device memory at addresses that its user chose: several allocations in a page, at any byte, and
// constant bank 0 at the address that kernels find in it.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "emu/gpu.hpp"
#include "emu/machine/lane_bits.hpp"
#include "emu/memory/store_order.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

class Memory : public ::testing::Test {
  protected:
    void start(bool reference) {
        GpuOptions options;
        options.reference = reference;
        auto gpu = Gpu::create(std::move(options));
        ASSERT_TRUE(gpu.ok());
        gpu_ = std::move(*gpu);
    }
    // One warp runs `body` with pointers to `out` in R2 and `in` in R4, and stores R0.
    Result<LaunchResult> run(const std::string& body, uint64_t out, uint64_t in) {
        std::vector<sass::Diagnostic> diagnostics;
        const auto read = sass::read_sass(
            ".kernel k\n.param out 8\n.param in 8\n LDC.64 R2, c[0x0][out]\n"
            " LDC.64 R4, c[0x0][in]\n S2R R6, SR_TID.X\n IMAD.WIDE.U32 R2, R6, 0x4, R2\n" +
                body + "\n STG.E [R2.64+URZ], R0\n EXIT\n",
            "sm_90", diagnostics);
        if (!read)
            return Error{ErrorCode::input, std::to_string(diagnostics.at(0).line),
                         diagnostics.at(0).what, ""};
        auto module = load_module(sass::write_cubin(*read), "memory.cubin");
        if (!module) return module.error();
        auto id = gpu_->load(std::make_shared<const Module>(std::move(*module)));
        if (!id) return id.error();
        LaunchRequest request;
        request.module = *id;
        request.kernel = "k";
        request.block = {32, 1, 1};
        request.params.resize(16);
        std::memcpy(request.params.data(), &out, 8);
        std::memcpy(request.params.data() + 8, &in, 8);
        return gpu_->launch(request);
    }
    static FaultKind fault(const Result<LaunchResult>& r) {
        EXPECT_TRUE(r.ok()) << r.error().message();
        return r && r->fault ? r->fault->kind : FaultKind::none;
    }
    std::unique_ptr<Gpu> gpu_;
};

// Against a table of bytes: what is taken, what is free, what each byte holds.
TEST_F(Memory, FixedAddressesAreByteExactWithSeveralInAPage) {
    start(false);
    std::mt19937_64 random(21);
    constexpr uint64_t base = 0x7f1234500000, span = 3 << 16;
    std::map<uint64_t, uint64_t> live;  // start -> bytes
    const auto owner = [&](uint64_t at) {
        auto next = live.upper_bound(at);
        if (next == live.begin() || std::prev(next)->first + std::prev(next)->second <= at)
            return live.end();
        return std::prev(next);
    };
    for (int step = 0; step < 3000; ++step) {
        const uint64_t at = base + random() % span;
        const uint64_t bytes = 1 + (random() % 8 ? random() % 600 : random() % (2 << 16));
        if (random() % 3 == 0 && !live.empty()) {
            auto it = live.lower_bound(at);
            if (it == live.end()) it = live.begin();
            ASSERT_TRUE(gpu_->release(it->first).ok());
            live.erase(it);
        } else {
            auto next = live.lower_bound(at);
            const bool free =
                owner(at) == live.end() && (next == live.end() || next->first >= at + bytes);
            const auto got = gpu_->allocate(bytes, "b" + std::to_string(step), at);
            ASSERT_EQ(got.ok(), free) << std::hex << at << " + " << bytes;
            if (free) {
                live[at] = bytes;
                ASSERT_TRUE(gpu_->fill(at, bytes, static_cast<uint8_t>(at)).ok());
            }
        }
        for (int probe = 0; probe < 8; ++probe) {
            const uint64_t p = base + random() % span, n = 1 + random() % 16;
            std::byte seen[16];
            const auto own = owner(p);
            const bool there = own != live.end() && p + n <= own->first + own->second;
            ASSERT_EQ(gpu_->read(p, std::span(seen, n)).ok(), there) << std::hex << p;
            if (there) {
                ASSERT_EQ(seen[n - 1], static_cast<std::byte>(own->first));
            }
        }
    }
    const auto taken = gpu_->allocate(2, "late", live.begin()->first);
    ASSERT_FALSE(taken.ok());
    EXPECT_NE(taken.error().message().find("overlap 'b"), std::string::npos);
    EXPECT_FALSE(gpu_->allocate(8, "null", 8).ok());
}

// Whatever byte a buffer begins at, the alignment of an access is that of its address.
TEST_F(Memory, KernelsSeeEachAllocationOfAPageByItself) {
    constexpr uint64_t page = 0x7f1234500000;
    const std::string scattered =
        " IMAD.WIDE.U32 R4, R6, 0xc, R4\n LDG.E R0, [R4.64+URZ]";  // every 12th byte
    for (const bool reference : {false, true})
        for (const uint64_t shift : {0u, 1u, 2u, 4u, 6u}) {
            start(reference);
            const uint64_t out = *gpu_->allocate(128, "out", page + 0x1000);
            const uint64_t a = *gpu_->allocate(400, "a", page + 0x2000 + shift);
            const uint64_t b = *gpu_->allocate(400, "b", a + 400);
            std::vector<uint8_t> bytes(400);
            for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
            ASSERT_TRUE(gpu_->write(a, std::as_bytes(std::span(bytes))).ok());
            ASSERT_TRUE(gpu_->write(b, std::as_bytes(std::span(bytes))).ok());
            const uint64_t in = (a + 3) / 4 * 4;
            EXPECT_EQ(fault(run(scattered, out, in)), FaultKind::none) << shift;
            uint32_t got[32];
            ASSERT_TRUE(gpu_->read(out, std::as_writable_bytes(std::span(got))).ok());
            for (unsigned lane = 0; lane < 32; ++lane) {
                uint32_t want;
                std::memcpy(&want, bytes.data() + (in - a) + lane * 12, 4);
                ASSERT_EQ(got[lane], want) << shift << " " << lane;
            }
            if (shift % 4) {
                EXPECT_EQ(fault(run(scattered, out, a)), FaultKind::misaligned_address) << shift;
            }
            // The last lane leaves `a`; its bytes are those of `b`, and b's end is the end.
            EXPECT_EQ(fault(run(scattered, out, in + 28)), FaultKind::none) << shift;
            EXPECT_EQ(fault(run(scattered, out, in + 432)), FaultKind::out_of_bounds) << shift;
            ASSERT_TRUE(gpu_->release(b).ok());
            const auto freed = run(scattered, out, in + 28);
            EXPECT_EQ(fault(freed), FaultKind::use_after_free) << shift;
            EXPECT_NE(freed->fault->report().find("'b', which was freed"), std::string::npos);
        }
}

// c[0x0][0xc0] of sm_90: c[0x0][0x198] = c[0x0][0xc0] + 0x210 in every launch of an H100.
TEST_F(Memory, Bank0HasAnAddressWhereItCanOnlyBeRead) {
    for (const bool reference : {false, true}) {
        start(reference);
        const uint64_t out = *gpu_->allocate(128, "out");
        const std::string bank = " LDC.64 R4, c[0x0][0xc0]\n";
        const auto first = [&](const std::string& body) {
            EXPECT_EQ(fault(run(body, out, 0x123456789abcdef0)), FaultKind::none) << body;
            uint32_t got[32] = {};
            EXPECT_TRUE(gpu_->read(out, std::as_writable_bytes(std::span(got))).ok());
            for (const uint32_t lane : got) EXPECT_EQ(lane, got[0]) << body;
            return got[0];
        };
        EXPECT_EQ(first(bank + " LDC R8, c[0x0][0x198]\n IADD3 R0, R8, -R4, RZ"), 0x210u);
        EXPECT_EQ(first(bank + " LDC R8, c[0x0][0x19c]\n IADD3 R0, R8, -R5, RZ"), 0u);
        for (const char* load : {"LDG.E", "LD.E"}) {
            EXPECT_EQ(first(bank + " " + load + " R0, [R4.64+URZ+0x218]"), 0x9abcdef0u);
            EXPECT_EQ(first(bank + " " + load + ".64 R8, [R4.64+URZ+0x218]\n MOV R0, R9"),
                      0x12345678u);
            EXPECT_EQ(first(bank + " " + load + " R0, [R4.64+URZ]"), 32u);  // ntid.x
            EXPECT_EQ(fault(run(bank + " IADD3 R4, R4, 0x10000, RZ\n " + load + " R0, [R4.64+URZ]",
                                out, 0)),
                      FaultKind::out_of_bounds);
        }
        for (const char* store : {"STG.E", "ST.E"})
            EXPECT_EQ(fault(run(bank + " " + store + " [R4.64+URZ+0x218], R6", out, 0)),
                      FaultKind::out_of_bounds);
    }
}

// What goes to another process is sent without the lanes that others' values take the place of.
TEST(StoreOrder, WhatStaysIsWhatStoringInTurnLeaves) {
    std::mt19937 draw(7);
    for (const uint32_t bytes : {1u, 2u, 4u, 8u, 16u})
        for (int round = 0; round < 200; ++round) {
            uint64_t address[32];
            for (uint64_t& a : address) a = draw() % 12;
            const uint32_t lanes = draw() | draw();
            std::map<uint64_t, uint32_t> stored, kept;
            for_storing_lanes(lanes, bytes, [&](uint32_t lane) { stored[address[lane]] = lane; });
            const uint32_t stay = lanes_that_stay(lanes, bytes, address);
            ASSERT_EQ(stay & ~lanes, 0u);
            for_lanes(stay, [&](uint32_t lane) {
                ASSERT_TRUE(kept.emplace(address[lane], lane).second) << "two lanes stay";
            });
            ASSERT_EQ(kept, stored) << bytes << " bytes";
        }
}

}  // namespace
}  // namespace sassemu
