// SPDX-License-Identifier: Apache-2.0
// The table of commands, those that let the program run, and what is said when it halts. Commands
// that only show something are in console_show.cpp.
#include "emu/debug/console.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>

#include "emu/base/text.hpp"
#include "emu/debug/console_text.hpp"

namespace sassemu::debug {

const std::vector<Console::Command>& Console::commands() {
    using C = Console;
    static const std::vector<Command> table = {
        {"advance", "LOCATION", "run to a place, once", &C::do_advance},
        {"backtrace", "[N]", "the functions that the focused lane is in, the innermost first",
         &C::do_backtrace},
        {"break", "[LOCATION] [if CONDITION]",
         "halt where a lane comes to FILE:LINE, LINE, FUNCTION, FUNCTION+OFFSET or *OFFSET",
         &C::do_break},
        {"condition", "N [CONDITION]", "give breakpoint N a condition, or take it away",
         &C::do_condition},
        {"continue", "[N]", "run on; pass the halting breakpoint N-1 more times", &C::do_continue},
        {"cuda", "[kernel N] [block X[,Y[,Z]]] [thread X[,Y[,Z]]] [warp N] [lane N]",
         "move the focus, or tell it", &C::do_cuda},
        {"delete", "[N...]", "remove breakpoints; none named: all", &C::do_delete},
        {"directory", "FOLDER", "look for source files there too", &C::do_directory},
        {"disable", "[N...]", "keep breakpoints from halting", &C::do_disable},
        {"disassemble", "[LOCATION]", "the code of the function there", &C::do_disassemble},
        {"display", "[/F] EXPRESSION", "print it at every halt", &C::do_display},
        {"down", "[N]", "to the frame that this one has called", &C::do_down},
        {"echo", "TEXT", "print it", &C::do_echo},
        {"enable", "[N...]", "the contrary of disable", &C::do_enable},
        {"finish", "", "run until the function of the focus and frame returns", &C::do_finish},
        {"frame", "[N]", "look at frame N of the backtrace: its place, variables and registers",
         &C::do_frame},
        {"goto", "POSITION", "go to a position, forward or back", &C::do_goto},
        {"help", "[COMMAND]", "what there is", &C::do_help},
        {"ignore", "N COUNT", "let breakpoint N pass so often", &C::do_ignore},
        {"info", "WHAT",
         "breakpoints, registers [NAME...], locals, line, source, functions, "
         "sources, memory, position, checkpoints, display; cuda kernels, blocks, warps, lanes, "
         "threads, barriers",
         &C::do_info},
        {"list", "[LINE|LOCATION]", "lines of the source", &C::do_list},
        {"next", "[N] [UNIT]", "step over what is called", &C::do_next},
        {"nexti", "[N] [UNIT]", "as stepi", &C::do_stepi},
        {"print", "[/F] EXPRESSION", "its value; F: x d u t o f a c z", &C::do_print},
        {"quit", "", "end", &C::do_quit},
        {"reverse-continue", "", "run back to what would have halted it last",
         &C::do_reverse_continue},
        {"reverse-next", "[N] [UNIT]", "step back over what is called", &C::do_reverse_next},
        {"reverse-step", "[N] [UNIT]", "back to the beginning of the line before",
         &C::do_reverse_step},
        {"reverse-stepi", "[N] [UNIT]", "back by instructions", &C::do_reverse_stepi},
        {"run", "", "from the beginning", &C::do_run},
        {"set", "NAME on|off", "break-on-launch: halt where a kernel begins", &C::do_set},
        {"start", "", "go to the first instruction", &C::do_start},
        {"step", "[N] [UNIT]", "run to another source line; UNIT: lane, warp (usual), cta, all",
         &C::do_step},
        {"stepi", "[N] [UNIT]", "run by instructions of the UNIT in focus", &C::do_stepi},
        {"tbreak", "[LOCATION] [if CONDITION]", "a breakpoint that halts once", &C::do_tbreak},
        {"undisplay", "[N...]", "no longer display it", &C::do_undisplay},
        {"until", "LOCATION", "as advance", &C::do_advance},
        {"up", "[N]", "to the frame that has called this one", &C::do_up},
        {"watch", "EXPRESSION [if CONDITION]",
         "halt where the bytes or the register that it names change", &C::do_watch},
        {"when", "EXPRESSION", "halt where it becomes true for any lane: when $R5 == 7",
         &C::do_when},
        {"where", "", "as backtrace", &C::do_backtrace},
        {"who", "EXPRESSION", "who wrote the bytes that it names last", &C::do_who},
        {"x", "/NFS EXPRESSION",
         "memory: N values in format F (x d u t o f c s) of size S (b h w g)", &C::do_examine},
    };
    return table;
}

std::vector<std::string> Console::completions(const std::string& typed) {
    static const std::map<std::string, std::vector<std::string>> seconds = {
        {"info",
         {"all-registers", "breakpoints", "checkpoints", "cuda", "display", "functions", "line",
          "locals", "memory", "position", "registers", "source", "sources"}},
        {"info cuda", {"barriers", "blocks", "kernels", "lanes", "threads", "warps"}},
        {"info cuda warps", {"all"}},
        {"cuda", {"block", "kernel", "lane", "thread", "warp"}},
        {"set", {"break-on-launch"}},
        {"set break-on-launch", {"off", "on"}}};
    static const std::vector<std::string> units = {"all", "cta", "lane", "warp"};
    auto before = words(typed);
    std::string last;
    if (!before.empty() && !typed.ends_with(' ') && !typed.ends_with('\t')) {
        last = before.back();
        before.pop_back();
    }
    std::vector<std::string> all;
    if (before.empty() || (before.size() == 1 && std::string("help").starts_with(before[0]))) {
        for (const Command& c : commands()) all.emplace_back(c.name);
    } else if (const auto of = find(before[0]); of) {
        const std::string name = (*of)->name;
        std::string key = name;
        for (size_t k = 1; k < before.size(); ++k) key += " " + before[k];
        if (const auto at = seconds.find(name == "cuda" ? name : key); at != seconds.end())
            all = at->second;
        else if (name.ends_with("step") || name.ends_with("stepi") || name.ends_with("next") ||
                 name.ends_with("nexti"))
            all = units;
    }
    std::erase_if(all, [&](const std::string& one) { return !one.starts_with(last); });
    return all;
}

Result<const Console::Command*> Console::find(const std::string& name) {
    static const std::map<std::string, std::string> aliases = {{"b", "break"},
                                                               {"br", "break"},
                                                               {"bt", "backtrace"},
                                                               {"c", "continue"},
                                                               {"d", "delete"},
                                                               {"dis", "disable"},
                                                               {"disas", "disassemble"},
                                                               {"disp", "display"},
                                                               {"f", "frame"},
                                                               {"fin", "finish"},
                                                               {"h", "help"},
                                                               {"i", "info"},
                                                               {"inspect", "print"},
                                                               {"l", "list"},
                                                               {"n", "next"},
                                                               {"ni", "nexti"},
                                                               {"p", "print"},
                                                               {"q", "quit"},
                                                               {"exit", "quit"},
                                                               {"r", "run"},
                                                               {"rc", "reverse-continue"},
                                                               {"rn", "reverse-next"},
                                                               {"rni", "reverse-stepi"},
                                                               {"rs", "reverse-step"},
                                                               {"rsi", "reverse-stepi"},
                                                               {"reverse-nexti", "reverse-stepi"},
                                                               {"s", "step"},
                                                               {"si", "stepi"},
                                                               {"tb", "tbreak"},
                                                               {"u", "until"},
                                                               {"dir", "directory"}};
    const auto alias = aliases.find(name);
    const std::string full = alias == aliases.end() ? name : alias->second;
    const Command* found = nullptr;
    std::string several;
    for (const Command& c : commands()) {
        if (c.name == full) return &c;
        if (!std::string_view(c.name).starts_with(full)) continue;
        several += (several.empty() ? "" : ", ") + std::string(c.name);
        found = found ? found : &c;
    }
    if (!found) return make_error(ErrorCode::usage, "'" + name + "'", "is no command", "help");
    if (several.find(',') != several.npos)
        return make_error(ErrorCode::usage, "'" + name + "'", "may be " + several);
    return found;
}

Console::Console(Session& session, Sources& sources, std::function<void(std::string_view)> print)
    : session_(session), sources_(sources), print_(std::move(print)) {}

bool Console::is_blank(const std::string& line) {
    const std::string text = trimmed(line);
    return text.empty() || text.starts_with('#');
}

std::string Console::error_text(const Error& error) { return bare(error); }

void Console::greet() { tell_stop(); }

Result<void> Console::execute(std::string line) {
    line = trimmed(line);
    if (line.starts_with('#')) return {};
    if (line.empty()) {
        // Once more, as gdb: of what moves and what looks on.
        if (last_line_.empty()) return {};
        line = last_line_;
    }
    // "p/x" and "x/4f" are a command and a format.
    size_t end = 0;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) ||
                                 line[end] == '-' || line[end] == '_'))
        ++end;
    const std::string name = line.substr(0, end);
    SASSEMU_ASSIGN(const Command* command, find(name));
    static const std::vector<std::string> again = {
        "next",         "nexti",        "step",          "stepi", "continue", "reverse-continue",
        "reverse-next", "reverse-step", "reverse-stepi", "list",  "x"};
    last_line_ = std::ranges::count(again, command->name) ? line : "";
    if (std::string_view(command->name) == "list" || std::string_view(command->name) == "x")
        last_line_ = command->name;
    return (this->*command->act)(trimmed(line.substr(end)));
}

