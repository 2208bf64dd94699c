// SPDX-License-Identifier: Apache-2.0
// JSON from strangers: text -> nlohmann's tree, no deeper than what copies and prints it by
// recursion can stand; and where in a file a byte of a string's value was written. What belongs
// here: nothing of what the fields mean.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "emu/base/result.hpp"
#include "emu/plan/json_tree.hpp"

namespace sassemu::explore {

template <class Json>
Result<Json> read_json(std::string_view text) {
    constexpr int deepest = 64;  // as plans
    bool too_deep = false;
    Json out = Json::parse(
        text,
        [&](int depth, typename Json::parse_event_t, Json&) {
            too_deep |= depth > deepest;
            return depth <= deepest;
        },
        false);
    if (too_deep)
        return make_error(ErrorCode::input, {},
                          "this is nested in more than " + std::to_string(deepest) + " levels");
    if (out.is_discarded()) return make_error(ErrorCode::input, {}, "this is no JSON");
    return out;
}

// Line and column of byte `offset` of the string that is the value of `key` in the object
// `document`; nothing when there is none.
std::optional<plan::Position> place_in_string(std::string_view document, std::string_view key,
                                              size_t offset);

}  // namespace sassemu::explore
