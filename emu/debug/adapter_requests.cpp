// SPDX-License-Identifier: Apache-2.0
// The requests of the Debug Adapter Protocol that the adapter answers.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "emu/base/text.hpp"
#include "emu/debug/adapter.hpp"

namespace sassemu::debug {
namespace {

constexpr int64_t frames_per_thread = 256;

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
        while (read_more(false)) {
        }
        for (Json message; take_message(message);) queue_.push_back(std::move(message));
        return !queue_.empty() || gone_;
    };
    SASSEMU_ASSIGN(session_, start_(arguments.value("program", ""), arguments.value("arch", ""),
                                    std::move(options)));
    stop_on_entry_ = arguments.value("stopOnEntry", false);
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
    if (arguments.contains("threadId")) {
        SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
        session_->set_focus(focus);
    }
    Json step;
    if (*what) {
        const bool instruction = arguments.value("granularity", "") == "instruction";
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
    int64_t id = arguments.value("threadId", int64_t{0});
    int64_t frame = 0;
    if (arguments.contains("frameId")) {
        id = arguments["frameId"].get<int64_t>();
        frame = id % frames_per_thread;
        id /= frames_per_thread;
    }
    const auto at = threads_.find(id);
    if (at != threads_.end()) {
        Json focus = at->second;
        while (focus.size() > 4) focus.erase(4);
        if (frame > 0) focus.push_back(frame);
        return focus;
    }
    if (!id && session_) return session_->focus();
    return make_error(ErrorCode::not_found, "thread " + std::to_string(id), "there is none");
}

Result<Json> Adapter::threads(const Json&) {
    SASSEMU_ASSIGN(const Json answer, ask({{"do", "info"}, {"what", "warps"}, {"all", true}}));
    Json out = Json::array();
    for (const Json& row : answer["rows"]) {
        if (row["paths"].empty()) continue;
        Json focus = row["thread"];
        // The lane that is looked at: the focus's own, or the first that runs.
        uint32_t lanes = row["paths"][0]["mask"].get<uint32_t>();
        for (focus[3] = 0; lanes && !(lanes & 1); lanes >>= 1) focus[3] = focus[3].get<int>() + 1;
        Json own = session_->focus();
        while (own.size() > 4) own.erase(4);
        if (own[0] == focus[0] && own[1] == focus[1] && own[2] == focus[2]) focus = own;
        const int64_t id = thread_of(focus);
        threads_[id] = focus;
        out.push_back(
            {{"id", id},
             {"name", "block " + row["block"].get<std::string>() + " warp " + row["warp"].dump()}});
    }
    return Json{{"threads", out}};
}

Json Adapter::source_of(const std::string& file) {
    const std::string path = sources_.find(file);
    Json source = {{"name", file_name(file)}};
    source["path"] =
        path.empty() ? file : std::filesystem::absolute(path).lexically_normal().string();
    return source;
}

Result<Json> Adapter::stack_trace(const Json& arguments) {
    SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
    SASSEMU_ASSIGN(const Json where, ask({{"do", "where"}, {"focus", focus}}));
    Json frames = Json::array();
    const int64_t thread = arguments.value("threadId", int64_t{0});
    for (const Json& f : where.value("stack", Json::array())) {
        const auto level = static_cast<int64_t>(frames.size());
        if (level == frames_per_thread) break;
        const std::string file = f["file"].get<std::string>();
        Json frame = {{"id", thread * frames_per_thread + level},
                      {"name", f["function"].get<std::string>() +
                                   (f["inlined"].get<bool>() ? " (inlined)" : "")},
                      {"line", f["line"]},
                      {"column", 0},
                      {"instructionPointerReference", hex(f["address"].get<uint64_t>())}};
        if (!file.empty()) frame["source"] = source_of(file);
        frames.push_back(std::move(frame));
    }
    // What could not be found is told as a frame that is none.
    if (const std::string ends = where.value("ends", "");
        !ends.empty() && static_cast<int64_t>(frames.size()) < frames_per_thread)
        frames.push_back({{"id", thread * frames_per_thread + static_cast<int64_t>(frames.size())},
                          {"name", ends},
                          {"line", 0},
                          {"column", 0},
                          {"presentationHint", "label"}});
    const auto total = frames.size();
    const auto first = std::min<size_t>(arguments.value("startFrame", size_t{0}), total);
    const auto levels = arguments.value("levels", size_t{0});
    Json part = Json::array();
    for (size_t k = first; k < total && (!levels || k < first + levels); ++k)
        part.push_back(frames[k]);
    return Json{{"stackFrames", part}, {"totalFrames", total}};
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
    out["value"] = value ? (*value)["text"] : Json(value.error().message());
    if (!value) return out;
    out["type"] = (*value)["type"];
    out["evaluateName"] = expression;
    if (value->contains("address")) out["memoryReference"] = hex((*value)["address"]);
    if (value->contains("members") || value->contains("count") || value->contains("points"))
        out["variablesReference"] = reference({Scope::value, focus, expression});
    return out;
}

Result<Json> Adapter::variables(const Json& arguments) {
    const auto at = variables_.find(arguments.value("variablesReference", int64_t{0}));
    if (at == variables_.end())
        return make_error(ErrorCode::not_found, "variables", "the reference is of an earlier halt");
    const Variables of = at->second;
    Json out = Json::array();
    if (of.scope == Scope::locals || of.scope == Scope::buffers) {
        const bool buffers = of.scope == Scope::buffers;
        SASSEMU_ASSIGN(const Json answer,
                       ask({{"do", "variables"}, {"focus", of.focus}, {"buffers", buffers}}));
        for (const Json& v : answer["variables"]) {
            const bool is_buffer = v.value("buffer", false);
            const std::string name = v["name"].get<std::string>();
            if (is_buffer == buffers)
                out.push_back(variable(name, (buffers ? "::" : "") + name, of.focus));
        }
    } else if (of.scope == Scope::value) {
        SASSEMU_ASSIGN(
            const Json whole,
            ask({{"do", "evaluate"}, {"expression", of.expression}, {"focus", of.focus}}));
        const std::string inside = "(" + of.expression + ")";
        if (whole.contains("members"))
            for (const Json& m : whole["members"])
                out.push_back(
                    variable(m.get<std::string>(), inside + "." + m.get<std::string>(), of.focus));
        else if (whole.contains("count"))
            for (uint64_t k = arguments.value("start", uint64_t{0}), n = 0;
                 k < whole["count"].get<uint64_t>() && n < arguments.value("count", uint64_t{200});
                 ++k, ++n)
                out.push_back(variable("[" + std::to_string(k) + "]",
                                       inside + "[" + std::to_string(k) + "]", of.focus));
        else
            out.push_back(variable("*", "*" + inside, of.focus));
    } else {
        const char* file = of.scope == Scope::registers    ? "R"
                           : of.scope == Scope::predicates ? "P"
                                                           : "UR";
        SASSEMU_ASSIGN(const Json answer,
                       ask({{"do", "registers"}, {"file", file}, {"focus", of.focus}}));
        for (const Json& r : answer["registers"])
            out.push_back({{"name", r["name"]},
                           {"value", r["hex"]},
                           {"evaluateName", "$" + r["name"].get<std::string>()},
                           {"variablesReference", 0}});
    }
    return Json{{"variables", out}};
}

Result<Json> Adapter::evaluate(const Json& arguments) {
    SASSEMU_ASSIGN(const Json focus, focus_of(arguments));
    const std::string expression = arguments.value("expression", "");
    if (arguments.value("context", "") != "repl") {
        SASSEMU_ASSIGN(const Json value,
                       ask({{"do", "evaluate"}, {"expression", expression}, {"focus", focus}}));
        const Json v = variable("", expression, focus);
        return Json{{"result", value["text"]},
                    {"type", value["type"]},
                    {"variablesReference", v["variablesReference"]}};
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
    const int64_t from = arguments.value("instructionOffset", int64_t{0});
    const auto count = arguments.value("instructionCount", uint64_t{1});
    SASSEMU_ASSIGN(const Json answer,
                   ask({{"do", "disassemble"},
                        {"where", "@" + arguments["memoryReference"].get<std::string>()},
                        {"before", from < 0 ? -from : 0},
                        {"count", count + static_cast<uint64_t>(std::max<int64_t>(from, 0))}}));
    Json out = Json::array();
    uint64_t skipped = 0;
    for (const Json& insn : answer["instructions"]) {
        if (from > 0 && skipped++ < static_cast<uint64_t>(from)) continue;
        Json one = {{"address", hex(insn["address"].get<uint64_t>())},
                    {"instructionBytes", insn["words"]},
                    {"instruction", insn["sass"]},
                    {"symbol", insn["name"]}};
        if (insn.contains("file")) {
            one["location"] = source_of(insn["file"].get<std::string>());
            one["line"] = insn["line"];
        }
        out.push_back(std::move(one));
    }
    return Json{{"instructions", out}};
}

Result<Json> Adapter::read_memory(const Json& arguments) {
    const std::string text = arguments["memoryReference"].get<std::string>();
    uint64_t address = 0;
    const bool is_hex = text.starts_with("0x");
    std::from_chars(text.data() + (is_hex ? 2 : 0), text.data() + text.size(), address,
                    is_hex ? 16 : 10);
    address += static_cast<uint64_t>(arguments.value("offset", int64_t{0}));
    const auto wanted = arguments.value("count", uint64_t{0});
    const auto answer = ask({{"do", "read"}, {"address", address}, {"bytes", wanted}});
    if (!answer) return Json{{"address", hex(address)}, {"unreadableBytes", wanted}};
    const std::string digits = (*answer)["hex"].get<std::string>();
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
