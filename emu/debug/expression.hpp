// SPDX-License-Identifier: Apache-2.0
// Expressions in C's notation over registers, memory and variables: "$R5 == 7", "a[i] + 1",
// "*(@shared float *)0x400". Parsed once, evaluated for any lane. Nothing is ever written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/debug/value.hpp"

namespace sassemu::debug {

class View;

class Expression {
  public:
    // Errors: the column and what was expected there.
    static Result<Expression> parse(std::string_view text);
    Expression(Expression&&) noexcept;
    Expression& operator=(Expression&&) noexcept;
    ~Expression();

    Result<Value> evaluate(const View& view) const;
    const std::string& text() const { return text_; }
    // Whether it depends on nothing but registers and who the lane is; then these are the registers
    // by name.
    bool only_registers(std::vector<std::string>& names) const;

    struct Node;

  private:
    Expression();
    std::string text_;
    std::unique_ptr<Node> root_;
};

}  // namespace sassemu::debug
