// SPDX-License-Identifier: Apache-2.0
// See fields.hpp.
#include "emu/plan/fields.hpp"

#include <algorithm>

#include "emu/plan/element.hpp"

namespace sassemu::plan {
namespace {

std::string join(std::initializer_list<std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) {
        if (!text.empty()) text += ", ";
        text += word;
    }
    return text;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_number_or_string(const JsonNode& node) {
    return node.kind == JsonNode::Kind::number || node.kind == JsonNode::Kind::string;
}

}  // namespace

std::string Field::where() const {
    std::string text =
        *file + ":" + std::to_string(node->at.line) + ":" + std::to_string(node->at.column);
    if (!path.empty()) text += ": " + path;
    return text;
}

Error Field::error(std::string what, std::string hint) const {
    // What the plan holds may be quoted, and be long.
    constexpr size_t longest = 400;
    if (what.size() > longest) what.replace(longest, what.npos, "...");
    return make_error(ErrorCode::input, where(), std::move(what), std::move(hint));
}

Error Field::wrong_kind(std::string_view wanted) const {
    return error("expected " + std::string(wanted) + ", found " +
                 std::string(kind_name(node->kind)));
}

Field Field::member(std::string_view name) const {
    Field child{node->member(name), path, file};
    if (!child.path.empty()) child.path += '.';
    // A long name would be copied into the path of each of its items.
    constexpr size_t shown = 80;
    child.path += name.substr(0, shown);
    if (name.size() > shown) child.path += "...";
    return child;
}

Field Field::item(size_t index) const {
    return {&node->items[index], path + "[" + std::to_string(index) + "]", file};
}

Result<void> Field::object(std::initializer_list<std::string_view> known) const {
    if (node->kind != JsonNode::Kind::object) return wrong_kind("an object");
    for (const JsonNode::Member& candidate : node->members) {
        if (std::find(known.begin(), known.end(), candidate.name) != known.end()) continue;
        Field place = member(candidate.name);
        JsonNode at_name;
        at_name.at = candidate.at;
        place.node = &at_name;
        return place.error("unknown field '" + candidate.name + "'", "fields here: " + join(known));
    }
    return {};
}

Result<void> Field::array() const {
    if (node->kind != JsonNode::Kind::array) return wrong_kind("an array");
    return {};
}

Result<std::string> Field::any_string() const {
    if (node->kind != JsonNode::Kind::string) return wrong_kind("a string");
    return node->text;
}

Result<std::string> Field::string() const {
    SASSEMU_ASSIGN(std::string text, any_string());
    if (text.empty()) return error("must not be empty");
    // A path or name would end there for the system, and here it would not.
    if (text.find('\0') != text.npos) return error("must not hold a zero character");
    return text;
}

Result<bool> Field::boolean() const {
    if (node->kind != JsonNode::Kind::boolean) return wrong_kind("true or false");
    return node->boolean;
}

Result<std::string> Field::number_text() const {
    if (!is_number_or_string(*node)) return wrong_kind("a number");
    return node->text;
}

Result<uint64_t> Field::unsigned_number(uint64_t most, uint64_t least) const {
    SASSEMU_ASSIGN(const std::string text, number_text());
    const auto value = parse_unsigned(text);
    if (!value || *value > most || *value < least) {
        return error("'" + text + "' is not an integer from " + std::to_string(least) + " to " +
                         std::to_string(most),
                     "decimal, or \"0x...\" as a string");
    }
    return *value;
}

Result<int64_t> Field::signed_number(int64_t least, int64_t most) const {
    SASSEMU_ASSIGN(const std::string text, number_text());
    const auto value = parse_signed(text, least, most);
    if (!value) {
        return error("'" + text + "' is not an integer from " + std::to_string(least) + " to " +
                     std::to_string(most));
    }
    return *value;
}

Result<double> Field::number() const {
    SASSEMU_ASSIGN(const std::string text, number_text());
    const auto value = parse_double(text);
    if (!value) return error("'" + text + "' is not a number");
    return *value;
}

Result<size_t> Field::one_of(std::initializer_list<std::string_view> words) const {
    SASSEMU_ASSIGN(const std::string text, any_string());
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) return error("unknown word '" + text + "'", "one of: " + join(words));
    return static_cast<size_t>(found - words.begin());
}

Result<std::vector<std::byte>> Field::hex_bytes() const {
    SASSEMU_ASSIGN(const std::string text, any_string());
    if (text.size() % 2 != 0) return error("a byte string needs an even number of hex digits");
    std::vector<std::byte> bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return error("character " + std::to_string(2 * i + (high < 0 ? 0 : 1)) +
                         " is no hex digit");
        }
        bytes[i] = static_cast<std::byte>(high * 16 + low);
    }
    return bytes;
}

Result<std::vector<uint64_t>> Field::unsigned_list(size_t least, size_t most) const {
    SASSEMU_TRY(array());
    if (node->items.size() < least || node->items.size() > most) {
        return error("expected " + std::to_string(least) + " to " + std::to_string(most) +
                     " numbers, found " + std::to_string(node->items.size()));
    }
    std::vector<uint64_t> values;
    for (size_t i = 0; i < node->items.size(); ++i) {
        SASSEMU_ASSIGN(const uint64_t value, item(i).unsigned_number());
        values.push_back(value);
    }
    return values;
}

}  // namespace sassemu::plan
