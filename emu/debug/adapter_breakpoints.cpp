// SPDX-License-Identifier: Apache-2.0
// The requests of the Debug Adapter Protocol about what halts the program.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "emu/base/text.hpp"
#include "emu/debug/adapter.hpp"

namespace sassemu::debug {

// Replaces those that `owner` had. `places`: texts of which the first that is
// found counts.
Json Adapter::set(const std::string& owner, const Json& wanted,
                  const std::function<std::vector<std::string>(const Json&)>& places) {
    std::vector<int>& ids = set_[owner];
    std::erase_if(session_->breakpoints(),
                  [&](const Breakpoint& b) { return std::ranges::count(ids, b.id); });
    ids.clear();
    Json out = Json::array();
    for (const Json& one : wanted) {
        Json told = {{"verified", false}};
        for (const std::string& where : places(one)) {
            const auto b = session_->add_breakpoint(where, one.value("condition", ""), false);
            if (!b) {
                told["message"] = b.error().message();
                continue;
            }
            told = {{"verified", true}, {"id", (*b)->id}};
            ids.push_back((*b)->id);
            const Json& place = (*b)->places[0];
            told["instructionReference"] = hex(place["address"].get<uint64_t>());
            if (place.contains("file")) {
                told["line"] = place["line"];
                told["source"] = source_of(place["file"].get<std::string>());
            }
            const std::string hits = one.value("hitCondition", "");
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
    const Json source = arguments.value("source", Json::object());
    const std::string path = source.value("path", source.value("name", ""));
    return set(
        "source " + path, arguments.value("breakpoints", Json::array()), [&](const Json& one) {
            const std::string line = ":" + one["line"].dump();
            return std::vector{path + line, std::filesystem::path(path).filename().string() + line};
        });
}

Result<Json> Adapter::set_function_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    return set("functions", arguments.value("breakpoints", Json::array()),
               [](const Json& one) { return std::vector{one["name"].get<std::string>()}; });
}

Result<Json> Adapter::set_instruction_breakpoints(const Json& arguments) {
    SASSEMU_TRY(needs_session());
    return set("instructions", arguments.value("breakpoints", Json::array()), [](const Json& one) {
        std::string at = "@" + one["instructionReference"].get<std::string>();
        if (const auto offset = one.value("offset", int64_t{0})) {
            uint64_t v = 0;
            std::from_chars(at.data() + 3, at.data() + at.size(), v, 16);
            at = "@" + hex(v + static_cast<uint64_t>(offset));
        }
        return std::vector{at};
    });
}

Result<Json> Adapter::set_exception_breakpoints(const Json&) {
    return Json{{"breakpoints", Json::array()}};  // faults always halt
}

Result<Json> Adapter::data_breakpoint_info(const Json& arguments) {
    std::string expression = arguments.value("name", "");
    Json focus = session_ ? session_->focus() : Json();
    if (const auto at = variables_.find(arguments.value("variablesReference", int64_t{0}));
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
    std::vector<int>& ids = set_["data"];
    std::erase_if(session_->breakpoints(),
                  [&](const Breakpoint& b) { return std::ranges::count(ids, b.id); });
    ids.clear();
    Json out = Json::array();
    for (const Json& one : arguments.value("breakpoints", Json::array())) {
        const Json id = Json::parse(one["dataId"].get<std::string>());
        const Json focus = session_->focus();
        session_->set_focus(id["focus"]);
        const auto b =
            session_->add_watch(id["expression"].get<std::string>(), one.value("condition", ""));
        session_->set_focus(focus);
        if (b) ids.push_back((*b)->id);
        out.push_back(b ? Json{{"verified", true}, {"id", (*b)->id}}
                        : Json{{"verified", false}, {"message", b.error().message()}});
    }
    return Json{{"breakpoints", out}};
}

}  // namespace sassemu::debug
