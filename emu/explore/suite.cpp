// SPDX-License-Identifier: Apache-2.0
// See suite.hpp.
#include "emu/explore/suite.hpp"

#include "emu/base/limits.hpp"
#include "emu/base/workers.hpp"
#include "emu/explore/litmus/json_text.hpp"
#include "emu/explore/machines/explore_machine.hpp"
#include "emu/explore/plan/read_plan_test.hpp"
#include "emu/explore/ptx/read_test.hpp"
#include "emu/explore/sass/program.hpp"
#include "emu/explore/sass/read_sass.hpp"
#include "emu/plan/plan.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>

namespace sassemu::explore {
namespace {

constexpr size_t longest_line = 4 << 20;

// What can be said of a test that could not be read: its name, and whether it expects that.
void describe(Case& c, const std::string& line) {
    const auto json = read_json<nlohmann::json>(line);
    if (!json || !json->is_object()) return;
    const auto text = [&](const char* key) {
        const auto it = json->find(key);
        return it != json->end() && it->is_string() ? it->get<std::string>() : std::string{};
    };
    c.name = text("name");
    c.model = text("model");
    if (c.model.empty()) c.model = "ptx";
    if (text("verdict") == "error") c.stated = Verdict::error;
    c.expected_error = text("error");
}

Case read_case(const std::string& line, const std::string& where) {
    Case c;
    c.where = where;
    size_t condition_at = line.npos;
    auto test = line.size() > longest_line
                    ? Result<Test>(make_error(ErrorCode::input, {}, "the line is too long"))
                    : read_test(line, &condition_at);
    if (test) {
        c.test = std::move(test).value();
        c.test->where = c.where;
        c.name = c.test->name;
        c.model = c.test->model;
        c.stated = c.test->verdict;
        c.expected_error = c.test->error;
    } else {
        if (condition_at != line.npos)
            if (const auto place = place_in_string(line, "condition", condition_at))
                c.where += ":" + std::to_string(place->column);
        if (line.size() <= longest_line) describe(c, line);
        c.report.verdict = Verdict::error;
        c.report.error = test.error().message();
        c.bad_input = c.stated != Verdict::error;
        // It is compared with what it states; then it needs something to be called by.
        if (c.name.empty() && !c.bad_input) c.name = c.where;
    }
    return c;
}

std::string judge_options(const Test& t) {
    std::string out;
    for (const auto& [key, value] : t.options) {
        if (key == "st_async" || key == "transport") continue;  // of the step machine
        out += (out.empty() ? "" : ",") + key + "=" + value;
    }
    return out;
}

bool is_machine_that_ships(const std::string& model) {
    for (const char* name : {"nvshmem", "caches", "flat", "weak"})
        if (model == name) return true;
    return false;
}

// Models that ship and are built in. A test's file may name these and no others: what it names is
// never loaded.
bool ships(const std::string& model) {
    for (const char* name : {"ptx", "ptx60", "ptx75-proxy"})
        if (model == name) return true;
    return is_machine_that_ships(model);
}

std::string model_name(const std::string& model) {
    constexpr std::string_view liveness = "-liveness";
    if (!model.ends_with(liveness)) return model;
    const std::string base = model.substr(0, model.size() - liveness.size());
    return base == "ptx75" ? "ptx75-proxy" : base;
}

// Models are opened once; all threads use them.
template <class Model>
class Opened {
  public:
    Result<const Model*> get(const std::string& model, const std::string& options) {
        const std::lock_guard lock(mutex_);
        auto& slot = open_[{model, options}];
        if (!slot) {
            SASSEMU_ASSIGN(slot, Model::open(model, options));
        }
        return slot.get();
    }

