// SPDX-License-Identifier: Apache-2.0
// The console's commands that show something of the halted run.
#include <algorithm>

#include "emu/base/text.hpp"
#include "emu/debug/console.hpp"
#include "emu/debug/console_text.hpp"
#include "emu/debug/expression.hpp"

namespace sassemu::debug {
namespace {

// "/4xw rest" or "rest": what stands behind the slash.
std::string take_format(std::string& arguments) {
    if (!arguments.starts_with('/')) return "";
    const size_t end = std::min(arguments.find_first_of(" \t"), arguments.size());
    std::string format = arguments.substr(1, end - 1);
    arguments = trimmed(arguments.substr(end));
    return format;
}

std::string padded(std::string text, size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string mark(const Json& row) { return field(row, "focus", false) ? "* " : "  "; }

std::string of(const Json& row, const char* key) {
    const Json& value = part(row, key);
    return value.is_null() ? "-" : value.is_string() ? as<std::string>(value) : value.dump();
}

// Columns as wide as they need to be.
std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (size_t k = 0; k < row.size(); ++k) line += padded(row[k], widths[k] + 2);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

}  // namespace

Result<std::string> Console::value_text(const std::string& expression, char format) {
    if (expression.empty()) return make_error(ErrorCode::usage, "print", "wants an expression");
    SASSEMU_ASSIGN(const Json v, ask({{"do", "evaluate"},
                                      {"expression", expression},
                                      {"format", format ? std::string(1, format) : ""}}));
    return field<std::string>(v, "text");
}

Result<void> Console::do_print(const std::string& given) {
    std::string arguments = given;
    const std::string format = take_format(arguments);
    if (format.size() > 1 || (!format.empty() && !(std::string_view("xduotfacz").find(format[0]) !=
                                                   std::string_view::npos)))
        return make_error(ErrorCode::usage, "/" + format, "is no format", "x d u t o f a c z");
    SASSEMU_ASSIGN(const std::string text,
                   value_text(arguments, format.empty() ? '\0' : format[0]));
    say("$" + std::to_string(++values_) + " = " + text);
    return {};
}

Result<void> Console::do_display(const std::string& arguments) {
    if (arguments.empty()) {
        show_displays();
        return {};
    }
    std::string expression = arguments;
    take_format(expression);
    SASSEMU_TRY(Expression::parse(expression));
    displays_[next_display_++] = arguments;
    show_displays();
    return {};
}

void Console::show_displays() {
    for (const auto& [id, text] : displays_) {
        std::string expression = text;
        const std::string format = take_format(expression);
        const auto value = value_text(expression, format.empty() ? '\0' : format[0]);
        say(std::to_string(id) + ": " + text + " = " + (value ? *value : bare(value.error())));
    }
}

Result<void> Console::do_undisplay(const std::string& arguments) {
    if (arguments.empty()) displays_.clear();
    for (const std::string& word : words(arguments)) {
        const auto id = number(word);
        if (!id || !displays_.erase(static_cast<int>(*id)))
            return make_error(ErrorCode::not_found, "'" + word + "'", "there is no such display");
    }
    return {};
}

Result<void> Console::do_echo(const std::string& arguments) {
    say(arguments);
    return {};
}

Result<void> Console::do_directory(const std::string& arguments) {
    if (arguments.empty()) return make_error(ErrorCode::usage, "directory", "wants a folder");
    return sources_.add_directory(arguments);
}

Result<void> Console::do_examine(const std::string& given) {
    std::string arguments = given, format = take_format(arguments);
    if (format.empty()) format = examined_;
    uint64_t count = 1, size = 4;
    std::string letter = "x", digits;
    for (const char c : format) {
        if (std::isdigit(static_cast<unsigned char>(c))) {
            digits += c;
        } else if ((std::string_view("xduotfcs").find(c) != std::string_view::npos)) {
            letter = c;
            if (c == 'c') size = 1;
        } else if (const size_t at = std::string_view("bhwg").find(c);
                   at != std::string_view::npos) {
            size = uint64_t{1} << at;
        } else {
            return make_error(ErrorCode::usage, "/" + format, "is no format",
                              "N, then x d u t o f c s, then b h w g");
        }
    }
    if (!digits.empty()) count = number(digits).value_or(1);
    if (arguments.empty()) {
        if (!examined_at_) return make_error(ErrorCode::usage, "x", "wants an address");
        arguments = hex(examined_at_);
    }
    SASSEMU_ASSIGN(const Json answer, ask({{"do", "examine"},
                                           {"expression", arguments},
                                           {"count", count},
                                           {"size", size},
                                           {"format", letter}}));
    for (const Json& line : part(answer, "lines")) say(as<std::string>(line));
    examined_ = format;
    examined_at_ = field<uint64_t>(answer, "next");
    return {};
}

// "#2  total at locals.cu:9, total+0x0120"; of the last place also its instruction's name.
void Console::tell_frame(const Json& where, size_t level) {
    const Json& stack = list(where, "stack");
    const Json& f = item(stack, level);
    const std::string file = field<std::string>(f, "file");
    say("#" + std::to_string(level) + "  " + field<std::string>(f, "function") +
        (field<bool>(f, "inlined") ? " (inlined)" : "") +
        (file.empty() ? "" : " at " + shown(file) + ":" + part(f, "line").dump()) +
        (level == 0 || part(f, "call") != part(item(stack, level - 1), "call")
             ? ", " + field<std::string>(f, "name")
             : ""));
}

Result<void> Console::do_backtrace(const std::string& arguments) {
    const auto most = number(arguments);
    if (!arguments.empty() && !most)
        return make_error(ErrorCode::usage, "'" + arguments + "'", "is no count");
    SASSEMU_ASSIGN(const Json w, ask({{"do", "where"}}));
    if (!has(w, "stack")) {
        say("the lane " + field(w, "state", ""));
        return {};
    }
    const size_t all = part(w, "stack").size();
    for (size_t k = 0; k < std::min<size_t>(all, most.value_or(all)); ++k) tell_frame(w, k);
    if (most && *most < all)
        say("(" + std::to_string(all - *most) + " more)");
    else if (const std::string ends = field(w, "ends", ""); !ends.empty())
        say("(" + ends + ")");
    return {};
}

// ---- which of the functions that the lane is in

Result<void> Console::choose_frame(uint64_t level, const Json& where) {
    const Json& stack = part(where, "stack");
    if (level >= stack.size()) {
        const std::string ends = field(where, "ends", "");
        return make_error(ErrorCode::not_found, "frame " + std::to_string(level), "there is none",
                          ends.empty() ? "backtrace lists them" : ends);
    }
    Json focus = session_.focus();
    while (focus.size() > 4) focus.erase(4);
    if (level) focus.push_back(level);
    session_.set_focus(focus);
    SASSEMU_ASSIGN(const Json there, ask({{"do", "where"}}));
    tell_frame(there, level);
    tell_place(there, false);
    return {};
}

Result<Json> Console::where_with_stack() {
    SASSEMU_ASSIGN(Json w, ask({{"do", "where"}}));
    if (!has(w, "stack") || part(w, "stack").empty())
        return make_error(ErrorCode::not_found, "frame",
                          "the lane " + field(w, "state", "is nowhere"));
    return w;
}

Result<void> Console::do_frame(const std::string& arguments) {
    SASSEMU_ASSIGN(const Json w, where_with_stack());
    const auto level = number(arguments);
    if (!arguments.empty() && !level)
        return make_error(ErrorCode::usage, "'" + arguments + "'", "is no number of a frame",
                          "backtrace lists them");
    return choose_frame(level.value_or(field<uint64_t>(w, "frame")), w);
}

Result<void> Console::move_frame(const std::string& arguments, bool outwards) {
    SASSEMU_ASSIGN(const Json w, where_with_stack());
    const auto given = number(arguments);
    if (!arguments.empty() && !given)
        return make_error(ErrorCode::usage, "'" + arguments + "'", "is no count");
    const auto now = field<uint64_t>(w, "frame"), last = uint64_t{part(w, "stack").size()} - 1;
    const uint64_t by = given.value_or(1);
    if (outwards && now == last) {
        const std::string ends = field(w, "ends", "");
        return make_error(ErrorCode::not_found, "up", "this is the outermost frame", ends);
    }
    if (!outwards && !now)
        return make_error(ErrorCode::not_found, "down", "this is the innermost frame");
    return choose_frame(outwards ? now + std::min(by, last - now) : now - std::min(by, now), w);
}

Result<void> Console::do_disassemble(const std::string& arguments) {
    SASSEMU_ASSIGN(const Json answer, ask({{"do", "disassemble"}, {"where", arguments}}));
    std::string last;
    for (const Json& insn : part(answer, "instructions")) {
        const std::string place =
            has(insn, "file") ? field<std::string>(insn, "file") + ":" + part(insn, "line").dump()
                              : "";
        if (!place.empty() && place != last) say(shown(place));
        last = place;
        say((has(insn, "current") ? "=> " : "   ") + field<std::string>(insn, "name") + ":\t" +
            field<std::string>(insn, "sass"));
    }
    return {};
}

Result<void> Console::do_list(const std::string& arguments) {
    constexpr uint32_t lines = 10;
    if (!arguments.empty()) {
        const auto line = number(arguments);
        if (line && !listed_file_.empty()) {
            listed_line_ = static_cast<uint32_t>(*line > 5 ? *line - 5 : 1);
        } else {
            SASSEMU_ASSIGN(const Json found, ask({{"do", "resolve"}, {"where", arguments}}));
            const Json& place = item(list(found, "places"), 0);
            if (!has(place, "file"))
                return make_error(ErrorCode::not_found, arguments,
                                  "has no line table (compile with -lineinfo)", "disassemble");
            listed_file_ = field<std::string>(place, "file");
            const auto at = field<uint32_t>(place, "line");
            listed_line_ = at > 5 ? at - 5 : 1;
        }
    }
    if (listed_file_.empty())
        return make_error(ErrorCode::not_found, "list",
                          "the code at hand has no line table (compile with -lineinfo)",
                          "disassemble");
    if (sources_.find(listed_file_).empty())
        return make_error(ErrorCode::not_found, listed_file_, "there is no such source file",
                          "directory FOLDER: sources are read below folders that are named");
    for (uint32_t k = 0; k < lines; ++k) {
        const auto text = sources_.line(listed_file_, listed_line_);
        if (!text) {
            if (!k) return make_error(ErrorCode::not_found, "list", "the file has no more lines");
            break;
        }
        say(std::to_string(listed_line_++) + "\t" + shown(*text, "\t"));
    }
    return {};
}

Result<void> Console::do_help(const std::string& arguments) {
    if (!arguments.empty()) {
        SASSEMU_ASSIGN(const Command* c, find(arguments));
        say(std::string(c->name) + (c->arguments[0] ? " " : "") + c->arguments + "\n    " +
            c->help);
        return {};
    }
    for (const Command& c : commands()) say(padded(c.name, 18) + c.help);
    say("\nAn expression: $R5, $R4.64, $R5.f, $P0, $UR4, $pc, threadIdx.x, variables and buffers "
        "by name,\nc[0][0x160], *(@shared float *)0x400, and C's operators.");
    return {};
}

Result<void> Console::do_who(const std::string& arguments) {
    SASSEMU_ASSIGN(const Json found, session_.last_write(arguments));
    if (found.is_null()) {
        say("nobody has written it since the beginning of the run");
        return {};
    }
    if (part(found, "stop") == "interrupted") {
        say("interrupted");
        return {};
    }
    const std::string at = part(found, "position").dump();
    const Json where = part(found, "where");
    if (part(found, "by") == "other")
        say("a copy, an agent or the host, between the warp instructions at " + at +
            " and the next");
    else
        say("at position " + at + ": kernel " + of(where, "kernel") + ", block " +
            of(where, "blockIdx") + ", thread " + of(where, "threadIdx") + ", warp " +
            item(part(found, "focus"), 2).dump() + ", lane " +
            item(part(found, "focus"), 3).dump() + "\n    " + place_text(where) + ": " +
            of(where, "sass"));
    if (has(found, "new")) say("    " + of(found, "old") + " -> " + of(found, "new"));
    say("goto " + at + " goes there");
    return {};
}

// ---- cuda, info

Result<void> Console::do_cuda(const std::string& arguments) {
    Json question = {{"do", "choose"}};
    const auto all = words(arguments);
    for (size_t k = 0; k < all.size(); ++k) {
        std::string key = all[k];
        if (key == "grid") key = "kernel";
        if (key == "block") key = "cta";
        const bool known = key == "kernel" || key == "cta" || key == "thread" || key == "warp" ||
                           key == "lane" || key == "device" || key == "sm";
        if (!known)
            return make_error(ErrorCode::usage, "cuda " + all[k], "is no part of a focus",
                              "kernel, block, thread, warp, lane");
        if (k + 1 == all.size() || std::isalpha(static_cast<unsigned char>(all[k + 1][0])))
            continue;  // it is only asked for
        std::string text = all[++k];
        while (k + 1 < all.size() && text.starts_with('(') && !text.ends_with(')'))
            text += all[++k];
        std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
        if (key == "device" || key == "sm") continue;  // follows from the block
        Json values = Json::array();
        for (size_t at = 0; at <= text.size();) {
            const size_t comma = std::min(text.find(',', at), text.size());
            const auto n = number(text.substr(at, comma - at));
            if (!n || *n > UINT32_MAX)
                return make_error(ErrorCode::usage, "cuda " + key, "'" + text + "' is no number",
                                  "X or X,Y,Z");
            values.push_back(*n);
            at = comma + 1;
        }
        question[key] = key == "cta" || key == "thread" ? values : values[0];
    }
    SASSEMU_ASSIGN(const Json answer, ask(question));
    const bool moved = session_.focus() != part(answer, "focus");
    session_.set_focus(part(answer, "focus"));
    tell_focus();
    if (!moved) return {};
    SASSEMU_ASSIGN(const Json where, ask({{"do", "where"}}));
    tell_place(where, false);
    return {};
}

Result<void> Console::do_info_cuda(const std::string& given) {
    std::string what = trimmed(given);
    if (what == "threads") what = "lanes";
    if (what.empty()) what = "kernels";
    const bool all = what == "warps all";
    if (all) what = "warps";
    SASSEMU_ASSIGN(const Json answer, ask({{"do", "info"}, {"what", what}, {"all", all}}));
    const Json& rows = part(answer, "rows");
    if (rows.empty()) {
        say("none");
        return {};
    }
    std::vector<std::vector<std::string>> out;
    if (what == "kernels") {
        out.push_back({"  Kernel", "Device", "Grid", "Block", "CTAs resident", "Name"});
        for (const Json& r : rows)
            out.push_back({mark(r) + of(r, "id"), of(r, "gpu"), of(r, "grid"), of(r, "block"),
                           of(r, "resident"), of(r, "kernel")});
    } else if (what == "blocks") {
        out.push_back({"  Block", "Kernel", "SM", "Threads live", "Shared bytes"});
        for (const Json& r : rows)
            out.push_back({mark(r) + of(r, "id"), of(r, "kernel"), of(r, "sm"),
                           of(r, "live") + "/" + of(r, "threads"), of(r, "shared")});
    } else if (what == "warps") {
        out.push_back({"  Wp", "Block", "Active lanes", "State", "Issued", "PC", "Source"});
        for (const Json& r : rows) {
            if (part(r, "paths").empty())
                out.push_back({mark(r) + of(r, "warp"), of(r, "block"), "0x0", "exited",
                               of(r, "issued"), "", ""});
            bool first = true;
            for (const Json& p : part(r, "paths")) {
                const std::string source =
                    has(p, "file") ? shown(of(p, "file")) + ":" + of(p, "line") : "";
                out.push_back({first ? mark(r) + of(r, "warp") : "", first ? of(r, "block") : "",
                               of(p, "lanes"), of(p, "state"), first ? of(r, "issued") : "",
                               of(p, "name"), source});
                first = false;
            }
        }
    } else if (what == "lanes") {
        out.push_back({"  Ln", "Thread", "State", "PC", "Source"});
        for (const Json& r : rows)
            out.push_back({mark(r) + of(r, "lane"), of(r, "thread"), of(r, "state"), of(r, "name"),
                           has(r, "file") ? shown(of(r, "file")) + ":" + of(r, "line") : ""});
    } else if (what == "barriers") {
        out.push_back({"Barrier", "Arrived", "Expected"});
        for (const Json& r : rows)
            out.push_back({of(r, "id"), of(r, "arrived"), of(r, "expected")});
    } else {
        return make_error(ErrorCode::usage, "info cuda " + what, "there is nothing of that name",
                          "kernels, blocks, warps [all], lanes, threads, barriers");
    }
    print_(table(out));
    return {};
}

Result<void> Console::do_info(const std::string& arguments) {
    const size_t space = std::min(arguments.find(' '), arguments.size());
    const std::string what = arguments.substr(0, space), rest = trimmed(arguments.substr(space));
    const auto is = [&](std::string_view name) { return !what.empty() && name.starts_with(what); };
    if (is("cuda")) return do_info_cuda(rest);
    if (is("breakpoints") || what == "b" || is("watchpoints")) {
        if (session_.breakpoints().empty()) say("No breakpoints or watchpoints.");
        for (const Breakpoint& b : session_.breakpoints()) tell_breakpoint(b);
        return {};
    }
    if (is("registers") || what == "r" || is("all-registers")) {
        auto names = words(rest);
        for (const char* file : {"R", "P", "UR"}) {
            if (!names.empty() && file[0] != 'R') break;
            if (file == std::string_view("UR") && !is("all-registers")) break;
            SASSEMU_ASSIGN(const Json answer,
                           ask({{"do", "registers"}, {"names", names}, {"file", file}}));
            std::vector<std::vector<std::string>> out;
            for (const Json& r : part(answer, "registers"))
                out.push_back({of(r, "name"), of(r, "hex"), of(r, "text"), of(r, "float")});
            print_(table(out));
        }
        return {};
    }
    if (is("locals") || is("args")) {
        SASSEMU_ASSIGN(const Json answer, ask({{"do", "variables"}}));
        for (const Json& v : part(answer, "variables")) say(of(v, "name") + " = " + of(v, "text"));
        return {};
    }
    if (is("position")) {
        say(std::to_string(session_.position()));
        return {};
    }
    if (is("checkpoints")) {
        for (const uint64_t at : session_.checkpoint_positions()) say(std::to_string(at));
        return {};
    }
    if (is("display")) {
        for (const auto& [id, text] : displays_) say(std::to_string(id) + ": " + text);
        return {};
    }
    if (is("line") || is("symbol") || what == "source") {
        if (what == "source" || rest.empty()) {
            SASSEMU_ASSIGN(const Json w, ask({{"do", "where"}}));
            say(place_text(w));
            return {};
        }
        SASSEMU_ASSIGN(const Json found, ask({{"do", "resolve"}, {"where", rest}}));
        for (const Json& place : part(found, "places")) say(place_text(place));
        return {};
    }
    for (const char* name : {"functions", "sources", "memory"}) {
        if (!is(name)) continue;
        SASSEMU_ASSIGN(const Json answer, ask({{"do", "info"}, {"what", name}}));
        std::vector<std::vector<std::string>> out;
        for (const Json& r : part(answer, "rows"))
            out.push_back(r.is_string() ? std::vector{shown(as<std::string>(r))}
                          : has(r, "address")
                              ? std::vector{of(r, "address"), of(r, "bytes"), shown(of(r, "name"))}
                              : std::vector{shown(of(r, "name")), of(r, "bytes") + " bytes"});
        print_(table(out));
        return {};
    }
    return make_error(ErrorCode::usage, "info " + arguments, "there is nothing of that name",
                      "help info");
}

void Console::tell_breakpoint(const Breakpoint& b) {
    std::string text = padded(std::to_string(b.id), 4) +
                       padded(b.kind == "breakpoint" && b.temporary ? "tbreak" : b.kind, 12) +
                       (b.enabled ? "y  " : "n  ");
    text += b.kind == "breakpoint" ? place_text(item(b.places, 0)) : b.text;
    if (b.places.size() > 1) text += " and " + std::to_string(b.places.size() - 1) + " more";
    if (!b.condition.empty()) text += " if " + b.condition;
    if (b.hits) text += ", hit " + std::to_string(b.hits) + (b.hits == 1 ? " time" : " times");
    if (b.ignore) text += ", ignored " + std::to_string(b.ignore) + " more";
    say(text);
}

}  // namespace sassemu::debug
