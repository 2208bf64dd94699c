// SPDX-License-Identifier: Apache-2.0
// See exceptions.hpp.
#include "findings/exceptions.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sassemu/names.hpp>
#include <sstream>
#include <stdexcept>

namespace findings {

using nlohmann::ordered_json;

namespace {

constexpr const char* keys[] = {"tool", "kernel", "function", "file", "line", "pc", "sass"};

std::string content_of(const char* option, const std::string& file) {
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument("option '" + std::string(option) + "': " + file + ": " + why);
    };
    std::ifstream in(file, std::ios::binary);
    std::error_code none;
    if (std::filesystem::is_directory(file, none)) refuse("is a directory");
    if (std::filesystem::is_character_file(file, none)) refuse("is a device, not a file");
    if (!in) refuse(std::strerror(errno));
    std::string text{std::istreambuf_iterator<char>(in), {}};  // of an empty file too
    if (in.bad()) refuse("cannot be read");
    return text;
}

std::string text_of(const ordered_json& place, const std::string& key) {
    const auto at = place.find(key);
    if (at == place.end()) return "";
    if (at->is_string()) return at->get<std::string>();
    if (!at->is_number_unsigned()) return "";
    if (key != "pc") return std::to_string(at->get<uint64_t>());
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(at->get<uint64_t>()));
    return hex;
}

const ordered_json& places_of(const ordered_json& finding) {
    static const ordered_json none = ordered_json::array();
    const auto at = finding.find("accesses");
    return at != finding.end() && at->is_array() ? *at : none;
}

// What stays the same when the code around it changes: lines where there are any.
std::string fingerprint(const std::string& tool, const ordered_json& finding) {
    std::string print = tool + '\n' + text_of(finding, "kind");
    for (const ordered_json& place : places_of(finding)) {
        const std::string file = text_of(place, "file");
        print += '\n' + text_of(place, "function") + '\n' +
                 (file.empty() ? text_of(place, "pc") : file + ':' + text_of(place, "line"));
    }
    return print;
}

bool meets(const std::string& glob, const std::string& text) {
    return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

// The words of a line; false: a quotation that does not end.
bool split(const std::string& line, std::vector<std::string>& words) {
    std::string word;
    bool quoted = false, any = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
            any = true;
        } else if (!quoted && c == '#' && !any) {
            break;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
            if (any) words.push_back(std::exchange(word, {}));
            any = false;
        } else {
            word += c;
            any = true;
        }
    }
    if (any) words.push_back(word);
    return !quoted;
}

}  // namespace

Exceptions::Exceptions(std::string tool, const std::string& suppressions,
                       const std::string& baseline)
    : tool_(std::move(tool)) {
    if (!suppressions.empty()) read_suppressions(suppressions);
    if (!baseline.empty()) read_baseline(baseline);
}

void Exceptions::read_suppressions(const std::string& file) {
    std::istringstream lines(content_of("suppressions", file));
    std::string line;
    for (uint64_t number = 1; std::getline(lines, line); ++number) {
        const auto refuse = [&](const std::string& why) {
            throw std::invalid_argument("option 'suppressions': " + file + ":" +
                                        std::to_string(number) + ": " + why);
        };
        std::vector<std::string> words;
        if (!split(line, words)) refuse("a quotation does not end");
        if (words.empty()) continue;
        Pattern p;
        p.kind = words[0];
        if (p.kind.find('=') != p.kind.npos)
            refuse("a line begins with the kind of the finding ('*': any)");
        for (size_t k = 1; k < words.size(); ++k) {
            const size_t equals = words[k].find('=');
            const std::string key = words[k].substr(0, equals);
            if (equals == words[k].npos ||
                std::find(std::begin(keys), std::end(keys), key) == std::end(keys))
                refuse("'" + words[k] +
                       "' is none of tool=, kernel=, function=, file=, line=, pc=, sass=");
            p.keys.emplace_back(key, words[k].substr(equals + 1));
        }
        patterns_.push_back(std::move(p));
    }
}

void Exceptions::read_baseline(const std::string& file) {
    const ordered_json all = ordered_json::parse(content_of("baseline", file), nullptr, false);
    if (!all.is_object() || !all.contains("tool") || !all["tool"].is_string() ||
        !all.contains("findings") || !all["findings"].is_array())
        throw std::invalid_argument("option 'baseline': " + file +
                                    ": is no JSON report of check-sync or check-mem");
    for (const ordered_json& f : all["findings"])
        if (f.is_object()) known_.insert(fingerprint(all["tool"].get<std::string>(), f));
}

Excuse Exceptions::of(const ordered_json& finding) const {
    if (known_.contains(fingerprint(tool_, finding))) return Excuse::baseline;
    const std::string kind = text_of(finding, "kind");
    for (const Pattern& p : patterns_) {
        if (!meets(p.kind, kind)) continue;
        const auto met = [&](const ordered_json& place) {
            return std::all_of(p.keys.begin(), p.keys.end(), [&](const auto& key) {
                const std::string& name = key.first;
                if (name == "tool") return meets(key.second, tool_);
                const std::string text = text_of(name == "kernel" ? finding : place, name);
                if (name != "kernel" && name != "function") return meets(key.second, text);
                const sassemu::names::Forms forms(text);
                const auto all = forms.all();
                return std::any_of(all.begin(), all.end(), [&](const std::string* form) {
                    return meets(key.second, *form);
                });
            });
        };
        const ordered_json& places = places_of(finding);
        if (places.empty() ? met(ordered_json::object())
                           : std::any_of(places.begin(), places.end(), met))
            return Excuse::suppressed;
    }
    return Excuse::none;
}

}  // namespace findings
