// SPDX-License-Identifier: Apache-2.0
// Litmus files of strangers: whatever they hold, exploration ends in time with a verdict or with an
// error that names the place; nothing that they name is loaded.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "emu/explore/machines/explore_machine.hpp"
#include "emu/explore/plan/read_plan_test.hpp"
#include "emu/explore/sass/read_sass.hpp"
#include "emu/explore/suite.hpp"
#include "explore.hpp"

namespace sassemu::explore {
namespace {

class TemporaryFile {
  public:
    TemporaryFile(const std::string& suffix, const std::string& text)
        : path(testing::TempDir() + "hostile_" + std::to_string(getpid()) + suffix) {
        std::ofstream(path, std::ios::binary) << text;
    }
    ~TemporaryFile() { std::remove(path.c_str()); }
    const std::string path;
};

std::vector<Case> run_file(const std::string& path, SuiteOptions options = {}) {
    auto cases = read_litmus_file(path);
    EXPECT_TRUE(cases) << cases.error().message();
    if (!cases) return {};
    const auto done = run_suite(*cases, options, [](const Case&) {});
    EXPECT_TRUE(done) << done.error().message();
    return std::move(cases).value();
}
std::vector<Case> run_lines(const std::string& text, SuiteOptions options = {}) {
    return run_file(TemporaryFile(".jsonl", text).path, options);
}
double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
nlohmann::json plain() { return test_of({{0, 0, {"st.weak [x], 1"}}}, "x==1"); }

TEST(Hostile, AFileNamesNoCode) {
    for (const char* model : {PTX_PLUGIN, "./x.so", "x.so-liveness", "check-sync", "ptxx", ""}) {
        nlohmann::json test = plain();
        test["model"] = model;
        const auto cases = run_lines(test.dump());
        ASSERT_EQ(cases.size(), 1u);
        EXPECT_TRUE(cases[0].bad_input) << model;
        EXPECT_NE(cases[0].report.error.find("use --model"), std::string::npos) << model;
        // The command line may.
        SuiteOptions options;
        options.model = PTX_PLUGIN;
        EXPECT_FALSE(run_lines(test.dump(), options)[0].bad_input) << model;
    }
    for (const char* model : {"ptx", "ptx60", "ptx75-proxy"}) {
        nlohmann::json test = plain();
        test["model"] = model;
        EXPECT_EQ(run_lines(test.dump())[0].report.verdict, Verdict::allowed) << model;
    }
}

TEST(Hostile, TestsOfOneModelUnderEveryOther) {
    // Tensor memory under models that know none, mbarriers under machines, and so on.
    for (const char* file : {"tensor", "bulk", "mbarrier", "tensormap", "nvshmem", "caches"})
        for (const char* model :
             {"ptx60", "ptx75-proxy", "ptx", "ptx:reading=relied", "nvshmem", "caches", "flat"}) {
            SuiteOptions options;
            const std::string text = model;
            options.model = text.substr(0, text.find(':'));
            if (options.model != text) options.model_options = text.substr(text.find(':') + 1);
            options.limits = {.seconds = 0.2, .executions = 200};
            const auto cases = run_file(
                std::string(SASSEMU_SOURCE_DIR) + "/tests/litmus/" + file + ".jsonl", options);
            EXPECT_GT(cases.size(), 5u);
        }
}

TEST(Hostile, WordsThatExplorationHasNothingForAreRefused) {
    for (const char* word :
         {"UTCBAR [UR4], URZ", "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR4, UR4", "LDTM R0, tmem[UR4]",
          "UTCHMMA gdesc[UR18], gdesc[UR16], tmem[UR4], tmem[UR6], idesc[UR7], UP0",
          "STTM tmem[UR4], R0", "PREEXIT"}) {
        const std::string text =
            "// litmus {\"name\":\"t\",\"threads\":[{\"id\":\"P0\",\"kernel\":\"k\"}],"
            "\"condition\":\"x==0\"}\n.target sm_100a\n.kernel k\n.param x 8\n" +
            std::string(word) + "\nEXIT\n";
        for (const bool machine : {false, true}) {
            auto test = read_sass_test(text, "t.sass");
            ASSERT_TRUE(test) << word << ": " << test.error().message();
            auto judge = Judge::open("ptx", "");
            const auto report = machine ? explore_machine(*test, "flat", {.seconds = 5})
                                        : explore(*test, **judge, {.seconds = 5});
            ASSERT_TRUE(report) << word;
            if (report->verdict == Verdict::error) {
                EXPECT_NE(report->error.find("k+0x"), std::string::npos) << report->error;
            }
        }
    }
}

TEST(Hostile, ConditionsOfAnyLength) {
    std::string condition = "x==1";
    while (condition.size() < (2u << 20))
        condition += " || x==2 && !(P0:r" + std::to_string(condition.size() % 900) + "==7)";
    nlohmann::json test = plain();
    test["condition"] = condition;
    EXPECT_LT(
        seconds_of([&] { EXPECT_EQ(run_lines(test.dump())[0].report.verdict, Verdict::allowed); }),
        20);
}

TEST(Hostile, LongLinesAreReadInLinearTime) {
    nlohmann::json keys = plain(), aliases = plain();
    for (int i = 0; i < 120'000; ++i) {
        keys["init"]["P0:r" + std::to_string(i)] = i;
        aliases["aliases"].push_back({{"addr", "a" + std::to_string(i)}, {"of", "x"}});
        keys["locations"]["l" + std::to_string(i)] = nlohmann::json::object();
    }
    for (const auto& test : {keys, aliases})
        EXPECT_LT(seconds_of([&] {
                      const auto cases = run_lines(test.dump());
                      ASSERT_EQ(cases.size(), 1u);
                      EXPECT_NE(cases[0].report.error.find("more than"), std::string::npos);
                  }),
                  20);
}

TEST(Hostile, NestedValues) {
    nlohmann::json test = plain();
    std::string line = test.dump();
    const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
    line.insert(line.size() - 1, ",\"options\":{\"a\":" + deep + "}");
    const auto cases = run_lines(line);
    ASSERT_EQ(cases.size(), 1u);
    EXPECT_NE(cases[0].report.error.find("more than 64 levels"), std::string::npos);
    const auto sass = read_sass_test("// litmus {\"threads\":" + deep + "}\n", "t.sass");
    ASSERT_FALSE(sass);
    EXPECT_NE(sass.error().message().find("more than 64 levels"), std::string::npos);
    EXPECT_EQ(run_lines(std::string(5u << 20, '['))[0].report.error, "the line is too long");
}

TEST(Hostile, EventsAreAsManyAsThereAre) {
    nlohmann::json test = test_of({{0, 0, {}}, {1, 0, {}}}, "P0:r0==0 || P1:r0!=0");
    for (int i = 0; i < 400; ++i) {
        const std::string name = "l" + std::to_string(i);
        test["init"][name] = 0;
        test["threads"][0]["ops"].push_back("st.weak [" + name + "], 1");
    }
    test["threads"][0]["ops"].push_back("ld.weak r0, [l399]");
    test["threads"][1]["ops"] = {"mov r0, 0"};
    const Report r = run_lines(test.dump())[0].report;
    EXPECT_EQ(r.verdict, Verdict::forbidden) << r.error;
    EXPECT_TRUE(r.complete) << r.bound;
    EXPECT_EQ(r.executions, 1u);
}

TEST(Hostile, PlansOfManyThreadsAndOfMoreThanFit) {
    const std::string folder = std::string(SASSEMU_SOURCE_DIR) + "/tests/explore/plans/";
    std::ifstream in(folder + "two_launches.json");
    nlohmann::json plan = nlohmann::json::parse(in);
    plan["module"] = folder + std::string(plan["module"]);
    plan.erase("verdict");
    for (const auto& [grid, block] : {std::pair{1, 300}, {1, 500}, {4'000'000, 1024}}) {
        for (auto& launch : plan["launches"]) {
            launch["grid"] = {grid, 1, 1};
            launch["block"] = {block, 1, 1};
        }
        const TemporaryFile file(".json", plan.dump());
        auto cases = read_litmus_file(file.path);
        EXPECT_EQ(cases.ok(), grid == 1);
        if (!cases) {
            EXPECT_NE(cases.error().message().find("exploration takes up to"), std::string::npos)
                << cases.error().message();
            continue;
        }
        SuiteOptions options;
        options.limits.seconds = 0.5;
        EXPECT_TRUE(run_suite(*cases, options, [](const Case&) {}));
        EXPECT_EQ((*cases)[0].report.verdict, Verdict::unknown);
        EXPECT_EQ((*cases)[0].report.bound, "the time limit");
    }
}

TEST(Hostile, ValuesMadeOfThemselvesAreFoundOutOnce) {
    // r0 + r0, forty times: two to the fortieth ways down.
    std::vector<std::string> ops{"ld.weak r0, [x]"};
    for (int i = 0; i < 40; ++i) ops.push_back("add r0, r0, r0");
    ops.push_back("bne r0, 3, L");
    ops.push_back("L:");
    const auto report = explored(test_of({{0, 0, ops}}, "P0:r0==0").dump());
    EXPECT_EQ(report.verdict, Verdict::allowed);
    // Of more operations than a value is followed through nothing is claimed.
    for (int i = 0; i < 500; ++i) ops.insert(ops.begin() + 1, "add r0, r0, 1");
    ops.resize(ops.size() - 2);
    EXPECT_EQ(explored(test_of({{0, 0, ops}}, "P0:r0==500").dump()).verdict, Verdict::unknown);
    // Without a load in it, it is a constant.
    ops[0] = "mov r0, 0";
    ops.resize(501);
    EXPECT_EQ(explored(test_of({{0, 0, ops}}, "P0:r0==500").dump()).verdict, Verdict::allowed);
}

TEST(Hostile, ManyChoicesEndBeforeTheStackDoes) {
    nlohmann::json test = test_of({{0, 0, {}}}, "big==1");
    test["locations"]["big"] = {{"size", 1 << 16}};
    for (int i = 0; i < 3000; ++i)
        test["locations"]["p" + std::to_string(i)] = {
            {"of", "big"}, {"offset", 16 * i}, {"size", 16}};
    test["threads"][0]["ops"].push_back("ld.weak r0, [big]");
    SuiteOptions options;
    options.limits.seconds = 5;
    const auto cases = run_lines(test.dump(), options);
    EXPECT_NE(cases[0].report.verdict, Verdict::error) << cases[0].report.error;
    EXPECT_TRUE(cases[0].report.complete || cases[0].report.cut_short);
}

TEST(Hostile, TheTimeLimitHoldsUnderEveryModel) {
    std::vector<Column> columns;
    for (int t = 0; t < 10; ++t)
        columns.push_back({t,
                           t % 2,
                           {"st.weak [x], 1", "st.weak [y], 2", "st.weak [z], 3", "ld.weak r0, [x]",
                            "ld.weak r1, [y]", "ld.weak r2, [z]"}});
    nlohmann::json test = test_of(columns, "x==9");
    nlohmann::json caches = test;
    caches["model"] = "caches";
    for (auto& t : caches["threads"])
        t["ops"] = {"ST [x], 1", "ST [y], 2", "LD r0, [x]", "LD r1, [y]", "ST [z], 3"};
    const std::string sass = [] {
        std::string threads;
        for (int t = 0; t < 12; ++t)
            threads += std::string(t ? "," : "") + "{\"id\":\"P" + std::to_string(t) +
                       "\",\"cta\":" + std::to_string(t) + ",\"kernel\":\"k\"}";
        std::string text = "// litmus {\"name\":\"t\",\"threads\":[" + threads +
                           "],\"condition\":\"x==9\"}\n.target sm_90\n.kernel k\n.param x 8\n"
                           "ULDC.64 UR4, c[0x0][0x208]\nMOV R2, c[0x0][x]\nMOV R3, c[0x0][x+4]\n";
        for (int i = 0; i < 8; ++i)
            text += "LDG.E R" + std::to_string(8 + i) +
                    ", desc[UR4][R2.64]\nSTG.E desc[UR4][R2.64], R8\n";
        return text + "EXIT\n";
    }();
    // Words that nobody sees, and no end of them.
    const std::string spin =
        "// litmus {\"name\":\"t\",\"threads\":[{\"id\":\"P0\",\"kernel\":\"k\"}],"
        "\"condition\":\"x==9\"}\n.target sm_90\n.kernel k\n.param x 8\nMOV R4, 0x0\n"
        "L:\nIADD3 R4, R4, 0x1, RZ\nBRA `(L)\nEXIT\n";
    const TemporaryFile a(".jsonl", test.dump()), b(".c.jsonl", caches.dump()), c(".sass", sass),
        d(".spin.sass", spin);
    const std::pair<std::string, std::string> runs[] = {
        {a.path, "ptx"},    {a.path, "ptx60"}, {a.path, "ptx75-proxy"}, {a.path, "nvshmem"},
        {b.path, "caches"}, {c.path, "ptx"},   {c.path, "flat"},        {c.path, "caches"},
        {d.path, "flat"},   {d.path, "caches"}};
    for (const auto& run : runs)
        for (const uint64_t random : {0, 1'000'000'000}) {
            SuiteOptions options;
            options.model = run.second;
            options.limits.seconds = 0.5;
            options.sampling = {random, 1, 3};
            Report r;
            EXPECT_LT(seconds_of([&] { r = std::move(run_file(run.first, options)[0].report); }), 4)
                << run.first << " " << run.second << " " << random;
            EXPECT_TRUE(r.cut_short) << run.first << " " << run.second << " " << random;
            EXPECT_EQ(r.bound, "the time limit");
            EXPECT_EQ(r.verdict, Verdict::unknown);
        }
}

// Ten threads' arrivals at one mbarrier have more orders than are gone through, and the time is
// over before it comes to that.
TEST(Hostile, TheTimeLimitHoldsAmongOrdersOfOneMbarrier) {
    std::vector<Column> columns(10, {0, 0, std::vector<std::string>(4, "mbarrier.arrive [m]")});
    columns[0].ops.push_back("mbarrier.try_wait [m], 0");
    nlohmann::json test = test_of(columns, "x==7");
    test["locations"] = {
        {"m", {{"kind", "mbarrier"}, {"space", "shared::cta"}, {"cta", 0}, {"count", 40}}},
        {"x", nlohmann::json::object()}};
    SuiteOptions options;
    options.limits.seconds = 0.02;
    const Report r = run_lines(test.dump(), options)[0].report;
    EXPECT_EQ(r.bound, "the time limit") << r.error;
}

TEST(Hostile, ATestWithoutANameIsCalledByItsPlace) {
    const TemporaryFile file(
        ".jsonl", "\n{\"threads\":[],\"verdict\":\"error\",\"error\":\"something else\"}\n");
    const auto cases = run_file(file.path);
    ASSERT_EQ(cases.size(), 1u);
    EXPECT_TRUE(cases[0].contradicted);
    EXPECT_EQ(cases[0].name, file.path + ":2");
}

TEST(Hostile, ErrorsInConditionsHaveLineAndColumn) {
    const std::string head =
        R"({"name":"t","threads":[{"id":"P0","ops":["st.weak [x], 1"]}],"condition":")";
    const auto column = [&](const std::string& condition, size_t at) {
        const TemporaryFile file(".jsonl", "// first\n" + head + condition + "\"}\n");
        const auto cases = run_file(file.path);
        ASSERT_EQ(cases.size(), 1u);
        EXPECT_EQ(cases[0].where, file.path + ":2:" + std::to_string(head.size() + at))
            << condition << ": " << cases[0].report.error;
    };
    column("x==", 4);
    column("x==1 || P9:r0==1", 9);
    column("x==1 && \\u0021(x[9:1]==1)", 16);  // an escape is as long as it is
    column("(x==1 || x==2", 14);
    column(std::string(300, '('), 201);

    const std::string sass =
        "// litmus {\"name\":\"t\",\n// litmus \"threads\":[{\"id\":\"P0\",\"kernel\":\"k\"}],\n"
        "// litmus   \"condition\":\"x==0 && P0:R99==1\"}\n"
        ".target sm_90\n.kernel k\n.param x 8\nEXIT\n";
    auto test = read_sass_test(sass, "t.sass");
    ASSERT_FALSE(test);
    EXPECT_TRUE(test.error().message().starts_with("t.sass:3:34: P0: ")) << test.error().message();
    const size_t wrong = sass.find("x==0");
    test = read_sass_test(std::string(sass).replace(wrong, 4, "x==,"), "t.sass");
    ASSERT_FALSE(test);
    EXPECT_TRUE(test.error().message().starts_with("t.sass:3:29: condition: "))
        << test.error().message();
}

// As a user whom the host gives no threads.
[[noreturn]] void run_without_threads() {
    const TemporaryFile file(".jsonl", plain().dump() + "\n" + plain().dump() + "\n");
    auto cases = read_litmus_file(file.path);
    const rlimit none{0, 0};
    // The limit does not hold for root.
    if (!cases || setrlimit(RLIMIT_NPROC, &none) != 0 || (!getuid() && setuid(65534) != 0))
        std::_Exit(2);
    bool refused = false;
    try {
        std::thread([] {}).join();
    } catch (const std::system_error&) {
        refused = true;
    }
    size_t done = 0;
    const auto result =
        run_suite(*cases, {}, [&](const Case& c) { done += c.report.verdict == Verdict::allowed; });
    std::_Exit(result && done == 2 && refused ? 0 : 1);
}
TEST(Hostile, WithoutThreadsTheTestsAreRunAllTheSame) {
    EXPECT_EXIT(run_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sassemu::explore
