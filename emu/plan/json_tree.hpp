// SPDX-License-Identifier: Apache-2.0
// A JSON document that remembers where each value stood. What belongs here: the tree, its parser
// (on nlohmann-json's SAX events) and positions. What does not: what the fields of a plan mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::plan {

struct Position {
    uint32_t line = 0, column = 0;  // from 1; column in bytes
};

struct JsonNode {
    enum class Kind : uint8_t { null, boolean, number, string, array, object };
    Kind kind = Kind::null;
    bool boolean = false;
    std::string text;  // a string's value, or a number exactly as it was written
    std::vector<JsonNode> items;
    struct Member;
    std::vector<Member> members;    // in file order; names are unique
    std::vector<uint32_t> by_name;  // of a large object: indices of members, in order of names
    Position at;

    const JsonNode* member(std::string_view name) const;
};

struct JsonNode::Member {
    std::string name;
    Position at;  // of the name
    JsonNode value;
};

std::string_view kind_name(JsonNode::Kind kind);  // "an object", "a string"

// Strict JSON: no comments, no duplicate names, at most 64 levels. Errors say file:line:column.
Result<JsonNode> parse_json(std::string_view text, std::string_view file);

}  // namespace sassemu::plan
