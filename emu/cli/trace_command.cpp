// SPDX-License-Identifier: Apache-2.0
// `sassemu trace`: shows, counts, compares and converts what the plugin `trace` has recorded. What
// does not belong here: the format and the comparison (sdk/trace).
#include <sassemu/sync.h>
#include <sassemu/names.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sassemu/trace.hpp>
#include <utility>

#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"

namespace sassemu::cli {
namespace {

struct TraceCommand {
    std::string action, output, format;
    std::vector<std::string> files, ignored;
    int64_t launch = -1, cta = -1, warp = -1;
    uint64_t limit = 0;
    bool json = false, outside = false, partial = false;
};

// Thrown where the work has to end.
struct Ended {
    Error why;
};

void end_at_limits() {
    if (const Result<void> in_time = process_budget().check("trace"); !in_time)
        throw Ended{in_time.error()};
}

std::string hex(uint64_t v, int digits = 0) {
    char text[24];
    std::snprintf(text, sizeof text, digits ? "%0*llx" : "0x%.*llx", digits ? digits : 1,
                  static_cast<unsigned long long>(v));
    return text;
}

bool shown_launch(const TraceCommand& c, uint64_t launch) {
    return c.launch < 0 || static_cast<uint64_t>(c.launch) == launch;
}

std::string access_text(const trace::MemoryAccess& m) {
    static constexpr const char* ops[] = {"load", "store", "atomic", "reduce", "prefetch"};
    static constexpr const char* spaces[] = {"global",  "shared",  "local",   "constant",
                                             "generic", "texture", "surface", "tensor memory"};
    std::string text = std::string("    ") + (m.op < std::size(ops) ? ops[m.op] : "?") + " " +
                       (m.space < std::size(spaces) ? spaces[m.space] : "?") + ", " +
                       std::to_string(m.bytes) + " bytes:";
    const auto lanes = static_cast<size_t>(std::popcount(m.lanes));
    size_t k = 0;
    for (uint32_t rest = m.lanes; rest; rest &= rest - 1, ++k) {
        text += " " + hex(m.addresses[static_cast<size_t>(std::countr_zero(rest))]);
        for (const auto& [mark, words] : {std::pair("=", &m.values), {"->", &m.results}})
            for (size_t w = 0, each = words->size() / lanes; w < each; ++w)
                text += (w ? "," : mark) + hex((*words)[k * each + w], 8);
    }
    return text + "\n";
}

std::string registers_text(const trace::Record& r, bool written) {
    const std::vector<uint32_t>& words = written ? r.after : r.before;
    std::string text;
    size_t at = 0;
    if (words.empty()) return text;
    for (const trace::RegisterName& name :
         trace::register_names(*r.instruction, written, r.lanes)) {
        text += (written ? "    after  " : "    before ") + shown(name.name) + ":";
        for (uint32_t k = 0; k < name.words && at < words.size(); ++k)
            text += " " + hex(words[at++], 8);
        text += "\n";
    }
    return text;
}

// What happened beside the warps, in order.
void show_outside(const trace::Reader& trace) {
    const trace::Owners owners(trace);
    const auto where = [&](uint64_t address, uint64_t time) {
        return hex(address) + trace::name_text(owners.find(address, time), address);
    };
    auto e = trace.model_events().begin();
    const auto model_up_to = [&](uint64_t time) {
        for (; e != trace.model_events().end() && e->time() < time; ++e)
            print("time " + std::to_string(e->time()) + ": " + shown(trace::text_of(*e)) + " at " +
                  where(e->address(), e->time()) + "\n");
    };
    for (const trace::Client& c : trace.clients()) {
        model_up_to(c.time());
        std::string text = "time " + std::to_string(c.time()) + ": " + trace::text_of(c);
        if (c.bytes()) text += " at " + where(c.address(), c.time());
        if (!c.value().empty()) text += " =";
        for (const char byte : c.value()) text += " " + hex(static_cast<unsigned char>(byte), 2);
        print(shown(text) + "\n");
    }
    model_up_to(~uint64_t{0});
}

// Whether there was anything to show.
bool show(const TraceCommand& command, const trace::Reader& trace) {
    const uint64_t most = command.limit ? command.limit : ~uint64_t{0};
    uint64_t left = most;
    if (command.outside) {
        show_outside(trace);
        return true;
    }
    for (const trace::Launch& l : trace.launches())
        if (shown_launch(command, l.id()))
            print("launch " + std::to_string(l.id()) + ": " +
                  shown(sassemu::names::demangled(l.kernel())) + " (" + shown(l.arch()) + "), " +
                  std::to_string(l.grid().x()) + "x" + std::to_string(l.grid().y()) + "x" +
                  std::to_string(l.grid().z()) + " CTAs of " + std::to_string(l.block().x()) + "x" +
                  std::to_string(l.block().y()) + "x" + std::to_string(l.block().z()) +
                  " threads\n");
    for (size_t b = 0; b < trace.blocks().size() && left; ++b) {
        end_at_limits();
        const trace::BlockPlace& place = trace.blocks()[b];
        if (!shown_launch(command, place.launch) ||
            (command.cta >= 0 && static_cast<uint64_t>(command.cta) != place.cta))
            continue;
        const std::string where =
            "launch " + std::to_string(place.launch) + " CTA " + std::to_string(place.cta) + " ";
        for (const trace::Record& r : trace.read(b).records) {
            if (command.warp >= 0 && static_cast<uint32_t>(command.warp) != r.warp) continue;
            if (left-- == 0) return true;
            std::string text = where + "warp " + std::to_string(r.warp) + " #" +
                               std::to_string(r.number) + " " + hex(r.lanes, 8);
            if (r.active != r.lanes) text += " of " + hex(r.active, 8);
            text += " " + hex(r.instruction->pc(), 4) + "  " + shown(r.instruction->text()) + "\n" +
                    registers_text(r, false);
            for (const trace::MemoryAccess& m : r.accesses) text += access_text(m);
            print(text + registers_text(r, true));
        }
    }
    return left != most;
}

std::string nothing_of(const TraceCommand& command) {
    std::string text = "has no warp instruction";
    const char* before = " of ";
    for (const auto& [what, which] :
         {std::pair("launch", command.launch), std::pair("CTA", command.cta),
          std::pair("warp", command.warp)})
        if (which >= 0)
            text += std::exchange(before, ", ") + std::string(what) + " " + std::to_string(which);
    return text + "; `sassemu trace stat` lists its launches";
}

// Of what was read by the time that a limit or a signal came: then with `why`.
nlohmann::ordered_json statistics(const trace::Reader& trace, Result<void>& why) {
    uint64_t records = 0, threads = 0, accesses = 0, events = 0;
    uint64_t to_peers = 0, to_host = 0;
    const trace::Owners owners(trace);
    std::map<uint64_t, const trace::Launch*> flying;
    for (const trace::Launch& l : trace.launches())
        if (l.in_flight()) flying[l.id()] = &l;
    std::map<std::string, uint64_t> opcodes;
    const auto read = [&](size_t b) -> std::optional<trace::RecordBlock> {
        try {
            end_at_limits();
            return trace.read(b);
        } catch (const Ended& ended) {
            why = ended.why;
            return std::nullopt;
        }
    };
    for (size_t b = 0; b < trace.blocks().size(); ++b) {
        const auto found = read(b);
        if (!found) break;
        const trace::RecordBlock& block = *found;
        events += block.events.size();
        records += block.records.size();
        for (const trace::Record& r : block.records) {
            threads += static_cast<unsigned>(std::popcount(r.lanes));
            accesses += r.accesses.size();
            if (const auto of = flying.find(block.launch); of != flying.end())
                for (const trace::MemoryAccess& m : r.accesses) {
                    const int32_t home = trace::home_of(owners, m, r.time, *of->second);
                    to_peers += home >= 0 && home != static_cast<int32_t>(of->second->gpu());
                    to_host += home < 0;
                }
            ++opcodes[r.instruction->opcode()];
        }
    }
    nlohmann::ordered_json launches = nlohmann::ordered_json::array();
    for (const trace::Launch& l : trace.launches()) {
        const auto end = trace.ends().find(l.id());
        launches.push_back({{"id", l.id()},
                            {"kernel", l.kernel()},
                            {"arch", l.arch()},
                            {"status", end == trace.ends().end() ? "cut" : end->second.status()}});
    }
    return {{"file", trace.path()},
            {"whole", !trace.truncated() && why},
            {"bytes", trace.file_bytes()},
            {"blocks", trace.blocks().size()},
            {"ctas", trace.ctas().size()},
            {"warpInstructions", records},
            {"threadInstructions", threads},
            {"accesses", accesses},
            {"events", events},
            {"peerAccesses", to_peers},
            {"hostAccesses", to_host},
            {"clientAccesses", trace.clients().size()},
            {"modelEvents", trace.model_events().size()},
            {"bytesPerWarpInstruction",
             records ? static_cast<double>(trace.file_bytes()) / static_cast<double>(records) : 0},
            {"launches", std::move(launches)},
            {"opcodes", opcodes}};
}

Result<void> stat(const TraceCommand& command, const trace::Reader& trace) {
    Result<void> why;
    const nlohmann::ordered_json all = statistics(trace, why);
    if (command.json) {
        print(all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
        return why;
    }
    std::string text = shown(trace.path()) + ":\n";
    for (const auto& [key, value] : all.items())
        if (value.is_number() || value.is_boolean())
            text += "  " + key + ": " + value.dump() + "\n";
    for (const auto& l : all["launches"])
        text += "  launch " + l["id"].dump() + ": " + shown(l["kernel"].get<std::string>()) + ", " +
                shown(l["status"].get<std::string>()) + "\n";
    std::vector<std::pair<uint64_t, std::string>> often;
    for (const auto& [name, count] : all["opcodes"].items()) often.emplace_back(count, name);
    std::sort(often.rbegin(), often.rend());
    for (const auto& [count, name] : often)
        text += "  " + shown(name) + " " + std::to_string(count) + "\n";
    print(text);
    return why;
}

int compare(const TraceCommand& command, const trace::Reader& a, const trace::Reader& b) {
    trace::CompareOptions options;
    for (const std::string& what : command.ignored)
        (what == "pc"        ? options.pc
         : what == "mask"    ? options.masks
         : what == "address" ? options.addresses
         : what == "value"   ? options.values
                             : options.registers) = false;
    const std::string difference = trace::first_difference(a, b, options);
    if (difference.empty()) return exit_with::success;
    print(shown(difference) + "\n");
    return exit_with::differs;
}

int perform(const TraceCommand& command) {
    const size_t needed = command.action == "compare" ? 2 : command.action == "convert" ? 1 : 0;
    if (needed && command.files.size() != needed)
        return fail(make_error(ErrorCode::usage, "trace " + command.action,
                               needed == 2 ? "takes two files" : "takes one file"));
    if (command.action == "convert" && (command.output.empty() || command.format.empty()))
        return fail(make_error(ErrorCode::usage, "trace convert", "needs --to and --output"));
    int code = exit_with::success;
    std::vector<std::unique_ptr<trace::Reader>> traces;
    try {
        for (const std::string& file : command.files) {
            traces.push_back(std::make_unique<trace::Reader>(file, end_at_limits));
            if (!traces.back()->truncated()) continue;
            uint64_t records = 0;
            for (const trace::BlockPlace& b : traces.back()->blocks()) records += b.records;
            const bool stops = command.action == "convert" && !command.partial;
            const std::string before =
                "the " + std::to_string(records) + " warp instructions before the cut";
            code = worse(code, fail(make_error(ErrorCode::input, file,
                                               "ends too early: " +
                                                   (stops ? before + " are converted by --partial"
                                                          : "only " + before + " are read"))));
            if (stops) return code;
        }
        process_budget().begin_work();  // what was shown and counted by then is printed
        if (command.action == "compare")
            return worse(code, compare(command, *traces[0], *traces[1]));
        for (const auto& one : traces) {
            if (command.action == "show" && !show(command, *one))
                code = worse(code,
                             fail(make_error(ErrorCode::input, one->path(), nothing_of(command))));
            if (command.action == "stat")
                if (const Result<void> counted = stat(command, *one); !counted)
                    throw Ended{counted.error()};
            if (command.action == "convert" && command.format == "perfetto")
                trace::write_perfetto(*one, command.output);
            if (command.action == "convert" && command.format.starts_with("accel-sim"))
                trace::write_accel_sim(*one, command.output,
                                       command.format == "accel-sim-6" ? 6 : 5);
        }
    } catch (const trace::Error& error) {
        return worse(code, fail(make_error(ErrorCode::input, "", error.what())));
    } catch (const Ended& ended) {
        return worse(code, fail(ended.why));
    }
    return code;
}

}  // namespace

void add_trace_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<TraceCommand>();
    CLI::App* sub = app.add_subcommand(
        "trace",
        "show, count, compare or convert what `run --plugin trace:file=FILE` has recorded");
    sub->add_option("ACTION", command->action,
                    "show: a line per warp instruction; stat: counts; compare: the first "
                    "difference of two traces; convert: to another format")
        ->required()
        ->check(CLI::IsMember({"show", "stat", "compare", "convert"}));
    sub->add_option("FILE", command->files, "traces")->required();
    sub->add_option("--launch", command->launch, "show: only this launch, from 1")
        ->check(CLI::NonNegativeNumber);
    sub->add_option("--cta", command->cta, "show: only this CTA, by linear index")
        ->check(CLI::NonNegativeNumber);
    sub->add_option("--warp", command->warp, "show: only this warp of a CTA")
        ->check(CLI::NonNegativeNumber);
    sub->add_flag("--outside", command->outside,
                  "show: instead what the host, copies in streams and the memory model did");
    sub->add_option("--limit", command->limit, "show: at most so many warp instructions");
    sub->add_option("--ignore", command->ignored,
                    "compare: what may differ: pc (instructions are told apart by opcode only), "
                    "mask, address, value, register; repeatable")
        ->allow_extra_args(false)  // what follows is a trace
        ->check(CLI::IsMember({"pc", "mask", "address", "value", "register"}));
    sub->add_option("--to", command->format,
                    "convert: accel-sim (a folder with kernelslist.g; version 5), accel-sim-6 or "
                    "perfetto (a file)")
        ->check(CLI::IsMember({"accel-sim", "accel-sim-6", "perfetto"}));
    sub->add_option("-o,--output", command->output, "convert: the folder or file");
    sub->add_flag("--partial", command->partial,
                  "convert: what is before the cut of a trace that ends too early");
    sub->add_flag("--json", command->json, "stat: as one JSON document");
    sub->callback([command, &exit_code] { exit_code = perform(*command); });
}

}  // namespace sassemu::cli
