// SPDX-License-Identifier: Apache-2.0
// How deep the arrays and objects of a JSON text are nested, before it is read: copying, comparing
// and printing a value goes as deep by recursion. Nothing else belongs here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sassemu {

constexpr size_t deepest_json = 64;  // that is read

// (A callback of the parser would know, but with one the parser looks through all of an object for
// what to leave out whenever a value in it ends.)
inline size_t json_nesting(std::string_view text) {
    size_t depth = 0, deepest = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        switch (text[i]) {
            case '[':
            case '{':
                deepest = std::max(deepest, ++depth);
                break;
            case ']':
            case '}':
                depth -= depth > 0;
                break;
            case '"':
                for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
                break;
            default:
                break;
        }
    }
    return deepest;
}

}  // namespace sassemu