Result<Json> Console::ask(Json question) {
    Json answer = session_.ask(std::move(question));
    if (!has(answer, "error")) return answer;
    return make_error(ErrorCode::usage, "debugger", field<std::string>(answer, "error"));
}

// ---- what is said when it halts

void Console::tell_focus() {
    const auto where = ask({{"do", "where"}});
    if (!where) return say(bare(where.error()));
    const Json& w = *where;
    const Json& f = part(w, "focus");
    say("[Focus: kernel " + item(f, 0).dump() + ", block " + field<std::string>(w, "blockIdx") +
        ", thread " + field<std::string>(w, "threadIdx") + ", device " + part(w, "gpu").dump() +
        ", sm " + part(w, "sm").dump() + ", warp " + item(f, 2).dump() + ", lane " +
        item(f, 3).dump() + "]");
}

// The line of the source, where there is one, and the instruction.
void Console::tell_place(const Json& w, bool with_frame) {
    if (!has(w, "name")) return say("the lane " + field(w, "state", "is nowhere"));
    if (with_frame)
        say(field<std::string>(w, "kernel") + "<<<" + field<std::string>(w, "grid") + "," +
            field<std::string>(w, "block") + ">>> at " + place_text(w));
    if (has(w, "file")) {
        const auto line = field<uint32_t>(w, "line");
        const auto text = sources_.line(field<std::string>(w, "file"), line);
        say(std::to_string(line) + "\t" +
            (text ? shown(*text, "\t") : "in " + shown(field<std::string>(w, "file"))));
        listed_file_ = field<std::string>(w, "file");
        listed_line_ = line > 5 ? line - 5 : 1;
    }
    say("=> " + field<std::string>(w, "name") + ":\t" + field<std::string>(w, "sass"));
}

