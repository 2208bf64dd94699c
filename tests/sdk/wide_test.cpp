// SPDX-License-Identifier: Apache-2.0
// LDG and STG of 256 bits: which word goes where, with every set of words left out, over its own
// address, under models that perform, put off, hold back and supply. Plugins are shown accesses of
// up to 16 bytes.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "machine.hpp"

namespace sassemu {
namespace {

constexpr uint32_t threads = 40;

// R2: 32 bytes a thread of `in`; R6: of `out`; R16 to R23: 0x100 to 0x107. `where`: how lanes lie.
std::string kernel(const std::string& body, const std::string& where = "") {
    std::string text =
        ".target sm_100\n.kernel k\n.param in 8\n.param out 8\n"
        " S2R R0, SR_TID.X\n LDC.64 R2, c[0x0][in]\n LDC.64 R6, c[0x0][out]\n LDCU.64 UR4, "
        "c[0x0][0x358]\n"
        " IMAD.WIDE.U32 R6, R0, 0x20, R6\n" +
        where + " IMAD.WIDE.U32 R2, R0, 0x20, R2\n";
    for (int k = 0; k < 8; ++k)
        text += " MOV R" + std::to_string(16 + k) + ", 0x10" + std::to_string(k) + "\n";
    return text + body + "\n EXIT\n";
}
std::string hex(uint32_t v) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", v);
    return text;
}
// All of R16 to R23.
constexpr const char* keep =
    " STG.E.128 desc[UR4][R6.64], R16\n STG.E.128 desc[UR4][R6.64+0x10], R20";

struct Ran {
    LaunchResult result;
    std::vector<uint32_t> out;
    std::string text;
};
uint32_t of_in(uint32_t i) { return 0xabc00000 + i; }
uint32_t of_out(uint32_t i) { return 0xdef00000 + i; }

Ran run(const std::string& text, const std::string& model = "flat",
        std::vector<std::string> plugins = {}, uint64_t skew = 0, uint64_t bytes = threads * 32) {
    Machine m(text, std::move(plugins), model);
    const uint64_t in = m.buffer(bytes), out = m.buffer(threads * 32);
    for (uint32_t i = 0; i < bytes / 4; ++i) m.set(in + 4 * i, of_in(i));
    for (uint32_t i = 0; i < threads * 8; ++i) m.set(out + 4 * i, of_out(i));
    m.out.clear();
    Ran r;
    r.result = m.run(1, threads, {in + skew, out});
    r.text = m.out;
    for (uint32_t i = 0; i < threads * 8; ++i) r.out.push_back(m.get(out + 4 * i));
    return r;
}

std::vector<std::string> models() {
    return {"flat", "delay:steps=3", own("puts_off"), own("memory_model")};
}

// One set of words is one launch under each model: every second, so that all come.
TEST(Wide, WordsThatAreLeftOutStay) {
    uint32_t n = 0;
    for (uint32_t mask = 1; mask < 256; ++mask) {
        const auto all = models();
        const std::string& model = all[n++ % all.size()];
        const std::string words = mask == 255 ? "" : ", " + hex(mask);
        const Ran load =
            run(kernel(" LDG.E.ENL2.256 R20, R16, desc[UR4][R2.64]" + words + "\n" + keep), model);
        const Ran store = run(kernel(" STG.E.ENL2.256 desc[UR4][R6.64], R16, R20" + words), model);
        ASSERT_EQ(load.result.status, LaunchStatus::ok) << load.result.message;
        ASSERT_EQ(store.result.status, LaunchStatus::ok) << store.result.message;
        for (uint32_t i = 0; i < threads * 8; ++i) {
            const uint32_t k = i % 8;
            ASSERT_EQ(load.out[i], mask >> k & 1 ? of_in(i) : 0x100 + k)
                << model << words << " " << i;
            ASSERT_EQ(store.out[i], mask >> k & 1 ? 0x100 + k : of_out(i))
                << model << words << " " << i;
        }
    }
}

// Neighbours, one for all, turned round and apart; the halves of the registers either way round.
TEST(Wide, LanesLieAnyhow) {
    const std::pair<const char*, std::function<uint32_t(uint32_t)>> ways[] = {
        {"", [](uint32_t t) { return t; }},
        {" MOV R0, 0x5\n", [](uint32_t) { return 5u; }},
        {" LOP3.LUT R0, R0, 0x1f, RZ, 0x3c, !PT\n", [](uint32_t t) { return t ^ 31; }},
        {" LOP3.LUT R0, R0, 0x11, RZ, 0xc0, !PT\n", [](uint32_t t) { return t & 17; }},
    };
    for (const std::string& model : models())
        for (const auto& [where, lane] : ways) {
            const Ran r = run(kernel(" LDG.E.ENL2.256 R16, R20, desc[UR4][R2.64]\n STG.E.ENL2.256 "
                                     "desc[UR4][R6.64], R20, R16",
                                     where),
                              model, {}, 0, 64 * 32);
            ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.result.message;
            for (uint32_t i = 0; i < threads * 8; ++i)
                ASSERT_EQ(r.out[i], of_in(lane(i / 8) * 8 + i % 8)) << model << where << i;
        }
}

// The address is formed before either half takes its registers.
TEST(Wide, MayOverwriteItsAddress) {
    const struct {
        const char *moves, *load, *low, *high;
    } forms[] = {
        {" MOV R16, R2\n MOV R17, R3\n", "R20, R16, desc[UR4][R16.64]", "R16", "R20"},
        {" MOV R22, R2\n MOV R23, R3\n", "R20, R16, desc[UR4][R22.64]", "R16", "R20"},
        {" MOV R16, R2\n MOV R17, R3\n", "R20, R16, desc[UR4][R16.64], 0xfe", "R16", "R20"}};
    for (const std::string& model : models())
        for (const auto& f : forms) {
            const Ran r = run(
                kernel(std::string(f.moves) + " LDG.E.ENL2.256 " + f.load +
                       "\n STG.E.ENL2.256 desc[UR4][R6.64], " + f.low + ", " + f.high + ", 0xfe"),
                model);
            ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.result.message;
            for (uint32_t i = 0; i < threads * 8; ++i)
                ASSERT_EQ(r.out[i], i % 8 ? of_in(i) : of_out(i)) << model << f.load << i;
        }
}

TEST(Wide, LanesWithoutThePredicateGetZeros) {
    for (const std::string& model : models()) {
        const Ran r = run(
            kernel(" LOP3.LUT R1, R0, 0x1, RZ, 0xc0, !PT\n ISETP.EQ.U32.AND P1, PT, R1, RZ, PT\n"
                   " LDG.E.ENL2.256 R20, R16, desc[UR4][R2.64], 0xf3, P1\n" +
                   std::string(keep)),
            model);
        ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.result.message;
        for (uint32_t i = 0; i < threads * 8; ++i) {
            const uint32_t k = i % 8;
            ASSERT_EQ(r.out[i], k == 2 || k == 3 ? 0x100 + k
                                : i / 8 % 2      ? 0u
                                                 : of_in(i))
                << model << " " << i;
        }
    }
}

TEST(Wide, FaultsAreThoseOfItsLanes) {
    const std::string whole = kernel(" LDG.E.ENL2.256 R20, R16, desc[UR4][R2.64]");
    for (const std::string& model : models()) {
        const Ran skewed = run(whole, model, {}, 16, threads * 32 + 32);
        ASSERT_EQ(skewed.result.status, LaunchStatus::fault);
        EXPECT_EQ(skewed.result.fault->kind, FaultKind::misaligned_address);
        const Ran beyond = run(whole, model, {}, 32);
        ASSERT_EQ(beyond.result.status, LaunchStatus::fault);
        EXPECT_EQ(beyond.result.fault->kind, FaultKind::out_of_bounds);
        EXPECT_EQ(beyond.result.fault->lane, (threads - 1) % 32);
    }
    // Words that are left out need not be there.
    const std::string half =
        kernel(" LDG.E.ENL2.256 R20, R16, desc[UR4][R2.64], 0xf\n" + std::string(keep));
    EXPECT_EQ(run(half, "flat", {}, 0, threads * 32 - 16).result.status, LaunchStatus::ok);
    EXPECT_EQ(run(whole, "flat", {}, 0, threads * 32 - 16).result.status, LaunchStatus::fault);
}

TEST(Wide, PluginsAreShownPartsOfUpTo16Bytes) {
    const std::string text = kernel(
        " LDG.E.ENL2.256 R20, R16, desc[UR4][R2.64], 0xf6\n STG.E.ENL2.256 desc[UR4][R6.64], R16, "
        "R20");
    const Ran seen = run(text, "flat", {own("recorder") + ":only=access 0.0"});
    std::string bytes;
    for (size_t at = 0; (at = seen.text.find(" space=0 ", at)) != std::string::npos; ++at)
        bytes += seen.text.substr(seen.text.find(" bytes=", at) + 7, 2);
    // Words 1, 2 and 4 to 7 of the load, then the store's halves.
    EXPECT_EQ(bytes, "4 4 161616") << seen.text;
    for (const std::string& model : {std::string("flat"), own("puts_off")}) {
        const std::string calls = run(text, model, {own("batches") + ":mode=calls"}).text;
        EXPECT_GT(calls.size(), 500u);
        if (model == "flat")
            EXPECT_EQ(calls, run(text, model, {own("batches") + ":mode=records"}).text);
    }
}

}  // namespace
}  // namespace sassemu
