// SPDX-License-Identifier: Apache-2.0
// `sassemu litmus`: explores litmus tests. What belongs here: the options and the form of the
// output. What does not: reading and exploring (emu/explore).
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iomanip>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/progress_line.hpp"
#include "emu/explore/graph/witness.hpp"
#include "emu/explore/suite.hpp"

namespace sassemu::cli {
namespace {

using explore::Case;
using explore::Verdict;

struct LitmusCommand {
    std::vector<std::string> files;
    std::string model, progress;
    bool json = false, witness = false, every_order = false;
    unsigned threads = 0;
    uint64_t random = 0, seed = 0;
    uint32_t depth = 3;
    double time_limit = 60;
};

// What was asked for and what came of it, over all tests.
struct Summary {
    uint64_t tests = 0, contradicted = 0, executions = 0;
    std::map<Verdict, uint64_t> verdicts;
    double seconds = 0;

    void add(const Case& c) {
        ++tests;
        contradicted += c.contradicted;
        executions += c.report.executions;
        seconds += c.report.seconds;
        ++verdicts[c.report.verdict];
    }
    std::string text() const {
        std::string out = std::to_string(tests) + (tests == 1 ? " test: " : " tests: ");
        for (const auto& [verdict, count] : verdicts)
            out += std::to_string(count) + " " + std::string(explore::verdict_name(verdict)) + ", ";
        if (contradicted) out += std::to_string(contradicted) + " not as stated, ";
        return out + std::to_string(executions) + " executions" + rate(executions, seconds) + "\n";
    }
    static std::string rate(uint64_t count, double seconds) {
        if (seconds < 0.05) return {};
        return ", " + std::to_string(static_cast<uint64_t>(static_cast<double>(count) / seconds)) +
               " a second";
    }
};

void print_json(const Case& c) {
    nlohmann::ordered_json out;
    const explore::Report& r = c.report;
    out["name"] = c.name;
    out["model"] = c.model;
    out["verdict"] = explore::verdict_name(r.verdict);
    out["executions"] = r.executions;
    auto& outcomes = out["outcomes"] = nlohmann::ordered_json::array();
    for (const explore::Outcome& o : r.outcomes) {
        nlohmann::ordered_json one;
        auto& state = one["state"] = nlohmann::ordered_json::object();
        for (size_t i = 0; i < r.names.size(); ++i) state[r.names[i]] = o.values[i];
        one["count"] = o.count;
        one["condition"] = o.condition;
        outcomes.push_back(std::move(one));
    }
    if (r.states) out["states"] = r.states;
    out["complete"] = r.complete;
    if (r.steps) out["steps"] = r.steps;
    if (c.test && c.test->sass) out["intent"] = c.sass ? "unknown" : "ptx";
    if (!r.refusals.empty()) {
        auto& clauses = out["clauses"] = nlohmann::ordered_json::array();
        for (const auto& [why, count] : r.refusals)
            clauses.push_back({{"axiom", why.first}, {"clause", why.second}, {"refused", count}});
    }
    if (!r.prose.empty()) out["prose"] = r.prose;
    out["seconds"] = r.seconds;
    if (!r.bound.empty()) out["bound"] = r.bound;
    if (!r.undefined.empty()) out["undefined"] = r.undefined;
    if (!r.error.empty()) out["error"] = r.error;
    print(out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void print_text(const Case& c) {
    const explore::Report& r = c.report;
    std::ostringstream out;
    out << shown(c.name) << " (" << shown(c.model) << "): " << explore::verdict_name(r.verdict);
    if (c.contradicted) out << ", but the test states " << explore::verdict_name(c.stated);
    if (!r.error.empty()) out << ": " << shown(r.error);
    out << "\n  " << r.executions << " executions, " << r.outcomes.size() << " outcomes, "
        << std::fixed << std::setprecision(3) << r.seconds << " s, "
        << (r.complete
                ? r.executions || !r.error.empty() ? "complete" : "complete: no execution ends"
                : "incomplete: ")
        << r.bound << Summary::rate(r.executions, r.seconds)
        << (r.undefined.empty() ? "" : ", undefined: " + shown(r.undefined)) << "\n";
    for (const auto& [why, count] : r.refusals)
        out << "  " << count << " refused by " << why.first << " (" << why.second << ")\n";
    for (const std::string& clause : r.prose)
        out << "  by the text, not by an axiom: " << clause << "\n";
    if (c.sass) out << "  PTX intent unknown: judged by what the words order\n";
    for (const explore::Outcome& o : r.outcomes) {
        out << "  " << (o.condition ? '*' : ' ') << ' ' << std::setw(8) << o.count << ' ';
        for (size_t i = 0; i < r.names.size(); ++i)
            out << ' ' << shown(r.names[i]) << '=' << o.values[i];
        out << "\n";
    }
    print(out.str());
}

Result<int> litmus(const LitmusCommand& command) {
    explore::SuiteOptions options;
    const size_t colon = command.model.find(':');
    options.model = command.model.substr(0, colon);
    if (colon != command.model.npos) options.model_options = command.model.substr(colon + 1);
    options.threads = command.threads;
    options.limits.seconds = command.time_limit;
    options.limits.every_order = command.every_order;
    options.sampling = {command.random, command.seed, command.depth};
    std::vector<Case> cases;
    process_budget().set_time_limit(command.time_limit);
    for (const std::string& file : command.files) {
        SASSEMU_ASSIGN(std::vector<Case> more, explore::read_litmus_file(file));
        for (Case& c : more) cases.push_back(std::move(c));
    }
    process_budget().set_time_limit(0);  // from here on each test has its own
    process_budget().begin_work();       // what has been found by an interrupt is printed
    int code = exit_with::success;
    Summary summary;
    explore::Progress progress;
    options.limits.progress = &progress;
    ProgressLine line(command.progress, [&](double seconds) {
        return std::to_string(progress.tests) + " of " + std::to_string(cases.size()) + " tests, " +
               std::to_string(progress.looked_at) + " looked at, " +
               std::to_string(static_cast<uint64_t>(seconds)) + " s";
    });
    SASSEMU_TRY(explore::run_suite(cases, options, [&](const Case& c) {
        line.clear();
        summary.add(c);
        ++progress.tests;
        if (c.contradicted) code = worse(code, exit_with::differs);
        if (c.bad_input) code = worse(code, exit_with::bad_input);
        if (c.bad_input)
            std::fprintf(stderr, "sassemu: %s: %s\n", shown(c.where).c_str(),
                         shown(c.report.error).c_str());
        // Where it was the test, or who asked, that wanted no more, the line is the report's.
        if (c.report.verdict == Verdict::unknown) code = worse(code, exit_with::limit);
        if (c.report.cut_short) {
            code = worse(code, exit_with::limit);
            std::fprintf(stderr, "sassemu: %s: %s: not explored to the end: %s\n",
                         shown(c.where).c_str(), shown(c.name).c_str(), c.report.bound.c_str());
        }
        // A line that could not even be read as a test has been said all about.
        if (c.name.empty() && c.bad_input) return;
        if (command.json)
            print_json(c);
        else
            print_text(c);
        if (command.witness && c.test && c.report.witness) {
            // Among JSON lines a picture would confuse the program that reads them.
            const std::string text = explore::witness_text(*c.test, c.report) +
                                     explore::witness_graphviz(*c.test, c.report);
            if (command.json)
                std::fputs(shown(text, "\n\t").c_str(), stderr);
            else
                print(shown(text, "\n\t"));
        }
    }));
    line.end();
    if (summary.tests < cases.size()) code = worse(code, exit_with::limit);
    tell_partial(summary.tests, cases.size(), "tests");
    if (!command.json) print(summary.text());
    return code;
}

}  // namespace

void add_litmus_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<LitmusCommand>();
    CLI::App* sub =
        app.add_subcommand("litmus", "explore every execution of litmus tests (docs/litmus.md)");
    sub->add_option(
           "test", command->files,
           "JSONL files, .sass files with a test in their comments, launch plans with a condition")
        ->required();
    sub->add_option(
        "--model", command->model,
        "NAME or plugin.so, then :key=value,...; default: each test's own; for machine code "
        "also flat and caches");
    sub->add_flag("--json", command->json, "one JSON object a line");
    sub->add_flag("--witness", command->witness,
                  "an execution that shows the verdict, as text and as Graphviz");
    sub->add_flag(
        "--every-order", command->every_order,
        "under a machine: leave out no order of steps; it shows the same, and takes long");
    sub->add_option("--threads", command->threads,
                    "for tests, and within a large one; 0: all that the host has");
    sub->add_option("--random", command->random,
                    "for tests too large to exhaust: this many random executions");
    sub->add_option("--seed", command->seed,
                    "of --random; the same seed gives the same executions");
    sub->add_option(
           "--depth", command->depth,
           "of --random under a machine (flat, caches, nvshmem): the depth of the bugs looked for")
        ->check(CLI::Range(1, 64));
    add_progress_option(*sub, command->progress);
    sub->add_option("--time-limit", command->time_limit,
                    "seconds for one test, and for reading all")
        ->check(limit_in_seconds(1e-3));
    sub->callback([command, &exit_code] {
        auto result = litmus(*command);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