void Console::tell_stop() {
    const Stop& stop = session_.stop();
    const std::string why = field(stop, "stop", "");
    const auto ids = [&] {
        std::string text;
        for (const Json& id : list(stop, "ids")) text += (text.empty() ? "" : ", ") + id.dump();
        return text;
    };
    if (why == "ended") {
        print_(field<std::string>(stop, "report"));
        say("[The run has ended with exit code " + part(stop, "code").dump() + ", at position " +
            part(stop, "position").dump() + "]");
        return;
    }
    if (why == "breakpoint") {
        say("Breakpoint " + ids() + ", at position " + part(stop, "position").dump());
        if (has(stop, "what")) say(field<std::string>(stop, "what"));
    } else if (why == "watch") {
        std::string text;
        for (const Breakpoint& b : session_.breakpoints())
            if (Json(b.id) == item(list(stop, "ids"), 0)) text = b.text;
        say("Watchpoint " + ids() + ": " + text);
        say("Old value = " + field<std::string>(stop, "old"));
        say("New value = " + field<std::string>(stop, "new"));
        if (part(stop, "by") == "other")
            say("(changed between two warp instructions: by a copy, an agent or the host)");
    } else if (why == "when") {
        std::string text;
        for (const Breakpoint& b : session_.breakpoints())
            if (Json(b.id) == item(list(stop, "ids"), 0)) text = b.text;
        say("Condition " + ids() + ": " + text + ", lanes " + hex(field<uint32_t>(stop, "lanes")));
    } else if (why == "launch") {
        say("Launch, at position " + part(stop, "position").dump());
    } else if (why == "interrupted") {
        say("Interrupted, at position " + part(stop, "position").dump());
    } else if (why == "gone") {
        say("What was followed has exited, at position " + part(stop, "position").dump());
    } else if (why == "start") {
        say("The beginning: there is nothing before it");
    } else if (why == "fault" || why == "failed") {
        say("The kernel ends: " + field<std::string>(stop, "status") + ": " +
            field<std::string>(stop, "what"));
    }
    const auto where = ask({{"do", "where"}});
    if (!where) return say(bare(where.error()));
    if (why != "step" && why != "reached") tell_focus();
    tell_place(*where, why != "step");
    show_displays();
}

