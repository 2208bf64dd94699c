// SPDX-License-Identifier: Apache-2.0
// The places where models of PTX go wrong, each by name: the traps of the reference on memory
// ordering, and what distinguishes one text of the standard from another.
#include "explore.hpp"

namespace sassemu::explore {
namespace {

Verdict verdict(const std::vector<Column>& columns, const std::string& condition,
                const std::string& model = "ptx", const std::string& options = {}) {
    return explored(test_of(columns, condition).dump(), model, options).verdict;
}
constexpr auto allowed = Verdict::allowed, forbidden = Verdict::forbidden;
const std::string stale = "P1:r0==1 && P1:r1==0";

TEST(Traps, LoadBufferingIsAllowedWithoutDependencies) {
    EXPECT_EQ(verdict({{0, 0, {"ld.relaxed.gpu r0, [x]", "st.relaxed.gpu [y], 1"}},
                       {1, 0, {"ld.relaxed.gpu r0, [y]", "st.relaxed.gpu [x], 1"}}},
                      "P0:r0==1 && P1:r0==1"),
              allowed);
}
TEST(Traps, ValuesDoNotComeOutOfThinAir) {
    for (const char* copy : {"st.relaxed.gpu [y], r0"})
        EXPECT_EQ(verdict({{0, 0, {"ld.relaxed.gpu r0, [x]", copy}},
                           {1, 0, {"ld.relaxed.gpu r0, [y]", "st.relaxed.gpu [x], r0"}}},
                          "P0:r0==1 || P1:r0==1"),
                  forbidden);
    // A false dependency is one: the register goes through the arithmetic.
    const std::vector<std::string> p0{"ld.relaxed.gpu r0, [x]", "xor r1, r0, r0", "add r1, r1, 1",
                                      "st.relaxed.gpu [y], r1"};
    const std::vector<std::string> p1{"ld.relaxed.gpu r0, [y]", "xor r1, r0, r0", "add r1, r1, 1",
                                      "st.relaxed.gpu [x], r1"};
    EXPECT_EQ(verdict({{0, 0, p0}, {1, 0, p1}}, "P0:r0==1 && P1:r0==1"), forbidden);
}
TEST(Traps, ControlDependenciesBindWritesOnly) {
    EXPECT_EQ(
        verdict({{0, 0, {"ld.relaxed.gpu r0, [x]", "bne r0, 1, L", "L:", "st.relaxed.gpu [y], 1"}},
                 {1, 0, {"ld.relaxed.gpu r0, [y]", "bne r0, 1, L", "L:", "st.relaxed.gpu [x], 1"}}},
                "P0:r0==1 && P1:r0==1"),
        forbidden);
    // A dependency orders nothing else: the second load may still be stale.
    EXPECT_EQ(
        verdict(
            {{0, 0, {"st.relaxed.gpu [x], 1", "fence.acq_rel.gpu", "st.relaxed.gpu [y], 1"}},
             {1, 0, {"ld.relaxed.gpu r0, [y]", "bne r0, 1, L", "ld.relaxed.gpu r1, [x]", "L:"}}},
            stale),
        allowed);
}
TEST(Traps, ACompareAndSwapMayStandBeforeWhatItsOwnThreadWritesLater) {
    EXPECT_EQ(verdict({{0, 0, {"atom.relaxed.gpu.cas r0, [x], 1, 2", "st.relaxed.gpu [y], 1"}},
                       {1, 0, {"ld.relaxed.gpu r0, [y]", "st.relaxed.gpu [x], 1"}}},
                      "P0:r0==1 && P1:r0==1"),
              allowed);
}
TEST(Traps, CoherenceIsPartial) {
    // Racing weak writes need not be ordered: two readers see them in opposite orders, and either
    // may stay.
    const std::vector<Column> racing{{0, 0, {"st.weak [x], 1"}}, {1, 0, {"st.weak [x], 2"}}};
    EXPECT_EQ(verdict(racing, "x==1"), allowed);
    EXPECT_EQ(verdict(racing, "x==2"), allowed);
    const auto coww = [](const std::string& w, const std::string& r) {
        return verdict({{0, 0, {w + " [x], 1"}},
                        {1, 0, {w + " [x], 2"}},
                        {2, 0, {r + " r0, [x]", r + " r1, [x]"}},
                        {3, 0, {r + " r0, [x]", r + " r1, [x]"}}},
                       "P2:r0==1 && P2:r1==2 && P3:r0==2 && P3:r1==1");
    };
    EXPECT_EQ(coww("st.weak", "ld.weak"), allowed);
    EXPECT_EQ(coww("st.relaxed.gpu", "ld.relaxed.gpu"), forbidden);
}
TEST(Traps, ScopesMustIncludeEachOther) {
    const auto mp = [](const std::string& scope, int cta) {
        return verdict({{0, 0, {"st.weak [x], 1", "st.release." + scope + " [y], 1"}},
                        {cta, 0, {"ld.acquire." + scope + " r0, [y]", "ld.weak r1, [x]"}}},
                       stale);
    };
    EXPECT_EQ(mp("cta", 0), forbidden);
    EXPECT_EQ(mp("cta", 1), allowed);
    EXPECT_EQ(mp("gpu", 1), forbidden);
    // One side wider than the other is enough inside the narrower one.
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "st.release.cta [y], 1"}},
                       {0, 0, {"ld.acquire.gpu r0, [y]", "ld.weak r1, [x]"}}},
                      stale),
              forbidden);
}
TEST(Traps, BaseCausalityComposesScopes) {
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "st.release.cta [y], 1"}},
                       {0, 0, {"ld.acquire.cta r0, [y]", "st.release.gpu [z], 1"}},
                       {1, 0, {"ld.acquire.gpu r0, [z]", "ld.weak r1, [x]"}}},
                      "P1:r0==1 && P2:r0==1 && P2:r1==0"),
              forbidden);
}
TEST(Traps, AReleaseIsCarriedOnByStrongWritesAndAtomicsOfItsThread) {
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "st.release.gpu [y], 1", "st.relaxed.gpu [y], 2"}},
                       {1, 0, {"ld.acquire.gpu r0, [y]", "ld.weak r1, [x]"}}},
                      "P1:r0==2 && P1:r1==0"),
              forbidden);
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "st.release.gpu [y], 1"}},
                       {2, 0, {"atom.relaxed.gpu.add r0, [y], 1"}},
                       {1, 0, {"ld.acquire.gpu r0, [y]", "ld.weak r1, [x]"}}},
                      "P2:r0==2 && P2:r1==0"),
              forbidden);
}
TEST(Traps, VolatileIsRelaxedAtSystemScope) {
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "st.volatile [y], 1"}},
                       {1, 0, {"ld.volatile r0, [y]", "ld.weak r1, [x]"}}},
                      stale),
              allowed);
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "fence.acq_rel.sys", "st.volatile [y], 1"}},
                       {1, 1, {"ld.volatile r0, [y]", "fence.acq_rel.sys", "ld.weak r1, [x]"}}},
                      stale),
              forbidden);
}
TEST(Traps, FenceScOrdersStoreBufferingAndOthersDoNot) {
    const auto sb = [](const std::string& fence, int cta) {
        return verdict({{0, 0, {"st.relaxed.gpu [x], 1", fence, "ld.relaxed.gpu r0, [y]"}},
                        {cta, 0, {"st.relaxed.gpu [y], 1", fence, "ld.relaxed.gpu r0, [x]"}}},
                       "P0:r0==0 && P1:r0==0");
    };
    EXPECT_EQ(sb("fence.sc.gpu", 1), forbidden);
    EXPECT_EQ(sb("fence.acq_rel.gpu", 1), allowed);
    EXPECT_EQ(sb("fence.sc.cta", 1), allowed);
    EXPECT_EQ(sb("fence.sc.cta", 0), forbidden);
}
TEST(Traps, FenceScFollowsBaseCausalityNotAddressBoundCausality) {
    // The fences themselves touch no address: their order follows release and acquire through z.
    EXPECT_EQ(
        verdict({{0, 0, {"st.relaxed.gpu [x], 1", "fence.sc.gpu", "st.release.gpu [z], 1"}},
                 {1, 0, {"ld.acquire.gpu r0, [z]", "fence.sc.gpu", "ld.relaxed.gpu r1, [x]"}}},
                "P1:r0==1 && P1:r1==0"),
        forbidden);
}
TEST(Traps, AtomicityHoldsBetweenMorallyStrongOperations) {
    const auto lost = [](const std::string& w) {
        return verdict({{0, 0, {"atom.relaxed.gpu.add r0, [x], 1"}}, {1, 0, {w + " [x], 5"}}},
                       "x==1 && P0:r0==0");
    };
    EXPECT_EQ(lost("st.weak"), allowed);
    EXPECT_EQ(verdict({{0, 0, {"atom.relaxed.gpu.add r0, [x], 1"}},
                       {1, 0, {"atom.relaxed.gpu.add r0, [x], 1"}}},
                      "P0:r0==0 && P1:r0==0"),
              forbidden);
    EXPECT_EQ(verdict({{0, 0, {"atom.relaxed.cta.add r0, [x], 1"}},
                       {1, 0, {"atom.relaxed.cta.add r0, [x], 1"}}},
                      "P0:r0==0 && P1:r0==0"),
              allowed);
}
TEST(Traps, CausalityAxiomTakesReadsFromAndFromReadOnly) {
    // 2+2W with acq_rel fences is allowed: coherence does not enter causality.
    const std::vector<Column> ww{
        {0, 0, {"st.relaxed.gpu [x], 1", "fence.acq_rel.gpu", "st.relaxed.gpu [y], 2"}},
        {1, 0, {"st.relaxed.gpu [y], 1", "fence.acq_rel.gpu", "st.relaxed.gpu [x], 2"}}};
    EXPECT_EQ(verdict(ww, "x==1 && y==1"), allowed);
}
TEST(Traps, ScPerLocationIsPerVirtualAddress) {
    auto test = test_of({{0, 0, {"st.weak [x], 1", "ld.weak r0, [y]"}}}, "P0:r0==0");
    test["aliases"] = {{{"addr", "y"}, {"proxy", "generic"}, {"of", "x"}}};
    EXPECT_EQ(explored(test.dump()).verdict, allowed);
    test["threads"][0]["ops"] = {"st.weak [x], 1", "fence.proxy.alias", "ld.weak r0, [y]"};
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
}
TEST(Traps, AProxyFenceSitsInTheCtaOfTheAccessThatIsNotGeneric) {
    auto test = nlohmann::json::parse(
        R"({"name":"t","model":"ptx75-proxy","init":{"x":0,"y":0},"condition":"P1:r0==1 && P1:r1==0",
        "aliases":[{"addr":"s","proxy":"surface","of":"x"}],
        "threads":[{"id":"P0","cta":0,"gpu":0,"ops":["st.weak [x], 1","fence.proxy.surface","st.release.gpu [y], 1"]},
                   {"id":"P1","cta":1,"gpu":0,"ops":["ld.acquire.gpu r0, [y]","suld.weak r1, [s]"]}]})");
    EXPECT_EQ(explored(test.dump()).verdict, allowed);
    test["threads"][0]["ops"] = {"st.weak [x], 1", "st.release.gpu [y], 1"};
    test["threads"][1]["ops"] = {"ld.acquire.gpu r0, [y]", "fence.proxy.surface",
                                 "suld.weak r1, [s]"};
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
}
TEST(Traps, GraphicsProxiesAreBehindASwitch) {
    auto test =
        test_of({{0, 0, {"st.weak [x], 1", "fence.proxy.texture", "ld.weak r0, [x]"}}}, "P0:r0==0");
    EXPECT_FALSE(read_test(test.dump()));
    test["options"] = {{"graphics", "1"}};
    EXPECT_TRUE(read_test(test.dump()));
}
TEST(Traps, OneSidedFencesNeedEachOther) {
    const auto mp = [](std::vector<std::string> p0, std::vector<std::string> p1) {
        p0.insert(p0.begin(), "st.weak [x], 1"), p0.push_back("st.relaxed.gpu [y], 1");
        p1.insert(p1.begin(), "ld.relaxed.gpu r0, [y]"), p1.push_back("ld.weak r1, [x]");
        return verdict({{0, 0, p0}, {1, 0, p1}}, stale);
    };
    EXPECT_EQ(mp({"fence.release.gpu"}, {"fence.acquire.gpu"}), forbidden);
    EXPECT_EQ(mp({"fence.release.gpu"}, {}), allowed);
    EXPECT_EQ(mp({"fence.acquire.gpu"}, {"fence.acquire.gpu"}), allowed);
    EXPECT_EQ(mp({"fence.release.gpu"}, {"fence.release.gpu"}), allowed);
}
TEST(Traps, AReductionIsNoReadAndAcquiresNothing) {
    const auto mp = [](const std::string& second) {
        return verdict({{0, 0, {"st.weak [x], 1", "st.release.gpu [y], 1"}},
                        {1, 0, {second, "fence.acq_rel.gpu", "ld.weak r1, [x]"}}},
                       "y==2 && P1:r1==0");
    };
    EXPECT_EQ(mp("red.relaxed.gpu.add [y], 1"), allowed);
    EXPECT_EQ(mp("atom.relaxed.gpu.add r0, [y], 1"), forbidden);
}
TEST(Traps, WithoutPoInBaseCausalityPtx60StillKeepsOneLocation) {
    EXPECT_EQ(verdict({{0, 0, {"st.weak [x], 1", "ld.weak r0, [x]"}}}, "P0:r0==0", "ptx60"),
              forbidden);
}
TEST(Traps, ASpinningLoopIsLeftOutWithoutLosingOutcomes) {
    const std::vector<Column> handshake{
        {0, 0, {"st.weak [x], 1", "st.release.gpu [y], 1"}},
        {1, 0, {"L:", "ld.acquire.gpu r0, [y]", "beq r0, 0, L", "ld.weak r1, [x]"}}};
    const Report r = explored(test_of(handshake, "P1:r1==0").dump());
    EXPECT_EQ(r.verdict, forbidden);
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.executions, 1u);
}
TEST(Traps, ALoopThatCountsIsBoundedAndSaysSo) {
    auto test =
        test_of({{0, 0, {"L:", "add r1, r1, 1", "st.weak [x], r1", "bne r1, 9, L"}}}, "P0:r1==9");
    EXPECT_FALSE(explored(test.dump()).complete);
    test["bound"] = 10;
    const Report r = explored(test.dump());
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.verdict, allowed);
}
TEST(Plugin, TheModelAsAPluginJudgesAsTheBuiltInOne) {
    const std::string line = test_of({{0, 0, {"st.weak [x], 1", "st.release.gpu [y], 1"}},
                                      {1, 0, {"ld.acquire.gpu r0, [y]", "ld.weak r1, [x]"}}},
                                     stale)
                                 .dump();
    const Report built_in = explored(line, "ptx"), plugged_in = explored(line, PTX_PLUGIN);
    EXPECT_EQ(plugged_in.verdict, built_in.verdict);
    EXPECT_EQ(plugged_in.executions, built_in.executions);
    const auto refusal = [](const std::string& model, const std::string& options) {
        auto judge = Judge::open(model, options);
        return judge ? std::string{} : judge.error().message();
    };
    EXPECT_NE(refusal("no_such_model", "").find("is unknown"), std::string::npos);
    EXPECT_NE(refusal("/no/such/plugin.so", "").find("/no/such/plugin.so"), std::string::npos);
    EXPECT_NE(refusal("ptx", "reading=loose").find("reading=strict|relied"), std::string::npos);
}
TEST(Traps, WeakReadsMaySpinForEver) {
    auto test = nlohmann::json::parse(R"({"name":"t","model":"ptx75-liveness","threads":[
        {"id":"P0","cta":0,"gpu":0,"ops":["st.relaxed.gpu [x], 1"]},
        {"id":"P1","cta":1,"gpu":0,"ops":["L:","ld.relaxed.gpu r0, [x]","beq r0, 0, L"]}]})");
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);  // the store becomes visible some time
    test["threads"][0]["ops"] = {"ld.relaxed.gpu r0, [y]"};
    EXPECT_EQ(explored(test.dump()).verdict, allowed);
}
TEST(Traps, AWaitSeesTheArrivalsOfAllPhasesBefore) {
    auto test = nlohmann::json::parse(R"({"name":"t","model":"ptx","condition":"P2:r0==0",
        "locations":{"b":{"space":"shared::cta","cta":0,"kind":"mbarrier","count":1}},
        "threads":[{"id":"P0","cta":0,"gpu":0,"ops":["st.weak [x], 1","mbarrier.arrive [b]"]},
                   {"id":"P1","cta":0,"gpu":0,"ops":["mbarrier.try_wait.relaxed.cta [b], 0","mbarrier.arrive.relaxed.cta [b]"]},
                   {"id":"P2","cta":0,"gpu":0,"ops":["mbarrier.try_wait [b], 0","mbarrier.try_wait [b], 1","ld.weak r0, [x]"]}]})");
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
    test["threads"][2]["ops"] = {"mbarrier.try_wait.relaxed.cta [b], 0", "mbarrier.try_wait [b], 1",
                                 "ld.weak r0, [x]"};
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
}
TEST(Traps, WhatAWaitLetThroughComesAfterWhatTheArrivalDependsOn) {
    auto test = nlohmann::json::parse(R"({"name":"t","model":"ptx","condition":"P0:r0==1",
        "locations":{"b":{"space":"shared::cta","cta":0,"kind":"mbarrier","count":1}},
        "threads":[{"id":"P0","cta":0,"gpu":0,"ops":["ld.relaxed.cta r0, [x]","bne r0, 9, L","L:","mbarrier.arrive.relaxed.cta [b]"]},
                   {"id":"P1","cta":0,"gpu":0,"ops":["mbarrier.try_wait.relaxed.cta [b], 0","st.relaxed.cta [x], 1"]}]})");
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
    test["threads"][0]["ops"] = {"ld.relaxed.cta r0, [x]", "mbarrier.arrive.relaxed.cta [b]"};
    EXPECT_EQ(explored(test.dump()).verdict, allowed);
}
TEST(Traps, AnAgentPublishesNothingOfItsThread) {
    auto test = nlohmann::json::parse(R"({"name":"t","model":"ptx","condition":"P1:r1==0",
        "locations":{"b":{"space":"shared::cta","cta":1,"kind":"mbarrier","count":1},"s":{"space":"shared::cta","cta":1}},
        "threads":[{"id":"P0","cta":0,"cluster":0,"gpu":0,"ops":["st.weak [x], 1","st.async.shared::cluster.b32 [s], 7, [b]"]},
                   {"id":"P1","cta":1,"cluster":0,"gpu":0,"ops":["mbarrier.arrive.expect_tx [b], 4","mbarrier.try_wait.acquire.cluster [b], 0","ld.weak r0, [s]","ld.weak r1, [x]"]}]})");
    EXPECT_EQ(explored(test.dump()).verdict, allowed);
    test["condition"] = "P1:r0==0";
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
    test["condition"] = "P1:r1==0";
    test["options"] = {{"st_async", "thread"}};
    EXPECT_EQ(explored(test.dump()).verdict, forbidden);
}

}  // namespace
}  // namespace sassemu::explore
