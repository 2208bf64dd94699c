// SPDX-License-Identifier: Apache-2.0
// The tree of a parsed expression, between its reader and its evaluation. Nothing else belongs
// here.
#pragma once

#include "emu/debug/expression.hpp"

namespace sassemu::debug {

struct Expression::Node {
    enum class Is : uint8_t {
        number,
        special,
        variable,
        constant,  // c[bank][offset]
        unary,
        binary,
        choice,
        cast,
        index,
        member,
        arrow
    } is = Is::number;
    Value value;       // number
    std::string name;  // special, variable, member, arrow; the operator
    TypeRef type;      // cast
    std::vector<std::unique_ptr<Node>> of;
};

}  // namespace sassemu::debug