// ---- running

Result<void> Console::step(const std::string& arguments, const char* what, bool back) {
    Json step = {{"what", what}, {"unit", "warp"}, {"count", 1}};
    for (const std::string& word : words(arguments)) {
        if (const auto n = number(word); n && *n)
            step["count"] = *n;
        else if (word == "lane" || word == "warp" || word == "cta" || word == "all")
            step["unit"] = word;
        else
            return make_error(ErrorCode::usage, "'" + word + "'", "is no count and no unit",
                              "[N] [lane|warp|cta|all]");
    }
    if (session_.ended() && !back)
        return make_error(ErrorCode::usage, "step", "the run has ended",
                          "run, or reverse-continue");
    if (std::string_view(what) == "finish")
        if (const auto where = ask({{"do", "where"}}); where && has(*where, "call"))
            step["levels"] = part(*where, "call");
    Json before = session_.focus();
    while (before.size() > 4) before.erase(4);
    SASSEMU_TRY(back ? session_.back(step) : session_.forward(step));
    if (part(session_.stop(), "stop") == "step" && before != session_.focus()) tell_focus();
    tell_stop();
    return {};
}

Result<void> Console::resume(const std::string& arguments, bool back) {
    if (session_.ended() && !back)
        return make_error(ErrorCode::usage, "continue", "the run has ended",
                          "run, or reverse-continue");
    if (!arguments.empty()) {
        const auto count = number(arguments);
        if (!count || !*count || back)
            return make_error(ErrorCode::usage, "'" + arguments + "'", "is no count");
        for (const Json& id : list(session_.stop(), "ids"))
            for (Breakpoint& b : session_.breakpoints())
                if (Json(b.id) == id) b.ignore = *count - 1;
    }
    SASSEMU_TRY(back ? session_.back() : session_.forward());
    tell_stop();
    return {};
}

Result<void> Console::do_run(const std::string&) {
    SASSEMU_TRY(session_.go_to(0));
    return resume("", false);
}

Result<void> Console::do_start(const std::string&) {
    SASSEMU_TRY(session_.go_to(0));
    tell_stop();
    return {};
}

Result<void> Console::do_goto(const std::string& arguments) {
    const auto at = number(arguments);
    if (!at)
        return make_error(ErrorCode::usage, "goto", "'" + arguments + "' is no position",
                          "info position tells the present one");
    SASSEMU_TRY(session_.go_to(*at));
    tell_stop();
    return {};
}

Result<void> Console::do_advance(const std::string& arguments) {
    SASSEMU_ASSIGN(const Breakpoint* b, session_.add_breakpoint(arguments, "", true));
    const int id = b->id;
    const Result<void> done = session_.forward();
    std::erase_if(session_.breakpoints(), [&](const Breakpoint& x) { return x.id == id; });
    SASSEMU_TRY(done);
    tell_stop();
    return {};
}

// ---- what halts it

Result<void> Console::set_break(const std::string& arguments, bool temporary) {
    std::string where = arguments, condition;
    if (arguments.starts_with("if ")) {
        where.clear();
        condition = arguments.substr(3);
    } else if (const size_t at = arguments.find(" if "); at != arguments.npos) {
        where = trimmed(arguments.substr(0, at));
        condition = arguments.substr(at + 4);
    }
    SASSEMU_ASSIGN(const Breakpoint* b,
                   session_.add_breakpoint(where, trimmed(condition), temporary));
    say(std::string(temporary ? "Temporary breakpoint " : "Breakpoint ") + std::to_string(b->id) +
        " at " + place_text(item(b->places, 0)) +
        (b->places.size() > 1 ? " (" + std::to_string(b->places.size()) + " places)" : ""));
    return {};
}

