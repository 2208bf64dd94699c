// SPDX-License-Identifier: Apache-2.0
// Strict access to JSON fields: every error names place and path, and a field nobody asked for is
// one. What belongs here: kinds, ranges, unknown fields. What does not: what a field means.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/json_tree.hpp"

namespace sassemu::plan {

// One value and how it is reached: what every getter and every error starts from.
struct Field {
    const JsonNode* node = nullptr;
    std::string path;  // "launches[0].args[2]"; empty for the document
    const std::string* file = nullptr;

    std::string where() const;  // "plan.json:12:7: launches[0].args[2]"
    Error error(std::string what, std::string hint = {}) const;
    Error wrong_kind(std::string_view wanted) const;
    // The document's own field `name`; node == nullptr if there is none.
    Field member(std::string_view name) const;
    Field item(size_t index) const;
    explicit operator bool() const { return node != nullptr; }

    // An object whose fields are all among `known`.
    Result<void> object(std::initializer_list<std::string_view> known) const;
    Result<void> array() const;
    Result<std::string> string() const;  // not empty, and without a zero character
    Result<std::string> any_string() const;
    Result<bool> boolean() const;
    Result<uint64_t> unsigned_number(uint64_t most = UINT64_MAX, uint64_t least = 0) const;
    Result<int64_t> signed_number(int64_t least, int64_t most) const;
    Result<double> number() const;
    // The text of a number, whether written as a number or as a string.
    Result<std::string> number_text() const;
    // The index of the string in the list.
    Result<size_t> one_of(std::initializer_list<std::string_view> words) const;
    Result<std::vector<std::byte>> hex_bytes() const;
    Result<std::vector<uint64_t>> unsigned_list(size_t least, size_t most) const;
};

}  // namespace sassemu::plan
