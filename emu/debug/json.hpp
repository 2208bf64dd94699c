// SPDX-License-Identifier: Apache-2.0
// Reading JSON that anybody may have written: the messages of an editor, and those of the processes
// that run the program. What is missing, of another kind or out of range is Malformed, which says
// what it is; nothing else reads a message (tests/house/json_test.py). What a message means does
// not belong here.
#pragma once

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sassemu::debug {

using Json = nlohmann::json;

class Malformed : public std::runtime_error {
    using runtime_error::runtime_error;
};

// None (is_discarded()): it is no JSON, or more than 64 levels deep.
Json parse_json(std::string_view text);

// The value of a key, or of an index; null: there is none.
const Json& part(const Json& of, const char* key);
const Json& item(const Json& of, size_t index);
inline bool has(const Json& of, const char* key) { return !part(of, key).is_null(); }
// The array of a key; empty: there is none.
const Json& list(const Json& of, const char* key);

// As the type that is asked for. `what`: how an error calls the value.
int64_t signed_number(const Json& value, const char* what, int64_t least, int64_t most);
uint64_t unsigned_number(const Json& value, const char* what, uint64_t most);
bool truth(const Json& value, const char* what);
const std::string& text(const Json& value, const char* what);

template <class T>
T as(const Json& value, const char* what = "a value") {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::same_as<T, bool>)
        return truth(value, what);
    else if constexpr (std::signed_integral<T>)
        return static_cast<T>(signed_number(value, what, Limits::min(), Limits::max()));
    else if constexpr (std::unsigned_integral<T>)
        return static_cast<T>(unsigned_number(value, what, Limits::max()));
    else
        return text(value, what);
}
// The value of a key that must be there; with `otherwise` it need not.
template <class T>
T field(const Json& of, const char* key) {
    return as<T>(part(of, key), key);
}
template <class T>
T field(const Json& of, const char* key, T otherwise) {
    return has(of, key) ? field<T>(of, key) : otherwise;
}
inline std::string field(const Json& of, const char* key, const char* otherwise) {
    return field<std::string>(of, key, otherwise);
}

}  // namespace sassemu::debug
