// SPDX-License-Identifier: Apache-2.0
// How numbers, and text that comes from files, are shown to people. Nothing else belongs here.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sassemu {

// "0x1f", with at least so many digits.
[[nodiscard]] inline std::string hex(uint64_t value, int digits = 1) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*" PRIx64, digits, value);
    return text;
}

// The length of the well-formed UTF-8 sequence at the start of the text, 0 if there is none.
[[nodiscard]] inline size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty()) return 0;
    if (byte(0) < 0x80) return 1;
    const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
    char32_t point = byte(0) & (0x7fu >> length);
    for (size_t i = 1; i < length; ++i) {
        if (byte(i) >> 6 != 2) return 0;
        point = point << 6 | (byte(i) & 63u);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[length] || point > 0x10ffff || surrogate ? 0 : length;
}

// A name or path with control characters, and bytes that are no UTF-8, as \n, \t or \xNN: what a
// file is called must not move a terminal's cursor, nor look like another line. Characters of
// `keep` stay.
[[nodiscard]] inline std::string shown(std::string_view text, std::string_view keep = {}) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        // U+0080 to U+009F are control characters too: C2 80 to C2 9F.
        const bool control = length == 0 || first < 0x20 || first == 0x7f ||
                             (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
        const size_t taken = length == 0 ? 1 : length;
        if (!control || keep.find(text[0]) != keep.npos) {
            out += text.substr(0, taken);
        } else if (first == '\n' || first == '\t' || first == '\r') {
            out += first == '\n' ? "\\n" : first == '\t' ? "\\t" : "\\r";
        } else {
            for (const char c : text.substr(0, taken)) {
                char hex[8];
                std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
                out += hex;
            }
        }
        text.remove_prefix(taken);
    }
    return out;
}

}  // namespace sassemu
