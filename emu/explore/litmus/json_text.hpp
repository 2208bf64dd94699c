// SPDX-License-Identifier: Apache-2.0
// JSON from strangers: text -> nlohmann's tree, no deeper than what copies and prints it by
// recursion can stand; and where in a file a byte of a string's value was written. What belongs
// here: nothing of what the fields mean.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "emu/base/nesting.hpp"
#include "emu/base/result.hpp"
#include "emu/plan/json_tree.hpp"

namespace sassemu::explore {

template <class Json>
Result<Json> read_json(std::string_view text) {
    if (json_nesting(text) > deepest_json)
        return make_error(
            ErrorCode::input, {},
            "this is nested in more than " + std::to_string(deepest_json) + " levels");
    Json out = Json::parse(text, nullptr, false);
    if (out.is_discarded()) return make_error(ErrorCode::input, {}, "this is no JSON");
    return out;
}

// Line and column of byte `offset` of the string that is the value of `key` in the object
// `document`; nothing when there is none.
std::optional<plan::Position> place_in_string(std::string_view document, std::string_view key,
                                              size_t offset);

}  // namespace sassemu::explore
