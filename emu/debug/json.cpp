// SPDX-License-Identifier: Apache-2.0
// See json.hpp.
#include "emu/debug/json.hpp"

#include <cmath>

#include "emu/base/nesting.hpp"

namespace sassemu::debug {
namespace {

[[noreturn]] void wrong(const Json& value, const char* what, const std::string& wanted) {
    if (value.is_null()) throw Malformed(std::string(what) + " is missing");
    throw Malformed(std::string(what) + " is " + value.type_name() + " where " + wanted +
                    " should be");
}

// Whole numbers, however they are written: some clients write all as 3.0.
template <class T>
bool is_whole(const Json& value, T least, T most) {
    if (value.is_number_unsigned()) return value.get<uint64_t>() <= static_cast<uint64_t>(most);
    if (value.is_number_integer()) {
        const auto v = value.get<int64_t>();
        return least < 0 ? v >= static_cast<int64_t>(least) &&
                               (v < 0 || static_cast<uint64_t>(v) <= static_cast<uint64_t>(most))
                         : v >= 0 && static_cast<uint64_t>(v) <= static_cast<uint64_t>(most);
    }
    if (!value.is_number_float()) return false;
    const auto v = value.get<double>();
    constexpr double exact = 9007199254740992.0;  // 2^53
    return std::trunc(v) == v && std::abs(v) <= exact && v >= static_cast<double>(least) &&
           v <= static_cast<double>(most);
}

}  // namespace

Json parse_json(std::string_view text) {
    if (json_nesting(text) > deepest_json) return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

const Json& part(const Json& of, const char* key) {
    static const Json none;
    if (!of.is_object()) return none;
    const auto found = of.find(key);
    return found == of.end() ? none : *found;
}

const Json& item(const Json& of, size_t index) {
    static const Json none;
    return of.is_array() && index < of.size() ? of[index] : none;
}

const Json& list(const Json& of, const char* key) {
    static const Json empty = Json::array();
    const Json& value = part(of, key);
    if (value.is_null()) return empty;
    if (!value.is_array()) wrong(value, key, "a list");
    return value;
}

int64_t signed_number(const Json& value, const char* what, int64_t least, int64_t most) {
    if (!is_whole(value, least, most))
        wrong(value, what,
              "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value.get<int64_t>();
}

uint64_t unsigned_number(const Json& value, const char* what, uint64_t most) {
    if (!is_whole(value, uint64_t{0}, most))
        wrong(value, what, "a whole number from 0 to " + std::to_string(most));
    return value.get<uint64_t>();
}

bool truth(const Json& value, const char* what) {
    if (!value.is_boolean()) wrong(value, what, "true or false");
    return value.get<bool>();
}

const std::string& text(const Json& value, const char* what) {
    if (!value.is_string()) wrong(value, what, "a text");
    return value.get_ref<const std::string&>();
}

}  // namespace sassemu::debug
