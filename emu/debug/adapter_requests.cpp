// SPDX-License-Identifier: Apache-2.0
// The requests of the Debug Adapter Protocol that the adapter answers.
#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>

#include "emu/base/text.hpp"
#include "emu/debug/adapter.hpp"
#include "emu/debug/console_text.hpp"

namespace sassemu::debug {
namespace {

constexpr int64_t frames_per_thread = 256;
constexpr uint64_t most_at_once = 4096;        // of an array, told at once
constexpr uint64_t most_instructions = 65536;  // the same

std::string base64(const std::string& bytes) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t k = 0; k < bytes.size(); k += 3) {
        uint32_t group = 0;
        for (size_t i = 0; i < 3; ++i)
            group =
                group << 8 | (k + i < bytes.size() ? static_cast<unsigned char>(bytes[k + i]) : 0u);
        for (size_t i = 0; i < 4; ++i)
            out += k + i <= bytes.size() ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    return out;
}

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

}  // namespace

const std::map<std::string, Adapter::Handler>& Adapter::handlers() {
    using A = Adapter;
    static const std::map<std::string, Handler> table = {
        {"initialize", &A::initialize},
        {"launch", &A::launch},
        {"configurationDone", &A::configuration_done},
        {"disconnect", &A::disconnect},
        {"terminate", &A::disconnect},
        {"threads", &A::threads},
        {"stackTrace", &A::stack_trace},
        {"scopes", &A::scopes},
        {"variables", &A::variables},
        {"evaluate", &A::evaluate},
        {"setBreakpoints", &A::set_breakpoints},
        {"setFunctionBreakpoints", &A::set_function_breakpoints},
        {"setInstructionBreakpoints", &A::set_instruction_breakpoints},
        {"setExceptionBreakpoints", &A::set_exception_breakpoints},
        {"dataBreakpointInfo", &A::data_breakpoint_info},
        {"setDataBreakpoints", &A::set_data_breakpoints},
        {"disassemble", &A::disassemble},
        {"readMemory", &A::read_memory},
        {"pause", &A::pause},
        {"continue", &A::go_on},
        {"next", &A::next},
        {"stepIn", &A::step_in},
        {"stepOut", &A::step_out},
        {"stepBack", &A::step_back},
        {"reverseContinue", &A::reverse_continue},
    };
    return table;
}

// ---- the session

Result<Json> Adapter::initialize(const Json&) {
    return Json{
        {"supportsConfigurationDoneRequest", true}, {"supportsFunctionBreakpoints", true},
        {"supportsConditionalBreakpoints", true},   {"supportsHitConditionalBreakpoints", true},
        {"supportsEvaluateForHovers", true},        {"supportsStepBack", true},
        {"supportsSteppingGranularity", true},      {"supportsInstructionBreakpoints", true},
        {"supportsDataBreakpoints", true},          {"supportsDisassembleRequest", true},
        {"supportsReadMemoryRequest", true},        {"supportsTerminateRequest", true}};
}

Result<Json> Adapter::launch(const Json& arguments) {
    if (session_) return make_error(ErrorCode::usage, "launch", "it has been launched already");
    SessionOptions options;
    options.on_output = [this](std::string_view text) {
        event("output", {{"category", "stdout"}, {"output", std::string(text)}});
    };
    // While it runs: what the client sends is put in a queue, and halts it for a moment.
    options.wants_halt = [this] {
        for (int most = 64; most && read_more(false); --most)
            for (Json message; take_message(message);) queue_.push_back(std::move(message));
        return !queue_.empty() || gone_;
    };
    SASSEMU_ASSIGN(session_, start_(field(arguments, "program", ""), field(arguments, "arch", ""),
                                    std::move(options)));
    stop_on_entry_ = field(arguments, "stopOnEntry", false);
    then_ = [this] { event("initialized", Json::object()); };
    return Json();
}

Result<Json> Adapter::configuration_done(const Json&) {
    SASSEMU_TRY(needs_session());
    then_ = [this] {
        if (stop_on_entry_)
            tell_stop();
        else
            run([this] { return session_->forward(); });
    };
    return Json();
}

Result<Json> Adapter::disconnect(const Json&) {
    ends_ = true;
    return Json();
}

// ---- running

