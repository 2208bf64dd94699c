// SPDX-License-Identifier: Apache-2.0
// The console's small pieces of text. Nothing else belongs here.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "emu/base/text.hpp"
#include "emu/debug/channel.hpp"

namespace sassemu::debug {

inline std::string trimmed(const std::string& text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos) return "";
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

inline std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != text.npos;) {
        const size_t end = std::min(text.find_first_of(" \t", at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

inline std::optional<uint64_t> number(const std::string& text) {
    const bool is_hex = text.starts_with("0x");
    uint64_t v = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] =
        std::from_chars(text.data() + (is_hex ? 2 : 0), end, v, is_hex ? 16 : 10);
    if (error != std::errc() || at != end) return std::nullopt;
    return v;
}

// "saxpy+0x0070 (saxpy.cu:7)"
inline std::string place_text(const Json& place) {
    if (!has(place, "name")) return "?";
    std::string text = field<std::string>(place, "name");
    if (has(place, "file"))
        text += " (" + shown(field<std::string>(place, "file")) + ":" + part(place, "line").dump();
    const Json& frames = list(place, "frames");
    for (size_t k = 1; k < frames.size(); ++k)
        text += ", inlined at " + shown(field<std::string>(item(frames, k), "file")) + ":" +
                part(item(frames, k), "line").dump();
    return has(place, "file") ? text + ")" : text;
}

// Without what stands in front of every error.
inline std::string bare(const Error& error) {
    const std::string text = error.message();
    constexpr std::string_view front = "debugger: ";
    return text.starts_with(front) ? text.substr(front.size()) : text;
}

}  // namespace sassemu::debug
