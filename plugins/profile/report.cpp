// SPDX-License-Identifier: Apache-2.0
// The reports of `profile`: one JSON document, and the text and the page that are made of it.
#include <algorithm>
#include <filesystem>
#include <sassemu/names.hpp>
#include <set>
#include <sstream>

#include "findings/report.hpp"
#include "liveness.hpp"
#include "page.hpp"
#include "profile.hpp"

namespace profiling {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_source_bytes = size_t{4} << 20;

double ratio(uint64_t a, uint64_t b) {
    return b ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

bool is_branch(const sassemu_effect& e) {
    return e.kind == SASSEMU_EFFECT_CONTROL && e.action == SASSEMU_ACTION_BRANCH;
}

// HFMA2.MMA is none: it names the pipe.
bool is_tensor(std::string_view opcode) {
    return opcode.substr(0, opcode.find('.')).find("MMA") != std::string_view::npos;
}

// An SM's ceilings in a cycle: four schedulers issue a warp instruction each, shared memory has one
// pass, and L1 hands on 128 bytes (64 on sm_75). Sources: CUDA C++ Programming Guide, "Compute
// Capabilities"; Jia et al., arXiv:1903.07486 (sm_75); NVIDIA's white papers on A100 and H100.
struct Ceilings {
    uint64_t issued = 4, passes = 1, sectors;
    explicit Ceilings(std::string_view arch) : sectors(arch == "sm_75" ? 2 : 4) {}
};

// The instruction roofline (Ding and Williams, PMBS 2019): warp instructions per transaction, and
// the fewest cycles that each ceiling allows when the work is spread over all SMs.
Json roofline(const Metrics& sum, std::string_view arch, uint32_t sms) {
    const Ceilings per_sm(arch);
    const auto cycles = [&](uint64_t n, uint64_t ceiling) {
        const uint64_t all = ceiling * std::max(sms, 1u);
        return (n + all - 1) / all;
    };
    const uint64_t issue = cycles(sum.count.issued, per_sm.issued),
                   shared = cycles(sum.passes, per_sm.passes),
                   global = cycles(sum.sectors, per_sm.sectors);
    const char* bound = issue >= std::max(shared, global) ? "issue"
                        : shared >= global                ? "shared"
                                                          : "global";
    return {{"instructionsPerSector", ratio(sum.count.issued, sum.sectors)},
            {"instructionsPerPass", ratio(sum.count.issued, sum.passes)},
            {"sms", sms},
            {"perSmCycle",
             {{"issue", per_sm.issued}, {"shared", per_sm.passes}, {"global", per_sm.sectors}}},
            {"leastCycles", {{"issue", issue}, {"shared", shared}, {"global", global}}},
            {"bound", bound}};
}

// What of a column is 0 everywhere is left out.
void add_column(Json& to, const char* name, std::vector<uint64_t>&& values) {
    if (std::any_of(values.begin(), values.end(), [](uint64_t v) { return v != 0; }))
        to[name] = std::move(values);
}

std::string percent(double v) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f%%", 100 * v);
    return text;
}

std::string decimal(double v) {
    char text[24];
    std::snprintf(text, sizeof text, "%.2f", v);
    return text;
}

// A column as [times, value, ...]; of addresses, by how much they grow.
Json packed(const Json& column, bool grows) {
    std::vector<int64_t> runs;
    int64_t before = 0;
    for (const Json& element : column) {
        const auto value = element.get<int64_t>(), v = value - (grows ? before : 0);
        before = value;
        if (!runs.empty() && runs.back() == v)
            ++runs[runs.size() - 2];
        else
            runs.insert(runs.end(), {1, v});
    }
    return runs;
}

// Rows of words as columns.
std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> width;
    for (const auto& row : rows)
        for (size_t k = 0; k < row.size(); ++k) {
            if (k == width.size()) width.push_back(0);
            width[k] = std::max(width[k], row[k].size());
        }
    std::string text;
    for (const auto& row : rows) {
        std::string line = " ";
        for (size_t k = 0; k < row.size(); ++k) {
            const std::string pad(width[k] - row[k].size(), ' ');
            line += " " + (k + 1 == row.size() ? row[k] : pad + row[k]);
        }
        text += line + "\n";
    }
    return text;
}

