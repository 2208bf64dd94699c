// SPDX-License-Identifier: Apache-2.0
// See findings.hpp.
#include "findings/findings.hpp"

#include <cstdio>
#include <sassemu/names.hpp>

namespace findings {

using nlohmann::ordered_json;

std::string hex(uint64_t v) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
    return text;
}

std::string seed_text(uint64_t seed) { return seed >> 32 ? hex(seed) : std::to_string(seed); }

std::string place_text(const sassemu::Plugin& plugin, sassemu_insn insn) {
    if (!insn) return "";
    const std::string_view place = plugin.host.insn_place(insn);
    return plugin.host.insn_text(insn) + (" at pc " + hex(plugin.host.insn_pc(insn))) +
           (place.empty() ? "" : " (" + std::string(place) + ")");
}

ordered_json place_json(const sassemu::Plugin& plugin, sassemu_insn i) {
    const sassemu_host& host = plugin.host;
    ordered_json j;
    j["function"] = host.insn_function(i);
    j["pc"] = host.insn_pc(i);
    j["sass"] = host.insn_text(i);
    // The outermost place is in the kernel itself; the innermost says which instruction.
    sassemu_source source{};
    source.size = sizeof source;
    if (host.insn_source(i, 0, &source) == 0) {
        j["file"] = source.file ? source.file : "";
        j["line"] = source.line;
    }
    ordered_json chain = ordered_json::array();
    for (uint32_t depth = 1; depth < 32 && host.insn_source(i, depth, &source) == 0; ++depth)
        chain.push_back({{"file", source.file ? source.file : ""}, {"line", source.line}});
    if (!chain.empty()) j["inlined_at"] = chain;
    uint32_t line = 0;
    if (const char* ptx = host.insn_ptx(i, &line)) {
        j["ptx_line"] = line;
        j["ptx"] = ptx;
    }
    return j;
}

Report::Report(const sassemu::Plugin& plugin, const char* tool, const sassemu::Start& start)
    : plugin_(plugin),
      tool_(tool),
      json_(start.value("json")),
      sarif_(start.value("sarif")),
      runs_(start.number("runs", 1)),
      exceptions_(tool, std::string(start.value("suppressions")),
                  std::string(start.value("baseline"))) {}

void Report::rule(std::string kind, std::string sentence, std::string help) {
    rules_.push_back({std::move(kind), std::move(sentence), std::move(help)});
}

bool Report::add(Entry e) {
    if (const Excuse by = exceptions_.of(e.json); by != Excuse::none) {
        excused_.push_back({std::move(e), by});
        return false;
    }
    sassemu_finding out{};
    out.size = sizeof out;
    out.severity = e.severity;
    out.kind = e.kind.c_str();
    out.message = e.message.c_str();
    out.detail = e.detail.c_str();
    out.insn = e.first;
    out.other = e.main;
    out.count = e.count;
    plugin_.host.report(plugin_.session, &out);
    entries_.push_back(std::move(e));
    return true;
}

void Report::store(const std::string& path, const ordered_json& json) const {
    // Names may come from anywhere: what is no UTF-8 is replaced.
    const std::string text =
        json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    plugin_.host.write_file(plugin_.session, path.c_str(), text.data(), text.size());
}

void Report::finish(std::initializer_list<const char*> lists) {
    uint64_t left_out[3] = {};
    for (const Excused& e : excused_) ++left_out[static_cast<size_t>(e.by)];
    if (!excused_.empty())
        plugin_.print(tool_ + ": left out: " + std::to_string(left_out[1]) + " suppressed, " +
                      std::to_string(left_out[2]) + " of the baseline\n");
    if (!json_.empty()) {
        ordered_json all;
        all["tool"] = tool_;
        all["version"] = 1;
        all["runs"] = {{"asked", runs_}, {"ended", ended()}};
        if (partial()) all["stopped"] = cut_.empty() ? "before all seeds ran" : cut_;
        for (const char* list : lists) all[list] = ordered_json::array();
        for (const Entry& e : entries_) all[e.list].push_back(e.json);
        all["suppressed"] = left_out[1];
        all["in_baseline"] = left_out[2];
        store(json_, all);
    }
    if (!sarif_.empty()) store(sarif_, sarif());
}

void Report::ran(const char* status) {
    seeds_.insert(plugin_.host.seed(plugin_.session));
    const std::string_view end = status ? status : "";
    if (end != "limit" && end != "interrupted") return;
    cut_ = end;
    cut_seeds_.insert(plugin_.host.seed(plugin_.session));
}

ordered_json Report::sarif() const {
    const sassemu_host& host = plugin_.host;
    const auto location = [&](sassemu_insn i) {
        ordered_json j;
        sassemu_source source{};
        source.size = sizeof source;
        if (host.insn_source(i, 0, &source) == 0 && source.line) {
            j["physicalLocation"]["artifactLocation"]["uri"] = source.file ? source.file : "";
            j["physicalLocation"]["region"]["startLine"] = source.line;
        }
        j["logicalLocations"] =
            ordered_json::array({{{"name", sassemu::names::demangled(host.insn_function(i))},
                                  {"kind", "function"},
                                  {"fullyQualifiedName", std::string(host.insn_function(i)) + "+" +
                                                             hex(host.insn_pc(i))}}});
        j["message"]["text"] = host.insn_text(i);
        return j;
    };
    ordered_json run;
    ordered_json& driver = run["tool"]["driver"];
    driver["name"] = "sassemu " + tool_;
    driver["rules"] = ordered_json::array();
    for (const auto& [kind, sentence, help] : rules_)
        driver["rules"].push_back(
            {{"id", kind}, {"shortDescription", {{"text", sentence}}}, {"help", {{"text", help}}}});
    ordered_json invocation = {{"executionSuccessful", !partial()}};
    if (partial())
        invocation["toolExecutionNotifications"] = ordered_json::array(
            {{{"level", "error"},
              {"message",
               {{"text", std::to_string(ended()) + " of " + std::to_string(runs_) + " seeds ran" +
                             (cut_.empty() ? "" : ": " + cut_)}}}}});
    run["invocations"] = ordered_json::array({invocation});
    run["results"] = ordered_json::array();
    const auto add = [&](const Entry& e, Excuse by) {
        ordered_json r;
        r["ruleId"] = e.kind;
        r["level"] = e.level;
        r["message"]["text"] = e.sarif;
        r["occurrenceCount"] = e.count;
        const sassemu_insn main = e.main ? e.main : e.first;
        if (main) r["locations"] = ordered_json::array({location(main)});
        if (e.first && e.first != main)
            r["relatedLocations"] = ordered_json::array({location(e.first)});
        if (by == Excuse::suppressed)
            r["suppressions"] = ordered_json::array({{{"kind", "external"}}});
        if (by == Excuse::baseline) r["baselineState"] = "unchanged";
        r["properties"] = e.json;  // SARIF has no members for values, proxies or seeds
        run["results"].push_back(r);
    };
    for (const Entry& e : entries_) add(e, Excuse::none);
    for (const Excused& e : excused_) add(e.entry, e.by);
    ordered_json all;
    all["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
    all["version"] = "2.1.0";
    all["runs"] = ordered_json::array({run});
    return all;
}

}  // namespace findings
