// SPDX-License-Identifier: Apache-2.0
// The requests of the Debug Adapter Protocol about what halts the program.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "emu/base/text.hpp"
#include "emu/debug/adapter.hpp"
#include "emu/debug/console_text.hpp"

namespace sassemu::debug {

// Those that `owner` had are gone; the place for new ones.
std::vector<int>& Adapter::forget(const std::string& owner) {
    std::vector<int>& ids = set_[owner];
    std::erase_if(session_->breakpoints(),
                  [&](const Breakpoint& b) { return std::ranges::count(ids, b.id); });
    ids.clear();
    return ids;
}

// Replaces those that `owner` had. `places`: texts of which the first that is
// found counts.
Json Adapter::set(const std::string& owner, const Json& wanted,
                  const std::function<std::vector<std::string>(const Json&)>& places) {
    std::vector<int>& ids = forget(owner);
    Json out = Json::array();
    for (const Json& one : wanted) {
        Json told = {{"verified", false}};
        for (const std::string& where : places(one)) {
            const auto b = session_->add_breakpoint(where, field(one, "condition", ""), false);
            if (!b) {
                told["message"] = b.error().message();
                continue;
            }
            told = {{"verified", true}, {"id", (*b)->id}};
            ids.push_back((*b)->id);
            const Json& place = item((*b)->places, 0);
            told["instructionReference"] = hex(field<uint64_t>(place, "address"));
            if (has(place, "file")) {
                told["line"] = part(place, "line");
                told["source"] = source_of(field<std::string>(place, "file"));
            }
            const std::string hits = field(one, "hitCondition", "");
            uint64_t count = 0;
            std::from_chars(hits.data(), hits.data() + hits.size(), count);
            if (count) session_->breakpoints().back().ignore = count - 1;
            break;
        }
        out.push_back(std::move(told));
    }
    return {{"breakpoints", out}};
}

Result<Json> Adapter::set_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    const Json source = part(arguments, "source");
    const std::string path = field(source, "path", field(source, "name", ""));
    return set("source " + path, list(arguments, "breakpoints"), [&](const Json& one) {
        const std::string line = ":" + std::to_string(field<uint32_t>(one, "line"));
        return std::vector{path + line, std::filesystem::path(path).filename().string() + line};
    });
}

Result<Json> Adapter::set_function_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    return set("functions", list(arguments, "breakpoints"),
               [](const Json& one) { return std::vector{field<std::string>(one, "name")}; });
}

Result<Json> Adapter::set_instruction_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    return set("instructions", list(arguments, "breakpoints"), [](const Json& one) {
        const std::string at = field<std::string>(one, "instructionReference");
        const auto offset = static_cast<uint64_t>(field(one, "offset", int64_t{0}));
        const auto address = number(at);
        return std::vector{"@" + (address ? hex(*address + offset) : at)};
    });
}

Result<Json> Adapter::set_exception_breakpoints(const Json&) {
    return Json{{"breakpoints", Json::array()}};  // faults always halt
}

Result<Json> Adapter::data_breakpoint_info(const Json& arguments) {
    std::string expression = field(arguments, "name", "");
    Json focus = session_ ? session_->focus() : Json();
    if (const auto at = variables_.find(field(arguments, "variablesReference", int64_t{0}));
        at != variables_.end()) {
        focus = at->second.focus;
        const std::string inside = "(" + at->second.expression + ")";
        const Scope scope = at->second.scope;
        if (scope == Scope::value)
            expression = expression.starts_with('[') ? inside + expression
                         : expression == "*"         ? "*" + inside
                                                     : inside + "." + expression;
        else if (scope == Scope::registers || scope == Scope::predicates || scope == Scope::uniform)
            expression = "$" + expression;
    }
    const auto watch = ask({{"do", "watch"}, {"expression", expression}, {"focus", focus}});
    if (!watch) return Json{{"dataId", nullptr}, {"description", watch.error().message()}};
    Json id = {{"expression", expression}, {"focus", focus}};
    return Json{{"dataId", id.dump()},
                {"description", expression},
                {"accessTypes", {"write"}},
                {"canPersist", false}};
}

Result<Json> Adapter::set_data_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    std::vector<int>& ids = forget("data");
    Json out = Json::array();
    for (const Json& one : list(arguments, "breakpoints")) {
        const Json id = parse_json(field<std::string>(one, "dataId"));
        const std::string expression = field<std::string>(id, "expression");
        const std::string condition = field(one, "condition", "");
        const Json focus = session_->focus();
        session_->set_focus(part(id, "focus"));
        const auto b = session_->add_watch(expression, condition);
        session_->set_focus(focus);
        if (b) ids.push_back((*b)->id);
        out.push_back(b ? Json{{"verified", true}, {"id", (*b)->id}}
                        : Json{{"verified", false}, {"message", b.error().message()}});
    }
    return Json{{"breakpoints", out}};
}

}  // namespace sassemu::debug
