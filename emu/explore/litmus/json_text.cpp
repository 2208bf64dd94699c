// SPDX-License-Identifier: Apache-2.0
// See json_text.hpp.
#include "emu/explore/litmus/json_text.hpp"

#include <cstdlib>
#include <string>

namespace sassemu::explore {

std::optional<plan::Position> place_in_string(std::string_view document, std::string_view key,
                                              size_t offset) {
    const auto tree = plan::parse_json(document, {});
    const plan::JsonNode* value = tree ? tree->member(key) : nullptr;
    if (!value || value->kind != plan::JsonNode::Kind::string) return std::nullopt;
    size_t line = 0;  // where its line begins
    for (uint32_t n = 1; n < value->at.line; ++n) line = document.find('\n', line) + 1;
    size_t at = line + value->at.column;  // past the quotation mark
    // An escape is one byte of the value, but for \u: as many as its character has in UTF-8.
    for (size_t done = 0; done < offset && at < document.size();) {
        if (document[at] != '\\') {
            ++at, ++done;
        } else if (document.substr(at, 2) != "\\u") {
            at += 2, ++done;
        } else {
            const auto code =
                std::strtoul(std::string(document.substr(at + 2, 4)).c_str(), nullptr, 16);
            const bool half = code >= 0xd800 && code < 0xe000;  // of a pair that makes four bytes
            at += 6;
            done += code < 0x80 ? 1 : code < 0x800 || half ? 2 : 3;
        }
    }
    return plan::Position{value->at.line, static_cast<uint32_t>(at - line + 1)};
}

}  // namespace sassemu::explore