Result<void> Console::do_watch(const std::string& arguments) {
    std::string expression = arguments, condition;
    if (const size_t at = arguments.find(" if "); at != arguments.npos) {
        expression = trimmed(arguments.substr(0, at));
        condition = trimmed(arguments.substr(at + 4));
    }
    SASSEMU_ASSIGN(const Breakpoint* b, session_.add_watch(expression, condition));
    say("Watchpoint " + std::to_string(b->id) + ": " + b->text);
    return {};
}

Result<void> Console::do_when(const std::string& arguments) {
    SASSEMU_ASSIGN(const Breakpoint* b, session_.add_when(arguments));
    say("Condition " + std::to_string(b->id) + ": " + b->text);
    // It may hold elsewhere (in the scope of a local, in a kernel to come): no error, but said.
    if (const auto value = ask({{"do", "evaluate"}, {"expression", arguments}}); !value)
        say("It cannot be evaluated here: " + value.error().what);
    return {};
}

Result<Breakpoint*> Console::breakpoint(const std::string& text) {
    const auto n = number(text);
    for (Breakpoint& b : session_.breakpoints())
        if (n && static_cast<uint64_t>(b.id) == *n) return &b;
    return make_error(ErrorCode::not_found, "'" + text + "'", "there is no such breakpoint",
                      "info breakpoints");
}

Result<void> Console::each_breakpoint(const std::string& arguments,
                                      const std::function<void(Breakpoint&)>& act) {
    std::vector<Breakpoint*> all;
    for (const std::string& word : words(arguments)) {
        SASSEMU_ASSIGN(Breakpoint * b, breakpoint(word));
        all.push_back(b);
    }
    if (arguments.empty())
        for (Breakpoint& b : session_.breakpoints()) all.push_back(&b);
    for (Breakpoint* b : all) act(*b);
    return {};
}

Result<void> Console::do_delete(const std::string& arguments) {
    std::vector<int> gone;
    SASSEMU_TRY(each_breakpoint(arguments, [&](const Breakpoint& b) { gone.push_back(b.id); }));
    std::erase_if(session_.breakpoints(),
                  [&](const Breakpoint& b) { return std::ranges::count(gone, b.id); });
    return {};
}

Result<void> Console::do_disable(const std::string& arguments) {
    return each_breakpoint(arguments, [](Breakpoint& b) { b.enabled = false; });
}

Result<void> Console::do_enable(const std::string& arguments) {
    return each_breakpoint(arguments, [](Breakpoint& b) { b.enabled = true; });
}

Result<void> Console::do_condition(const std::string& arguments) {
    const size_t space = arguments.find(' ');
    SASSEMU_ASSIGN(Breakpoint * b, breakpoint(arguments.substr(0, space)));
    return session_.set_condition(*b,
                                  space == arguments.npos ? "" : trimmed(arguments.substr(space)));
}

Result<void> Console::do_ignore(const std::string& arguments) {
    const auto all = words(arguments);
    const auto count = all.size() == 2 ? number(all[1]) : std::nullopt;
    if (!count) return make_error(ErrorCode::usage, "ignore", "wants a breakpoint and a count");
    SASSEMU_ASSIGN(Breakpoint * b, breakpoint(all[0]));
    b->ignore = *count;
    return {};
}

Result<void> Console::do_set(const std::string& arguments) {
    auto all = words(arguments);
    if (!all.empty() && all[0] == "cuda") all.erase(all.begin());
    if (all.size() == 2) std::ranges::replace(all[0], '_', '-');
    if (all.size() != 2 || all[0] != "break-on-launch")
        return make_error(ErrorCode::usage, "set " + arguments, "there is nothing of that name",
                          "set break-on-launch on; the program's state is read only");
    session_.break_at_launches = all[1] != "off" && all[1] != "none";
    return {};
}

Result<void> Console::do_quit(const std::string&) {
    quits_ = true;
    return {};
}

}  // namespace sassemu::debug