Result<Json> Adapter::resume(const Json& arguments, const char* what, bool back) {
    SASSEMU_TRY(needs_session());
    if (session_->ended() && !back)
        return make_error(ErrorCode::usage, "continue", "the run has ended");
    if (has(arguments, "threadId")) {
        SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
        session_->set_focus(focus);
    }
    Json step;
    if (*what) {
        const bool instruction = field(arguments, "granularity", "") == "instruction";
        step = {{"what", instruction ? "instruction" : what}, {"unit", "warp"}, {"count", 1}};
    }
    then_ = [this, step, back] {
        run([&] { return back ? session_->back(step) : session_->forward(step); });
    };
    return *what ? Json() : Json{{"allThreadsContinued", true}};
}

Result<Json> Adapter::go_on(const Json& a) { return resume(a, "", false); }
Result<Json> Adapter::next(const Json& a) { return resume(a, "over", false); }
Result<Json> Adapter::step_in(const Json& a) { return resume(a, "line", false); }
Result<Json> Adapter::step_out(const Json& a) { return resume(a, "finish", false); }
Result<Json> Adapter::step_back(const Json& a) { return resume(a, "over", true); }
Result<Json> Adapter::reverse_continue(const Json& a) { return resume(a, "", true); }

// It has halted by now, or had halted before.
Result<Json> Adapter::pause(const Json&) { return Json(); }

// ---- who and where

Result<Json> Adapter::focus_of(const Json& arguments) {
    int64_t id = field(arguments, "threadId", int64_t{0});
    int64_t frame = 0;
    if (has(arguments, "frameId")) {
        id = field<int64_t>(arguments, "frameId");
        frame = id % frames_per_thread;
        id /= frames_per_thread;
    }
    const auto at = threads_.find(id);
    if (at != threads_.end()) {
        Focus focus = Focus::of(at->second);
        focus.frame = frame > 0 ? static_cast<uint32_t>(frame) : 0;
        return focus.json();
    }
    if (!id && session_) return session_->focus();
    return make_error(ErrorCode::not_found, "thread " + std::to_string(id), "there is none");
}

Result<Json> Adapter::threads(const Json&) {
    SASSEMU_ASSIGN(const Json answer, ask({{"do", "info"}, {"what", "warps"}, {"all", true}}));
    Json out = Json::array();
    for (const Json& row : part(answer, "rows")) {
        if (part(row, "paths").empty()) continue;
        Focus focus = Focus::of(part(row, "thread"));
        // The lane that is looked at: the focus's own, or the first that runs.
        const auto lanes = field<uint32_t>(item(list(row, "paths"), 0), "mask");
        focus.lane = lanes ? static_cast<uint32_t>(std::countr_zero(lanes)) : 0;
        Focus own = Focus::of(session_->focus());
        own.frame = 0;
        if (own.is_same_warp(focus)) focus = own;
        const int64_t id = thread_of(focus.json());
        threads_[id] = focus.json();
        out.push_back({{"id", id},
                       {"name", "block " + field<std::string>(row, "block") + " warp " +
                                    part(row, "warp").dump()}});
    }
    return Json{{"threads", out}};
}

Json Adapter::source_of(const std::string& file) {
    const std::string path = sources_.find(file);
    Json source = {{"name", file_name(file)}};
    std::error_code error;
    const auto whole = std::filesystem::absolute(path, error);
    source["path"] = path.empty() || error ? file : whole.lexically_normal().string();
    return source;
}

