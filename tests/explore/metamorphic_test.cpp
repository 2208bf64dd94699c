// SPDX-License-Identifier: Apache-2.0
// What must hold of verdicts whatever the test: a stronger fence, scope or ordering never makes a
// forbidden outcome allowed; names and the order of threads mean nothing; random executions are
// among all executions.
#include <algorithm>

#include "explore.hpp"

namespace sassemu::explore {
namespace {

using Json = nlohmann::json;

// Every way to make one operation stronger.
std::vector<std::string> stronger(const std::string& op) {
    constexpr std::pair<const char*, const char*> steps[] = {
        {"fence.acq_rel.", "fence.sc."},
        {"fence.release.gpu", "fence.acq_rel.gpu"},
        {"fence.acquire.gpu", "fence.acq_rel.gpu"},
        {"ld.relaxed.", "ld.acquire."},
        {"st.relaxed.", "st.release."},
        {"ld.weak ", "ld.relaxed.sys "},
        {"st.weak ", "st.relaxed.sys "},
        {".relaxed.gpu.", ".acq_rel.gpu."},
        {".cta ", ".gpu "},
        {".gpu ", ".sys "},
        {".cta.add", ".gpu.add"},
        {".arrive.relaxed", ".arrive.release"}};
    std::vector<std::string> out;
    for (const auto& [from, to] : steps) {
        const bool red =
            op.starts_with("red.") && std::string(to).find("acq_rel") != std::string::npos;
        if (const size_t at = op.find(from); at != op.npos && !red && !op.starts_with("bar"))
            out.push_back(std::string(op).replace(at, std::string(from).size(), to));
    }
    if (op.starts_with("fence.") && op.ends_with(".cta") && op.find("::") == op.npos)
        out.push_back(op.substr(0, op.size() - 3) + "gpu");
    if (op.starts_with("fence.") && op.ends_with(".gpu"))
        out.push_back(op.substr(0, op.size() - 3) + "sys");
    return out;
}

bool plain(const Json& t) {
    return t.value("model", "ptx") == "ptx" && !t.contains("undefined") && !t.contains("target");
}

TEST(Metamorphic, StrongerNeverTurnsForbiddenIntoAllowed) {
    size_t tried = 0;
    for (const char* file :
         {"scope.jsonl", "mbarrier.jsonl", "cluster.jsonl", "bulk.jsonl", "async.jsonl"})
        for (const Json& t : own_tests(file)) {
            if (t["verdict"] != "forbidden" || !plain(t)) continue;
            for (size_t i = 0; i < t["threads"].size(); ++i)
                for (size_t k = 0; k < t["threads"][i]["ops"].size(); ++k)
                    for (const std::string& op :
                         stronger(t["threads"][i]["ops"][k].get<std::string>())) {
                        Json changed = t;
                        changed["threads"][i]["ops"][k] = op;
                        if (!read_test(changed.dump())) continue;  // no such form
                        const Report r = explored(changed.dump());
                        EXPECT_EQ(r.verdict, Verdict::forbidden) << t["name"] << ": " << op;
                        ++tried;
                    }
        }
    EXPECT_GT(tried, 100u);
}

TEST(Metamorphic, AFenceMoreNeverTurnsForbiddenIntoAllowed) {
    for (const Json& t : own_tests("scope.jsonl")) {
        if (t["verdict"] != "forbidden" || !plain(t)) continue;
        for (size_t i = 0; i < t["threads"].size(); ++i)
            for (size_t k = 0; k <= t["threads"][i]["ops"].size(); ++k) {
                Json changed = t;
                auto& ops = changed["threads"][i]["ops"];
                ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(k), "fence.sc.sys");
                EXPECT_EQ(explored(changed.dump()).verdict, Verdict::forbidden)
                    << t["name"] << " at " << k;
            }
    }
}

std::vector<std::tuple<std::vector<uint64_t>, uint64_t>> counted(
    const Report& r, const std::vector<std::string>& names) {
    std::vector<std::tuple<std::vector<uint64_t>, uint64_t>> out;
    for (const Outcome& o : r.outcomes) {
        std::vector<uint64_t> values;
        for (const std::string& n : names) {
            const auto at = std::find(r.names.begin(), r.names.end(), n);
            values.push_back(
                at == r.names.end() ? ~0u : o.values[static_cast<size_t>(at - r.names.begin())]);
        }
        out.emplace_back(values, o.count);
    }
    std::sort(out.begin(), out.end());
    return out;
}

TEST(Metamorphic, TheOrderOfThreadsMeansNothing) {
    for (const char* file :
         {"scope.jsonl", "barrier.jsonl", "mbarrier.jsonl", "cluster.jsonl", "tensor.jsonl"})
        for (const Json& t : own_tests(file)) {
            if (t["verdict"] == "error" || !plain(t)) continue;
            const Report before = explored(t.dump());
            Json changed = t;
            std::reverse(changed["threads"].begin(), changed["threads"].end());
            const Report after = explored(changed.dump());
            EXPECT_EQ(before.verdict, after.verdict) << t["name"];
            EXPECT_EQ(before.executions, after.executions) << t["name"];
            EXPECT_EQ(counted(before, before.names), counted(after, before.names)) << t["name"];
        }
}

TEST(Metamorphic, NamesMeanNothing) {
    for (const Json& t : own_tests("scope.jsonl")) {
        if (t["verdict"] == "error" || !plain(t) || t.contains("aliases")) continue;
        std::string line = t.dump();
        for (const char* name : {"x", "y", "z", "flag"}) {
            const std::string other = "renamed_" + std::string(name);
            for (const auto& [open, close] : {std::pair{"[", "]"}, {"\"", "\""}})
                for (size_t at = 0;
                     (at = line.find(open + std::string(name) + close, at)) != line.npos;
                     at += other.size())
                    line.replace(at + 1, std::string(name).size(), other);
        }
        Json changed = Json::parse(line);
        changed["condition"] = t["condition"];
        bool memory = false;
        for (const std::string& n : explored(t.dump()).names) memory |= n.find(':') == n.npos;
        if (memory) continue;  // the condition names locations
        EXPECT_EQ(explored(changed.dump()).verdict, explored(t.dump()).verdict) << t["name"];
    }
}

TEST(Metamorphic, RandomExecutionsAreAmongAll) {
    for (const Json& t : own_tests("scope.jsonl")) {
        if (t["verdict"] == "error" || !plain(t)) continue;
        const Report all = explored(t.dump());
        const Report some = explored(t.dump(), {}, {}, {.executions = 200, .seed = 7});
        const Report again = explored(t.dump(), {}, {}, {.executions = 200, .seed = 7});
        EXPECT_FALSE(some.complete);
        EXPECT_EQ(counted(some, all.names), counted(again, all.names))
            << t["name"] << ": a seed is a run";
        for (const Outcome& o : some.outcomes)
            EXPECT_TRUE(std::any_of(all.outcomes.begin(), all.outcomes.end(),
                                    [&](const Outcome& a) { return a.values == o.values; }))
                << t["name"];
    }
}

}  // namespace
}  // namespace sassemu::explore