// The names come from the module, which may be a stranger's, and the page is shown to others: it
// gets what is a source by its name, and lies where the command line says that sources lie.
bool is_source(const std::string& name) {
    static const std::set<std::string> endings = {".c",   ".cc",  ".cpp", ".cu",  ".cuh",
                                                  ".cxx", ".h",   ".hpp", ".hxx", ".inl",
                                                  ".ipp", ".ptx", ".py"};
    return endings.contains(std::filesystem::path(name).extension().string());
}

}  // namespace

// Of the functions that were reached all instructions are there, in the order of the code.
Json Profiler::kernel_json(const Kernel& k) const {
    const sassemu_launch_info& l = k.first;
    struct Line {
        std::string function, text, opcode;
        uint64_t pc;
        int64_t file;
        uint32_t line;
        uint64_t live;
        sassemu_effect effect;
        const Metrics* m;
    };
    std::vector<Line> lines;
    std::vector<std::string> files;
    const uint64_t all = k.at.size() - 1;
    // Functions are runs of instructions with the same name.
    for (uint64_t begin = 0; begin < all;) {
        const sassemu_insn first = host.module_insn(k.module, begin * 16);
        const std::string function = first ? host.insn_function(first) : "";
        uint64_t end = begin;
        bool reached = false;
        for (; end < all; ++end) {
            const sassemu_insn i = host.module_insn(k.module, end * 16);
            if (!i || function != host.insn_function(i)) break;
            reached |= k.at[end].count.issued != 0;
        }
        end = std::max(end, begin + 1);
        if (!reached) {
            begin = end;
            continue;
        }
        std::vector<Step> steps(end - begin);
        std::unordered_map<uint64_t, uint32_t> by_pc;
        for (uint64_t n = begin; n < end; ++n)
            by_pc[host.insn_pc(host.module_insn(k.module, n * 16))] =
                static_cast<uint32_t>(n - begin);
        const size_t base = lines.size();
        for (uint64_t n = begin; n < end; ++n) {
            const sassemu_insn i = host.module_insn(k.module, n * 16);
            Line line{function,  host.insn_text(i), host.insn_opcode(i), host.insn_pc(i), -1, 0, 0,
                      effect(i), &k.at[n]};
            sassemu_source s{};
            s.size = sizeof s;
            if (host.insn_source(i, 0, &s) == 0 && s.file && *s.file) {
                const auto at = std::find(files.begin(), files.end(), s.file);
                line.file = at - files.begin();
                if (at == files.end()) files.emplace_back(s.file);
                line.line = s.line;
            }
            Step& step = steps[n - begin];
            host.insn_registers(i, step.read.data(), step.written.data());
            step.read[3] &= ~(uint64_t{1} << 63);  // RZ
            step.written[3] &= ~(uint64_t{1} << 63);
            step.always = !line.text.starts_with('@');
            if (line.effect.kind == SASSEMU_EFFECT_CONTROL) {
                const uint8_t action = line.effect.action;
                const bool leaves = action == SASSEMU_ACTION_EXIT ||
                                    action == SASSEMU_ACTION_RETURN || is_branch(line.effect);
                step.falls_through = !leaves || !step.always;
                // What needs a predicate besides its guard says so in an operand, mostly PT.
                bool has_target = false;
                for (uint32_t o = 0; o < host.insn_operands(i); ++o) {
                    const sassemu_operand operand = this->operand(i, o);
                    const bool predicate = operand.kind == SASSEMU_OPERAND_PREDICATE ||
                                           operand.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
                    if (predicate && (operand.index != SASSEMU_PT || operand.inverted))
                        step.falls_through = true;
                    const auto target = by_pc.find(static_cast<uint64_t>(operand.value));
                    if (operand.kind != SASSEMU_OPERAND_IMMEDIATE || target == by_pc.end())
                        continue;
                    step.targets.push_back(target->second);
                    has_target = true;
                }
                step.anywhere = is_branch(line.effect) && !has_target;
            }
            lines.push_back(std::move(line));
        }
        const std::vector<uint32_t> live = live_registers(steps);
        for (size_t n = 0; n < live.size(); ++n) lines[base + n].live = live[n];
        begin = end;
    }

    Json j;
    j["kernel"] = k.name;
    j["name"] = sassemu::names::demangled(k.name);
    j["arch"] = k.arch;
    j["gpu"] = k.first.gpu;
    j["launches"] = k.launches;
    j["grid"] = {l.grid.x, l.grid.y, l.grid.z};
    j["block"] = {l.block.x, l.block.y, l.block.z};
    j["cluster"] = {l.cluster.x, l.cluster.y, l.cluster.z};
    j["registers"] = l.registers;
    j["sharedBytes"] = l.shared_static + l.shared_dynamic;
    const uint64_t threads = uint64_t{l.block.x} * l.block.y * l.block.z;
    const uint64_t warps = (threads + 31) / 32;
    j["occupancy"] = {{"ctasPerSm", l.ctas_per_sm},
                      {"warpsPerSm", l.ctas_per_sm * warps},
                      {"mostWarpsPerSm", l.threads_per_sm / 32},
                      {"theoretical", ratio(l.ctas_per_sm * warps * 32, l.threads_per_sm)}};
    Metrics sum;
    std::map<std::string, uint64_t> opcodes;
    uint64_t tensor = 0, diverged = 0, branches = 0, most_live = 0;
    for (const Line& line : lines) {
        const Metrics& m = *line.m;
        sum.count.issued += m.count.issued;
        sum.count.skipped += m.count.skipped;
        sum.count.active += m.count.active;
        sum.count.lanes += m.count.lanes;
        sum.passes += m.passes;
        sum.ideal_passes += m.ideal_passes;
        sum.sectors += m.sectors;
        sum.ideal_sectors += m.ideal_sectors;
        sum.waits += m.waits;
        sum.waited += m.waited;
        sum.failed += m.failed;
        opcodes[line.opcode] += m.count.issued;
        if (is_tensor(line.opcode)) tensor += m.count.issued - m.count.skipped;
        if (is_branch(line.effect)) {
            branches += m.count.issued;
            diverged += m.diverged;
        }
        if (m.count.issued) most_live = std::max(most_live, line.live);
    }
    Json& t = j["totals"];
    t["issued"] = sum.count.issued;
    t["skipped"] = sum.count.skipped;
    t["activeLanes"] = sum.count.active;
    t["executedLanes"] = sum.count.lanes;
    t["laneEfficiency"] = ratio(sum.count.lanes, 32 * sum.count.issued);
    t["tensorInstructions"] = tensor;
    t["mostLiveRegisters"] = most_live;
    t["barrierWaits"] = sum.waits;
    t["barrierWaited"] = sum.waited;
    t["mbarrierTestsFailed"] = sum.failed;
    if (memory_) {
        t["branches"] = branches;
        t["divergedBranches"] = diverged;
        t["sharedPasses"] = sum.passes;
        t["sharedPassesIdeal"] = sum.ideal_passes;
        t["globalSectors"] = sum.sectors;
        t["globalSectorsIdeal"] = sum.ideal_sectors;
        j["roofline"] = roofline(sum, k.arch, l.sms);
    }
    std::vector<std::pair<std::string, uint64_t>> mix;
    for (const auto& [name, n] : opcodes)
        if (n) mix.emplace_back(name, n);
    std::stable_sort(mix.begin(), mix.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [name, n] : mix) j["opcodes"][name] = n;

    j["files"] = files;
    Json table;  // of its own: members that j gets later move what it has
    const auto column = [&](const char* name, auto&& of) {
        std::vector<uint64_t> values;
        values.reserve(lines.size());
        for (const Line& line : lines) values.push_back(of(line));
        add_column(table, name, std::move(values));
    };
    std::vector<std::string> texts, functions, named;
    std::vector<int64_t> in_function, in_file;
    for (const Line& line : lines) {
        texts.push_back(line.text);
        if (functions.empty() || functions.back() != line.function)
            functions.push_back(line.function);
        in_function.push_back(static_cast<int64_t>(functions.size()) - 1);
        in_file.push_back(line.file);
        named.push_back(line.opcode);
    }
    j["functions"] = functions;
    table["text"] = texts;
    table["opcode"] = named;
    table["function"] = in_function;
    table["file"] = in_file;
    column("line", [](const Line& i) { return i.line; });
    column("pc", [](const Line& i) { return i.pc; });
    column("liveRegisters", [](const Line& i) { return i.live; });
    column("issued", [](const Line& i) { return i.m->count.issued; });
    column("skipped", [](const Line& i) { return i.m->count.skipped; });
    column("activeLanes", [](const Line& i) { return i.m->count.active; });
    column("executedLanes", [](const Line& i) { return i.m->count.lanes; });
    column("diverged", [](const Line& i) { return is_branch(i.effect) ? i.m->diverged : 0; });
    column("requests", [](const Line& i) { return i.m->requests; });
    column("sharedPasses", [](const Line& i) { return i.m->passes; });
    column("sharedPassesIdeal", [](const Line& i) { return i.m->ideal_passes; });
    column("globalSectors", [](const Line& i) { return i.m->sectors; });
    column("globalSectorsIdeal", [](const Line& i) { return i.m->ideal_sectors; });
    column("atomics", [](const Line& i) { return i.m->atomics; });
    column("contention", [](const Line& i) { return i.m->contention; });
    column("barrierWaits", [](const Line& i) { return i.m->waits; });
    column("barrierWaited", [](const Line& i) { return i.m->waited; });
    column("mbarrierTestsFailed", [](const Line& i) { return i.m->failed; });
    j["instructions"] = std::move(table);
    return j;
}

