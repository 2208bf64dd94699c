// SPDX-License-Identifier: Apache-2.0
// The debugger's commands, with the words of gdb and cuda-gdb, and what they print. What belongs
// here: text in, text out. What does not: where lines come from (cli/debug_command.cpp), and what a
// run does (session.hpp).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emu/debug/session.hpp"
#include "emu/debug/sources.hpp"

namespace sassemu::debug {

class Console {
  public:
    // `print` gets text with its newlines.
    Console(Session& session, Sources& sources, std::function<void(std::string_view)> print);

    // What stands at the beginning: where the run is.
    void greet();
    // An Error: the command was not understood or could not be done; nothing has changed.
    Result<void> execute(std::string line);
    bool quits() const { return quits_; }
    // Nothing to do: a file's empty line does not repeat a command.
    static bool is_blank(const std::string& line);
    static std::string error_text(const Error& error);
    // What may stand in place of the last word of what has been typed so far, in order.
    static std::vector<std::string> completions(const std::string& typed);

  private:
    struct Command {
        const char* name;
        const char* arguments;
        const char* help;
        Result<void> (Console::*act)(const std::string& arguments);
    };
    static const std::vector<Command>& commands();
    static Result<const Command*> find(const std::string& name);

    void say(const std::string& text) const { print_(text + "\n"); }
    Result<Json> ask(Json question);
    void tell_stop();
    void tell_place(const Json& where, bool with_frame);
    void tell_focus();
    void tell_frame(const Json& where, size_t level);
    Result<Json> where_with_stack();
    Result<void> choose_frame(uint64_t level, const Json& where);
    Result<void> move_frame(const std::string& arguments, bool outwards);
    void tell_breakpoint(const Breakpoint& b);
    void show_displays();
    Result<void> step(const std::string& arguments, const char* what, bool back);
    Result<void> resume(const std::string& arguments, bool back);
    Result<void> set_break(const std::string& arguments, bool temporary);
    Result<Breakpoint*> breakpoint(const std::string& number);
    Result<void> each_breakpoint(const std::string& arguments,
                                 const std::function<void(Breakpoint&)>& act);
    Result<std::string> value_text(const std::string& expression, char format);

    Result<void> do_advance(const std::string&);
    Result<void> do_backtrace(const std::string&);
    Result<void> do_break(const std::string& a) { return set_break(a, false); }
    Result<void> do_condition(const std::string&);
    Result<void> do_continue(const std::string& a) { return resume(a, false); }
    Result<void> do_cuda(const std::string&);
    Result<void> do_delete(const std::string&);
    Result<void> do_directory(const std::string&);
    Result<void> do_disable(const std::string&);
    Result<void> do_disassemble(const std::string&);
    Result<void> do_display(const std::string&);
    Result<void> do_down(const std::string& a) { return move_frame(a, false); }
    Result<void> do_echo(const std::string&);
    Result<void> do_enable(const std::string&);
    Result<void> do_examine(const std::string&);
    Result<void> do_finish(const std::string& a) { return step(a, "finish", false); }
    Result<void> do_frame(const std::string&);
    Result<void> do_goto(const std::string&);
    Result<void> do_help(const std::string&);
    Result<void> do_ignore(const std::string&);
    Result<void> do_info(const std::string&);
    Result<void> do_info_cuda(const std::string&);
    Result<void> do_list(const std::string&);
    Result<void> do_next(const std::string& a) { return step(a, "over", false); }
    Result<void> do_print(const std::string&);
    Result<void> do_quit(const std::string&);
    Result<void> do_reverse_continue(const std::string& a) { return resume(a, true); }
    Result<void> do_reverse_next(const std::string& a) { return step(a, "over", true); }
    Result<void> do_reverse_step(const std::string& a) { return step(a, "line", true); }
    Result<void> do_reverse_stepi(const std::string& a) { return step(a, "instruction", true); }
    Result<void> do_run(const std::string&);
    Result<void> do_set(const std::string&);
    Result<void> do_start(const std::string&);
    Result<void> do_step(const std::string& a) { return step(a, "line", false); }
    Result<void> do_stepi(const std::string& a) { return step(a, "instruction", false); }
    Result<void> do_tbreak(const std::string& a) { return set_break(a, true); }
    Result<void> do_up(const std::string& a) { return move_frame(a, true); }
    Result<void> do_undisplay(const std::string&);
    Result<void> do_watch(const std::string&);
    Result<void> do_when(const std::string&);
    Result<void> do_who(const std::string&);

    Session& session_;
    Sources& sources_;
    std::function<void(std::string_view)> print_;
    std::string last_line_;
    std::map<int, std::string> displays_;
    int next_display_ = 1;
    uint32_t values_ = 0;
    std::string listed_file_;
    uint32_t listed_line_ = 0;
    std::string examined_;  // the format of the last x, and where it ended
    uint64_t examined_at_ = 0;
    bool quits_ = false;
};

}  // namespace sassemu::debug