Result<Json> Adapter::stack_trace(const Json& arguments) {
    SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
    SASSEMU_ASSIGN(const Json where, ask({{"do", "where"}, {"focus", focus}}));
    Json frames = Json::array();
    const int64_t thread = field(arguments, "threadId", int64_t{0});
    for (const Json& f : list(where, "stack")) {
        const auto level = static_cast<int64_t>(frames.size());
        if (level == frames_per_thread) break;
        const std::string file = field<std::string>(f, "file");
        Json frame = {{"id", thread * frames_per_thread + level},
                      {"name", field<std::string>(f, "function") +
                                   (field<bool>(f, "inlined") ? " (inlined)" : "")},
                      {"line", part(f, "line")},
                      {"column", 0},
                      {"instructionPointerReference", hex(field<uint64_t>(f, "address"))}};
        if (!file.empty()) frame["source"] = source_of(file);
        frames.push_back(std::move(frame));
    }
    // What could not be found is told as a frame that is none.
    if (const std::string ends = field(where, "ends", "");
        !ends.empty() && static_cast<int64_t>(frames.size()) < frames_per_thread)
        frames.push_back({{"id", thread * frames_per_thread + static_cast<int64_t>(frames.size())},
                          {"name", ends},
                          {"line", 0},
                          {"column", 0},
                          {"presentationHint", "label"}});
    const auto total = frames.size();
    const auto first = std::min<size_t>(field(arguments, "startFrame", size_t{0}), total);
    const auto levels = field(arguments, "levels", size_t{0});
    const size_t last = levels ? first + std::min(levels, total - first) : total;
    Json asked = Json::array();
    for (size_t k = first; k < last; ++k) asked.push_back(item(frames, k));
    return Json{{"stackFrames", asked}, {"totalFrames", total}};
}

Result<Json> Adapter::scopes(const Json& arguments) {
    SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
    const auto scope = [&](const char* name, Scope which, bool expensive) {
        Json out = {{"name", name},
                    {"variablesReference", reference({which, focus, ""})},
                    {"expensive", expensive}};
        if (which == Scope::locals || which == Scope::registers)
            out["presentationHint"] = which == Scope::locals ? "locals" : "registers";
        return out;
    };
    return Json{{"scopes",
                 {scope("Locals", Scope::locals, false), scope("Registers", Scope::registers, true),
                  scope("Predicates", Scope::predicates, false),
                  scope("Uniform registers", Scope::uniform, true),
                  scope("Buffers", Scope::buffers, true)}}};
}

int64_t Adapter::reference(Variables of) {
    const auto id = static_cast<int64_t>(variables_.size()) + 1;
    variables_[id] = std::move(of);
    return id;
}

// With its parts below it, where it has some.
Json Adapter::variable(const std::string& name, const std::string& expression, const Json& focus) {
    const auto value = ask({{"do", "evaluate"}, {"expression", expression}, {"focus", focus}});
    Json out = {{"name", name}, {"variablesReference", 0}};
    out["value"] = value ? part(*value, "text") : Json(value.error().message());
    if (!value) return out;
    out["type"] = part(*value, "type");
    out["evaluateName"] = expression;
    if (has(*value, "address")) out["memoryReference"] = hex(field<uint64_t>(*value, "address"));
    if (has(*value, "members") || has(*value, "count") || has(*value, "points"))
        out["variablesReference"] = reference({Scope::value, focus, expression});
    return out;
}

Result<Json> Adapter::variables(const Json& arguments) {
    const auto at = variables_.find(field(arguments, "variablesReference", int64_t{0}));
    if (at == variables_.end())
        return make_error(ErrorCode::not_found, "variables", "the reference is of an earlier halt");
    const Variables of = at->second;
    Json out = Json::array();
    if (of.scope == Scope::locals || of.scope == Scope::buffers) {
        const bool buffers = of.scope == Scope::buffers;
        SASSEMU_ASSIGN(const Json answer,
                       ask({{"do", "variables"}, {"focus", of.focus}, {"buffers", buffers}}));
        for (const Json& v : part(answer, "variables")) {
            const bool is_buffer = field(v, "buffer", false);
            const std::string name = field<std::string>(v, "name");
            if (is_buffer == buffers)
                out.push_back(variable(name, (buffers ? "::" : "") + name, of.focus));
        }
    } else if (of.scope == Scope::value) {
        SASSEMU_ASSIGN(
            const Json whole,
            ask({{"do", "evaluate"}, {"expression", of.expression}, {"focus", of.focus}}));
        const std::string inside = "(" + of.expression + ")";
        if (has(whole, "members"))
            for (const Json& m : part(whole, "members"))
                out.push_back(
                    variable(as<std::string>(m), inside + "." + as<std::string>(m), of.focus));
        else if (has(whole, "count")) {
            const auto all = field<uint64_t>(whole, "count");
            const auto wanted = std::min(field(arguments, "count", uint64_t{200}), most_at_once);
            const uint64_t begin = std::min(field(arguments, "start", uint64_t{0}), all);
            for (uint64_t k = begin; k < begin + std::min(wanted, all - begin); ++k)
                out.push_back(variable("[" + std::to_string(k) + "]",
                                       inside + "[" + std::to_string(k) + "]", of.focus));
        } else
            out.push_back(variable("*", "*" + inside, of.focus));
    } else {
        const char* file = of.scope == Scope::registers    ? "R"
                           : of.scope == Scope::predicates ? "P"
                                                           : "UR";
        SASSEMU_ASSIGN(const Json answer,
                       ask({{"do", "registers"}, {"file", file}, {"focus", of.focus}}));
        for (const Json& r : part(answer, "registers"))
            out.push_back({{"name", part(r, "name")},
                           {"value", part(r, "hex")},
                           {"evaluateName", "$" + field<std::string>(r, "name")},
                           {"variablesReference", 0}});
    }
    return Json{{"variables", out}};
}