  private:
    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<Model>> open_;
};

struct Models {
    Opened<Judge> judges;
    Opened<ExploredMachine> machines;
    bool asked_is_machine = false;  // of --model
};

// Models that are machines: all states of them are visited.
Result<Report> visit_states(const Test& test, const std::string& model, const std::string& given,
                            const SuiteOptions& options, Models& models) {
    // Of a test's options only this one reaches the machine, and only this value of it.
    const auto transport = test.options.find("transport");
    const bool ib = model == "nvshmem" && given.empty() && transport != test.options.end() &&
                    transport->second == "ib";
    SASSEMU_ASSIGN(const ExploredMachine* machine,
                   models.machines.get(model, ib ? "transport=ib" : given));
    return explore_machine(test, *machine, options.limits, options.sampling);
}

// A stated verdict is contradicted by the other one; `unknown` says nothing.
bool contradicts(const Case& c) {
    if (c.stated == Verdict::unstated) return false;
    if (c.report.verdict == Verdict::error)
        return c.stated != Verdict::error ||
               c.report.error.find(c.expected_error) == c.report.error.npos;
    return c.report.verdict != c.stated && c.report.verdict != Verdict::unknown;
}

Result<void> run_case(Case& c, const SuiteOptions& options, Models& models) {
    if (!c.test) return {};
    const bool own = options.model.empty();
    const std::string& asked = own ? c.test->model : options.model;
    if (own && !ships(model_name(asked))) {
        c.report.verdict = Verdict::error;
        c.report.error =
            "model '" + asked +
            "' is none of those that ship (ptx, ptx60, ptx75-proxy, their -liveness "
            "forms, nvshmem, caches, flat, weak), and a test's file loads no other; use "
            "--model";
        c.bad_input = c.stated != Verdict::error;
        return {};
    }
    if (own ? is_machine_that_ships(asked) : models.asked_is_machine) {
        if (!own) {
            c.model = asked;
            // A machine shows less than its test's model may allow; never more.
            if (c.stated == Verdict::allowed) c.stated = Verdict::unstated;
        }
        auto report =
            visit_states(*c.test, asked, own ? "" : options.model_options, options, models);
        if (report) {
            c.report = std::move(report).value();
        } else {
            c.report.verdict = Verdict::error;
            c.report.error = report.error().message();
            c.bad_input = c.stated != Verdict::error;
        }
        return {};
    }
    if (!own) c.model = options.model;
    const std::string given = own ? judge_options(*c.test) : options.model_options;
    auto judge = models.judges.get(own ? model_name(c.test->model) : options.model, given);
    if (!judge) {
        if (own) {
            c.report.verdict = Verdict::error;
            c.report.error = judge.error().message();
            c.bad_input = c.stated != Verdict::error;
            return {};
        }
        return std::move(judge).error();
    }
    if (given.find("reading=relied") != given.npos && c.test->verdict_relied != Verdict::unstated)
        c.stated = c.test->verdict_relied;
    auto report = explore(*c.test, **judge, options.limits, options.sampling);
    if (!report) return std::move(report).error().within(c.where + ": " + c.name);
    c.report = std::move(report).value();
    return {};
}

// A line of a file, or what of it is too long.
bool next_line(std::istream& in, std::string& line) {
    line.clear();
    char c = 0;
    while (line.size() <= longest_line && in.get(c) && c != '\n') line += c;
    return !line.empty() || in;
}

// run_case() for a thread, which no exception may leave.
Result<void> run_case_safely(Case& c, const SuiteOptions& options, Models& models) {
    try {
        return run_case(c, options, models);
    } catch (const std::bad_alloc&) {
        c.report.incomplete("the host has no more memory to give");
        c.report.settle();
        return {};
    } catch (const std::exception& e) {
        return make_error(ErrorCode::internal, c.where + ": " + c.name, e.what());
    } catch (...) {
        return make_error(ErrorCode::internal, c.where + ": " + c.name, "an exception of no kind");
    }
}

}  // namespace

std::string_view verdict_name(Verdict v) {
    switch (v) {
        case Verdict::allowed:
            return "allowed";
        case Verdict::forbidden:
            return "forbidden";
        case Verdict::error:
            return "error";
        case Verdict::unknown:
            return "unknown";
        case Verdict::unstated:
            break;
    }
    return "unstated";
}

Result<std::vector<Case>> read_litmus_file(const std::string& path) {
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(path));
    const std::string whole(bytes.begin(), bytes.end());
    std::vector<Case> out;
    const bool sass = path.ends_with(".sass");
    if (sass || path.ends_with(".json")) {
        const auto add = [&](Test test) {
            Case c;
            c.where = path;
            c.test = std::move(test);
            c.name = c.test->name;
            c.model = c.test->model;
            c.stated = c.test->verdict;
            c.sass = !c.test->sass->ptx_known();
            out.push_back(std::move(c));
        };
        if (sass) {
            SASSEMU_ASSIGN(Test test, read_sass_test(whole, path));
            add(std::move(test));
            return out;
        }
        if (is_plan(whole)) {
            SASSEMU_ASSIGN(plan::Plan first, plan::read_plan_file(path));
            if (first.archs.empty()) first.archs.emplace_back();
            for (const std::string& arch : first.archs) {
                SASSEMU_ASSIGN(Test test, read_plan_test(path, arch));
                if (first.archs.size() > 1) test.name += " " + arch;
                add(std::move(test));
            }
            return out;
        }
    }
    std::istringstream in(whole);
    std::string line;
    for (size_t number = 1; next_line(in, line); ++number) {
        const size_t text = line.find_first_not_of(" \t\r");
        if (text == line.npos || line.compare(text, 2, "//") == 0) continue;
        const std::string where = path + ":" + std::to_string(number);
        SASSEMU_TRY(process_budget().check(where));
        out.push_back(read_case(line, where));
        if (line.size() > longest_line) break;  // perhaps without an end
    }
    if (out.empty()) return make_error(ErrorCode::input, path, "holds no test");
    return out;
}