// The first of each table, with what is dear on top.
std::string Profiler::text(const Json& all) const {
    std::string out;
    for (const Json& k : all["kernels"]) {
        const Json &t = k["totals"], &o = k["occupancy"], &i = k["instructions"];
        const auto number = [&](const char* key) { return t.value(key, uint64_t{0}); };
        out += "profile: " + k["name"].get<std::string>() + " (" + k["arch"].get<std::string>() +
               (k["gpu"] == 0 ? "" : ", GPU " + k["gpu"].dump()) +
               "), launches: " + k["launches"].dump() + "\n  " + std::to_string(number("issued")) +
               " warp instructions, " + std::to_string(number("executedLanes")) +
               " by threads, lane efficiency " + percent(t["laneEfficiency"]) + "; occupancy " +
               percent(o["theoretical"]) + " (" + o["warpsPerSm"].dump() + " of " +
               o["mostWarpsPerSm"].dump() + " warps); registers " + k["registers"].dump() +
               ", most live " + t["mostLiveRegisters"].dump() + "; tensor core instructions " +
               t["tensorInstructions"].dump() + "\n";
        if (memory_)
            out += "  shared memory: " + std::to_string(number("sharedPasses")) + " passes, " +
                   std::to_string(number("sharedPasses") - number("sharedPassesIdeal")) +
                   " of them by bank conflicts; global memory: " +
                   std::to_string(number("globalSectors")) + " sectors, " +
                   std::to_string(number("globalSectorsIdeal")) + " needed; branches " +
                   std::to_string(number("branches")) + ", divergent " +
                   std::to_string(number("divergedBranches")) + "\n";
        if (memory_) {
            const Json &r = k["roofline"], &cycles = r["leastCycles"];
            const auto each = [&](const char* key) {
                return r[key] == 0.0 ? std::string("-") : decimal(r[key]);
            };
            out += "  roofline: " + each("instructionsPerSector") +
                   " warp instructions per sector, " + each("instructionsPerPass") +
                   " per pass; least cycles on " + r["sms"].dump() + " SMs: issue " +
                   cycles["issue"].dump() + ", shared memory " + cycles["shared"].dump() +
                   ", global memory " + cycles["global"].dump() + "; bound by " +
                   r["bound"].get<std::string>() + "\n";
        }
        const size_t n = i["text"].size();
        const auto at = [&](const char* column, size_t row) {
            const auto c = i.find(column);
            return c == i.end() ? uint64_t{0} : (*c)[row].get<uint64_t>();
        };
        std::vector<size_t> order(n);
        for (size_t r = 0; r < n; ++r) order[r] = r;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return at("issued", a) > at("issued", b); });
        order.resize(std::min<size_t>(n, top_));
        std::vector<std::vector<std::string>> rows{
            {"issued", "lanes", "live", "passes", "sectors", "pc", "instruction"}};
        for (const size_t r : order) {
            if (!at("issued", r)) break;
            char pc[24];
            std::snprintf(pc, sizeof pc, "%04llx", static_cast<unsigned long long>(at("pc", r)));
            const auto each = [&](const char* column) {
                return at(column, r) ? decimal(ratio(at(column, r), at("requests", r)))
                                     : std::string("-");
            };
            rows.push_back(
                {std::to_string(at("issued", r)),
                 decimal(ratio(at("executedLanes", r), at("issued", r) - at("skipped", r))),
                 std::to_string(at("liveRegisters", r)), each("sharedPasses"),
                 each("globalSectors"), pc, i["text"][r].get<std::string>()});
        }
        out += table(rows);
        // By source line.
        std::map<std::pair<int64_t, uint64_t>, std::pair<uint64_t, uint64_t>> places;
        for (size_t r = 0; r < n; ++r) {
            const auto file = i["file"][r].get<int64_t>();
            if (file < 0) continue;
            auto& [issued, lanes] = places[{file, at("line", r)}];
            issued += at("issued", r);
            lanes += at("executedLanes", r);
        }
        std::vector<std::pair<uint64_t, std::pair<int64_t, uint64_t>>> hot;
        for (const auto& [place, sums] : places)
            if (sums.first) hot.push_back({sums.first, place});
        std::stable_sort(hot.begin(), hot.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        if (hot.empty()) {
            out += "  no source lines: the cubin has none; compile with -lineinfo\n";
            continue;
        }
        rows = {{"issued", "lanes", "source"}};
        for (size_t r = 0; r < std::min<size_t>(hot.size(), top_); ++r) {
            const auto& place = hot[r].second;
            rows.push_back({std::to_string(hot[r].first), std::to_string(places[place].second),
                            k["files"][static_cast<size_t>(place.first)].get<std::string>() + ":" +
                                std::to_string(place.second)});
        }
        out += table(rows);
    }
    return out;
}

