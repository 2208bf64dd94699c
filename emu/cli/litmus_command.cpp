// SPDX-License-Identifier: Apache-2.0
// `sassemu litmus`: explores litmus tests. What belongs here: the options and the form of the
// output. What does not: reading and exploring (emu/explore).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "emu/base/limits.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/explore/suite.hpp"
#include "emu/explore/witness.hpp"

namespace sassemu::cli {
namespace {

using explore::Case;
using explore::Verdict;

struct LitmusCommand {
    std::vector<std::string> files;
    std::string model;
    bool json = false, witness = false;
    unsigned threads = 0;
    uint64_t random = 0, seed = 0;
    uint32_t depth = 3;
    double time_limit = 60;
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
    std::puts(out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void print_text(const Case& c) {
    const explore::Report& r = c.report;
    std::printf("%s (%s): %s", c.name.c_str(), c.model.c_str(),
                std::string(explore::verdict_name(r.verdict)).c_str());
    if (c.contradicted)
        std::printf(", but the test states %s",
                    std::string(explore::verdict_name(c.stated)).c_str());
    if (!r.error.empty()) std::printf(": %s", r.error.c_str());
    std::printf("\n  %llu executions, %zu outcomes, %.3f s, %s%s%s\n",
                static_cast<unsigned long long>(r.executions), r.outcomes.size(), r.seconds,
                r.complete ? "complete" : "incomplete: ", r.bound.c_str(),
                r.undefined.empty() ? "" : (", undefined: " + r.undefined).c_str());
    for (const auto& [why, count] : r.refusals)
        std::printf("  %llu refused by %s (%s)\n", static_cast<unsigned long long>(count),
                    why.first.c_str(), why.second.c_str());
    for (const std::string& clause : r.prose)
        std::printf("  by the text, not by an axiom: %s\n", clause.c_str());
    if (c.sass) std::printf("  PTX intent unknown: judged by what the words order\n");
    for (const explore::Outcome& o : r.outcomes) {
        std::printf("  %c %8llu ", o.condition ? '*' : ' ',
                    static_cast<unsigned long long>(o.count));
        for (size_t i = 0; i < r.names.size(); ++i)
            std::printf(" %s=%llu", r.names[i].c_str(),
                        static_cast<unsigned long long>(o.values[i]));
        std::printf("\n");
    }
}

// The first Ctrl-C ends the search: what has been found is printed. The second ends the program.
constexpr int interrupted_exit = 130;
void on_interrupt(int) {
    if (process_budget().stopped() == Budget::Stop::interrupted) _exit(interrupted_exit);
    process_budget().interrupt();
}

Result<int> litmus(const LitmusCommand& command) {
    std::signal(SIGINT, on_interrupt);
    explore::SuiteOptions options;
    const size_t colon = command.model.find(':');
    options.model = command.model.substr(0, colon);
    if (colon != command.model.npos) options.model_options = command.model.substr(colon + 1);
    options.threads = command.threads;
    options.limits.seconds = command.time_limit;
    options.sampling = {command.random, command.seed, command.depth};
    std::vector<Case> cases;
    for (const std::string& file : command.files) {
        SASSEMU_ASSIGN(std::vector<Case> more, explore::read_litmus_file(file));
        for (Case& c : more) cases.push_back(std::move(c));
    }
    bool contradicted = false, bad = false, cut_short = false;
    SASSEMU_TRY(explore::run_suite(cases, options, [&](const Case& c) {
        contradicted |= c.contradicted;
        bad |= c.bad_input;
        if (c.bad_input)
            std::fprintf(stderr, "sassemu: %s: %s\n", c.where.c_str(), c.report.error.c_str());
        if (c.report.cut_short) {
            cut_short = true;
            std::fprintf(stderr, "sassemu: %s: %s: not explored to the end: %s\n", c.where.c_str(),
                         c.name.c_str(), c.report.bound.c_str());
        }
        // A line that could not even be read as a test has been said all about.
        if (c.name.empty() && c.bad_input) return;
        if (command.json)
            print_json(c);
        else
            print_text(c);
        if (command.witness && c.test && c.report.witness) {
            // Beside JSON lines a picture would be in the way of who reads them.
            std::FILE* out = command.json ? stderr : stdout;
            std::fputs(explore::witness_text(*c.test, c.report).c_str(), out);
            std::fputs(explore::witness_graphviz(*c.test, c.report).c_str(), out);
        }
    }));
    if (process_budget().stopped() == Budget::Stop::interrupted) return interrupted_exit;
    constexpr int input_error = 2, limit = 4, differs = 1;
    return cut_short ? limit : bad ? input_error : contradicted ? differs : 0;
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
    sub->add_option("--threads", command->threads, "tests at once; 0: all that the host has");
    sub->add_option("--random", command->random,
                    "for tests too large to exhaust: this many random executions");
    sub->add_option("--seed", command->seed,
                    "of --random; the same seed gives the same executions");
    sub->add_option(
           "--depth", command->depth,
           "of --random under a machine (flat, caches, nvshmem): the depth of the bugs looked for")
        ->check(CLI::Range(1, 64));
    sub->add_option("--time-limit", command->time_limit, "seconds for one test")
        ->check(CLI::Range(1e-3, 1e9, "SECONDS"));
    sub->callback([command, &exit_code] {
        auto result = litmus(*command);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
