// SPDX-License-Identifier: Apache-2.0
// PTX lines and what they mean.
#include <gtest/gtest.h>

#include "emu/program/intent.hpp"

namespace sassemu {
namespace {

std::string read(std::string_view line) {
    static constexpr const char* kinds[] = {"none",    "access",   "fence", "proxy",
                                            "barrier", "mbarrier", "async"};
    static constexpr const char* orders[] = {"weak",    "relaxed", "acquire",  "release",
                                             "acq_rel", "sc",      "volatile", "mmio"};
    static constexpr const char* scopes[] = {"-", "cta", "sm", "cluster", "vc", "gpu", "sys"};
    const auto i = read_intent(line);
    if (!i) return "nothing";
    std::string text = std::string(kinds[static_cast<int>(i->kind)]) + " " +
                       orders[static_cast<int>(i->ordering)] + " " +
                       scopes[static_cast<int>(i->scope)];
    if (i->restriction != IntentRestrict::none)
        text += " restrict" + std::to_string(static_cast<int>(i->restriction));
    if (i->kind == IntentKind::proxy_fence)
        text += " " + std::to_string(static_cast<int>(i->from_proxy)) +
                (i->both_ways ? "<>" : ">") + std::to_string(static_cast<int>(i->to_proxy));
    if (i->aligned) text += " aligned";
    return text;
}

TEST(Intent, FencesOfTheSeedsWithTheirDefaults) {
    EXPECT_EQ(read("\tfence.acq_rel.gpu;"), "fence acq_rel gpu");
    EXPECT_EQ(read("fence.cta;"), "fence acq_rel cta");
    EXPECT_EQ(read("fence.sc.cluster;"), "fence sc cluster");
    EXPECT_EQ(read("fence.acquire.sync_restrict::shared::cluster.cluster;"),
              "fence acquire cluster restrict2");
    EXPECT_EQ(read("fence.release.sync_restrict::shared::cta.cluster;"),
              "fence release cluster restrict1");
    EXPECT_EQ(read("fence.mbarrier_init.release.cluster;"), "fence release cluster restrict3");
    EXPECT_EQ(read("membar.gl;"), "fence sc gpu");
    EXPECT_EQ(read("membar.sys;"), "fence sc sys");
    EXPECT_EQ(read("fence.proxy.async;"), "proxy acq_rel - 0<>4");
    EXPECT_EQ(read("fence.proxy.alias;"), "proxy acq_rel - 0<>0");
    EXPECT_EQ(read("fence.proxy.async.shared::cta;"), "proxy acq_rel - 0<>4");
    EXPECT_EQ(read("fence.proxy.tensormap::generic.release.gpu;"), "proxy release gpu 0>5");
    EXPECT_EQ(read("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
              "proxy acquire cluster restrict2 0>4");
}

TEST(Intent, WhatSassHasLost) {
    EXPECT_EQ(read("mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [%r2];"),
              "mbarrier release cta");
    EXPECT_EQ(read("mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd1, [%r2];"),
              "mbarrier relaxed cta");
    EXPECT_EQ(read("mbarrier.arrive.shared.b64 %rd1, [%r2];"), "mbarrier release cta");
    EXPECT_EQ(read("$L__BB0_1: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], 0;"),
              "mbarrier acquire cta");
    EXPECT_EQ(read("mbarrier.try_wait.relaxed.cluster.shared::cta.b64 p, [a], b;"),
              "mbarrier relaxed cluster");
    EXPECT_EQ(read("mbarrier.init.shared::cta.b64 [%r1], 32;"), "mbarrier weak -");
    EXPECT_EQ(read("barrier.cluster.arrive.relaxed;"), "barrier relaxed cluster");
    EXPECT_EQ(read("barrier.cluster.arrive.aligned;"), "barrier release cluster aligned");
    EXPECT_EQ(read("barrier.cluster.wait;"), "barrier acquire cluster");
    EXPECT_EQ(read("@%p1 bar.sync 0;"), "barrier acq_rel cta aligned");
    EXPECT_EQ(read("barrier.sync 1, 64;"), "barrier acq_rel cta");
    EXPECT_EQ(read("barrier.sync.aligned 1, 64;"), "barrier acq_rel cta aligned");
    EXPECT_EQ(read("bar.arrive 0, 64;"), "barrier release cta aligned");
}

TEST(Intent, Accesses) {
    EXPECT_EQ(read("ld.global.u32 %r1, [%rd1];"), "access weak -");
    EXPECT_EQ(read("ld.relaxed.cta.global.u32 %r1, [%rd1];"), "access relaxed cta");
    EXPECT_EQ(read("ld.volatile.global.u32 %r1, [%rd1];"), "access volatile sys");
    EXPECT_EQ(read("st.release.gpu.global.u32 [%rd1], %r1;"), "access release gpu");
    EXPECT_EQ(read("atom.global.add.u32 %r1, [%rd1], 1;"), "access relaxed gpu");
    EXPECT_EQ(read("atom.acq_rel.cta.global.add.u32 %r1, [%rd1], 1;"), "access acq_rel cta");
    EXPECT_EQ(read("red.async.relaxed.cluster.global.add.u32 [a], b;"), "async relaxed cluster");
    EXPECT_EQ(
        read(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], 16, [c];"),
        "async weak -");
    EXPECT_EQ(read("add.s32 %r1, %r2, %r3;"), "none weak -");
}

TEST(Intent, LinesWithoutAnInstruction) {
    for (const char* line :
         {"", "   ", "// fence.sc.gpu;", "$L__BB0_2:", ".reg .b32 %r<4>;", "{", "}"})
        EXPECT_EQ(read(line), "nothing") << line;
}

}  // namespace
}  // namespace sassemu