void Profiler::write(const std::string& file, const std::string& content) const {
    if (!file.empty()) host.write_file(session, file.c_str(), content.data(), content.size());
}

void Profiler::finish() {
    findings::report_unknown_kernels(*this, kernels_, met_);
    Json all;
    all["version"] = 1;
    all["memory"] = memory_;
    all["kernels"] = Json::array();
    for (const auto& k : all_) all["kernels"].push_back(kernel_json(*k));
    print(text(all));
    constexpr auto lossy = Json::error_handler_t::replace;
    write(json_, all.dump(-1, ' ', false, lossy) + "\n");
    if (html_.empty()) return;
    // What the page can tell from the rest; and the sources that are there, beside the code.
    for (Json& k : all["kernels"]) {
        Json& table = k["instructions"];
        table.erase("opcode");
        for (auto& [name, column] : table.items())
            if (name != "text") column = packed(column, name == "pc");
    }
    std::set<std::string> files;
    for (const Json& k : all["kernels"])
        for (const Json& f : k["files"]) files.insert(f.get<std::string>());
    all["sources"] = Json::object();
    for (const std::string& name : files) {
        if (!is_source(name)) continue;
        const auto file = sassemu::sources::read_source(folders_, name, most_source_bytes);
        if (file && !file->text.empty()) all["sources"][name] = file->text;
    }
    std::string data = all.dump(-1, ' ', true, lossy), page = page_html;
    // Nothing in it ends the element that it stands in.
    for (size_t at = 0; (at = data.find('<', at)) != std::string::npos; at += 6)
        data.replace(at, 1, "\\u003c");
    const std::string mark = "/*DATA*/null";
    page.replace(page.find(mark), mark.size(), data);
    write(html_, page);
}

}  // namespace profiling