Result<Json> Adapter::evaluate(const Json& arguments) {
    SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
    const std::string expression = field(arguments, "expression", "");
    if (field(arguments, "context", "") != "repl") {
        SASSEMU_ASSIGN(const Json value,
                       ask({{"do", "evaluate"}, {"expression", expression}, {"focus", focus}}));
        const Json v = variable("", expression, focus);
        return Json{{"result", part(value, "text")},
                    {"type", part(value, "type")},
                    {"variablesReference", part(v, "variablesReference")}};
    }
    // The console's commands, in an editor's console.
    SASSEMU_TRY(needs_session());
    session_->set_focus(focus);
    std::string text;
    Console console(*session_, sources_, [&](std::string_view more) { text += more; });
    const uint64_t before = session_->position();
    SASSEMU_TRY(console.execute(expression));
    if (before != session_->position() || session_->ended()) {
        variables_.clear();
        then_ = [this] { tell_stop(); };
    }
    return Json{{"result", text}, {"variablesReference", 0}};
}

// ---- code and bytes

Result<Json> Adapter::disassemble(const Json& arguments) {
    constexpr auto most = static_cast<int64_t>(most_instructions);
    const int64_t from = std::clamp(field(arguments, "instructionOffset", int64_t{0}), -most, most);
    const auto count =
        std::min(field(arguments, "instructionCount", uint64_t{1}), most_instructions);
    SASSEMU_ASSIGN(const Json answer,
                   ask({{"do", "disassemble"},
                        {"where", "@" + field<std::string>(arguments, "memoryReference")},
                        {"before", from < 0 ? -from : 0},
                        {"count", count + static_cast<uint64_t>(std::max<int64_t>(from, 0))}}));
    Json out = Json::array();
    uint64_t skipped = 0;
    for (const Json& insn : part(answer, "instructions")) {
        if (from > 0 && skipped++ < static_cast<uint64_t>(from)) continue;
        Json one = {{"address", hex(field<uint64_t>(insn, "address"))},
                    {"instructionBytes", part(insn, "words")},
                    {"instruction", part(insn, "sass")},
                    {"symbol", part(insn, "name")}};
        if (has(insn, "file")) {
            one["location"] = source_of(field<std::string>(insn, "file"));
            one["line"] = part(insn, "line");
        }
        out.push_back(std::move(one));
    }
    return Json{{"instructions", out}};
}

Result<Json> Adapter::read_memory(const Json& arguments) {
    const std::string text = field<std::string>(arguments, "memoryReference");
    const auto given = number(text);
    if (!given) return make_error(ErrorCode::usage, "'" + text + "'", "is no address");
    uint64_t address = *given;
    address += static_cast<uint64_t>(field(arguments, "offset", int64_t{0}));
    const auto wanted = field(arguments, "count", uint64_t{0});
    const auto answer = ask({{"do", "read"}, {"address", address}, {"bytes", wanted}});
    if (!answer) return Json{{"address", hex(address)}, {"unreadableBytes", wanted}};
    const std::string digits = field<std::string>(*answer, "hex");
    std::string bytes;
    for (size_t k = 0; k + 1 < digits.size(); k += 2) {
        unsigned byte = 0;
        std::from_chars(digits.data() + k, digits.data() + k + 2, byte, 16);
        bytes += static_cast<char>(byte);
    }
    return Json{{"address", hex(address)},
                {"data", base64(bytes)},
                {"unreadableBytes", wanted - bytes.size()}};
}

}  // namespace sassemu::debug