Result<void> run_suite(std::vector<Case>& cases, const SuiteOptions& options,
                       const std::function<void(const Case&)>& done) {
    Models models;
    const std::string& model = options.model;
    if (!model.empty()) {
        auto machine = ExploredMachine::is_one(model);
        models.asked_is_machine = machine && *machine;
        if (!machine && !Judge::knows(model)) return std::move(machine).error();
    }
    const unsigned threads =
        options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    Workers workers(threads);
    SuiteOptions of_each = options;
    of_each.limits.workers = &workers;
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::vector<char> ready(cases.size());
    size_t shown = 0;
    bool showing = false;
    Error failure;
    bool failed = false, no_memory = false;
    // In the order of the cases, by whichever thread has ended one and finds nobody at it.
    const auto show = [&](std::unique_lock<std::mutex>& lock) {
        if (showing) return;
        showing = true;
        while (!failed && shown < cases.size() && ready[shown]) {
            Case& c = cases[shown];
            lock.unlock();
            done(c);
            c.report.witness.reset();
            lock.lock();
            ++shown;
        }
        showing = false;
    };
    const auto work = [&] {
        try {
            // Once it has to end, no more are begun.
            for (size_t i; process_budget().poll() == Budget::Stop::none &&
                           (i = next.fetch_add(1)) < cases.size();) {
                auto result = run_case_safely(cases[i], of_each, models);
                Case& c = cases[i];
                c.contradicted = contradicts(c);
                c.bad_input |= c.report.verdict == Verdict::error && c.stated != Verdict::error;
                std::unique_lock lock(mutex);
                if (!result && !failed) failed = true, failure = std::move(result).error();
                if (failed) next = cases.size();
                ready[i] = 1;
                show(lock);
            }
        } catch (const std::bad_alloc&) {  // even to say so
            const std::lock_guard lock(mutex);
            failed = no_memory = true;
            next = cases.size();
        }
    };
    // Threads that have no test of their own help with those of others.
    workers.run([&](Workers::Tasks& tasks) {
        for (size_t i = 1; i < std::min<size_t>(threads, cases.size()); ++i) tasks.spawn(work);
        work();
    });
    if (no_memory) throw std::bad_alloc();
    if (failed) return failure;
    return {};
}

}  // namespace sassemu::explore
